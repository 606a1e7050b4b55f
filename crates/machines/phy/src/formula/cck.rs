//! CCK: the best receiver of biorthogonal words.

use std::sync::OnceLock;

use core::f64::consts::{PI, SQRT_2};

/// The grid of the prepared integral: β² from 0 to `END`, beyond which nothing fails, in steps of
/// `STEP`.
const STEP: f64 = 0.05;
const END: f64 = 160.0;

/// The logarithm of the chance that one CCK word of `words` possible ones is received right.
///
/// 16 words (5.5 Mb/s, 4 bits) are biorthogonal; 256 (11 Mb/s, 8 bits) are taken as two such
/// choices of half the energy each.
pub(super) fn log_word_survival(sinr: f64, words: u32) -> f64 {
    // β² is twice the energy of a choice over N₀: 2 · 22 MHz · sinr / 1.375 MHz / 2 for one, and
    // half of it for each of two.
    let energy = 22.0 / 1.375 * sinr;
    match words {
        16 => prepared(energy),
        _ => 2.0 * prepared(energy / 2.0),
    }
}

/// The logarithm of the complement of [`symbol_failure`], from a table: the integral takes too long
/// for each frame.
fn prepared(beta_squared: f64) -> f64 {
    static TABLE: OnceLock<Vec<f64>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let points = (END / STEP) as usize + 2;
        (0..points).map(|i| symbol_failure((STEP * i as f64).sqrt()).ln()).collect()
    });
    let place = (beta_squared / STEP).clamp(0.0, END / STEP);
    let index = place as usize;
    let fraction = place.fract();
    let log_failure = table[index] + fraction * (table[index + 1] - table[index]);
    (-log_failure.exp()).ln_1p()
}

/// The chance that one of eight orthogonal words and its sign are received wrong:
/// 1 − ∫ from −β of (2Φ(x + β) − 1)⁷ φ(x) dx.
fn symbol_failure(beta: f64) -> f64 {
    let phi = |x: f64| (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
    // Written for the complement, so that small chances keep their digits.
    let failure = |x: f64| -((-libm::erfc((x + beta) / SQRT_2)).ln_1p() * 7.0).exp_m1();
    let below = 0.5 * libm::erfc(beta / SQRT_2);
    let from = -beta;
    let to = 9.0;
    let steps = 2_000;
    let width = (to - from) / f64::from(steps);
    // Simpson's rule.
    let inside: f64 = (0..=steps)
        .map(|i| {
            let x = from + width * f64::from(i);
            let weight = if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * failure(x) * phi(x)
        })
        .sum();
    below + inside * width / 3.0
}
