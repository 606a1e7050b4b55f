use windfall_base::Seed;
use windfall_wire_link::ieee80211::PhyRate;

use super::*;
use crate::decibel::ratio;
use crate::event::{Sampler, Tables};

/// Counts of decisions with about the same odds, and of the wrong ones among them.
struct Buckets([(f64, f64, f64); 40]);

impl Buckets {
    fn new() -> Self {
        Self([(0.0, 0.0, 0.0); 40])
    }

    fn add(&mut self, odds: f64, is_wrong: bool) {
        let (count, wrong, expected) = &mut self.0[(odds * 2.0).min(39.0) as usize];
        *count += 1.0;
        *wrong += f64::from(u8::from(is_wrong));
        *expected += 1.0 / (1.0 + odds.exp());
    }

    /// Holds the share of wrong ones to what the odds say, where at least 200 are expected; returns
    /// the number of such buckets.
    fn hold(&self, tolerance: f64, what: &str) -> usize {
        let known = self.0.iter().filter(|(_, _, expected)| *expected > 200.0);
        known
            .map(|(count, wrong, expected)| {
                let error = wrong / expected - 1.0;
                let deviations = (wrong - expected) / expected.sqrt();
                let text = format!("{what}: {wrong} of {count} wrong, expected {expected:.0}");
                assert!(error.abs() < tolerance || deviations.abs() < 4.0, "{text}");
            })
            .count()
    }
}

#[test]
fn antipodal_signals_in_noise_have_this_law() {
    let mut stream = Stream::new(Seed(1), "soft");
    for sigma in [1.0, 0.6] {
        let law = Odds::of(q(1.0 / sigma));
        let [mut real, mut drawn] = [(); 2].map(|()| Buckets::new());
        for _ in 0..400_000 {
            let y = 1.0 + sigma * normal(&mut stream);
            real.add(2.0 * y.abs() / (sigma * sigma), y < 0.0);
            let is_wrong = stream.unit() < q(1.0 / sigma);
            drawn.add(law.draw(is_wrong, &mut stream), is_wrong);
        }
        assert!(real.hold(0.02, "demodulated") > 5);
        assert!(drawn.hold(0.02, "drawn") > 5);
        for (real, drawn) in real.0.iter().zip(&drawn.0).filter(|(real, _)| real.0 > 400.0) {
            let deviations = (real.0 - drawn.0) / (real.0 + drawn.0).sqrt();
            assert!(deviations.abs() < 4.5, "{} and {}", real.0, drawn.0);
        }
    }
}

/// Bytes of frames at the error patterns of the chains: of those with odds λ one in 1 + exp λ is
/// wrong, within a fifth.
#[test]
fn odds_of_bytes_of_damaged_frames_are_calibrated() {
    for (rate, decibels) in [
        (PhyRate::Ofdm54, 17.0),
        (PhyRate::Ofdm54, 18.0),
        (PhyRate::Ofdm24, 8.0),
        (PhyRate::Ofdm12, 3.0),
        (PhyRate::Cck11, 1.0),
        (PhyRate::Dsss2, -4.0),
    ] {
        let bytes = 1500;
        let snr = ratio(decibels);
        let mut sampler = Sampler::new(Tables::shipped(), rate);
        let wrong_share = sampler.wrong_bytes([(bytes as u32 * 8, snr)]);
        let law = Odds::of(wrong_share);
        let mut buckets = Buckets::new();
        let mut damaged = 0;
        let mut wrong_bytes = 0;
        for seed in 0..6_000 {
            let mut stream = Stream::new(Seed(seed), "frame");
            let mut wrong = vec![false; bytes];
            sampler.sample_hits([(bytes as u32 * 8, snr)], &mut stream, |bit| {
                if let Some(byte) = wrong.get_mut(bit as usize / 8) {
                    *byte = true;
                }
                true
            });
            if !wrong.contains(&true) {
                continue;
            }
            damaged += 1;
            for is_wrong in wrong {
                wrong_bytes += u32::from(is_wrong);
                buckets.add(law.draw(is_wrong, &mut stream), is_wrong);
            }
        }
        let measured = f64::from(wrong_bytes) / f64::from(damaged) / bytes as f64;
        println!("{rate} at {decibels} dB: {wrong_share} of the bytes, {measured} measured");
        let known = buckets.hold(0.2, &rate.to_string());
        println!("{rate}: {damaged} damaged, {known} buckets");
        assert!(damaged > 50 && known > 2, "{rate}: {damaged} damaged, {known} buckets");
    }
}

#[test]
fn extreme_shares_give_odds_within_bounds() {
    let mut stream = Stream::new(Seed(2), "soft");
    for share in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, f64::INFINITY] {
        for is_wrong in [false, true] {
            let odds = Odds::of(share).draw(is_wrong, &mut stream);
            assert!((0.0..1e4).contains(&odds), "{share}: {odds}");
        }
    }
}
