//! Mean, spread and extremes of a measured quantity, without keeping the values.

/// Running moments (Welford's method).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    count: u64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        if self.count == 0 {
            (self.least, self.most) = (value, value);
        }
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Returns the number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns their mean.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Their standard deviation as a sample, from two on.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// The least of them.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        (self.count > 0).then_some(self.least)
    }

    /// The greatest of them.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_definition() {
        let mut spread = Spread::default();
        assert_eq!((spread.least(), spread.mean(), spread.most()), (None, None, None));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            assert_eq!(spread.deviation().is_some(), spread.count() > 1);
            spread.add(value);
        }
        assert_eq!((spread.count(), spread.mean()), (8, Some(5.0)));
        let deviation = spread.deviation().expect("there are two");
        assert!((deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((spread.least(), spread.most()), (Some(2.0), Some(9.0)));
    }
}
