//! Received packet numbers, and the acknowledgement that lists them.

use std::collections::VecDeque;

use core::ops::Range;

use windfall_base::{Duration, Instant, RangeSet};
use windfall_wire_net::sap::{SapAck, ack};

use crate::hold::Hold;

/// The maximum number of ranges; packets below the lowest one count as received.
const REMEMBERED: usize = 8 * ack::MAX_RUNS;
/// The bytes charged for a packet that arrived after a gap, and for a range.
const JUMP: usize = 32;
const RANGE: usize = 112;
/// The number of remembered packets that arrived after a gap.
const JUMPS: usize = 32;
/// The number of late arrivals that are listed in any case.
const LATEST: usize = 16;
/// The number of acknowledgements that list a range after its last arrival. It is unlikely that all
/// of them are lost.
const REPEATS: usize = 16;

/// The packet numbers that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    received: RangeSet,
    /// All numbers below this one count as received.
    floor: u64,
    /// The latest packets of which only the header arrived intact. They do not count as
    /// received, so that their sender counts them as lost if this report of them is lost.
    damaged: Hold,
    largest_at: Option<Instant>,
    /// The latest numbers that arrived after higher ones, the last one at the end, and how many
    /// acknowledgements have listed each.
    latest: VecDeque<(u64, usize)>,
    /// The number after the largest one at each of the last acknowledgements, the oldest first.
    acknowledged: VecDeque<u64>,
    /// The latest packets that arrived after a gap, and when: they overtook earlier ones.
    jumps: VecDeque<(u64, Instant)>,
    /// The number of packets after the largest one whose header was damaged, so that their packet
    /// numbers are unknown.
    nameless: usize,
}

impl Numbers {
    /// Expands the low 32 bits of a number to the number closest to those received.
    pub(crate) fn expand(&self, low: u32) -> u64 {
        let near = self.received.end().map_or(self.floor, |end| end - 1);
        let ahead = i64::from(low.wrapping_sub(near as u32) as i32);
        near.checked_add_signed(ahead).unwrap_or_else(|| u64::from(low))
    }

    /// Returns the number after the largest one that has arrived intact.
    pub(crate) fn next(&self) -> u64 {
        self.received.end().unwrap_or(self.floor)
    }

    /// Returns whether this number has arrived intact before.
    pub(crate) fn contains(&self, number: u64) -> bool {
        number < self.floor || self.received.contains(number)
    }

    /// Records that only the header of `number` arrived intact; returns the time to report it.
    /// `may_wait` permits a delay, so that a link-layer retransmission may arrive first.
    pub(crate) fn insert_damaged(&mut self, now: Instant, number: u64, may_wait: bool) -> Instant {
        self.damaged.insert(now, number, may_wait)
    }

    /// Records the arrival of a packet with a damaged header.
    pub(crate) fn note_nameless(&mut self) {
        self.nameless = (self.nameless + 1).min(ack::MAX_DAMAGED);
    }

    /// Handles the gap that ends at `number`. Packets with a damaged header have arrived since the
    /// gap began, so as many of its numbers count as damaged, besides those known to be.
    fn pass(&mut self, now: Instant, number: u64) {
        let nameless = core::mem::take(&mut self.nameless);
        let unknown = (self.next()..number).filter(|it| !self.damaged.contains(*it));
        let unknown: Vec<u64> = unknown.take(nameless).collect();
        unknown.into_iter().for_each(|number| _ = self.damaged.insert(now, number, false));
    }

    /// Returns the time of the next report of a damaged packet after `now`.
    pub(crate) fn next_report(&mut self, now: Instant) -> Option<Instant> {
        self.damaged.expire(now)
    }

    /// Records the arrival of `number`. If it was reordered, returns by how much it arrived after a
    /// later packet.
    pub(crate) fn insert(&mut self, now: Instant, number: u64) -> Option<Duration> {
        let end = self.received.end();
        if number >= self.next() {
            self.pass(now, number);
        }
        if number < self.floor || self.received.insert(number..number + 1) == 0 {
            // A duplicate shows that the peer has not received the acknowledgement of the first
            // copy.
            if number < self.settled() {
                self.note_late(number);
            }
            return None;
        }
        if end.is_some_and(|end| number > end) {
            self.jumps.push_back((number, now));
            if self.jumps.len() > JUMPS {
                self.jumps.pop_front();
            }
        }
        // The link has retransmitted the packet, or the path has duplicated it, and the other copy
        // was damaged.
        self.damaged.arrived(now, number);
        if end.is_none_or(|end| number >= end) {
            self.largest_at = Some(now);
        } else {
            self.note_late(number);
        }
        if self.received.len() > REMEMBERED
            && let Some(lowest) = self.received.following(0)
        {
            self.floor = lowest.end;
            self.received.remove(lowest);
        }
        let first = self.jumps.partition_point(|(jump, _)| *jump < number);
        let overtook = self.jumps.get(first).filter(|(jump, _)| *jump > number);
        overtook.map(|(_, at)| now.saturating_since(*at))
    }

    /// Returns when the last gap before `number`, which has just arrived, was detected: when a
    /// later packet arrived first. If there is no gap, the time lies far back.
    pub(crate) fn missing_since(&self, now: Instant, number: u64) -> Instant {
        let Some(before) = number.checked_sub(1) else { return Instant::START };
        if !self.contains(before) {
            return now;
        }
        let begun = self.received.containing(before).map_or(0, |range| range.start);
        let Some(missing) = begun.checked_sub(1).filter(|it| *it >= self.floor) else {
            return Instant::START;
        };
        let first = self.jumps.partition_point(|(jump, _)| *jump <= missing);
        self.jumps.get(first).map_or(Instant::START, |(_, at)| *at)
    }

    /// Returns the memory of the ranges, in bytes.
    pub(crate) fn charge(&self) -> usize {
        self.received.len() * RANGE + self.jumps.len() * JUMP
    }

    /// Returns the number below which every range has been listed often enough.
    fn settled(&self) -> u64 {
        if self.acknowledged.len() < REPEATS { 0 } else { self.acknowledged[0] }
    }

    /// Lists the range of `number` in the next acknowledgements.
    fn note_late(&mut self, number: u64) {
        self.latest.push_back((number, 0));
        if self.latest.len() > LATEST {
            self.latest.pop_front();
        }
    }

    /// Returns the ranges that an acknowledgement lists, from the largest down: those of the latest
    /// arrivals, and the highest ones that were not listed often enough.
    fn reported_ranges(&self) -> Vec<Range<u64>> {
        let mut late: Vec<Range<u64>> = Vec::new();
        for (number, _) in &self.latest {
            let range = self.received.containing(*number);
            late.extend(range.filter(|range| !late.contains(range)));
        }
        let settled = self.settled();
        let next = self.next();
        let open = |range: &Range<u64>| range.end > settled || range.end == next;
        let last =
            self.received.iter().rev().take_while(open).filter(|range| !late.contains(range));
        let mut ranges: Vec<_> = last.take(ack::MAX_RUNS - late.len()).collect();
        ranges.append(&mut late);
        ranges.sort_unstable_by_key(|range| core::cmp::Reverse(range.start));
        ranges
    }

    /// Counts an acknowledgement that was sent.
    fn note_acknowledged(&mut self) {
        if self.acknowledged.len() == REPEATS {
            self.acknowledged.pop_front();
        }
        self.acknowledged.push_back(self.next());
        self.latest.iter_mut().for_each(|(_, listed)| *listed += 1);
        self.latest.retain(|(_, listed)| *listed < REPEATS);
    }

    /// Returns the acknowledgement of all received packets, except ranges that sixteen
    /// acknowledgements have listed already. `trust_damaged` permits the number of a damaged
    /// packet, which is not authenticated, to be the largest.
    pub(crate) fn acknowledge(
        &mut self,
        now: Instant,
        room: usize,
        trust_damaged: bool,
    ) -> Option<SapAck> {
        let arrived = self.received.end().map(|end| end - 1);
        let damaged = self.damaged.reported(now, self.next()).max().filter(|_| trust_damaged);
        let largest = arrived.max(damaged)?;
        let waited = self.largest_at.map_or(0, |at| now.saturating_since(at).as_micros());
        let short = |count| u16::try_from(count).unwrap_or(u16::MAX);
        let mut above = largest + 1;
        let mut runs = Vec::with_capacity(self.received.len().min(ack::MAX_RUNS));
        for range in self.reported_ranges() {
            let missing = above - range.end;
            let len = range.end - range.start;
            // A longer range is listed in part: its lower part has been acknowledged before.
            runs.push((short(missing), short(len)));
            if missing.max(len) > u64::from(u16::MAX) {
                break;
            }
            above = range.start;
        }
        let below = |number: u64| u16::try_from(largest.checked_sub(number)?).ok();
        let damaged = self.damaged.reported(now, self.next()).filter_map(below).collect();
        self.note_acknowledged();
        Some(SapAck {
            largest: largest as u32,
            delay: u32::try_from(waited).unwrap_or(u32::MAX),
            room: u32::try_from(room).unwrap_or(u32::MAX),
            runs,
            damaged,
        })
    }
}

/// Expands the runs of an acknowledgement to first and last numbers, the largest first.
pub(crate) fn listed(ack: &SapAck, largest: u64) -> Vec<(u64, u64)> {
    let mut runs = Vec::with_capacity(ack.runs.len());
    let mut above = largest + 1;
    for (missing, len) in &ack.runs {
        let Some(last) = above.checked_sub(1 + u64::from(*missing)) else { break };
        let Some(first) = (last + 1).checked_sub(u64::from(*len)) else { break };
        if *len > 0 {
            runs.push((first, last));
        }
        above = first;
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_comes_behind_later_ones_tells_how_late_it_is() {
        let ms = |ms| Instant::START + Duration::from_millis(ms);
        let mut numbers = Numbers::default();
        let late = [(0, 0), (1, 3), (2, 1), (4, 3), (5, 2), (6, 5)]
            .map(|(at, number)| numbers.insert(ms(at), number).map_or(0, Duration::as_millis));
        assert_eq!(late, [0, 0, 1, 0, 4, 0]);
        assert_eq!(numbers.insert(ms(7), 2), None, "a copy");
    }

    #[test]
    fn a_packet_ahead_of_all_others_is_not_late() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.insert(Instant::START, 0), None);
        assert_eq!(numbers.insert(Instant::START, 7), None, "it leaves a gap");
        assert_eq!(numbers.insert(Instant::START, 5), Some(Duration::ZERO));
    }

    #[test]
    fn the_last_missing_one_is_noticed_as_a_later_one_arrives() {
        let ms = |ms| Instant::START + Duration::from_millis(ms);
        let mut numbers = Numbers::default();
        for (at, number) in [(1, 0), (5, 2), (9, 4)] {
            numbers.insert(ms(at), number);
        }
        assert_eq!(numbers.missing_since(ms(20), 6), ms(20), "the one before it is missing");
        assert_eq!(numbers.missing_since(ms(20), 5), ms(9));
        numbers.insert(ms(12), 3);
        assert_eq!(numbers.missing_since(ms(20), 5), ms(5));
        numbers.insert(ms(13), 1);
        assert_eq!(numbers.missing_since(ms(20), 5), Instant::START, "none is missing");
        numbers.insert(ms(21), 8);
        numbers.insert(ms(22), 7);
        assert_eq!(numbers.missing_since(ms(30), 9), ms(21), "two of three are");
    }

    proptest! {
        #[test]
        fn an_acknowledgement_lists_exactly_the_received_packets(
            arrivals in prop::collection::vec(0_u64..60, 1..80),
        ) {
            let mut numbers = Numbers::default();
            let mut model = BTreeSet::new();
            for number in arrivals {
                prop_assert_eq!(numbers.contains(number), !model.insert(number));
                numbers.insert(Instant::START, number);
            }
            let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
            let largest = *model.last().expect("something arrived");
            let listed: BTreeSet<u64> =
                listed(&ack, largest).into_iter().flat_map(|(first, last)| first..=last).collect();
            prop_assert_eq!(listed, model);
        }
    }

    #[test]
    fn a_packet_without_a_number_is_none_of_those_known_to_be_damaged() {
        let mut numbers = Numbers::default();
        numbers.insert(Instant::START, 0);
        numbers.insert_damaged(Instant::START, 1, false);
        numbers.note_nameless();
        numbers.insert(Instant::START, 4);
        let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
        assert_eq!(ack.damaged, [3, 2], "of the missing ones 1 is known, and 2 may be the other");
    }

    #[test]
    fn of_too_many_ranges_those_of_the_latest_arrivals_are_listed() {
        let mut numbers = Numbers::default();
        (0..100).for_each(|number| _ = numbers.insert(Instant::START, 2 * number));
        for late in [21, 5, 51] {
            numbers.insert(Instant::START, late);
            let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
            assert!(ack.runs.len() <= ack::MAX_RUNS);
            let listed = listed(&ack, 198);
            assert!(listed.contains(&(late - 1, late + 1)), "{late}: {listed:?}");
            assert!(listed.contains(&(198, 198)));
        }
        assert!(!numbers.contains(7), "it may still come");
    }

    #[test]
    fn a_run_is_listed_sixteen_times_after_the_last_arrival_in_it() {
        let mut numbers = Numbers::default();
        // Each packet of an undisturbed stream is acknowledged; the number 50 is never sent.
        let runs_after = |numbers: &mut Numbers, number: u64| {
            numbers.insert(Instant::START, number);
            numbers.acknowledge(Instant::START, 0, true).expect("something arrived").runs
        };
        (0..50).for_each(|number| assert_eq!(runs_after(&mut numbers, number).len(), 1));
        let runs: Vec<usize> =
            (51..100).map(|number| runs_after(&mut numbers, number).len()).collect();
        assert_eq!(runs, [vec![2; REPEATS - 1], vec![1; 49 - REPEATS + 1]].concat());
        // Its sender asks again for what no acknowledgement told it, or what came late.
        for number in [20, 50] {
            let runs: Vec<bool> = (0..REPEATS + 4)
                .map(|at| {
                    if at == 0 {
                        numbers.insert(Instant::START, number);
                    }
                    let ack = numbers.acknowledge(Instant::START, 0, true).expect("it arrived");
                    listed(&ack, 99).iter().any(|(first, last)| (first..=last).contains(&&number))
                })
                .collect();
            assert_eq!(runs[..REPEATS], [true; REPEATS], "{number}");
            // The last one fills the gap, so its run has the largest number.
            assert_eq!(runs[REPEATS..], [number == 50; 4], "{number}");
        }
        assert_eq!(numbers.received.len(), 1, "nothing is forgotten");
    }

    #[test]
    fn numbers_continue_beyond_32_bits() {
        let mut numbers = Numbers::default();
        numbers.insert(Instant::START, u64::from(u32::MAX) - 1);
        assert_eq!(numbers.expand(3), (1 << 32) + 3);
        assert_eq!(numbers.expand(u32::MAX - 5), u64::from(u32::MAX) - 5);
    }

    #[test]
    fn the_delay_counts_from_the_arrival_of_the_largest() {
        let at = |ms| Instant::START + windfall_base::Duration::from_millis(ms);
        let mut numbers = Numbers::default();
        // The second is late, and the path has duplicated the third.
        for (ms, number) in [(0, 0), (7, 5), (9, 3), (11, 5)] {
            numbers.insert(at(ms), number);
        }
        let ack = numbers.acknowledge(at(12), 0, true).expect("something arrived");
        assert_eq!((ack.largest, ack.delay), (5, 5_000));
    }

    #[test]
    fn damaged_packets_are_listed_but_have_not_arrived() {
        let mut numbers = Numbers::default();
        let late = numbers.insert_damaged(Instant::START, 4, true);
        numbers.insert(Instant::START, 3);
        let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
        assert_eq!((ack.largest, &ack.runs[..], &ack.damaged[..]), (3, &[(0, 1)][..], &[][..]));
        let ack = numbers.acknowledge(late, 0, true).expect("something arrived");
        assert_eq!((ack.largest, &ack.runs[..], &ack.damaged[..]), (4, &[(1, 1)][..], &[0][..]));
        let ack = numbers.acknowledge(late, 0, false).expect("something arrived");
        assert_eq!((ack.largest, &ack.runs[..], &ack.damaged[..]), (3, &[(0, 1)][..], &[][..]));
        numbers.insert(Instant::START, 4);
        let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
        assert_eq!((ack.largest, &ack.runs[..], &ack.damaged[..]), (4, &[(0, 2)][..], &[][..]));
    }

    #[test]
    fn packets_without_a_number_are_those_that_are_missing_next() {
        let mut numbers = Numbers::default();
        let damaged = |numbers: &mut Numbers| {
            let ack = numbers.acknowledge(Instant::START, 0, true).expect("something arrived");
            (ack.largest, ack.damaged)
        };
        numbers.insert(Instant::START, 0);
        numbers.note_nameless();
        assert_eq!(damaged(&mut numbers), (0, vec![]), "its number is not known yet");
        numbers.insert(Instant::START, 3);
        assert_eq!(damaged(&mut numbers), (3, vec![2]), "the other one is lost");
        // A copy that the link has repeated intact was the one.
        numbers.note_nameless();
        numbers.insert(Instant::START, 4);
        numbers.insert(Instant::START, 6);
        assert_eq!(damaged(&mut numbers), (6, vec![5]));
        // Those that come late have been passed before.
        numbers.note_nameless();
        numbers.insert(Instant::START, 5);
        numbers.insert(Instant::START, 8);
        assert_eq!(damaged(&mut numbers), (8, vec![7, 1]));
        (0..1_000).for_each(|_| numbers.note_nameless());
        numbers.insert(Instant::START, 2_000);
        assert_eq!(damaged(&mut numbers).1.len(), ack::MAX_DAMAGED);
    }
}
