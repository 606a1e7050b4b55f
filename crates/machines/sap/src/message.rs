//! Messages that applications send and receive.

use core::ops::Range;

use bytes::Bytes;

/// The transmission mode of a message; a socket starts in precise mode (S0.17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Exact, in order, acknowledged and retransmitted.
    #[doc(alias = "msgReliable")]
    #[default]
    Precise,
    /// Sent once, without retransmission; exact only in its first bytes.
    Approximate {
        /// The number of protected bytes at the front.
        #[doc(alias = "msgChecksumLen")]
        protected: usize,
    },
    /// Sent once, without retransmission; exact in these ranges, at most eight after joining those
    /// that touch.
    Ranges(Vec<Range<usize>>),
}

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The stream; precise messages keep their order within a stream, and streams do not block each
    /// other.
    pub stream: u16,
    /// The mode of transmission.
    pub mode: Mode,
    /// The bytes of the message.
    pub data: Bytes,
}

impl Message {
    /// Creates a message on stream 0.
    #[must_use]
    pub fn new(mode: Mode, data: impl Into<Bytes>) -> Self {
        Self { stream: 0, mode, data: data.into() }
    }
}

/// The kind of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A precise message, in order.
    Precise,
    /// An approximate message, as it arrived.
    Approximate,
    /// Exact ranges of an earlier approximate message, in reply to [`SapEndpoint::repair`]; no
    /// ranges if the sender no longer has the message. Answers to no request are dropped.
    ///
    /// [`SapEndpoint::repair`]: crate::SapEndpoint::repair
    Repair,
}

/// Knowledge about the bytes that no checksum covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Integrity {
    /// A check covered every byte and succeeded.
    Intact,
    /// No check covers the bytes outside the protected ranges.
    #[default]
    Unknown,
    /// Each of these ranges, in order, holds at least one bit error; all other bytes are intact.
    Suspect(Vec<Range<usize>>),
}

/// A received message, and the known damage to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The stream that it belongs to.
    pub stream: u16,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The sequence number within its stream and kind. A gap in the numbers of approximate messages
    /// is a loss, a decrease is reordering.
    pub number: u32,
    /// The bytes; of a repair, those of the ranges in `exact`, concatenated.
    pub data: Bytes,
    /// The ranges that are known to be exact, in order.
    pub exact: Vec<Range<usize>>,
    /// The knowledge about the other bytes that arrived.
    pub integrity: Integrity,
    /// The ranges that did not arrive, in order, and are zeros; only an approximate message that is
    /// longer than a datagram can have them.
    pub missing: Vec<Range<usize>>,
}
