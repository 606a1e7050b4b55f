//! Lanes for every processor: a product is a sum over the bits of the factor, on 64-bit words.

use super::{LANES, Lanes};
use crate::field::Field;

/// Thirty-two elements in an array.
#[derive(Clone, Copy)]
pub(crate) struct Plain([u8; LANES]);

impl Lanes for Plain {
    /// The products with 1, 2, 4, … 128, each spread over a whole word for a masked sum.
    type Factor = [u8; 8];

    #[inline(always)]
    fn factor(field: &Field, factor: u8) -> [u8; 8] {
        core::array::from_fn(|bit| field.mul(factor, 1 << bit))
    }

    #[inline(always)]
    fn load(from: &[u8; LANES]) -> Self {
        Self(*from)
    }

    #[inline(always)]
    fn store(self, to: &mut [u8; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn times(self, factor: [u8; 8]) -> Self {
        let mut product = [0; LANES];
        for (bit, part) in factor.into_iter().enumerate() {
            for (product, element) in product.iter_mut().zip(self.0) {
                // All ones where the bit is set, so that no branch is needed.
                let mask = ((element >> bit) & 1).wrapping_neg();
                *product ^= part & mask;
            }
        }
        Self(product)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }

    #[inline(always)]
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self {
        let half = LANES / 2;
        Self(core::array::from_fn(|i| tables[i / half * half + usize::from(nibbles[i])]))
    }

    #[inline(always)]
    fn first(self) -> u8 {
        self.0[0]
    }

    #[inline(always)]
    fn shift(self, next: Self) -> Self {
        Self(core::array::from_fn(|i| self.0.get(i + 1).copied().unwrap_or(next.0[0])))
    }

    #[inline(always)]
    fn zeros(self) -> u32 {
        (0..LANES).fold(0, |bits, i| bits | u32::from(self.0[i] == 0) << i)
    }
}
