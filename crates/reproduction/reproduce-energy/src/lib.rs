//! The experiments of paper 002: Agarwal, *Conserving Energy in TCP for Mobile Ad-Hoc Networks*.
//!
//! Those that are here are about what the paper says of TCP itself.

mod lookup;
mod stretch;
#[cfg(test)]
mod tests;
mod trailer;

use windfall_experiment::Figure;

/// The figures of paper 002, in its order.
pub const FIGURES: &[Figure] = &[stretch::FIGURE, lookup::FIGURE, trailer::FIGURE];
