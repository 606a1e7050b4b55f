//! Exponentially distributed numbers without a logarithm each: the ziggurat of Marsaglia and Tsang.
//!
//! The area under e⁻ˣ is cut into 256 layers of equal area, each but a sliver of it a rectangle.
//! A draw picks a layer and a place in it; nearly always that is in the rectangle, and done. What
//! the slivers and the tail need is drawn exactly, so the law is exact.

use std::sync::LazyLock;

use windfall_base::Stream;

const LAYERS: usize = 256;
/// The start of the tail: the constants with which the top layer ends at 0, as published.
const TAIL: f64 = 7.697_117_470_131_05;
/// The area of each layer, that of the tail included in the first.
const AREA: f64 = 3.949_659_822_581_557e-3;

/// The layers, prepared once.
#[derive(Debug)]
pub(super) struct Exponential {
    /// The width of each layer, descending to 0; the first is as wide as its area demands.
    width: [f64; LAYERS + 1],
    /// The height of the curve at each width.
    height: [f64; LAYERS + 1],
}

impl Exponential {
    /// The one table that all draws share.
    pub(super) fn shared() -> &'static Self {
        static SHARED: LazyLock<Exponential> = LazyLock::new(Exponential::new);
        &SHARED
    }

    fn new() -> Self {
        let mut width = [0.0; LAYERS + 1];
        (width[0], width[1]) = (AREA * TAIL.exp(), TAIL);
        for i in 2..LAYERS {
            let below: f64 = width[i - 1];
            width[i] = -(AREA / below + (-below).exp()).ln();
        }
        Self { width, height: width.map(|x: f64| (-x).exp()) }
    }

    /// A number of mean 1.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> f64 {
        loop {
            let bits = stream.bits();
            // The layer takes the low bits, the place in it the high ones.
            let layer = (bits % LAYERS as u64) as usize;
            let x = (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64) * self.width[layer];
            if x < self.width[layer + 1] {
                return x;
            }
            if let Some(x) = self.edge(layer, x, stream) {
                return x;
            }
        }
    }

    /// Draws from outside of the rectangle of a layer: the tail, or perhaps nothing.
    #[cold]
    fn edge(&self, layer: usize, x: f64, stream: &mut Stream) -> Option<f64> {
        if layer == 0 {
            return Some(TAIL - (1.0 - stream.unit()).ln());
        }
        let low = self.height[layer];
        let high = self.height[layer + 1];
        (low + (high - low) * stream.unit() < (-x).exp()).then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;

    #[test]
    fn the_layers_end_where_the_curve_does() {
        let table = Exponential::new();
        assert!(table.width.is_sorted_by(|a, b| a > b));
        let last = table.width[LAYERS - 1];
        assert!((AREA / last + table.height[LAYERS - 1] - 1.0).abs() < 1e-12);
    }

    /// The largest distance from 1 − e⁻ˣ over two million draws, and the far tail by count.
    #[test]
    fn the_law_is_exponential() {
        let mut stream = Stream::new(Seed(5), "exponential");
        let n = 2_000_000;
        let mut drawn: Vec<f64> = (0..n).map(|_| Exponential::shared().draw(&mut stream)).collect();
        drawn.sort_by(f64::total_cmp);
        let distance = |(i, x): (usize, &f64)| (i as f64 / f64::from(n) - 1.0 + (-x).exp()).abs();
        let furthest = drawn.iter().enumerate().map(distance).fold(0.0, f64::max);
        // Kolmogorov: beyond 2.23 / √n with probability 10⁻⁴.
        assert!(furthest < 2.23 / f64::from(n).sqrt(), "{furthest}");
        let beyond = drawn.iter().filter(|&&x| x > TAIL).count() as f64;
        let expected = f64::from(n) * (-TAIL).exp();
        assert!((beyond - expected).abs() < 4.5 * expected.sqrt(), "{beyond} of {expected}");
    }
}
