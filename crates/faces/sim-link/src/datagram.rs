//! Datagrams of UDP as IP packets.

use std::net::SocketAddr;

use bytes::Bytes;
use windfall_wire_net::ipv4::Ipv4Repr;
use windfall_wire_net::ipv6::Ipv6Repr;
use windfall_wire_net::udp::{HEADER_LEN, UdpPacket, UdpRepr};
use windfall_wire_net::{Addresses, Ecn, IpPacket, Protocol, ipv4, ipv6};

use crate::error::SimError;

/// A datagram of UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimDatagram {
    /// The address of the sender.
    pub from: SocketAddr,
    /// The address of the receiver.
    pub to: SocketAddr,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// The data that it carries.
    pub payload: Bytes,
}

impl SimDatagram {
    /// Writes the IP packet that carries it, checksums included.
    ///
    /// # Errors
    /// If the addresses are of two families, or the data is longer than a packet.
    pub fn to_packet(&self) -> Result<Vec<u8>, SimError> {
        let Self { from, to, ecn, payload } = self;
        let family = SimError::Family { from: *from, to: *to };
        let addresses = Addresses::new(from.ip(), to.ip()).ok_or(family)?;
        let len = HEADER_LEN + payload.len();
        let too_long = |_| SimError::TooLong { len: 28 + payload.len(), mtu: u16::MAX };
        let (mut packet, start) = match addresses {
            Addresses::V4 { src, dst } => {
                let mut repr = Ipv4Repr::new(src, dst, Protocol::UDP, len).map_err(too_long)?;
                repr.tos = ecn.bits();
                let mut packet = vec![0; ipv4::HEADER_LEN + len];
                repr.emit(&mut packet);
                (packet, ipv4::HEADER_LEN)
            }
            Addresses::V6 { src, dst } => {
                let mut repr = Ipv6Repr::new(src, dst, Protocol::UDP, len).map_err(too_long)?;
                repr.traffic_class = ecn.bits();
                let mut packet = vec![0; ipv6::HEADER_LEN + len];
                repr.emit(&mut packet);
                (packet, ipv6::HEADER_LEN)
            }
        };
        let repr = UdpRepr { src_port: from.port(), dst_port: to.port() };
        repr.emit(&mut packet[start..], &addresses, payload).map_err(too_long)?;
        packet[start + HEADER_LEN..].copy_from_slice(payload);
        Ok(packet)
    }

    /// Reads a packet as a receiver does whose datagrams carry no checksum over their data: damaged
    /// data is passed up, a packet whose headers are damaged is none.
    #[must_use]
    pub fn parse(packet: &Bytes) -> Option<Self> {
        Self::parse_as(packet, false)
    }

    /// Reads a packet as a receiver does that holds the checksum against the data: `None` where it
    /// does not hold.
    #[must_use]
    pub fn parse_checked(packet: &Bytes) -> Option<Self> {
        Self::parse_as(packet, true)
    }

    fn parse_as(packet: &Bytes, is_checked: bool) -> Option<Self> {
        let ip = IpPacket::new(packet).ok()?;
        if matches!(&ip, IpPacket::V4(header) if !header.checksum_holds()) || ip.missing() > 0 {
            return None;
        }
        let carried =
            ip.carried().ok().filter(|it| it.protocol == Protocol::UDP && !it.fragment)?;
        let udp = UdpPacket::new(carried.bytes).ok().filter(|udp| udp.len() == carried.len)?;
        let addresses = ip.addresses();
        if is_checked && !udp.checksum_holds(&addresses) {
            return None;
        }
        Some(Self {
            from: SocketAddr::new(addresses.src(), udp.src_port()),
            to: SocketAddr::new(addresses.dst(), udp.dst_port()),
            ecn: Ecn::from_bits(ip.traffic_class()),
            payload: packet.slice_ref(udp.payload()),
        })
    }
}

#[cfg(test)]
mod tests;
