//! The flow of a captured packet of IP, and whether its checksums are right.

use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::checksum::{Sum, checksum};
use windfall_wire_net::{Addresses, Carried, IpPacket, Protocol};

use super::link;

/// The hosts of a packet, and the protocol that it carries.
pub(super) type Hosts = (Addresses, Protocol);

/// The hosts of a packet and the ports of TCP, UDP and UDP-Lite, in bytes.
pub(super) type Ends = (Hosts, Option<[u8; 4]>);

/// The contents of a captured packet of IP.
pub(super) struct Flow<'a> {
    pub(super) ends: Ends,
    pub(super) carried: Carried<'a>,
    /// The offset of what it carries in the captured bytes.
    pub(super) start: usize,
    /// The checksum of the IPv4 header is right.
    pub(super) has_right_header: bool,
}

impl<'a> Flow<'a> {
    /// Reads a captured packet; returns `None` if it is not one of IP.
    pub(super) fn of_packet(packet: &'a CapturedPacket) -> Option<Self> {
        let link = link::header(packet)?;
        let ip = IpPacket::new(packet.data.get(link..)?).ok()?;
        let carried = ip.carried().ok()?;
        let protocol = carried.protocol;
        let has_ports = [Protocol::TCP, Protocol::UDP, Protocol::UDP_LITE].contains(&protocol);
        let ports = carried.bytes.first_chunk::<4>().filter(|_| has_ports && !carried.fragment);
        Some(Self {
            ends: ((ip.addresses(), protocol), ports.copied()),
            start: link + ip.total_len() - carried.len,
            has_right_header: matches!(ip, IpPacket::V4(packet) if packet.checksum_holds()),
            carried,
        })
    }

    /// Returns whether all bytes of a whole transport packet were captured.
    pub(super) fn is_complete(&self) -> bool {
        !self.carried.fragment && self.carried.bytes.len() == self.carried.len
    }

    /// Returns whether a checksum over everything that the packet carries is there and right.
    pub(super) fn is_whole(&self) -> bool {
        let bytes = self.carried.bytes;
        match self.carried.protocol {
            _ if !self.is_complete() => false,
            Protocol::ICMP => checksum(bytes) == 0,
            Protocol::UDP if bytes.get(6..8) == Some(&[0, 0]) => false,
            Protocol::TCP | Protocol::UDP | Protocol::ICMPV6 => {
                let mut sum = self.pseudo_header();
                sum.add(bytes);
                sum.holds()
            }
            _ => false,
        }
    }

    /// Returns the checksum of a whole packet of TCP or UDP, which has its place at `at`.
    pub(super) fn right_checksum(&self, at: usize) -> u16 {
        let mut bytes = self.carried.bytes.to_vec();
        bytes[at..at + 2].fill(0);
        let mut sum = self.pseudo_header();
        sum.add(&bytes);
        // In UDP zero says that there is none.
        let is_udp = self.carried.protocol == Protocol::UDP;
        if is_udp { sum.nonzero_checksum() } else { sum.checksum() }
    }

    /// Returns the sum over the pseudo header.
    pub(super) fn pseudo_header(&self) -> Sum {
        let len = u32::try_from(self.carried.len).unwrap_or(u32::MAX);
        let ((addresses, protocol), _) = self.ends;
        addresses.pseudo_header(protocol, len)
    }

    /// Returns the sequence number of a segment of TCP with data, and the length of the data.
    pub(super) fn segment(&self) -> Option<(u32, usize)> {
        let bytes = self.carried.bytes;
        if self.carried.protocol != Protocol::TCP || self.carried.fragment {
            return None;
        }
        let header = usize::from(bytes.get(12)? >> 4) * 4;
        let length = self.carried.len.checked_sub(header.max(20)).filter(|it| *it > 0)?;
        Some((u32::from_be_bytes(*bytes.get(4..8)?.first_chunk()?), length))
    }

    /// Returns the data of a segment of TCP that were captured.
    pub(super) fn data_of_segment(&self) -> Option<&'a [u8]> {
        let (_, length) = self.segment()?;
        self.carried.bytes.get(self.carried.len - length..)
    }

    /// Returns the payload of a datagram of UDP of which all was captured.
    pub(super) fn datagram(&self) -> Option<&'a [u8]> {
        let is_udp = self.carried.protocol == Protocol::UDP && self.is_complete();
        self.carried.bytes.get(8..).filter(|_| is_udp)
    }
}
