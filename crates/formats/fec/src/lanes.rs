//! Thirty-two field elements side by side, in whatever registers the processor has.
//!
//! One factor times many elements is the whole arithmetic of a Reed–Solomon decoder. Split an
//! element into two nibbles and the product is two look-ups in tables of sixteen bytes, which a
//! byte shuffle does for a whole register at once.

#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::field::Field;

#[cfg(target_arch = "x86_64")]
pub(crate) use gfni::Gfni;
#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
pub(crate) use plain::Plain;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Ssse3};

/// Elements in one set of lanes; the lengths of all work arrays are multiples of it.
pub(crate) const LANES: usize = 32;

/// Which instructions do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instructions {
    /// Tables and 64-bit words, on every processor.
    Plain,
    /// 16-byte shuffles of x86-64.
    Ssse3,
    /// 32-byte shuffles of x86-64.
    Avx2,
    /// Products of x86-64 in Galois fields, 32 bytes at once.
    Gfni,
    /// 16-byte shuffles of 64-bit ARM.
    Neon,
}

impl Instructions {
    /// The fastest that this processor has.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx2") {
                let has_products = std::is_x86_feature_detected!("gfni");
                return if has_products { Self::Gfni } else { Self::Avx2 };
            }
            if std::is_x86_feature_detected!("ssse3") {
                return Self::Ssse3;
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self::Neon;
        }
        Self::Plain
    }

    /// All that this processor has, the slowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        match Self::detect() {
            Self::Avx2 => vec![Self::Plain, Self::Ssse3, Self::Avx2],
            Self::Gfni => vec![Self::Plain, Self::Ssse3, Self::Avx2, Self::Gfni],
            Self::Plain => vec![Self::Plain],
            best => vec![Self::Plain, best],
        }
    }
}

/// Thirty-two field elements.
///
/// Except for [`Plain`], an implementation may be used only below a function that enables the
/// processor feature it is named after; [`dispatch`] is the only place that names one.
pub(crate) trait Lanes: Copy {
    /// A factor, made ready for many multiplications.
    type Factor: Copy;

    fn factor(field: &Field, factor: u8) -> Self::Factor;
    fn load(from: &[u8; LANES]) -> Self;
    fn store(self, to: &mut [u8; LANES]);
    fn times(self, factor: Self::Factor) -> Self;
    fn xor(self, other: Self) -> Self;

    /// Each nibble looked up in a table of sixteen: in the first half of `tables` for the first
    /// sixteen nibbles, in the second half for the others.
    fn look_up(tables: &[u8; LANES], nibbles: &[u8; LANES]) -> Self;

    /// Returns the value of lane 0.
    fn first(self) -> u8;
    /// All lanes one place further down: lane 0 goes, and that of `next` comes in at the top.
    fn shift(self, next: Self) -> Self;
    /// Which lanes are zero: bit `i` stands for lane `i`.
    fn zeros(self) -> u32;
}

/// The 32 bytes of `slice` from `at` on.
#[inline(always)]
pub(crate) fn window(slice: &[u8], at: usize) -> &[u8; LANES] {
    slice[at..at + LANES].try_into().expect("the range has just this length")
}

/// The 32 bytes of `slice` from `at` on, to be written.
#[inline(always)]
pub(crate) fn window_mut(slice: &mut [u8], at: usize) -> &mut [u8; LANES] {
    (&mut slice[at..at + LANES]).try_into().expect("the range has just this length")
}

/// `to[i] += factor · from[i]` over whole sets of lanes; the lengths are equal.
#[inline(always)]
pub(crate) fn add_product<L: Lanes>(field: &Field, to: &mut [u8], factor: u8, from: &[u8]) {
    let factor = L::factor(field, factor);
    let (to, rest) = to.as_chunks_mut::<LANES>();
    debug_assert!(rest.is_empty() && to.len() * LANES == from.len());
    for (to, from) in to.iter_mut().zip(from.as_chunks::<LANES>().0) {
        L::load(to).xor(L::load(from).times(factor)).store(to);
    }
}

/// Runs `$work::<Lanes>($arguments)` compiled for the given instructions.
macro_rules! dispatch {
    ($instructions:expr, $work:ident($($name:ident: $type:ty),* $(,)?) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,gfni")]
        fn gfni($($name: $type),*) -> $result {
            $work::<$crate::lanes::Gfni>($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn avx2($($name: $type),*) -> $result {
            $work::<$crate::lanes::Avx2>($($name),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "ssse3")]
        fn ssse3($($name: $type),*) -> $result {
            $work::<$crate::lanes::Ssse3>($($name),*)
        }
        #[cfg(target_arch = "aarch64")]
        #[target_feature(enable = "neon")]
        fn neon($($name: $type),*) -> $result {
            $work::<$crate::lanes::Neon>($($name),*)
        }
        #[expect(unsafe_code, reason = "only the processor itself can say what it has")]
        match $instructions {
            // SAFETY: this value comes only from a check that the processor has GFNI and AVX2.
            #[cfg(target_arch = "x86_64")]
            $crate::lanes::Instructions::Gfni => unsafe { gfni($($name),*) },
            // SAFETY: this value comes only from a check that the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            $crate::lanes::Instructions::Avx2 => unsafe { avx2($($name),*) },
            // SAFETY: this value comes only from a check that the processor has SSSE3.
            #[cfg(target_arch = "x86_64")]
            $crate::lanes::Instructions::Ssse3 => unsafe { ssse3($($name),*) },
            // SAFETY: this value comes only from a check that the processor has NEON.
            #[cfg(target_arch = "aarch64")]
            $crate::lanes::Instructions::Neon => unsafe { neon($($name),*) },
            _ => $work::<$crate::lanes::Plain>($($name),*),
        }
    }};
}
pub(crate) use dispatch;

#[cfg(test)]
mod tests;
