//! Lanes of 64-bit ARM: table look-ups over 16 bytes.
#![expect(
    unsafe_code,
    reason = "vector instructions have no safe form for a type chosen at run time"
)]

use core::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vextq_u8, vgetq_lane_u8, vld1q_u8, vqtbl1q_u8,
    vshrq_n_u8, vst1q_u8,
};

use super::{LANES, Lanes};
use crate::field::Field;

/// Thirty-two elements in two registers.
#[derive(Clone, Copy)]
pub(crate) struct Neon([uint8x16_t; 2]);

impl Lanes for Neon {
    type Factor = (uint8x16_t, uint8x16_t);

    #[inline(always)]
    fn factor(field: &Field, factor: u8) -> Self::Factor {
        let table = field.nibbles(factor);
        // SAFETY: the table has 32 bytes, and whoever uses these lanes runs below a function that
        // enables NEON.
        unsafe { (vld1q_u8(table.as_ptr()), vld1q_u8(table.as_ptr().add(16))) }
    }

    #[inline(always)]
    fn load(from: &[u8; LANES]) -> Self {
        // SAFETY: the array has 32 bytes; NEON as above.
        unsafe { Self([vld1q_u8(from.as_ptr()), vld1q_u8(from.as_ptr().add(16))]) }
    }

    #[inline(always)]
    fn store(self, to: &mut [u8; LANES]) {
        // SAFETY: the array has 32 bytes; NEON as above.
        unsafe {
            vst1q_u8(to.as_mut_ptr(), self.0[0]);
            vst1q_u8(to.as_mut_ptr().add(16), self.0[1]);
        }
    }

    #[inline(always)]
    fn times(self, factor: Self::Factor) -> Self {
        let (low, high) = factor;
        Self(self.0.map(|part| {
            // SAFETY: no memory is touched; NEON as above.
            unsafe {
                let lows = vqtbl1q_u8(low, vandq_u8(part, vdupq_n_u8(0x0f)));
                veorq_u8(lows, vqtbl1q_u8(high, vshrq_n_u8::<4>(part)))
            }
        }))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: no memory is touched; NEON as above.
        Self(core::array::from_fn(|i| unsafe { veorq_u8(self.0[i], other.0[i]) }))
    }

    #[inline(always)]
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self {
        let (Self(tables), Self(nibbles)) = (Self::load(tables), Self::load(nibbles));
        // SAFETY: no memory is touched; NEON as above.
        Self(core::array::from_fn(|i| unsafe { vqtbl1q_u8(tables[i], nibbles[i]) }))
    }

    #[inline(always)]
    fn first(self) -> u8 {
        // SAFETY: no memory is touched; NEON as above.
        unsafe { vgetq_lane_u8::<0>(self.0[0]) }
    }

    #[inline(always)]
    fn shift(self, next: Self) -> Self {
        let [low, high] = self.0;
        // SAFETY: no memory is touched; NEON as above.
        unsafe { Self([vextq_u8::<1>(low, high), vextq_u8::<1>(high, next.0[0])]) }
    }

    #[inline(always)]
    fn zeros(self) -> u32 {
        let mut lanes = [0; LANES];
        self.store(&mut lanes);
        (0..LANES).fold(0, |bits, i| bits | u32::from(lanes[i] == 0) << i)
    }
}
