//! The congestion controller of 4.4BSD as NetBSD 1.2 carried it, on which paper 003 measured (RFC
//! 2001).
//!
//! It counts acknowledgments, not bytes; it grows whether or not the window was what held the
//! sender back; after a pause it begins with one segment; half of *the smaller of the two windows*,
//! in whole segments, becomes the threshold.

use super::{Acknowledged, CongestionController, ControllerFactory, Loss, Start};

/// The largest window: no scaling, 16 bits.
const MOST: u64 = 65_535;

/// The congestion controller of RFC 2001.
#[derive(Clone, Debug)]
pub(crate) struct Net3Reno {
    mss: u64,
    window: u64,
    threshold: u64,
}

impl Net3Reno {
    /// Begins with one segment of `mss` bytes.
    #[must_use]
    pub(crate) const fn new(mss: u64) -> Self {
        Self { mss, window: mss, threshold: MOST }
    }

    fn halve(&mut self, offered: u64) {
        let segments = (self.window.min(offered) / 2 / self.mss).max(2);
        self.threshold = segments * self.mss;
    }
}

/// Makes controllers of NetBSD 1.2's Reno.
pub(crate) struct Net3RenoFactory;

impl ControllerFactory for Net3RenoFactory {
    fn name(&self) -> &'static str {
        "net3-reno"
    }

    fn source(&self) -> &'static str {
        "RFC 2001"
    }

    fn linux_name(&self) -> Result<&'static str, &'static str> {
        Err("the kernel has Reno, but not as 4.4BSD had it")
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        Box::new(Net3Reno::new(start.mss))
    }
}

impl CongestionController for Net3Reno {
    fn window(&self) -> u64 {
        self.window
    }

    fn threshold(&self) -> u64 {
        self.threshold
    }

    fn on_acknowledged(&mut self, _: &Acknowledged) {
        let growth =
            if self.window > self.threshold { self.mss * self.mss / self.window } else { self.mss };
        self.window = (self.window + growth).min(MOST);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.halve(loss.offered);
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, loss: &Loss, _first: bool) {
        self.halve(loss.offered);
        self.window = self.mss;
    }

    /// It knew of no such thing.
    fn on_spurious_timeout(&mut self) {}

    fn on_idle(&mut self) {
        self.window = self.mss;
    }

    fn limit(&mut self, window: u64) {
        self.window = self.window.min(window).max(self.mss);
    }

    fn set_mss(&mut self, mss: u64) {
        self.window = (self.window / self.mss).max(1) * mss;
        self.mss = mss;
    }
}
