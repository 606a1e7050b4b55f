//! Carriers of different strength, and the one ratio that stands for all of them.

use windfall_wire_link::ieee80211::PhyRate;

use super::CARRIERS;

/// The powers of the carriers over their mean, in the order of their frequencies.
pub type Gains = [f64; CARRIERS];

/// The place of each carrier that bears data, from the middle of the channel in steps of 312.5 kHz:
/// all of −26 to 26 but the middle and four pilots.
#[must_use]
pub fn offsets() -> [i32; CARRIERS] {
    let mut all = (-26..=26).filter(|place| !matches!(place, 0 | -7 | 7 | -21 | 21));
    core::array::from_fn(|_| all.next().unwrap_or_default())
}

/// The sensitivity of the decoder to unequal carriers: the larger, the less a weak one weighs.
///
/// The example `effective` finds these by running the chain over random channels, with which they
/// agree within 0.3 dB.
const fn patience(rate: PhyRate) -> f64 {
    match rate {
        PhyRate::Ofdm6 => 1.1,
        PhyRate::Ofdm9 => 1.0,
        PhyRate::Ofdm12 | PhyRate::Ofdm18 => 2.0,
        PhyRate::Ofdm24 => 7.0,
        PhyRate::Ofdm36 => 9.6,
        _ => 33.0,
    }
}

/// The ratio of signal to noise that, the same on all carriers, lets as many frames through at
/// `rate` as carriers with the powers `gains` at the mean ratio `snr`.
///
/// The exponential mapping: −β ln of the mean of exp(−γ/β) over the carriers' ratios γ.
#[must_use]
pub fn effective_ratio(rate: PhyRate, snr: f64, gains: &Gains) -> f64 {
    mapped(patience(rate), snr, gains)
}

/// The mapping with any β.
#[must_use]
pub fn mapped(beta: f64, snr: f64, gains: &Gains) -> f64 {
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min) * snr;
    let terms = gains.iter().map(|gain| (-(gain * snr - least) / beta).exp());
    least - beta * (terms.sum::<f64>() / gains.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decibel::{decibels, ratio};
    use crate::event::Source;
    use windfall_base::{Seed, Stream};

    /// A direct ray and an echo of these amplitudes, `late` samples of 50 ns later.
    fn two_rays(amplitudes: (f64, f64), late: i32) -> Gains {
        let powers = offsets().map(|place| {
            let turn = core::f64::consts::TAU * f64::from(place * late) / 64.0;
            let (a, b) = amplitudes;
            a * a + b * b + 2.0 * a * b * turn.cos()
        });
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        powers.map(|power| power / mean)
    }

    /// The mean ratio at which carriers with these powers are as good as equal ones at `target`.
    fn mean_ratio(rate: PhyRate, gains: &Gains, target: f64) -> f64 {
        let mut low = -10.0;
        let mut high = 60.0;
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            let found = decibels(effective_ratio(rate, ratio(middle), gains));
            if found < target { low = middle } else { high = middle }
        }
        ratio(low)
    }

    #[test]
    fn the_chain_loses_half_of_its_frames_where_the_effective_ratio_says() {
        // Where the chain loses half of 12 000 bits over equal carriers, in decibels.
        for (rate, half) in
            [(PhyRate::Ofdm12, 3.06), (PhyRate::Ofdm24, 8.53), (PhyRate::Ofdm54, 17.22)]
        {
            for (echo, late) in [(0.4, 2), (0.7, 3), (0.9, 9)] {
                let gains = two_rays((1.0, echo), late);
                let amplitudes = gains.map(f64::sqrt);
                let bad = |target: f64| {
                    let snr = mean_ratio(rate, &gains, target);
                    let (mut source, mut noise) =
                        (Source::new(rate), Stream::new(Seed(5), "noise"));
                    let frames = (0..30).filter(|_| {
                        let mut places = Vec::new();
                        source.pass_over(&amplitudes, snr, &mut noise, 0, &mut places);
                        !places.is_empty()
                    });
                    frames.count()
                };
                let below = bad(half - 1.0);
                let above = bad(half + 1.0);
                assert!(below > 15 && above < 15, "{rate}, {echo}: {below} and {above} of 30");
            }
        }
    }

    #[test]
    fn equal_carriers_keep_their_ratio_and_weak_ones_cost() {
        let rates = PhyRate::ALL.into_iter().filter(|rate| rate.is_ofdm());
        for rate in rates {
            for snr in [0.0, 1e-3, 1.0, 50.0, 1e6] {
                let kept = effective_ratio(rate, snr, &[1.0; CARRIERS]);
                assert!((kept - snr).abs() <= 1e-9 * snr.max(1.0), "{rate}: {kept}, not {snr}");
                let weaker = effective_ratio(rate, snr, &two_rays((1.0, 0.8), 4));
                assert!(weaker <= snr && weaker >= 0.0 && weaker.is_finite(), "{rate}: {weaker}");
            }
        }
    }
}
