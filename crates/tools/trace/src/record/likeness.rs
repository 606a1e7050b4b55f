//! Which sent packet a received one is, where neither has a name.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use windfall_files::pcapng::read::CapturedPacket;

/// The number of sent packets, before and behind where it is expected, among which a received one
/// is looked for if it may be several of them.
const WINDOW: usize = 256;
/// A packet of which more than one bit in this many differs is another packet.
const LIKENESS: u64 = 4;
/// The length of the check behind a frame, and the most to which a link pads a short one, with it.
const CHECK: u32 = 4;
const PADDED: u32 = 68;

/// Matches arrivals with sent packets: first those that are the same, then each of the others with
/// the one that is most like it among those that were sent between its neighbours. Returns for each
/// sent packet the number of the received one.
///
/// Packets of one flow are so alike that a damaged one cannot be told from the next one by
/// likeness alone: what arrived whole says between which of them it was. The received packets with
/// the numbers in `foreign` are no copies of any. The link at the receiver
/// `may_pad`: then a received packet may be longer than that which was sent.
pub(super) fn by_likeness(
    sent: &[&CapturedPacket],
    received: &[&CapturedPacket],
    foreign: &BTreeSet<usize>,
    may_pad: bool,
) -> Vec<Option<usize>> {
    let mut arrivals = vec![None; sent.len()];
    let mut places = same(sent, received, &mut arrivals);
    let known: BTreeSet<&Bytes> = sent.iter().map(|packet| &packet.data).collect();
    let mut next = 0;
    for at in 0..received.len() {
        let data = &received[at].data;
        if let Some(place) = places[at] {
            next = place + 1;
            continue;
        }
        // A second copy of what has arrived already is no damaged neighbour of it.
        if known.contains(data) || foreign.contains(&at) {
            continue;
        }
        // After an outage a packet is near that which arrived whole behind it.
        let behind = places[at..].iter().flatten().copied().next().filter(|it| *it >= next);
        let near_next = next..behind.unwrap_or(sent.len()).min(next + WINDOW);
        let near_behind =
            behind.map_or(0..0, |it| near_next.end.max(it.saturating_sub(WINDOW))..it);
        let open = near_next.chain(near_behind).filter(|place| arrivals[*place].is_none());
        let likely =
            open.filter_map(|place| Some((distance(sent[place], received[at], may_pad)?, place)));
        if let Some((_, place)) = likely.min() {
            arrivals[place] = Some(at);
            places[at] = Some(place);
            next = place + 1;
        }
    }
    arrivals
}

/// Matches arrivals with sent packets that are the same bit for bit; of several, with the first
/// behind the latest match, or else, of a packet that others have overtaken, with the last before.
/// One that is farther away than [`WINDOW`], as after an outage, must be much nearer than the
/// others that are the same.
fn same(
    sent: &[&CapturedPacket],
    received: &[&CapturedPacket],
    arrivals: &mut [Option<usize>],
) -> Vec<Option<usize>> {
    let mut places = BTreeMap::<&Bytes, Vec<usize>>::new();
    for (place, packet) in sent.iter().enumerate() {
        places.entry(&packet.data).or_default().push(place);
    }
    let mut next = 0;
    let mut find = |(number, packet): (usize, &&CapturedPacket)| {
        let open = places.get_mut(&packet.data)?;
        let at = nearest(open, next)?;
        let place = open.remove(at);
        arrivals[place] = Some(number);
        next = next.max(place + 1);
        Some(place)
    };
    received.iter().enumerate().map(&mut find).collect()
}

/// Returns which of the sorted places is meant if `next` is expected.
fn nearest(places: &[usize], next: usize) -> Option<usize> {
    let ahead = places.partition_point(|place| *place < next);
    let distance = |at: usize| places.get(at).map(|place| place.abs_diff(next));
    let before = ahead.checked_sub(1);
    if distance(ahead).is_some_and(|it| it < WINDOW) {
        return Some(ahead);
    }
    if let Some(before) = before.filter(|at| distance(*at) <= Some(WINDOW)) {
        return Some(before);
    }
    let around = [before, Some(ahead), Some(ahead + 1)].into_iter().flatten();
    let mut found: Vec<_> = around.filter_map(|at| Some((distance(at)?, at))).collect();
    found.sort_unstable();
    match found[..] {
        [] => None,
        [(near, at), (far, _), ..] => (far / 2 >= near).then_some(at),
        [(_, at)] => Some(at),
    }
}

/// Counts the bits in which `received` differs from `sent`, if it may be a damaged copy of it. What
/// one of the captures has not kept differs in nothing.
fn distance(sent: &CapturedPacket, received: &CapturedPacket, may_pad: bool) -> Option<u64> {
    let common = sent.data.len().min(received.data.len()) as u64;
    let pairs = sent.data.iter().zip(&received.data);
    let wrong: u64 = pairs.map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
    let behind = received.original.saturating_sub(sent.original);
    let is_padding = may_pad && (behind <= CHECK || received.original <= PADDED);
    let is_like = (behind == 0 || is_padding) && common > 0 && wrong * LIKENESS <= common * 8;
    is_like.then(|| wrong + u64::from(sent.original.saturating_sub(received.original)) * 8)
}
