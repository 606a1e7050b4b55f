//! Packets of turmoil-net as bytes on the link.

use bytes::Bytes;
use std::net::SocketAddr;

use turmoil_net::{Packet, TcpFlags, TcpSegment, Transport, UdpDatagram};
use windfall_sim_link::{Ecn, SimDatagram};
use windfall_wire_net::ipv4::{self, Ipv4Repr};
use windfall_wire_net::ipv6::{self, Ipv6Repr};
use windfall_wire_net::{Addresses, IpPacket, Protocol};

/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;

/// Writes a packet; `None` if it is longer than IP allows.
pub(crate) fn write(packet: &Packet, ecn: Ecn) -> Option<Vec<u8>> {
    let segment = match &packet.payload {
        Transport::Udp(UdpDatagram { src_port, dst_port, payload }) => {
            let from = SocketAddr::new(packet.src, *src_port);
            let to = SocketAddr::new(packet.dst, *dst_port);
            return SimDatagram { from, to, ecn, payload: payload.clone() }.to_packet().ok();
        }
        Transport::Tcp(segment) => segment,
    };
    let addresses = Addresses::new(packet.src, packet.dst)?;
    let len = TCP_HEADER + segment.payload.len();
    let (mut bytes, start) = match addresses {
        Addresses::V4 { src, dst } => {
            let mut repr = Ipv4Repr::new(src, dst, Protocol::TCP, len).ok()?;
            (repr.tos, repr.hop_limit) = (ecn.bits(), packet.ttl);
            let mut bytes = vec![0; ipv4::HEADER_LEN + len];
            repr.emit(&mut bytes);
            (bytes, ipv4::HEADER_LEN)
        }
        Addresses::V6 { src, dst } => {
            let mut repr = Ipv6Repr::new(src, dst, Protocol::TCP, len).ok()?;
            (repr.traffic_class, repr.hop_limit) = (ecn.bits(), packet.ttl);
            let mut bytes = vec![0; ipv6::HEADER_LEN + len];
            repr.emit(&mut bytes);
            (bytes, ipv6::HEADER_LEN)
        }
    };
    let tcp = &mut bytes[start..];
    tcp[0..2].copy_from_slice(&segment.src_port.to_be_bytes());
    tcp[2..4].copy_from_slice(&segment.dst_port.to_be_bytes());
    tcp[4..8].copy_from_slice(&segment.seq.to_be_bytes());
    tcp[8..12].copy_from_slice(&segment.ack.to_be_bytes());
    tcp[12] = (TCP_HEADER as u8 / 4) << 4;
    let TcpFlags { syn, ack, fin, rst, psh, urg } = segment.flags;
    let flags = [fin, syn, rst, psh, ack, urg];
    tcp[13] = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
    tcp[14..16].copy_from_slice(&segment.window.to_be_bytes());
    tcp[TCP_HEADER..].copy_from_slice(&segment.payload);
    let mut sum = addresses.pseudo_header(Protocol::TCP, len as u32);
    sum.add(tcp);
    tcp[16..18].copy_from_slice(&sum.checksum().to_be_bytes());
    Some(bytes)
}

/// Reads a packet as the receiver's kernel does; `None` if it drops it as damaged.
pub(crate) fn read(bytes: &Bytes, is_checked: bool) -> Option<Packet> {
    let ip = IpPacket::new(bytes).ok()?;
    let carried = ip.carried().ok()?;
    if carried.protocol == Protocol::UDP {
        let read = if is_checked { SimDatagram::parse_checked } else { SimDatagram::parse };
        let SimDatagram { from, to, payload, .. } = read(bytes)?;
        let udp = UdpDatagram { src_port: from.port(), dst_port: to.port(), payload };
        let (src, dst, ttl) = (from.ip(), to.ip(), ip.hop_limit());
        return Some(Packet { src, dst, ttl, payload: Transport::Udp(udp) });
    }
    if matches!(&ip, IpPacket::V4(header) if !header.checksum_holds()) {
        return None;
    }
    let (addresses, tcp) = (ip.addresses(), carried.bytes);
    if carried.protocol != Protocol::TCP || tcp.len() < TCP_HEADER || tcp.len() < carried.len {
        return None;
    }
    let mut sum = addresses.pseudo_header(Protocol::TCP, tcp.len() as u32);
    sum.add(tcp);
    if !sum.holds() {
        return None;
    }
    let two = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let four = |at: usize| u32::from(two(at)) << 16 | u32::from(two(at + 2));
    let flag = |bit: u8| tcp[13] & (1 << bit) != 0;
    let segment = TcpSegment {
        src_port: two(0),
        dst_port: two(2),
        seq: four(4),
        ack: four(8),
        flags: TcpFlags {
            fin: flag(0),
            syn: flag(1),
            rst: flag(2),
            psh: flag(3),
            ack: flag(4),
            urg: flag(5),
        },
        window: two(14),
        payload: bytes.slice_ref(&tcp[TCP_HEADER..]),
    };
    let (src, dst, ttl) = (addresses.src(), addresses.dst(), ip.hop_limit());
    Some(Packet { src, dst, ttl, payload: Transport::Tcp(segment) })
}
