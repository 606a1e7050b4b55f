//! The presumed signal strength of the next frame at a receiver.

/// The weakest and the strongest signal that are distinguished, in dBm.
pub(super) const SIGNALS: core::ops::RangeInclusive<i32> = -110..=-31;

/// The signal that is assumed before one is reported, in dBm.
const UNKNOWN: i32 = -70;
/// The chance of the silences by themselves below which the signal is taken to have fallen.
const P_VALUE: f64 = 0.05;
/// Decibels by which a signal may fall and still be the same.
const TOLERANCE_DB: i32 = 2;
/// The weight of the frames so far against the next one, in the usual share of silences.
const MEMORY: f64 = 0.98;

/// The signal of a peer as it last reported it, lowered by one decibel, two, three and so on for
/// each frame since then that nothing answered and that is no accident.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    /// The signal that is assumed, and the one that was reported last, in dBm.
    assumed: i32,
    reported: i32,
    /// Silences since then, and the chance of them if the signal were still the same.
    silences: i32,
    p_value: f64,
    /// The steps by which the assumed signal has been lowered.
    steps: i32,
    /// The share of frames without an answer while the signal stays the same, as the next report
    /// shows: they collided.
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

    /// Returns the signal that is assumed, in dBm.
    pub(super) fn dbm(&self) -> i32 {
        self.assumed
    }

    /// Assumes a signal without a report.
    pub(super) fn assume(&mut self, dbm: i32) {
        self.assumed = dbm;
    }

    /// A frame was answered with a report.
    pub(super) fn report(&mut self, dbm: i32) {
        if dbm + TOLERANCE_DB >= self.reported {
            let answered = MEMORY.powi(self.silences) * (1.0 - self.usual);
            self.usual = MEMORY * (1.0 - answered);
        }
        (self.reported, self.silences) = (dbm, 0);
        self.reset_to_reported();
    }

    /// Notes a silence, which had the probability `share` by the records of the frame's rate.
    pub(super) fn miss(&mut self, share: f64) {
        self.silences = self.silences.saturating_add(1);
        self.p_value *= share.max(self.usual);
        if self.p_value < P_VALUE {
            self.steps += 1;
            self.assumed = (self.assumed - self.steps).max(*SIGNALS.start());
        }
    }

    /// Returns to the signal of the last report.
    pub(super) fn reset_to_reported(&mut self) {
        (self.assumed, self.p_value, self.steps) = (self.reported, 1.0, 0);
    }
}
