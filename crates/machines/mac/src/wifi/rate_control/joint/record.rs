//! The number of parity symbols that the frames of one rate need.

use windfall_wire_link::ieee80211::Code;

/// The number of codes, including no code.
pub(super) const CODES: usize = Code::ALL.len();

/// The weight of earlier frames after each frame of the same rate and signal.
const DECAY_PER_FRAME: f64 = 0.975;
/// The weight of earlier frames after each frame of another rate at the same signal.
const IDLE_DECAY_PER_FRAME: f64 = 0.998;
/// The weight of the prior, in frames.
const PRIOR_FRAMES: f64 = 1.0;
/// The number of frames at which the weight of the prior, or of records of other signals, is
/// halved.
pub(super) const HALF_WEIGHT_FRAMES: f64 = 8.0;
/// The maximum prior for the share of a code's failures that the next stronger code corrects.
const MAX_PRIOR_GAIN: f64 = 0.5;
/// The number of failed frames that the optimistic estimate ignores.
const OPTIMISM_FRAMES: f64 = 2.0;
/// The prior share of unanswered frames.
const MISSED: f64 = 0.02;

/// Counts the frames of one rate by the weakest code that would have sufficed.
///
/// The data are censored. If a weaker code suffices for a frame, the frame does not test stronger
/// codes. A failed frame does not test codes stronger than its own. So the share of each code is
/// computed over the frames that had at least its parity and for which the next weaker code does
/// not suffice: the Kaplan–Meier estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// For each code, the answered frames that no weaker code would have corrected.
    pub(super) tried: [f64; CODES],
    /// For each code, those of the `tried` frames that it corrected or would have corrected.
    pub(super) saved: [f64; CODES],
    /// The number of answered frames, and their bytes.
    frames: f64,
    bytes: f64,
    /// Frames without and with parity, and the unanswered ones among them.
    sent: [f64; 2],
    missed: [f64; 2],
}

/// A prior probability, and its weight in frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    pub(super) share: f64,
    pub(super) weight: f64,
}

impl Default for Prior {
    fn default() -> Self {
        Self { share: MISSED, weight: PRIOR_FRAMES }
    }
}

impl Prior {
    /// Combines this prior with a share observed in `weight` frames.
    pub(super) fn and(self, share: f64, weight: f64) -> Self {
        Self { share: self.with(weight * share, weight), weight: self.weight + weight }
    }

    /// Returns the share of `some` in `all` frames, combined with the prior.
    fn with(self, some: f64, all: f64) -> f64 {
        (some + self.weight * self.share) / (all + self.weight)
    }
}

/// The outcome of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The frame was delivered; the code of this index would have sufficed.
    Needed(usize),
    /// The frame could not be corrected.
    Damaged,
    /// The frame was not answered.
    Missed,
}

/// For each code, the share of frames that are delivered, and the share that arrive damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) whole: [f64; CODES],
    pub(super) damaged: [f64; CODES],
}

impl Record {
    /// Records the outcome of a frame of `len` bytes with the code of index `code`; the frame
    /// counts `weight`.
    pub(super) fn record(&mut self, code: usize, fate: Fate, len: f64, weight: f64) {
        let coded = usize::from(code > 0);
        let missed = f64::from(u8::from(fate == Fate::Missed));
        remember(&mut self.sent[coded], 1.0, weight);
        remember(&mut self.missed[coded], missed, weight);
        let needed = match fate {
            Fate::Needed(number) => Some(number),
            Fate::Damaged => None,
            Fate::Missed => return,
        };
        for number in 0..=needed.unwrap_or(code) {
            let saved = needed == Some(number);
            remember(&mut self.tried[number], 1.0, weight);
            remember(&mut self.saved[number], f64::from(u8::from(saved)), weight);
        }
        remember(&mut self.frames, 1.0, weight);
        remember(&mut self.bytes, len, weight);
    }

    /// Decays the counts after a frame of another rate.
    pub(super) fn fade(&mut self) {
        self.values().for_each(|it| *it *= IDLE_DECAY_PER_FRAME);
    }

    fn values(&mut self) -> impl Iterator<Item = &mut f64> {
        let Self { tried, saved, frames, bytes, sent, missed } = self;
        let sums = [frames, bytes];
        tried.iter_mut().chain(saved).chain(sent).chain(missed).chain(sums)
    }

    /// Adds another record, weighted.
    pub(super) fn add(&mut self, other: &Self, weight: f64) {
        let mut other = *other;
        self.values().zip(other.values()).for_each(|(own, other)| *own += weight * *other);
    }

    /// Returns the share of unanswered frames, with parity if `coded`.
    pub(super) fn missed(&self, coded: bool, prior: Prior) -> f64 {
        // The share of frames with parity is the prior for frames without, and the reverse.
        let at = usize::from(coded);
        let other = prior.with(self.missed[1 - at], self.sent[1 - at]);
        Prior { share: other, ..prior }.with(self.missed[at], self.sent[at])
    }

    /// Returns the weighted number of frames in the record.
    pub(super) fn known(&self) -> f64 {
        self.sent.iter().sum()
    }

    /// Returns the share of unanswered frames among all frames.
    pub(super) fn missed_at_all(&self) -> f64 {
        Prior::default().with(self.missed.iter().sum(), self.sent.iter().sum())
    }

    /// Returns the shares for frames of `len` bytes. `presumed` is the prior share of answered
    /// frames that each code delivers. If `is_optimistic`, the shares are higher the fewer frames
    /// were measured.
    pub(super) fn shares(
        &self,
        presumed: &[f64; CODES],
        missed: Prior,
        len: f64,
        is_optimistic: bool,
    ) -> Shares {
        // Damage to different parts of a frame is roughly independent, so its logarithm grows with
        // the length. The detection of the preamble does not depend on the length.
        let mean = if self.frames > 0.0 { self.bytes / self.frames } else { len };
        let longer = len / mean.max(1.0);
        let doubt =
            |known: f64| if is_optimistic { known / (known + OPTIMISM_FRAMES) } else { 1.0 };
        let sent: f64 = self.sent.iter().sum();
        let mut shares = Shares::default();
        let mut fails = 1.0;
        let mut below = 0.0;
        for (number, presumed) in presumed.iter().enumerate() {
            // The prior may claim only a limited gain from coding: if frames fail although the
            // signal is strong, a weak signal is not the cause.
            let most = if number == 0 { 1.0 } else { MAX_PRIOR_GAIN };
            let prior = ((presumed - below) / (1.0 - below).max(1e-9)).clamp(0.0, most);
            below = *presumed;
            let tried = self.tried[number];
            // An optimistic estimate has no prior, and the prior loses weight as frames are
            // measured.
            let weight = if is_optimistic {
                1e-9
            } else {
                PRIOR_FRAMES / (1.0 + tried / HALF_WEIGHT_FRAMES)
            };
            fails *= 1.0 - (self.saved[number] + weight * prior) / (tried + weight);
            let known = sent + missed.weight - PRIOR_FRAMES;
            let noticed = 1.0 - self.missed(number > 0, missed) * doubt(known);
            let whole = (1.0 - fails * doubt(tried)).max(0.0).powf(longer);
            shares.whole[number] = noticed * whole;
            shares.damaged[number] = noticed * (1.0 - whole);
        }
        shares
    }
}

/// Adds to an exponentially decaying sum.
fn remember(sum: &mut f64, value: f64, weight: f64) {
    *sum = (1.0 - weight * (1.0 - DECAY_PER_FRAME)) * *sum + weight * value;
}
