//! The experiments of paper 004: Welzl, Rossi, Fumagalli and Tacca, *TCP/IP over IEEE 802.11b
//! WLAN: the Challenge of Harnessing Known-Corrupt Data*.

mod benefits;
mod map;
mod tables;
mod walks;

use windfall_experiment::Figure;

/// The figures of paper 004.
pub const FIGURES: &[Figure] = &[tables::FIGURE, benefits::FIGURE, map::FIGURE];
