//! Inverts each bit of a datagram in turn, from the addresses to its last byte.

use windfall_wire_net::udplite::Coverage;
use windfall_wire_net::{Addresses, CarrierPacket, UdpLitePacket, UdpLiteRepr, carrier, udplite};

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, address};
use crate::message::Mode;

/// The length of the message, and of its protected prefix.
const MESSAGE: usize = 1024;
const PROTECTED: usize = 100;
/// The number of bits of the two addresses.
const ADDRESSES: usize = 64;

/// Encapsulation of a datagram for the layer below SAP.
type Wrap = fn(&OutgoingDatagram, &Addresses) -> Vec<u8>;
/// Decapsulation: the payload and the result of the checksum; `None` if it is dropped below SAP.
type Unwrap = fn(&[u8], &Addresses) -> Option<(Bytes, bool)>;

fn in_udplite(transmit: &OutgoingDatagram, addresses: &Addresses) -> Vec<u8> {
    let coverage = Coverage::requested(transmit.coverage());
    let data = transmit.to_bytes();
    let mut bytes = vec![0; udplite::HEADER_LEN + data.len()];
    let header = UdpLiteRepr { src_port: 4000, dst_port: 4000, coverage };
    header.emit(&mut bytes, addresses, &data);
    bytes[udplite::HEADER_LEN..].copy_from_slice(&data);
    bytes
}

fn out_of_udplite(bytes: &[u8], addresses: &Addresses) -> Option<(Bytes, bool)> {
    let packet = UdpLitePacket::new(bytes).ok()?;
    Some((Bytes::copy_from_slice(packet.payload()), packet.checksum_holds(addresses)))
}

const PORTS: carrier::Ports = carrier::Ports { src: 4000, dst: 4000 };

fn in_udp(transmit: &OutgoingDatagram, addresses: &Addresses) -> Vec<u8> {
    let data = transmit.to_bytes();
    let mut bytes = vec![0; carrier::HEADER_LEN];
    let coverage = Coverage::requested(transmit.coverage());
    carrier::emit(&mut bytes, addresses, PORTS, coverage, [&data, &[]]);
    bytes.extend_from_slice(&data);
    bytes
}

fn out_of_udp(bytes: &[u8], addresses: &Addresses) -> Option<(Bytes, bool)> {
    let packet = CarrierPacket::new(bytes).ok()?;
    Some((Bytes::copy_from_slice(packet.payload()), packet.checksum_holds(addresses, PORTS)))
}

/// Inverts bit after bit of the addresses and of the datagram; returns the end of the protected
/// part, and the bits whose damage causes a drop.
fn protected_bits(wrap: Wrap, unwrap: Unwrap) -> (usize, Vec<usize>) {
    let lost = Impairments { loss: 1.0, ..CLEAN };
    // No datagram is delayed, and no other one is sent.
    let config =
        SapConfig { congestion_control: false, path_discovery: false, ..SapConfig::standard() };
    let (mut network, [a, b]) = Network::connected(config, lost, 1);
    let mut costly = Vec::new();
    for bit in 0.. {
        network.send(A, a, Mode::Approximate { protected: PROTECTED }, &[0x5a; MESSAGE]);
        let now = network.now;
        let transmit = network.sent(A, SapKind::Data).pop().expect("it was sent");
        network.log.clear();
        let mut ips = [10, 0, 0, 1, 10, 0, 0, 2];
        let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
        let mut bytes = wrap(&transmit, &Addresses::V4 { src, dst });
        if bit == ADDRESSES + 8 * bytes.len() {
            let damageable = transmit.len() - transmit.exact;
            return (ADDRESSES + 8 * (bytes.len() - damageable), costly);
        }
        let flipped = if bit < ADDRESSES { &mut ips[bit / 8] } else { &mut bytes[bit / 8 - 8] };
        *flipped ^= 0x80 >> (bit % 8);
        let [src, dst] = [0, 4].map(|at| [ips[at], ips[at + 1], ips[at + 2], ips[at + 3]].into());
        if let Some((data, held)) = unwrap(&bytes, &Addresses::V4 { src, dst }) {
            network.ends[B].handle_datagram(
                now,
                &DatagramMeta { covered_intact: held, ..DatagramMeta::new(address(A)) },
                &data,
            );
        }
        if network.ends[B].receive(now, b).is_none() {
            costly.push(bit);
        }
    }
    unreachable!("the datagram has an end")
}

//= S0.4
#[test]
fn a_bit_error_drops_a_datagram_if_and_only_if_the_bit_is_protected() {
    for (wrap, unwrap) in [(in_udplite as Wrap, out_of_udplite as Unwrap), (in_udp, out_of_udp)] {
        let (protected, costly) = protected_bits(wrap, unwrap);
        // Addresses, the header below, that of SAP, the head of the message, four block checks.
        assert_eq!(protected, ADDRESSES + 8 * (8 + 20 + 8 + 8 + PROTECTED));
        assert_eq!(costly, Vec::from_iter(0..protected));
    }
}
