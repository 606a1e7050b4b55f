//! The effort and the outcome of a flow on a link: the cost of its attempts, and the cost of its
//! delivered packets without errors.

use crate::scheduler::Service;
use crate::share::{Demand, Region};

/// The effort and the outcome of a flow so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// All effort and outcome since the flow began.
    pub total: Service,
    /// The lag of its outcome behind what its effort should have brought, in outcome.
    pub lag: f64,
    /// Means over about the last fifty attempts.
    recent: Service,
}

/// The weight of one attempt in the means of a flow.
const MEMORY: f64 = 0.02;
/// An error rate below this value is a rounding error of the means, and counts as 0.
const ROUNDING: f64 = 1e-12;

impl Account {
    /// Charges the effort of an attempt.
    pub fn spend(&mut self, effort: f64) {
        self.total.effort += effort;
        self.recent.effort += MEMORY * (effort - self.recent.effort);
        self.recent.outcome -= MEMORY * self.recent.outcome;
    }

    /// Credits an arrival by its effort without errors.
    pub fn credit(&mut self, outcome: f64) {
        self.total.outcome += outcome;
        self.recent.outcome += MEMORY * outcome;
    }

    /// The recent error rate, 0..=1: the share of the effort of about the last fifty attempts that
    /// failed. It is measured from attempts only.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let Service { effort, outcome } = self.recent;
        let rate = if effort > 0.0 { (1.0 - outcome / effort).clamp(0.0, 1.0) } else { 0.0 };
        if rate < ROUNDING { 0.0 } else { rate }
    }

    /// Adds the account of the same flow on another link.
    pub fn join(&mut self, other: &Self) {
        self.total = self.total.plus(other.total);
        self.recent = self.recent.plus(other.recent);
        self.lag += other.lag;
    }

    /// Returns the region of a flow with this power factor, by its recent error rate.
    #[must_use]
    pub fn region(&self, power_factor: f64) -> Region {
        Demand { weight: 1.0, power_factor, error_rate: self.error_rate() }.region()
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::{Probability, Seed, Stream};

    use super::*;

    #[test]
    fn the_error_rate_is_learned_without_being_told() {
        let mut account = Account::default();
        let mut random = Stream::new(Seed(11), "errors");
        let rate = Probability::new(0.3).unwrap();
        for _ in 0..2_000 {
            account.spend(1.0);
            if !random.chance(rate) {
                account.credit(1.0);
            }
        }
        // The moving average has a standard deviation of √(0.3 · 0.7 · 0.02 / 1.98) = 0.046.
        assert!((account.error_rate() - 0.3).abs() < 0.23, "{account:?}");
        assert_eq!(account.region(3.0), Region::Outcome);
        assert_eq!(account.region(1.01), Region::Effort);
        let Service { effort, outcome } = account.total;
        // Five standard deviations of a mean of 2 000.
        assert!((1.0 - outcome / effort - 0.3).abs() < 0.052, "{account:?}");
    }

    #[test]
    fn a_flow_without_errors_has_an_error_rate_of_exactly_zero() {
        for cost in [0.001, 0.0123, 1.0 / 3.0, 7e-5] {
            let mut account = Account::default();
            for attempt in 0..500 {
                let cost = cost * f64::from(1 + attempt % 7);
                account.spend(cost);
                account.credit(cost);
                assert_eq!(account.error_rate().to_bits(), 0, "{cost}: {account:?}");
            }
        }
    }

    /// An account after `attempts` of this cost, of which every `period`-th brings nothing.
    fn after(attempts: u32, cost: f64, period: u32) -> Account {
        let mut account = Account::default();
        for attempt in 1..=attempts {
            account.spend(cost);
            if attempt % period != 0 {
                account.credit(cost);
            }
        }
        account
    }

    #[test]
    fn the_error_rate_is_a_share_of_the_effort_whatever_an_attempt_costs() {
        assert_eq!(Account::default().error_rate(), 0.0);
        for cost in [1e-4, 1.0, 1_500.0] {
            assert!(after(2_000, cost, u32::MAX).error_rate() < 1e-9);
            assert_eq!(after(2_000, cost, 1).error_rate(), 1.0);
            // One attempt weighs a fiftieth.
            let half = after(2_000, cost, 2).error_rate();
            assert!((half - 0.5).abs() < 0.02, "{half}");
            let fifth = after(2_000, cost, 5).error_rate();
            assert!((fifth - 0.2).abs() < 0.05, "{fifth}");
        }
    }

    #[test]
    fn errors_long_past_are_forgotten() {
        let mut account = after(2_000, 1.0, 1);
        for _ in 0..50 {
            account.spend(1.0);
            account.credit(1.0);
        }
        // Each attempt leaves 98 % of what was there.
        assert!((account.error_rate() - 0.98_f64.powi(50)).abs() < 1e-6, "{account:?}");
    }

    #[test]
    fn a_flow_over_two_links_has_what_it_had_of_both() {
        let mut clean = Account { lag: 2.0, ..after(500, 1.0, u32::MAX) };
        let lossy = Account { lag: 5.0, ..after(500, 3.0, 2) };
        clean.join(&lossy);
        assert_eq!(clean.total, Service { effort: 2_000.0, outcome: 1_250.0 });
        assert_eq!(clean.lag, 7.0);
        // Of each four units of recent effort half of the three on the lossy link brought nothing.
        assert!((clean.error_rate() - 0.375).abs() < 0.02, "{clean:?}");
    }
}
