//! The outcome of a simulation.

use windfall_base::Duration;

//= S1.44
/// The transport protocol under the stream; the circuit is transparent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WsimProtocol {
    /// UDP: a packet with any damage is dropped.
    Udp,
    /// UDP-Lite: a packet is dropped if its headers are damaged.
    UdpLite,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WsimOutcome {
    /// It arrived as it was sent.
    Intact,
    /// It arrived with damage.
    Damaged,
    /// It was dropped, or did not arrive as a packet.
    Dropped,
}

impl WsimOutcome {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Damaged => "damaged",
            Self::Dropped => "dropped",
        }
    }
}

/// One packet of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WsimPacket {
    /// The bytes of the stream that it carries.
    pub data_len: usize,
    /// Its bytes on the line, headers included and without start and stop bits.
    pub packet_len: usize,
    /// The first radio block that carries it.
    pub first_block: u64,
    /// The number of blocks that carry it.
    pub blocks: u64,
    /// The number of damaged ones among them.
    pub damaged_blocks: u64,
    /// The fate of the packet.
    pub outcome: WsimOutcome,
    /// The time from its picture to its arrival; `None` if it did not arrive, or no clock ran.
    pub delay: Option<Duration>,
    /// The time from the first picture to its arrival; `None` as before.
    pub arrival: Option<Duration>,
}

/// The outcome for a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WsimRun {
    /// The packets in the order of sending.
    pub packets: Vec<WsimPacket>,
    /// The bytes of each picture that arrived, some of them damaged.
    pub pictures: Vec<Vec<u8>>,
    /// The number of radio blocks that passed.
    pub blocks: u64,
}

impl WsimRun {
    /// Returns the share of packets that were dropped; 0 if none was sent.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.share(WsimOutcome::Dropped)
    }

    /// Returns the share of packets with this outcome; 0 if none was sent.
    #[must_use]
    pub fn share(&self, outcome: WsimOutcome) -> f64 {
        let count = self.packets.iter().filter(|packet| packet.outcome == outcome).count();
        count as f64 / self.packets.len().max(1) as f64
    }

    /// Returns the stream that arrived: the pictures one after the other.
    #[must_use]
    pub fn stream(&self) -> Vec<u8> {
        self.pictures.concat()
    }
}
