//! Fading: echoes add up to more or less, and change as something moves.

use core::f64::consts::TAU;

use windfall_base::{Instant, Seed, Stream};
use windfall_phy::noise::normal;

/// The variation of a path's strength in time; the mean is that of the path loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fading {
    /// Not at all.
    #[default]
    None,
    /// Echoes from everywhere and no direct ray.
    Rayleigh {
        /// The rate of change, in hertz: speed over wavelength, 11 Hz for a walker at 2.4 GHz.
        doppler: f64,
    },
    /// A direct ray and echoes.
    Rician {
        /// The power of the direct ray over that of all echoes, as a ratio.
        k: f64,
        /// The rate of change, as above.
        doppler: f64,
    },
}

impl Fading {
    /// The power of the direct ray over that of the echoes, and the Doppler frequency; `None` if
    /// nothing fades.
    pub(crate) const fn parts(self) -> Option<(f64, f64)> {
        match self {
            Self::None => None,
            Self::Rayleigh { doppler } => Some((0.0, doppler)),
            Self::Rician { k, doppler } => Some((k, doppler)),
        }
    }
}

/// Directions from which echoes arrive.
const ECHOES: usize = 12;
/// Periods of the Doppler frequency after which the echoes are others: what reflects them has gone
/// by.
const PERIODS: f64 = 8.0;

/// A point of the complex plane.
type Complex = (f64, f64);

/// One path that fades: the sum of echoes from random directions, after Clarke and Jakes.
///
/// Echoes from each direction have a Gaussian amplitude, as the sum of many has, so that the whole
/// is Gaussian at any time: deep fades are as frequent as Rayleigh says. The amplitudes pass slowly
/// into others, so that this holds for a path over time, too, and all paths have the same mean.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The angular frequency of the echoes from each direction.
    echoes: [f64; ECHOES],
    /// The amplitudes at the beginning of each epoch.
    amplitudes: Stream,
    /// The length of an epoch in seconds; infinite if nothing moves.
    epoch: f64,
    /// The angular frequency and the phase of the direct ray.
    direct: (f64, f64),
    k: f64,
}

impl Process {
    /// The path that `stream` describes.
    pub(crate) fn new(k: f64, doppler: f64, stream: &mut Stream) -> Self {
        let amplitudes = Stream::new(Seed(stream.bits()), "echoes");
        let mut angle = || TAU * stream.unit();
        let direction = angle();
        let echoes = core::array::from_fn(|i| {
            // One from each sector: the spectrum of Jakes with few echoes. Evenly spread ones would
            // not do: cos x = cos (x + 60°) + cos (x - 60°), so that some sums of phases would stay
            // for long, and with them how much the path fades in the mean.
            let direction = (TAU * i as f64 + angle()) / ECHOES as f64;
            TAU * doppler * direction.cos()
        });
        let epoch = if doppler > 0.0 { PERIODS / doppler } else { f64::INFINITY };
        let direct = (TAU * doppler * direction.cos(), angle());
        Self { echoes, amplitudes, epoch, direct, k }
    }

    /// The amplitude at `now`, real and imaginary; its mean square is 1.
    pub(crate) fn amplitude(&self, now: Instant) -> Complex {
        let seconds = now.as_nanos() as f64 * 1e-9;
        let epochs = seconds / self.epoch;
        let number = epochs as u64;
        let [begin, end] = [number, number + 1].map(|number| drawn(&self.amplitudes, number));
        // Squares that add up to one keep the mean power.
        let (later, earlier) = libm::sincos(TAU / 4.0 * epochs.fract());
        let mut scatter = (0.0, 0.0);
        for ((omega, a), b) in self.echoes.iter().zip(&begin).zip(&end) {
            let (sine, cosine) = libm::sincos(omega * seconds);
            let re = earlier * a.0 + later * b.0;
            let im = earlier * a.1 + later * b.1;
            scatter = (scatter.0 + re * cosine - im * sine, scatter.1 + re * sine + im * cosine);
        }
        let (omega, phase) = self.direct;
        let (im, re) = libm::sincos(omega * seconds + phase);
        let echo = (1.0 / ((self.k + 1.0) * ECHOES as f64)).sqrt();
        let direct = (self.k / (self.k + 1.0)).sqrt();
        (echo * scatter.0 + direct * re, echo * scatter.1 + direct * im)
    }

    /// The power at `now`, of mean 1.
    pub(crate) fn power(&self, now: Instant) -> f64 {
        let (re, im) = self.amplitude(now);
        re * re + im * im
    }
}

/// The amplitudes of the echoes at the beginning of an epoch, of mean square 1.
fn drawn(amplitudes: &Stream, number: u64) -> [Complex; ECHOES] {
    let mut stream = amplitudes.at(number);
    core::array::from_fn(|_| {
        let half = core::f64::consts::FRAC_1_SQRT_2;
        (half * normal(&mut stream), half * normal(&mut stream))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn powers(k: f64) -> Vec<f64> {
        let process = |i| Process::new(k, 11.0, &mut Stream::new(Seed(i), "fading"));
        (0..20_000).map(|i| process(i).power(Instant::from_nanos(i * 1_000_000))).collect()
    }

    #[test]
    fn power_is_distributed_as_rayleigh_and_rice_say() {
        let share = |powers: &[f64], below: f64| {
            powers.iter().filter(|&&p| p < below).count() as f64 / powers.len() as f64
        };
        let mean = |powers: &[f64]| powers.iter().sum::<f64>() / powers.len() as f64;
        let rayleigh = powers(0.0);
        assert!((mean(&rayleigh) - 1.0).abs() < 0.03);
        for below in [0.01, 0.1, 0.5, 1.0, 2.0] {
            let expected = -f64::exp_m1(-below);
            let error = (share(&rayleigh, below) - expected).abs();
            // Three times the sampling error of 20 000.
            assert!(error < 0.0107, "below {below}: off by {error}");
        }
        let rice = powers(4.0);
        assert!((mean(&rice) - 1.0).abs() < 0.03);
        // The variance of the power of a Rician path is (2 K + 1) / (K + 1)².
        let variance = rice.iter().map(|p| (p - 1.0).powi(2)).sum::<f64>() / rice.len() as f64;
        assert!((variance / (9.0 / 25.0) - 1.0).abs() < 0.05, "{variance}");
    }

    /// The fourth moment of a Rayleigh amplitude of mean square 1 is 2, that of a Rician one
    /// 1 + (2 K + 1) / (K + 1)²; and as many fades are deep as both say.
    #[test]
    fn tails_are_those_of_gaussian_echoes() {
        const PATHS: u64 = 400;
        const SAMPLES: u64 = 2_000;
        for (k, fourth) in [(0.0, 2.0), (4.0, 1.0 + 9.0 / 25.0)] {
            let mut moments = [0.0; 2];
            let mut deep = [0.0; 2];
            for seed in 0..PATHS {
                let path = Process::new(k, 50.0, &mut Stream::new(Seed(seed), "tails"));
                for sample in 0..SAMPLES {
                    let power = path.power(Instant::from_nanos(sample * 17_000_000));
                    moments = [moments[0] + power, moments[1] + power * power];
                    deep[0] += f64::from(u8::from(power < 0.01));
                    deep[1] += f64::from(u8::from(power < 0.001));
                }
            }
            let count = (PATHS * SAMPLES) as f64;
            let [mean, found] = moments.map(|sum| sum / count);
            assert!((mean - 1.0).abs() < 0.01, "K = {k}: mean power {mean}");
            assert!((found / fourth - 1.0).abs() < 0.01, "K = {k}: {found}, not {fourth}");
            if k == 0.0 {
                let [tenth, hundredth] = deep.map(|sum| sum / count);
                assert!((tenth / 0.009_95 - 1.0).abs() < 0.03, "20 dB deep: {tenth}");
                assert!((hundredth / 0.001 - 1.0).abs() < 0.1, "30 dB deep: {hundredth}");
            }
        }
    }

    #[test]
    fn a_path_fades_as_much_in_the_mean_whatever_its_directions_are() {
        // Below a tenth of the mean power for 1 - exp(-0.1) of the time. Samples a period apart
        // hardly depend on each other: a standard deviation of 0.0054 in 3000 of them.
        for seed in 0..20 {
            let process = Process::new(0.0, 45.0, &mut Stream::new(Seed(seed), "fading"));
            let low = |n: &u64| process.power(Instant::from_nanos(n * 20_000_000)) < 0.1;
            let share = (0..15_000).filter(low).count() as f64 / 15_000.0;
            assert!((share - 0.095).abs() < 0.02, "{seed}: {share}");
        }
    }

    #[test]
    fn it_changes_as_fast_as_jakes_says() {
        // E[h(0) h*(τ)] = J₀(2π f τ): at a tenth of a period 0.903, at 0.3828 periods 0.
        for (periods, expected) in [(0.1, libm::j0(TAU * 0.1)), (0.382_7, 0.0)] {
            let tau = Instant::from_nanos((periods / 11.0 * 1e9) as u64);
            let sum: f64 = (0..20_000)
                .map(|i| {
                    let process = Process::new(0.0, 11.0, &mut Stream::new(Seed(i), "fading"));
                    let a = process.amplitude(Instant::START);
                    let b = process.amplitude(tau);
                    a.0 * b.0 + a.1 * b.1
                })
                .sum();
            assert!((sum / 2e4 - expected).abs() < 0.03, "{periods}: {}", sum / 2e4);
        }
    }
}
