//! The reports of a link.

/// Why a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlpDown {
    /// XID was retransmitted N2 times, and no answer came.
    NoXidAnswer,
    /// SABM was retransmitted N2 times, and no answer came.
    NoAnswer,
    /// The peer refused the connection.
    Refused,
    /// The peer disconnected.
    ByPeer,
    /// This entity disconnected.
    ByUs,
}

/// An event of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlpEvent {
    /// Parameters were negotiated.
    Negotiated,
    /// Two XID commands met; both are ignored.
    XidCollision,
    /// The link is up.
    Up,
    /// The link was reset; frames that were under way may be lost.
    Reset {
        /// Frames that were not acknowledged.
        unacknowledged: u8,
    },
    /// The link is down.
    Down(RlpDown),
}
