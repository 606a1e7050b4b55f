//! The air time that a rate and a code promise to take.

use windfall_wire_link::ieee80211::Code;

use super::Attempt;

/// The share of the best chance of delivery that a choice may lack.
const NEARLY: f64 = 0.01;
/// The probability of delivery that suffices for a packet without lifetime.
const ENOUGH: f64 = 0.95;
/// The share of attempts that arrive below which a choice is none while there is another.
pub(super) const HOPELESS: f64 = 0.05;
/// A rate and a code, and their expected results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The place of the rate among those of the station.
    pub(super) place: usize,
    pub(super) code: Code,
    /// The probability that an attempt delivers, and that it is answered at all.
    pub(super) success: f64,
    pub(super) noticed: f64,
    /// Seconds of an attempt, and those by which the wait after a failure is longer.
    pub(super) seconds: f64,
    pub(super) wait: f64,
    /// The probability that some attempt delivers: the expected one, and the optimistic one.
    pub(super) delivers: f64,
    pub(super) delivery_upper_bound: f64,
}

impl Candidate {
    /// Seconds for each packet that is delivered: further failures do not add to the wait, since
    /// most come in a row, for a reason that passes.
    pub(super) fn cost(&self) -> f64 {
        self.cost_with(self.success)
    }

    /// A lower bound of the cost in seconds, as if every frame that is answered delivered its
    /// packet.
    pub(super) fn least_cost(&self) -> f64 {
        self.cost_with(self.noticed)
    }

    fn cost_with(&self, success: f64) -> f64 {
        self.seconds / success.max(1e-9) + self.wait * (1.0 - success)
    }
}

/// The probability that one of the remaining attempts delivers within the remaining time. An
/// attempt takes `seconds`, of which its frame has `frame`. The first begins at once, and the
/// answer to the last may come after that time.
pub(super) fn delivers(attempt: &Attempt, success: f64, [seconds, frame]: [f64; 2]) -> f64 {
    let fit = attempt.time.map_or(f64::INFINITY, |time| {
        let left = time.as_secs_f64() - frame;
        if left < 0.0 { 0.0 } else { 1.0 + (left / seconds).floor() }
    });
    let count = f64::from(attempt.left).min(fit);
    1.0 - (1.0 - success).powf(count)
}

/// The best of the promises, if any delivers anything.
pub(super) fn best(candidates: &[Candidate], attempt: &Attempt) -> Option<Candidate> {
    let surest = candidates.iter().map(|it| it.delivers).fold(0.0, f64::max);
    // If packets wait for each other, the cheapest candidate delivers the most of them. If this
    // packet has no time for it, the next one has.
    if attempt.is_scarce {
        let is_optimistic = candidates.iter().filter(|it| it.success >= HOPELESS);
        let cheapest = is_optimistic.min_by(|a, b| a.cost().total_cmp(&b.cost()));
        return cheapest.filter(|it| it.delivers > 0.0).copied();
    }
    // Without a lifetime, the remaining attempts may be surer than this one.
    let enough = if attempt.time.is_some() { 1.0 } else { ENOUGH };
    let least = (surest - NEARLY).min(enough);
    // A candidate with few frames may be as sure as those in use. Only its use shows that, and a
    // packet with little time cannot wait for it.
    let is_near = |it: &&Candidate| {
        let chance = if attempt.time.is_some() { it.delivers } else { it.delivery_upper_bound };
        it.delivers > 0.0 && chance >= least
    };
    let near = candidates.iter().filter(is_near);
    let optimistic = |it: &&Candidate| it.success >= HOPELESS;
    let cheaper = |a: &&Candidate, b: &&Candidate| a.cost().total_cmp(&b.cost());
    let best = near.clone().filter(optimistic).min_by(cheaper);
    // A packet short of time leaves the air to the next one if no attempt is likely to succeed.
    let any = || near.filter(|_| attempt.time.is_none()).min_by(cheaper);
    best.or_else(any).copied()
}
