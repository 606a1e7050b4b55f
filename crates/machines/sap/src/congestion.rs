//! Congestion control: that of TCP, CUBIC with `HyStart++` by default, for the losses that a queue
//! explains.
//!
//! A full queue makes round trips longer, so a loss while the round-trip time is near its minimum
//! is noise and leaves the window as it is: the queue is estimated as in TCP Veno (Fu and Liew
//! 2003). So is one at a queue far shorter than the longest one lately, if as many are lost where
//! no queue is.
//! Datagrams that arrive damaged do not shrink the window either.
//!
//! A second window, which is at most [`FLOOR`] datagrams, shrinks less at a loss. The larger of the
//! two counts, so that a sender that ignores losses, as BBR does, leaves something to this one. It
//! shrinks as that of Reno where many connections that heed losses share a short queue, which the
//! share of lost datagrams tells.

use std::collections::BTreeSet;

use windfall_base::{Duration, Instant};
use windfall_congestion::{Acknowledged, CongestionControl, CongestionController, Loss};

use crate::rtt::RoundTrips;

/// The initial window in datagrams.
const INITIAL: usize = 10;
/// The minimum window in datagrams.
const LEAST: usize = 4;
/// The queue of this connection in datagrams from which a loss counts as congestion.
const QUEUE: f64 = 3.0;
/// The share of the longest queue lately, in time, from which a loss may count as congestion
/// however few datagrams of this connection wait: those of others may fill the queue. It counts
/// only if the queue adds a share of the round trip.
const OTHERS: f64 = 0.2;
const WAITING: f64 = 0.1;
/// The share of the longest queue lately, in time, below which a queue is not full.
const FULL: f64 = 0.7;
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
/// The share of the gentle window that a loss leaves, and the minimum window in datagrams, if many
/// connections crowd a short queue.
const CROWDED: f64 = 0.57;
const LEAST_CROWDED: usize = 2;
/// The shares of lost datagrams between which they begin to, and between which they no longer do:
/// so much is only lost beside senders that ignore losses.
const CROWD: [f64; 2] = [0.02, 0.04];
const DEAF: [f64; 2] = [0.12, 0.16];

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
    pub(crate) round_trips: RoundTrips,
    /// The time at which it was detected.
    pub(crate) now: Instant,
}

/// The congestion window in bytes.
#[derive(Debug)]
pub(crate) struct Congestion {
    /// The algorithm that makes the controller.
    algorithm: CongestionControl,
    controller: Box<dyn CongestionController>,
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
    /// The window before the reductions that the link may be to blame for, in bytes.
    doubtful: u64,
    /// The window before the reductions at a queue that was filled in part, in bytes: they were
    /// without need if datagrams turn out to be lost regardless of the queue.
    unexplained: u64,
    /// The approximate datagrams since one that was sent exact as a sample.
    unsampled: u32,
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
    pub(crate) fn new(size: usize, algorithm: CongestionControl) -> Self {
        let mut controller = algorithm.start(size as u64, INITIAL as u64, true);
        controller.use_hystart();
        Self {
            algorithm,
            controller,
            gentle: (INITIAL * size) as f64,
            size,
            recovery: None,
            arrived: 0.0,
            lost: 0.0,
            noise: 0.0,
            link: LinkLosses::default(),
            reduction: None,
            doubtful: 0,
            unexplained: 0,
            unsampled: 0,
        }
    }

    /// Returns the window in bytes.
    pub(crate) fn window(&self) -> usize {
        let floor = (self.gentle as usize).max(self.least());
        (self.controller.window() as usize).max(floor)
    }

    /// Returns whether the window is in slow start.
    pub(crate) fn is_starting(&self) -> bool {
        self.controller.window() < self.controller.threshold()
    }

    /// Adapts the window to datagrams of `size` bytes, of which it must hold several.
    pub(crate) fn set_size(&mut self, size: usize) {
        let window = self.controller.window();
        self.size = size;
        self.controller.set_mss(size as u64);
        self.controller.limit(window.max((INITIAL * size) as u64));
        self.gentle = self.gentle.max((INITIAL * size) as f64);
    }

    /// Grows the window after an acknowledgement of the packet `largest` and others; `exact` and
    /// `approximate` count them by their kind.
    pub(crate) fn on_arrival(
        &mut self,
        largest: u64,
        exact: usize,
        approximate: usize,
        round_trips: RoundTrips,
        ack: &Acknowledged,
    ) {
        let all = (exact + approximate) as f64;
        self.count(all, 0.0);
        let filling = self.filling(round_trips);
        self.link.count_at(filling, all, 0.0);
        self.link.count(true, exact as f64, 0.0);
        self.link.count(false, approximate as f64, 0.0);
        if let Some(sample) = ack.sample {
            self.link.watch(ack.now, round_trips.least, sample);
        }
        if self.recovery.is_some_and(|recovery| largest >= recovery) {
            self.controller.on_recovered();
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
            self.controller.on_acknowledged(&Acknowledged { sample, bytes, ..*ack });
        }
    }

    /// Shrinks the window after a loss that is due to congestion.
    pub(crate) fn on_loss(&mut self, lost: &LostPacket) {
        self.count(0.0, 1.0);
        let filling = self.filling(lost.round_trips);
        let is_run = self.link.on_loss(lost, filling);
        if self.recovery.is_some_and(|recovery| lost.number <= recovery) {
            if let Some(reduction) = &mut self.reduction {
                reduction.lost.insert(lost.number);
            }
            return;
        }
        // Slow start that overflows a queue loses many.
        let is_lone = self.is_starting() && !is_run && !self.loses_much();
        if self.is_noise(lost) || is_lone {
            self.end_slow_start(lost.now);
            if self.link.is_blind() {
                let window = core::mem::take(&mut self.unexplained);
                self.restore(lost.now, window);
            }
            return;
        }
        if lost.is_exact {
            self.doubtful = 0;
        } else if self.link.is_noisy() {
            let window = core::mem::take(&mut self.doubtful);
            self.restore(lost.now, window);
            return;
        } else if !self.is_starting() {
            self.doubtful = self.doubtful.max(self.controller.window());
        }
        self.unexplained = match filling {
            Filling::Full => 0,
            Filling::Empty | Filling::Part => self.unexplained.max(self.controller.window()),
        };
        self.recovery = Some(lost.next);
        self.keep(BTreeSet::from([lost.number]));
        let kept = GENTLE + (CROWDED - GENTLE) * self.crowding();
        self.gentle = (self.gentle * kept).max(self.least() as f64);
        self.reduce(lost.now, (lost.in_flight as u64).min(self.controller.window()));
    }

    /// Reduces the window of the controller by the bytes in flight.
    fn reduce(&mut self, now: Instant, in_flight: u64) {
        let offered = u64::MAX;
        self.controller.on_loss(&Loss { now, in_flight, in_network: in_flight, offered });
    }

    /// Takes back the reductions of a larger window for losses of which the link turns out to be to
    /// blame.
    fn restore(&mut self, now: Instant, window: u64) {
        if window > self.controller.window() {
            let datagrams = window / self.size as u64;
            self.controller = self.algorithm.start(self.size as u64, datagrams, true);
            self.leave_slow_start(now);
        }
    }

    /// Returns whether the next approximate datagram should be exact: its fate shows that of
    /// datagrams that the link repeats.
    pub(crate) fn take_sample(&mut self) -> bool {
        self.unsampled += 1;
        let takes = self.unsampled >= EVERY && self.link.is_suspect();
        if takes {
            self.unsampled = 0;
        }
        takes
    }

    /// Ends slow start with the window as it is, after some losses: without a queue nothing else
    /// would end it.
    fn end_slow_start(&mut self, now: Instant) {
        self.noise += 1.0;
        if self.is_starting() && self.noise >= NOISY {
            self.leave_slow_start(now);
        }
    }

    /// Ends slow start with the window as it is.
    fn leave_slow_start(&mut self, now: Instant) {
        let datagrams = self.controller.window() as f64 / self.size as f64 / self.controller.beta();
        let in_flight = datagrams.ceil() as u64 * self.size as u64;
        let offered = u64::MAX;
        self.controller.on_loss(&Loss { now, in_flight, in_network: in_flight, offered });
    }

    /// Returns whether no full queue explains a loss.
    fn is_noise(&self, lost: &LostPacket) -> bool {
        let is_noise = match self.filling(lost.round_trips) {
            Filling::Empty => true,
            Filling::Part => self.link.is_blind(),
            Filling::Full => false,
        };
        is_noise && !self.loses_much()
    }

    fn loses_much(&self) -> bool {
        self.lost >= ENOUGH && self.lost > MUCH * (self.arrived + self.lost)
    }

    /// Returns how much the share of lost datagrams tells that many connections crowd a short
    /// queue, from 0 to 1. Where that of each is one of few datagrams, all lose many.
    fn crowding(&self) -> f64 {
        let share = self.lost / (self.arrived + self.lost).max(1.0);
        let begins = (share - CROWD[0]) / (CROWD[1] - CROWD[0]);
        let ends = (DEAF[1] - share) / (DEAF[1] - DEAF[0]);
        begins.min(ends).clamp(0.0, 1.0)
    }

    /// Returns the minimum window in bytes.
    fn least(&self) -> usize {
        let fewer = (LEAST - LEAST_CROWDED) as f64 * self.crowding();
        ((LEAST as f64 - fewer) * self.size as f64).round() as usize
    }

    /// Returns how full the queue is, by the shortest round trip of all and of the last ones.
    fn filling(&self, round_trips: RoundTrips) -> Filling {
        let RoundTrips { least, recent } = round_trips;
        let waiting = 1.0 - least.as_nanos() as f64 / recent.as_nanos().max(1) as f64;
        let queue = self.window() as f64 / self.size as f64 * waiting;
        let level = self.link.level(round_trips);
        if queue < QUEUE && (level < OTHERS || waiting < WAITING) {
            Filling::Empty
        } else if level < FULL {
            Filling::Part
        } else {
            Filling::Full
        }
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

    /// Notes that a packet that counted as lost has arrived. A reduction is undone after all the
    /// packets that caused it have arrived (RFC 9438, section 4.9.2).
    pub(crate) fn on_late(&mut self, number: u64, is_exact: bool) {
        self.lost = (self.lost - 1.0).max(0.0);
        self.link.on_late(is_exact);
        let Some(reduction) = &mut self.reduction else { return };
        if !reduction.lost.remove(&number) || !reduction.lost.is_empty() {
            return;
        }
        self.gentle = self.gentle.max(reduction.gentle);
        self.controller.on_spurious_loss();
        (self.reduction, self.recovery) = (None, None);
    }

    /// Reduces the window to its minimum after repeated timeouts, when these packets counted as
    /// lost.
    pub(crate) fn collapse(&mut self, now: Instant, lost: BTreeSet<u64>) {
        self.keep(lost);
        let in_flight = self.controller.window();
        let loss = Loss { now, in_flight, in_network: 0, offered: u64::MAX };
        self.controller.on_timeout(&loss, true);
        self.gentle = self.least() as f64;
    }
}

/// The length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// Few datagrams of this connection wait, and the queue is short beside what it was lately.
    Empty,
    /// It has been far longer lately.
    Part,
    /// It may overflow.
    Full,
}

/// The losses of a link that repeats exact datagrams until they arrive, and approximate ones not,
/// and the length of its queue.
///
/// A full queue drops both kinds alike. If approximate datagrams are lost far more often, the link
/// loses them, and only the loss of an exact one signals a full queue.
#[derive(Clone, Copy, Debug, Default)]
struct LinkLosses {
    /// Exact and approximate datagrams.
    exact: Tally,
    approximate: Tally,
    /// Datagrams that met an empty queue, and those that met one filled in part.
    empty: Tally,
    part: Tally,
    /// The recent maximum of the round trip, in nanoseconds, which decays, and its last update.
    most: f64,
    at: Option<Instant>,
    /// The latest losses.
    latest: [Option<u64>; RUN],
}

/// Datagrams whose outcome is known, and those of them that were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    all: f64,
    lost: f64,
}

impl Tally {
    fn add(&mut self, all: f64, lost: f64) {
        self.all += all;
        self.lost += lost;
    }

    /// Halves the counts, so that they follow the link.
    fn halve(&mut self) {
        self.all /= 2.0;
        self.lost /= 2.0;
    }

    /// Returns the share that was lost.
    fn rate(self) -> f64 {
        self.lost / self.all.max(1.0)
    }
}

/// The losses of approximate datagrams from which on samples are sent exact, and from which the two
/// kinds are compared.
const SUSPECT: f64 = 2.0;
const SAMPLE: f64 = 4.0;
/// The number of exact datagrams from which the kinds are compared.
const EXACT: f64 = 8.0;
/// The approximate datagrams of which one is such a sample.
const EVERY: u32 = 4;
/// The ratio of the rates of loss from which the link is to blame.
const RATIO: f64 = 2.0;
/// The losses at an empty queue, and the share of the rate at one that is filled in part, from
/// which losses have nothing to do with the queue.
const BLIND: f64 = 2.0;
const SIMILAR: f64 = 0.5;
/// The number of datagrams after which their counts are halved.
const LINK_MEMORY: f64 = 4096.0;
/// The time in which that maximum decays by two thirds, in seconds.
const FADING: f64 = 4.0;
/// The losses that are a run, and the numbers among which they are.
const RUN: usize = 3;
const AMONG: u64 = 24;

impl LinkLosses {
    fn count(&mut self, is_exact: bool, all: f64, lost: f64) {
        self.tally(is_exact).add(all, lost);
        if self.exact.all + self.approximate.all >= LINK_MEMORY {
            self.exact.halve();
            self.approximate.halve();
        }
    }

    fn tally(&mut self, is_exact: bool) -> &mut Tally {
        if is_exact { &mut self.exact } else { &mut self.approximate }
    }

    /// Notes a loss; returns whether it is one of a run. Of a run the first one counts: the others
    /// were lost to the same cause.
    fn on_loss(&mut self, lost: &LostPacket, filling: Filling) -> bool {
        let is_near = |other: Option<u64>| other.is_some_and(|it| lost.number < it + AMONG);
        let counted = if is_near(self.latest[0]) { 0.0 } else { 1.0 };
        self.count(lost.is_exact, 1.0, counted);
        self.count_at(filling, 1.0, counted);
        self.latest.rotate_right(1);
        self.latest[0] = Some(lost.number);
        is_near(self.latest[RUN - 1])
    }

    /// Notes that a datagram that counted as lost has arrived.
    fn on_late(&mut self, is_exact: bool) {
        let tally = self.tally(is_exact);
        tally.lost = (tally.lost - 1.0).max(0.0);
    }

    /// Takes a round trip.
    fn watch(&mut self, now: Instant, least: Duration, sample: Duration) {
        let least = least.as_nanos() as f64;
        let sample = sample.as_nanos() as f64;
        let passed = self.at.map_or(0.0, |at| now.saturating_since(at).as_secs_f64());
        self.at = Some(now);
        let faded = (self.most - least) * (passed / FADING).min(1.0);
        self.most = sample.max(self.most - faded);
    }

    /// Returns the place of the latest round trips between the shortest and the longest, from 0
    /// to 1.
    fn level(&self, round_trips: RoundTrips) -> f64 {
        let least = round_trips.least.as_nanos() as f64;
        let recent = round_trips.recent.as_nanos() as f64;
        (recent - least) / (self.most - least).max(1.0)
    }

    fn count_at(&mut self, filling: Filling, all: f64, lost: f64) {
        let tally = match filling {
            Filling::Empty => &mut self.empty,
            Filling::Part => &mut self.part,
            Filling::Full => return,
        };
        tally.add(all, lost);
        if self.empty.all + self.part.all >= LINK_MEMORY {
            self.empty.halve();
            self.part.halve();
        }
    }

    /// Returns whether datagrams are lost regardless of the queue. A queue that is kept short drops
    /// them only while others wait.
    fn is_blind(&self) -> bool {
        self.empty.lost >= BLIND && self.empty.rate() >= SIMILAR * self.part.rate()
    }

    /// Returns whether the link may lose approximate datagrams.
    fn is_suspect(&self) -> bool {
        self.approximate.lost >= SUSPECT
    }

    /// Returns whether the link loses approximate datagrams, which it would repeat if they were
    /// exact.
    fn is_noisy(&self) -> bool {
        let expected = RATIO * (self.exact.lost + 0.5) / self.exact.all.max(1.0);
        self.exact.all >= EXACT
            && self.approximate.lost >= SAMPLE
            && self.approximate.rate() > expected
    }
}

#[cfg(test)]
mod tests;
