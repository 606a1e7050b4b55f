//! What network cards do after a capture has seen a packet: checksums and segments.
//!
//! Linux leaves the sum over the pseudo header in place of the checksum of TCP or UDP if the card
//! computes it; other systems leave zeros, or what was there before. Linux hands several segments
//! to the card as one packet, and joins received ones.

use std::collections::{BTreeMap, BTreeSet};

use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_net::Protocol;

use super::RecordError;
use super::flow::{Ends, Flow};

/// Fewer bytes do not show that a packet begins like another one.
const LEAST: usize = 16;

/// Puts the checksums into the sent packets that the card completes: partial ones, and any wrong
/// ones of a flow that arrives with right ones. If a capture has cut a packet, its checksum is
/// unknown: then those of its flow are zeros at both ends.
///
/// Nothing completes the checksums of a flow between two namespaces or machines of one host: they
/// arrive as they were sent.
pub(super) fn complete_checksums(sent: &mut [CapturedPacket], received: &mut [CapturedPacket]) {
    let arrivals = Arrivals::new(received);
    let mut unknown = BTreeSet::<Ends>::new();
    for packet in &mut *sent {
        let Some(flow) = Flow::of_packet(packet) else { continue };
        if arrivals.cleared.contains(&flow.ends) && !has_no_checksum(&flow) {
            unknown.insert(flow.ends);
            continue;
        }
        let Some(place) = checksum_place(&flow).filter(|_| arrivals.completes(&flow)) else {
            continue;
        };
        if flow.is_complete() {
            let sum = flow.right_checksum(place - flow.start);
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

/// Flows by the checksums of their packets that arrived: they tell whether a card completes them.
#[derive(Default)]
struct Arrivals {
    /// Flows of which a packet arrived with a right checksum.
    right: BTreeSet<Ends>,
    /// Flows of which a packet arrived with a partial checksum.
    partial: BTreeSet<Ends>,
    /// Flows of which a packet was captured as a whole.
    complete: BTreeSet<Ends>,
    /// Flows of UDP of which most packets arrived without a checksum.
    cleared: BTreeSet<Ends>,
}

impl Arrivals {
    fn new(received: &[CapturedPacket]) -> Self {
        let mut arrivals = Self::default();
        let mut cleared = BTreeMap::<Ends, (usize, usize)>::new();
        for flow in received.iter().filter_map(Flow::of_packet) {
            if flow.is_complete() {
                arrivals.complete.insert(flow.ends);
            }
            if flow.is_whole() {
                arrivals.right.insert(flow.ends);
            } else if partial_checksum(&flow).is_some() {
                arrivals.partial.insert(flow.ends);
            }
            if flow.carried.protocol == Protocol::UDP {
                let (zeros, all) = cleared.entry(flow.ends).or_default();
                *zeros += usize::from(has_no_checksum(&flow));
                *all += 1;
            }
        }
        let cleared = cleared.into_iter().filter(|(_, (zeros, all))| 2 * zeros > *all);
        arrivals.cleared = cleared.map(|(ends, _)| ends).collect();
        arrivals
    }

    /// Tells whether the card completes the checksum of a sent packet.
    fn completes(&self, flow: &Flow<'_>) -> bool {
        let is_wrong = flow.is_complete() && !flow.is_whole();
        if is_wrong && self.right.contains(&flow.ends) {
            return true;
        }
        if self.partial.contains(&flow.ends) {
            return false;
        }
        // TCP always has a checksum, which is hardly ever zero; none of UDP is a choice.
        let is_tcp = flow.carried.protocol == Protocol::TCP;
        let is_zero = is_tcp && flow.carried.bytes.get(16..18) == Some(&[0, 0]);
        let is_unseen = is_tcp && is_wrong && !self.complete.contains(&flow.ends);
        partial_checksum(flow).is_some() || (is_zero && !flow.is_complete()) || is_unseen
    }
}

/// Tells whether a datagram of UDP has no checksum (RFC 768).
fn has_no_checksum(flow: &Flow<'_>) -> bool {
    flow.carried.bytes.get(6..8) == Some(&[0, 0])
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

/// A datagram of UDP is part of another if that begins with it. Only payloads that were not sent
/// are looked at: datagrams of several lengths may begin alike.
fn check_udp(sent: &[Flow<'_>], received: &[Flow<'_>]) -> Result<(), RecordError> {
    let sent: Vec<(Ends, &[u8])> =
        sent.iter().filter_map(|it| Some((it.ends, it.datagram()?))).collect();
    let payloads: BTreeSet<(Ends, &[u8])> = sent.iter().copied().collect();
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
        if payloads.contains(&(flow.ends, payload)) || !flow.is_whole() {
            continue;
        }
        for sent in by_head.get(&(flow.ends, head)).into_iter().flatten() {
            if sent.starts_with(payload) {
                return Err(cut(sent.len()));
            }
            // A damaged one may begin like a short one.
            if payload.starts_with(sent) && !lengths.contains(&(flow.ends, payload.len())) {
                return Err(joined(payload.len()));
            }
        }
    }
    Ok(())
}
