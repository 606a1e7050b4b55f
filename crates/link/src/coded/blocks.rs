//! Blocks of a frame: written with their check and parity, and put right on arrival.

use windfall_base::Payload;
use windfall_wire_link::check::header_check;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Head, Level};

use super::codes::code;

/// The blocks that `head` announces of `stream`, one behind the other.
pub(super) fn write(head: &Head, stream: &[u8]) -> Vec<u8> {
    let blocks = head.stretches.len();
    let mut bytes = Vec::with_capacity(blocks * BLOCK);
    for index in 0..blocks {
        let start = bytes.len();
        bytes.extend_from_slice(&stream[head.stretches[index].range()]);
        let end = start + head.block_len(index) - head.level.parity() - BLOCK_CHECK;
        bytes.resize(end, 0);
        let check = header_check(&bytes[start..]);
        bytes.extend(check);
        bytes.resize(end + BLOCK_CHECK + head.level.parity(), 0);
        if let Some(code) = code(head.level) {
            // Every block holds at least its check beside the parity and at most 255 bytes.
            let _ = code.encode(&mut bytes[start..]);
        }
    }
    bytes
}

/// A block as it was read.
pub(super) struct Block {
    pub(super) fate: Fate,
    /// The bytes of the stream, put right if `fate` says so, else as they arrived.
    bytes: [u8; BLOCK],
}

impl Block {
    /// The first `len` bytes.
    pub(super) fn data(&self, len: usize) -> &[u8] {
        &self.bytes[..len.min(BLOCK)]
    }
}

/// Reads block `index`, which begins at byte `start` of `payload`.
///
/// Bytes that were cut off are erasures: parity may bring them back.
pub(super) fn read(head: &Head, index: usize, payload: &Payload, start: usize) -> Block {
    let len = head.block_len(index);
    let mut bytes = [0; BLOCK];
    let start = start.min(payload.len());
    let here = (payload.len() - start).min(len);
    bytes[..here].copy_from_slice(&payload.slice(start..start + here));
    let fate = if here == 0 {
        Fate::Missing
    } else {
        correct(&mut bytes[..len], here, head.level)
            .map_or(if here < len { Fate::Missing } else { Fate::Failed }, Fate::Good)
    };
    Block { fate, bytes }
}

/// Puts a block right whose bytes from `here` on are missing; gives the corrected symbols.
fn correct(block: &mut [u8], here: usize, level: Level) -> Option<u8> {
    let received = {
        let mut copy = [0; BLOCK];
        copy[..block.len()].copy_from_slice(block);
        copy
    };
    let errors = match code(level) {
        None if here < block.len() => return None,
        None => 0,
        Some(code) => {
            let erased: Vec<u8> = (here..block.len()).map(|at| at as u8).collect();
            code.decode(block, &erased).ok()?.errors
        }
    };
    let end = block.len() - level.parity();
    let (data, check) = block[..end].split_at(end - BLOCK_CHECK);
    if header_check(data) == check {
        return Some(errors as u8);
    }
    // What arrived may still be of use to somebody; what the decoder made of it is not.
    block.copy_from_slice(&received[..block.len()]);
    None
}
