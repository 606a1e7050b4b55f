//! Automatic rate fallback (Kamerman and Monteban, WaveLAN II, 1997).

use windfall_base::{Instant, Stream};
use windfall_wire_link::ieee80211::PhyRate;

use super::{RateControl, RateControlKind};

/// Automatic rate fallback: a lower rate after two consecutive failures, a higher one after ten
/// consecutive successes.
pub const ARF: RateControlKind = RateControlKind {
    name: "arf",
    help: "Automatic rate fallback",
    is_adaptive: true,
    build: |setup| Box::new(Arf::new(setup.rates.clone())),
};

/// The number of consecutive successes after which the next higher rate is tried.
const UP: u32 = 10;
/// The number of consecutive failures after which the next lower rate is used.
const DOWN: u32 = 2;

/// The rate for one peer.
#[derive(Debug)]
struct Arf {
    rates: Vec<PhyRate>,
    now: usize,
    successes: u32,
    failures: u32,
    /// The rate has just been raised, so one failure is enough to lower it again.
    probing: bool,
}

impl Arf {
    /// Creates the state for one peer, at the highest rate.
    fn new(rates: Vec<PhyRate>) -> Self {
        Self { now: rates.len() - 1, rates, successes: 0, failures: 0, probing: false }
    }

    fn current(&self) -> PhyRate {
        self.rates[self.now]
    }
}

impl RateControl for Arf {
    fn rate(&mut self, _: Instant, _: u32, _: &mut Stream) -> PhyRate {
        self.current()
    }

    /// Records the outcome of an attempt. An attempt at a rate that the packet's owner chose is
    /// ignored.
    fn on_attempt(&mut self, rate: PhyRate, arrived: bool) {
        if rate != self.current() {
            return;
        }
        if arrived {
            self.failures = 0;
            self.successes += 1;
            self.probing = false;
            if self.successes >= UP && self.now + 1 < self.rates.len() {
                self.now += 1;
                self.successes = 0;
                self.probing = true;
            }
        } else {
            self.successes = 0;
            self.failures += 1;
            if self.probing || self.failures >= DOWN {
                self.now = self.now.saturating_sub(1);
                self.failures = 0;
                self.probing = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(arf: &mut Arf, outcomes: &[bool]) {
        for arrived in outcomes {
            arf.on_attempt(arf.current(), *arrived);
        }
    }

    #[test]
    fn it_falls_after_two_failures_and_rises_after_ten_successes() {
        let mut arf = Arf::new(PhyRate::ALL[..4].to_vec());
        feed(&mut arf, &[false]);
        assert_eq!(arf.current(), PhyRate::Cck11);
        feed(&mut arf, &[false]);
        assert_eq!(arf.current(), PhyRate::Cck5_5);
        feed(&mut arf, &[true; 9]);
        assert_eq!(arf.current(), PhyRate::Cck5_5);
        feed(&mut arf, &[true]);
        assert_eq!(arf.current(), PhyRate::Cck11);
    }

    #[test]
    fn a_higher_rate_that_fails_at_once_is_left_at_once() {
        let mut arf = Arf::new(PhyRate::ALL[..4].to_vec());
        feed(&mut arf, &[false, false]);
        feed(&mut arf, &[true; 10]);
        feed(&mut arf, &[false]);
        assert_eq!(arf.current(), PhyRate::Cck5_5);
        feed(&mut arf, &[false; 20]);
        assert_eq!(arf.current(), PhyRate::Dsss1);
    }
}
