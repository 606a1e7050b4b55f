//! The three peers: block codes by erasures, each with what it takes for whole.

use windfall_base::Stream;

use super::air::{Air, BYTES, HEADER, is_wrong};
use super::outcome::{Clock, Outcome};

/// Bytes of a sub-block, and of its check.
pub(super) const SUB_BLOCK: usize = 32;
pub(super) const CHECK: usize = 2;
/// The damaged sub-blocks of which one passes its check.
const FALSE: f64 = 1.0 / 65_536.0;

/// A block code: packets, and all frames of a block.
pub(super) type Code = (usize, usize);

/// Frames whose check fails are dropped, as wfb-ng does.
pub(super) fn dropping(air: &Air, k: usize, n: usize, blocks: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut clock = Clock::default();
    for block in 0..blocks {
        let is_good = |place: usize| {
            let added = air.frame(block * n + place, HEADER + BYTES);
            added.is_some_and(|added| !is_wrong(&added))
        };
        let good: Vec<bool> = (0..n).map(is_good).collect();
        let end = clock.block(k, n);
        let is_decoded = good.iter().filter(|it| **it).count() >= k;
        outcome.decoded(is_decoded, false);
        for (place, is_good) in good.iter().take(k).enumerate() {
            let ready = if *is_good { clock.arrival(place) } else { end };
            let right = if *is_good || is_decoded { BYTES } else { 0 };
            outcome.packet(&mut clock, place, ready, right, 0);
        }
    }
    outcome
}

/// Only the header has a check, and damaged packets go into the code as if they were whole, as
/// RubyFPV does.
pub(super) fn trusting(air: &Air, k: usize, n: usize, blocks: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut clock = Clock::default();
    for block in 0..blocks {
        let frames: Vec<Option<Vec<u8>>> = (0..n)
            .map(|place| {
                let added = air.frame(block * n + place, HEADER + BYTES)?;
                let header = added.get(..HEADER).unwrap_or_default();
                (!is_wrong(header)).then(|| added.get(HEADER..).unwrap_or_default().to_vec())
            })
            .collect();
        let end = clock.block(k, n);
        let used: Vec<&Vec<u8>> = frames.iter().flatten().take(k).collect();
        let is_decoded = used.len() == k;
        let lacks = frames.iter().take(k).any(Option::is_none);
        // A sum of the packets is wrong wherever one of them is.
        let at = |place: usize| used.iter().any(|it| it.get(place).is_some_and(|byte| *byte != 0));
        let made = if lacks && is_decoded { (0..BYTES).filter(|it| at(*it)).count() } else { 0 };
        outcome.decoded(is_decoded, made > 0);
        for (place, frame) in frames.iter().take(k).enumerate() {
            let (ready, wrong) = match frame {
                Some(added) => {
                    (clock.arrival(place), added.iter().filter(|byte| **byte != 0).count())
                }
                None if is_decoded => (end, made),
                None => (end, BYTES),
            };
            let passed = frame.is_some() || is_decoded;
            let unmarked = if passed { wrong } else { 0 };
            outcome.packet(&mut clock, place, ready, BYTES - wrong, unmarked);
        }
    }
    outcome
}

/// Sub-blocks with a check each, of which those in one place of all frames are a code word, as
/// devourer has them. What frame they are of is taken for known.
pub(super) fn sub_blocks(air: &Air, k: usize, n: usize, blocks: usize) -> Outcome {
    const ROWS: usize = BYTES / SUB_BLOCK;
    let mut outcome = Outcome::default();
    let mut clock = Clock::default();
    let mut draw: Stream = air.stream.at(u64::MAX);
    for block in 0..blocks {
        let mut passes = vec![[false; ROWS]; n];
        let mut deceives = vec![[false; ROWS]; n];
        for place in 0..n {
            let len = HEADER + ROWS * (SUB_BLOCK + CHECK);
            let Some(added) = air.frame(block * n + place, len) else { continue };
            for row in 0..ROWS {
                let start = HEADER + row * (SUB_BLOCK + CHECK);
                let found = added.get(start..start + SUB_BLOCK + CHECK).unwrap_or_default();
                deceives[place][row] = is_wrong(found) && draw.unit() < FALSE;
                passes[place][row] = !is_wrong(found) || deceives[place][row];
            }
        }
        let end = clock.block(k, n);
        let passes = &passes;
        let used = |row: usize| (0..n).filter(move |place| passes[*place][row]).take(k);
        let decoded: Vec<bool> = (0..ROWS).map(|row| used(row).count() == k).collect();
        let false_at = |row: usize| used(row).any(|place| deceives[place][row]);
        let poisoned: Vec<bool> = (0..ROWS).map(|row| decoded[row] && false_at(row)).collect();
        outcome.code_words += ROWS as u64;
        outcome.decoded += decoded.iter().filter(|it| **it).count() as u64;
        outcome.blocks += 1;
        outcome.poisoned += u64::from(poisoned.contains(&true));
        for place in 0..k {
            let is_whole = passes[place].iter().all(|it| *it);
            let ready = if is_whole { clock.arrival(place) } else { end };
            let mut right = 0;
            let mut wrong = 0;
            for row in 0..ROWS {
                let own = passes[place][row];
                let is_false = if own { deceives[place][row] } else { poisoned[row] };
                match own || decoded[row] {
                    true if is_false => wrong += SUB_BLOCK,
                    true => right += SUB_BLOCK,
                    false => {}
                }
            }
            outcome.packet(&mut clock, place, ready, right, wrong);
        }
    }
    outcome
}
