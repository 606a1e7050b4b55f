//! Finds, for each rate of OFDM, the β of [`effective_ratio`](windfall_phy::ofdm::effective_ratio):
//! the one with which the mapped ratios of random channels, each at the mean ratio at which the
//! chain loses half of its frames, are closest to that of equal carriers.
//!
//! `cargo run --release -p windfall-phy --example effective` takes some minutes.

use windfall_base::{Seed, Stream};
use windfall_phy::decibel::{decibels, ratio};
use windfall_phy::event::Source;
use windfall_phy::noise::normal;
use windfall_phy::ofdm::{Gains, mapped, offsets};
use windfall_wire_link::ieee80211::PhyRate;

/// Frames at each ratio, and channels.
const FRAMES: usize = 60;
const CHANNELS: u64 = 24;

fn main() {
    for rate in PhyRate::ALL.into_iter().filter(|rate| rate.is_ofdm()) {
        let flat = half(rate, &[1.0; 48], Seed(1));
        let channels: Vec<(Gains, f64)> = (0..CHANNELS)
            .map(|number| {
                let gains = channel(&mut Stream::new(Seed(number), "channel"));
                (gains, half(rate, &gains, Seed(number)))
            })
            .collect();
        let errors = |beta: f64| -> Vec<f64> {
            let error =
                |(gains, at): &(Gains, f64)| decibels(mapped(beta, ratio(*at), gains)) - flat;
            channels.iter().map(error).collect()
        };
        let square = |beta: f64| errors(beta).iter().map(|error| error * error).sum::<f64>();
        let betas = (0..80).map(|step| 0.3 * 1.08_f64.powi(step));
        let best = betas.min_by(|a, b| square(*a).total_cmp(&square(*b))).unwrap_or(1.0);
        let deviation = (square(best) / CHANNELS as f64).sqrt();
        println!("{rate}: β {best:.2}, equal carriers {flat:.2} dB, off by {deviation:.2} dB");
    }
}

/// Rayleigh echoes with a delay spread of 100 ns, a tap each 50 ns.
fn channel(random: &mut Stream) -> Gains {
    let taps: Vec<(f64, f64)> = (0..14)
        .map(|tap| {
            let amplitude = (-0.25 * f64::from(tap)).exp();
            (amplitude * normal(random), amplitude * normal(random))
        })
        .collect();
    let powers = offsets().map(|place| {
        let mut re = 0.0;
        let mut im = 0.0;
        for (tap, (a, b)) in taps.iter().enumerate() {
            let turn = -core::f64::consts::TAU * f64::from(place) * tap as f64 / 64.0;
            let (sine, cosine) = turn.sin_cos();
            re += a * cosine - b * sine;
            im += a * sine + b * cosine;
        }
        re * re + im * im
    });
    let mean = powers.iter().sum::<f64>() / powers.len() as f64;
    powers.map(|power| power / mean)
}

/// The mean ratio, in decibels, at which half of the frames have a bit error.
fn half(rate: PhyRate, gains: &Gains, seed: Seed) -> f64 {
    let mut source = Source::new(rate);
    let mut random = Stream::new(seed, "noise");
    let amplitudes = gains.map(f64::sqrt);
    let mut low = -5.0;
    let mut high = 45.0;
    for _ in 0..9 {
        let middle = f64::midpoint(low, high);
        let mut places = Vec::new();
        let bad = |_: &usize| {
            places.clear();
            source.pass_over(&amplitudes, ratio(middle), &mut random, 0, &mut places);
            !places.is_empty()
        };
        let bad = (0..FRAMES).filter(bad).count();
        if bad * 2 > FRAMES { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
