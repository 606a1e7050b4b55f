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

    /// Their mean; 0 if there were none.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation as a sample; 0 if there were fewer than two.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// The least of them; 0 if there were none.
    #[must_use]
    pub const fn least(&self) -> f64 {
        self.least
    }

    /// The greatest of them; 0 if there were none.
    #[must_use]
    pub const fn most(&self) -> f64 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_definition() {
        let mut spread = Spread::default();
        assert_eq!((spread.mean(), spread.deviation()), (0.0, 0.0));
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            spread.add(value);
        }
        assert_eq!((spread.count(), spread.mean()), (8, 5.0));
        assert!((spread.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((spread.least(), spread.most()), (2.0, 9.0));
    }
}
