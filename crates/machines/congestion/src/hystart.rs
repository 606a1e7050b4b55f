//! `HyStart++` (RFC 9406): leaves the first slow start when the round trips grow, before the queue
//! on the way overflows.

use windfall_base::Duration;

use super::Acknowledged;

/// The least growth of the round trip that counts, and the most that is waited for (section 4.3).
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// The share of the round trip that counts between these.
const DIVISOR: u64 = 8;
/// Round trips measured in a round before they say anything.
const SAMPLES: u32 = 8;
/// The divisor of window growth in conservative slow start.
const GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start before congestion avoidance.
const ROUNDS: u32 = 5;

/// The pace of slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// The window grows by this share of the acknowledged bytes.
    Share(f64),
    /// Slow start is over: congestion avoidance begins with the window as it is.
    Over,
}

/// The algorithm during the first slow start; it keeps nothing before the first acknowledgment.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart(Option<Box<Rounds>>);

/// The state of the algorithm.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// The position whose acknowledgment ends the round.
    round_end: u64,
    /// The least round trip of the last round and of this one.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start: perhaps the round trip grew for another reason.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The least round trip when it began; a lesser one takes it back.
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    /// Takes an acknowledgment of the first slow start; says how to go on.
    pub(super) fn take(&mut self, ack: &Acknowledged) -> Pace {
        self.0.get_or_insert_default().take(ack)
    }
}

impl Rounds {
    fn take(&mut self, ack: &Acknowledged) -> Pace {
        if ack.una >= self.round_end && self.begin_round(ack.next) {
            return Pace::Over;
        }
        if let Some(sample) = ack.sample {
            self.samples += 1;
            self.current = Some(self.current.map_or(sample, |least| least.min(sample)));
        }
        if self.samples >= SAMPLES {
            self.judge();
        }
        Pace::Share(if self.conservative.is_some() { 1.0 / GROWTH_DIVISOR } else { 1.0 })
    }

    /// Begins a round, which ends when `end` is acknowledged; returns whether it is one too many.
    fn begin_round(&mut self, end: u64) -> bool {
        self.round_end = end;
        self.last = self.current.take();
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else {
            return false;
        };
        conservative.rounds += 1;
        conservative.rounds >= ROUNDS
    }

    /// Compares the round trips of this round with those of the last one (section 4.2).
    fn judge(&mut self) {
        let (Some(current), Some(last)) = (self.current, self.last) else {
            return;
        };
        match self.conservative {
            Some(Conservative { baseline, .. }) if current < baseline => self.conservative = None,
            Some(_) => {}
            None => {
                let growth = (last / DIVISOR).clamp(LEAST_GROWTH, MOST_GROWTH);
                if current >= last.saturating_add(growth) {
                    self.conservative = Some(Conservative { baseline: current, rounds: 0 });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Instant;

    use super::*;

    fn ack(una: u64, millis: u64) -> Acknowledged {
        let sample = Some(Duration::from_millis(millis));
        let now = Instant::START;
        let rtt = None;
        let next = una + 10;
        Acknowledged { now, bytes: 1_000, rtt, limited: true, sample, una, next }
    }

    /// Ten acknowledgments of one round, with this round-trip time in milliseconds.
    fn round(hystart: &mut HyStart, number: u64, millis: u64) -> Pace {
        let mut pace = Pace::Over;
        for n in 1..=10 {
            pace = hystart.take(&ack(number * 10 + n, millis));
            if pace == Pace::Over {
                break;
            }
        }
        pace
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_slows_the_start_and_ends_it_after_five_rounds() {
        let mut hystart = HyStart::default();
        for (number, millis) in (0..).zip([40, 40, 44, 48]) {
            assert_eq!(round(&mut hystart, number, millis), Pace::Share(1.0), "{millis}");
        }
        // 48 ms and an eighth; the round in which it began counts too.
        for number in 4..9 {
            assert_eq!(round(&mut hystart, number, 54), Pace::Share(0.25), "{number}");
        }
        assert_eq!(round(&mut hystart, 9, 60), Pace::Over);
    }

    #[test]
    fn a_lesser_round_trip_takes_it_back() {
        let mut hystart = HyStart::default();
        let rounds = [(40, 1.0), (50, 0.25), (50, 0.25), (49, 1.0), (60, 0.25)];
        for (number, (millis, share)) in (0..).zip(rounds) {
            assert_eq!(round(&mut hystart, number, millis), Pace::Share(share), "{number}");
        }
    }

    #[test]
    fn seven_samples_say_nothing_and_growth_counts_between_4_and_16_milliseconds() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 0, 40);
        for n in 1..=7 {
            assert_eq!(hystart.take(&ack(10 + n, 90)), Pace::Share(1.0));
        }
        for (before, after, share) in
            [(8, 11, 1.0), (8, 12, 0.25), (400, 415, 1.0), (400, 416, 0.25)]
        {
            let mut hystart = HyStart::default();
            round(&mut hystart, 0, before);
            assert_eq!(round(&mut hystart, 1, after), Pace::Share(share), "{before} {after}");
        }
    }
}
