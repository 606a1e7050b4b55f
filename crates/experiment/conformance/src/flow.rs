//! A connection as the script sees it: numbers, timestamps and data of both directions.

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_packet_script::{OptionList, ScriptSegment, SegmentOption};
use windfall_tcp::SegmentMeta;
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpPacket, tcp};

use crate::machine::Departure;
use crate::verdict::Stop;
use crate::wire;

/// The window of a segment that does not say one.
const USUAL_WINDOW: u16 = u16::MAX;

/// The byte that both ends send at `position` of their stream, the first being 1.
pub(crate) fn byte(position: u32) -> u8 {
    position.wrapping_mul(2_654_435_761).rotate_left(9) as u8
}

/// Returns `len` bytes of a stream from `first` on.
pub(crate) fn data(first: u32, len: usize) -> Bytes {
    (0..len as u32).map(|at| byte(first.wrapping_add(at))).collect()
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// The first sequence numbers on the wire, of the engine and of the script.
    origin: Option<u32>,
    peer_origin: u32,
    /// From the engine's sequence numbers in the script to those on the wire.
    shift: u32,
    /// Timestamps of the engine: in the script, and on the wire.
    clock: Vec<(u32, u32)>,
}

impl Flow {
    pub(crate) fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self { local, remote, origin: None, peer_origin: 0, shift: 0, clock: Vec::new() }
    }

    pub(crate) fn is_of(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        (self.local, self.remote) == (local, remote)
    }

    /// Returns a sequence number of the engine on the wire.
    pub(crate) fn on_wire(&self, seq: u32) -> u32 {
        seq.wrapping_add(self.shift)
    }

    /// Learns from the first segment of the engine where its numbers begin.
    fn learn(&mut self, packet: &TcpPacket<'_>) {
        if packet.flags().has(TcpFlags::SYN) && self.origin != Some(packet.seq().0) {
            self.origin = Some(packet.seq().0);
            self.shift = packet.seq().0;
        }
    }

    /// Makes bytes of a segment that arrives.
    pub(crate) fn write(
        &mut self,
        segment: &ScriptSegment,
        cookies: &[(Vec<u8>, Vec<u8>)],
    ) -> (SegmentMeta, Vec<u8>) {
        let syn = segment.flags & TcpFlags::SYN.0 != 0;
        if syn {
            self.peer_origin = segment.seq;
        }
        let addresses = Addresses::new(self.remote.ip(), self.local.ip());
        let Some(addresses) = addresses else { unreachable!("both ends are of one family") };
        let mut bytes = Vec::with_capacity(tcp::MAX_HEADER_LEN + segment.len as usize);
        bytes.extend(self.remote.port().to_be_bytes());
        bytes.extend(self.local.port().to_be_bytes());
        bytes.extend(segment.seq.to_be_bytes());
        bytes.extend(segment.ack.map_or(0, |ack| self.on_wire(ack)).to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(segment.window.unwrap_or(USUAL_WINDOW).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(segment.urgent.unwrap_or(0).to_be_bytes());
        if let OptionList::These(options) = &segment.options {
            let options: Vec<_> =
                options.iter().map(|it| self.option_on_wire(it, cookies)).collect();
            wire::write_options(&options, &mut bytes);
        }
        bytes.truncate(tcp::MAX_HEADER_LEN);
        bytes[tcp::DATA_OFFSET_AT] = (bytes.len() << 2) as u8;
        tcp::put_flags(&mut bytes, TcpFlags(segment.flags));
        let first = segment.seq.wrapping_sub(self.peer_origin).wrapping_add(u32::from(syn));
        let data = data(first, segment.len as usize);
        tcp::fill_checksum(&addresses, &mut bytes, &data);
        bytes.extend(data);
        let ecn = segment.ecn.map_or(Ecn::NotCapable, Ecn::from_bits);
        (SegmentMeta { addresses, ecn, missing: 0, lost_before: 0 }, bytes)
    }

    /// An option of the script, with the engine's numbers as they are on the wire.
    fn option_on_wire(
        &self,
        option: &SegmentOption,
        cookies: &[(Vec<u8>, Vec<u8>)],
    ) -> SegmentOption {
        match option {
            SegmentOption::Sack(blocks) => {
                let block =
                    |(left, right): &(u32, u32)| (self.on_wire(*left), self.on_wire(*right));
                SegmentOption::Sack(blocks.iter().map(block).collect())
            }
            SegmentOption::Timestamps { value, echo } => {
                SegmentOption::Timestamps { value: *value, echo: self.clock_on_wire(*echo) }
            }
            SegmentOption::FastOpen(cookie) => {
                let known = cookies.iter().find(|(script, _)| script == cookie);
                SegmentOption::FastOpen(known.map_or(cookie, |(_, live)| live).clone())
            }
            other => other.clone(),
        }
    }

    /// Returns a timestamp of the engine on the wire: the one that the script has seen under this
    /// number, or as far from the first.
    fn clock_on_wire(&self, echo: u32) -> u32 {
        let seen = self.clock.iter().rev().find(|(script, _)| *script == echo);
        match (seen, self.clock.first()) {
            (Some((_, live)), _) => *live,
            (None, Some((script, live))) => live.wrapping_add(echo.wrapping_sub(*script)),
            (None, None) => echo,
        }
    }

    /// Reads a segment that the engine sent, in the numbers of the script.
    pub(crate) fn read(&mut self, departure: &Departure) -> Result<ScriptSegment, Stop> {
        let Ok(packet) = TcpPacket::new(&departure.header) else {
            return Stop::differs("the engine sent what is no segment");
        };
        self.learn(&packet);
        let slices = [&departure.header[..], &departure.data[..]];
        if !tcp::checksum_holds(&departure.addresses, slices) {
            return Stop::differs("the engine sent a segment with a wrong checksum");
        }
        let flags = packet.flags();
        let seq = packet.seq().0.wrapping_sub(self.shift);
        if let Some(origin) = self.origin {
            let syn = u32::from(flags.has(TcpFlags::SYN));
            let first = packet.seq().0.wrapping_sub(origin).wrapping_add(syn);
            if departure.data != data(first, departure.data.len()) {
                return Stop::differs(format!("the engine sent wrong data from {seq} on"));
            }
        }
        Ok(ScriptSegment {
            ecn: Some(departure.ecn.bits()),
            flags: flags.0,
            seq,
            len: departure.data.len() as u32,
            ack: flags.has(TcpFlags::ACK).then(|| packet.ack().0),
            window: Some(packet.window()),
            urgent: flags.has(TcpFlags::URG).then(|| packet.urgent()),
            options: OptionList::These(wire::read_options(&packet)),
        })
    }

    /// Takes the script's numbers for those of the first segment that the engine sent.
    pub(crate) fn adopt(&mut self, wanted: &ScriptSegment, found: &mut ScriptSegment) {
        if found.flags & TcpFlags::SYN.0 != 0 && wanted.flags & TcpFlags::SYN.0 != 0 {
            let live = self.on_wire(found.seq);
            self.shift = live.wrapping_sub(wanted.seq);
            found.seq = wanted.seq;
        }
        if let Some((script, _)) = clock_of(wanted)
            && let Some((live, echo)) = clock_of(found)
        {
            self.clock.push((script, live));
            if let OptionList::These(options) = &mut found.options {
                for option in options {
                    if matches!(option, SegmentOption::Timestamps { .. }) {
                        *option = SegmentOption::Timestamps { value: script, echo };
                    }
                }
            }
        }
    }
}

/// Returns the timestamp and the echo of a segment.
fn clock_of(segment: &ScriptSegment) -> Option<(u32, u32)> {
    let OptionList::These(options) = &segment.options else { return None };
    options.iter().find_map(|option| match option {
        SegmentOption::Timestamps { value, echo } => Some((*value, *echo)),
        _ => None,
    })
}

/// Takes the cookie of the script for the one that the engine sent: what a cookie is made of is the
/// engine's own business.
pub(crate) fn adopt_cookie(
    wanted: &ScriptSegment,
    found: &mut ScriptSegment,
    cookies: &mut Vec<(Vec<u8>, Vec<u8>)>,
) {
    let (OptionList::These(wanted), OptionList::These(found)) =
        (&wanted.options, &mut found.options)
    else {
        return;
    };
    let script = wanted.iter().find_map(|option| match option {
        SegmentOption::FastOpen(cookie) if !cookie.is_empty() => Some(cookie),
        _ => None,
    });
    for option in found {
        if let (Some(script), SegmentOption::FastOpen(live)) = (script, option)
            && !live.is_empty()
        {
            cookies.push((script.clone(), core::mem::replace(live, script.clone())));
        }
    }
}
