//! Votes of copies on each bit, each with the weight of how sure its byte is.
//!
//! The sum of the votes says what a bit most likely is, and by what *margin*. A block is then
//! decoded with more and more of its least sure symbols as erasures, and of what comes out that is
//! taken which goes against the least margin (generalised minimum distance decoding: G. D. Forney,
//! IEEE Transactions on Information Theory 12, 1966).

use crate::reed_solomon::{Corrected, ReedSolomon};

/// The weight of a byte of which nothing is known.
pub const UNKNOWN: u8 = 16;

/// Numbers of erasures that are tried beside none.
const TRIALS: usize = 8;

/// A copy and, where the receiver knows it, how sure each of its bytes is.
///
/// A reliability is the logarithm of the odds that the byte is right, in eighths.
#[derive(Clone, Copy, Debug)]
pub struct Ballot<'a> {
    /// The bytes of the copy.
    pub bytes: &'a [u8],
    /// The reliability of each byte; missing ones are unknown.
    pub reliability: Option<&'a [u8]>,
}

impl Ballot<'_> {
    fn weight(&self, at: usize) -> i32 {
        let known = self.reliability.and_then(|all| all.get(at));
        // A vote without any weight would leave a lone copy without a value.
        i32::from(*known.unwrap_or(&UNKNOWN)).max(1)
    }
}

/// The outcome of a vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Votes {
    /// The most likely bytes; of a draw those of the first copy.
    pub bytes: Vec<u8>,
    /// The least margin of the bits of each byte.
    pub margins: Vec<u16>,
}

/// Counts the votes of copies, all of the length of the first.
#[must_use]
pub fn count(ballots: &[Ballot<'_>]) -> Votes {
    let Some((first, others)) = ballots.split_first() else { return Votes::default() };
    let byte = |at: usize| {
        let value = first.bytes[at];
        let all = ballots.iter().filter(|ballot| ballot.bytes.len() == first.bytes.len());
        let total: i32 = all.clone().map(|ballot| ballot.weight(at)).sum();
        if !others.iter().any(|ballot| ballot.bytes.get(at).is_some_and(|it| *it != value)) {
            return (value, total);
        }
        (0..8).fold((value, total), |(value, least), bit| {
            let mask = 1 << bit;
            let against = all.clone().filter(|it| (it.bytes[at] ^ first.bytes[at]) & mask != 0);
            let sum = total - 2 * against.map(|ballot| ballot.weight(at)).sum::<i32>();
            (if sum < 0 { value ^ mask } else { value }, least.min(sum.abs()))
        })
    };
    let (bytes, margins) = (0..first.bytes.len())
        .map(byte)
        .map(|(value, margin)| (value, u16::try_from(margin).unwrap_or(u16::MAX)))
        .unzip();
    Votes { bytes, margins }
}

/// Corrects a block whose symbols have these margins; `others` are further guesses at it.
///
/// Of all codewords that come out it takes the one that goes against the least margin in all.
/// Symbols that have not come are those `missing`; their margins are to be zero.
pub fn correct(
    code: &ReedSolomon,
    block: &mut [u8],
    margins: &[u16],
    missing: &[u8],
    others: impl Iterator<Item = Vec<u8>>,
) -> Option<Corrected> {
    let known = (0..block.len().min(margins.len())).map(|at| at as u8);
    let mut order: Vec<u8> = known.filter(|at| !missing.contains(at)).collect();
    order.sort_by_key(|at| margins[usize::from(*at)]);
    let room = code.parity().saturating_sub(missing.len());
    let cost = |made: &[u8]| -> u64 {
        let changed = made.iter().zip(&*block).zip(margins).filter(|((new, old), _)| new != old);
        changed.map(|(_, margin)| u64::from(*margin)).sum()
    };
    let mut best: Option<(u64, Vec<u8>)> = None;
    let mut try_one = |mut guess: Vec<u8>, erased: &[u8]| -> Option<usize> {
        let corrected = code.decode(&mut guess, erased).ok()?;
        let cost = cost(&guess);
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, guess));
        }
        Some(corrected.errors)
    };
    // A codeword as it stands needs no second thought.
    if try_one(block.to_vec(), missing) != Some(0) {
        let step = room.div_ceil(TRIALS).max(2);
        for count in (step..=room.min(order.len())).step_by(step) {
            try_one(block.to_vec(), &[missing, &order[..count]].concat());
        }
        others.for_each(|guess| _ = try_one(guess, missing));
    }
    let (_, made) = best?;
    let errors = made.iter().zip(&*block).filter(|(new, old)| new != old).count();
    block.copy_from_slice(&made);
    Some(Corrected { errors, erasures: 0 })
}

#[cfg(test)]
mod tests;
