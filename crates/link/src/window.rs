//! What a link takes from the queue, and how much of it at once.

use windfall_base::{Duration, Frame, Instant, Rate};

/// Bytes of the smallest packets that matter: acknowledgements of a transport.
const SMALLEST: usize = 40;

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

    /// A window that keeps a pipe of `rate` and one-way `delay` full through two repetitions of
    /// each packet: four times the bandwidth–delay product, at least 64 packets of `packet` bytes.
    #[must_use]
    pub fn of_pipe(rate: Rate, delay: Duration, packet: usize) -> Self {
        let round_trip = delay.as_secs_f64() * 2.0;
        let product = (rate.as_bps() as f64 / 8.0 * round_trip * 4.0) as usize;
        let bytes = product.max(64 * packet);
        // Places cost memory only as they fill, so there are enough for the smallest packets.
        Self { packets: (bytes / SMALLEST).min(Self::MAX_PACKETS), bytes }
    }
}

impl Default for Window {
    /// Enough for 1 Gbit/s over 60 ms; it costs memory only as it fills.
    fn default() -> Self {
        Self { packets: Self::MAX_PACKETS, bytes: 16 << 20 }
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
