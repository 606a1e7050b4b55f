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

/// The end whose network card joins segments, or has not cut them yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// Refuses captures in which packets of one end are several of the other.
///
/// # Errors
/// If a packet arrived undamaged that is as long as no sent one, and one of the two begins with the
/// other.
pub(super) fn check_segments(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
) -> Result<(), RecordError> {
    let sent: Vec<Flow<'_>> = sent.iter().filter_map(Flow::of_packet).collect();
    let received: Vec<Flow<'_>> = received.iter().filter_map(Flow::of_packet).collect();
    check_tcp_segments(&sent, &received)?;
    let sent: Vec<Flow<'_>> = sent.into_iter().filter(Flow::is_complete).collect();
    let received: Vec<Flow<'_>> = received.into_iter().filter(Flow::is_whole).collect();
    let lengths: BTreeSet<(Ends, usize)> =
        sent.iter().map(|it| (it.ends, it.carried.len)).collect();
    if let Some(length) = longer_than_its_peers(&sent, &received, &lengths, End::Sender) {
        return Err(RecordError::Segments { end: "the sender", how: "tso off gso off", length });
    }
    if let Some(length) = longer_than_its_peers(&received, &sent, &lengths, End::Receiver) {
        return Err(RecordError::Segments { end: "the receiver", how: "gro off lro off", length });
    }
    Ok(())
}

/// Refuses captures in which an undamaged segment of TCP is a part of a sent one, or has a sent one
/// as its part. Sequence numbers tell, also if a capture keeps the headers only.
fn check_tcp_segments(sent: &[Flow<'_>], received: &[Flow<'_>]) -> Result<(), RecordError> {
    let mut lengths = BTreeMap::<(Ends, u32), BTreeSet<u32>>::new();
    for (flow, (number, length)) in sent.iter().filter_map(|it| Some((it, it.segment()?))) {
        lengths.entry((flow.ends, number)).or_default().insert(length);
    }
    for flow in
        received.iter().filter(|it| it.is_whole() || !it.is_complete() && it.has_right_header)
    {
        let Some((number, length)) = flow.segment() else { continue };
        let from_there = lengths.get(&(flow.ends, number));
        if from_there.is_some_and(|it| it.contains(&length)) {
            continue;
        }
        let before = lengths.range((flow.ends, 0)..=(flow.ends, number)).next_back();
        let whole = before.and_then(|((_, first), it)| Some((number - first, *it.last()?)));
        if let Some((_, longer)) = whole.filter(|(skipped, it)| skipped + length <= *it) {
            let length = longer as usize;
            return Err(RecordError::Segments {
                end: "the sender",
                how: "tso off gso off",
                length,
            });
        }
        if from_there.is_some() {
            let length = length as usize;
            return Err(RecordError::Segments {
                end: "the receiver",
                how: "gro off lro off",
                length,
            });
        }
    }
    Ok(())
}

/// Returns the length of a packet among `joined` whose payload begins with all of the payload of
/// one among `parts`, if one of the received two is as long as no packet at the sender.
fn longer_than_its_peers(
    joined: &[Flow<'_>],
    parts: &[Flow<'_>],
    sent_lengths: &BTreeSet<(Ends, usize)>,
    joins: End,
) -> Option<usize> {
    let is_new = |flow: &Flow<'_>| !sent_lengths.contains(&(flow.ends, flow.carried.len));
    let mut whole = BTreeMap::<(Ends, &[u8], &[u8]), Vec<(usize, &[u8])>>::new();
    for flow in joined.iter().filter(|it| joins == End::Sender || is_new(it)) {
        if let Some((number, payload)) = flow.payload()
            && let Some(head) = payload.get(..LEAST)
        {
            whole.entry((flow.ends, number, head)).or_default().push((flow.carried.len, payload));
        }
    }
    for flow in parts.iter().filter(|it| joins == End::Receiver || is_new(it)) {
        let Some((number, payload)) = flow.payload() else { continue };
        let Some(head) = payload.get(..LEAST) else { continue };
        let longer = whole.get(&(flow.ends, number, head)).into_iter().flatten();
        for (length, joined) in longer {
            if joined.len() > payload.len() && joined.starts_with(payload) {
                return Some(*length);
            }
        }
    }
    None
}
