//! The blocks of a frame: encoded with check and parity, and corrected by the receiver.
//!
//! Whole blocks are encoded and decoded together. The last block of a frame, or a truncated one, is
//! processed separately.

use arrayvec::ArrayVec;
use windfall_base::Payload;
use windfall_fec::copies::{Copies, mixtures};
use windfall_wire_link::check::block_check;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Head, Level, MAX_BLOCKS};

use super::codes::code;
use super::stream::PacketStream;

/// The number of pieces into which the differences of two copies of a block are divided. The check
/// of a block has only half the bits of a packet's check, and each mixture costs a decoding.
const MOST_PIECES_OF_BLOCK: usize = 3;

/// Encodes the blocks of `stream` that `head` describes, one after the other.
pub(super) fn write(head: &Head, stream: &PacketStream) -> Vec<u8> {
    let parity = head.level.parity();
    let lengths = (0..head.stretches.len()).map(|index| head.block_len(index));
    let mut bytes = Vec::with_capacity(lengths.sum());
    for (index, stretch) in head.stretches.iter().enumerate() {
        let start = bytes.len();
        stream.copy(stretch.range(), &mut bytes);
        bytes.resize(start + head.block_len(index) - parity - BLOCK_CHECK, 0);
        let check = block_check(&bytes[start..]);
        bytes.extend(check);
        bytes.resize(bytes.len() + parity, 0);
    }
    if let Some(code) = code(head.level) {
        let (whole, last) = bytes.split_at_mut(whole_blocks(head) * BLOCK);
        // Whole blocks have a legal length, and a shorter one has at least its check beside the
        // parity.
        let _ = code.encode_many(whole, BLOCK);
        let mut rest = last;
        for index in whole_blocks(head)..head.stretches.len() {
            let (block, behind) = rest.split_at_mut(head.block_len(index));
            let _ = code.encode(block);
            rest = behind;
        }
    }
    bytes
}

/// Returns the number of leading blocks of a frame that have 255 bytes.
fn whole_blocks(head: &Head) -> usize {
    (0..head.stretches.len()).take_while(|index| head.block_len(*index) == BLOCK).count()
}

/// The decoded blocks of a frame.
pub(super) struct Blocks {
    /// The received bytes, corrected if the outcome of the block says so.
    bytes: [u8; MAX_BLOCKS * BLOCK],
    /// The outcome of each block, and its offset.
    found: ArrayVec<(Fate, usize), MAX_BLOCKS>,
}

impl Blocks {
    /// Decodes the blocks that `head` describes.
    ///
    /// Bytes that were cut off are erasures, which parity may restore.
    pub(super) fn read(head: &Head, payload: &Payload) -> Self {
        let mut blocks = Self { bytes: [0; MAX_BLOCKS * BLOCK], found: ArrayVec::new() };
        let here = fill(&mut blocks.bytes, payload);
        let together = blocks.correct_together(head, here);
        let mut start = 0;
        for index in 0..head.stretches.len() {
            let len = head.block_len(index);
            let block = &mut blocks.bytes[start..start + len];
            let here = here.saturating_sub(start).min(len);
            let errors = match together.get(index) {
                Some(errors) => *errors,
                None => correct(block, here, head.level),
            };
            let right = errors.filter(|_| is_right(block, head.level));
            if errors.is_some() && right.is_none() {
                // The received bytes may be useful, but a failed correction is not.
                let mut received = [0; MAX_BLOCKS * BLOCK];
                fill(&mut received, payload);
                block.copy_from_slice(&received[start..start + len]);
            }
            let beyond = if here < len { Fate::Missing } else { Fate::Failed };
            blocks.found.push((right.map_or(beyond, Fate::Good), start));
            start += len;
        }
        blocks
    }

    /// Corrects the whole blocks that are not truncated. Returns the number of wrong symbols of
    /// each, or `None` if it failed.
    fn correct_together(&mut self, head: &Head, here: usize) -> ArrayVec<Option<u8>, MAX_BLOCKS> {
        let count = whole_blocks(head).min(here / BLOCK);
        let mut together = ArrayVec::new();
        match code(head.level) {
            None => together.extend(core::iter::repeat_n(Some(0), count)),
            Some(code) => {
                // The length is a whole number of legal blocks.
                let _ = code.decode_many(&mut self.bytes[..count * BLOCK], BLOCK, |_, outcome| {
                    together.push(outcome.ok().map(|corrected| corrected.errors as u8));
                });
            }
        }
        together
    }

    /// Returns the outcome of each block.
    pub(super) fn fates(&self) -> impl Iterator<Item = Fate> + '_ {
        self.found.iter().map(|(fate, _)| *fate)
    }

    /// Returns the received bytes of a block that failed.
    pub(super) fn received(&self, index: usize, len: usize) -> &[u8] {
        self.data(index, len)
    }

    /// Returns the first `len` bytes of a block.
    pub(super) fn data(&self, index: usize, len: usize) -> &[u8] {
        &self.bytes[self.found[index].1..][..len]
    }
}

/// Restores a block from a failed copy and earlier copies. It tries the majority of three or more
/// copies, the differences of two copies as erasures, and mixtures of two copies.
pub(super) fn combine(copies: &Copies, new: &[u8], level: Level) -> Option<Vec<u8>> {
    let mismatch = |block: &[u8]| {
        let (data, check) = block.split_at(block.len() - BLOCK_CHECK);
        let [a, b] = block_check(data);
        u32::from(u16::from_be_bytes([check[0] ^ a, check[1] ^ b]))
    };
    let Some(code) = code(level) else {
        return copies.combine(new, MOST_PIECES_OF_BLOCK, mismatch);
    };
    let corrected = |mut block: Vec<u8>, erased: &[u8]| {
        let is_corrected = code.decode(&mut block, erased).is_ok() && is_right(&block, level);
        is_corrected.then_some(block)
    };
    if let Some(block) = copies.majority(new).and_then(|block| corrected(block, &[])) {
        return Some(block);
    }
    let old = copies.newest_first().next().filter(|old| old.len() == new.len())?;
    let differ = |at: &usize| new[*at] != old[*at];
    let places: Vec<u8> = (0..new.len()).filter(differ).map(|at| at as u8).collect();
    if places.len() <= level.parity()
        && let Some(block) = corrected(new.to_vec(), &places)
    {
        return Some(block);
    }
    mixtures(new, old, MOST_PIECES_OF_BLOCK).find_map(|block| corrected(block, &[]))
}

/// Returns the `len` bytes of an uncoded frame and their state; zeros replace missing bytes.
pub(super) fn read_uncoded(len: usize, payload: &Payload) -> (Fate, Vec<u8>) {
    let mut bytes = vec![0; len + BLOCK_CHECK];
    let here = fill(&mut bytes, payload);
    let fate = if here < bytes.len() {
        Fate::Missing
    } else if is_right(&bytes, Level::NONE) {
        Fate::Good(0)
    } else {
        Fate::Failed
    };
    bytes.truncate(len);
    (fate, bytes)
}

/// Copies the beginning of a payload into `bytes`, and returns the number of bytes copied.
fn fill(bytes: &mut [u8], payload: &Payload) -> usize {
    let mut here = 0;
    for slice in payload.slices() {
        let len = slice.len().min(bytes.len() - here);
        bytes[here..here + len].copy_from_slice(&slice[..len]);
        here += len;
    }
    here
}

/// Corrects a block whose bytes from `here` on are missing; returns the number of corrected
/// symbols.
fn correct(block: &mut [u8], here: usize, level: Level) -> Option<u8> {
    if here == 0 {
        return None;
    }
    match code(level) {
        None => (here == block.len()).then_some(0),
        Some(code) => {
            let erased: ArrayVec<u8, BLOCK> = (here..block.len()).map(|at| at as u8).collect();
            code.decode(block, &erased).ok().map(|corrected| corrected.errors as u8)
        }
    }
}

/// Returns `true` if the check of a block is right.
fn is_right(block: &[u8], level: Level) -> bool {
    let end = block.len() - level.parity();
    let (data, check) = block[..end].split_at(end - BLOCK_CHECK);
    block_check(data) == check
}
