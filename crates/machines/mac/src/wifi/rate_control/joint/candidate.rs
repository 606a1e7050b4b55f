//! The expected air time of a rate and a code.

use windfall_wire_link::ieee80211::Code;

use super::Attempt;

/// A candidate may deliver the packet less surely than the best one by this probability.
const NEARLY: f64 = 0.01;
/// The delivery probability that suffices for a packet without a lifetime.
const ENOUGH: f64 = 0.95;
/// Candidates with a lower success probability are used only if there is no other.
pub(super) const HOPELESS: f64 = 0.05;
/// A rate and a code with their expected results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The index of the rate in the station's rates.
    pub(super) place: usize,
    pub(super) code: Code,
    /// The probabilities that an attempt delivers the packet, and that the attempt is answered.
    pub(super) success: f64,
    pub(super) noticed: f64,
    /// The time of an attempt in seconds, and the additional backoff after a failure.
    pub(super) seconds: f64,
    pub(super) wait: f64,
    /// The probability that one of the attempts delivers the packet: expected and optimistic.
    pub(super) delivers: f64,
    pub(super) delivery_upper_bound: f64,
}

impl Candidate {
    /// Returns the expected time in seconds for a delivered packet. Only the first failure adds
    /// backoff, because further failures mostly come in bursts.
    pub(super) fn cost(&self) -> f64 {
        self.cost_with(self.success)
    }

    /// Returns a lower bound of the cost in seconds: the cost if every answered frame delivered its
    /// packet.
    pub(super) fn least_cost(&self) -> f64 {
        self.cost_with(self.noticed)
    }

    fn cost_with(&self, success: f64) -> f64 {
        self.seconds / success.max(1e-9) + self.wait * (1.0 - success)
    }
}

/// Returns the probability that one of the remaining attempts delivers the packet within the
/// remaining time. An attempt takes `seconds`, including `frame` for its frame. The first attempt
/// begins at once. The ACK of the last attempt may arrive after the remaining time.
pub(super) fn delivers(attempt: &Attempt, success: f64, [seconds, frame]: [f64; 2]) -> f64 {
    let fit = attempt.time.map_or(f64::INFINITY, |time| {
        let left = time.as_secs_f64() - frame;
        if left < 0.0 { 0.0 } else { 1.0 + (left / seconds).floor() }
    });
    let count = f64::from(attempt.left).min(fit);
    1.0 - (1.0 - success).powf(count)
}

/// Returns the best candidate; `None` if no candidate can deliver the packet.
pub(super) fn best(candidates: &[Candidate], attempt: &Attempt) -> Option<Candidate> {
    let surest = candidates.iter().map(|it| it.delivers).fold(0.0, f64::max);
    // Under overload, the cheapest candidate delivers the most packets. If this packet has no time
    // for it, the next packet uses the air time.
    if attempt.is_scarce {
        let is_optimistic = candidates.iter().filter(|it| it.success >= HOPELESS);
        let cheapest = is_optimistic.min_by(|a, b| a.cost().total_cmp(&b.cost()));
        return cheapest.filter(|it| it.delivers > 0.0).copied();
    }
    // Without a lifetime, the remaining attempts may use more robust candidates than this one.
    let enough = if attempt.time.is_some() { 1.0 } else { ENOUGH };
    let least = (surest - NEARLY).min(enough);
    // A candidate with few measured frames may be as reliable as the current one, which only its
    // use can show. A packet with little time left does not try it.
    let is_near = |it: &&Candidate| {
        let chance = if attempt.time.is_some() { it.delivers } else { it.delivery_upper_bound };
        it.delivers > 0.0 && chance >= least
    };
    let near = candidates.iter().filter(is_near);
    let optimistic = |it: &&Candidate| it.success >= HOPELESS;
    let cheaper = |a: &&Candidate, b: &&Candidate| a.cost().total_cmp(&b.cost());
    let best = near.clone().filter(optimistic).min_by(cheaper);
    // A packet with a lifetime leaves the air time to the next packet if no attempt is likely to
    // succeed.
    let any = || near.filter(|_| attempt.time.is_none()).min_by(cheaper);
    best.or_else(any).copied()
}
