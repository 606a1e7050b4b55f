//! Congestion control: CUBIC with `HyStart++`, as TCP has it, for the losses that a queue explains.
//!
//! A full queue makes round trips longer, so a loss while the round-trip time is near its minimum
//! is noise and leaves the window as it is. The queue is estimated as in TCP Veno (Fu and Liew
//! 2003). Datagrams that arrive damaged do not shrink the window either.
//!
//! A second window, which is at most [`FLOOR`] datagrams, shrinks less at a loss. The larger of the
//! two counts, so that a sender that ignores losses, as BBR does, leaves something to this one.

use std::collections::BTreeSet;

use windfall_base::{Duration, Instant};
use windfall_congestion::{Acknowledged, CongestionControl, CongestionController, Loss};

/// The initial window in datagrams.
const INITIAL: usize = 10;
/// The minimum window in datagrams.
const LEAST: usize = 4;
/// The queue of this connection in datagrams from which a loss counts as congestion.
const QUEUE: f64 = 3.0;
/// The share of lost datagrams from which all losses count as congestion, and the number of them
/// from which it is told.
const MUCH: f64 = 0.08;
const ENOUGH: f64 = 4.0;
/// The losses that are noise from which slow start ends.
const NOISY: f64 = 16.0;
/// The number of datagrams after which the counts of lost ones are halved.
const MEMORY: f64 = 256.0;
/// The most that the gentle window holds in datagrams, and the share that a loss leaves of it.
const FLOOR: usize = 20;
const GENTLE: f64 = 0.85;

/// The share of the window that a loss leaves in CUBIC (RFC 9438, section 4.6).
const CUBIC_BETA: f64 = 0.7;

/// A loss, as the sender sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostPacket {
    /// The number of the packet.
    pub(crate) number: u64,
    /// The next number: packets up to there were sent before the loss was known.
    pub(crate) next: u64,
    /// All its bytes are exact.
    pub(crate) is_exact: bool,
    /// The bytes that were in flight.
    pub(crate) in_flight: usize,
    /// The smallest round-trip time of all, and of the last ones.
    pub(crate) round_trips: (Duration, Duration),
    /// The time at which it was detected.
    pub(crate) now: Instant,
}

/// The congestion window in bytes.
#[derive(Debug)]
pub(crate) struct Congestion {
    cubic: Box<dyn CongestionController>,
    gentle: f64,
    size: usize,
    /// The last packet in flight at the last reduction: losses up to it are one event.
    recovery: Option<u64>,
    /// The datagrams that arrived lately and that were lost.
    arrived: f64,
    lost: f64,
    /// The number of losses that were noise.
    noise: f64,
    link: LinkLosses,
    /// The last reduction, while it may prove to be without need.
    reduction: Option<Reduction>,
}

/// A reduction of the window.
#[derive(Debug)]
struct Reduction {
    /// The packets that count as lost since, and have not arrived.
    lost: BTreeSet<u64>,
    /// The gentle window before.
    gentle: f64,
}

impl Congestion {
    /// Creates the window of a connection that sends datagrams of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let mut cubic = CongestionControl::Cubic.start(size as u64, INITIAL as u64, true);
        cubic.use_hystart();
        let gentle = (INITIAL * size) as f64;
        let link = LinkLosses::default();
        let (arrived, lost, noise) = (0.0, 0.0, 0.0);
        Self { cubic, gentle, size, recovery: None, arrived, lost, noise, link, reduction: None }
    }

    /// Returns the window in bytes.
    pub(crate) fn window(&self) -> usize {
        let floor = (self.gentle as usize).max(LEAST * self.size);
        (self.cubic.window() as usize).max(floor)
    }

    /// Returns whether the window is in slow start.
    pub(crate) fn is_starting(&self) -> bool {
        self.cubic.window() < self.cubic.threshold()
    }

    /// Adapts the window to datagrams of `size` bytes, of which it must hold several.
    pub(crate) fn set_size(&mut self, size: usize) {
        let window = self.cubic.window();
        self.size = size;
        self.cubic.set_mss(size as u64);
        self.cubic.limit(window.max((INITIAL * size) as u64));
        self.gentle = self.gentle.max((INITIAL * size) as f64);
    }

    /// Grows the window after an acknowledgement of the packet `largest` and others.
    pub(crate) fn on_arrival(
        &mut self,
        largest: u64,
        (exact, approximate): (usize, usize),
        least: Duration,
        ack: &Acknowledged,
    ) {
        self.count((exact + approximate) as f64, 0.0);
        self.link.count(true, exact as f64, 0.0);
        self.link.count(false, approximate as f64, 0.0);
        if let Some(sample) = ack.sample {
            self.link.watch(least, sample);
        }
        if self.recovery.is_some_and(|recovery| largest >= recovery) {
            self.cubic.on_recovered();
        }
        if !ack.limited || self.recovery.is_some_and(|recovery| largest < recovery) {
            return;
        }
        let growth = self.size as f64 * ack.bytes as f64 / self.gentle;
        self.gentle = (self.gentle + growth).min((FLOOR * self.size) as f64);
        // After a timeout an acknowledgement counts for one datagram, whatever it is for.
        let packets = if self.is_starting() { exact + approximate } else { 1 };
        for number in 1..=packets as u64 {
            let sample = ack.sample.filter(|_| number == 1);
            let bytes = ack.bytes / packets as u64;
            self.cubic.on_acknowledged(&Acknowledged { sample, bytes, ..*ack });
        }
    }

    /// Shrinks the window after a loss that is due to congestion.
    pub(crate) fn on_loss(&mut self, lost: &LostPacket) {
        self.count(0.0, 1.0);
        self.link.count(lost.is_exact, 1.0, 1.0);
        if self.recovery.is_some_and(|recovery| lost.number <= recovery) {
            if let Some(reduction) = &mut self.reduction {
                reduction.lost.insert(lost.number);
            }
            return;
        }
        if self.is_noise(lost) {
            self.end_slow_start(lost.now);
            return;
        }
        if !lost.is_exact && self.link.is_noisy() && !self.link.take_peak() {
            return;
        }
        self.recovery = Some(lost.next);
        self.keep(BTreeSet::from([lost.number]));
        self.gentle = (self.gentle * GENTLE).max((LEAST * self.size) as f64);
        self.reduce(lost.now, (lost.in_flight as u64).min(self.cubic.window()));
    }

    /// Reduces the window of CUBIC for what was in flight.
    fn reduce(&mut self, now: Instant, in_flight: u64) {
        let offered = u64::MAX;
        self.cubic.on_loss(&Loss { now, in_flight, in_network: in_flight, offered });
    }

    /// Ends slow start with the window as it is, after some losses: without a queue nothing else
    /// would end it.
    fn end_slow_start(&mut self, now: Instant) {
        self.noise += 1.0;
        if self.is_starting() && self.noise >= NOISY {
            let datagrams = self.cubic.window() as f64 / self.size as f64 / CUBIC_BETA;
            self.reduce(now, datagrams.ceil() as u64 * self.size as u64);
        }
    }

    /// Returns whether no queue explains a loss.
    fn is_noise(&self, lost: &LostPacket) -> bool {
        let (least, latest) = lost.round_trips;
        let waiting = 1.0 - least.as_nanos() as f64 / latest.as_nanos().max(1) as f64;
        let queue = self.window() as f64 / self.size as f64 * waiting;
        let is_much = self.lost >= ENOUGH && self.lost > MUCH * (self.arrived + self.lost);
        queue < QUEUE && !is_much
    }

    fn count(&mut self, arrived: f64, lost: f64) {
        self.arrived += arrived;
        self.lost += lost;
        if self.arrived + self.lost >= MEMORY {
            (self.arrived, self.lost) = (self.arrived / 2.0, self.lost / 2.0);
        }
    }

    /// Keeps the state before a reduction for the loss of these packets.
    fn keep(&mut self, lost: BTreeSet<u64>) {
        self.reduction = Some(Reduction { lost, gentle: self.gentle });
    }

    /// Notes that a packet that counted as lost has arrived. A reduction is taken back once this
    /// is so of all that caused it (RFC 9438, section 4.9.2).
    pub(crate) fn on_late(&mut self, number: u64, is_exact: bool) {
        self.lost = (self.lost - 1.0).max(0.0);
        self.link.on_late(is_exact);
        let Some(reduction) = &mut self.reduction else { return };
        if !reduction.lost.remove(&number) || !reduction.lost.is_empty() {
            return;
        }
        self.gentle = self.gentle.max(reduction.gentle);
        self.cubic.on_spurious_loss();
        (self.reduction, self.recovery) = (None, None);
    }

    /// Reduces the window to its minimum after repeated timeouts, when these packets counted as
    /// lost.
    pub(crate) fn collapse(&mut self, now: Instant, lost: BTreeSet<u64>) {
        self.keep(lost);
        let in_flight = self.cubic.window();
        let loss = Loss { now, in_flight, in_network: 0, offered: u64::MAX };
        self.cubic.on_timeout(&loss, true);
        self.gentle = (LEAST * self.size) as f64;
    }
}

/// The losses of a link that repeats exact datagrams until they arrive, and approximate ones not.
///
/// A full queue drops both alike. Where approximate datagrams are lost far more often, the link
/// loses them, and a loss says little of the queue. The round trips do: they are longest when the
/// queue overflows, and shorter once others have made room.
#[derive(Clone, Copy, Debug, Default)]
struct LinkLosses {
    /// Exact and approximate datagrams whose outcome is known, and those of them that were lost.
    exact: (f64, f64),
    approximate: (f64, f64),
    /// The longest round trip lately, in nanoseconds; it fades.
    most: f64,
    /// The place of the last round trip between the shortest and the longest, from 0 to 1.
    level: f64,
    /// Round trips were shorter since the last reduction.
    has_fallen: bool,
}

/// The datagrams of one kind, and the losses, from which the two kinds are compared.
const SAMPLE: f64 = 8.0;
/// The ratio of the rates of loss from which the link is to blame.
const RATIO: f64 = 3.0;
/// The number of datagrams after which their counts are halved.
const LINK_MEMORY: f64 = 4096.0;
/// The samples after which the longest round trip has faded by two thirds.
const FADING: f64 = 256.0;
/// The level of the round trips at which a queue overflows, and the one below which it has drained.
const FULL: f64 = 0.9;
const DRAINED: f64 = 0.8;

impl LinkLosses {
    fn count(&mut self, is_exact: bool, all: f64, lost: f64) {
        let tally = if is_exact { &mut self.exact } else { &mut self.approximate };
        *tally = (tally.0 + all, tally.1 + lost);
        if self.exact.0 + self.approximate.0 >= LINK_MEMORY {
            for tally in [&mut self.exact, &mut self.approximate] {
                *tally = (tally.0 / 2.0, tally.1 / 2.0);
            }
        }
    }

    /// Notes that a datagram that counted as lost has arrived.
    fn on_late(&mut self, is_exact: bool) {
        let tally = if is_exact { &mut self.exact } else { &mut self.approximate };
        tally.1 = (tally.1 - 1.0).max(0.0);
    }

    /// Takes a round trip.
    fn watch(&mut self, least: Duration, sample: Duration) {
        let (least, sample) = (least.as_nanos() as f64, sample.as_nanos() as f64);
        self.most = sample.max(self.most - (self.most - least) / FADING);
        self.level = (sample - least) / (self.most - least).max(1.0);
        self.has_fallen |= self.level < DRAINED;
    }

    /// Returns whether the link loses approximate datagrams, which it would repeat if they were
    /// exact.
    fn is_noisy(&self) -> bool {
        let (exact, lost) = self.exact;
        let expected = RATIO * (lost + 0.5) / exact.max(1.0);
        exact >= SAMPLE
            && self.approximate.1 >= SAMPLE
            && self.approximate.1 / self.approximate.0.max(1.0) > expected
    }

    /// Returns whether the queue overflows for the first time since it has drained.
    fn take_peak(&mut self) -> bool {
        let peak = self.has_fallen && self.level > FULL;
        self.has_fallen &= !peak;
        peak
    }
}

#[cfg(test)]
mod tests;
