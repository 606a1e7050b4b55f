//! Wire formats at and below the link: bits on the air, without any state.
//!
//! - [`check`]: the frame check sequence and the header checks.
//! - [`pipe`]: what a link puts before and after a packet: plain frames, numbered frames, units of
//!   a stop-and-wait exchange, probes and acknowledgements.
//! - [`coded`]: frames of coded blocks, and the report of each block.
//! - [`repair`]: what stands behind packets that a code across packets covers, and its repairs.
//! - [`ieee80211`]: rates, timing and frames of 802.11b/g.
//! - [`wavelan`]: who speaks to whom on a polled medium, and the immediate ACK.
//! - [`hdlc`] and [`ppp`]: frames on serial lines, and PPP's control packets in them.
//! - [`rlp`] and [`l2r`]: frames of GSM's Radio Link Protocol, and the characters in them.
//! - [`v110`] and [`trau`]: rate adaption, and frames behind a GSM base station.
//!
//! Multi-byte fields stand in network byte order, except the frame check, which is sent least
//! significant byte first as in IEEE 802. Parsers take any bytes and never panic.

pub mod check;
pub mod coded;
pub mod hdlc;
pub mod ieee80211;
pub mod l2r;
pub mod pipe;
pub mod ppp;
pub mod repair;
pub mod rlp;
pub mod trau;
pub mod v110;
pub mod wavelan;

use thiserror::Error;

/// Why bytes are not the header that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The header ends before its last field.
    #[error("the header ends after {have} bytes, but its kind needs {need}")]
    Short {
        /// Bytes that are there.
        have: usize,
        /// Bytes that the kind of frame needs.
        need: usize,
    },
    /// The header's own check failed.
    #[error("the header check failed")]
    Check,
    /// The header's check held, but no frame has this kind.
    #[error("frame kind {0} does not exist")]
    Kind(u8),
    /// The header's check held, but a field has a value that no sender writes.
    #[error("the field {0} has an illegal value")]
    Field(&'static str),
}

/// Returns `bit` if the flag that it stands for is set, and 0 otherwise.
pub(crate) const fn flag(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
