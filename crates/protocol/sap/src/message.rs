//! Messages as applications send and receive them.

use core::ops::Range;

use bytes::Bytes;

/// How the next messages travel; a socket begins precise (S0.17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Exact, in order, acknowledged.
    #[doc(alias = "msgReliable")]
    #[default]
    Precise,
    /// At once or never; exact only in its first so many bytes.
    Approximate {
        /// How many bytes at the front are protected.
        #[doc(alias = "msgChecksumLen")]
        protected: usize,
    },
    /// At once or never; exact in these ranges, at most eight when those that touch are joined.
    Ranges(Vec<Range<usize>>),
}

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The stream; precise messages of one stream keep their order, streams do not wait for others.
    pub stream: u16,
    /// How it travels.
    pub mode: Mode,
    /// The bytes.
    pub data: Bytes,
}

impl Message {
    /// A message on stream 0.
    #[must_use]
    pub fn new(mode: Mode, data: impl Into<Bytes>) -> Self {
        Self { stream: 0, mode, data: data.into() }
    }
}

/// What a received message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A precise message, in its order.
    Precise,
    /// An approximate message, as it arrived.
    Approximate,
    /// Ranges of an earlier approximate message, exact, as [`SapEndpoint::repair`] asked for them;
    /// no ranges if the sender has forgotten the message.
    ///
    /// [`SapEndpoint::repair`]: crate::SapEndpoint::repair
    Repair,
}

/// What is known of the bytes of a message that no check covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Integrity {
    /// A check covered every byte and held.
    Intact,
    /// Nobody checked the bytes outside the protected ranges.
    #[default]
    Unknown,
    /// These ranges, in order, hold at least one wrong bit each; all other bytes are intact.
    Suspect(Vec<Range<usize>>),
}

/// A message that arrived, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The stream.
    pub stream: u16,
    /// What it is.
    pub kind: MessageKind,
    /// Its number among those of its stream and kind; a gap in the numbers of approximate messages
    /// is loss, a step back is reordering.
    pub number: u32,
    /// The bytes; for a repair, those of `exact` one after the other.
    pub data: Bytes,
    /// The ranges that are certainly exact, in order.
    pub exact: Vec<Range<usize>>,
    /// What is known of the other bytes.
    pub integrity: Integrity,
}
