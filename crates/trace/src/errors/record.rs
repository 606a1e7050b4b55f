//! Traces from captures: what was sent beside what arrived.

use std::collections::BTreeMap;

use bytes::Bytes;
use windfall_base::Tag;
use windfall_channel::ErrorTrace;
use windfall_channel::error_trace::{Fault, TraceHeader};

use crate::pcapng::Seen;
use crate::pcapng::read::Packet;

/// How many sent packets ahead a received one without a name is looked for.
const WINDOW: usize = 256;
/// A packet that differs in more than one bit of so many is another packet.
const LIKENESS: u64 = 4;

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
/// Packets are matched by the names that `--pcap` gives them, else by their likeness: each received
/// packet belongs to the first sent one, after the one before, that differs in at most a quarter of
/// its bits. A sent packet without a match was lost.
///
/// # Errors
/// If nothing was sent, or nothing matches.
pub fn record(
    sent: &[Packet],
    received: &[Packet],
    mut header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    // A capture of somebody else's does not tell directions apart: then all of it counts.
    let pick = |packets: &[Packet], seen: Seen| {
        let picked: Vec<Packet> = packets.iter().filter(|p| p.seen == seen).cloned().collect();
        if picked.is_empty() { packets.to_vec() } else { picked }
    };
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
    let mut trace = ErrorTrace::new(header);
    for (packet, arrival) in sent.iter().zip(arrivals) {
        match arrival {
            None => trace.push(Fault::Lost, 1),
            Some(data) => match difference(&packet.data, &data) {
                Some(fault) => trace.push(fault, 1),
                None => trace.push_ok(1),
            },
        }
    }
    Ok(trace)
}

/// What arrived of each sent packet, by name; `None` unless every sent packet has one.
fn by_name(sent: &[Packet], received: &[Packet]) -> Option<Vec<Option<Bytes>>> {
    let names: Vec<Tag> = sent.iter().map(|packet| packet.tag).collect::<Option<_>>()?;
    let arrived: BTreeMap<Tag, &Bytes> =
        received.iter().rev().filter_map(|p| Some((p.tag?, &p.data))).collect();
    let arrivals = names.iter().map(|name| arrived.get(name).map(|&data| data.clone()));
    Some(arrivals.collect())
}

/// What arrived of each sent packet, by order and likeness.
fn by_likeness(sent: &[Packet], received: &[Packet]) -> Vec<Option<Bytes>> {
    let mut arrivals = vec![None; sent.len()];
    let mut next = 0;
    for packet in received {
        let end = sent.len().min(next + WINDOW);
        let found = (next..end).find(|&i| is_like(&sent[i].data, &packet.data));
        if let Some(i) = found {
            arrivals[i] = Some(packet.data.clone());
            next = i + 1;
        }
    }
    arrivals
}

/// Whether `received` may be what is left of `sent`.
fn is_like(sent: &[u8], received: &[u8]) -> bool {
    let common = sent.len().min(received.len());
    let wrong: u64 = sent.iter().zip(received).map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
    received.len() <= sent.len() && common > 0 && wrong * LIKENESS <= common as u64 * 8
}

/// The fault that made `received` out of `sent`.
fn difference(sent: &[u8], received: &[u8]) -> Option<Fault> {
    let mut inverted = Vec::new();
    for (i, (a, b)) in sent.iter().zip(received).enumerate() {
        let wrong = a ^ b;
        let bits = (0..8).filter(|bit| wrong & (0x80 >> bit) != 0);
        inverted.extend(bits.map(|bit| i as u32 * 8 + bit));
    }
    let truncated = (received.len() < sent.len()).then_some(received.len() as u32 * 8);
    let is_fault = truncated.is_some() || !inverted.is_empty();
    is_fault.then(|| Fault::Damaged { truncated, inverted: inverted.into() })
}

#[cfg(test)]
mod tests;
