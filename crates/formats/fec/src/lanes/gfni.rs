//! Lanes of x86-64 with instructions for Galois fields: one for the product with a factor, and one
//! for the products of two sets of lanes, though these only in the field under 0x11b.
#![expect(
    unsafe_code,
    reason = "vector instructions have no safe form for a type chosen at run time"
)]

use core::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_xor_si128, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_gf2p8affine_epi64_epi8, _mm256_gf2p8mul_epi8, _mm256_set1_epi64x, _mm256_unpackhi_epi8,
    _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi8,
    _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_xor_si256,
};

use super::{Avx2, LANES, Lanes};
use crate::field::{Field, Matrix};

/// Thirty-two elements in one register.
#[derive(Clone, Copy)]
pub(crate) struct Gfni(Avx2);

impl Lanes for Gfni {
    /// The product with the factor as a matrix of bits, once for each eight lanes.
    type Factor = __m256i;

    #[inline(always)]
    fn factor(field: &Field, factor: u8) -> Self::Factor {
        broadcast(field.matrix(factor))
    }

    #[inline(always)]
    fn load(from: &[u8; LANES]) -> Self {
        Self(Avx2::load(from))
    }

    #[inline(always)]
    fn store(self, to: &mut [u8; LANES]) {
        self.0.store(to);
    }

    #[inline(always)]
    fn times(self, factor: Self::Factor) -> Self {
        // SAFETY: no memory is touched, and whoever uses these lanes runs below a function that
        // enables AVX2 and GFNI.
        Self(Avx2(unsafe { _mm256_gf2p8affine_epi64_epi8::<0>(self.0.0, factor) }))
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0.xor(other.0))
    }

    #[inline(always)]
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self {
        Self(Avx2::look_up(tables, nibbles))
    }

    #[inline(always)]
    fn first(self) -> u8 {
        self.0.first()
    }

    #[inline(always)]
    fn shift(self, next: Self) -> Self {
        Self(self.0.shift(next.0))
    }

    #[inline(always)]
    fn zeros(self) -> u32 {
        self.0.zeros()
    }
}

impl Gfni {
    /// Each element through a linear map.
    #[inline(always)]
    pub(crate) fn map(self, matrix: Matrix) -> Self {
        self.times(broadcast(matrix))
    }

    /// The products of elements in the same lane, in the field under 0x11b.
    #[inline(always)]
    pub(crate) fn product(self, other: Self) -> Self {
        // SAFETY: no memory is touched; AVX2 and GFNI as above.
        Self(Avx2(unsafe { _mm256_gf2p8mul_epi8(self.0.0, other.0.0) }))
    }

    /// The sum of the lanes of each of eight sets.
    #[inline(always)]
    pub(crate) fn sums(sets: [Self; 8]) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h] = sets;
        let abcd = pairs(bytes(a, b), bytes(c, d));
        let efgh = pairs(bytes(e, f), bytes(g, h));
        // SAFETY: no memory is touched; AVX2 as above.
        let sums = unsafe {
            let all = xor(_mm256_unpacklo_epi32(abcd, efgh), _mm256_unpackhi_epi32(abcd, efgh));
            let all = xor(all, _mm256_unpackhi_epi64(all, all));
            let low = _mm256_castsi256_si128(all);
            let high = _mm256_extracti128_si256::<1>(all);
            _mm_cvtsi128_si64(_mm_xor_si128(low, high))
        };
        sums.to_le_bytes()
    }
}

/// The sums of neighbours eight bytes apart, those of both sets side by side.
#[inline(always)]
fn bytes(Gfni(Avx2(a)): Gfni, Gfni(Avx2(b)): Gfni) -> __m256i {
    // SAFETY: no memory is touched; AVX2 as above.
    unsafe { xor(_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)) }
}

/// The sums of neighbouring pairs of bytes, those of both sets side by side.
#[inline(always)]
fn pairs(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: no memory is touched; AVX2 as above.
    unsafe { xor(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)) }
}

#[inline(always)]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: no memory is touched; AVX2 as above.
    unsafe { _mm256_xor_si256(a, b) }
}

/// A matrix for each eight lanes.
#[inline(always)]
fn broadcast(matrix: Matrix) -> __m256i {
    // SAFETY: no memory is touched; AVX2 as above.
    unsafe { _mm256_set1_epi64x(i64::from_le_bytes(matrix)) }
}
