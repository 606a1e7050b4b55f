//! Ratios and powers, in decibels and as they are.

/// Converts decibels to a ratio.
#[must_use]
pub fn ratio(decibels: f64) -> f64 {
    libm::exp10(decibels / 10.0)
}

/// A ratio in decibels; −∞ for zero.
#[must_use]
pub fn decibels(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// Thermal noise at 290 K in a band of `hertz`, with a receiver's noise figure, in milliwatts.
#[must_use]
pub fn noise_milliwatts(hertz: f64, noise_figure_db: f64) -> f64 {
    const BOLTZMANN: f64 = 1.380_649e-23;
    1e3 * BOLTZMANN * 290.0 * hertz * ratio(noise_figure_db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_a_receiver_is_the_one_of_the_books() {
        // -174 dBm/Hz + 73 dB + 7 dB.
        assert!((decibels(noise_milliwatts(20e6, 7.0)) + 93.96).abs() < 0.01);
        assert_eq!(decibels(ratio(-3.0)).round(), -3.0);
    }
}
