//! ICMP: answers to echo requests, reports of problems, and the use of reports from others.

use core::net::IpAddr;

use bytes::Bytes;
use windfall_base::{DropReason, Instant, Payload};
use windfall_wire_net::{
    Addresses, Ecn, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpPacket, Protocol,
};

use super::{IpDatagram, Layer, Outbound, Upward};
use crate::event::IpEventKind;
use crate::report::{self, Problem};

/// The meaning of an ICMP message for this station.
enum Meaning {
    /// An echo of its data is requested.
    Request { id: u16, seq: u16 },
    /// The host has asked for it.
    Reply,
    /// Something happened to a packet sent from here.
    Error(Option<Problem>),
    /// The message is ignored.
    Nothing,
}

impl Layer {
    /// Takes an ICMP message to this station.
    pub(super) fn receive_message(&mut self, now: Instant, datagram: IpDatagram) {
        let len = datagram.packet.len();
        if datagram.damage.missing > 0 {
            return self.discard(now, datagram.tag, len, DropReason::Truncated);
        }
        let bytes = datagram.packet.slice(datagram.start..len);
        let meaning = match read(&datagram.addresses, datagram.protocol, &bytes) {
            Ok(meaning) => meaning,
            Err(reason) => return self.discard(now, datagram.tag, len, reason),
        };
        match meaning {
            Meaning::Request { id, seq } => {
                // No answer to a packet to a multicast address or from an address that names no
                // single host (RFC 1122, section 3.2.2.6).
                let to_us = self.is_local(datagram.addresses.dst());
                if !to_us || !is_unicast(datagram.addresses.src()) {
                    return self.discard(now, datagram.tag, len, DropReason::NotForUs);
                }
                self.given += 1;
                self.answer(now, &datagram.addresses.reversed(), id, seq, bytes.slice(8..));
            }
            Meaning::Reply => self.hand_up(datagram),
            Meaning::Error(problem) => self.receive_error(now, &datagram, &bytes, problem),
            Meaning::Nothing => self.discard(now, datagram.tag, len, DropReason::NoListener),
        }
    }

    fn answer(&mut self, now: Instant, addresses: &Addresses, id: u16, seq: u16, data: Bytes) {
        let mut header = [0; 8];
        let protocol = match addresses {
            Addresses::V4 { .. } => {
                Icmpv4Repr::EchoReply { id, seq }.emit(&mut header, &data);
                Protocol::ICMP
            }
            Addresses::V6 { .. } => {
                Icmpv6Repr::EchoReply { id, seq }.emit(&mut header, addresses, &data);
                Protocol::ICMPV6
            }
        };
        let addresses = *addresses;
        let header = &header[..];
        // A reply without a route is a drop, and counted; nothing else depends on it.
        let _ =
            self.send(now, Outbound { addresses, protocol, ecn: Ecn::NotCapable, header, data });
    }

    /// Learns from an error message, if it is about a packet that was sent from here.
    fn receive_error(
        &mut self,
        now: Instant,
        datagram: &IpDatagram,
        bytes: &Bytes,
        problem: Option<Problem>,
    ) {
        let quoted = report::understand(&bytes.slice(8..), problem);
        let Some(report) = quoted.filter(|report| self.is_local(report.addresses.src())) else {
            let len = datagram.packet.len();
            return self.discard(now, datagram.tag, len, DropReason::NotForUs);
        };
        self.given += 1;
        let to = report.addresses.dst();
        let protocol = report.protocol;
        if protocol != Protocol::TCP && self.sent_lately.contains(to, protocol, &report.quoted) {
            self.learn_path_mtu(now, &report);
        }
        self.upward.push_back(Upward::Report(report));
    }

    /// Sends an ICMP error about `packet`, received on `interface`, to its source, if the rules and
    /// the rate limit permit.
    pub(super) fn report(
        &mut self,
        now: Instant,
        interface: Option<usize>,
        packet: &Payload,
        problem: Problem,
    ) {
        let start = packet.prefix(QUOTE);
        let Ok(view) = IpPacket::new(&start) else { return };
        let addresses = view.addresses();
        let to = addresses.src();
        let directed = match addresses {
            Addresses::V4 { dst, .. } => self.broadcasts.contains(&dst),
            Addresses::V6 { .. } => false,
        };
        if directed || !report::may_report(&view, problem) || !self.errors.take(now) {
            return;
        }
        let source = self.address_towards(interface, to);
        let Some(addresses) = source.and_then(|source| Addresses::new(source, to)) else { return };
        let quoted = Payload::from(start.clone());
        let Some((header, data)) = report::message(&addresses, problem, &quoted) else { return };
        let protocol = if to.is_ipv4() { Protocol::ICMP } else { Protocol::ICMPV6 };
        self.note(now, IpEventKind::Reported { to, problem });
        // A message without a route is a drop, and counted.
        let _ = self.send(
            now,
            Outbound { addresses, protocol, ecn: Ecn::NotCapable, header: &header, data },
        );
    }
}

/// Returns whether `address` denotes a single host.
fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || broadcast)
}

/// The longest beginning of a packet that an error message quotes, in bytes.
const QUOTE: usize = 1280;

/// Reads the meaning of a message, or returns why it is to be dropped.
fn read(addresses: &Addresses, protocol: Protocol, bytes: &Bytes) -> Result<Meaning, DropReason> {
    let family = match addresses {
        Addresses::V4 { .. } => Protocol::ICMP,
        Addresses::V6 { .. } => Protocol::ICMPV6,
    };
    if protocol != family {
        return Err(DropReason::NoListener);
    }
    if protocol == Protocol::ICMP {
        let packet = Icmpv4Packet::new(bytes).map_err(|_| DropReason::Malformed)?;
        if !packet.checksum_holds() {
            return Err(DropReason::IcmpChecksum);
        }
        let repr = Icmpv4Repr::parse(&packet);
        return Ok(match repr {
            Some(Icmpv4Repr::EchoRequest { id, seq }) => Meaning::Request { id, seq },
            Some(Icmpv4Repr::EchoReply { .. }) => Meaning::Reply,
            _ if packet.is_error() => Meaning::Error(report::problem_v4(repr)),
            _ => Meaning::Nothing,
        });
    }
    let packet = Icmpv6Packet::new(bytes).map_err(|_| DropReason::Malformed)?;
    if !packet.checksum_holds(addresses) {
        return Err(DropReason::IcmpChecksum);
    }
    let repr = Icmpv6Repr::parse(&packet);
    Ok(match repr {
        Some(Icmpv6Repr::EchoRequest { id, seq }) => Meaning::Request { id, seq },
        Some(Icmpv6Repr::EchoReply { .. }) => Meaning::Reply,
        _ if packet.is_error() => Meaning::Error(report::problem_v6(repr)),
        _ => Meaning::Nothing,
    })
}
