//! How much may be on its way: a window that shrinks for queues, not for noise.
//!
//! A loss on a path whose round trip is near its least is noise, since a full queue makes round
//! trips longer; the window then gives way a little, in case the queue is short, and halves only
//! when a queue has built up. The estimate of the queue is that of TCP Veno (Fu and Liew 2003).
//! Datagrams that arrive damaged are repeated and take nothing from the window.

use windfall_base::Duration;

/// Datagrams in the window at the beginning.
const INITIAL: usize = 10;
/// The least window, in datagrams.
const LEAST: usize = 4;
/// Datagrams in a queue from which on a loss counts as congestion.
const QUEUE: f64 = 3.0;

/// The congestion window, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Congestion {
    window: usize,
    threshold: usize,
    /// Packets up to this number were on their way at the last loss: they belong to it.
    recovery: Option<u64>,
    /// Bytes acknowledged towards the next step of slow growth.
    gathered: usize,
}

impl Congestion {
    /// The window of a connection that sends datagrams of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { window: INITIAL * size, threshold: usize::MAX, recovery: None, gathered: 0 }
    }

    /// The window in bytes.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// Whether the window still doubles in each round trip.
    pub(crate) fn is_starting(&self) -> bool {
        self.window < self.threshold
    }

    /// The path carries datagrams of `size` bytes: a window of few small ones would starve it.
    pub(crate) fn set_size(&mut self, size: usize) {
        self.window = self.window.max(INITIAL * size);
    }

    /// `bytes` have arrived while the window was in use.
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

    /// Packet `lost` is missing, and packets up to `last` were sent since.
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

    /// Nothing arrives any more.
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
    fn a_loss_without_a_queue_takes_a_fifth_and_with_one_a_half() {
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
    fn it_doubles_at_first_and_then_grows_by_one() {
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
