//! The classification of frames.

/// The classification of a frame from the medium, for the account of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, or something that could not be told from one: it is taken into account.
    Packet,
    /// More of a packet that was taken into account when its first frame came.
    More,
    /// A control frame of the link.
    Control,
}
