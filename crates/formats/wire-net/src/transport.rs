//! The transport header of an IP packet: where the data behind it begin, and its checksum.

use core::ops::Range;

use windfall_base::Payload;

use crate::addresses::Addresses;
use crate::checksum::Sum;
use crate::field::{put_u16, u16_at};
use crate::ip::{Carried, IpPacket};
use crate::protocol::Protocol;
use crate::tcp::{self, TcpPacket};
use crate::{udp, udplite};

/// The bytes at the beginning of a packet within which its headers end, but for rare extensions.
const MAX_HEADERS: usize = 256;
/// The length of the part of ICMP's header that all messages have, in bytes (RFC 792, 4443).
const ICMP_HEADER_LEN: usize = 8;
/// The offset of the checksum in a header of UDP and of UDP-Lite (RFC 768, 3828).
const UDP_CHECKSUM: usize = 6;
/// The offset of the checksum in a header of TCP (RFC 9293, section 3.1).
const TCP_CHECKSUM: usize = 16;
/// The offset of the checksum in a header of ICMP (RFC 792, 4443).
const ICMP_CHECKSUM: usize = 2;

/// The transport header of a whole IP packet.
struct Transport<'a> {
    addresses: Addresses,
    carried: Carried<'a>,
    /// The offset of the transport header in the packet, in bytes.
    start: usize,
}

impl<'a> Transport<'a> {
    /// Reads the beginning of a packet of `len` bytes; `None` if it is no IP packet, if bytes are
    /// missing, or if the checksum of its IPv4 header fails.
    fn read(beginning: &'a [u8], len: usize) -> Option<Self> {
        let ip = IpPacket::new(beginning).ok().filter(|ip| ip.total_len() <= len)?;
        if let IpPacket::V4(v4) = &ip
            && !v4.checksum_holds()
        {
            return None;
        }
        let carried = ip.carried().ok()?;
        Some(Self { addresses: ip.addresses(), carried, start: ip.total_len() - carried.len })
    }

    /// Returns the length of the transport header, in bytes; 0 of a later fragment and of an
    /// unknown protocol.
    fn header_len(&self) -> usize {
        let Carried { protocol, bytes, fragment_offset, .. } = self.carried;
        let len = match protocol {
            _ if fragment_offset > 0 => 0,
            Protocol::UDP => udp::HEADER_LEN,
            Protocol::UDP_LITE => udplite::HEADER_LEN,
            Protocol::TCP => TcpPacket::new(bytes).map_or(tcp::HEADER_LEN, |it| it.header_len()),
            Protocol::ICMP | Protocol::ICMPV6 => ICMP_HEADER_LEN,
            _ => 0,
        };
        len.min(bytes.len())
    }

    /// Returns the checksum; `None` where there is none, or no header that could be right.
    fn checksum(&self) -> Option<Checksum> {
        let Carried { protocol, bytes, fragment, .. } = self.carried;
        let len = bytes.len();
        let of = |offset, covered| Some(Checksum { offset, covered, len });
        if fragment {
            return None;
        }
        match protocol {
            Protocol::UDP if len >= udp::HEADER_LEN => {
                // Behind the datagram there may be options (RFC 9868).
                let len = usize::from(u16_at(bytes, 4));
                let is_legal = (udp::HEADER_LEN..=bytes.len()).contains(&len);
                let has_checksum = u16_at(bytes, UDP_CHECKSUM) != 0;
                let checksum = Checksum { offset: UDP_CHECKSUM, covered: len, len };
                (is_legal && has_checksum).then_some(checksum)
            }
            Protocol::UDP_LITE if len >= udplite::HEADER_LEN => {
                let coverage = udplite::Coverage::from_field(u16_at(bytes, 4))?;
                of(UDP_CHECKSUM, coverage.bytes_of(len))
            }
            Protocol::TCP if len >= tcp::HEADER_LEN => of(TCP_CHECKSUM, len),
            Protocol::ICMP | Protocol::ICMPV6 if len >= ICMP_HEADER_LEN => of(ICMP_CHECKSUM, len),
            _ => None,
        }
    }
}

/// The checksum of a transport header.
struct Checksum {
    /// The offset of its field in the header, in bytes.
    offset: usize,
    /// The bytes that it covers, from the header's first.
    covered: usize,
    /// The length that the pseudo header has, in bytes.
    len: usize,
}

/// Returns the offset of the data behind the headers of IP and of the transport, in bytes.
///
/// The headers of IPv6 extensions count, and those of TCP options. A later fragment and a packet of
/// an unknown protocol have data right behind the IP header. `None` if `packet` is no IP packet, if
/// bytes are missing at its end, or if the checksum of its IPv4 header fails.
#[must_use]
pub fn data_offset(packet: &Payload) -> Option<usize> {
    let beginning = packet.prefix(MAX_HEADERS);
    let transport = Transport::read(&beginning, packet.len())?;
    Some(transport.start + transport.header_len())
}

/// Writes the checksum of TCP, UDP, UDP-Lite or ICMP anew, so that it holds over the bytes that are
/// there, and returns `true`.
///
/// Returns `false` and leaves the packet as it is where that is impossible: a header of IPv4 whose
/// own checksum fails, a length of UDP beyond that of IP, a fragment, missing bytes, a
/// datagram without a checksum, another protocol.
pub fn restore_checksum(packet: &mut [u8]) -> bool {
    let Some(transport) = Transport::read(packet, packet.len()) else { return false };
    let Some(Checksum { offset, covered, len }) = transport.checksum() else { return false };
    let Transport { addresses, carried: Carried { protocol, .. }, start } = transport;
    let mut sum = match protocol {
        Protocol::ICMP => Sum::new(),
        _ => addresses.pseudo_header(protocol, len as u32),
    };
    let carried = &mut packet[start..];
    put_u16(carried, offset, 0);
    sum.add(&carried[..covered]);
    let is_udp = matches!(protocol, Protocol::UDP | Protocol::UDP_LITE);
    put_u16(carried, offset, if is_udp { sum.nonzero_checksum() } else { sum.checksum() });
    true
}

/// The checksum of UDP over IPv4, which may be zero (RFC 768).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionalChecksum {
    /// Its place in the packet, in bytes.
    pub place: Range<usize>,
    /// The packet is the first fragment of a longer one, which the checksum covers as a whole.
    pub is_of_fragments: bool,
}

/// Returns the checksum of UDP over IPv4; `None` of another packet, and of a later fragment.
/// `packet` may be the beginning of a packet.
#[must_use]
pub fn udp_checksum_over_ipv4(packet: &[u8]) -> Option<OptionalChecksum> {
    let IpPacket::V4(ip) = IpPacket::new(packet).ok()? else { return None };
    let place = ip.header_len() + UDP_CHECKSUM..ip.header_len() + udp::HEADER_LEN;
    let is_udp = ip.protocol() == Protocol::UDP && ip.fragment_offset() == 0;
    let checksum = OptionalChecksum { place, is_of_fragments: ip.is_fragment() };
    (is_udp && checksum.place.end <= packet.len()).then_some(checksum)
}

#[cfg(test)]
mod tests;
