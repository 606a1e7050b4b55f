//! Packetization-layer path MTU discovery, after RFC 8899.

use core::net::IpAddr;

use windfall_base::{Duration, Instant};

use crate::event::Dropped;

/// Common datagram sizes to probe, inside IPv6, UDP and UDP-Lite: narrow links of IPv4, the 576
/// bytes that every host of IPv4 accepts (RFC 1122, section 3.3.2), the least MTU of IPv6,
/// Ethernet, 802.11, jumbo frames, loopback.
const STEPS: [usize; 12] = [380, 520, 752, 952, 1232, 1372, 1444, 2240, 4052, 8924, 16_356, 65_400];
/// The size for an IPv4 path that does not carry the base size: an MTU of 296 bytes, as slow serial
/// lines have, less the headers of IPv4, UDP and UDP-Lite. RFC 8899 calls it MIN_PLPMTU.
const MIN_PLPMTU_V4: usize = 260;
/// The size that is probed first. An interface with a smaller MTU rejects the probe at once, so a
/// smaller first size would save no time.
const FIRST_PROBE: usize = 2240;
/// The bytes by which the IPv4 header is shorter than that of IPv6. Datagrams over IPv4 may be
/// longer by as much.
const V4_GAIN: usize = 20;
/// The number of probes of one size before it counts as too large (MAX_PROBES of RFC 8899).
const MAX_PROBES: u8 = 3;
/// The minimum interval between probes of one size.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// The least time to wait for the answer to a probe. A probe takes the medium for longer than the
/// short datagrams that measure the round trip, and may queue after the peer's.
const ANSWER: Duration = Duration::from_millis(10);
/// The time after which a search that has ended begins again, since the path may have changed
/// (RFC 8899, section 5.1.1, PMTU_RAISE_TIMER).
const PMTU_RAISE_TIMER: Duration = Duration::from_secs(600);
/// The number of lost datagrams from which on a black hole is suspected, if shorter datagrams
/// arrive and none as long does.
const BLACK_HOLE_LOSSES: usize = 3;

/// Checks the largest datagram that a peer accepts, as its ping or accept states it. It must not be
/// below the size that every path carries.
pub(crate) fn check_largest(stated: u16) -> Result<(), Dropped> {
    if usize::from(stated) < MIN_PLPMTU_V4 { Err(Dropped::Malformed) } else { Ok(()) }
}

/// Returns the largest datagram that this end states to accept, if it sends none above `most`. The
/// value is never below the minimum, which every host accepts, in fragments if necessary.
pub(crate) fn stated_largest(most: usize) -> u16 {
    u16::try_from(most.max(MIN_PLPMTU_V4)).unwrap_or(u16::MAX)
}

/// The size at which a search ended, for other connections to the same host (RFC 8201, section
/// 5.2).
///
/// It saves them the probes that get no answer. The size that arrives is not kept: a peer that
/// acknowledges what it has not received would choose it for its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// The smallest size whose probes were lost.
    pub(crate) size: usize,
    /// The time from which on it may pass again.
    pub(crate) until: Instant,
}

/// The path MTU and the search for it. Sizes are bytes of SAP datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMtu {
    /// The size of the start (BASE_PLPMTU).
    base_plpmtu: usize,
    /// The size to use if the path does not carry the base size (MIN_PLPMTU of RFC 8899).
    min_plpmtu: usize,
    /// The size of the longest datagram that has arrived since the size was last reduced.
    longest_arrived: usize,
    /// The size in use (PLPMTU).
    plpmtu: usize,
    /// The largest size that either end permits (MAX_PLPMTU).
    max_plpmtu: usize,
    /// Added to each of the common sizes.
    v4_gain: usize,
    /// The smallest size whose probes were lost.
    too_long: usize,
    /// The number of probes of one size that are unanswered (PROBE_COUNT).
    probe_count: u8,
    /// The time of the next probe; `None` while no search is active.
    probe_at: Option<Instant>,
    /// The time of the last probe.
    probed_at: Instant,
    /// The time at which a search that has ended begins again.
    raise_at: Option<Instant>,
    /// A search has ended since [`take_too_long`](Self::take_too_long).
    has_ended: bool,
    /// The sizes of lost datagrams, each until a datagram as long arrives; 0 marks a free slot.
    lost_sizes: [usize; BLACK_HOLE_LOSSES],
    /// A datagram shorter than the lost ones has arrived since.
    shorter_arrives: bool,
    /// The size at which a black hole is suspected: its probes decide whether the path MTU has
    /// shrunk.
    suspected: Option<usize>,
}

impl PathMtu {
    /// Creates a path to `peer` that carries `base` and may carry up to `most`.
    pub(crate) fn new(peer: IpAddr, base: usize, most: usize) -> Self {
        let is_v4 = peer.to_canonical().is_ipv4();
        let plpmtu = base.min(most);
        Self {
            base_plpmtu: base,
            min_plpmtu: if is_v4 { MIN_PLPMTU_V4.min(plpmtu) } else { plpmtu },
            longest_arrived: 0,
            plpmtu,
            max_plpmtu: most,
            v4_gain: if is_v4 { V4_GAIN } else { 0 },
            too_long: usize::MAX,
            probe_count: 0,
            probe_at: None,
            probed_at: Instant::START,
            raise_at: None,
            has_ended: false,
            lost_sizes: [0; BLACK_HOLE_LOSSES],
            shorter_arrives: false,
            suspected: None,
        }
    }

    /// Begins a connection whose ends permit datagrams of up to `most` bytes, with a search if it
    /// `searches`. What is known to be too long is not probed.
    pub(crate) fn open(&mut self, now: Instant, peer: IpAddr, most: usize, searches: bool) {
        let known = self.raise_at.filter(|until| *until > now);
        let before = core::mem::replace(self, Self::new(peer, self.base_plpmtu, most));
        if known.is_some() {
            self.too_long = before.too_long;
            self.raise_at = known;
        }
        if searches {
            self.search(now);
        }
    }

    /// Learns what was too long for another connection to the same host.
    pub(crate) fn learn(&mut self, now: Instant, known: TooLong) {
        self.too_long = known.size;
        self.raise_at = Some(known.until);
        if let Some(at) = self.probe_at {
            self.search_at(now, at);
        }
    }

    /// Returns what is too long, once after each search.
    pub(crate) fn take_too_long(&mut self) -> Option<TooLong> {
        let has_ended = core::mem::take(&mut self.has_ended);
        let until = self.raise_at.filter(|_| has_ended && self.too_long < usize::MAX)?;
        Some(TooLong { size: self.too_long, until })
    }

    /// Returns the largest size that is known to arrive.
    pub(crate) fn size(&self) -> usize {
        self.plpmtu
    }

    /// Returns whether the path does not carry the base size, so that a probe may be longer than
    /// the whole window.
    pub(crate) fn is_narrow(&self) -> bool {
        self.plpmtu < self.base_plpmtu.min(self.max_plpmtu)
    }

    /// Returns the size that every path is assumed to carry.
    pub(crate) fn least(&self) -> usize {
        self.min_plpmtu
    }

    /// Restarts on another path, to `peer`, with a search if there was one.
    pub(crate) fn restart(&mut self, now: Instant, peer: IpAddr, searches: bool) {
        self.raise_at = None;
        self.open(now, peer, self.max_plpmtu, searches);
    }

    /// Starts the search for larger sizes.
    pub(crate) fn search(&mut self, now: Instant) {
        self.search_at(now, now);
    }

    /// Schedules the next probe of the search at `at`, or the next search if no size is left.
    fn search_at(&mut self, now: Instant, at: Instant) {
        self.probe_at = self.next_size().map(|_| at);
        if self.plpmtu >= self.max_plpmtu {
            self.raise_at = None;
        } else if self.probe_at.is_none() {
            // What another connection has learned does not last longer by being passed on.
            self.raise_at = self.raise_at.or(Some(now + PMTU_RAISE_TIMER));
            self.has_ended = true;
        }
    }

    /// Returns the time from which on the size is unlikely to grow: an answer to the last probe
    /// would have arrived. `None` before that probe.
    pub(crate) fn settles_at(&self, round_trip: Duration) -> Option<Instant> {
        match (self.probe_at, self.probe_count) {
            (None, _) => Some(Instant::START),
            (Some(_), 0) => None,
            (Some(_), _) => Some(self.probed_at + (round_trip * 2).max(ANSWER)),
        }
    }

    /// Returns the time of the next probe, or the deadline of probes of a doubtful size.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.probe_at.or(self.raise_at)
    }

    /// Returns the size of the probe to send now, if one is due.
    pub(crate) fn poll_probe(&mut self, now: Instant, wait: Duration) -> Option<usize> {
        if self.due().is_none_or(|due| due > now) || self.has_shrunk(now) {
            return None;
        }
        if self.probe_at.is_none() {
            // A size that failed long ago may pass now (RFC 8899, section 5.1.1: PMTU_RAISE_TIMER).
            self.raise_at = None;
            self.too_long = usize::MAX;
        }
        let next = now + wait.max(PROBE_INTERVAL);
        let mut size = self.suspected;
        if size.is_some() {
            self.probe_at = Some(next);
        } else {
            if self.probe_count == MAX_PROBES
                && let Some(failed) = self.next_size()
            {
                self.exclude(failed);
            }
            size = self.next_size();
            self.search_at(now, next);
        }
        if size.is_some() {
            self.probe_count += 1;
            self.probed_at = now;
        }
        size
    }

    /// Raises the size after a probe of `size` was acknowledged; returns whether it has grown.
    pub(crate) fn on_probe_arrival(&mut self, now: Instant, size: usize) -> bool {
        let is_larger = size > self.plpmtu;
        if is_larger {
            self.plpmtu = size;
            self.probe_count = 0;
            self.search(now);
        }
        is_larger
    }

    /// Notes that a datagram of `size` bytes has arrived.
    pub(crate) fn on_arrival(&mut self, now: Instant, size: usize) {
        self.longest_arrived = self.longest_arrived.max(size);
        self.lost_sizes.iter_mut().filter(|lost| **lost <= size).for_each(|lost| *lost = 0);
        self.shorter_arrives = self.lost_sizes != [0; BLACK_HOLE_LOSSES];
        if self.suspected.is_some_and(|doubted| doubted <= size) {
            self.suspected = None;
            self.probe_count = 0;
            self.search(now);
        }
    }

    /// Notes that a datagram of `size` bytes was lost. If several such datagrams are lost while
    /// shorter ones arrive, a black hole is suspected. Probes decide whether the path MTU has
    /// shrunk, the first of them after `wait` (RFC 8899, section 4.3).
    pub(crate) fn on_loss(&mut self, now: Instant, size: usize, wait: Duration) {
        // A datagram from before the size fell was longer than those in use.
        if size <= self.min_plpmtu || size > self.plpmtu {
            return;
        }
        if let Some(free) = self.lost_sizes.iter_mut().find(|lost| **lost == 0) {
            *free = size;
        }
        let least =
            self.lost_sizes.into_iter().min().filter(|least| *least > 0 && self.shorter_arrives);
        if self.suspected.is_none() && least.is_some() {
            self.suspected = least;
            self.probe_count = 0;
            self.probe_at = Some(now + wait.max(PROBE_INTERVAL));
        }
    }

    /// Returns whether all probes of a suspected size were lost: the path MTU must be reduced.
    pub(crate) fn has_shrunk(&self, now: Instant) -> bool {
        self.suspected.is_some()
            && self.probe_count == MAX_PROBES
            && self.probe_at.is_some_and(|due| due <= now)
    }

    /// Excludes `size`, which exceeds the MTU of the interface, from the search; returns whether
    /// anything changes. If datagrams as long as `size` are in use, the path MTU has shrunk.
    pub(crate) fn refuse(&mut self, size: usize) -> bool {
        if size <= self.plpmtu && size > self.min_plpmtu {
            self.suspected = Some(size);
            self.probe_count = MAX_PROBES;
            self.probe_at = Some(self.probed_at);
            return true;
        }
        if size <= self.plpmtu || self.probe_at.is_none() {
            return false;
        }
        self.exclude(size);
        self.search_at(self.probed_at, self.probed_at);
        true
    }

    /// Excludes `size` and larger sizes from the search.
    fn exclude(&mut self, size: usize) {
        self.too_long = self.too_long.min(size);
        self.probe_count = 0;
    }

    /// Returns to the base size, since the path may have changed, or to the least one if nothing as
    /// long as the base size has arrived. If the path has shrunk, a search for a shorter size
    /// begins at once; otherwise a search begins after ten minutes. At the least size nothing
    /// changes: what was too long stays so, or the search would begin again with each silence.
    pub(crate) fn fall_back(&mut self, now: Instant) {
        if self.plpmtu == self.min_plpmtu {
            return;
        }
        let failed = self.suspected.filter(|_| self.has_shrunk(now));
        let base = self.base_plpmtu.min(self.max_plpmtu);
        let carries_base = self.plpmtu > base || self.longest_arrived > self.min_plpmtu;
        if carries_base && failed.is_none_or(|failed| failed > base) {
            self.plpmtu = base;
            self.too_long = failed.unwrap_or(base);
        } else {
            // A path that was dead for a while may carry more.
            self.too_long = failed.unwrap_or(usize::MAX);
            self.plpmtu = self.min_plpmtu;
        }
        self.longest_arrived = 0;
        self.probe_count = 0;
        self.lost_sizes = [0; BLACK_HOLE_LOSSES];
        self.shorter_arrives = false;
        self.raise_at = None;
        self.suspected = None;
        self.search(now);
    }

    /// Returns the next size to probe: the smallest one that is at least [`FIRST_PROBE`], or else
    /// the largest one below it.
    fn next_size(&self) -> Option<usize> {
        let first = FIRST_PROBE + self.v4_gain;
        let open = STEPS.map(|step| (step + self.v4_gain).min(self.max_plpmtu)).into_iter();
        let mut open = open.filter(|size| (self.plpmtu + 1..self.too_long).contains(size));
        let below = open.clone().rfind(|size| *size < first);
        open.find(|size| *size >= first).or(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer of each family.
    const V4: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(core::net::Ipv6Addr::LOCALHOST);

    /// Returns the size that the search finds on a path that carries `real`, and the number of
    /// probes.
    fn found(peer: IpAddr, real: usize, most: usize) -> (usize, usize) {
        let mut path = PathMtu::new(peer, 1232, most);
        let mut now = Instant::START;
        let mut trials = 0;
        path.search(now);
        while let Some(due) = path.probe_at {
            now = now.max(due);
            if let Some(size) = path.poll_probe(now, Duration::ZERO) {
                trials += 1;
                assert!(size <= most);
                if size <= real {
                    path.on_probe_arrival(now, size);
                }
            }
        }
        (path.size(), trials)
    }

    #[test]
    fn a_path_keeps_its_base_size_once_more_than_the_least_has_arrived() {
        let mut path = PathMtu::new(V4, 1232, 65_400);
        path.on_arrival(Instant::START, MIN_PLPMTU_V4 + 1);
        path.fall_back(Instant::START);
        assert_eq!(path.size(), 1232);
        // Nothing has arrived since, so the least size is left.
        path.fall_back(Instant::START);
        assert_eq!(path.size(), MIN_PLPMTU_V4);
    }

    #[test]
    fn a_path_that_shrank_falls_back_to_its_base_size_unless_that_failed() {
        for (refused, size) in [(4052, 1232), (1232, MIN_PLPMTU_V4)] {
            let mut path = PathMtu::new(V4, 1232, 65_400);
            path.search(Instant::START);
            path.on_probe_arrival(Instant::START, 4052);
            assert!(path.refuse(refused));
            path.fall_back(Instant::START);
            assert_eq!(path.size(), size, "{refused} was refused");
        }
    }

    #[test]
    fn an_interface_that_refuses_the_least_size_changes_nothing() {
        for (peer, least) in [(V4, MIN_PLPMTU_V4), (V6, 1232)] {
            let mut path = PathMtu::new(peer, 1232, 65_400);
            assert!(!path.refuse(least), "no shorter size is left");
            assert_eq!((path.size(), path.due()), (1232, None), "{peer}");
            assert!(!path.has_shrunk(Instant::START), "{peer}");
        }
    }

    #[test]
    fn a_size_settles_when_an_answer_would_have_come() {
        let round = Duration::from_millis(5);
        let now = Instant::START + Duration::from_secs(1);
        let mut path = PathMtu::new(V6, 1232, 65_400);
        assert_eq!(path.settles_at(round), Some(Instant::START), "nothing is sought");
        path.search(now);
        assert_eq!(path.settles_at(round), None);
        let size = path.poll_probe(now, Duration::ZERO).expect("a probe");
        assert_eq!(path.settles_at(round), Some(now + ANSWER));
        assert_eq!(path.settles_at(round * 10), Some(now + round * 20));
        assert!(path.on_probe_arrival(now, size));
        assert_eq!(path.settles_at(round), None, "the next size");
        path.poll_probe(now, Duration::ZERO).expect("a probe");
        assert!(path.refuse(4052) && !path.refuse(4052));
        assert_eq!((path.size(), path.probe_at), (size, None));
        assert_eq!(path.settles_at(round), Some(Instant::START), "no larger one is sought");
    }

    #[test]
    fn a_connection_does_not_probe_what_is_known_to_be_too_long_until_it_may_pass() {
        let until = Instant::START + PMTU_RAISE_TIMER;
        for (now, probe) in [(until - PROBE_INTERVAL, 1444), (until, 2240)] {
            let mut path = PathMtu::new(V6, 1232, 65_400);
            path.learn(Instant::START, TooLong { size: 2240, until });
            path.open(now, V6, 65_400, true);
            assert_eq!(path.poll_probe(now, Duration::ZERO), Some(probe));
        }
    }

    #[test]
    fn the_size_grows_once_if_several_probes_of_it_arrive() {
        let mut path = PathMtu::new(V6, 1232, 65_400);
        path.search(Instant::START);
        let size = path.poll_probe(Instant::START, Duration::ZERO).expect("a probe");
        let later = Instant::START + PROBE_INTERVAL;
        assert_eq!(path.poll_probe(later, Duration::ZERO), Some(size), "no answer came");
        assert!(path.on_probe_arrival(later, size));
        assert!(path.poll_probe(later, Duration::ZERO) > Some(size));
        let before = path.due();
        assert!(!path.on_probe_arrival(later, size), "it is known");
        assert_eq!((path.size(), path.due()), (size, before));
    }

    #[test]
    fn another_path_begins_with_the_base_size_and_is_searched_if_asked() {
        let mut path = PathMtu::new(V6, 1232, 65_400);
        path.search(Instant::START);
        path.on_probe_arrival(Instant::START, 8924);
        path.refuse(16_356);
        let later = Instant::START + Duration::from_secs(1);
        path.restart(later, V4, false);
        assert_eq!((path.size(), path.due()), (1232, None));
        path.restart(later, V4, true);
        assert_eq!((path.size(), path.due()), (1232, Some(later)));
        assert_eq!(path.poll_probe(later, Duration::ZERO), Some(2260), "of the other family");
    }

    #[test]
    fn a_size_that_the_interface_refuses_is_followed_by_a_smaller_one_at_once() {
        // Of 1500 bytes the headers of UDP and UDP-Lite take 16.
        for (peer, most, expected) in [(V6, 1444, [2240, 1444]), (V4, 1464, [2260, 1464])] {
            let mut path = PathMtu::new(peer, 1232, 65_400);
            path.search(Instant::START);
            let mut sizes = Vec::new();
            while let Some(size) = path.poll_probe(Instant::START, Duration::ZERO) {
                sizes.push(size);
                if size > most {
                    assert!(path.refuse(size) && path.probe_at.is_some(), "smaller ones are left");
                } else {
                    path.on_probe_arrival(Instant::START, size);
                }
            }
            assert_eq!((sizes, path.probe_at), (expected.to_vec(), None), "{peer}");
        }
    }

    /// Answers the probes of a path that carries `real` until none is due before `end`; returns the
    /// number of probes.
    fn answer(path: &mut PathMtu, real: usize, end: Instant) -> usize {
        let mut trials = 0;
        while let Some(due) = path.due().filter(|due| *due <= end) {
            if path.has_shrunk(due) {
                path.fall_back(due);
            }
            let Some(size) = path.poll_probe(due, Duration::ZERO) else { continue };
            trials += 1;
            if size <= real {
                path.on_probe_arrival(due, size);
                path.on_arrival(due, size);
            }
        }
        trials
    }

    /// A path that carries 8924 bytes, whose search is over.
    fn jumbo() -> (PathMtu, Instant) {
        let mut path = PathMtu::new(V6, 1232, 65_400);
        path.search(Instant::START);
        let now = Instant::START + Duration::from_secs(5);
        answer(&mut path, 9000, now);
        assert_eq!((path.size(), path.probe_at), (8924, None));
        (path, now)
    }

    #[test]
    fn a_search_that_has_ended_begins_again_after_ten_minutes() {
        let (mut path, now) = jumbo();
        let raise = path.due().expect("the next search");
        assert!(
            raise > now + PMTU_RAISE_TIMER - Duration::from_secs(5)
                && raise <= now + PMTU_RAISE_TIMER
        );
        assert_eq!(
            answer(&mut path, 9000, raise + PMTU_RAISE_TIMER / 2),
            3,
            "once, without success"
        );
        assert_eq!(path.size(), 8924);
        answer(&mut path, 65_535, raise + PMTU_RAISE_TIMER * 2);
        assert_eq!((path.size(), path.due()), (65_400, None), "no larger one is left");
    }

    #[test]
    fn a_path_that_carries_only_shorter_datagrams_has_shrunk() {
        let wait = Duration::from_millis(100);
        let (mut path, now) = jumbo();
        for round in 0..BLACK_HOLE_LOSSES {
            assert_eq!(path.probe_at, None, "{round}");
            path.on_loss(now, 8924, wait);
            path.on_arrival(now, 1300);
        }
        path.on_loss(now, 8924, wait);
        assert_eq!(path.due(), Some(now + wait));
        let trials = answer(&mut path, 1500, now + Duration::from_secs(9));
        assert_eq!((path.size(), path.probe_at), (1444, None));
        assert_eq!(trials, 3 + 3 + 1, "of 8924, 2240 and 1444");
        // Ten minutes later it is as wide as before.
        answer(&mut path, 9000, now + PMTU_RAISE_TIMER * 2);
        assert_eq!(path.size(), 8924);
    }

    #[test]
    fn at_the_least_size_neither_silence_nor_what_was_sent_before_begins_the_search_again() {
        let wait = Duration::from_millis(100);
        let mut path = PathMtu::new(V4, 1232, 65_400);
        path.search(Instant::START);
        let mut now = Instant::START + Duration::from_secs(5);
        answer(&mut path, 1464, now);
        assert_eq!(path.size(), 1464);
        path.fall_back(now);
        path.fall_back(now);
        assert_eq!(path.size(), MIN_PLPMTU_V4);
        let mut trials = 0;
        for _ in 0..300 {
            now += Duration::from_secs(1);
            path.on_arrival(now, MIN_PLPMTU_V4);
            path.on_loss(now, 1464, wait);
            trials += answer(&mut path, MIN_PLPMTU_V4, now);
            path.fall_back(now);
        }
        // Each of 2260, 1464, 1392, 1252, 972, 772, 540 and 400 bytes.
        assert_eq!((path.size(), trials), (MIN_PLPMTU_V4, 8 * usize::from(MAX_PROBES)));
        answer(&mut path, 1464, now + PMTU_RAISE_TIMER);
        assert_eq!(path.size(), 1464, "after ten minutes");
    }

    #[test]
    fn losses_without_a_sign_that_length_matters_leave_the_size() {
        let wait = Duration::from_millis(100);
        let (mut path, now) = jumbo();
        // Nothing arrives.
        (0..9).for_each(|_| path.on_loss(now, 8924, wait));
        assert_eq!(path.probe_at, None);
        // One as long arrives now and then, and short ones do not.
        for _ in 0..9 {
            path.on_arrival(now, 8924);
            (0..BLACK_HOLE_LOSSES - 1).for_each(|_| path.on_loss(now, 8924, wait));
            path.on_loss(now, 1232, wait);
            path.on_arrival(now, 100);
        }
        assert_eq!(path.probe_at, None);
        // A probe arrives, or what was sent before.
        for size in [4052, 8924] {
            (0..=BLACK_HOLE_LOSSES).for_each(|_| path.on_loss(now, 4052, wait));
            assert_eq!(path.probe_at, Some(now + wait));
            path.on_arrival(now, 4051);
            assert_eq!(path.probe_at, Some(now + wait));
            path.on_arrival(now, size);
            assert_eq!((path.size(), path.probe_at), (8924, None));
            path.on_loss(now, 4052, wait);
            path.on_arrival(now, 100);
            path.on_arrival(now, 4052);
            path.on_loss(now, 4052, wait);
            path.on_arrival(now, 100);
        }
    }

    #[test]
    fn after_silence_the_search_begins_again_in_ten_minutes() {
        let (mut path, now) = jumbo();
        path.fall_back(now);
        assert_eq!((path.size(), path.due()), (1232, Some(now + PMTU_RAISE_TIMER)));
        answer(&mut path, 9000, now + PMTU_RAISE_TIMER + Duration::from_secs(5));
        assert_eq!(path.size(), 8924);
    }

    #[test]
    fn the_search_finds_the_largest_size_that_arrives() {
        assert_eq!(found(V6, 1444, 65_400), (1444, 4));
        assert_eq!(found(V6, 1380, 65_400), (1372, 7));
        assert_eq!(found(V6, 1231, 65_400), (1232, 9));
        assert_eq!(found(V6, 2248, 65_400), (2240, 4));
        assert_eq!(found(V6, 70_000, 65_400), (65_400, 5));
        assert_eq!(found(V6, 70_000, 2000), (2000, 1));
        assert_eq!(found(V6, 70_000, 1052), (1052, 0));
    }

    /// Paths of 1428, 1500, 2296 and 9000 bytes, less the headers of IPv4, UDP and
    /// UDP-Lite.
    #[test]
    fn over_ipv4_the_sizes_are_those_that_fit() {
        let fits = |mtu: usize| mtu - 20 - 8 - 8;
        assert_eq!(found(V4, fits(1_428), 65_400).0, fits(1_428));
        assert_eq!(found(V4, fits(1_500), 65_400).0, fits(1_500));
        assert_eq!(found(V4, fits(2_296), 65_400).0, fits(2_296));
        assert_eq!(found(V4, fits(9_000), 65_400).0, 8944);
        assert_eq!(found(V4, 70_000, 65_400).0, 65_400);
        let mapped = "::ffff:10.77.0.1".parse().expect("an address");
        assert_eq!(found(mapped, fits(1_500), 65_400).0, fits(1_500));
    }
}
