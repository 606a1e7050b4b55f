use super::*;
use crate::decibel::ratio;

/// The ratio in decibels at which a frame of `bits` bits fails with probability `failure`.
fn needed(rate: PhyRate, bits: f64, failure: f64) -> f64 {
    let mut low = -10.0;
    let mut high = 40.0;
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if 1.0 - success(rate, ratio(middle), bits) > failure {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn frames_of_1088_bytes_need_what_ns3_says() {
    // Failure of 0.9, 0.5 and 0.1, in dB, computed from ns-3's formulas by another program.
    let table = [
        (PhyRate::Ofdm6, [2.98, 3.33, 3.87]),
        (PhyRate::Ofdm9, [5.82, 6.19, 6.76]),
        (PhyRate::Ofdm12, [5.99, 6.34, 6.88]),
        (PhyRate::Ofdm18, [8.83, 9.20, 9.77]),
        (PhyRate::Ofdm24, [12.42, 12.81, 13.41]),
        (PhyRate::Ofdm36, [15.51, 15.90, 16.51]),
        (PhyRate::Ofdm48, [20.25, 20.65, 21.26]),
        (PhyRate::Ofdm54, [21.46, 21.88, 22.52]),
        (PhyRate::Dsss1, [-4.65, -4.01, -3.16]),
        (PhyRate::Dsss2, [-0.20, 0.53, 1.47]),
    ];
    for (rate, expected) in table {
        for (failure, expected) in [0.9, 0.5, 0.1].into_iter().zip(expected) {
            let found = needed(rate, 1_088.0 * 8.0, failure);
            assert!((found - expected).abs() < 0.02, "{rate} at {failure}: {found:.2} {expected}");
        }
    }
}

#[test]
fn cck_approaches_its_union_bound() {
    // Fourteen neighbours at right angles, and the opposite word: 14 Q(β/√2) + Q(β), a bound that
    // the chance of an error reaches as the ratio grows.
    for decibels in [4.0, 5.0, 6.0, 7.0] {
        let beta = (16.0 * ratio(decibels)).sqrt();
        let bound = 14.0 * q(beta / SQRT_2) + q(beta);
        let failure = 1.0 - success(PhyRate::Cck5_5, ratio(decibels), 4.0);
        assert!(failure < bound * 1.001 && failure > 0.8 * bound, "{failure:e} {bound:e}");
        // Two decisions of half the energy each.
        let twice = 1.0 - success(PhyRate::Cck11, 2.0 * ratio(decibels), 8.0);
        assert!((twice / (2.0 * failure) - 1.0).abs() < 0.01, "{twice:e} {failure:e}");
    }
}

#[test]
fn chances_are_chances_at_every_ratio() {
    for rate in PhyRate::ALL {
        let mut before = 0.0;
        for decibels in -30..60 {
            let chance = success(rate, ratio(f64::from(decibels)), 8_000.0);
            assert!((before..=1.0).contains(&chance), "{rate} at {decibels} dB: {chance}");
            before = chance;
        }
        assert!(before > 0.999_999);
        assert!(success(rate, 0.0, 8_000.0) < 1e-6);
    }
}
