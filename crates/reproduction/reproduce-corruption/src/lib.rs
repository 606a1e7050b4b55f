//! The experiments of paper 004: Welzl, Rossi, Fumagalli and Tacca, *TCP/IP over IEEE 802.11b
//! WLAN: the Challenge of Harnessing Known-Corrupt Data*, and two of our own on the worth of
//! damaged frames: a map of channels, and one-way video.

mod benefits;
mod fpv;
mod map;
mod tables;
mod walks;

use windfall_experiment::Figure;

/// The figures of paper 004 and beyond it.
pub const FIGURES: &[Figure] = &[tables::FIGURE, benefits::FIGURE, map::FIGURE, fpv::FIGURE];
