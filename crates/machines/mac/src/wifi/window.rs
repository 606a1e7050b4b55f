//! The contention window.

use windfall_base::Stream;
use windfall_wire_link::ieee80211::Timing;

use super::config::{Backoff, Retries};

/// The contention window (CW), and the counters of consecutive failures by which it grows.
///
/// The counters are the station's SSRC and SLRC (802.11-2007, 9.2.5.3). A packet that is given up
/// before the retry limit, such as one with a single attempt, resets neither the counters nor CW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    backoff: Backoff,
    least: u16,
    most: u16,
    limits: Retries,
    /// Failures in a row of short frames, and of long ones.
    short: u8,
    long: u8,
    /// CW: the largest backoff that can be drawn, in slots.
    now: u16,
}

impl Window {
    pub(super) fn new(backoff: Backoff, timing: Timing, limits: Retries) -> Self {
        let least = timing.cw_min;
        let most = timing.cw_max;
        Self { backoff, least, most, limits, short: 0, long: 0, now: least }
    }

    /// Draws a backoff from 0 to CW slots.
    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        stream.below(u64::from(self.now) + 1) as u32
    }

    /// Grows CW after a failed attempt, of a frame above the RTS threshold if `long`. At the
    /// station's retry limit CW returns to its minimum. MACAW's window does not: it keeps its
    /// estimate of the load.
    pub(super) fn grow(&mut self, long: bool) {
        let (count, limit) = if long {
            (&mut self.long, self.limits.long)
        } else {
            (&mut self.short, self.limits.short)
        };
        *count = count.saturating_add(1);
        if *count >= limit.get() {
            *count = 0;
            if self.backoff != Backoff::Mild {
                self.now = self.least;
                return;
            }
        }
        self.now = self.backoff.grown(self.now).min(self.most);
    }

    /// Resets the short counter: a CTS answered the RTS.
    pub(super) fn granted(&mut self) {
        self.short = 0;
    }

    /// Shrinks CW after a success.
    pub(super) fn shrink(&mut self) {
        (self.short, self.long) = (0, 0);
        self.now = match self.backoff {
            Backoff::Binary | Backoff::Constant => self.least,
            Backoff::Mild => (self.now - 1).max(self.least),
        };
    }

    /// Returns CW, in slots.
    pub(super) fn largest_draw(&self) -> u16 {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(backoff: Backoff, times: usize) -> Vec<u16> {
        let mut window = Window::new(backoff, Timing::B, Retries::default());
        (0..times)
            .map(|_| {
                window.grow(false);
                window.largest_draw()
            })
            .collect()
    }

    #[test]
    fn the_binary_window_doubles_up_to_its_largest() {
        assert_eq!(grown(Backoff::Binary, 8), [63, 127, 255, 511, 1023, 1023, 31, 63]);
    }

    #[test]
    fn the_counters_of_the_station_bring_it_back_whichever_packets_failed() {
        let mut window = Window::new(Backoff::Binary, Timing::B, Retries::default());
        let mut sizes = Vec::new();
        for long in [true, true, false, true] {
            window.grow(long);
            sizes.push(window.largest_draw());
        }
        window.grow(true);
        assert_eq!((sizes, window.largest_draw()), (vec![63, 127, 255, 511], 31));
        window.grow(false);
        window.shrink();
        assert_eq!(window.largest_draw(), 31);
    }

    //= S2.46
    #[test]
    fn the_mild_window_grows_by_half_and_shrinks_by_one() {
        assert_eq!(grown(Backoff::Mild, 3), [47, 71, 107]);
        let mut window = Window::new(Backoff::Mild, Timing::B, Retries::default());
        window.grow(false);
        window.shrink();
        assert_eq!(window.largest_draw(), 46);
        assert_eq!(grown(Backoff::Mild, 8)[6..], [545, 818], "no limit brings it back");
    }
}
