//! The headers of links before packets of IP, which differ from one end of a way to the other.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use windfall_files::pcapng::LINKTYPE_RAW;
use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::checksum::checksum;

use super::{RecordError, router};

/// The types of headers, by their numbers in the registry of pcap.
const LOOPBACK: u16 = 0;
const ETHERNET: u16 = 1;
const IP: [u16; 5] = [LINKTYPE_RAW, 12, 14, 228, 229];
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;

/// The types of Ethernet of a tag of a virtual network, behind which the type follows.
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];

/// The types of Ethernet that are common beside IP: ARP, its reverse, EAPOL, LLDP, PTP.
const OTHER_PROTOCOLS: [[u8; 2]; 5] =
    [[0x08, 0x06], [0x80, 0x35], [0x88, 0x8e], [0x88, 0xcc], [0x88, 0xf7]];

/// Removes the headers of links: routers and bridges on the way change them. Headers of an unknown
/// type stay where they are of one type at both ends.
pub(super) fn align(
    sent: &mut [CapturedPacket],
    received: &mut [CapturedPacket],
) -> Result<(), RecordError> {
    let mut types = sent.iter().chain(&*received).map(|packet| packet.link_type);
    let first = types.next();
    let is_one = types.all(|it| Some(it) == first);
    let is_unknown = sent.first().is_some_and(|packet| header(packet).is_none());
    if is_one && is_unknown {
        return Ok(());
    }
    sent.iter_mut().chain(received).try_for_each(strip)
}

/// The number of packets among which copies of one are looked for.
const COPIES_WITHIN: usize = 64;

/// Leaves out copies of packets that a host has seen at several of its devices, as at a bridge and
/// at a port of the bridge. Returns their number.
///
/// Only captures of all devices that tell the device of each packet show copies (`tcpdump -i any`
/// with headers of version 2).
pub(super) fn leave_out_copies(packets: &mut Vec<CapturedPacket>) -> usize {
    let mut latest = VecDeque::<(Bytes, Bytes)>::new();
    let before = packets.len();
    packets.retain(|packet| {
        let Some((device, own)) = packet_at_device(packet) else { return true };
        while latest.len() >= COPIES_WITHIN {
            latest.pop_front();
        }
        // Each packet has one copy at each device.
        let mut alike = latest.iter().filter(|(_, it)| *it == own);
        let is_copy =
            alike.any(|(other, _)| *other != device) && alike.all(|(it, _)| *it != device);
        latest.push_back((device, own));
        !is_copy
    });
    before - packets.len()
}

/// Returns the device that saw a packet, and the packet of IP without what a router on the way
/// between devices changes.
fn packet_at_device(packet: &CapturedPacket) -> Option<(Bytes, Bytes)> {
    if packet.link_type != LINUX_COOKED_2 || packet.data.len() < 20 {
        return None;
    }
    let mut own = packet.clone();
    strip(&mut own).ok()?;
    Some((packet.data.slice(4..8), router::without_changes(&own, false).data))
}

/// Removes the header before the packet of IP.
pub(super) fn strip(packet: &mut CapturedPacket) -> Result<(), RecordError> {
    let length = header(packet).ok_or(RecordError::UnknownLink(packet.link_type))?;
    packet.data = packet.data.slice(length.min(packet.data.len())..);
    packet.original = packet.original.saturating_sub(length as u32);
    packet.link_type = LINKTYPE_RAW;
    Ok(())
}

/// Tells whether a frame says that it carries something else than IP. A damaged type is hardly one
/// of those that are in use.
pub(super) fn is_of_another_protocol(packet: &CapturedPacket) -> bool {
    let at = match packet.link_type {
        ETHERNET => header(packet).map(|length| length - 2),
        LINUX_COOKED => Some(14),
        LINUX_COOKED_2 => Some(0),
        _ => None,
    };
    let kind = at.and_then(|at| packet.data.get(at..)?.first_chunk::<2>());
    kind.is_some_and(|kind| OTHER_PROTOCOLS.contains(kind))
}

/// Returns the length of the header before the packet of IP, if its type is known.
pub(super) fn header(packet: &CapturedPacket) -> Option<usize> {
    let data = &packet.data;
    Some(match packet.link_type {
        kind if IP.contains(&kind) => 0,
        LOOPBACK => 4,
        ETHERNET => {
            let is_tag =
                |at: usize| data.get(at..at + 2).is_some_and(|it| TAGS.iter().any(|tag| tag == it));
            14 + if is_tag(12) { 4 } else { 0 } + if is_tag(12) && is_tag(16) { 4 } else { 0 }
        }
        LINUX_COOKED => 16,
        LINUX_COOKED_2 => 20,
        _ => return None,
    })
}

/// Tells whether a link may have put bytes behind this packet: padding, or a check.
pub(super) fn may_pad(packet: &CapturedPacket) -> bool {
    !IP.contains(&packet.link_type)
}

/// Removes the bytes behind the packets of IP. Returns the lengths of those of IPv6.
///
/// A length that may be damaged ends no packet. That of IPv4 counts where the header's checksum is
/// right; that of IPv6 where it is one of those that were `sent`, or else that of its datagram.
pub(super) fn without_padding(
    packets: &mut [CapturedPacket],
    sent: Option<&BTreeSet<usize>>,
) -> BTreeSet<usize> {
    let mut lengths = BTreeSet::new();
    for packet in packets {
        let Some(start) = header(packet) else { continue };
        let data = packet.data.get(start..).unwrap_or_default();
        let length = match data.first().map(|first| first >> 4) {
            Some(4) => length_of_ipv4(data),
            Some(6) => {
                let length = length_of_ipv6(data);
                lengths.extend(length);
                length.filter(|it| {
                    may_pad(packet)
                        && (match sent {
                            Some(sent) => sent.contains(it),
                            None => length_of_udp(data) == Some(*it),
                        })
                })
            }
            _ => None,
        };
        let Some(end) = length.map(|length| start + length) else { continue };
        if end < packet.original as usize {
            packet.data.truncate(end);
            packet.original = end as u32;
        }
    }
    lengths
}

/// The total length of a packet of IPv4 with a right header.
fn length_of_ipv4(data: &[u8]) -> Option<usize> {
    let header = data.get(..usize::from(data.first()? & 15) * 4).filter(|it| it.len() >= 20)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    (checksum(header) == 0 && length >= header.len()).then_some(length)
}

/// The length of a packet of IPv6 with its header; that of a jumbogram is not in it.
fn length_of_ipv6(data: &[u8]) -> Option<usize> {
    let length = usize::from(u16::from_be_bytes([*data.get(4)?, *data.get(5)?]));
    (length > 0).then_some(40 + length)
}

/// The length of a packet of IPv6 as the UDP in it says.
fn length_of_udp(data: &[u8]) -> Option<usize> {
    let is_udp = data.get(6) == Some(&17);
    is_udp.then_some(40 + usize::from(u16::from_be_bytes([*data.get(44)?, *data.get(45)?])))
}
