//! The experiments of paper 004: Welzl, Rossi, Fumagalli and Tacca, *TCP/IP over IEEE 802.11b
//! WLAN: the Challenge of Harnessing Known-Corrupt Data*, and three of our own: a map of
//! channels on which damaged frames are of worth, one-way video, and rate and code chosen together.

mod benefits;
mod fpv;
mod joint;
mod map;
mod tables;
mod walks;

use crate::experiment::Figure;

/// The figures of paper 004 and beyond it.
pub const FIGURES: &[Figure] =
    &[tables::FIGURE, benefits::FIGURE, map::FIGURE, fpv::FIGURE, joint::FIGURE];
