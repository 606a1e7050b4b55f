//! Random streams by name: one per element, derived from the seed of the run.

use core::fmt;
use core::str::FromStr;

use rand::{SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::quantity::ParseUnitError;

/// The seed of a run. Stands in the scenario and in every output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seed {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let digits = text.trim();
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        let fix = "write a whole number from 0 to 18446744073709551615, such as 42 or 0x2a";
        parsed.map(Self).map_err(|_| ParseUnitError::new("seed", text, fix))
    }
}

/// A deterministic source of random numbers that belongs to one element.
///
/// Two streams with different names are independent; drawing from one never shifts another.
#[derive(Clone, Debug)]
pub struct Stream {
    key: u64,
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The stream of the element `name` in a run with `seed`.
    #[must_use]
    pub fn new(seed: Seed, name: &str) -> Self {
        // FNV-1a: short, and the same on every machine and in every version of this program.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self::from_key(mix(seed.0 ^ mix(hash)))
    }

    /// The stream for item `index` of this element, such as the frame of that number.
    ///
    /// Depends on the element and the index alone, not on what was drawn before: the tenth frame
    /// meets the same air whether or not the ninth was ever asked about.
    #[must_use]
    #[inline]
    pub fn at(&self, index: u64) -> Self {
        Self::from_key(self.item(index))
    }

    /// A number in 0..1 for item `index`: one draw, without the cost of a generator.
    ///
    /// Independent of what [`at`](Self::at) draws for the same item.
    #[must_use]
    #[inline]
    pub fn unit_at(&self, index: u64) -> f64 {
        to_unit(self.item(index))
    }

    /// The key of item `index`.
    #[inline]
    fn item(&self, index: u64) -> u64 {
        mix(self.key ^ mix(index.wrapping_add(0x632b_e59b_d9b4_e019)))
    }

    fn from_key(key: u64) -> Self {
        Self { key, generator: Xoshiro256PlusPlus::seed_from_u64(key) }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let Ok(bits) = self.generator.try_next_u64();
        bits
    }

    /// A number in 0..1, evenly spread over multiples of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        to_unit(self.bits())
    }

    /// Draws whether an event of probability `p` happens.
    #[inline]
    pub fn chance(&mut self, p: crate::units::Probability) -> bool {
        self.unit() < p.get()
    }

    /// A number in `0..bound`; zero if `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply and shift; the bias is below bound / 2⁶⁴.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }
}

impl TryRng for Stream {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.generator.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.generator.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.generator.try_fill_bytes(bytes)
    }
}

#[inline]
fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// The finaliser of SplitMix64: every input bit reaches every output bit.
#[inline]
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
