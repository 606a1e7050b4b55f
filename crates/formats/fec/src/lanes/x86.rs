//! Lanes of x86-64: byte shuffles over 16 (SSSE3) or 32 bytes (AVX2).
#![expect(
    unsafe_code,
    reason = "vector instructions have no safe form for a type chosen at run time"
)]

use core::arch::x86_64::{
    __m128i, __m256i, _mm_alignr_epi8, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si32,
    _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8, _mm_setzero_si128, _mm_shuffle_epi8,
    _mm_srli_epi64, _mm_storeu_si128, _mm_xor_si128, _mm256_alignr_epi8, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_permute2x128_si256, _mm256_set1_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256,
};

use super::{LANES, Lanes};
use crate::field::Field;

/// Thirty-two elements in one register.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(pub(super) __m256i);

impl Lanes for Avx2 {
    type Factor = (__m256i, __m256i);

    #[inline(always)]
    fn factor(field: &Field, factor: u8) -> Self::Factor {
        let table = field.nibbles(factor);
        // SAFETY: the table has 32 bytes, loads may be unaligned, and whoever uses these lanes
        // runs below a function that enables AVX2.
        unsafe {
            let low = _mm_loadu_si128(table.as_ptr().cast());
            let high = _mm_loadu_si128(table.as_ptr().add(16).cast());
            (_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high))
        }
    }

    #[inline(always)]
    fn load(from: &[u8; LANES]) -> Self {
        // SAFETY: the array has 32 bytes and the load may be unaligned; AVX2 as above.
        Self(unsafe { _mm256_loadu_si256(from.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [u8; LANES]) {
        // SAFETY: the array has 32 bytes and the store may be unaligned; AVX2 as above.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    fn times(self, factor: Self::Factor) -> Self {
        let (low, high) = factor;
        // SAFETY: no memory is touched; AVX2 as above.
        unsafe {
            let mask = _mm256_set1_epi8(0x0f);
            let lows = _mm256_shuffle_epi8(low, _mm256_and_si256(self.0, mask));
            let shifted = _mm256_and_si256(_mm256_srli_epi64::<4>(self.0), mask);
            Self(_mm256_xor_si256(lows, _mm256_shuffle_epi8(high, shifted)))
        }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: no memory is touched; AVX2 as above.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self {
        let (Self(tables), Self(nibbles)) = (Self::load(tables), Self::load(nibbles));
        // SAFETY: no memory is touched; AVX2 as above.
        Self(unsafe { _mm256_shuffle_epi8(tables, nibbles) })
    }

    #[inline(always)]
    fn first(self) -> u8 {
        // SAFETY: no memory is touched; AVX2 as above.
        unsafe { _mm_cvtsi128_si32(_mm256_castsi256_si128(self.0)) as u8 }
    }

    #[inline(always)]
    fn shift(self, next: Self) -> Self {
        // SAFETY: no memory is touched; AVX2 as above.
        unsafe {
            // The instruction shifts each half by itself, so each gets what follows it.
            let following = _mm256_permute2x128_si256::<0x21>(self.0, next.0);
            Self(_mm256_alignr_epi8::<1>(following, self.0))
        }
    }

    #[inline(always)]
    fn zeros(self) -> u32 {
        // SAFETY: no memory is touched; AVX2 as above.
        unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256())) as u32 }
    }
}

/// Thirty-two elements in two registers.
#[derive(Clone, Copy)]
pub(crate) struct Ssse3([__m128i; 2]);

impl Lanes for Ssse3 {
    type Factor = (__m128i, __m128i);

    #[inline(always)]
    fn factor(field: &Field, factor: u8) -> Self::Factor {
        let table = field.nibbles(factor);
        // SAFETY: the table has 32 bytes and the loads may be unaligned.
        unsafe {
            (_mm_loadu_si128(table.as_ptr().cast()), _mm_loadu_si128(table.as_ptr().add(16).cast()))
        }
    }

    #[inline(always)]
    fn load(from: &[u8; LANES]) -> Self {
        // SAFETY: the array has 32 bytes and the loads may be unaligned.
        unsafe {
            let first = _mm_loadu_si128(from.as_ptr().cast());
            Self([first, _mm_loadu_si128(from.as_ptr().add(16).cast())])
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [u8; LANES]) {
        // SAFETY: the array has 32 bytes and the stores may be unaligned.
        unsafe {
            _mm_storeu_si128(to.as_mut_ptr().cast(), self.0[0]);
            _mm_storeu_si128(to.as_mut_ptr().add(16).cast(), self.0[1]);
        }
    }

    #[inline(always)]
    fn times(self, factor: Self::Factor) -> Self {
        let (low, high) = factor;
        Self(self.0.map(|part| {
            // SAFETY: no memory is touched, and whoever uses these lanes runs below a function
            // that enables SSSE3.
            unsafe {
                let mask = _mm_set1_epi8(0x0f);
                let lows = _mm_shuffle_epi8(low, _mm_and_si128(part, mask));
                let shifted = _mm_and_si128(_mm_srli_epi64::<4>(part), mask);
                _mm_xor_si128(lows, _mm_shuffle_epi8(high, shifted))
            }
        }))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: no memory is touched.
        Self(core::array::from_fn(|i| unsafe { _mm_xor_si128(self.0[i], other.0[i]) }))
    }

    #[inline(always)]
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self {
        let (Self(tables), Self(nibbles)) = (Self::load(tables), Self::load(nibbles));
        // SAFETY: no memory is touched; SSSE3 as above.
        Self(core::array::from_fn(|i| unsafe { _mm_shuffle_epi8(tables[i], nibbles[i]) }))
    }

    #[inline(always)]
    fn first(self) -> u8 {
        // SAFETY: no memory is touched.
        unsafe { _mm_cvtsi128_si32(self.0[0]) as u8 }
    }

    #[inline(always)]
    fn shift(self, next: Self) -> Self {
        let [low, high] = self.0;
        // SAFETY: no memory is touched; SSSE3 as above.
        unsafe { Self([_mm_alignr_epi8::<1>(high, low), _mm_alignr_epi8::<1>(next.0[0], high)]) }
    }

    #[inline(always)]
    fn zeros(self) -> u32 {
        // SAFETY: no memory is touched.
        let bits = self.0.map(|part| unsafe {
            _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_setzero_si128())) as u32
        });
        bits[0] | bits[1] << 16
    }
}
