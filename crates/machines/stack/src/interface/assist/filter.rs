//! The filter of paper 004's driver: which damaged packets may be passed up to IP (S4.11).

use windfall_base::{DropReason, Frame};
use windfall_wire_net::tcp::{CorruptionKinds, Packing, checksum_holds, corruption};
use windfall_wire_net::{Ecn, IpPacket, Protocol, TcpPacket};

/// Lets a damaged TCP segment pass only if its corruption detection option says that the header is
/// whole; everything else passes as it is.
///
/// TCP itself makes the same check, so a stream behaves the same with and without the filter; only
/// the place of the drop differs. A damaged fragment passes: the option covers whole segments, and
/// TCP checks the reassembled one again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorruptionFilter {
    /// The marks of the options on the wire.
    pub kinds: CorruptionKinds,
    /// The arrangement of the covered fields.
    pub packing: Packing,
}

impl CorruptionFilter {
    //= S4.11
    /// Checks a packet that the link passes up.
    ///
    /// # Errors
    /// It is a damaged segment without a detection option that holds.
    pub(super) fn check(&self, frame: &Frame) -> Result<(), DropReason> {
        // Most packets are intact according to the link, and need no check.
        if !frame.damage.is_damaged() {
            return Ok(());
        }
        let bytes = frame.payload.to_bytes();
        let Ok(packet) = IpPacket::new(&bytes) else { return Ok(()) };
        let carried = match packet.carried() {
            Ok(carried) if carried.protocol == Protocol::TCP && !carried.fragment => carried,
            _ => return Ok(()),
        };
        let addresses = packet.addresses();
        let whole = carried.bytes.len() == carried.len;
        if whole && checksum_holds(&addresses, [carried.bytes, &[]]) {
            return Ok(());
        }
        let ecn = Ecn::from_bits(packet.traffic_class());
        let verdict = TcpPacket::new(carried.bytes).ok().and_then(|segment| {
            corruption::holds(&self.kinds, self.packing, ecn, &addresses, &segment)
        });
        if verdict == Some(true) { Ok(()) } else { Err(DropReason::TcpChecksum) }
    }
}
