//! Packets that an access point sends on between stations, while they wait in its queues.

use windfall_base::Frame;
use windfall_mac::wifi::Packet;
use windfall_wire_link::ieee80211::MacAddress;

/// The header of a relayed packet in the queue, in the order of Ethernet: destination, source,
/// EtherType. A packet of the device has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RelayHeader {
    pub(super) to: MacAddress,
    pub(super) source: MacAddress,
    pub(super) ether_type: u16,
}

impl RelayHeader {
    /// The header of a packet that a station gave to be sent on.
    pub(super) fn new(packet: &Packet) -> Option<Self> {
        Some(Self { to: packet.to, source: packet.source?, ether_type: packet.ether_type })
    }

    /// Puts the header before a packet.
    pub(super) fn put(self, frame: &mut Frame) {
        let addresses = self.to.0.into_iter().chain(self.source.0);
        frame.header.extend(addresses.chain(self.ether_type.to_be_bytes()));
    }

    /// Takes the header off a packet; `None` if it bears none.
    pub(super) fn take(frame: &mut Frame) -> Option<Self> {
        let (to, rest) = frame.header.split_first_chunk()?;
        let (source, rest) = rest.split_first_chunk()?;
        let ether_type = u16::from_be_bytes(rest.try_into().ok()?);
        let header = Self { to: MacAddress(*to), source: MacAddress(*source), ether_type };
        frame.header.clear();
        Some(header)
    }
}
