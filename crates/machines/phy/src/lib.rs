//! The physical layers of 802.11b/g on bits; pure, without time or place.
//!
//! - [`formula`]: the chance that a stretch of bits comes through, by the NIST model for OFDM and
//!   the usual formulas for DSSS and CCK: whole frames, quick, comparable with other simulators.
//! - [`soft`]: how sure a receiver is of bytes whose errors are drawn.
//! - [`decibel`]: ratios and powers, in decibels and as they are.

pub mod decibel;
pub mod dsss;
pub mod event;
pub mod formula;
pub mod noise;
pub mod ofdm;
pub mod soft;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
