//! Traces from captures: what arrived beside what was sent, or must have been sent.

mod likeness;

use std::collections::BTreeMap;

use bytes::Bytes;
use windfall_apps::Pattern;
use windfall_base::{Seed, Tag};
use windfall_channel_trace::ErrorTrace;
use windfall_channel_trace::error_trace::{BitOrder, Fault, TraceHeader};

use likeness::by_likeness;
use windfall_pcapng::Seen;
use windfall_pcapng::read::CapturedPacket;

/// Fewer bytes of a payload than this do not tell which datagram it is.
const LEAST: usize = 16;

/// Why two captures give no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Nothing was sent.
    #[error("the capture of the sender holds no sent packet: give that of the near end")]
    NothingSent,
    /// Nothing that arrived is anything that was sent.
    #[error(
        "none of the {0} packets that arrived is like one that was sent: the captures are not of \
         the same run, or of the same direction"
    )]
    NothingAlike(usize),
}

/// Compares the captures of both ends of a direction.
///
/// Packets are matched by the names that `--pcap` gives them, else by their likeness: a received
/// packet belongs to the sent one that is the same, and one that is the same as none to that
/// between its neighbours from which it differs in the fewest bits, a quarter of them at most. A
/// sent packet without a match was lost.
///
/// # Errors
/// If nothing was sent, or nothing matches.
pub fn record(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
    mut header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    let mut sent = pick(sent, Seen::Sent);
    sent.retain(|packet| packet.seen != Seen::Dropped);
    let received = pick(received, Seen::Arrived);
    let length = sent.first().ok_or(RecordError::NothingSent)?.data.len();
    let is_uniform = sent.iter().all(|packet| packet.data.len() == length);
    header.frame_length = is_uniform.then_some(length as u32);
    let arrivals = by_name(&sent, &received).unwrap_or_else(|| by_likeness(&sent, &received));
    if arrivals.iter().all(Option::is_none) && !received.is_empty() {
        return Err(RecordError::NothingAlike(received.len()));
    }
    let order = header.bit_order;
    let mut trace = ErrorTrace::new(header);
    for (packet, arrival) in sent.iter().zip(arrivals) {
        match arrival {
            None => trace.push(Fault::Lost, 1),
            Some(data) => match difference(&packet.data, &data, 0, order) {
                Some(fault) => trace.push(fault, 1),
                None => trace.push_ok(1),
            },
        }
    }
    Ok(trace)
}

/// Compares the datagrams in the capture of a receiver with what the senders of a run with `seed`
/// put into them.
///
/// Numbers that are missing were lost; those after the last that arrived are unknown. What precedes
/// the payload counts as right, since it was good enough for the datagram to be known.
///
/// # Errors
/// If no packet holds such a datagram.
pub fn record_known(
    received: &[CapturedPacket],
    seed: Seed,
    mut header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    let received = pick(received, Seen::Arrived);
    let pattern = Pattern::new(seed);
    let start = payload_start(&received);
    let mut next = 0;
    let mut known = Vec::new();
    for packet in &received {
        let data = packet.data.get(start..).unwrap_or_default();
        let number = pattern.number_of(next, data).filter(|&number| number >= next);
        if let Some(number) = number.filter(|_| data.len() >= LEAST) {
            known.push((number, data));
            next = number + 1;
        }
    }
    let longest = known.iter().map(|(_, data)| start + data.len()).max();
    let length = longest.ok_or(RecordError::NothingAlike(received.len()))?;
    header.frame_length = Some(length as u32);
    let order = header.bit_order;
    let mut trace = ErrorTrace::new(header);
    for (number, data) in known {
        let missing = number - trace.len();
        if missing > 0 {
            trace.push(Fault::Lost, missing);
        }
        let sent = pattern.datagram(number, length - start);
        match difference(&sent, data, start as u32 * 8, order) {
            Some(fault) => trace.push(fault, 1),
            None => trace.push_ok(1),
        }
    }
    Ok(trace)
}

/// Returns the offset of the UDP payload in most of these IP packets.
///
/// The headers of some may be damaged.
fn payload_start(packets: &[&CapturedPacket]) -> usize {
    let mut found = BTreeMap::<usize, usize>::new();
    for first in packets.iter().filter_map(|packet| packet.data.first()) {
        let header = if first >> 4 == 6 { 40 } else { usize::from(first & 15).max(5) * 4 };
        *found.entry(header + 8).or_default() += 1;
    }
    found.into_iter().max_by_key(|&(_, count)| count).map_or(0, |(start, _)| start)
}

/// The packets that were seen like this; captures of other tools may not tell directions
/// apart, and then all packets count.
fn pick(packets: &[CapturedPacket], seen: Seen) -> Vec<&CapturedPacket> {
    let picked: Vec<&CapturedPacket> = packets.iter().filter(|p| p.seen == seen).collect();
    if picked.is_empty() { packets.iter().collect() } else { picked }
}

/// Matches arrivals with sent packets by name; `None` unless every sent packet has one.
fn by_name(sent: &[&CapturedPacket], received: &[&CapturedPacket]) -> Option<Vec<Option<Bytes>>> {
    let names: Vec<Tag> = sent.iter().map(|packet| packet.tag).collect::<Option<_>>()?;
    let arrived: BTreeMap<Tag, &Bytes> =
        received.iter().rev().filter_map(|p| Some((p.tag?, &p.data))).collect();
    let arrivals = names.iter().map(|name| arrived.get(name).map(|&data| data.clone()));
    Some(arrivals.collect())
}

/// The fault that made `received` out of `sent`, which begins at bit `origin` of the packet.
fn difference(sent: &[u8], received: &[u8], origin: u32, order: BitOrder) -> Option<Fault> {
    let mut inverted = Vec::new();
    for (i, (a, b)) in sent.iter().zip(received).enumerate() {
        let wrong = a ^ b;
        let bits = (0..8).filter(|bit| wrong & (0x80 >> bit) != 0);
        inverted.extend(bits.map(|bit| origin + i as u32 * 8 + bit));
    }
    let inverted = order.renumber(inverted);
    let truncated = (received.len() < sent.len()).then_some(origin + received.len() as u32 * 8);
    let is_fault = truncated.is_some() || !inverted.is_empty();
    is_fault.then(|| Fault::Damaged { truncated, inverted: inverted.into() })
}

#[cfg(test)]
mod tests;
