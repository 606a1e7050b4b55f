//! The send window of a link, and the packets that it pulls from the queue.

use windfall_base::{Duration, Frame, Instant, Rate};

/// The size of the smallest packets for which a window is dimensioned: TCP acknowledgements.
const SMALLEST: usize = 40;

/// The number of round trips that a window spans: for that long a packet may be lost repeatedly
/// before it blocks later packets.
const ROUND_TRIPS: f64 = 16.0;

/// The window of a sender: packets and bytes from its first unsettled packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Packets, at most 1 048 576.
    pub packets: usize,
    /// Bytes of the packets.
    pub bytes: usize,
}

impl Window {
    /// The maximum number of packets of any window.
    pub const MAX_PACKETS: usize = 1 << 20;
    /// The maximum number of bytes of a window. The sender keeps packets in flight, and the
    /// receiver keeps packets that arrived early. A window therefore uses memory only as it fills.
    pub const MAX_BYTES: usize = 1 << 30;

    /// Returns a window that keeps a pipe of `rate` and one-way `delay` full during
    /// retransmissions: sixteen times the bandwidth–delay product, at least 64 packets of `packet`
    /// bytes.
    ///
    /// Of N packets in flight, each lost with probability p, the worst one is lost about log N /
    /// log (1 / p) times in a row. For 50 000 packets these are five losses at 10 %, and sixteen at
    /// 50 %.
    #[must_use]
    pub fn of_pipe(rate: Rate, delay: Duration, packet: usize) -> Self {
        let round_trip = delay.as_secs_f64() * 2.0;
        let product = (rate.as_bps() as f64 / 8.0 * round_trip * ROUND_TRIPS) as usize;
        let bytes = product.clamp(64 * packet, Self::MAX_BYTES);
        Self { packets: (bytes / SMALLEST).min(Self::MAX_PACKETS), bytes }
    }

    /// Returns the larger limits of two windows, which suffice for both directions.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { packets: self.packets.max(other.packets), bytes: self.bytes.max(other.bytes) }
    }
}

impl Default for Window {
    /// Returns a window for 1 Gbit/s over 60 ms without retransmissions.
    fn default() -> Self {
        Self { packets: 16_384, bytes: 16 << 20 }
    }
}

/// A packet pulled from the queue.
#[derive(Debug)]
pub struct Pulled {
    /// The packet, with its tag and class.
    pub frame: Frame,
    /// The end of the packet's lifetime.
    pub expires: Option<Instant>,
}

impl From<Frame> for Pulled {
    /// Creates a packet without a lifetime.
    fn from(frame: Frame) -> Self {
        Self { frame, expires: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_pipe_is_sixteen_times_what_it_holds() {
        let of = |mbps, ms, packet| {
            let rate = Rate::from_mbps(mbps).expect("a rate");
            Window::of_pipe(rate, Duration::from_millis(ms), packet)
        };
        // A megabyte a second, 20 ms there and back.
        assert_eq!(of(8, 10, 1_000), Window { packets: 8_000, bytes: 320_000 });
        assert_eq!(of(8, 1, 1_500), Window { packets: 2_400, bytes: 96_000 });
        let longest = of(10_000, 1_000, 1_500);
        assert_eq!((longest.packets, longest.bytes), (1 << 20, 1 << 30));
    }

    #[test]
    fn what_is_enough_for_both_has_the_more_of_each() {
        let few = Window { packets: 7, bytes: 9 };
        let many = Window { packets: 5, bytes: 11 };
        assert_eq!(few.max(many), Window { packets: 7, bytes: 11 });
        assert_eq!(many.max(few), few.max(many));
    }
}
