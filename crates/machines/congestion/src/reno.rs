//! Slow start and congestion avoidance as RFC 5681 has them, with byte counting by a switch.

use super::hystart::{HyStart, Pace};
use super::{Acknowledged, CongestionController, ControllerFactory, Loss, Start};

/// The congestion controller of RFC 5681; with NewReno or SACK recovery it is the TCP of the
/// textbooks.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    mss: u64,
    initial: u64,
    window: u64,
    threshold: u64,
    /// Counting of acknowledged bytes instead of acknowledgments (RFC 3465).
    byte_counting: bool,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    counted: u64,
    /// Slow start follows a timeout, so a stretched acknowledgment counts for one segment.
    after_timeout: bool,
    /// Watches the first slow start, until that is over.
    hystart: Option<HyStart>,
    /// Window and threshold before the last reduction, in case that was spurious.
    before: Option<(u64, u64)>,
    /// A fast recovery goes on.
    recovers: bool,
}

impl Reno {
    /// Begins with a window of `initial` segments of `mss` bytes.
    #[must_use]
    pub(crate) const fn new(mss: u64, initial: u64, byte_counting: bool) -> Self {
        let initial = initial * mss;
        Self {
            mss,
            initial,
            window: initial,
            threshold: u64::MAX,
            byte_counting,
            counted: 0,
            after_timeout: false,
            hystart: None,
            before: None,
            recovers: false,
        }
    }

    /// Halves the flight size (RFC 5681, equation 4).
    fn halve(&mut self, in_flight: u64) {
        self.threshold = (in_flight / 2).max(2 * self.mss);
        self.counted = 0;
        self.hystart = None;
    }

    /// Grows the window in slow start (RFC 5681, equation 2; RFC 3465, section 2.2 and 2.3).
    fn start_slowly(&mut self, ack: &Acknowledged) {
        let most = if self.byte_counting && !self.after_timeout { 2 } else { 1 };
        let growth = ack.bytes.min(most * self.mss);
        match self.hystart.as_mut().map(|hystart| hystart.take(ack)) {
            None => self.window += growth,
            Some(Pace::Share(share)) => self.window += (growth as f64 * share) as u64,
            Some(Pace::Over) => (self.threshold, self.hystart) = (self.window, None),
        }
    }
}

/// Makes controllers of Reno.
pub(crate) struct RenoFactory;

impl ControllerFactory for RenoFactory {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn source(&self) -> &'static str {
        "RFC 5681"
    }

    fn linux_name(&self) -> Result<&'static str, &'static str> {
        Ok("reno")
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        Box::new(Reno::new(start.mss, start.initial_window, start.byte_counting))
    }
}

impl CongestionController for Reno {
    fn window(&self) -> u64 {
        self.window
    }

    fn threshold(&self) -> u64 {
        self.threshold
    }

    //= S2.47
    fn on_acknowledged(&mut self, ack: &Acknowledged) {
        if !ack.limited {
            return;
        }
        if self.window < self.threshold {
            self.start_slowly(ack);
        } else if self.byte_counting {
            self.after_timeout = false;
            self.counted += ack.bytes;
            if self.counted >= self.window {
                self.counted -= self.window;
                self.window += self.mss;
            }
        } else {
            // RFC 5681, equation 3; no constant beyond it (RFC 2525, 2.6).
            self.window += (self.mss * self.mss / self.window).max(1);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        (self.before, self.recovers) = (Some((self.window, self.threshold)), true);
        self.halve(loss.in_flight);
        self.window = self.threshold;
    }

    fn on_recovered(&mut self) {
        self.recovers = false;
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        if first {
            // One within a recovery belongs to the reduction that began it.
            if !core::mem::take(&mut self.recovers) {
                self.before = Some((self.window, self.threshold));
            }
            self.halve(loss.in_flight);
        }
        self.window = self.mss;
        self.counted = 0;
        self.after_timeout = true;
    }

    fn on_spurious_timeout(&mut self) {
        if let Some((window, threshold)) = self.before.take() {
            self.window = self.window.max(window);
            self.threshold = self.threshold.max(threshold);
            (self.after_timeout, self.recovers) = (false, false);
        }
    }

    fn on_idle(&mut self) {
        self.window = self.window.min(self.initial);
    }

    fn limit(&mut self, window: u64) {
        self.window = self.window.min(window).max(self.mss);
    }

    fn set_mss(&mut self, mss: u64) {
        self.window = (self.window / self.mss).max(1) * mss;
        self.initial = self.initial / self.mss * mss;
        self.mss = mss;
    }

    fn use_hystart(&mut self) {
        self.hystart = Some(HyStart::default());
    }
}
