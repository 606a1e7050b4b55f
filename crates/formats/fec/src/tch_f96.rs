//! The full-rate data channel of GSM at 9.6 kb/s: block coding, puncturing, diagonal interleaving.
//!
//! 3GPP TS 45.003, section 3.3: 240 bits every 20 ms, that is four modified V.110 frames or one
//! frame of RLP, gain a tail of four zeros, are coded at rate 1/2 to 488 bits, lose 32 of these,
//! and are spread over 22 bursts, of which the next block shares 18.

use crate::convolutional::ConvolutionalCode;
use crate::viterbi::Viterbi;

/// Data bits of a block.
pub const BLOCK_BITS: usize = 240;
/// Coded bits of a block that are sent.
pub const CODED_BITS: usize = 456;
/// Bits of a burst that carry data.
pub const BURST_BITS: usize = 114;
/// Bursts over which a block is spread.
pub const BLOCK_BURSTS: usize = 22;
/// Bursts from the beginning of a block to that of the next.
pub const BURSTS_PER_BLOCK: usize = 4;

const TAIL: usize = 4;
const UNPUNCTURED: usize = 2 * (BLOCK_BITS + TAIL);

/// Returns `true` if the coded bit of this number is not sent: 11 + 15 j.
const fn is_punctured(number: usize) -> bool {
    number % 15 == 11
}

/// The lengths of the runs of bits that are sent.
fn runs() -> impl Iterator<Item = usize> {
    let between = core::iter::repeat_n(14, 31);
    core::iter::once(11).chain(between).chain([11])
}

/// Codes a block of bits, each a byte of value 0 or 1.
#[must_use]
pub fn encode_block(block: &[u8; BLOCK_BITS]) -> [u8; CODED_BITS] {
    let mut coded = Vec::with_capacity(UNPUNCTURED);
    ConvolutionalCode::GSM.encode(&[&block[..], &[0; TAIL]].concat(), &mut coded);
    let mut sent = coded.iter().enumerate().filter(|(i, _)| !is_punctured(*i)).map(|(_, bit)| *bit);
    core::array::from_fn(|_| sent.next().expect("456 bits are left"))
}

/// The place of a coded bit: the burst, counted from the first of its block, and the bit in it.
///
/// # Panics
/// If `bit` is not below [`CODED_BITS`].
#[must_use]
pub const fn place(bit: usize) -> (usize, usize) {
    assert!(bit < CODED_BITS);
    (bit % 19 + bit / BURST_BITS, bit % 19 + 19 * (bit % 6))
}

/// The decoder of blocks; keeps its memory from call to call.
#[derive(Clone, Debug)]
pub struct BlockDecoder {
    viterbi: Viterbi<16>,
    soft: Vec<i8>,
    bits: Vec<u8>,
}

impl Default for BlockDecoder {
    fn default() -> Self {
        Self { viterbi: Viterbi::gsm(), soft: vec![0; UNPUNCTURED], bits: Vec::new() }
    }
}

impl BlockDecoder {
    /// Decodes a block from its soft coded bits in order: −127 surely a 0, 127 surely a 1.
    pub fn decode(&mut self, received: &[i8; CODED_BITS]) -> &[u8] {
        // Whole runs between two bits that were not sent, which stay 0 in `soft`.
        let mut from = 0;
        let mut to = 0;
        for run in runs() {
            self.soft[to..to + run].copy_from_slice(&received[from..from + run]);
            (from, to) = (from + run, to + run + 1);
        }
        self.bits.clear();
        self.viterbi.decode(&self.soft, true, &mut self.bits);
        &self.bits[..BLOCK_BITS]
    }
}

#[cfg(test)]
mod tests;
