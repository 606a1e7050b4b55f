//! The constellations of OFDM: bits to points of a carrier, and soft values back.

use windfall_base::Stream;

use crate::noise::normal;

/// The modulation of a carrier, with the bits that it carries; the mean energy of a point is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constellation {
    /// One bit, on the real axis.
    Bpsk,
    /// Two bits, one on each axis.
    Qpsk,
    /// Four bits, two on each axis.
    Qam16,
    /// Six bits, three on each axis.
    Qam64,
}

impl Constellation {
    /// Bits on a carrier.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
        }
    }

    /// Bits on one axis.
    const fn axis_bits(self) -> usize {
        match self {
            Self::Bpsk | Self::Qpsk => 1,
            Self::Qam16 => 2,
            Self::Qam64 => 3,
        }
    }

    /// The amplitude of the innermost level.
    fn unit(self) -> f64 {
        match self {
            Self::Bpsk => 1.0,
            Self::Qpsk => 0.5_f64.sqrt(),
            Self::Qam16 => 0.1_f64.sqrt(),
            Self::Qam64 => (1.0 / 42.0_f64).sqrt(),
        }
    }

    /// Soft values for each unit of amplitude, so that decisions near the edge keep their shades.
    const fn scale(self) -> f64 {
        match self {
            Self::Bpsk | Self::Qpsk => 32.0,
            Self::Qam16 => 28.0,
            Self::Qam64 => 24.0,
        }
    }

    /// The level on an axis, an odd number, of its bits in Gray's order (table 17-15 ff.).
    #[inline]
    fn level(bits: &[u8]) -> f64 {
        let sign = |bit: u8| if bit == 1 { 1.0 } else { -1.0 };
        match *bits {
            [a] => sign(a),
            [a, b] => sign(a) * [3.0, 1.0][usize::from(b & 1)],
            [a, b, c] => sign(a) * [7.0, 5.0, 1.0, 3.0][usize::from(2 * (b & 1) + (c & 1))],
            _ => 0.0,
        }
    }

    /// The soft values of a received level `y`, in units: the distance to where each bit changes.
    #[inline]
    fn soften(self, y: f64, weight: f64, soft: &mut Vec<i8>) {
        let scale = self.scale() * weight;
        let mut push = |value: f64| soft.push((scale * value).clamp(-127.0, 127.0) as i8);
        push(y);
        match self {
            Self::Bpsk | Self::Qpsk => {}
            Self::Qam16 => push(2.0 - y.abs()),
            Self::Qam64 => {
                push(4.0 - y.abs());
                push(2.0 - (y.abs() - 4.0).abs());
            }
        }
    }

    /// Sends the bits of one symbol over its carriers, with noise of `deviation` on each axis.
    pub(super) fn carry(
        self,
        sent: &[u8],
        gains: &[f64],
        deviation: f64,
        noise: &mut Stream,
        soft: &mut Vec<i8>,
    ) {
        let axes = self.bits() / self.axis_bits();
        let unit = self.unit();
        let deviation = deviation / unit;
        let mut gains = gains.iter().cycle();
        for carrier in sent.chunks_exact(self.bits()) {
            let gain = *gains.next().unwrap_or(&1.0);
            for axis in 0..axes {
                let bits = &carrier[axis * self.axis_bits()..][..self.axis_bits()];
                let received = Self::level(bits) + deviation * normal(noise) / gain;
                self.soften(received, gain * gain, soft);
            }
        }
    }

    /// The bit error rate without a code, decisions by sign, at a ratio of powers `snr`.
    ///
    /// Exact: sums over the levels and the edges at which a bit changes.
    #[must_use]
    pub fn uncoded_bit_error_rate(self, snr: f64) -> f64 {
        let tail = |x: f64| crate::formula::q(x * self.unit() * (2.0 * snr).sqrt());
        match self {
            Self::Bpsk | Self::Qpsk => tail(1.0),
            // Cho and Yoon, "On the general BER expression of one- and two-dimensional amplitude
            // modulations", 2002.
            Self::Qam16 => (3.0 * tail(1.0) + 2.0 * tail(3.0) - tail(5.0)) / 4.0,
            Self::Qam64 => {
                (7.0 * tail(1.0) + 6.0 * tail(3.0) - tail(5.0) + tail(9.0) - tail(13.0)) / 12.0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windfall_base::Seed;

    #[test]
    fn levels_are_those_of_the_standard() {
        let all = |bits: usize| -> Vec<f64> {
            let of =
                |n: usize| -> Vec<u8> { (0..bits).rev().map(|i| (n >> i & 1) as u8).collect() };
            (0..1 << bits).map(|n| Constellation::level(&of(n))).collect()
        };
        assert_eq!(all(1), [-1.0, 1.0]);
        assert_eq!(all(2), [-3.0, -1.0, 3.0, 1.0]);
        assert_eq!(all(3), [-7.0, -5.0, -1.0, -3.0, 7.0, 5.0, 1.0, 3.0]);
    }

    #[test]
    fn uncoded_bits_fail_as_the_closed_forms_say() {
        let mut noise = Stream::new(Seed(3), "noise");
        let mut data = Stream::new(Seed(4), "data");
        for (constellation, decibels) in [
            (Constellation::Bpsk, 4.0),
            (Constellation::Qpsk, 7.0),
            (Constellation::Qam16, 13.0),
            (Constellation::Qam64, 18.0),
        ] {
            let snr = crate::decibel::ratio(decibels);
            let bits: Vec<u8> = (0..48 * 6 * 2_000).map(|_| (data.bits() & 1) as u8).collect();
            let mut soft = Vec::new();
            let deviation = (0.5 / snr).sqrt();
            constellation.carry(&bits, &[1.0], deviation, &mut noise, &mut soft);
            let wrong = soft.iter().zip(&bits).filter(|(s, b)| (**s > 0) != (**b == 1)).count();
            let expected = constellation.uncoded_bit_error_rate(snr);
            let ratio = wrong as f64 / bits.len() as f64 / expected;
            // At least 5 000 errors: 1.4 %; values within 1/24 of an edge count as 0.
            assert!((ratio - 1.0).abs() < 0.07, "{constellation:?}: {ratio}");
        }
    }
}
