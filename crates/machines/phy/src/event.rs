//! Error events: the clusters of bit errors, measured on the chains and drawn again.
//!
//! A decoder that errs errs in a burst, and between bursts all is well. So a stretch of bits is
//! described by the gaps between *events* and by what events look like inside. An event begins and
//! ends with a bit error and ends where [`guard`] right words follow.
//!
//! Where a receiver decides on several bits at once, on a code [`word`], errors keep to the words:
//! gaps are counted in words, and an event keeps its place within its first word.
//!
//! - [`measure()`] runs a chain at one ratio of signal to noise and describes its errors;
//! - [`Tables`] keeps those descriptions for every rate and ratio, in a file shipped with it;
//! - [`Sampler`] draws errors from them, one draw for each event.

mod file;
mod gaps;
mod measure;
mod sampler;
mod table;

use windfall_wire_link::ieee80211::PhyRate;

pub use file::TableError;
pub use gaps::GapLaw;
pub use measure::{Effort, Source, generate, measure};
pub use sampler::Sampler;
pub use table::{RateTable, TablePoint, Tables};

/// Returns the number of bits that the receiver of a rate decides on at once, aligned to the
/// beginning of the payload: those of a symbol of DQPSK or of a code word of CCK.
///
/// One elsewhere: the decoder of the convolutional code knows no words.
#[must_use]
pub const fn word(rate: PhyRate) -> u32 {
    match rate {
        PhyRate::Dsss2 => 2,
        PhyRate::Cck5_5 => 4,
        PhyRate::Cck11 => 8,
        _ => 1,
    }
}

/// Returns the number of right words in a row that end an event.
///
/// After six bits the paths of the convolutional code have met again. With 802.11b a wrong phase
/// damages the word behind as well, and the descrambler carries errors seven bits further.
#[must_use]
pub const fn guard(rate: PhyRate) -> u32 {
    if rate.is_ofdm() { 6 } else { 15_u32.div_ceil(word(rate)) }
}

/// The longest event in bits; a longer one counts as several.
pub const LONGEST: u32 = 512;

/// Cuts ascending places of bit errors into events, the slices of each: between two lie more than
/// `guard` words of `word` bits, counted from the first bit on.
pub fn events(places: &[u64], word: u32, guard: u32) -> impl Iterator<Item = &[u64]> {
    let mut rest = places;
    let word_of = move |place: u64| place / u64::from(word);
    core::iter::from_fn(move || {
        let first = *rest.first()?;
        let apart = |pair: &[u64]| {
            word_of(pair[1]) - word_of(pair[0]) > u64::from(guard)
                || pair[1] - first >= u64::from(LONGEST)
        };
        let end = rest.windows(2).position(apart).map_or(rest.len(), |last| last + 1);
        let (event, others) = rest.split_at(end);
        rest = others;
        Some(event)
    })
}

#[cfg(test)]
mod tests;
