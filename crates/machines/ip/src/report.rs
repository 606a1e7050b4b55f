//! ICMP errors: when one may be sent, its contents, and the meaning of one that arrives.

use bytes::Bytes;
use windfall_base::Payload;
use windfall_wire_net::{
    Addresses, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpPacket, Ipv6Packet, Protocol,
    icmpv4, icmpv6, ipv4, ipv6,
};

/// The longest IPv4 error message, in bytes (RFC 1812, section 4.3.2.3).
const MAX_V4: usize = 576;

/// The reason for which a packet could not be forwarded or delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No route leads to its destination.
    NoRoute,
    /// The destination does not speak its protocol.
    NoProtocol,
    /// No socket listens on its port.
    NoPort,
    /// It is longer than the next link carries and may not be cut.
    TooBig {
        /// The MTU of that link, in bytes.
        mtu: usize,
    },
    /// Its hop limit ran out.
    HopLimit,
    /// Not all of its fragments came in time.
    Reassembly,
    /// A header makes no sense.
    Parameter {
        /// The kind of fault.
        fault: HeaderFault,
        /// The offset of the faulty byte in the packet.
        pointer: usize,
    },
}

/// The kinds of fault of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// A field's value.
    Field,
    /// The header that follows.
    NextHeader,
    /// An option that must be understood.
    Option,
}

/// An ICMP error that arrived, about a packet that was sent from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// The source and the destination of the packet that the error is about.
    pub addresses: Addresses,
    /// The protocol of that packet.
    pub protocol: Protocol,
    /// The first bytes of its payload, as many as the report quotes.
    pub quoted: Bytes,
    /// The length of that packet, in bytes.
    pub len: usize,
    /// The problem; `None` for codes that are not supported.
    pub problem: Option<Problem>,
}

/// Returns whether a problem with `packet` may be reported to its source: not about errors, later
/// fragments, packets to several hosts, or packets from other than one host.
///
/// The rules are those of RFC 1122, section 3.2.2, RFC 1812, section 4.3.2.7, and RFC 4443,
/// section 2.4.
#[must_use]
pub(crate) fn may_report(packet: &IpPacket<'_>, problem: Problem) -> bool {
    match packet.addresses() {
        Addresses::V4 { src, dst } => {
            let many = dst.is_multicast() || dst.is_broadcast();
            let no_host = src.is_unspecified()
                || src.is_multicast()
                || src.is_broadcast()
                || src.is_loopback()
                || src.octets()[0] >= 240;
            if many || no_host {
                return false;
            }
        }
        Addresses::V6 { src, dst } => {
            // The two exceptions that let path MTU discovery and option probing work by multicast.
            let excepted = matches!(
                problem,
                Problem::TooBig { .. } | Problem::Parameter { fault: HeaderFault::Option, .. }
            );
            let no_host = src.is_unspecified() || src.is_multicast() || src.is_loopback();
            if no_host || (dst.is_multicast() && !excepted) {
                return false;
            }
        }
    }
    // A packet whose header chain is invalid cannot be an ICMP error.
    let Ok(carried) = packet.carried() else { return true };
    if carried.fragment && carried.fragment_offset > 0 {
        // Over IPv6 a later fragment may be reported, but it may belong to an ICMP error.
        return matches!(packet, IpPacket::V6(_)) && carried.protocol != Protocol::ICMPV6;
    }
    // A message too short to show its type might be an error.
    match carried.protocol {
        Protocol::ICMP => Icmpv4Packet::new(carried.bytes).is_ok_and(|message| !message.is_error()),
        Protocol::ICMPV6 => {
            const REDIRECT: u8 = 137;
            Icmpv6Packet::new(carried.bytes)
                .is_ok_and(|message| !message.is_error() && message.kind() != REDIRECT)
        }
        _ => true,
    }
}

/// Returns the message that reports `problem` with `packet`: its header and as much of the packet
/// as fits.
///
/// `addresses` are those of the message. `None` if the family knows no such message.
#[must_use]
pub(crate) fn message(
    addresses: &Addresses,
    problem: Problem,
    packet: &Payload,
) -> Option<([u8; 8], Bytes)> {
    let mut header = [0; 8];
    match addresses {
        Addresses::V4 { .. } => {
            let quoted = packet.prefix(MAX_V4 - ipv4::HEADER_LEN - header.len());
            let unreachable = |why| Some(Icmpv4Repr::Unreachable(why));
            let repr = match problem {
                Problem::NoRoute => unreachable(icmpv4::Unreachable::Host),
                Problem::NoProtocol => unreachable(icmpv4::Unreachable::Protocol),
                Problem::NoPort => unreachable(icmpv4::Unreachable::Port),
                Problem::TooBig { mtu } => {
                    let mtu = mtu.min(usize::from(u16::MAX)) as u16;
                    unreachable(icmpv4::Unreachable::FragmentationNeeded { mtu })
                }
                Problem::HopLimit => Some(Icmpv4Repr::HopLimitExceeded),
                Problem::Reassembly => Some(Icmpv4Repr::ReassemblyTimeExceeded),
                Problem::Parameter { pointer, .. } => u8::try_from(pointer)
                    .ok()
                    .map(|pointer| Icmpv4Repr::ParameterProblem { pointer }),
            }?;
            repr.emit(&mut header, &quoted);
            Some((header, quoted))
        }
        Addresses::V6 { .. } => {
            let quoted = packet.prefix(ipv6::MIN_MTU - ipv6::HEADER_LEN - header.len());
            let repr = match problem {
                Problem::NoRoute => Icmpv6Repr::Unreachable(icmpv6::Unreachable::NoRoute),
                Problem::NoPort => Icmpv6Repr::Unreachable(icmpv6::Unreachable::Port),
                Problem::NoProtocol => Icmpv6Repr::ParameterProblem {
                    problem: icmpv6::Problem::NextHeader,
                    pointer: next_header_field(&quoted),
                },
                Problem::TooBig { mtu } => Icmpv6Repr::PacketTooBig { mtu: mtu as u32 },
                Problem::HopLimit => Icmpv6Repr::HopLimitExceeded,
                Problem::Reassembly => Icmpv6Repr::ReassemblyTimeExceeded,
                Problem::Parameter { fault, pointer } => Icmpv6Repr::ParameterProblem {
                    problem: match fault {
                        HeaderFault::Field => icmpv6::Problem::Field,
                        HeaderFault::NextHeader => icmpv6::Problem::NextHeader,
                        HeaderFault::Option => icmpv6::Problem::Option,
                    },
                    pointer: pointer as u32,
                },
            };
            repr.emit(&mut header, addresses, &quoted);
            Some((header, quoted))
        }
    }
}

/// Finds the Next Header field that names the payload of an IPv6 packet.
fn next_header_field(packet: &[u8]) -> u32 {
    const FIXED: u32 = 6;
    let upper = Ipv6Packet::new(packet).ok().and_then(|packet| packet.upper().ok());
    let named = upper.and_then(|upper| upper.named);
    named.map_or(FIXED, |at| (ipv6::HEADER_LEN + at) as u32)
}

/// Reads the data of an error message; `None` if too little of the packet is quoted.
#[must_use]
pub(crate) fn understand(data: &Bytes, problem: Option<Problem>) -> Option<ErrorReport> {
    let packet = IpPacket::new(data).ok()?;
    let carried = packet.carried().ok()?;
    Some(ErrorReport {
        addresses: packet.addresses(),
        protocol: carried.protocol,
        quoted: data.slice_ref(carried.bytes),
        len: packet.total_len(),
        problem,
    })
}

/// Returns the problem that an ICMP message reports, if it is one with a name here.
#[must_use]
pub(crate) fn problem_v4(repr: Option<Icmpv4Repr>) -> Option<Problem> {
    Some(match repr? {
        Icmpv4Repr::Unreachable(why) => match why {
            icmpv4::Unreachable::Protocol => Problem::NoProtocol,
            icmpv4::Unreachable::Port => Problem::NoPort,
            icmpv4::Unreachable::FragmentationNeeded { mtu } => Problem::TooBig { mtu: mtu.into() },
            _ => Problem::NoRoute,
        },
        Icmpv4Repr::HopLimitExceeded => Problem::HopLimit,
        Icmpv4Repr::ReassemblyTimeExceeded => Problem::Reassembly,
        Icmpv4Repr::ParameterProblem { pointer } => {
            Problem::Parameter { fault: HeaderFault::Field, pointer: pointer.into() }
        }
        Icmpv4Repr::EchoRequest { .. } | Icmpv4Repr::EchoReply { .. } => return None,
    })
}

/// Returns the problem that an ICMPv6 message reports, if it is one with a name here.
#[must_use]
pub(crate) fn problem_v6(repr: Option<Icmpv6Repr>) -> Option<Problem> {
    Some(match repr? {
        Icmpv6Repr::Unreachable(icmpv6::Unreachable::Port) => Problem::NoPort,
        Icmpv6Repr::Unreachable(_) => Problem::NoRoute,
        Icmpv6Repr::PacketTooBig { mtu } => Problem::TooBig { mtu: mtu as usize },
        Icmpv6Repr::HopLimitExceeded => Problem::HopLimit,
        Icmpv6Repr::ReassemblyTimeExceeded => Problem::Reassembly,
        Icmpv6Repr::ParameterProblem { problem, pointer } => {
            let fault = match problem {
                icmpv6::Problem::Field => HeaderFault::Field,
                icmpv6::Problem::NextHeader => HeaderFault::NextHeader,
                icmpv6::Problem::Option => HeaderFault::Option,
            };
            Problem::Parameter { fault, pointer: pointer as usize }
        }
        Icmpv6Repr::EchoRequest { .. } | Icmpv6Repr::EchoReply { .. } => return None,
    })
}

#[cfg(test)]
mod tests;
