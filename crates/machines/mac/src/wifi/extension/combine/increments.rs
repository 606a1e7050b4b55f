//! Incremental redundancy: further parity for a damaged frame, in place of another copy.
//!
//! A second code covers the bytes that all copies of a frame share, including the frame's own
//! parity. Its blocks are interleaved as in a frame. Parity that was not sent is an erasure. The
//! receiver requests parity up to a level: it knows the reliability of its bytes, and so roughly
//! the number of wrong symbols in each block.

use std::sync::OnceLock;

use windfall_fec::ReedSolomon;
use windfall_fec::votes::{self, UNKNOWN, Votes};
use windfall_wire_link::ieee80211::Increment;
use windfall_wire_link::ieee80211::coding::LEVELS;

use super::super::coding;

/// Parity symbols of the second code.
const PARITY: usize = LEVELS[LEVELS.len() - 1];
/// The maximum number of data symbols in a block.
const DATA: usize = 255 - PARITY;
/// The margin of a symbol that arrived in a frame with a right FCS.
const SURE: u16 = 255;
/// Steps of a margin for each unit of the logarithm of odds.
const STEPS: f64 = 8.0;
/// The number of standard deviations above the expected number of wrong symbols for which parity is
/// requested.
const CAUTION: f64 = 1.5;
/// The level of the first increment if the reliability of the bytes is unknown.
const FIRST_UNKNOWN: u8 = 2;

/// The second code; `None` never happens, since its parity is legal.
fn code() -> Option<&'static ReedSolomon> {
    static CODE: OnceLock<Option<ReedSolomon>> = OnceLock::new();
    CODE.get_or_init(|| ReedSolomon::new(PARITY).ok()).as_ref()
}

/// Returns the number of blocks for `len` bytes.
const fn blocks(len: usize) -> usize {
    len.div_ceil(DATA)
}

/// Returns the length of an increment for a frame with `len` bytes before its marks.
pub(in super::super) fn len_of(increment: Increment, len: usize) -> usize {
    increment.symbols().len() * blocks(len)
}

/// Returns the symbols of an increment: first symbol of all blocks, then the second, and so on.
pub(in super::super) fn symbols_of(increment: Increment, word: &[u8]) -> Vec<u8> {
    let Some(code) = code() else { return Vec::new() };
    let (all, blocks, symbols) =
        (coding::parity_of(code, word), blocks(word.len()), increment.symbols());
    all[symbols.start * blocks..symbols.end * blocks].to_vec()
}

/// The parity received so far for a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Parity {
    /// All symbols; empty before the first increment.
    symbols: Vec<u8>,
    /// The margin of each symbol; zero for symbols that have not been received.
    margins: Vec<u16>,
    /// The level up to which parity has been received.
    level: u8,
}

impl Parity {
    /// Stores the symbols of an increment for a frame of `len` bytes. `is_good` tells whether the
    /// increment's FCS is right. The caller has checked that the number of symbols matches.
    pub(super) fn take(
        &mut self,
        increment: Increment,
        (symbols, sure): (&[u8], Option<&[u8]>),
        is_good: bool,
        len: usize,
    ) {
        self.symbols.resize(blocks(len) * PARITY, 0);
        self.margins.resize(blocks(len) * PARITY, 0);
        let first = increment.symbols().start * blocks(len);
        self.symbols[first..][..symbols.len()].copy_from_slice(symbols);
        let margin = |at: usize| match sure.and_then(|sure| sure.get(at)) {
            _ if is_good => SURE,
            Some(known) => u16::from(*known).max(1),
            None => UNKNOWN.into(),
        };
        let margins = &mut self.margins[first..][..symbols.len()];
        margins.iter_mut().enumerate().for_each(|(at, it)| *it = margin(at));
        self.level = self.level.max(increment.last);
    }

    /// Corrects the bytes of a frame as far as possible, and returns `true` if all blocks were
    /// corrected.
    pub(super) fn correct(&self, votes: &mut Votes) -> bool {
        let Some(code) = code().filter(|_| !self.symbols.is_empty()) else { return false };
        let len = votes.bytes.len();
        let count = blocks(len);
        let mut all = true;
        for number in 0..count {
            let own = (number..self.symbols.len()).step_by(count);
            let data = (number..len).step_by(count);
            let pick = |from: &[u8]| data.clone().map(|at| from[at]).collect::<Vec<_>>();
            let mut block = pick(&votes.bytes);
            let mut margins: Vec<u16> = data.clone().map(|at| votes.margins[at]).collect();
            let known = block.len();
            block.extend(own.clone().map(|at| self.symbols[at]));
            margins.extend(own.map(|at| self.margins[at]));
            let missing: Vec<u8> =
                (known..block.len()).filter(|at| margins[*at] == 0).map(|at| at as u8).collect();
            let others = core::iter::empty();
            if votes::correct(code, &mut block, &margins, &missing, others).is_none() {
                all = false;
                continue;
            }
            for (at, byte) in data.zip(block) {
                votes.bytes[at] = byte;
            }
        }
        all
    }

    /// Returns the level up to which parity should restore a frame; `None` if none should. If
    /// `is_known` is not set, the margins carry no information.
    pub(super) fn wanted(&self, votes: &Votes, is_known: bool) -> Option<u8> {
        let places = self.level + 1..LEVELS.len() as u8;
        if !is_known {
            return places.into_iter().find(|place| *place >= FIRST_UNKNOWN);
        }
        let count = blocks(votes.bytes.len());
        let mut most = 0.0_f64;
        let mut shares = 0.0;
        for number in 0..count {
            let mut mean = 0.0;
            let mut variance = 0.0;
            for margin in votes.margins.iter().skip(number).step_by(count) {
                let wrong = 1.0 / (1.0 + (f64::from(*margin) / STEPS).exp());
                mean += wrong;
                variance += wrong * (1.0 - wrong);
            }
            most = most.max(mean + CAUTION * variance.sqrt());
            shares += mean;
        }
        // Received parity symbols are wrong as often as received data symbols.
        let share = (shares / votes.bytes.len().max(1) as f64).min(0.4);
        let least = 2.0 * most / (1.0 - 2.0 * share);
        places.into_iter().find(|place| LEVELS[usize::from(*place)] as f64 >= least)
    }
}

#[cfg(test)]
mod tests;
