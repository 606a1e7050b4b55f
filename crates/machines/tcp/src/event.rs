//! The events of a connection, and the reasons why it ends.

/// Something that happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpEvent {
    /// Both ends are synchronised.
    Connected,
    /// Both ends are synchronised; the peer opened the connection.
    Accepted,
    /// There is data to read.
    Readable,
    /// There is room to write again.
    Writable,
    /// The peer has sent FIN; data before it can still be read.
    PeerFinished,
    /// The connection is over.
    Closed(Option<TcpError>),
}

/// Why a connection ended other than by FIN from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TcpError {
    /// No socket listens at the peer's port.
    #[error("the connection was refused")]
    Refused,
    /// The peer reset the connection.
    #[error("the connection was reset by the peer")]
    Reset,
    /// The peer does not answer.
    #[error("the connection timed out")]
    TimedOut,
    /// This end gave it up.
    #[error("the connection was aborted")]
    Aborted,
}

/// Why an operation on a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UseError {
    /// No connection has this name; it was released.
    #[error("no such connection")]
    Unknown,
    /// This end has finished sending.
    #[error("this end of the connection is closed for writing")]
    Finished,
    /// The connection is over.
    #[error("the connection is over: {0}")]
    Over(TcpError),
}

/// Events that have happened and were not fetched; one of each kind is enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signals(u8);

impl Signals {
    pub(crate) const CONNECTED: u8 = 1;
    pub(crate) const READABLE: u8 = 2;
    pub(crate) const WRITABLE: u8 = 4;
    pub(crate) const FINISHED: u8 = 8;
    pub(crate) const CLOSED: u8 = 16;

    pub(crate) const fn raise(&mut self, signal: u8) {
        self.0 |= signal;
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn take(&mut self, error: Option<TcpError>) -> Option<TcpEvent> {
        let lowest = self.0 & self.0.wrapping_neg();
        self.0 &= !lowest;
        match lowest {
            Self::CONNECTED => Some(TcpEvent::Connected),
            Self::READABLE => Some(TcpEvent::Readable),
            Self::WRITABLE => Some(TcpEvent::Writable),
            Self::FINISHED => Some(TcpEvent::PeerFinished),
            Self::CLOSED => Some(TcpEvent::Closed(error)),
            _ => None,
        }
    }
}
