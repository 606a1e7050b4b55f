//! Why a stream could not be sent or received.

use std::io;
use std::net::SocketAddr;

use windfall_base::Duration;
use windfall_socket::SapError;

/// Why a stream could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum CameraError {
    /// The address cannot be used.
    #[error("cannot use {0}: {1}")]
    Bind(SocketAddr, io::Error),
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Socket(io::Error),
    /// No receiver answers over SAP.
    #[error("cannot connect to {to}: {source}; is `windfall camera receive --over sap` there?")]
    Unconnected {
        /// The address that was tried.
        to: SocketAddr,
        /// The error of the connection.
        source: SapError,
    },
    /// The connection over SAP failed.
    #[error("the connection failed: {0}")]
    Sap(#[from] SapError),
    /// Nothing of a stream arrived.
    #[error(
        "no datagram of a camera has arrived: on a slow link give the sender a longer --wait, and \
         see that both ends have the same --over and --port"
    )]
    Nothing,
    /// Datagrams come before they are sent.
    #[error(
        "datagrams come {0} before their pictures: the sender's clock is ahead by that; let both \
         clocks follow the same time server"
    )]
    Ahead(Duration),
    /// Datagrams come long after they were sent.
    #[error(
        "datagrams come {0} after their pictures: the sender's clock is behind, or they are of an \
         old stream; let both clocks follow the same time server, and start the sender again"
    )]
    Behind(Duration),
}
