//! Errors of a connection and of its messages.

use windfall_wire_net::sap::Reason;

/// The reason for which a message was rejected; the connection stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SapSendError {
    /// The connection does not exist or has ended.
    #[error("the connection is not open")]
    NotOpen,
    /// The application has finished this direction.
    #[error("nothing can be sent after the end was announced")]
    Finished,
    /// The message is longer than messages may be, or does not fit into one datagram and the peer
    /// does not take messages in parts.
    #[error("a message of {len} bytes is too long; {most} bytes fit")]
    TooLong {
        /// The length in bytes.
        len: usize,
        /// The greatest length in bytes.
        most: usize,
    },
    /// The message is shorter than its protected part.
    #[error("{protected} protected bytes are more than the message's {len}")]
    Protection {
        /// Bytes to protect, or the end of the last range.
        protected: usize,
        /// The length of the message in bytes.
        len: usize,
    },
    /// The message has more ranges than a datagram can carry.
    #[error("{found} separate ranges are more than the {most} that a message can have")]
    Ranges {
        /// The number of ranges after joining those that touch.
        found: usize,
        /// The maximum number of ranges.
        most: usize,
    },
    /// The message would open another stream than the peer accepts.
    #[error("stream {stream} is one too many: a connection has {most} with precise messages")]
    Streams {
        /// The stream of the message.
        stream: u16,
        /// The maximum number of streams.
        most: usize,
    },
    /// The bit error rate of a tolerance is out of range.
    #[error("a tolerance for bit errors lies between 0 and 0.5")]
    Tolerance,
    /// The send buffer is full: wait for [`SapEvent::Writable`](crate::SapEvent::Writable).
    #[error("the send buffer is full")]
    Full,
}

/// The reason for which a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Both directions have finished, or this end has closed.
    #[error("the connection was closed")]
    Closed,
    /// The peer closed before this end had finished.
    #[error("the peer closed the connection")]
    ClosedByPeer,
    /// The peer did not answer the ping.
    #[error("the peer does not answer")]
    NoAnswer,
    /// The peer was silent for too long.
    #[error("the peer sent nothing for too long")]
    TimedOut,
    /// The peer refused the connection.
    #[error("the peer refused: {}", name(*.0))]
    Refused(Reason),
    /// The operating system reports the peer as unreachable.
    #[error("the peer is unreachable")]
    Unreachable,
    /// The peer's host says that no program receives at its port.
    #[error("no program receives at the peer's port")]
    PortClosed,
    /// The peer has acknowledged a packet that was never sent.
    #[error("the peer acknowledged what was never sent")]
    Violation,
    /// The peer has opened more streams than this end accepts.
    #[error("the peer opened too many streams")]
    StreamLimit,
    /// This end has reset the connection, which was idle or not accepted, in favour of a new one.
    #[error("the connection gave way to a new one")]
    Displaced,
}

const fn name(reason: Reason) -> &'static str {
    match reason {
        Reason::Closed => "it has closed",
        Reason::Version => "it speaks another version of SAP",
        Reason::Busy => "it has too many connections",
        Reason::Key => "the keys do not agree",
        Reason::NotListening => "it does not listen",
        Reason::Violation => "this end broke the protocol",
        Reason::StreamLimit => "this end opened too many streams",
    }
}
