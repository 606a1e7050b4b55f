//! The NIST model of OFDM.

use windfall_wire_link::ieee80211::PhyRate;

/// The union bound of a rate of the code: bits that enter at once, and the information weights of
/// the paths at each distance, in powers of D.
struct Bound {
    entering: f64,
    first: i32,
    step: i32,
    weights: &'static [f64],
}

const HALF: Bound = Bound {
    entering: 1.0,
    first: 10,
    step: 2,
    weights: &[
        36.0,
        211.0,
        1_404.0,
        11_633.0,
        77_433.0,
        502_690.0,
        3_322_763.0,
        21_292_910.0,
        134_365_911.0,
    ],
};

const TWO_THIRDS: Bound = Bound {
    entering: 2.0,
    first: 6,
    step: 1,
    weights: &[
        3.0,
        70.0,
        285.0,
        1_276.0,
        6_160.0,
        27_128.0,
        117_019.0,
        498_860.0,
        2_103_891.0,
        8_784_123.0,
    ],
};

const THREE_QUARTERS: Bound = Bound {
    entering: 3.0,
    first: 5,
    step: 1,
    weights: &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};

impl Bound {
    /// The bit error rate after decoding, when coded bits are wrong with probability `p`.
    fn at(&self, p: f64) -> f64 {
        let d = (4.0 * p * (1.0 - p)).sqrt();
        let step = d.powi(self.step);
        let series = self.weights.iter().rev().fold(0.0, |sum, weight| sum * step + weight);
        (series * d.powi(self.first) / (2.0 * self.entering)).min(1.0)
    }
}

/// The bit error rate after decoding, at most 1.
pub(super) fn bit_error_rate(rate: PhyRate, snr: f64) -> f64 {
    let bound = match rate {
        PhyRate::Ofdm6 | PhyRate::Ofdm12 | PhyRate::Ofdm24 => HALF,
        PhyRate::Ofdm48 => TWO_THIRDS,
        _ => THREE_QUARTERS,
    };
    bound.at(uncoded(rate, snr))
}

/// The bit error rate of the constellation itself, hard decisions.
pub(super) fn uncoded(rate: PhyRate, snr: f64) -> f64 {
    match rate {
        PhyRate::Ofdm6 | PhyRate::Ofdm9 => 0.5 * libm::erfc(snr.sqrt()),
        PhyRate::Ofdm12 | PhyRate::Ofdm18 => 0.5 * libm::erfc((snr / 2.0).sqrt()),
        PhyRate::Ofdm24 | PhyRate::Ofdm36 => qam(16.0, snr),
        _ => qam(64.0, snr),
    }
}

fn qam(points: f64, snr: f64) -> f64 {
    let side = points.sqrt();
    let share = (side - 1.0) / (side * side.log2());
    share * libm::erfc((1.5 * snr / (points - 1.0)).sqrt())
}
