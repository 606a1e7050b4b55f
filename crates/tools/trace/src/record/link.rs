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
/// PPP: with or without framing as in HDLC, and with a byte for the direction before it.
const PPP: [u16; 2] = [9, 50];
const PPP_WITH_DIRECTION: u16 = 204;
const CISCO_HDLC: u16 = 104;
const LOOPBACK_BIG_ENDIAN: u16 = 108;
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;

/// The types of Ethernet of a tag of a virtual network, behind which the type follows.
const TAGS: [[u8; 2]; 3] = [[0x81, 0x00], [0x88, 0xa8], [0x91, 0x00]];

/// The types of Ethernet of sessions of PPPoE and of MPLS.
const PPPOE: [u8; 2] = [0x88, 0x64];
const MPLS: [u8; 2] = [0x88, 0x47];

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
/// Only captures of all devices show copies (`tcpdump -i any`). With headers of version 2 they tell
/// the device of each packet. With version 1 nearly all packets come twice, and do not arrive so.
pub(super) fn leave_out_copies(
    sent: &mut Vec<CapturedPacket>,
    received: &[CapturedPacket],
) -> usize {
    let copies = if sent.iter().all(|packet| packet.link_type == LINUX_COOKED) {
        let sent_twice = copies(sent, no_device);
        let arrived_twice = copies(received, no_device);
        let is_at_bridge =
            5 * sent_twice.len() >= 2 * sent.len() && 4 * arrived_twice.len() < sent_twice.len();
        if is_at_bridge { sent_twice } else { BTreeSet::new() }
    } else {
        copies(sent, device)
    };
    let mut number = 0..;
    sent.retain(|_| number.next().is_some_and(|number| !copies.contains(&number)));
    copies.len()
}

/// Returns the numbers of packets that are copies of earlier ones: at another device if the capture
/// tells it, otherwise one copy of each packet.
fn copies(
    packets: &[CapturedPacket],
    device: impl Fn(&CapturedPacket) -> Option<Bytes>,
) -> BTreeSet<usize> {
    let mut latest = VecDeque::<(Bytes, Bytes)>::new();
    let mut copies = BTreeSet::new();
    for (number, packet) in packets.iter().enumerate() {
        let Some((device, own)) = device(packet).zip(without_link(packet)) else { continue };
        while latest.len() >= COPIES_WITHIN {
            latest.pop_front();
        }
        if device.is_empty() {
            match latest.iter().position(|(_, it)| *it == own) {
                Some(at) => {
                    latest.remove(at);
                    copies.insert(number);
                }
                None => latest.push_back((device, own)),
            }
            continue;
        }
        // Each packet has one copy at each device.
        let mut alike = latest.iter().filter(|(_, it)| *it == own);
        let is_copy =
            alike.any(|(other, _)| *other != device) && alike.all(|(it, _)| *it != device);
        latest.push_back((device, own));
        if is_copy {
            copies.insert(number);
        }
    }
    copies
}

/// Returns the same device for all packets: the capture tells none.
#[expect(clippy::unnecessary_wraps, reason = "of the form of `device`")]
const fn no_device(_: &CapturedPacket) -> Option<Bytes> {
    Some(Bytes::new())
}

/// Returns the device that saw a packet, if the capture tells it.
fn device(packet: &CapturedPacket) -> Option<Bytes> {
    let is_told = packet.link_type == LINUX_COOKED_2 && packet.data.len() >= 20;
    is_told.then(|| packet.data.slice(4..8))
}

/// Returns the packet of IP without what a router on the way between devices changes.
fn without_link(packet: &CapturedPacket) -> Option<Bytes> {
    let mut own = packet.clone();
    strip(&mut own).ok()?;
    Some(router::without_changes(&own, false).data)
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
        LOOPBACK | LOOPBACK_BIG_ENDIAN | CISCO_HDLC => 4,
        kind if PPP.contains(&kind) => after_ppp(data, 0),
        PPP_WITH_DIRECTION => after_ppp(data, 1),
        ETHERNET => after_type(data, two(data, 12), 14),
        LINUX_COOKED => after_type(data, two(data, 14), 16),
        LINUX_COOKED_2 => after_type(data, two(data, 0), 20),
        _ => return None,
    })
}

/// Returns the two bytes at a place, if they were captured.
fn two(data: &[u8], at: usize) -> Option<[u8; 2]> {
    data.get(at..)?.first_chunk().copied()
}

/// Returns where a packet of IP begins in the contents, at `start`, of a frame with this type of
/// Ethernet: behind up to two tags, labels of MPLS, or the header of a session of PPPoE.
fn after_type(data: &[u8], mut kind: Option<[u8; 2]>, mut start: usize) -> usize {
    for _ in 0..2 {
        if kind.is_some_and(|kind| TAGS.contains(&kind)) {
            kind = two(data, start + 2);
            start += 4;
        }
    }
    match kind {
        Some(PPPOE) => start + 8,
        Some(MPLS) => {
            // The last label has the bottom-of-stack bit.
            while data.get(start + 2).is_some_and(|it| it & 1 == 0) {
                start += 4;
            }
            start + 4
        }
        _ => start,
    }
}

/// Returns where a packet of IP begins behind a header of PPP, which may be damaged. Address and
/// control, and the first byte of the protocol, may be left out.
fn after_ppp(data: &[u8], start: usize) -> usize {
    const ADDRESS_AND_CONTROL: u16 = 0xff03;
    let is_address = two(data, start)
        .is_some_and(|it| (u16::from_be_bytes(it) ^ ADDRESS_AND_CONTROL).count_ones() <= 3);
    let protocol = if is_address { start + 2 } else { start };
    let is_short = matches!(data.get(protocol), Some(0x21 | 0x57));
    if is_short { protocol + 1 } else { protocol + 2 }
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
