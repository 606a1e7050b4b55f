//! BEST: a policy beyond the paper, which estimates the channel and maximizes the expected yield.
//!
//! Errors come in bursts, so the estimates depend on the previous frame: the probability that a
//! frame is lost, after a lost frame or a received one; the probability that a block is truncated;
//! and the parity that blocks need, for each need of the worst block in the previous frame. All
//! estimates decay slowly.
//!
//! The policy computes the expected gain of each size and level, and of an uncoded frame. The gain
//! is the number of delivered bytes, minus the price of the air time at the current throughput of
//! the link. This price makes frames short during a burst of losses, although losses hit short and
//! long frames alike: a short frame detects the end of the burst at a low cost.
//!
//! If the time or the attempts of a packet may run out, the packet is worth something only if it is
//! completed. For each frame, the policy computes the probability that the packet is completed in
//! time, if the frame is retransmitted until it arrives and others follow, and the air time of all
//! these frames. Packets that cannot arrive in time are dropped. So are packets that are hardly
//! worth their air time while others wait. Each such drop lowers the price, so the link does not
//! become idle.

use windfall_base::Duration;
use windfall_wire_link::coded::{BLOCK, BLOCK_CHECK, Fate, Level, MAX_BLOCKS};

use super::beyond::{Beyond, approach, need};
use super::cuts::{Cuts, last_block, mended};
use super::estimate::Estimate;
use super::needs::{Evidence, Told, survival};
use super::trials::{Trials, of_trial};
use super::wholes::Wholes;
use super::{Cost, Outcome, Plan, Policy, Request};

/// The weight of a block in the overall estimates of needed parity: the fast one, the medium one,
/// and the minimum in the slow one.
const BLOCK_MEMORY: [f64; 3] = [0.08, 0.01, 0.0015];
/// The minimum weight of a new block in an estimate for frames after a given frame.
const AFTER_MEMORY: f64 = 0.03;
/// The number of blocks at which such an estimate and the overall estimate have equal weight.
const AFTER_PRIOR: f64 = 6.0;
/// The weight of the earlier air time and gain after a new frame.
const WORTH_MEMORY: f64 = 0.99;
/// The price of later air time relative to present air time. Of two equally fast plans, the one
/// that delivers more at once is chosen.
const LATER: f64 = 1.001;
/// The minimum probability of arrival that is assumed for a frame.
const LEAST_ARRIVAL: f64 = 0.01;
/// The price of air time, relative to its current yield, for packets that may run out of attempts,
/// and for packets that may run out of time. Later packets lack this air time.
const PRICE: [f64; 2] = [0.2, 1.2];
/// A packet that has waited for long is dropped if its yield is below this share of the price of
/// its air time.
const LEAST_WORTH: f64 = 0.3;
/// The factor of the price after each such drop.
const PRICE_MEMORY: f64 = 0.97;

/// The policy BEST.
#[derive(Clone, Debug)]
pub struct Best {
    cost: Cost,
    /// The probability that a frame is lost completely: after a received frame, and after a lost
    /// one.
    loss: [Estimate; 2],
    pub(super) was_lost: bool,
    cuts: Cuts,
    /// The probability that a block needs exactly each level, over all frames.
    needs: [[f64; 8]; 3],
    evidence: Evidence<4>,
    /// The number of blocks whose need is known.
    seen: f64,
    /// For each need of the worst block in a frame: the probability of each level for the blocks of
    /// the next frame, and the number of blocks measured.
    after: [([f64; 8], f64); 8],
    beyond: Beyond,
    /// Estimates for whole frames, whose blocks are often damaged together.
    wholes: Wholes,
    trials: Trials,
    /// The share of blocks that no level is known to save.
    hopeless: Estimate,
    /// The level that the worst block of the last reported frame needed.
    last: Level,
    /// The gained bytes and the air time in seconds; both decay.
    gained: (f64, f64),
}

/// The expected result of a frame.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    plan: Plan,
    /// The expected number of gained bytes.
    bytes: f64,
    /// Air time in seconds.
    seconds: f64,
    /// The bytes that the frame carries, and the probability that all of them arrive.
    carries: usize,
    all: f64,
    /// The probability that a block can be corrected, if any level can save it.
    good: f64,
    /// The share of its bytes that the frame is expected to deliver if it arrives.
    kept: f64,
    /// The air time in seconds of the frames that carry the rest of the packet.
    rest: f64,
}

/// The expected outcome of a packet that may run out of time or attempts.
#[derive(Clone, Copy, Debug)]
struct Prospect {
    /// The probability that the packet is completed in time.
    complete: f64,
    /// The remaining air time of the packet in seconds.
    seconds: f64,
}

impl Best {
    /// Creates a policy that assumes a good channel at first.
    #[must_use]
    pub fn new(cost: Cost) -> Self {
        let mut needs = [0.0; 8];
        needs[0] = 1.0;
        let whole = MAX_BLOCKS * Level::NONE.data();
        let seconds = cost.of(whole).as_secs_f64();
        Self {
            cost,
            loss: [Estimate::default(); 2],
            was_lost: false,
            cuts: Cuts::default(),
            beyond: Beyond::default(),
            wholes: Wholes::default(),
            trials: Trials::default(),
            hopeless: Estimate::default(),
            needs: [needs; 3],
            evidence: Evidence::default(),
            seen: 0.0,
            after: [([0.0; 8], 0.0); 8],
            last: Level::NONE,
            gained: (10.0 * whole as f64, 10.0 * seconds),
        }
    }

    /// Returns the probability that a whole block can be corrected at each level.
    fn survival(&self) -> [f64; 8] {
        let mut sum = 0.0;
        self.evidence.mean(&self.estimates()).map(|share| {
            sum += share;
            sum.min(1.0)
        })
    }

    /// Returns the estimates of needed parity: over all frames, and after a frame like the last
    /// one.
    fn estimates(&self) -> [[f64; 8]; 4] {
        let (after, seen) = &self.after[self.last.index()];
        let known = seen / (seen + AFTER_PRIOR);
        let [quick, middle, slow] = self.needs;
        let after = core::array::from_fn(|level| {
            known * after[level] + (1.0 - known) * f64::midpoint(quick[level], middle[level])
        });
        [quick, middle, slow, after]
    }

    /// Returns the price, in seconds of air time, of the remaining bytes of a packet. All of them
    /// cost their time at the current throughput of the link, and fewer bytes cost proportionally
    /// less.
    fn price(&self, request: &Request) -> impl Fn(f64) -> f64 + use<> {
        let worth = self.gained.0 / self.gained.1;
        let [_, _, slow] = self.needs;
        let mut sum = 0.0;
        let good = slow.map(|share| {
            sum += share;
            sum
        });
        let cost = self.cost;
        let takes = move |bytes: f64| {
            if bytes < 1.0 {
                return 0.0;
            }
            let by = |level: Level| {
                let blocks = (bytes / level.data() as f64).ceil();
                let frames = (blocks / MAX_BLOCKS as f64).ceil();
                let sent = bytes + blocks * (BLOCK_CHECK + level.parity()) as f64;
                let seconds =
                    frames * cost.per_frame.as_secs_f64() + sent * cost.per_byte.as_secs_f64();
                seconds / good[level.index()].max(LEAST_ARRIVAL)
            };
            Level::all().map(by).fold(f64::INFINITY, f64::min)
        };
        let all = request.bytes as f64;
        // The loss is at least the share of blocks that no level saves.
        let least = 1.0 / (1.0 - self.hopeless.value).max(LEAST_ARRIVAL);
        let unit = (all / worth / takes(all)).max(least);
        move |bytes| unit * takes(bytes)
    }

    /// Returns the probability that a frame is lost: after a received frame, after a lost one, and
    /// for the next frame. Other frames are in flight between an outcome and the frame that reacts
    /// to it, and each of them weakens the correlation.
    fn lost(&self, request: &Request) -> [f64; 3] {
        let [after_arrival, after_loss] = [0, 1].map(|was_lost| self.loss[was_lost].value);
        let memory = after_loss - after_arrival;
        let usual = after_arrival / (1.0 - memory).max(LEAST_ARRIVAL);
        let frame = self.cost.of(request.packet.min(MAX_BLOCKS * BLOCK)).as_secs_f64();
        let between = (request.round_trip.as_secs_f64() / frame.max(1e-9)).floor();
        let left = memory.abs().powf(between);
        let later = |lost: f64| usual + left * (lost - usual);
        [after_arrival, later(after_loss), later(self.loss[usize::from(self.was_lost)].value)]
    }

    /// Computes the expected result of a frame for the rest of a packet, if the frame is lost with
    /// probability `lost`.
    fn promise(&self, wanted: usize, plan: Plan, good: f64, lost: f64) -> Candidate {
        let level = plan.level;
        // A block that no level saves counts as a lost frame.
        let saved = 1.0 - self.hopeless.value;
        let arrives = saved * (1.0 - lost);
        if plan.uncoded {
            let pieces = wanted.div_ceil(level.data()).max(1);
            let longest = pieces.min(MAX_BLOCKS);
            let there = self.cuts.reached(longest)[longest - 1];
            let all = there * good.powi(pieces as i32);
            let seconds = self.cost.of(wanted + BLOCK_CHECK).as_secs_f64();
            let bytes = wanted as f64 * all * arrives;
            let carries = wanted;
            let kept = saved * all;
            return Candidate {
                plan,
                bytes,
                seconds,
                carries,
                all: arrives * all,
                good,
                kept,
                rest: 0.0,
            };
        }
        let used = usize::from(plan.blocks).min(wanted.div_ceil(level.data())).max(1);
        let reached = self.cuts.reached(used);
        let mut brought = 0.0;
        let mut before = 1.0;
        let mut there = 1.0;
        let mut left = wanted;
        for reached in &reached[..used] {
            let data = left.min(level.data());
            left -= data;
            // The block is complete, or its parity repairs the truncation.
            there = reached + (before - reached) * mended(level, data);
            before = *reached;
            brought += data as f64 * there * good;
        }
        let all = arrives * there * good.powi(used as i32);
        let carries = wanted - left;
        let sent = carries + used * (BLOCK_CHECK + level.parity());
        let seconds = self.cost.of(sent).as_secs_f64();
        let rest = self.rest(left, plan, carries);
        let kept = saved * brought / carries.max(1) as f64;
        Candidate { plan, bytes: brought * arrives, seconds, carries, all, good, kept, rest }
    }

    /// Returns the probability that no block of a received frame with `bytes` of data fails or is
    /// truncated. `good` is the probability that a block can be corrected, if any level can save
    /// it.
    fn unharmed(&self, plan: Plan, good: f64, bytes: usize) -> f64 {
        let data = plan.level.data();
        let blocks = bytes.div_ceil(data).max(1);
        let longest = blocks.min(MAX_BLOCKS);
        let reached = self.cuts.reached(longest);
        let (before, last) =
            (reached.get(longest.wrapping_sub(2)).unwrap_or(&1.0), reached[longest - 1]);
        let rest = bytes.saturating_sub((longest - 1) * data).min(data);
        let uncut =
            if plan.uncoded { last } else { last + (before - last) * mended(plan.level, rest) };
        uncut * self.wholes.unharmed(plan.level, blocks as f64, good, 1.0 - self.hopeless.value)
    }

    /// Returns the air time in seconds of `left` bytes in frames that carry `each` bytes.
    fn rest(&self, left: usize, plan: Plan, each: usize) -> f64 {
        if left == 0 {
            return 0.0;
        }
        let checked = left.div_ceil(plan.level.data()) * (BLOCK_CHECK + plan.level.parity());
        let further = left.div_ceil(each.max(1)) as f64 - 1.0;
        let overhead = self.cost.per_frame.as_secs_f64();
        self.cost.of(left + checked).as_secs_f64() + further * overhead
    }

    /// Returns the expected number of failed bytes in a frame with failures, and of their blocks;
    /// `each` is the probability that the frame arrives whole.
    fn failing(promise: &Candidate, each: f64) -> (usize, usize) {
        let Candidate { plan, carries, kept, .. } = *promise;
        if plan.uncoded {
            return (carries, 1);
        }
        let share = ((1.0 - kept) / (1.0 - each).max(LEAST_ARRIVAL)).min(1.0);
        let data = plan.level.data();
        let bytes = ((carries as f64 * share).ceil() as usize).max(data.min(carries));
        (bytes, bytes.div_ceil(data))
    }

    /// Computes the outcome of a packet whose lifetime ends in `left` seconds. A frame is
    /// retransmitted until it arrives, similar frames follow, and failed parts are retransmitted.
    fn prospect(&self, promise: &Candidate, request: &Request, left: f64) -> Prospect {
        let [after_arrival, after_loss, now] = self.lost(request);
        let Candidate { plan, seconds, carries, good, rest, .. } = *promise;
        if left < seconds + rest {
            return Prospect { complete: 0.0, seconds };
        }
        let arrives = |lost: f64| (1.0 - lost).max(LEAST_ARRIVAL);
        // If one of the following frames is lost, its retransmissions follow a lost frame.
        let rest_expected = rest * (1.0 + after_arrival / arrives(after_loss));
        let turn = seconds + request.round_trip.as_secs_f64();
        let in_time = 1.0 + ((left - seconds - rest_expected) / turn).floor().max(0.0);
        let attempts = in_time.min(request.tries_left.map_or(f64::INFINITY, f64::from));
        let within = |lost: f64, attempts: f64| 1.0 - lost * after_loss.powf(attempts - 1.0);
        let first = within(now, attempts);
        let sent = 1.0 + now * (1.0 - after_loss.powf(attempts - 1.0)) / arrives(after_loss);
        // Frames whose blocks are all received, and frames with failed blocks.
        let full = request.bytes / carries.max(1);
        let last = request.bytes % carries.max(1);
        let each = self.unharmed(plan, good, carries);
        let end = if last == 0 { 1.0 } else { self.unharmed(plan, good, last) };
        let all = each.powf(full as f64) * end;
        let harmed = full as f64 * (1.0 - each) + (1.0 - end);
        // Each of the following frames has its own attempts.
        let follows = within(after_arrival, attempts).powf(rest / seconds);
        let (again, repairs) = if attempts > 1.0 {
            let (failing, blocks) = Self::failing(promise, each);
            let mends = self.unharmed(plan, good, failing);
            let repair = self.cost.of(failing + blocks * (BLOCK_CHECK + plan.level.parity()));
            let mended = 1.0 - (1.0 - mends).powf((attempts - 1.0).min(64.0));
            let repairs = harmed * mended / mends.max(LEAST_ARRIVAL);
            (mended * within(after_arrival, attempts - 1.0), repairs * repair.as_secs_f64())
        } else {
            (0.0, 0.0)
        };
        Prospect {
            complete: first * follows * (all + (1.0 - all) * again),
            seconds: seconds * sent + first * (rest_expected + repairs),
        }
    }

    /// Chooses the frame for a packet that may run out of time or attempts; `None` if the packet is
    /// not worth its air time.
    fn plan_in_time(&mut self, request: &Request, promises: &[Candidate]) -> Option<Plan> {
        let left = request.time_left.map_or(f64::INFINITY, Duration::as_secs_f64);
        let worth = self.gained.0 / self.gained.1;
        let price = PRICE[usize::from(request.time_left.is_some())];
        let prospect = |it: &Candidate| (it.plan, self.prospect(it, request, left));
        let prospects: Vec<(Plan, Prospect)> = promises.iter().map(prospect).collect();
        let packet = request.packet as f64;
        // The price follows the throughput that the estimates predict. The measured throughput also
        // depends on past choices, and a bad choice must not make air time seem cheap.
        let rest = request.bytes as f64;
        let could = prospects.iter().map(|(_, it)| rest * it.complete / it.seconds);
        let could = could.fold(0.0, f64::max);
        let price = price * worth.max(could);
        let gain = |(_, prospect): &(Plan, Prospect)| {
            packet * prospect.complete - price * prospect.seconds
        };
        let (plan, prospect) = prospects
            .into_iter()
            .filter(|(_, prospect)| prospect.complete > 0.0)
            .max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
        let brings = request.packet as f64 * prospect.complete;
        if request.is_scarce && brings < LEAST_WORTH * worth * prospect.seconds {
            self.gained.0 *= PRICE_MEMORY;
            return None;
        }
        Some(plan)
    }

    /// Records the blocks of a frame that carried `bytes`.
    fn learn_blocks(&mut self, used: Level, fates: &[Fate], bytes: usize) {
        let before = (used == Level::STRONGEST).then(|| self.best_level());
        self.wholes.learn(used, fates);
        let told = Told::of(used, fates, bytes);
        let is_destroyed = self.beyond.is_destroyed(told.level, &told.fates);
        if !is_destroyed {
            self.evidence.learn(&self.estimates(), told.level, &told.fates);
        }
        let (after, blocks) = &mut self.after[self.last.index()];
        let mut worst = None;
        for fate in &told.fates {
            self.beyond.learn(told.level, *fate);
            let Some(seen) = need(*fate, told.level, &self.beyond) else { continue };
            let mass: f64 = seen.iter().sum();
            self.hopeless.learn(1.0 - mass);
            if is_destroyed {
                continue;
            }
            worst = worst.max(Some(match fate {
                Fate::Good(corrected) => Level::correcting(usize::from(*corrected)),
                _ => told.level.stronger(),
            }));
            self.seen += 1.0;
            let [quick, middle, slow] = BLOCK_MEMORY;
            let memories = [quick, middle, slow.max(1.0 / (self.seen + AFTER_PRIOR))];
            let weight = told.weight(*fate);
            for (needs, memory) in self.needs.iter_mut().zip(memories) {
                approach(needs, &seen, weight * memory);
            }
            *blocks += weight * mass;
            approach(after, &seen, weight * (1.0 / *blocks).clamp(AFTER_MEMORY, 1.0 / weight));
        }
        self.last = worst.unwrap_or(self.last);
        let changes = before.is_some_and(|before| before != self.best_level());
        let seconds = |bytes| self.cost.of(bytes).as_secs_f64();
        self.trials.learn(used, fates, changes, of_trial(used, bytes, seconds));
    }

    /// Returns the level with the highest expected gain for a long packet in frames of maximum
    /// size.
    fn best_level(&self) -> Level {
        let worth = self.gained.0 / self.gained.1;
        let survival = self.survival();
        let gain = |level: &Level| {
            let blocks = MAX_BLOCKS as u8;
            let plan = Plan { blocks, level: *level, whole: false, uncoded: false };
            let wanted = MAX_BLOCKS * level.data();
            let lost = self.loss[usize::from(self.was_lost)].value;
            let promise = self.promise(wanted, plan, survival[level.index()], lost);
            promise.bytes - worth * promise.seconds
        };
        let best = Level::all().max_by(|a, b| gain(a).total_cmp(&gain(b)));
        best.unwrap_or(Level::NONE)
    }

    /// Records an uncoded frame as if it consisted of blocks: all good, or one failed.
    fn learn_uncoded(&mut self, bytes: usize, fates: &[Fate]) {
        let data = Level::NONE.data();
        let pieces = bytes.div_ceil(data).clamp(1, MAX_BLOCKS);
        match fates {
            [Fate::Good(_)] => {
                let good = [Fate::Good(0); MAX_BLOCKS];
                // Without parity the length of the last block does not matter.
                self.cuts.learn(Level::NONE, data, &good[..pieces]);
                self.learn_blocks(Level::NONE, &good[..pieces], bytes);
            }
            [Fate::Missing] => self.cuts.learn_uncoded(pieces),
            _ => self.learn_blocks(Level::NONE, fates, bytes),
        }
    }

    /// Records the gain and the air time of a frame.
    fn learn_worth(&mut self, plan: Plan, carried: usize, fates: &[Fate]) {
        // An uncoded frame counts as one long block.
        let data = if plan.uncoded { carried } else { plan.level.data() };
        let used = usize::from(plan.blocks).min(carried.div_ceil(data.max(1))).max(1);
        let len = |block: usize| carried.saturating_sub(block * data).min(data);
        let taken = fates.iter().enumerate().filter(|(_, fate)| fate.is_taken());
        let bytes: usize = taken.map(|(block, _)| len(block)).sum();
        let sent = carried.min(used * data) + used * (BLOCK_CHECK + plan.level.parity());
        self.gained.0 = WORTH_MEMORY * self.gained.0 + bytes as f64;
        self.gained.1 = WORTH_MEMORY * self.gained.1 + self.cost.of(sent).as_secs_f64();
    }
}

impl Policy for Best {
    //= S3.16
    //= S3.45
    fn plan(&mut self, request: &Request) -> Option<Plan> {
        let needs = self.evidence.mean(&self.estimates());
        let [_, _, lost] = self.lost(request);
        let good = |plan: Plan| {
            let data = request.bytes.min(plan.level.data());
            let is_alone = plan.blocks == 1 || request.bytes <= data;
            let len = data + BLOCK_CHECK + plan.level.parity();
            survival(&needs, plan.level, if is_alone { len } else { BLOCK })
        };
        let coded = |blocks| {
            Level::all().map(move |level| Plan { blocks, level, whole: false, uncoded: false })
        };
        let uncoded = Plan { blocks: 1, level: Level::NONE, whole: false, uncoded: true };
        let plans = (1..=MAX_BLOCKS as u8).flat_map(coded);
        let promises: Vec<Candidate> = plans
            .chain(request.may_be_uncoded.then_some(uncoded))
            .map(|plan| self.promise(request.bytes, plan, good(plan), lost))
            .collect();
        if request.time_left.is_some() || request.tries_left.is_some() {
            return self.plan_in_time(request, &promises);
        }
        let price = self.price(request);
        let whole = price(request.bytes as f64);
        let gain = |promise: &Candidate| {
            let carried = request.bytes.min(promise.carries) as f64;
            let some = (promise.bytes - promise.all * carried) / (1.0 - promise.all).max(1e-9);
            let left = promise.all * price(request.bytes as f64 - carried)
                + (1.0 - promise.all) * price(request.bytes as f64 - some);
            whole - LATER * left - promise.seconds
        };
        let mut plan = promises.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)))?.plan;
        if self.trials.is_due() {
            plan = Plan { blocks: MAX_BLOCKS as u8, level: Level::STRONGEST, ..plan };
            plan.uncoded = false;
        }
        Some(plan)
    }

    fn learn(&mut self, plan: Plan, bytes: usize, outcome: Outcome<'_>) {
        let fates = match outcome {
            Outcome::Silence => &[],
            Outcome::Report(fates) => fates,
        };
        let is_lost = matches!(outcome, Outcome::Silence);
        self.loss[usize::from(self.was_lost)].learn(f64::from(u8::from(is_lost)));
        self.was_lost = is_lost;
        self.learn_worth(plan, bytes, fates);
        if plan.uncoded {
            self.learn_uncoded(bytes, fates);
            return;
        }
        self.cuts.learn(plan.level, last_block(plan.level, bytes, fates), fates);
        self.learn_blocks(plan.level, fates, bytes);
    }
}

#[cfg(test)]
mod tests;
