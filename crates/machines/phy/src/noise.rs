//! Noise: normal deviates from a stream.

use rand_distr::{Distribution, StandardNormal};
use windfall_base::Stream;

/// The next normal deviate of mean 0 and variance 1.
#[inline]
pub fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    #[test]
    fn deviates_have_the_moments_of_the_normal_distribution() {
        let mut stream = Stream::new(Seed(1), "noise");
        let mut moments = [0.0; 3];
        for _ in 0..200_000 {
            let x = normal(&mut stream);
            moments = [moments[0] + x, moments[1] + x * x, moments[2] + x.powi(4)];
        }
        let [mean, variance, fourth] = moments.map(|sum| sum / 2e5);
        // Standard errors 0.0022, 0.0032, 0.022; four times that.
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.013 && (fourth - 3.0).abs() < 0.09);
    }
}
