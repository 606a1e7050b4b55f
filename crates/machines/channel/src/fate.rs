//! The truth about one frame: what the air did to it.

use windfall_base::Frame;

/// The effect of the air on one frame (S3.3). Bit positions count from the first bit of the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FrameFate {
    /// It arrives as it was sent.
    #[default]
    Intact,
    /// It arrives, changed.
    Damaged {
        /// The bit from which on everything is missing; a byte that is cut in two is missing whole.
        truncated: Option<u32>,
        /// The inverted bits, ascending, all before the truncation.
        inverted: Vec<u32>,
    },
    /// It does not arrive, and no receiver noticed it.
    Lost,
    /// It overlapped with another frame at the receiver.
    Collided,
    /// It was in the air around the receiver, and yet no frame came of it.
    Missed(Missed),
}

/// Why a receiver made no frame of a radio signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Missed {
    /// The preamble was too weak, or too much was in the air.
    Preamble,
    /// The receiver followed another frame.
    Busy,
    /// The receiver left it for a stronger one.
    Captured,
    /// The station was transmitting itself.
    Transmitting,
    /// The SIGNAL field of OFDM was damaged.
    Signal,
    /// The check of the PLCP header of 802.11b failed.
    Plcp,
    /// The SERVICE field of OFDM was damaged where it sets the descrambler: noise came out.
    Service,
    /// Bits were wrong, and the model does not tell which.
    Payload,
}

impl Missed {
    /// The name in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preamble => "preamble",
            Self::Busy => "busy",
            Self::Captured => "captured",
            Self::Transmitting => "transmitting",
            Self::Signal => "signal",
            Self::Plcp => "plcp",
            Self::Service => "service",
            Self::Payload => "payload",
        }
    }
}

impl FrameFate {
    /// Returns `true` if a frame reaches the receiver at all.
    #[must_use]
    pub const fn arrives(&self) -> bool {
        matches!(self, Self::Intact | Self::Damaged { .. })
    }

    /// Counts the bits that were inverted.
    #[must_use]
    pub fn inverted(&self) -> &[u32] {
        match self {
            Self::Damaged { inverted, .. } => inverted,
            _ => &[],
        }
    }

    /// Returns the fate of a frame that meets this one and then `later`. A bit that both invert is
    /// whole.
    pub(crate) fn and_then(self, later: Self) -> Self {
        match (self, later) {
            (Self::Intact, later) => later,
            (
                Self::Damaged { truncated, mut inverted },
                Self::Damaged { truncated: later, inverted: more },
            ) => {
                let truncated = earlier_cut(truncated, later);
                inverted.extend(more);
                inverted.sort_unstable();
                cancel_pairs(&mut inverted);
                if let Some(bit) = truncated {
                    inverted.retain(|position| *position < bit / 8 * 8);
                }
                if inverted.is_empty() && truncated.is_none() {
                    return Self::Intact;
                }
                Self::Damaged { truncated, inverted }
            }
            (before, Self::Intact) => before,
            (Self::Damaged { .. }, later) => later,
            (before, _) => before,
        }
    }

    /// Does to `frame` what the fate says; a frame that does not arrive is left alone.
    ///
    /// An intact frame keeps sharing its bytes with every other holder.
    pub fn apply(&self, frame: &mut Frame) {
        if let Self::Damaged { truncated, inverted } = self {
            // Cutting first spares the copy of bytes that are thrown away.
            if let Some(bit) = truncated {
                frame.truncate(*bit as usize / 8);
            }
            if !inverted.is_empty() {
                frame.invert(inverted);
            }
        }
    }
}

/// Returns the first of the bits at which a frame is cut, if it is cut.
pub(crate) fn earlier_cut(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Removes each value that stands an even number of times in the sorted `positions`, and the
/// repetitions of the others.
pub(crate) fn cancel_pairs(positions: &mut Vec<u32>) {
    let mut kept = 0;
    let mut i = 0;
    while i < positions.len() {
        let value = positions[i];
        let run = positions[i..].iter().take_while(|&&p| p == value).count();
        if run % 2 == 1 {
            positions[kept] = value;
            kept += 1;
        }
        i += run;
    }
    positions.truncate(kept);
}

#[cfg(test)]
mod tests;
