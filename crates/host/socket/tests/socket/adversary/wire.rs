//! Datagrams of hostile clients: forged, mutated, from any address.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto};
use windfall_base::Stream;
use windfall_wire_net::carrier;
use windfall_wire_net::sap::{HEADER_LEN, SapHeader, SapKind, SapPing};
use windfall_wire_net::udplite::Coverage;

/// The lengths of the headers of IPv4 and UDP.
const OUTER: usize = 28;

/// A raw socket, which sends from any address.
pub(super) struct Spoofer(OwnedFd);

impl Spoofer {
    pub(super) fn new() -> Self {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW));
        Self(socket.expect("root of a namespace may"))
    }

    /// Sends `payload` by UDP as if from `from`.
    pub(super) fn send(&self, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
        let mut packet = Vec::with_capacity(OUTER + payload.len());
        // The system fills in the lengths and the checksum of the IP header.
        packet.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
        packet.extend(from.ip().octets());
        packet.extend(to.ip().octets());
        packet.extend(from.port().to_be_bytes());
        packet.extend(to.port().to_be_bytes());
        packet.extend((8 + payload.len() as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend_from_slice(payload);
        let to = SocketAddrV4::new(*to.ip(), 0);
        // A full buffer loses a forged datagram.
        let _ = rustix::net::sendto(&self.0, &packet, SendFlags::DONTWAIT, &to);
    }
}

/// Any address of the loopback and any port.
pub(super) fn anyone(stream: &mut Stream) -> SocketAddrV4 {
    let [a, b, c, d, e, ..] = stream.bits().to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(127, a, b, c.max(1)), u16::from_be_bytes([d | 4, e]))
}

/// Puts a datagram of SAP into its carrier.
pub(super) fn carried(sap: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; carrier::HEADER_LEN];
    carrier::emit_unbound(&mut bytes, Coverage::Full, [sap, &[]]);
    bytes.extend_from_slice(sap);
    bytes
}

/// A datagram with legal checks.
pub(super) fn datagram(kind: SapKind, connection: u32, number: u32, body: &[u8]) -> Vec<u8> {
    let header = SapHeader { kind, flags: 0, exact: 0, connection, number };
    let mut bytes = header.emit([body, &[]]).to_vec();
    bytes.extend_from_slice(body);
    carried(&bytes)
}

/// A ping with a random id.
pub(super) fn ping(stream: &mut Stream) -> Vec<u8> {
    let connection = stream.bits() as u32 | 1;
    let ping = SapPing { connection, max_datagram: 65_400, features: 1, ..SapPing::default() };
    datagram(SapKind::Ping, 0, 0, &ping.emit())
}

/// Changes a datagram of SAP in its carrier: bits, its end, or both; half of them get legal checks.
pub(super) fn mutated(stream: &mut Stream, original: &[u8]) -> Vec<u8> {
    let mut sap = original.get(carrier::HEADER_LEN..).unwrap_or_default().to_vec();
    match stream.below(4) {
        0 => sap.truncate(stream.below(sap.len() as u64 + 1) as usize),
        1 => sap.extend((0..stream.below(100)).map(|at| at as u8)),
        _ => {}
    }
    if !sap.is_empty() {
        for _ in 0..=stream.below(8) {
            let at = stream.below(sap.len() as u64) as usize;
            sap[at] ^= 1 << stream.below(8);
        }
    }
    if sap.len() >= HEADER_LEN && stream.below(2) == 0 {
        check(&mut sap);
    }
    carried(&sap)
}

/// Writes the checks of a datagram of SAP anew.
pub(super) fn check(sap: &mut [u8]) {
    sap[0] = 0x10 | sap[0] & 15;
    let exact = usize::from(u16::from_be_bytes([sap[2], sap[3]])).min(sap.len() - HEADER_LEN);
    sap[2..4].copy_from_slice(&(exact as u16).to_be_bytes());
    let body = crc32c::crc32c(&sap[HEADER_LEN..][..exact]);
    sap[12..16].copy_from_slice(&body.to_be_bytes());
    let header = crc32c::crc32c(&sap[..16]);
    sap[16..20].copy_from_slice(&header.to_be_bytes());
}
