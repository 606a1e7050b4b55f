//! A running estimate of a probability.

/// The minimum weight of a new trial.
const MEMORY: f64 = 0.01;

/// A running estimate of a probability. It begins as a mean, and the weight of new trials decreases
/// to a minimum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub(super) value: f64,
    seen: f64,
}

impl Estimate {
    /// Records one trial: 1 for an event, 0 for none, and more if the event represents unobserved
    /// ones.
    pub(super) fn learn(&mut self, happened: f64) {
        self.seen += 1.0;
        // The prior is two trials without an event.
        let weight = (1.0 / (self.seen + 2.0)).max(MEMORY);
        self.value += weight * (happened - self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_begins_as_a_mean_with_two_trials_before_the_first() {
        let mut estimate = Estimate::default();
        for (happened, expected) in [(1.0, 1.0 / 3.0), (1.0, 2.0 / 4.0), (0.0, 2.0 / 5.0)] {
            estimate.learn(happened);
            assert!((estimate.value - expected).abs() < 1e-12, "{estimate:?}");
        }
    }

    #[test]
    fn an_estimate_never_becomes_slower_than_one_in_a_hundred() {
        let mut estimate = Estimate::default();
        (0..1_000).for_each(|_| estimate.learn(0.0));
        estimate.learn(1.0);
        assert!((estimate.value - 0.01).abs() < 1e-12, "{estimate:?}");
    }
}
