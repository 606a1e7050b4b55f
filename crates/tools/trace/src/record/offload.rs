//! What network cards do after a capture has seen a packet: checksums and segments.
//!
//! Linux leaves the sum over the pseudo header in place of the checksum of TCP or UDP if the card
//! computes it. It hands several segments to the card as one packet, and joins received ones.

use std::collections::{BTreeMap, BTreeSet};

use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::Protocol;
use windfall_wire_net::checksum::checksum;

use super::RecordError;
use super::flow::{Ends, Flow};

/// Fewer bytes do not show that a packet begins like another one.
const LEAST: usize = 16;

/// Puts the checksums into the sent packets that the card completes. If a capture has cut a packet,
/// its checksum is unknown: then those of its flow are zeros at both ends.
///
/// Nothing completes the checksums of a flow between two namespaces or machines of one host: they
/// arrive as they were sent.
pub(super) fn complete_checksums(sent: &mut [CapturedPacket], received: &mut [CapturedPacket]) {
    let mut unknown = BTreeSet::<Ends>::new();
    let of_one_host: BTreeSet<Ends> = received
        .iter()
        .filter_map(Flow::of_packet)
        .filter(|flow| partial_checksum(flow).is_some())
        .map(|flow| flow.ends)
        .collect();
    for packet in &mut *sent {
        let Some(flow) = Flow::of_packet(packet) else { continue };
        if of_one_host.contains(&flow.ends) {
            continue;
        }
        let Some(place) = partial_checksum(&flow) else { continue };
        if flow.is_complete() {
            // The sum over the pseudo header is in its place already.
            let sum = match (checksum(flow.carried.bytes), flow.carried.protocol) {
                (0, Protocol::UDP) => 0xffff,
                (sum, _) => sum,
            };
            write(packet, place, sum.to_be_bytes());
        } else {
            unknown.insert(flow.ends);
        }
    }
    if unknown.is_empty() {
        return;
    }
    for packet in sent.iter_mut().chain(received) {
        let Some(flow) = Flow::of_packet(packet) else { continue };
        if let Some(place) = checksum_place(&flow).filter(|_| unknown.contains(&flow.ends)) {
            write(packet, place, [0, 0]);
        }
    }
}

/// Returns the place of the checksum of TCP or UDP in the captured bytes.
fn checksum_place(flow: &Flow<'_>) -> Option<usize> {
    let at = match flow.carried.protocol {
        Protocol::TCP => 16,
        Protocol::UDP => 6,
        _ => return None,
    };
    (!flow.carried.fragment && flow.carried.bytes.len() >= at + 2).then_some(flow.start + at)
}

/// Returns the place of a checksum that holds the sum over the pseudo header alone.
fn partial_checksum(flow: &Flow<'_>) -> Option<usize> {
    let place = checksum_place(flow)?;
    let at = place - flow.start;
    let partial = !flow.pseudo_header().checksum();
    (flow.carried.bytes[at..at + 2] == partial.to_be_bytes() && !flow.is_whole()).then_some(place)
}

fn write(packet: &mut CapturedPacket, place: usize, bytes: [u8; 2]) {
    let mut data = packet.data.to_vec();
    data[place..place + 2].copy_from_slice(&bytes);
    packet.data = data.into();
}

/// Refuses captures in which packets of one end are several of the other.
///
/// # Errors
/// If an undamaged packet arrived that was not sent as one, and it is a part of a sent one or has a
/// sent one as its part.
pub(super) fn check_segments(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
) -> Result<(), RecordError> {
    let sent: Vec<Flow<'_>> = sent.iter().filter_map(Flow::of_packet).collect();
    let received: Vec<Flow<'_>> = received.iter().filter_map(Flow::of_packet).collect();
    check_tcp(&sent, &received)?;
    check_udp(&sent, &received)
}

/// Returns the error of a sender whose card cuts a packet with `length` bytes.
fn cut(length: usize) -> RecordError {
    RecordError::Segments { end: "the sender", how: "tso off gso off", length }
}

/// Returns the error of a receiver whose card has joined a packet with `length` bytes.
fn joined(length: usize) -> RecordError {
    RecordError::Segments { end: "the receiver", how: "gro off lro off", length }
}

/// Sequence numbers tell which segment of TCP is part of another, also if a capture keeps the
/// headers only.
fn check_tcp(sent: &[Flow<'_>], received: &[Flow<'_>]) -> Result<(), RecordError> {
    let mut lengths = BTreeMap::<(Ends, u32), BTreeSet<usize>>::new();
    for (flow, (number, length)) in sent.iter().filter_map(|it| Some((it, it.segment()?))) {
        lengths.entry((flow.ends, number)).or_default().insert(length);
    }
    for flow in received {
        let Some((number, length)) = flow.segment() else { continue };
        let is_undamaged = flow.is_whole() || !flow.is_complete() && flow.has_right_header;
        let from_there = lengths.get(&(flow.ends, number));
        if !is_undamaged || from_there.is_some_and(|it| it.contains(&length)) {
            continue;
        }
        let before = lengths.range((flow.ends, 0)..=(flow.ends, number)).next_back();
        if let Some(((_, first), sent)) = before
            && let Some(longest) = sent.last()
            && (number - first) as usize + length <= *longest
        {
            return Err(cut(*longest));
        }
        if from_there.is_some() {
            return Err(joined(length));
        }
    }
    Ok(())
}

/// A datagram of UDP is part of another if that begins with it. Only lengths that were not sent are
/// looked at: datagrams of several lengths may begin alike.
fn check_udp(sent: &[Flow<'_>], received: &[Flow<'_>]) -> Result<(), RecordError> {
    let sent: Vec<(Ends, &[u8])> =
        sent.iter().filter_map(|it| Some((it.ends, it.datagram()?))).collect();
    let lengths: BTreeSet<(Ends, usize)> =
        sent.iter().map(|(ends, payload)| (*ends, payload.len())).collect();
    let mut by_head = BTreeMap::<(Ends, &[u8]), Vec<&[u8]>>::new();
    for (ends, payload) in &sent {
        if let Some(head) = payload.get(..LEAST) {
            by_head.entry((*ends, head)).or_default().push(payload);
        }
    }
    for flow in received {
        let Some(payload) = flow.datagram() else { continue };
        let Some(head) = payload.get(..LEAST) else { continue };
        if lengths.contains(&(flow.ends, payload.len())) || !flow.is_whole() {
            continue;
        }
        for sent in by_head.get(&(flow.ends, head)).into_iter().flatten() {
            if sent.starts_with(payload) {
                return Err(cut(sent.len()));
            }
            if payload.starts_with(sent) {
                return Err(joined(payload.len()));
            }
        }
    }
    Ok(())
}
