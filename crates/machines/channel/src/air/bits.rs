//! Independent bit errors by skip sampling: one draw per error instead of one per bit.

use windfall_base::{Probability, Stream};

use super::exponential::Exponential;

/// The law of the gap before the next event, when each trial succeeds with probability *p*.
///
/// The number of failures before a success is geometric: P(gap ≥ g) = (1 − p)^g. With E
/// exponentially distributed of mean 1, floor(−E / ln(1 − p)) has exactly this law, to the 53 bits
/// of what is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Gaps {
    /// The mean gap of the exponential law, −1 / ln(1 − p): 0 if p is 1; `None` if p is 0.
    scale: Option<f64>,
    exponential: &'static Exponential,
    /// The number of trials of `survival`.
    trials: u32,
    /// The probability that `trials` trials bring no event.
    survival: f64,
}

impl Gaps {
    /// The gaps between events of probability `p` per trial.
    #[must_use]
    pub fn new(p: Probability) -> Self {
        let scale = (!p.is_zero()).then(|| -1.0 / (-p.get()).ln_1p());
        Self { scale, exponential: Exponential::shared(), trials: 0, survival: 1.0 }
    }

    /// Draws the number of failures before the next success; `None` if none ever succeeds.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> Option<u64> {
        self.scale.map(|scale| gap(self.exponential.draw(stream), scale))
    }

    /// Calls `hit` with each of `0..trials` at which an event happens, ascending.
    #[inline]
    pub fn apply(&mut self, stream: &mut Stream, trials: u32, hit: impl FnMut(u32)) {
        let Some(scale) = self.scale else { return };
        let u = 1.0 - stream.unit();
        if u > self.survival(scale, trials) {
            self.strike_from(-u.ln(), scale, stream, trials, hit);
        }
    }

    //= S3.3
    /// As [`apply`](Self::apply), for item `index` of a stream: cheap as long as nothing happens.
    #[inline]
    pub fn strike_at(&mut self, base: &Stream, index: u64, trials: u32, hit: impl FnMut(u32)) {
        let Some(scale) = self.scale else { return };
        let u = 1.0 - base.unit_at(index);
        if u > self.survival(scale, trials) {
            self.strike_from(-u.ln(), scale, &mut base.at(index), trials, hit);
        }
    }

    /// The probability that `trials` bring no event: most frames are clean at low rates, and
    /// comparing with it spares them the logarithm.
    #[inline]
    fn survival(&mut self, scale: f64, trials: u32) -> f64 {
        if trials != self.trials {
            self.trials = trials;
            // (1 − p)^n, from the logarithm that is at hand.
            self.survival = if scale == 0.0 { 0.0 } else { (-f64::from(trials) / scale).exp() };
        }
        self.survival
    }

    /// As [`apply`](Self::apply), the first gap being that of `first`, exponentially distributed.
    #[inline]
    fn strike_from(
        &self,
        first: f64,
        scale: f64,
        stream: &mut Stream,
        trials: u32,
        mut hit: impl FnMut(u32),
    ) {
        let mut position = gap(first, scale);
        while position < u64::from(trials) {
            hit(position as u32);
            let next = gap(self.exponential.draw(stream), scale);
            position = (position + 1).saturating_add(next);
        }
    }
}

/// The gap that `exponential`, of mean 1, stands for; the cast rounds down and saturates.
#[inline]
fn gap(exponential: f64, scale: f64) -> u64 {
    (exponential * scale) as u64
}
