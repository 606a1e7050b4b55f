//! The running estimate of a probability.

/// The least weight of one more trial.
const MEMORY: f64 = 0.01;

/// A running estimate of a probability: at first the mean, then with ever less weight of the new.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub(super) value: f64,
    seen: f64,
}

impl Estimate {
    /// Learns from one trial: 1 if it happened, 0 if not, more if it represents unseen ones.
    pub(super) fn learn(&mut self, happened: f64) {
        self.seen += 1.0;
        // As if it had not happened in two trials before the first.
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
