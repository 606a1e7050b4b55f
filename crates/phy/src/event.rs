//! Error events: how wrong bits cluster, measured on the chains and drawn again.
//!
//! A decoder that errs errs in a burst, and between bursts all is well. So a stretch of bits is
//! described by the gaps between *events* and by what events look like inside. An event begins and
//! ends with a wrong bit and ends where [`guard`] right bits follow.
//!
//! - [`measure`] runs a chain at one ratio of signal to noise and describes its errors;
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
pub use table::{Point, RateTable, Tables};

/// Right bits in a row that end an event.
///
/// After six of them the paths of the convolutional code have met again. With 802.11b errors of
/// one word of eight bits reach seven bits further through the descrambler.
#[must_use]
pub const fn guard(rate: PhyRate) -> u32 {
    if rate.is_ofdm() { 6 } else { 15 }
}

/// The longest event; what is longer counts as several.
pub const LONGEST: u32 = 512;

/// Cuts ascending places of wrong bits into events: the slices of each.
pub fn events(places: &[u64], guard: u32) -> impl Iterator<Item = &[u64]> {
    let mut rest = places;
    core::iter::from_fn(move || {
        let first = *rest.first()?;
        let apart = |pair: &[u64]| {
            pair[1] - pair[0] > u64::from(guard) || pair[1] - first >= u64::from(LONGEST)
        };
        let end = rest.windows(2).position(apart).map_or(rest.len(), |last| last + 1);
        let (event, others) = rest.split_at(end);
        rest = others;
        Some(event)
    })
}

#[cfg(test)]
mod tests;
