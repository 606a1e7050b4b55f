//! What can go wrong with a SAP socket.

use std::io;
use std::net::SocketAddr;

use windfall_sap::{CloseReason, SapSendError, Undelivered};

/// Why a call on a SAP socket failed.
#[derive(Debug, thiserror::Error)]
pub enum SapError {
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: String,
        /// Its answer.
        source: io::Error,
    },
    /// The message was not taken.
    #[error(transparent)]
    Send(#[from] SapSendError),
    /// The connection has ended.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The time that the socket may wait is over.
    #[error("nothing came in time")]
    TimedOut,
    /// The end of this direction was not confirmed.
    #[error("{}", unfinished(.left, *.here, *.there, *.reason))]
    Unfinished {
        /// What the other end may not have.
        left: Undelivered,
        /// The end whose messages they are.
        here: SocketAddr,
        /// The end that should have them.
        there: SocketAddr,
        /// Why the connection ended; `None` if the time was up, without anything getting on.
        reason: Option<CloseReason>,
    },
    /// Nobody can be at this address.
    #[error("{0} is no address")]
    Address(String),
    /// The address of a name is not found.
    #[error("cannot find the address: {0}")]
    Name(#[source] io::Error),
}

fn unfinished(
    left: &Undelivered,
    here: SocketAddr,
    there: SocketAddr,
    reason: Option<CloseReason>,
) -> String {
    let why = match reason {
        Some(reason) => reason.to_string(),
        None => "nothing more was acknowledged in time".to_owned(),
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
