//! The chance that bits come through at a constant ratio of signal to noise: closed formulas.
//!
//! OFDM: the NIST model (G. Pei, T. Henderson, "Validation of OFDM error rate model in ns-3",
//! 2010): the bit error rate of the constellation, then the union bound of the convolutional code
//! for hard decisions. DSSS: DBPSK and DQPSK with differential detection. CCK: the best receiver
//! of biorthogonal words, one decision for each word (same authors, "802.11b PHY", 2009). The ratio
//! is that of powers, in 20 MHz for OFDM and in 22 MHz for the others; bits are independent.

mod cck;
mod ofdm;

use core::f64::consts::{PI, SQRT_2};

use windfall_wire_link::ieee80211::PhyRate;

/// The band in which noise counts, in hertz.
#[must_use]
pub const fn bandwidth(rate: PhyRate) -> f64 {
    if rate.is_ofdm() { 20e6 } else { 22e6 }
}

/// The chance that `bits` data bits at `rate` come through without an error.
///
/// `sinr` is a ratio of powers, not in decibels. Bits of an OFDM frame include SERVICE, tail and
/// padding.
#[must_use]
pub fn success(rate: PhyRate, sinr: f64, bits: f64) -> f64 {
    let log_survival = match rate {
        PhyRate::Cck5_5 => cck::log_word_survival(sinr, 16) * bits / 4.0,
        PhyRate::Cck11 => cck::log_word_survival(sinr, 256) * bits / 8.0,
        _ => (-bit_error_rate(rate, sinr)).ln_1p() * bits,
    };
    log_survival.exp()
}

/// The bit error rate after decoding, 0..=1; for OFDM a bound, which exceeds 1/2 at low ratios.
#[must_use]
pub fn bit_error_rate(rate: PhyRate, sinr: f64) -> f64 {
    match rate {
        PhyRate::Dsss1 => dbpsk(22.0 * sinr),
        PhyRate::Dsss2 => dqpsk(11.0 * sinr),
        // Half the bits of a wrong word are wrong.
        PhyRate::Cck5_5 => (1.0 - cck::log_word_survival(sinr, 16).exp()) / 2.0,
        PhyRate::Cck11 => (1.0 - cck::log_word_survival(sinr, 256).exp()) / 2.0,
        _ => ofdm::bit_error_rate(rate, sinr),
    }
}

/// The bit error rate of DBPSK with differential detection.
#[must_use]
pub fn dbpsk(energy_per_bit: f64) -> f64 {
    0.5 * (-energy_per_bit).exp()
}

/// The bit error rate of DQPSK with differential detection, asymptotically (Simon and Alouini).
fn dqpsk(energy_per_bit: f64) -> f64 {
    let factor = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt();
    let rate = factor / energy_per_bit.sqrt() * (-(2.0 - SQRT_2) * energy_per_bit).exp();
    rate.min(0.5)
}

/// The upper tail of the normal distribution.
#[must_use]
pub fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

#[cfg(test)]
mod tests;
