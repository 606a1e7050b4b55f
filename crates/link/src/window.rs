//! What a link takes from the queue, and how much of it at once.

use windfall_base::{Duration, Frame, Instant, Rate};

/// How much a link may have sent and not yet settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Packets, at most 16 384.
    pub packets: usize,
    /// Bytes of the packets.
    pub bytes: usize,
}

impl Window {
    /// The most packets of any window.
    pub const MAX_PACKETS: usize = 16_384;

    /// A window that keeps a pipe of `rate` and one-way `delay` full of packets of `packet` bytes
    /// through two repetitions of each: four times the bandwidth–delay product, at least 64
    /// packets.
    #[must_use]
    pub fn of_pipe(rate: Rate, delay: Duration, packet: usize) -> Self {
        let round_trip = delay.as_secs_f64() * 2.0;
        let bytes = (rate.as_bps() as f64 / 8.0 * round_trip * 4.0) as usize;
        let packets = bytes.div_ceil(packet.max(1)).clamp(64, Self::MAX_PACKETS);
        Self { packets, bytes: bytes.max(64 * packet) }
    }
}

impl Default for Window {
    /// Enough for 1 Gbit/s over 60 ms; it costs memory only as it fills.
    fn default() -> Self {
        Self { packets: 8_192, bytes: 16 << 20 }
    }
}

/// A packet pulled from the queue.
#[derive(Debug)]
pub struct Pulled {
    /// The packet, with its tag and class.
    pub frame: Frame,
    /// When it becomes worthless to its owner.
    pub expires: Option<Instant>,
}

impl From<Frame> for Pulled {
    /// A packet that never becomes worthless.
    fn from(frame: Frame) -> Self {
        Self { frame, expires: None }
    }
}
