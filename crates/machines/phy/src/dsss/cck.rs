//! Complementary code keying (802.11-2020, 16.3.6.6): a word of eight chips for four or eight bits.

use windfall_base::Stream;

use super::{Complex, dibit, quarters, turned};
use crate::noise::normal;

/// The words of one rate, and how to choose among them.
#[derive(Clone, Debug)]
pub struct Words {
    /// Bits besides the two that turn the whole word.
    choosing: usize,
    /// The values of the phases 2, 3 and 4, by the bits that choose them, in quarter turns.
    phases: [&'static [u8]; 3],
    /// The words not turned, by the bits that choose them, in quarter turns.
    words: Vec<[u8; 8]>,
}

impl Words {
    /// The words for `bits` bits, 4 (5.5 Mb/s) or 8 (11 Mb/s); `None` for other numbers.
    #[must_use]
    pub fn new(bits: usize) -> Option<Self> {
        // 00, 01, 10, 11: no, a quarter, a half, three quarters of a turn.
        let (choosing, phases): (_, [&[u8]; 3]) = match bits {
            4 => (2, [&[1, 3], &[0], &[0, 2]]),
            8 => (6, [&[0, 1, 2, 3]; 3]),
            _ => return None,
        };
        let mut words = Vec::with_capacity(1 << choosing);
        for b in phases[0] {
            for c in phases[1] {
                let word = |d| [b + c + d, c + d, b + d, d + 2, b + c, *c, b + 2, 0];
                words.extend(phases[2].iter().map(|d| word(d).map(|turns| turns & 3)));
            }
        }
        Some(Self { choosing, phases, words })
    }

    /// Bits in a word.
    #[must_use]
    pub const fn bits(&self) -> usize {
        self.choosing + 2
    }

    /// Sends whole words of `bits` through noise of a deviation on each axis of each chip.
    pub(super) fn transmit(
        &self,
        bits: &[u8],
        deviation: impl Fn(usize) -> f64,
        noise: &mut Stream,
        received: &mut Vec<u8>,
    ) {
        // The phase of the word before, as it was sent and as the receiver took it.
        let mut phase = 0_u8;
        let mut taken = 0_u8;
        for (symbol, bits) in bits.chunks_exact(self.bits()).enumerate() {
            // Every other word is turned by half a turn more.
            let half = 2 * (symbol as u8 & 1);
            phase = (phase + quarters(&bits[..2]) + half) & 3;
            let chosen = bits[2..].iter().fold(0, |n, bit| n << 1 | usize::from(*bit));
            let deviation = deviation(symbol);
            let chips = self.words[chosen].map(|turns| {
                let (re, im) = turned((1.0, 0.0), turns + phase);
                (re + deviation * normal(noise), im + deviation * normal(noise))
            });
            let (word, turn) = self.likeliest(&chips);
            let change = (turn + 8 - taken - half) & 3;
            taken = turn;
            received.extend(dibit(turned((1.0, 0.0), change)));
            received.extend((0..self.choosing).rev().map(|i| (word >> i & 1) as u8));
        }
    }

    /// The codeword nearest to the received chips, and its quarter turns.
    ///
    /// A fast transform: the phases 2, 3 and 4 are taken back one after the other, each from half
    /// as many sums as there were before, so that words which share phases share their sums.
    fn likeliest(&self, chips: &[Complex; 8]) -> (usize, u8) {
        let mut best = (f64::MIN, 0, 0);
        let [second, third, fourth] = self.phases;
        let mut index = 0;
        for b in second {
            let pair = |at: usize, turns| sum(turned(chips[at], turns), chips[at + 1]);
            let [early, late] = [
                [pair(0, 4 - b), sum(turned(chips[2], 4 - b), turned(chips[3], 2))],
                [pair(4, 4 - b), pair(6, 6 - b)],
            ];
            for c in third {
                let early = sum(turned(early[0], 4 - c), early[1]);
                let late = sum(turned(late[0], 4 - c), late[1]);
                for d in fourth {
                    let whole = sum(turned(early, 4 - d), late);
                    // The turn whose axis is nearest.
                    let candidates = [(whole.0, 0), (whole.1, 1), (-whole.0, 2), (-whole.1, 3)];
                    for (likeness, turn) in candidates {
                        if likeness > best.0 {
                            best = (likeness, index, turn);
                        }
                    }
                    index += 1;
                }
            }
        }
        (best.1, best.2)
    }

    /// The union bound of the chance that a word is taken for another, at a ratio `snr` in 22 MHz.
    #[must_use]
    pub fn union_bound(&self, snr: f64) -> f64 {
        let reference = &self.words[0];
        let others = self.words.iter().flat_map(|word| (0..4).map(move |turn| (word, turn)));
        others
            .map(|(word, turn)| {
                let apart = |(a, b): (&u8, &u8)| match (a + turn + 4 - b) & 3 {
                    0 => 0.0,
                    2 => 4.0,
                    _ => 2.0,
                };
                let square: f64 = word.iter().zip(reference).map(apart).sum();
                // Noise of 1 / (4 snr) on each axis.
                if square > 0.0 { crate::formula::q((square * snr).sqrt()) } else { 0.0 }
            })
            .sum()
    }
}

fn sum(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

#[cfg(test)]
mod tests;
