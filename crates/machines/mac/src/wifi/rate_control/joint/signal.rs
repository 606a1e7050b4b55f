//! The assumed signal strength at a receiver, from its reports and from unanswered frames.

/// The range of signal strengths, in dBm.
pub(super) const SIGNALS: core::ops::RangeInclusive<i32> = -110..=-31;

/// The signal that is assumed before the first report, in dBm.
const UNKNOWN: i32 = -70;
/// The signal is assumed to have fallen if the probability of the unanswered frames is below this.
const P_VALUE: f64 = 0.05;
/// A report within this many decibels of the last one counts as the same signal.
const TOLERANCE_DB: i32 = 2;
/// The weight of earlier frames in the usual share of unanswered frames.
const MEMORY: f64 = 0.98;

/// The signal strength of a peer as last reported, lowered after unanswered frames that chance does
/// not explain: by one decibel, then by two more, and so on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    /// The assumed signal, and the last reported one, in dBm.
    assumed: i32,
    reported: i32,
    /// The number of unanswered frames since the last report, and their probability if the signal
    /// had not changed.
    silences: i32,
    p_value: f64,
    /// The number of steps by which the assumed signal has been lowered.
    steps: i32,
    /// The share of unanswered frames while the signal does not change: these frames collided.
    usual: f64,
}

impl Signal {
    pub(super) fn new() -> Self {
        Self {
            assumed: UNKNOWN,
            reported: UNKNOWN,
            silences: 0,
            p_value: 1.0,
            steps: 0,
            usual: 0.0,
        }
    }

    /// Returns the assumed signal, in dBm.
    pub(super) fn dbm(&self) -> i32 {
        self.assumed
    }

    /// Sets the assumed signal without a report.
    pub(super) fn assume(&mut self, dbm: i32) {
        self.assumed = dbm;
    }

    /// Records a report.
    pub(super) fn report(&mut self, dbm: i32) {
        if dbm + TOLERANCE_DB >= self.reported {
            let answered = MEMORY.powi(self.silences) * (1.0 - self.usual);
            self.usual = MEMORY * (1.0 - answered);
        }
        (self.reported, self.silences) = (dbm, 0);
        self.reset_to_reported();
    }

    /// Records a report without a signal: the unanswered frames before it are no series any more,
    /// and the assumed signal stays.
    pub(super) fn answered(&mut self) {
        (self.silences, self.p_value, self.steps) = (0, 1.0, 0);
    }

    /// Records an unanswered frame; `share` is its probability according to the records of its
    /// rate.
    pub(super) fn miss(&mut self, share: f64) {
        self.silences = self.silences.saturating_add(1);
        self.p_value *= share.max(self.usual);
        if self.p_value < P_VALUE {
            self.steps += 1;
            self.assumed = (self.assumed - self.steps).max(*SIGNALS.start());
        }
    }

    /// Returns to the last reported signal.
    pub(super) fn reset_to_reported(&mut self) {
        (self.assumed, self.p_value, self.steps) = (self.reported, 1.0, 0);
    }
}
