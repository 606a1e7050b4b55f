//! What can go wrong, by name.

use windfall_wire_net::sap::Reason;

/// Why a message was not taken; the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SapSendError {
    /// There is no such connection, or it has ended.
    #[error("the connection is not open")]
    NotOpen,
    /// The application has said that it sends no more.
    #[error("nothing can be sent after the end was announced")]
    Finished,
    /// The message is longer than one datagram of this path carries.
    #[error("a message of {len} bytes is too long for this path; {most} bytes fit")]
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The greatest length in bytes.
        most: usize,
    },
    /// More bytes should be exact than the message has.
    #[error("{protected} protected bytes are more than the message's {len}")]
    Protection {
        /// Bytes to protect, or the end of the last range.
        protected: usize,
        /// The length of the message in bytes.
        len: usize,
    },
    /// The message names more ranges than a datagram can.
    #[error("{found} separate ranges are more than the {most} that a message can have")]
    Ranges {
        /// Ranges after joining those that touch.
        found: usize,
        /// The greatest number.
        most: usize,
    },
    /// A tolerance for bit errors is no rate.
    #[error("a tolerance for bit errors lies between 0 and 0.5")]
    Tolerance,
    /// The send buffer is full: wait for [`SapEvent::Writable`](crate::SapEvent::Writable).
    #[error("the send buffer is full")]
    Full,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Both ends have finished, or this one has closed.
    #[error("the connection was closed")]
    Closed,
    /// The other end closed before this one had finished.
    #[error("the other end closed the connection")]
    ClosedByPeer,
    /// The other end did not answer the ping.
    #[error("the other end does not answer")]
    NoAnswer,
    /// The other end has fallen silent.
    #[error("the other end has fallen silent")]
    TimedOut,
    /// The other end refused.
    #[error("the other end refused: {}", name(*.0))]
    Refused(Reason),
    /// The system refused to send.
    #[error("the other end cannot be reached")]
    Unreachable,
}

const fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::Closed => "it has closed",
        Reason::Version => "it speaks another version of SAP",
        Reason::Busy => "it has too many connections",
        Reason::Key => "the keys do not agree",
        Reason::NotListening => "nobody listens there",
    }
}
