//! Frequency-selective fading: late echoes weaken some carriers of OFDM and strengthen others.

use core::f64::consts::TAU;

use windfall_base::{Duration, Instant, Stream};
use windfall_phy::ofdm::{CARRIERS, Gains, offsets};

use crate::fading::Process;

/// Echoes are gathered into taps so far apart: a sample of 20 MHz.
const TAP: f64 = 50e-9;
/// Samples in a symbol without its guard interval.
const SAMPLES: f64 = 64.0;
/// Taps weaker than the first by this many nepers of power, 30 dB, are as good as none.
const WEAKEST: f64 = 6.9;

/// A path whose echoes come late: their mean power falls exponentially with the delay.
#[derive(Clone, Debug)]
pub(super) struct Echoes {
    /// Each with its amplitude; the direct ray is part of the first.
    taps: Vec<(f64, Process)>,
}

impl Echoes {
    /// The path that `stream` describes: `k` is the power of the direct ray over that of all
    /// echoes, `spread` the root mean square of their delays.
    pub(super) fn new(k: f64, doppler: f64, spread: Duration, stream: &mut Stream) -> Self {
        let step = TAP / spread.as_secs_f64().max(1e-12);
        let powers: Vec<f64> =
            (0..=(WEAKEST / step) as u32).map(|tap| (-step * f64::from(tap)).exp()).collect();
        let sum: f64 = powers.iter().sum();
        let tap = |(number, power): (usize, &f64)| {
            let scatter = power / sum;
            let direct = if number == 0 { k } else { 0.0 };
            let amplitude = ((direct + scatter) / (k + 1.0)).sqrt();
            (amplitude, Process::new(direct / scatter, doppler, stream))
        };
        Self { taps: powers.iter().enumerate().map(tap).collect() }
    }

    /// The powers of the carriers at `now`, of mean 1 over time.
    pub(super) fn powers(&self, now: Instant) -> Gains {
        let taps: Vec<(f64, f64)> = self
            .taps
            .iter()
            .map(|(amplitude, process)| {
                let (re, im) = process.amplitude(now);
                (amplitude * re, amplitude * im)
            })
            .collect();
        offsets().map(|place| {
            let (re, im) = taps.iter().enumerate().fold((0.0, 0.0), |(re, im), (tap, (a, b))| {
                let (sine, cosine) = libm::sincos(-TAU * f64::from(place) * tap as f64 / SAMPLES);
                (re + a * cosine - b * sine, im + a * sine + b * cosine)
            });
            re * re + im * im
        })
    }
}

/// The mean of the carriers' powers, and each over that mean.
pub(super) fn mean_and_shape(powers: Gains) -> (f64, Gains) {
    let mean = powers.iter().sum::<f64>() / CARRIERS as f64;
    (mean, powers.map(|power| power / mean.max(f64::MIN_POSITIVE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    fn powers(k: f64, nanos: u64) -> Vec<Gains> {
        let spread = Duration::from_nanos(nanos);
        let path = |i| Echoes::new(k, 11.0, spread, &mut Stream::new(Seed(i), "echoes"));
        (0..6_000).map(|i| path(i).powers(Instant::from_nanos(i * 1_000_000))).collect()
    }

    /// The correlation of the powers of two carriers `apart` places apart.
    fn correlation(powers: &[Gains], apart: usize) -> f64 {
        let pairs = powers.iter().map(|all| (all[24] - 1.0, all[24 - apart] - 1.0));
        let (cross, square) =
            pairs.fold((0.0, 0.0), |(cross, square), (a, b)| (cross + a * b, square + a * a));
        cross / square
    }

    #[test]
    fn carriers_have_mean_power_one_and_part_as_the_delay_spread_says() {
        for nanos in [50, 100] {
            let powers = powers(0.0, nanos);
            let mean = powers.iter().flatten().sum::<f64>() / (powers.len() * CARRIERS) as f64;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
            // Of Rayleigh amplitudes the powers correlate as the square of |Σ p exp(−2πi f τ)|.
            let step = 50.0 / nanos as f64;
            for apart in [3_usize, 12, 20] {
                // Between the carriers stand pilots and the middle.
                let places = f64::from(offsets()[24] - offsets()[24 - apart]);
                let sum = (0..64).fold((0.0, 0.0, 0.0), |(re, im, all), tap| {
                    let power = (-step * f64::from(tap)).exp();
                    let turn = TAU * places * f64::from(tap) / SAMPLES;
                    (re + power * turn.cos(), im + power * turn.sin(), all + power)
                });
                let expected = (sum.0 * sum.0 + sum.1 * sum.1) / (sum.2 * sum.2);
                let found = correlation(&powers, apart);
                assert!((found - expected).abs() < 0.06, "{nanos} ns: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn a_direct_ray_or_early_echoes_leave_carriers_alike() {
        let unlike = |powers: Vec<Gains>| {
            let spread = |all: &Gains| {
                let (_, shape) = mean_and_shape(*all);
                shape.iter().map(|gain| (gain - 1.0).powi(2)).sum::<f64>() / CARRIERS as f64
            };
            powers.iter().map(spread).sum::<f64>() / powers.len() as f64
        };
        assert!(unlike(powers(0.0, 1)) < 1e-9);
        assert!(unlike(powers(30.0, 50)) < 0.2 * unlike(powers(0.0, 50)));
    }
}
