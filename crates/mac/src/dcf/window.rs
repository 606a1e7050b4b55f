//! The contention window.

use windfall_base::Stream;
use windfall_wire_link::ieee80211::Timing;

use super::config::Backoff;

/// The window from which the next backoff is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    backoff: Backoff,
    least: u16,
    most: u16,
    /// The largest draw.
    now: u16,
}

impl Window {
    pub(super) fn new(backoff: Backoff, timing: Timing) -> Self {
        Self { backoff, least: timing.cw_min, most: timing.cw_max, now: timing.cw_min }
    }

    /// Slots to wait, from 0 to the window.
    pub(super) fn draw(&self, stream: &mut Stream) -> u32 {
        stream.below(u64::from(self.now) + 1) as u32
    }

    /// An attempt failed.
    pub(super) fn grow(&mut self) {
        let now = u32::from(self.now);
        let larger = match self.backoff {
            Backoff::Binary => 2 * now + 1,
            Backoff::Mild => now + now.div_ceil(2),
            Backoff::Constant => now,
        };
        self.now = larger.min(u32::from(self.most)) as u16;
    }

    /// A packet arrived.
    pub(super) fn shrink(&mut self) {
        self.now = match self.backoff {
            Backoff::Binary | Backoff::Constant => self.least,
            Backoff::Mild => (self.now - 1).max(self.least),
        };
    }

    /// A packet was given up: the next one begins afresh, except with the mild backoff, which
    /// remembers how crowded the medium is.
    pub(super) fn give_up(&mut self) {
        if self.backoff != Backoff::Mild {
            self.now = self.least;
        }
    }

    #[cfg(test)]
    pub(super) fn largest_draw(&self) -> u16 {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(backoff: Backoff, times: usize) -> Vec<u16> {
        let mut window = Window::new(backoff, Timing::B);
        (0..times)
            .map(|_| {
                window.grow();
                window.largest_draw()
            })
            .collect()
    }

    #[test]
    fn the_binary_window_doubles_up_to_its_largest() {
        assert_eq!(grown(Backoff::Binary, 7), [63, 127, 255, 511, 1023, 1023, 1023]);
    }

    //= S2.46
    #[test]
    fn the_mild_window_grows_by_half_and_shrinks_by_one() {
        assert_eq!(grown(Backoff::Mild, 3), [47, 71, 107]);
        let mut window = Window::new(Backoff::Mild, Timing::B);
        window.grow();
        window.shrink();
        assert_eq!(window.largest_draw(), 46);
        window.give_up();
        assert_eq!(window.largest_draw(), 46);
    }
}
