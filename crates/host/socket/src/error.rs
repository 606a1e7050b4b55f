//! Errors of SAP sockets.

use std::io;
use std::net::SocketAddr;

use windfall_sap::{CloseReason, SapSendError, Undelivered};

/// The error of a call on a SAP socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SapError {
    /// The operating system reports an error.
    #[error("{what}: {source}")]
    System {
        /// The failed operation.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The message was rejected.
    #[error(transparent)]
    Send(#[from] SapSendError),
    /// The connection has ended.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The socket's timeout has expired.
    #[error("nothing came in time")]
    TimedOut,
    /// No message is there, and the call does not wait.
    #[error("no message is there")]
    WouldBlock,
    /// The check of the application failed; the message is dropped.
    #[error("the check of a message failed")]
    Check,
    /// The peer has not acknowledged the end of this direction.
    #[error("{}", unfinished(.left, *.here, *.there, *.reason))]
    Unfinished {
        /// The messages that the peer may lack.
        left: Undelivered,
        /// The address of this end.
        here: SocketAddr,
        /// The address of the peer.
        there: SocketAddr,
        /// The reason for which the wait ended.
        reason: UnfinishedReason,
    },
    /// The address cannot belong to a host.
    #[error("{0} is no address")]
    Address(String),
    /// The host name cannot be resolved.
    #[error("cannot find the address: {0}")]
    Name(#[source] io::Error),
}

/// The reason for which a wait for the end of a direction was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnfinishedReason {
    /// The connection has ended.
    Closed(CloseReason),
    /// There was no progress: nothing was acknowledged or sent for the first time.
    Stalled,
    /// The socket's timeout has expired.
    TimedOut,
}

fn unfinished(
    left: &Undelivered,
    here: SocketAddr,
    there: SocketAddr,
    reason: UnfinishedReason,
) -> String {
    let why = match reason {
        UnfinishedReason::Closed(reason) => reason.to_string(),
        UnfinishedReason::Stalled => "nothing more was acknowledged in time".to_owned(),
        UnfinishedReason::TimedOut => "the timeout of the socket has expired".to_owned(),
    };
    match left.messages {
        0 => format!("{there} has not confirmed the end of what {here} sent: {why}"),
        1 => format!(
            "1 message ({} bytes) from {here} was not delivered to {there}: {why}",
            left.bytes
        ),
        many => format!(
            "{many} messages ({} bytes) from {here} were not delivered to {there}: {why}",
            left.bytes
        ),
    }
}

impl SapError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what: what.into(), source }
    }
}
