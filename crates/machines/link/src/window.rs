//! The packets that a link takes from the queue, and how many at once.

use windfall_base::{Duration, Frame, Instant, Rate};

/// Bytes of the smallest packets that matter: acknowledgements of a transport.
const SMALLEST: usize = 40;

/// Round trips that a window spans: a packet that is lost again and again holds up only itself
/// until then.
const ROUND_TRIPS: f64 = 16.0;

/// The amount that a link may have sent from its first unsettled packet on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Packets, at most 1 048 576.
    pub packets: usize,
    /// Bytes of the packets.
    pub bytes: usize,
}

impl Window {
    /// The most packets of any window.
    pub const MAX_PACKETS: usize = 1 << 20;
    /// The most bytes of the window of a pipe. Its sender keeps packets in flight, its receiver
    /// those that wait for an earlier one, so a window costs memory only as far as it fills.
    pub const MAX_BYTES: usize = 1 << 30;

    /// A window that keeps a pipe of `rate` and one-way `delay` full while packets are repeated:
    /// sixteen times the bandwidth–delay product, at least 64 packets of `packet` bytes.
    ///
    /// The first of N packets under way that is lost with probability p is repeated about
    /// log N / log (1 / p) times: five times of 50 000 at 10 %, and sixteen times at 50 %.
    #[must_use]
    pub fn of_pipe(rate: Rate, delay: Duration, packet: usize) -> Self {
        let round_trip = delay.as_secs_f64() * 2.0;
        let product = (rate.as_bps() as f64 / 8.0 * round_trip * ROUND_TRIPS) as usize;
        let bytes = product.clamp(64 * packet, Self::MAX_BYTES);
        Self { packets: (bytes / SMALLEST).min(Self::MAX_PACKETS), bytes }
    }

    /// Returns a window that is enough for both of two directions.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { packets: self.packets.max(other.packets), bytes: self.bytes.max(other.bytes) }
    }
}

impl Default for Window {
    /// Enough for 1 Gbit/s over 60 ms without repetitions.
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
    /// A packet without a lifetime.
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
        let (few, many) = (Window { packets: 7, bytes: 9 }, Window { packets: 5, bytes: 11 });
        assert_eq!(few.max(many), Window { packets: 7, bytes: 11 });
        assert_eq!(many.max(few), few.max(many));
    }
}
