//! What a flow has had of a link.

use crate::scheduler::Service;
use crate::share::{Demand, Region};

/// What a flow has had so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// All effort and outcome since the flow began.
    pub total: Service,
    /// How far its outcome lies behind what its effort should have brought, in outcome.
    pub lag: f64,
    /// Means over about the last fifty attempts.
    recent: Service,
}

/// The weight of one attempt in the means of a flow.
const MEMORY: f64 = 0.02;

impl Account {
    /// Notes an attempt by what it cost.
    pub fn spend(&mut self, effort: f64) {
        self.total.effort += effort;
        self.recent.effort += MEMORY * (effort - self.recent.effort);
        self.recent.outcome -= MEMORY * self.recent.outcome;
    }

    /// Notes that something arrived, by what it would have cost without errors.
    pub fn credit(&mut self, outcome: f64) {
        self.total.outcome += outcome;
        self.recent.outcome += MEMORY * outcome;
    }

    /// The recent error rate, 0..=1: the share of the effort of about the last fifty attempts that
    /// came to nothing. It is learned from attempts alone.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let Service { effort, outcome } = self.recent;
        if effort > 0.0 { (1.0 - outcome / effort).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Adds what the same flow had elsewhere.
    pub fn join(&mut self, other: &Self) {
        self.total = self.total.plus(other.total);
        self.recent = self.recent.plus(other.recent);
        self.lag += other.lag;
    }

    /// The region in which a flow of this power factor is by its recent error rate.
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
}
