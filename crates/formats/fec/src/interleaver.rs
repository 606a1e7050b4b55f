//! The block interleaver of 802.11a/g: neighbours travel on distant carriers and bits of other
//! weight.

/// Interleaves the coded bits of one OFDM symbol (802.11-2020, 17.3.5.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInterleaver {
    /// The position to which each coded bit moves.
    places: Vec<u16>,
}

impl SymbolInterleaver {
    /// The interleaver of a symbol of `coded` bits (N_CBPS), `per_carrier` of them on each of its
    /// 48 carriers (N_BPSC: 1, 2, 4 or 6).
    #[must_use]
    pub fn new(per_carrier: u16) -> Self {
        let coded = 48 * per_carrier;
        let s = (per_carrier / 2).max(1);
        let place = |k: u16| {
            let i = coded / 16 * (k % 16) + k / 16;
            s * (i / s) + (i + coded - 16 * i / coded) % s
        };
        Self { places: (0..coded).map(place).collect() }
    }

    /// Coded bits in a symbol.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no symbol is empty")]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Interleaves whole symbols of bits, or of anything that stands for them.
    ///
    /// What is left of a symbol at the end is skipped.
    pub fn interleave<T: Copy + Default>(&self, coded: &[T], sent: &mut Vec<T>) {
        for symbol in coded.chunks_exact(self.len()) {
            let first = sent.len();
            sent.resize(first + self.len(), T::default());
            for (&place, &value) in self.places.iter().zip(symbol) {
                sent[first + usize::from(place)] = value;
            }
        }
    }

    /// Reverses the effect of [`interleave`](Self::interleave).
    pub fn restore<T: Copy>(&self, received: &[T], coded: &mut Vec<T>) {
        for symbol in received.chunks_exact(self.len()) {
            coded.extend(self.places.iter().map(|&place| symbol[usize::from(place)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_gets_a_place_of_its_own_and_comes_back() {
        for per_carrier in [1, 2, 4, 6] {
            let interleaver = SymbolInterleaver::new(per_carrier);
            let coded: Vec<u16> = (0..2 * 48 * per_carrier).collect();
            let mut sent = Vec::new();
            let mut back = Vec::new();
            interleaver.interleave(&coded, &mut sent);
            let mut sorted = sent.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, coded);
            interleaver.restore(&sent, &mut back);
            assert_eq!(back, coded);
        }
    }

    #[test]
    fn neighbours_are_at_least_three_carriers_apart() {
        for per_carrier in [1_u16, 2, 4, 6] {
            let interleaver = SymbolInterleaver::new(per_carrier);
            let carriers = interleaver.places.iter().map(|place| place / per_carrier);
            let carriers: Vec<u16> = carriers.collect();
            assert!(carriers.windows(2).all(|pair| pair[0].abs_diff(pair[1]) >= 3));
        }
    }
}
