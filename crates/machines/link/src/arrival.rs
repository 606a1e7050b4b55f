//! The classification of received frames.

/// The class of a frame from the medium, for the ledger of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, or a frame that cannot be distinguished from a packet: the ledger counts it.
    Packet,
    /// Another part of a packet that the ledger counted with its first frame.
    More,
    /// A control frame of the link.
    Control,
}
