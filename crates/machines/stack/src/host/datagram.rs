//! The UDP, UDP-Lite and ICMP headers of a host: building them for sent datagrams, and validating
//! received ones.

use windfall_base::{Check, Damage, DropReason};
use windfall_ip::{ErrorReport, IpDatagram};
use windfall_wire_net::udplite::Coverage;
use windfall_wire_net::{
    Addresses, Icmpv4Repr, Icmpv6Repr, Protocol, UdpLitePacket, UdpLiteRepr, UdpPacket, UdpRepr,
    WireError,
};

use super::icmp_of;
use super::sockets::{Covered, Kind, Sender};
use crate::socket_api::Transport;

/// The length of each of the headers here, in bytes.
pub(super) const HEADER_LEN: usize = 8;

/// The contents of a datagram that can be read.
pub(super) struct Arrival {
    pub(super) kind: Kind,
    pub(super) from_port: u16,
    pub(super) to_port: u16,
    /// The end of the data in the content; the data begin after the header.
    pub(super) end: usize,
    pub(super) damage: Damage,
    pub(super) coverage: Covered,
    /// The checksum is correct. Otherwise only a socket without checks accepts the datagram.
    pub(super) intact: bool,
}

/// Returns the header for `data` and its protocol; `None` if the data are too long.
pub(super) fn header(
    sender: &Sender,
    addresses: &Addresses,
    dst_port: u16,
    data: &[u8],
) -> Option<(Protocol, [u8; HEADER_LEN])> {
    let mut header = [0; HEADER_LEN];
    let src_port = sender.local.port();
    let protocol = match sender.transport {
        Transport::Udp => {
            UdpRepr { src_port, dst_port }.emit(&mut header, addresses, data).ok()?;
            Protocol::UDP
        }
        Transport::UdpLite { .. } | Transport::UdpLiteUnchecked => {
            let coverage = Coverage::requested(sender.coverage);
            UdpLiteRepr { src_port, dst_port, coverage }.emit(&mut header, addresses, data);
            Protocol::UDP_LITE
        }
        Transport::Tcp => return None,
        Transport::Echo => {
            let id = src_port;
            let seq = sender.echo;
            match addresses {
                Addresses::V4 { .. } => {
                    Icmpv4Repr::EchoRequest { id, seq }.emit(&mut header, data);
                }
                Addresses::V6 { .. } => {
                    Icmpv6Repr::EchoRequest { id, seq }.emit(&mut header, addresses, data);
                }
            }
            icmp_of(addresses)
        }
    };
    Some((protocol, header))
}

//= S0.5
/// Validates a received datagram; the error is `NoListener` if this host does not support its
/// protocol.
pub(super) fn read(datagram: &IpDatagram) -> Result<Arrival, DropReason> {
    match datagram.protocol {
        Protocol::UDP => read_udp(datagram),
        Protocol::UDP_LITE => read_udplite(datagram),
        // The internet layer has checked these.
        Protocol::ICMP | Protocol::ICMPV6 => {
            let [head, _] = datagram.slices();
            let id = head.get(4..6).map_or(0, |id| u16::from_be_bytes([id[0], id[1]]));
            Ok(Arrival {
                kind: Kind::Echo,
                from_port: id,
                to_port: id,
                end: datagram.have(),
                damage: Damage { frame: Check::Good, ..Damage::default() },
                coverage: Covered::All,
                intact: true,
            })
        }
        _ => Err(DropReason::NoListener),
    }
}

fn read_udp(datagram: &IpDatagram) -> Result<Arrival, DropReason> {
    let [head, tail] = datagram.slices();
    let packet = UdpPacket::new(head).map_err(|_| DropReason::Malformed)?;
    if datagram.damage.missing > 0 {
        return Err(DropReason::Truncated);
    }
    if packet.len() > datagram.len {
        return Err(DropReason::Malformed);
    }
    if !packet.checksum_holds_with(&datagram.addresses, tail) {
        return Err(DropReason::UdpChecksum);
    }
    let covered = if packet.checksum() == 0 { HEADER_LEN } else { packet.len() };
    Ok(Arrival {
        kind: Kind::Udp,
        from_port: packet.src_port(),
        to_port: packet.dst_port(),
        end: packet.len(),
        damage: remaining(&datagram.damage, covered, packet.len()),
        coverage: Covered::All,
        intact: true,
    })
}

fn read_udplite(datagram: &IpDatagram) -> Result<Arrival, DropReason> {
    let ([head, tail], have) = (datagram.slices(), datagram.have());
    let packet = UdpLitePacket::truncated(head, datagram.len).map_err(|error| match error {
        WireError::Length { .. } => DropReason::UdpLiteCoverage,
        WireError::Illegal { .. } => DropReason::UdpLiteChecksum,
        _ => DropReason::Malformed,
    })?;
    // A datagram that was truncated after the covered bytes counts as damaged there.
    if packet.covered() > have {
        return Err(DropReason::Truncated);
    }
    let intact = packet.checksum_holds_with(&datagram.addresses, tail);
    // If the checksum fails, the bytes that it covers count as unchecked.
    let checked = if intact { packet.covered() } else { HEADER_LEN };
    let coverage = match packet.covered() {
        covered if covered == datagram.len => Covered::All,
        covered => Covered::First(covered as u16),
    };
    Ok(Arrival {
        kind: Kind::UdpLite,
        from_port: packet.src_port(),
        to_port: packet.dst_port(),
        end: have,
        damage: remaining(&datagram.damage, checked, have),
        coverage,
        intact,
    })
}

/// Returns the known damage to the data of a datagram of `len` bytes, once a checksum over its
/// first `covered` bytes has held. If it covers a part, that part is intact and the damage lies
/// after it. If it covers everything, the damage has escaped the 16-bit checksum: a failed CRC-32
/// of the link outweighs it.
fn remaining(damage: &Damage, covered: usize, len: usize) -> Damage {
    let is_good = match damage.frame {
        Check::Good => true,
        Check::Unchecked => covered >= len,
        Check::Bad => false,
    };
    if is_good && damage.missing == 0 {
        return Damage { frame: Check::Good, corrected: damage.corrected, ..Damage::default() };
    }
    let header = HEADER_LEN as u32;
    let covered = covered as u32 - header;
    let len = len as u32 - header;
    let from_data = |at: u32| at.saturating_sub(header).clamp(covered, len);
    let ranges = damage.suspect.iter();
    let mut suspect: Vec<_> = ranges
        .map(|range| from_data(range.start)..from_data(range.end))
        .filter(|range| !range.is_empty())
        .collect();
    // Damage anywhere has become damage anywhere after the covered bytes.
    if damage.frame == Check::Bad && damage.suspect.is_empty() && covered < len {
        suspect.push(covered..len);
    }
    Damage { suspect, ..damage.clone() }
}

/// Returns the kind and the port of the socket that sent the reported packet.
pub(super) fn sender_of(report: &ErrorReport) -> Option<(Kind, u16)> {
    let word = |at: usize| {
        let bytes = report.quoted.get(at..at + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    match report.protocol {
        Protocol::UDP => Some((Kind::Udp, word(0)?)),
        Protocol::UDP_LITE => Some((Kind::UdpLite, word(0)?)),
        Protocol::ICMP | Protocol::ICMPV6 => Some((Kind::Echo, word(4)?)),
        _ => None,
    }
}
