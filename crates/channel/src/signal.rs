//! What a radio tells a station besides frames.

use windfall_base::{Failure, Input, Overheard};

/// A reception of a radio that is no frame: small, where an [`Input`] has the size of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The energy of others appears.
    Busy,
    /// It vanishes.
    Idle,
    /// The station's own frame has left.
    Done,
    /// A preamble was heard, and no header that made sense.
    NoHeader,
    /// There was a frame for somebody else.
    Overheard(Overheard),
}

impl From<Signal> for Input {
    #[inline]
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Busy => Self::CarrierBusy,
            Signal::Idle => Self::CarrierIdle,
            Signal::Done => Self::TransmissionDone,
            Signal::NoHeader => Self::ReceptionFailed(Failure::Header),
            Signal::Overheard(overheard) => Self::Overheard(overheard),
        }
    }
}
