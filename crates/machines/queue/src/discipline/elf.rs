//! Effort-limited fair scheduling: which flow gets the next slot of a link that loses packets.
//!
//! Equation 1 of the paper, A = min(W / (1 − E), P · W), needs the error rate E of each flow. This
//! scheduler needs no estimate. Each flow has a *level*: the number *x* at which it has received
//! its share, an outcome of W · *x*, or has reached its limit, an effort of P · W · *x*:
//!
//! *level = max(outcome / W, effort / (P · W))*
//!
//! and always serve the flow of the lowest level. All levels then rise together, and at level *x* a
//! flow with error rate E has taken an effort of min(W / (1 − E), P · W) · *x*, which is
//! equation 1. A flow that errors pushed to its limit is behind in outcome when they end; it keeps
//! its limit of effort until it has caught up, which is the compensation of Figure 12.
//!
//! A flow does not save up the unspent part of its limit, except for a short burst: the limit holds
//! during each spell of errors, not on average since the beginning.
//!
//! A reserved flow has the elapsed time of the whole link as its measure instead of the level of
//! the others, so that it gets an absolute share and best effort what is left (section 6.3). With a
//! power factor of 1 a flow is served by effort alone, which is fair queueing.
//!
//! Levels are compared in ticks, a sixty-fourth of what an attempt raises the level of the flow
//! that can take most; among flows of one tick, the first to arrive is first.

use super::{Discipline, Measure, Sharing};
use crate::backlog::Backlog;
use crate::levels::Levels;
use crate::scheduler::{FlowConfig, FlowError, Scheduler, Service};

/// Weighted fair queueing of bytes.
///
/// Fair queueing is effort-limited fairness whose limit is the share itself: every power factor
/// counts as 1.
pub const WFQ: Discipline = Discipline {
    name: "wfq",
    measure: Measure::Bytes,
    sharing: Sharing::ByWeight,
    scheduler: |unit| Box::new(Elf::without_power(unit)),
};

/// Effort-limited fairness in air time.
pub const ELF: Discipline = Discipline {
    name: "elf",
    measure: Measure::AirTime,
    sharing: Sharing::ByWeight,
    scheduler: |unit| Box::new(Elf::new(Memory { lag: LAG, ..Memory::default() }, unit)),
};

/// Effort-limited fairness in packets, as in the paper's section 7.
pub const ELF_PACKETS: Discipline = Discipline {
    name: "elf-packets",
    measure: Measure::Packets,
    sharing: Sharing::ByWeight,
    scheduler: |unit| Box::new(Elf::new(Memory::default(), unit)),
};

/// The maximum lag that ELF compensates, in seconds of the link for each unit of weight.
///
/// Error bursts on a radio last for seconds, and a flow is compensated for one. Without a limit,
/// the other flows would have to compensate an outage of minutes for minutes. The limit bounds this
/// time to LAG / (P − 1): 50 s for best effort.
const LAG: f64 = 10.0;

/// The limits on the compensation and on the bursts of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The maximum lag in outcome that is compensated, in effort for each unit of weight; infinite
    /// in the paper. A larger lag is cut, so that compensation ends after at most this value
    /// divided by P − 1.
    pub lag: f64,
    /// The unused effort that a flow may save for a burst beyond its limit, in attempts of the
    /// largest cost so far.
    pub burst: f64,
}

impl Default for Memory {
    /// Compensates every lag, and permits bursts of eight attempts.
    fn default() -> Self {
        Self { lag: f64::INFINITY, burst: 8.0 }
    }
}

/// The scheduler. The cost of a decision does not depend on the number of flows.
#[derive(Debug)]
pub struct Elf {
    flows: Vec<Flow>,
    backlog: Backlog,
    /// Best-effort flows with packets.
    best_effort: Levels,
    /// Reserved flows with packets.
    reserved: Levels,
    /// Time that has passed: the measure of the reserved flows.
    elapsed: f64,
    /// The level up to which best-effort flows have been served.
    served: f64,
    /// The reserved flow whose present turn uses otherwise idle time, which is not charged.
    gift: Option<usize>,
    memory: Memory,
    /// Set if every power factor counts as 1.
    is_powerless: bool,
    /// The typical effort of an attempt.
    unit: f64,
    /// The largest effort of an attempt so far.
    costliest: f64,
    ticks_per_level: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    outcome_level: f64,
    effort_level: f64,
    /// The increase of the level for each unit of outcome: 1 / W.
    per_outcome: f64,
    /// The increase of the level for each unit of effort: 1 / (P · W).
    per_effort: f64,
    reserved: bool,
    /// The amount added to the outcome level because the lag exceeded the maximum.
    forgiven: f64,
}

impl Flow {
    fn level(&self) -> f64 {
        self.outcome_level.max(self.effort_level)
    }
}

/// Ticks by which an attempt raises the level of the flow that can take most.
const TICKS: f64 = 64.0;

impl Elf {
    /// A scheduler without flows; `unit` is the typical cost of an attempt, to within some powers
    /// of ten.
    #[must_use]
    pub fn new(memory: Memory, unit: f64) -> Self {
        Self {
            flows: Vec::new(),
            backlog: Backlog::default(),
            best_effort: Levels::new(),
            reserved: Levels::new(),
            elapsed: 0.0,
            served: 0.0,
            gift: None,
            memory,
            is_powerless: false,
            unit,
            costliest: 0.0,
            ticks_per_level: TICKS / unit,
        }
    }

    /// A scheduler for fair queueing: no flow gets extra effort for errors.
    #[must_use]
    pub fn without_power(unit: f64) -> Self {
        Self { is_powerless: true, ..Self::new(Memory::default(), unit) }
    }

    /// Returns the reserved flow that is furthest behind its share, if one is behind.
    pub(crate) fn due(&mut self) -> Option<usize> {
        self.gift = None;
        let due = self.tick(self.elapsed);
        self.reserved.first(due)
    }

    fn tick(&self, level: f64) -> u64 {
        // Saturates: levels are never negative, and beyond the range all are equal.
        (level * self.ticks_per_level) as u64
    }

    fn queue(&mut self, flow: usize) -> &mut Levels {
        if self.flows[flow].reserved { &mut self.reserved } else { &mut self.best_effort }
    }

    /// Inserts a flow at its level.
    fn place(&mut self, flow: usize) {
        let tick = self.tick(self.flows[flow].level());
        self.queue(flow).remove(flow);
        self.queue(flow).insert(flow, tick);
    }

    /// Makes the ticks finer if a flow of this weight can use more than all earlier ones.
    fn refine(&mut self, weight: f64) {
        let needed = TICKS * weight / self.unit;
        if needed <= self.ticks_per_level {
            return;
        }
        self.ticks_per_level = needed;
        (self.best_effort, self.reserved) = (Levels::new(), Levels::new());
        for flow in 0..self.flows.len() {
            if self.backlog.has_packets(flow) {
                self.place(flow);
            }
        }
    }
}

impl Scheduler for Elf {
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError> {
        flow.check()?;
        let FlowConfig { weight, power_factor, reserved } = flow;
        let power = if self.is_powerless { 1.0 } else { power_factor };
        let state = Flow {
            outcome_level: 0.0,
            effort_level: 0.0,
            per_outcome: 1.0 / weight,
            per_effort: 1.0 / (power * weight),
            reserved,
            forgiven: 0.0,
        };
        self.refine(weight);
        self.flows.push(state);
        Ok(self.backlog.add())
    }

    /// A flow gets no credit for the time in which it had no packets; its lag stays.
    fn arrive(&mut self, flow: usize) {
        if !self.backlog.arrive(flow) {
            return;
        }
        let present = if self.flows[flow].reserved { self.elapsed } else { self.served };
        let state = &mut self.flows[flow];
        let missed = (present - state.level()).max(0.0);
        state.outcome_level += missed;
        state.effort_level += missed;
        self.place(flow);
    }

    fn depart(&mut self, flow: usize) {
        if self.backlog.depart(flow) {
            self.queue(flow).remove(flow);
        }
    }

    //= S3.38
    /// Chooses the reserved flow that is furthest behind its share. If none is behind, chooses the
    /// best-effort flow of the lowest level. If there is none either, chooses a reserved flow
    /// without charging it, so that the link is work-conserving.
    fn choose(&mut self) -> Option<usize> {
        if let Some(flow) = self.due() {
            return Some(flow);
        }
        if let Some(flow) = self.best_effort.first(u64::MAX) {
            self.served = self.served.max(self.flows[flow].level());
            return Some(flow);
        }
        self.gift = self.reserved.near();
        self.gift
    }

    fn charge(&mut self, flow: usize, service: Service) {
        self.elapsed += service.effort;
        self.costliest = self.costliest.max(service.effort);
        if self.gift.take_if(|gift| *gift == flow).is_some() {
            return;
        }
        let state = &mut self.flows[flow];
        let Flow { per_outcome, per_effort, .. } = *state;
        state.effort_level += service.effort * per_effort;
        state.outcome_level += service.outcome * per_outcome;
        //= S3.42
        if self.memory.lag.is_finite() {
            let beyond = state.effort_level - self.memory.lag - state.outcome_level;
            state.outcome_level += beyond.max(0.0);
            state.forgiven += beyond.max(0.0);
        }
        let saved = self.memory.burst * self.costliest * per_effort;
        state.effort_level = state.effort_level.max(state.outcome_level - saved);
        if self.backlog.has_packets(flow) {
            self.place(flow);
        }
    }

    fn pass(&mut self, effort: f64) {
        self.elapsed += effort;
    }

    fn lag(&self, flow: usize) -> f64 {
        let Flow { outcome_level, effort_level, per_outcome, forgiven, .. } = self.flows[flow];
        ((effort_level - outcome_level).max(0.0) + forgiven) / per_outcome
    }
}

#[cfg(test)]
mod tests;
