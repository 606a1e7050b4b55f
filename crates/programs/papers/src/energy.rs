//! The experiments of paper 002: Agarwal, *Conserving Energy in TCP for Mobile Ad-Hoc Networks*.
//!
//! Some are about what the paper says of TCP itself; those of section 5 run its two laptops over
//! 802.11b, and ask their energy model how long the batteries last.

mod acknowledgments;
mod best;
mod compression;
mod interference;
mod laptops;
mod lifetimes;
mod lookup;
mod options;
mod quality;
mod segment_size;
mod stretch;
#[cfg(test)]
mod tests;
mod trailer;

use crate::experiment::Figure;

/// The figures of paper 002, in its order.
pub const FIGURES: &[Figure] = &[
    stretch::FIGURE,
    lookup::FIGURE,
    trailer::FIGURE,
    lifetimes::FIGURE,
    segment_size::FIGURE,
    options::FIGURE,
    best::FIGURE,
    interference::FIGURE,
    quality::FIGURE,
    acknowledgments::FIGURE,
    compression::FIGURE,
];
