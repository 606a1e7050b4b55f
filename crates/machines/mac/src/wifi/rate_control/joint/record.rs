//! How much parity the frames of one rate need.

use windfall_wire_link::ieee80211::Code;

/// The number of codes, the uncoded frame among them.
pub(super) const CODES: usize = Code::ALL.len();

/// The weight of the frames of one rate and signal so far against the next one of them.
const DECAY_PER_FRAME: f64 = 0.975;
/// The weight of the frames so far against each frame of another rate at that signal.
const IDLE_DECAY_PER_FRAME: f64 = 0.998;
/// The weight of the prior, in frames.
const PRIOR_FRAMES: f64 = 1.0;
/// Frames after which the prior of the codes, or the records of other signals, count half.
pub(super) const HALF_WEIGHT_FRAMES: f64 = 8.0;
/// The greatest prior for the share of a code's failures that the next code saves.
const MAX_PRIOR_GAIN: f64 = 0.5;
/// Frames whose failure the optimistic estimate takes for an accident.
const OPTIMISM_FRAMES: f64 = 2.0;
/// The share of the frames that nothing answers, before anything is known.
const MISSED: f64 = 0.02;

/// Frames of one rate by the code that they needed.
///
/// A frame that a weaker code would have saved shows nothing about stronger codes, and a failed
/// frame shows nothing about codes stronger than its own. So the share of each code is taken over
/// the frames that the next weaker code does not save and that had at least this much parity: the
/// Kaplan–Meier estimate for censored data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// Answered frames that no weaker code would have saved, by code.
    pub(super) tried: [f64; CODES],
    /// Tried frames that this code saved or would have saved.
    pub(super) saved: [f64; CODES],
    /// Answered frames, and their bytes.
    frames: f64,
    bytes: f64,
    /// Frames without and with parity, and those of them that nothing answered.
    sent: [f64; 2],
    missed: [f64; 2],
}

/// A prior: a share, and its weight in frames.
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

    /// The share of `some` of `all` frames, combined with the prior.
    fn with(self, some: f64, all: f64) -> f64 {
        (some + self.weight * self.share) / (all + self.weight)
    }
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrived, and would have with the code of this number.
    Needed(usize),
    /// It stayed damaged.
    Damaged,
    /// Nothing answered it.
    Missed,
}

/// The shares of frames that arrive with each code, and of those received damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) whole: [f64; CODES],
    pub(super) damaged: [f64; CODES],
}

impl Record {
    /// Learns the fate of a frame of `len` bytes with the code of number `code`, which counts by
    /// `weight`.
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

    /// Decays the counts a little.
    pub(super) fn fade(&mut self) {
        self.values().for_each(|it| *it *= IDLE_DECAY_PER_FRAME);
    }

    fn values(&mut self) -> impl Iterator<Item = &mut f64> {
        let Self { tried, saved, frames, bytes, sent, missed } = self;
        let sums = [frames, bytes];
        tried.iter_mut().chain(saved).chain(sent).chain(missed).chain(sums)
    }

    /// Adds another record with a weight.
    pub(super) fn add(&mut self, other: &Self, weight: f64) {
        let mut other = *other;
        self.values().zip(other.values()).for_each(|(own, other)| *own += weight * *other);
    }

    /// The share of the frames without or with parity that nothing answers.
    pub(super) fn missed(&self, coded: bool, prior: Prior) -> f64 {
        // The share of one kind is the prior of the other.
        let at = usize::from(coded);
        let other = prior.with(self.missed[1 - at], self.sent[1 - at]);
        Prior { share: other, ..prior }.with(self.missed[at], self.sent[at])
    }

    /// Frames of which it knows.
    pub(super) fn known(&self) -> f64 {
        self.sent.iter().sum()
    }

    /// The share of all frames that nothing answers.
    pub(super) fn missed_at_all(&self) -> f64 {
        Prior::default().with(self.missed.iter().sum(), self.sent.iter().sum())
    }

    /// The shares of frames of `len` bytes, where `presumed` are those of the answered ones that
    /// arrive before anything is known; if `is_optimistic`, the less is known the more of them.
    pub(super) fn shares(
        &self,
        presumed: &[f64; CODES],
        missed: Prior,
        len: f64,
        is_optimistic: bool,
    ) -> Shares {
        // Damage to parts of a frame is independent, about: twice the length has it twice. Whether
        // the frame is noticed at all does not depend on its length.
        let mean = if self.frames > 0.0 { self.bytes / self.frames } else { len };
        let longer = len / mean.max(1.0);
        let doubt =
            |known: f64| if is_optimistic { known / (known + OPTIMISM_FRAMES) } else { 1.0 };
        let sent: f64 = self.sent.iter().sum();
        let mut shares = Shares::default();
        let (mut fails, mut below) = (1.0, 0.0);
        for (number, presumed) in presumed.iter().enumerate() {
            // If frames fail that should succeed, the signal is not the reason.
            let most = if number == 0 { 1.0 } else { MAX_PRIOR_GAIN };
            let prior = ((presumed - below) / (1.0 - below).max(1e-9)).clamp(0.0, most);
            below = *presumed;
            let tried = self.tried[number];
            // An optimistic estimate has no prior, and many measured frames need none.
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
