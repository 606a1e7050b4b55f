//! Why a link cannot be as it was asked for.

/// Why a link cannot be as it was asked for, or cannot take a packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A setting makes no sense; the text names the value and the fix.
    #[error("{0}")]
    Setting(String),
    /// The packet is longer than the link carries.
    #[error("a packet of {len} bytes is longer than the MTU of {mtu}: send less, or raise mtu")]
    TooLong {
        /// Its length in bytes, headers included.
        len: usize,
        /// The longest packet of the link, in bytes.
        mtu: u16,
    },
    /// The addresses of a datagram are not of one family.
    #[error("a datagram from {from} to {to} would change the family: use two of one")]
    Family {
        /// The address of the sender.
        from: std::net::SocketAddr,
        /// The address of the receiver.
        to: std::net::SocketAddr,
    },
}
