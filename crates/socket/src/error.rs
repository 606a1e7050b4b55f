//! What can go wrong with a SAP socket.

use std::io;

use windfall_sap::{CloseReason, SendError};

/// Why a call on a SAP socket failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    Send(#[from] SendError),
    /// The connection has ended.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The time that the socket may wait is over.
    #[error("nothing came in time")]
    TimedOut,
    /// The address cannot be resolved.
    #[error("{0} is no address")]
    Address(String),
}

impl Error {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what: what.into(), source }
    }
}
