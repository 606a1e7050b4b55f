//! Quantiles of times, in memory that does not grow with their number.

use std::collections::BTreeMap;

use windfall_base::Duration;

/// Buckets between two powers of two, so that a quantile is wrong by less than 1 % of its value.
const BUCKETS: u64 = 64;

/// The counts of times of about each length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    counts: BTreeMap<u64, u64>,
    total: u64,
}

impl Quantiles {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        *self.counts.entry(bucket(time.as_nanos())).or_default() += 1;
        self.total += 1;
    }

    /// Returns the least time in seconds that a share of all times does not exceed; `None` without
    /// any times.
    #[must_use]
    pub fn at(&self, share: f64) -> Option<f64> {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut sum = 0;
        self.counts
            .iter()
            .find_map(|(bucket, count)| {
                sum += count;
                (sum >= rank).then_some(*bucket)
            })
            .map(|bucket| middle(bucket) / 1e9)
    }
}

/// The bucket of a number; each of the small ones has its own.
fn bucket(number: u64) -> u64 {
    let Some(shift) = number.checked_ilog2().and_then(|log| log.checked_sub(BUCKETS.ilog2()))
    else {
        return number;
    };
    u64::from(shift) * BUCKETS + (number >> shift)
}

/// The middle of a bucket.
fn middle(bucket: u64) -> f64 {
    let shift = (bucket / BUCKETS).saturating_sub(1);
    let least = (bucket - shift * BUCKETS) << shift;
    least as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_wrong_by_less_than_a_hundredth() {
        let mut all = Quantiles::default();
        assert_eq!(all.at(0.5), None);
        for millis in 1..=1_000 {
            all.add(Duration::from_millis(millis));
        }
        for (share, expected) in [(0.0, 0.001), (0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (1.0, 1.0)] {
            let found = all.at(share).expect("there are times");
            assert!((found / expected - 1.0).abs() < 0.01, "{share}: {found}");
        }
        assert!(all.counts.len() < 700);
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for number in (0..4_096_u64).chain([u64::MAX / 2, u64::MAX - 1]) {
            let here = bucket(number);
            let next = bucket(number + 1);
            assert!(next == here || next == here + 1, "{number}");
            let wrong = middle(here) - number as f64;
            assert!(wrong.abs() <= number as f64 / 64.0, "{number}: {wrong}");
        }
    }
}
