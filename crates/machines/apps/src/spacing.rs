//! When the next datagram goes: at an even pace, or as a random process around it.

use windfall_base::{Duration, Instant, Rate, Seed, Stream};

/// The pace at which datagrams follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// One every so often; a time of zero counts as a nanosecond.
    Every(Duration),
    /// The data, without any header, make up this rate.
    Rate(Rate),
}

/// The distribution of the intervals between datagrams around their pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Equal intervals between datagrams.
    #[default]
    Even,
    /// As a Poisson process: the times between them are exponential, and the pace is their mean.
    Poisson,
    /// Evenly for a while, then none for a while; both times are exponential with these means.
    OnOff {
        /// The mean duration of sending.
        on: Duration,
        /// The mean duration of a pause.
        off: Duration,
    },
}

/// The times at which datagrams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departures {
    /// When the first one goes.
    pub start: Instant,
    /// The first one goes at a random moment up to a step later, so that senders of one pace are
    /// not in step.
    pub staggered: bool,
    /// The pace of the datagrams.
    pub pace: Pace,
    /// The distribution of the intervals around that pace.
    pub spacing: Spacing,
    /// By so much at most the time between two differs from their pace, each time by a random time;
    /// a tenth of it if `None`. None goes as late as the next is due, so that the pace holds.
    pub jitter: Option<Duration>,
}

impl Departures {
    /// From `start` on at this pace, to the nanosecond.
    #[must_use]
    pub const fn exact(start: Instant, pace: Pace) -> Self {
        Self { start, staggered: false, pace, spacing: Spacing::Even, jitter: Some(Duration::ZERO) }
    }
}

/// The jitter where it is unset is the step divided by this.
const TENTH: u64 = 10;

/// The times of datagrams; those of an even pace to the nanosecond and without drift.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// When the next datagram goes.
    pub(crate) next: Instant,
    /// When it would go without jitter.
    paced: Instant,
    /// By how much later it goes.
    late: Duration,
    jitter: Duration,
    delays: Stream,
    step: Duration,
    /// The remainder of the step, as a fraction of a nanosecond: `part` of `whole`.
    part: u64,
    whole: u64,
    sum: u64,
    spacing: Spacing,
    /// When the sender next falls silent; not read unless it does.
    silent_from: Instant,
    random: Stream,
}

impl Schedule {
    /// The times of datagrams of `size` bytes from sender `number` of a run.
    pub(crate) fn new(timing: &Departures, size: usize, seed: Seed, number: u64) -> Self {
        let Departures { start, staggered, pace, spacing, jitter } = *timing;
        let (step, part, whole) = match pace {
            Pace::Every(interval) => (interval.as_nanos().max(1), 0, 1),
            Pace::Rate(rate) => {
                // An empty datagram at a rate would be infinitely many at once.
                let bits = size.max(1) as u64 * 8;
                let nanos = u128::from(bits) * 1_000_000_000;
                let whole = u128::from(rate.as_bps());
                ((nanos / whole) as u64, (nanos % whole) as u64, rate.as_bps())
            }
        };
        let mut random = Stream::new(seed, "arrivals").at(number);
        let step = Duration::from_nanos(step);
        let late = if staggered { random.below(step.as_nanos()) } else { 0 };
        let paced = start.saturating_add(Duration::from_nanos(late));
        let mut this = Self {
            next: paced,
            paced,
            late: Duration::ZERO,
            jitter: jitter.unwrap_or(step / TENTH).min(step),
            delays: Stream::new(seed, "jitter").at(number),
            step,
            part,
            whole,
            sum: 0,
            spacing,
            silent_from: paced,
            random,
        };
        if let Spacing::OnOff { on, .. } = spacing {
            this.silent_from = paced.saturating_add(this.exponential(on));
        }
        this
    }

    /// Lets the delay of the next datagram differ from that of the last by its jitter; random times
    /// need none.
    ///
    /// The delay wanders through the whole step and back at its ends. If it stayed near one place,
    /// senders of one pace would come in one order for ever, and in a full queue each would find
    /// room as often as chance has put the others far from it.
    fn delay(&mut self) {
        if self.jitter > Duration::ZERO && self.spacing != Spacing::Poisson {
            let jitter = self.jitter.as_nanos();
            let step = self.step.as_nanos();
            let moved = self.late.as_nanos() + self.delays.below(2 * jitter + 1);
            let late = moved.abs_diff(jitter);
            let last = step - 1;
            self.late = Duration::from_nanos(if late > last {
                (2 * last).saturating_sub(late)
            } else {
                late
            });
        }
        self.next = self.paced.saturating_add(self.late);
    }

    pub(crate) fn advance(&mut self) {
        self.sum += self.part;
        let carry = self.sum >= self.whole;
        self.sum -= if carry { self.whole } else { 0 };
        let step = self.step.saturating_add(Duration::from_nanos(carry.into()));
        let step = match self.spacing {
            Spacing::Poisson => self.exponential(step),
            _ => step,
        };
        self.paced = self.paced.saturating_add(step);
        if let Spacing::OnOff { on, off } = self.spacing {
            self.fall_silent(on, off);
        }
        self.delay();
    }

    /// Puts a datagram that falls into a silence behind it.
    fn fall_silent(&mut self, on: Duration, off: Duration) {
        // Of a time shorter than a step nothing may be left; a time without end ends the loop.
        while self.paced >= self.silent_from && self.paced < Instant::from_nanos(u64::MAX) {
            let silence = self.exponential(off);
            let speech = self.exponential(on);
            self.paced = self.paced.saturating_add(silence);
            self.silent_from = self.silent_from.saturating_add(silence).saturating_add(speech);
        }
    }

    /// An exponential time with a mean; at least a nanosecond, so that time passes.
    fn exponential(&mut self, mean: Duration) -> Duration {
        let times = -(1.0 - self.random.unit()).ln();
        Duration::from_nanos(((mean.as_nanos() as f64 * times) as u64).max(1))
    }
}

#[cfg(test)]
mod tests;
