//! A jitter buffer: packets in order, each at the time at which it is to be played.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{Duration, Instant};

/// The settings of a jitter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterBufferConfig {
    /// The time by which playout lags behind the fastest packet.
    pub delay: Duration,
    /// Ticks of the media clock in a second, at least 1.
    pub clock: u32,
    /// The most packets that wait; at least 1.
    pub capacity: usize,
}

/// The counters of a jitter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitterBufferCounters {
    /// Packets that came after their successors were played.
    pub late: u64,
    /// Copies of packets that wait.
    pub duplicate: u64,
    /// Packets that found no room.
    pub overflow: u64,
    /// Sequence numbers that were skipped.
    pub missing: u64,
}

/// A packet as it leaves the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffered<T> {
    /// Its sequence number with the count of its cycles.
    pub sequence: u32,
    /// The time at which it arrived.
    pub arrived: Instant,
    /// The time at which it was to be played.
    pub playout: Instant,
    /// The packet as it was inserted.
    pub item: T,
}

/// Keeps packets until their playout time and passes them on in order.
///
/// The playout time of a sampling instant is that instant, mapped by the fastest packet so far,
/// and the configured delay. A missing packet does not hold up the others beyond their own times.
#[derive(Clone, Debug)]
pub struct JitterBuffer<T> {
    config: JitterBufferConfig,
    /// Waiting packets by sequence number, unwrapped to 64 bits.
    waiting: BTreeMap<i64, Waiting<T>>,
    /// The number after the last one played.
    next: Option<i64>,
    /// The last number and timestamp, unwrapped, against which the next ones are.
    newest: Option<(i64, i64)>,
    /// The least arrival minus sampling instant, in nanoseconds.
    least_transit: Option<i64>,
    /// Arrival minus sampling instant of the latest packets.
    recent: VecDeque<i64>,
    counters: JitterBufferCounters,
}

#[derive(Clone, Debug)]
struct Waiting<T> {
    media: i64,
    arrived: Instant,
    item: T,
}

/// Packets of which the fastest gives the mapping of clocks: enough to meet a fast one, few enough
/// to follow clocks that drift apart.
const RECENT: usize = 512;
/// A jump of timestamps or arrivals beyond this begins a new mapping.
const JUMP: i64 = 10_000_000_000;

impl<T> JitterBuffer<T> {
    /// An empty buffer.
    #[must_use]
    pub fn new(config: JitterBufferConfig) -> Self {
        let config = JitterBufferConfig {
            clock: config.clock.max(1),
            capacity: config.capacity.max(1),
            ..config
        };
        Self {
            config,
            waiting: BTreeMap::new(),
            next: None,
            newest: None,
            least_transit: None,
            recent: VecDeque::new(),
            counters: JitterBufferCounters::default(),
        }
    }

    /// Takes a packet with its sequence number and timestamp.
    pub fn insert(&mut self, now: Instant, sequence: u32, timestamp: u32, item: T) {
        let (last, ticks) = self.newest.unwrap_or((i64::from(sequence), i64::from(timestamp)));
        let number = last + i64::from(sequence.wrapping_sub(last as u32) as i32);
        let ticks = ticks + i64::from(timestamp.wrapping_sub(ticks as u32) as i32);
        if self.newest.is_none_or(|(last, _)| number >= last) {
            self.newest = Some((number, ticks));
        }
        let media = (i128::from(ticks) * 1_000_000_000 / i128::from(self.config.clock)) as i64;
        if self.next.is_some_and(|next| number < next) {
            self.counters.late += 1;
        } else if self.waiting.contains_key(&number) {
            self.counters.duplicate += 1;
        } else if self.waiting.len() == self.config.capacity {
            self.counters.overflow += 1;
        } else {
            self.learn(nanos(now).saturating_sub(media));
            self.waiting.insert(number, Waiting { media, arrived: now, item });
        }
    }

    /// Keeps the least of the latest transits.
    fn learn(&mut self, transit: i64) {
        if self.least_transit.is_some_and(|least| (transit.saturating_sub(least)).abs() > JUMP) {
            self.recent.clear();
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(transit);
        self.least_transit = self.recent.iter().min().copied();
    }

    fn playout(&self, packet: &Waiting<T>) -> Instant {
        let delay = i64::try_from(self.config.delay.as_nanos()).unwrap_or(i64::MAX);
        let at = packet.media.saturating_add(self.least_transit.unwrap_or(0));
        let at = Instant::from_nanos(at.saturating_add(delay).max(0) as u64);
        // The fastest packets may have been forgotten since it arrived.
        at.min(packet.arrived + self.config.delay)
    }

    /// Returns the next packet if it is time to play it.
    pub fn poll(&mut self, now: Instant) -> Option<Buffered<T>> {
        let (number, first) = self.waiting.first_key_value()?;
        let number = *number;
        let playout = self.playout(first);
        if now < playout {
            return None;
        }
        let packet = self.waiting.remove(&number)?;
        let skipped = self.next.map_or(0, |next| number - next);
        self.counters.missing += skipped.max(0) as u64;
        self.next = Some(number + 1);
        let sequence = number as u32;
        Some(Buffered { sequence, arrived: packet.arrived, playout, item: packet.item })
    }

    /// Returns the time at which [`poll`](Self::poll) has something; `None` if nothing waits.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(_, packet)| self.playout(packet))
    }

    /// Returns what was counted.
    #[must_use]
    pub const fn counters(&self) -> JitterBufferCounters {
        self.counters
    }

    /// Returns the number of packets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns `true` if none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn nanos(instant: Instant) -> i64 {
    i64::try_from(instant.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
