//! What a receiver knows of the damage to a frame: never the truth, only what its checks say.

use core::ops::Range;

use bytes::Bytes;

/// The verdict of a check over some bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// No layer has checked them.
    #[default]
    Unchecked,
    /// A check covered them and held.
    Good,
    /// A check covered them and failed: somewhere in them bits are wrong.
    Bad,
}

/// The findings of the layers so far about the bytes of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The frame check over everything that the link carried.
    pub frame: Check,
    /// The link header's own check, where it has one.
    pub header: Check,
    /// Bytes known to be missing at the end, by a length in a header that held.
    pub missing: u32,
    /// Frames of the same sender right before this one that never arrived, as far as the numbers of
    /// the link tell; what was in them the link does not know.
    pub lost_before: u16,
    /// Symbols that an error-correcting code has put right.
    pub corrected: u32,
    /// Payload bytes that may be wrong, in order; empty while [`Check::Bad`] means "anywhere".
    pub suspect: Vec<Range<u32>>,
    /// The reliability of each byte of the frame as it arrived, from its header to its trailer: the
    /// logarithm of the odds that the byte is right, as the radio sees them, in eighths, at most
    /// 255. Unset where the radio does not know, where the frame check held, and above the link,
    /// which takes it off the frames that it passes up. Boxed: few frames have it, all are moved.
    pub reliability: Option<Box<Bytes>>,
}

impl Damage {
    /// No layer has found anything.
    pub const NONE: Self = Self {
        frame: Check::Unchecked,
        header: Check::Unchecked,
        missing: 0,
        lost_before: 0,
        corrected: 0,
        suspect: Vec::new(),
        reliability: None,
    };

    /// Returns `true` if any layer found an error that is not corrected.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.frame == Check::Bad || self.missing > 0 || !self.suspect.is_empty()
    }
}
