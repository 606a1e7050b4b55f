//! Congestion control: a window that shrinks for queues, not for noise.
//!
//! A full queue makes round trips longer, so a loss while the round-trip time is near its minimum
//! is noise. The window then shrinks by a fifth, in case the queue is short; it halves only if a
//! queue has built up. The queue is estimated as in TCP Veno (Fu and Liew 2003). Datagrams that
//! arrive damaged are retransmitted and do not shrink the window.

use windfall_base::Duration;

/// The initial window in datagrams.
const INITIAL: usize = 10;
/// The minimum window in datagrams.
const LEAST: usize = 4;
/// The queue length in datagrams from which a loss counts as congestion.
const QUEUE: f64 = 3.0;

/// The congestion window in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Congestion {
    window: usize,
    threshold: usize,
    /// The last packet in flight at the last loss: losses up to it are one event.
    recovery: Option<u64>,
    /// Bytes acknowledged towards the next step of congestion avoidance.
    gathered: usize,
}

impl Congestion {
    /// Creates the window of a connection that sends datagrams of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { window: INITIAL * size, threshold: usize::MAX, recovery: None, gathered: 0 }
    }

    /// Returns the window in bytes.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// Returns whether the window is in slow start.
    pub(crate) fn is_starting(&self) -> bool {
        self.window < self.threshold
    }

    /// Adapts the window to datagrams of `size` bytes, of which it must hold several.
    pub(crate) fn set_size(&mut self, size: usize) {
        self.window = self.window.max(INITIAL * size);
    }

    /// Grows the window after `bytes` were acknowledged while it was in use.
    pub(crate) fn on_arrival(&mut self, bytes: usize, size: usize) {
        if self.is_starting() {
            self.window += bytes;
            return;
        }
        self.gathered += bytes;
        if self.gathered >= self.window {
            self.gathered -= self.window;
            self.window += size;
        }
    }

    /// Shrinks the window after the loss of packet `lost`; packets up to `last` were sent since.
    pub(crate) fn on_loss(
        &mut self,
        lost: u64,
        last: u64,
        size: usize,
        (least, latest): (Duration, Duration),
    ) {
        if self.recovery.is_some_and(|recovery| lost <= recovery) {
            return;
        }
        self.recovery = Some(last);
        let waiting = 1.0 - least.as_nanos() as f64 / latest.as_nanos().max(1) as f64;
        let queue = self.window as f64 / size as f64 * waiting;
        let share = if queue < QUEUE { 0.8 } else { 0.5 };
        self.window = ((self.window as f64 * share) as usize).max(LEAST * size);
        self.threshold = self.window;
    }

    /// Reduces the window to its minimum after repeated timeouts.
    pub(crate) fn collapse(&mut self, size: usize) {
        self.threshold = (self.window / 2).max(LEAST * size);
        self.window = LEAST * size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_loss_shrinks_the_window_by_a_fifth_and_with_a_queue_by_half() {
        let mut noise = Congestion::new(1000);
        noise.on_loss(5, 20, 1000, (MS(10), MS(11)));
        assert_eq!(noise.window(), 8000);
        noise.on_loss(7, 30, 1000, (MS(10), MS(11)));
        assert_eq!(noise.window(), 8000, "the same loss");
        noise.on_loss(21, 30, 1000, (MS(10), MS(40)));
        assert_eq!(noise.window(), 4000);
        noise.on_loss(99, 100, 1000, (MS(10), MS(40)));
        assert_eq!(noise.window(), 4000, "the least");
    }

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one() {
        let mut congestion = Congestion::new(1000);
        congestion.on_arrival(10_000, 1000);
        assert_eq!(congestion.window(), 20_000);
        congestion.collapse(1000);
        congestion.on_arrival(6000, 1000);
        assert_eq!(congestion.window(), 10_000);
        congestion.on_arrival(10_000, 1000);
        assert_eq!(congestion.window(), 11_000);
    }
}
