//! Independent bit errors by skip sampling: one draw per error instead of one per bit.

use windfall_base::{Probability, Stream};

/// The law of the gap before the next event, when each trial succeeds with probability *p*.
///
/// The number of failures before a success is geometric: P(gap ≥ g) = (1 − p)^g. With U uniform
/// in (0, 1], floor(ln U / ln(1 − p)) has exactly this law, to the 53 bits of U.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    /// 1 / ln(1 − p): negative, or −0 if p is 1; `None` if p is 0.
    scale: Option<f64>,
    /// How many trials `survival` is about.
    trials: u32,
    /// The probability that so many trials bring no event.
    survival: f64,
}

impl Gaps {
    /// The gaps between events of probability `p` per trial.
    #[must_use]
    pub fn new(p: Probability) -> Self {
        let scale = (!p.is_zero()).then(|| 1.0 / (-p.get()).ln_1p());
        Self { scale, trials: 0, survival: 1.0 }
    }

    /// How many trials fail before the next success; `None` if none ever succeeds.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Option<u64> {
        self.scale.map(|scale| gap(1.0 - stream.unit(), scale))
    }

    /// Calls `hit` with each of `0..trials` at which an event happens, ascending.
    #[inline]
    pub fn strike(&mut self, stream: &mut Stream, trials: u32, hit: impl FnMut(u32)) {
        let Some(scale) = self.scale else { return };
        let u = 1.0 - stream.unit();
        if u > self.survival(scale, trials) {
            strike_from(u, scale, stream, trials, hit);
        }
    }

    /// As [`strike`](Self::strike), for item `index` of a stream: cheap as long as nothing happens.
    //= S3.3
    #[inline]
    pub fn strike_at(&mut self, base: &Stream, index: u64, trials: u32, hit: impl FnMut(u32)) {
        let Some(scale) = self.scale else { return };
        let u = 1.0 - base.unit_at(index);
        if u > self.survival(scale, trials) {
            strike_from(u, scale, &mut base.at(index), trials, hit);
        }
    }

    /// The probability that so many trials bring no event: most frames are clean at low rates, and
    /// comparing with it spares them the logarithm.
    #[inline]
    fn survival(&mut self, scale: f64, trials: u32) -> f64 {
        if trials != self.trials {
            self.trials = trials;
            // (1 − p)^n, from the logarithm that is at hand.
            self.survival = if scale == 0.0 { 0.0 } else { (f64::from(trials) / scale).exp() };
        }
        self.survival
    }
}

/// As [`Gaps::strike`], the first gap being that of `u`.
fn strike_from(mut u: f64, scale: f64, stream: &mut Stream, trials: u32, mut hit: impl FnMut(u32)) {
    let mut position = 0_u64;
    loop {
        position = position.saturating_add(gap(u, scale));
        if position >= u64::from(trials) {
            return;
        }
        hit(position as u32);
        position += 1;
        u = 1.0 - stream.unit();
    }
}

/// The gap that `u`, uniform in (0, 1], stands for.
#[inline]
fn gap(u: f64, scale: f64) -> u64 {
    // The cast saturates, and both factors are ≤ 0.
    (u.ln() * scale) as u64
}
