//! How much parity the frames of one rate need.

use windfall_wire_link::ieee80211::Code;

/// The number of codes, the uncoded frame among them.
pub(super) const CODES: usize = Code::ALL.len();

/// The weight of the frames of one rate and signal so far against the next one of them.
const MEMORY: f64 = 0.975;
/// The same for each frame of another rate at that signal.
const FADING: f64 = 0.998;
/// The share of the frames beyond one code that the next one saves, before anything is known.
const SAVED: f64 = 0.5;
/// Frames for which what is presumed counts.
const PRESUMED: f64 = 1.0;
/// The share of the frames that stay damaged which the receiver hears, before anything is known.
const HEARD: f64 = 0.5;

/// Frames of one rate by the code that they needed.
///
/// A frame that a weaker code would have saved tells nothing of the stronger ones, and one that
/// failed nothing of those stronger than its own. So the share of each code is that of the frames
/// which the next weaker code does not save and which had at least this much parity: the estimate
/// of Kaplan and Meier for data that are cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// Frames that no weaker code would have saved, by code.
    pub(super) tried: [f64; CODES],
    /// Those of them that this code saved or would have.
    pub(super) saved: [f64; CODES],
    /// Frames, and their bytes.
    frames: f64,
    bytes: f64,
    /// Frames that stayed damaged, and those of them that the receiver reported.
    failed: f64,
    heard: f64,
}

impl Record {
    /// Learns that a frame of `len` bytes with the code of number `code` needed that of number
    /// `needed`, or failed, and whether its receiver reported it.
    pub(super) fn learn(&mut self, code: usize, needed: Option<usize>, heard: bool, len: f64) {
        let last = needed.unwrap_or(code);
        for number in 0..=last {
            let saved = needed == Some(number);
            self.tried[number] = MEMORY * self.tried[number] + 1.0;
            self.saved[number] = MEMORY * self.saved[number] + f64::from(u8::from(saved));
        }
        self.frames = MEMORY * self.frames + 1.0;
        self.bytes = MEMORY * self.bytes + len;
        if needed.is_none() {
            self.failed = MEMORY * self.failed + 1.0;
            self.heard = MEMORY * self.heard + f64::from(u8::from(heard));
        }
    }

    /// Gives what is known a little less weight.
    pub(super) fn fade(&mut self) {
        self.scale(FADING);
    }

    fn scale(&mut self, by: f64) {
        self.tried.iter_mut().chain(&mut self.saved).for_each(|it| *it *= by);
        for it in [&mut self.frames, &mut self.bytes, &mut self.failed, &mut self.heard] {
            *it *= by;
        }
    }

    /// Adds another record with a weight.
    pub(super) fn add(&mut self, other: &Self, weight: f64) {
        let mut other = *other;
        other.scale(weight);
        for (own, other) in self.tried.iter_mut().zip(other.tried) {
            *own += other;
        }
        for (own, other) in self.saved.iter_mut().zip(other.saved) {
            *own += other;
        }
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.failed += other.failed;
        self.heard += other.heard;
    }

    /// The share of frames of `len` bytes that arrive with each code, where `presumed` is that of
    /// the uncoded ones before anything is known; if `hopeful`, as if one more of each arrived.
    pub(super) fn successes(&self, presumed: f64, len: f64, hopeful: bool) -> [f64; CODES] {
        let more = f64::from(u8::from(hopeful));
        // Damage to parts of a frame is independent, about: twice the length has it twice.
        let mean = if self.frames > 0.0 { self.bytes / self.frames } else { len };
        let longer = len / mean.max(1.0);
        let mut fails = 1.0;
        core::array::from_fn(|number| {
            let prior = if number == 0 { presumed } else { SAVED };
            let saved = self.saved[number] + PRESUMED * prior + more;
            let tried = self.tried[number] + PRESUMED + more;
            fails *= 1.0 - saved / tried;
            (1.0 - fails).max(0.0).powf(longer)
        })
    }

    /// The share of the frames that stay damaged which the receiver hears.
    pub(super) fn heard(&self) -> f64 {
        (self.heard + PRESUMED * HEARD) / (self.failed + PRESUMED)
    }
}
