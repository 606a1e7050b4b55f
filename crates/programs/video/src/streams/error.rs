//! The failures of a transfer.

use std::io;
use std::net::SocketAddr;

use windfall_socket::SapError;

/// Why a transfer did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// No receiver answers there.
    #[error("cannot connect to {to}: {why}; is its receiver there?")]
    Unconnected {
        /// The address that was tried.
        to: SocketAddr,
        /// The error of the system or of SAP.
        why: String,
    },
    /// The ends have different keys.
    #[error(
        "cannot connect to {to}: {source}; give both ends the same one (windfall sap keygen), or \
         --key none to both"
    )]
    Keys {
        /// The address of the receiver.
        to: SocketAddr,
        /// The refusal by the peer.
        source: SapError,
    },
    /// The address is another's, or none of this machine.
    #[error("cannot listen on {on}: {source}")]
    Listen {
        /// The address that was asked for.
        on: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The receiver went away before it had done its work.
    #[error("all was sent, but the receiver did not end in order: {0}")]
    Unfinished(String),
    /// The first message is no plan.
    #[error("the sender did not say what it will send")]
    NoPlan,
    /// Records stopped before the end.
    #[error("the sender sends nothing any more")]
    Silent,
    /// The connection of SAP failed.
    #[error(transparent)]
    Sap(#[from] SapError),
    /// The connection of TCP failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
}
