//! Packets of RTP in datagrams of UDP or UDP-Lite.

use core::net::Ipv4Addr;
use core::ops::Range;

use windfall_rtp::RTP_HEADER_LEN;
use windfall_wire_net::udplite::Coverage;
use windfall_wire_net::{
    Addresses, Ipv4Packet, Ipv4Repr, Protocol, UdpLitePacket, UdpLiteRepr, UdpPacket, UdpRepr,
};

use crate::wsim::run::WsimProtocol;

const IP_LEN: usize = 20;
const UDP_LEN: usize = 8;
/// The port of both ends.
const PORT: u16 = 5_004;

/// Returns an IPv4 packet from the first of `ends` to the second with a packet of RTP, whose first
/// `exact` bytes of payload UDP-Lite covers beside the headers.
///
/// # Panics
/// If the packet of RTP is longer than a datagram.
#[must_use]
pub fn rtp_datagram(
    protocol: WsimProtocol,
    ends: [Ipv4Addr; 2],
    rtp: &[u8],
    exact: usize,
) -> Vec<u8> {
    let [src, dst] = ends;
    let addresses = Addresses::V4 { src, dst };
    let length = UDP_LEN + rtp.len();
    let number = match protocol {
        WsimProtocol::Udp => Protocol::UDP,
        WsimProtocol::UdpLite => Protocol::UDP_LITE,
    };
    let mut packet = vec![0; IP_LEN + UDP_LEN];
    let ip = Ipv4Repr::new(src, dst, number, length).expect("a payload is short");
    ip.emit(&mut packet);
    let header = &mut packet[IP_LEN..];
    match protocol {
        WsimProtocol::Udp => {
            let udp = UdpRepr { src_port: PORT, dst_port: PORT };
            udp.emit(header, &addresses, rtp).expect("a payload is short");
        }
        WsimProtocol::UdpLite => {
            let coverage = Coverage::requested((UDP_LEN + RTP_HEADER_LEN + exact) as u16);
            UdpLiteRepr { src_port: PORT, dst_port: PORT, coverage }.emit(header, &addresses, rtp);
        }
    }
    packet.extend(rtp);
    packet
}

/// Returns the packet of RTP inside an IPv4 packet to `to` whose checks hold, and the ranges of its
/// payload that they do not cover.
#[must_use]
pub fn rtp_of(packet: &[u8], to: Ipv4Addr) -> Option<(Vec<u8>, Vec<Range<u32>>)> {
    let ip = Ipv4Packet::new(packet).ok()?;
    let is_ours = ip.checksum_holds() && ip.missing() == 0 && ip.dst() == to;
    if !is_ours {
        return None;
    }
    let addresses = ip.addresses();
    match ip.protocol() {
        Protocol::UDP => {
            let udp = UdpPacket::new(ip.payload()).ok()?;
            let holds = udp.missing() == 0 && udp.checksum_holds(&addresses);
            holds.then(|| (udp.payload().to_vec(), Vec::new()))
        }
        Protocol::UDP_LITE => {
            let udp = UdpLitePacket::new(ip.payload()).ok()?;
            let covered = udp.covered().saturating_sub(UDP_LEN + RTP_HEADER_LEN) as u32;
            let end = udp.payload().len().saturating_sub(RTP_HEADER_LEN) as u32;
            let suspect = Some(covered..end).filter(|it| !it.is_empty()).into_iter().collect();
            let holds = udp.checksum_holds(&addresses);
            holds.then(|| (udp.payload().to_vec(), suspect))
        }
        _ => None,
    }
}
