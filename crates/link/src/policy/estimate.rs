//! A probability that follows what is seen.

/// The least weight of one more trial.
const MEMORY: f64 = 0.01;

/// A probability that follows what is seen: at first as a mean, then slower and slower to a point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    pub(super) value: f64,
    seen: f64,
}

impl Estimate {
    /// Learns from one trial what happened: 1 or 0, or more where it stands for unseen ones.
    pub(super) fn learn(&mut self, happened: f64) {
        self.seen += 1.0;
        // As if it had not happened in two trials before the first.
        let weight = (1.0 / (self.seen + 2.0)).max(MEMORY);
        self.value += weight * (happened - self.value);
    }
}
