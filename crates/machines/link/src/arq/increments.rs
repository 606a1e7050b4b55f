//! Incremental redundancy: parity of a packet in place of another copy.
//!
//! A packet and its CRC-32 are interleaved over as few blocks as possible of a mother code RS(k +
//! 128, k), k ≤ 127. The first attempt carries only the packet; further attempts carry the next
//! parity symbols of every block. Symbols that were not sent are erasures for the decoder, so any
//! received symbols are useful, even damaged ones. Neighbouring bytes belong to different blocks,
//! which spreads a burst.

mod choice;
mod store;

use std::sync::OnceLock;

use windfall_base::Payload;
use windfall_fec::ReedSolomon;
use windfall_wire_link::check::frame_check;

pub(super) use choice::{Choice, LEVELS, fits};
pub(super) use store::{Increment, IncrementStore};

/// The number of parity symbols of the mother code.
pub(super) const PARITY: usize = 128;
/// The maximum number of data symbols in a block.
const DATA: usize = 255 - PARITY;
/// The length of the CRC-32 of the packet, which is never sent.
const CHECK_LEN: usize = 4;

/// The mother code; `None` never happens, since its parity is legal.
fn code() -> Option<&'static ReedSolomon> {
    static CODE: OnceLock<Option<ReedSolomon>> = OnceLock::new();
    CODE.get_or_init(|| ReedSolomon::new(PARITY).ok()).as_ref()
}

/// Returns the number of blocks of a packet of `len` bytes.
pub(super) const fn blocks(len: usize) -> usize {
    (len + CHECK_LEN).div_ceil(DATA)
}

/// Returns the number of data symbols of block `block` of a packet of `len` bytes, CRC included.
const fn data_len(len: usize, block: usize) -> usize {
    (len + CHECK_LEN - block).div_ceil(blocks(len))
}

/// Returns the number of parity symbols of each block that restore a packet of `len` bytes without
/// a copy.
pub(super) const fn enough_alone(len: usize) -> usize {
    data_len(len, 0)
}

/// Returns all parity of a packet: the first symbols of all blocks, then the second ones, and so
/// on.
pub(super) fn parity_of(packet: &Payload) -> Vec<u8> {
    let [head, body] = packet.slices();
    let stream = [head, body, &frame_check(&[head, body])[..]].concat();
    let blocks = blocks(packet.len());
    let mut parity = vec![0; blocks * PARITY];
    let mut buffer = Vec::with_capacity(DATA + PARITY);
    for block in 0..blocks {
        buffer.clear();
        buffer.extend(stream.iter().skip(block).step_by(blocks));
        let data = buffer.len();
        buffer.resize(data + PARITY, 0);
        if let Some(code) = code() {
            // The length is legal: at most 127 symbols before the parity.
            let _ = code.encode(&mut buffer);
        }
        for (place, symbol) in buffer[data..].iter().enumerate() {
            parity[place * blocks + block] = *symbol;
        }
    }
    parity
}

/// Restores a packet from a damaged copy, an earlier copy if there is one, and the received parity,
/// in which missing symbols are `None`. Returns `None` if there is too much damage.
fn decode(copy: &[u8], earlier: Option<&[u8]>, parity: &[Option<u8>]) -> Option<Vec<u8>> {
    let blocks = blocks(copy.len());
    let mut stream = vec![0; copy.len() + CHECK_LEN];
    for block in 0..blocks {
        let corrected = earlier
            .and_then(|earlier| decode_block(copy, Kept::BesideEarlier(earlier), parity, block))
            .or_else(|| decode_block(copy, Kept::Alone, parity, block))
            .or_else(|| decode_block(copy, Kept::Nothing, parity, block))?;
        let places = stream.iter_mut().skip(block).step_by(blocks);
        places.zip(corrected).for_each(|(place, symbol)| *place = symbol);
    }
    let check = stream.split_off(copy.len());
    (frame_check(&[&stream])[..] == check[..]).then_some(stream)
}

/// The symbols of a damaged copy that are treated as erasures.
#[derive(Clone, Copy)]
enum Kept<'a> {
    /// The symbols that differ from the earlier copy.
    BesideEarlier(&'a [u8]),
    /// No received symbol.
    Alone,
    /// All symbols, because the parity suffices without the copy.
    Nothing,
}

/// Corrects one block.
fn decode_block(
    copy: &[u8],
    kept: Kept<'_>,
    parity: &[Option<u8>],
    block: usize,
) -> Option<Vec<u8>> {
    let blocks = blocks(copy.len());
    let data = data_len(copy.len(), block);
    let mut symbols = Vec::with_capacity(data + PARITY);
    let mut erased = Vec::new();
    for at in (0..data).map(|at| block + at * blocks) {
        let known = copy.get(at).copied();
        let is_erased = match kept {
            Kept::BesideEarlier(earlier) => earlier.get(at).copied() != known,
            Kept::Alone => false,
            Kept::Nothing => true,
        };
        if known.is_none() || is_erased {
            erased.push(symbols.len() as u8);
        }
        symbols.push(known.unwrap_or(0));
    }
    for symbol in parity.iter().skip(block).step_by(blocks) {
        if symbol.is_none() {
            erased.push(symbols.len() as u8);
        }
        symbols.push(symbol.unwrap_or(0));
    }
    code()?.decode(&mut symbols, &erased).ok()?;
    symbols.truncate(data);
    Some(symbols)
}

#[cfg(test)]
mod tests;
