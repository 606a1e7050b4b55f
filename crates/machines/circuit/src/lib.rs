//! Circuits: bytes in and bytes out.
//!
//! - [`rlp`]: GSM data (3GPP TS 44.022 and its neighbours).
//! - [`ppp`]: serial lines (RFC 1661, 1662).

pub mod ppp;
pub mod rlp;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
