//! CUBIC (RFC 9438): the window grows by the time since the last loss, not by round trips.
//!
//! Where windows are small it does as Linux does: a reduction leaves whole segments, and the
//! estimate of Reno's window grows at one pace, also above the window of the last reduction, where
//! section 4.3 would have it grow by a whole segment per round trip. Both cost goodput where losses
//! are frequent; with either missing this one would not be fair to the CUBIC that most peers use.

use windfall_base::{Duration, Instant};

use super::hystart::{HyStart, Pace};
use super::{Acknowledged, CongestionController, ControllerFactory, Loss, Start};

/// The scale of the cubic, in segments per second cubed (RFC 9438, section 5).
const C: f64 = 0.4;
/// The factor that reduces the window after a loss (section 4.6): 0.7, a little above, so that a
/// product that is a whole number does not come out below it.
const BETA: f64 = 717.0 / 1024.0;
/// Segments by which the estimate of Reno's window grows per round trip (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The congestion controller of RFC 9438; windows within are in segments.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    mss: f64,
    initial: f64,
    window: f64,
    threshold: f64,
    /// The window before the last reduction, lowered by fast convergence.
    plateau: f64,
    /// When congestion avoidance began, with the time to the plateau and the window at the start.
    epoch: Option<Epoch>,
    /// Slow start, or congestion avoidance until its next reduction, follows a timeout.
    after_timeout: bool,
    /// Since when something else than the window has limited the sender.
    unlimited_since: Option<Instant>,
    /// Watches the first slow start, until that is over.
    hystart: Option<HyStart>,
    /// The state before the last reduction, in case that was spurious.
    before: Option<Box<Self>>,
    /// A fast recovery goes on.
    recovers: bool,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// Seconds from the beginning to the plateau.
    to_plateau: f64,
    /// The window at the beginning.
    start: f64,
    /// The window that Reno would have by now.
    reno: f64,
}

impl Cubic {
    /// Begins with a window of `initial` segments of `mss` bytes.
    #[must_use]
    pub(crate) fn new(mss: u64, initial: u64) -> Self {
        Self {
            mss: mss as f64,
            initial: initial as f64,
            window: initial as f64,
            threshold: f64::INFINITY,
            plateau: 0.0,
            epoch: None,
            after_timeout: false,
            unlimited_since: None,
            hystart: None,
            before: None,
            recovers: false,
        }
    }

    /// Keeps the state for the case that the reduction to come is spurious.
    fn remember(&mut self) {
        self.before = None;
        self.before = Some(Box::new(self.clone()));
    }

    /// Reduces the window to whole segments (sections 4.6 and 4.7).
    fn reduce(&mut self, in_flight: u64) {
        let converges = self.window < self.plateau;
        let kept = if converges { f64::midpoint(1.0, BETA) } else { 1.0 };
        self.plateau = (self.window * kept).floor();
        let flight = (in_flight as f64 / self.mss).floor();
        self.threshold = (flight * BETA).floor().max(2.0);
        self.epoch = None;
        self.after_timeout = false;
        self.hystart = None;
    }

    /// Grows the window in slow start (section 4.10).
    fn start_slowly(&mut self, ack: &Acknowledged, segments: f64) {
        // Without a timeout all count: a receiver behind segmentation offload acknowledges dozens
        // at once. After one, an acknowledgment may answer what was sent before it and says
        // little of the path: one segment at most (RFC 3465, section 2.3).
        let growth = if self.after_timeout { segments.min(1.0) } else { segments };
        let share = match self.hystart.as_mut().map(|hystart| hystart.take(ack)) {
            None => 1.0,
            Some(Pace::Share(share)) => share,
            Some(Pace::Over) => {
                (self.threshold, self.hystart) = (self.window, None);
                return;
            }
        };
        self.window = (self.window + growth * share).min(self.threshold);
    }

    /// Keeps time in which the window was not what limited the sender out of the cubic, which
    /// would otherwise leap ahead (section 4.2 and 5.8).
    fn resume(&mut self, now: Instant) {
        if let Some(since) = self.unlimited_since.take()
            && let Some(epoch) = &mut self.epoch
        {
            epoch.began = epoch.began.saturating_add(now.saturating_since(since)).min(now);
        }
    }

    /// Grows the window (sections 4.2 to 4.5).
    fn avoid(&mut self, ack: &Acknowledged, segments: f64) {
        let window = self.window;
        if self.epoch.is_none() && self.after_timeout {
            // The window before a timeout is no goal: K is 0 (section 4.8).
            self.plateau = window;
        }
        let plateau = self.plateau;
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = (plateau - window).max(0.0);
            let to_plateau = cube_root(missing / C);
            Epoch { began: ack.now, to_plateau, start: window, reno: window }
        });
        // Above the plateau, or without one, the cubic begins at the window itself.
        let origin = if epoch.to_plateau > 0.0 { plateau } else { epoch.start };
        let elapsed = ack.now.saturating_since(epoch.began).as_secs_f64();
        let w_cubic = |t: f64| C * (t - epoch.to_plateau).powi(3) + origin;
        epoch.reno += ALPHA * segments / window;
        let reno = epoch.reno;
        if w_cubic(elapsed) < reno {
            self.window = self.window.max(reno);
            return;
        }
        let rtt = ack.rtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let target = w_cubic(elapsed + rtt).clamp(window, 1.5 * window);
        self.window += (target - window) / window * segments;
    }
}

/// Makes controllers of CUBIC.
pub(crate) struct CubicFactory;

impl ControllerFactory for CubicFactory {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn source(&self) -> &'static str {
        "RFC 9438"
    }

    fn linux_name(&self) -> Result<&'static str, &'static str> {
        Ok("cubic")
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        Box::new(Cubic::new(start.mss, start.initial_window))
    }
}

impl CongestionController for Cubic {
    fn window(&self) -> u64 {
        (self.window * self.mss) as u64
    }

    fn threshold(&self) -> u64 {
        (self.threshold * self.mss) as u64
    }

    fn on_acknowledged(&mut self, ack: &Acknowledged) {
        if !ack.limited {
            self.unlimited_since.get_or_insert(ack.now);
            return;
        }
        self.resume(ack.now);
        let segments = ack.bytes as f64 / self.mss;
        if self.window < self.threshold {
            self.start_slowly(ack, segments);
        } else {
            self.avoid(ack, segments);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.remember();
        self.recovers = true;
        self.reduce(loss.in_flight);
        self.window = self.threshold;
    }

    fn on_recovered(&mut self) {
        self.recovers = false;
    }

    fn on_timeout(&mut self, loss: &Loss, first: bool) {
        if first {
            // One within a recovery belongs to the reduction that began it.
            if !core::mem::take(&mut self.recovers) {
                self.remember();
            }
            self.reduce(loss.in_flight);
        }
        self.window = 1.0;
        self.epoch = None;
        self.after_timeout = true;
    }

    fn on_spurious_timeout(&mut self) {
        if let Some(before) = self.before.take() {
            let mss = self.mss;
            let window = self.window.max(before.window);
            *self = Self { mss, window, recovers: false, ..*before };
        }
    }

    fn on_idle(&mut self) {
        self.window = self.window.min(self.initial);
        self.epoch = None;
    }

    fn limit(&mut self, window: u64) {
        self.window = self.window.min(window as f64 / self.mss).max(1.0);
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss as f64;
    }

    fn beta(&self) -> f64 {
        0.7
    }

    fn use_hystart(&mut self) {
        self.hystart = Some(HyStart::default());
    }
}

/// Returns the cube root by Newton's method: sums, products and quotients alone, so that every
/// machine gets the same bits.
fn cube_root(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    // The exponent divided by three is within a factor of two of the root.
    let mut root = f64::from_bits(value.to_bits() / 3 + (1023_u64 << 52) / 3 * 2);
    for _ in 0..6 {
        root = (2.0 * root + value / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests;
