//! Incremental redundancy: parity of a packet in place of another copy of it.
//!
//! A packet and its CRC-32 are dealt out to as few blocks as have room for the symbols of a mother
//! code RS(k + 128, k), k ≤ 127. The first attempt is the packet alone; further ones carry the next
//! parity symbols of every block. What was not sent is an erasure to the decoder, so that any
//! symbols that arrive are as good as any others, damaged ones among them. Neighbouring bytes
//! belong to different blocks, which spreads a burst.

mod choice;
mod store;

use std::sync::OnceLock;

use windfall_base::Payload;
use windfall_fec::ReedSolomon;
use windfall_wire_link::check::frame_check;

pub(super) use choice::{Choice, LEVELS, fits};
pub(super) use store::{Increment, IncrementStore};

/// Parity symbols of the mother code.
pub(super) const PARITY: usize = 128;
/// Data symbols of a block at most.
const DATA: usize = 255 - PARITY;
/// Bytes of the CRC-32 after the packet, which are never sent.
const CHECK_LEN: usize = 4;

/// The mother code; `None` never happens, since its parity is legal.
fn code() -> Option<&'static ReedSolomon> {
    static CODE: OnceLock<Option<ReedSolomon>> = OnceLock::new();
    CODE.get_or_init(|| ReedSolomon::new(PARITY).ok()).as_ref()
}

/// The blocks of a packet of `len` bytes.
pub(super) const fn blocks(len: usize) -> usize {
    (len + CHECK_LEN).div_ceil(DATA)
}

/// Data symbols of block `block` of a packet of `len` bytes, its check among them.
const fn data_len(len: usize, block: usize) -> usize {
    (len + CHECK_LEN - block).div_ceil(blocks(len))
}

/// Symbols of the parity of each block that make a packet of `len` bytes without any copy of it.
pub(super) const fn enough_alone(len: usize) -> usize {
    data_len(len, 0)
}

/// Returns all parity of a packet: the symbols of a place of all blocks, one place after the other.
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

/// Restores a packet from a damaged copy, an earlier one if there is one, and the received parity,
/// with `None` for missing symbols; `None` if the damage is too much for that.
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

/// The symbols of a damaged copy that are taken for erasures.
#[derive(Clone, Copy)]
enum Kept<'a> {
    /// Symbols in which an earlier copy differs.
    BesideEarlier(&'a [u8]),
    /// No received symbol.
    Alone,
    /// All symbols: the parity is enough by itself.
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
