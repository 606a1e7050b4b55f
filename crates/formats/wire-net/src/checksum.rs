//! The internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit
//! words.
//!
//! The sum runs over words in the machine's own byte order, which RFC 1071 (section 2, B) shows to
//! be equal up to a swap at the end, in lanes that the compiler turns into vectors.

/// Bytes in one round of the lanes.
const BLOCK: usize = 64;
/// Lanes of 32 bits in a block.
const LANES: usize = BLOCK / 4;
/// Rounds before the lanes of 32 bits could overflow: 2¹⁶ words of at most 2¹⁶ - 1.
const ROUNDS: usize = 1 << 16;
/// Bytes that are copied before they are summed.
const STEP: usize = 4096;

//= S2.15
/// A one's complement sum under way; slices of any length, odd ones included, join seamlessly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Sum of words in the machine's byte order, carries not yet folded in.
    total: u64,
    /// An odd number of bytes came in so far, so the next begins in the low half of a word.
    odd: bool,
}

impl Sum {
    /// Creates the sum over nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { total: 0, odd: false }
    }

    /// Adds `bytes` as the continuation of what was added before.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        self.join(sum_words(bytes), bytes.len());
    }

    /// Copies `from` to `to` and adds it, in steps that stay in the nearest cache.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn copy(&mut self, to: &mut [u8], from: &[u8]) {
        assert_eq!(to.len(), from.len(), "a copy needs as much room as there are bytes");
        for (to, from) in to.chunks_mut(STEP).zip(from.chunks(STEP)) {
            to.copy_from_slice(from);
            self.add(from);
        }
    }

    /// Joins the sum of a slice of `len` bytes to the bytes before it.
    #[inline]
    fn join(&mut self, words: u64, len: usize) {
        // A slice that begins in the middle of a word has its bytes on the other side: swap them.
        let words = if self.odd { u64::from(fold(words).swap_bytes()) } else { words };
        let (total, carry) = self.total.overflowing_add(words);
        self.total = total + u64::from(carry);
        self.odd ^= len % 2 == 1;
    }

    /// Returns the checksum to write: the complement of the sum.
    #[inline]
    #[must_use]
    pub fn checksum(self) -> u16 {
        !fold(self.total).to_be()
    }

    /// Returns the checksum of a transport where zero means "none": a computed zero becomes
    /// `0xffff`.
    #[inline]
    #[must_use]
    pub fn nonzero_checksum(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            checksum => checksum,
        }
    }

    /// Returns whether the sum over data and their checksum is correct.
    #[inline]
    #[must_use]
    pub fn holds(self) -> bool {
        fold(self.total) == 0xffff
    }
}

/// Returns the checksum of one slice.
#[inline]
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    !fold(sum_words(bytes)).to_be()
}

/// Returns the checksum of two adjacent slices, such as the two halves of a payload.
#[must_use]
pub fn checksum_of(slices: [&[u8]; 2]) -> u16 {
    let mut sum = Sum::new();
    slices.into_iter().for_each(|slice| sum.add(slice));
    sum.checksum()
}

/// Returns the checksum after one 16-bit word under it changes from `old` to `new` (RFC 1624,
/// equation 3).
#[must_use]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = !checksum as u32 + !old as u32 + new as u32;
    sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// Folds the carries of a sum into its low 16 bits.
#[inline]
const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Two sums per lane: of the words as they are, wrapping, and of their upper halves.
///
/// The upper halves cannot overflow within [`ROUNDS`]; neither can the lower ones, and they are
/// what the wrapped sum has left when the upper halves are taken out. So a lane needs no carries.
struct Lanes {
    whole: [u32; LANES],
    upper: [u32; LANES],
}

impl Lanes {
    #[inline]
    const fn new() -> Self {
        Self { whole: [0; LANES], upper: [0; LANES] }
    }

    #[inline]
    fn add(&mut self, block: &[u8; BLOCK]) {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in words.iter().enumerate() {
            let word = u32::from_ne_bytes(*word);
            self.whole[lane] = self.whole[lane].wrapping_add(word);
            self.upper[lane] = self.upper[lane].wrapping_add(word >> 16);
        }
    }

    #[inline]
    fn total(&self) -> u64 {
        let lanes = self.whole.iter().zip(&self.upper);
        lanes.map(|(w, u)| u64::from(*u) + u64::from(w.wrapping_sub(u << 16))).sum()
    }
}

/// Returns the sum of the 16-bit words of `bytes`; an odd last byte is the first half of a word.
#[inline]
fn sum_words(bytes: &[u8]) -> u64 {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut total = sum_rest(rest);
    for blocks in blocks.chunks(ROUNDS) {
        let mut lanes = Lanes::new();
        for block in blocks {
            lanes.add(block);
        }
        total += lanes.total();
    }
    total
}

/// Returns the sum of fewer words than fill a block.
#[inline]
fn sum_rest(rest: &[u8]) -> u64 {
    let (words, rest) = rest.as_chunks::<4>();
    let total: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    // Written out, since a copy of so few bytes would be a call.
    let last = match *rest {
        [] => return total,
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c, ..] => [a, b, c, 0],
    };
    total + u64::from(u32::from_ne_bytes(last))
}

#[cfg(test)]
mod tests;
