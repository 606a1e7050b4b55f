//! Effort-limited fair scheduling: who gets the next slot of a link that loses what it carries.
//!
//! Equation 1 of the paper, A = min(W / (1 − E), P · W), needs the error rate E of each flow. This
//! scheduler needs no estimate. Give each flow a *level*: the number *x* at which it has had its
//! due, an outcome of W · *x*, or has spent its limit, an effort of P · W · *x*:
//!
//! *level = max(outcome / W, effort / (P · W))*
//!
//! and always serve the flow of the lowest level. All levels then rise together, and at level *x* a
//! flow with error rate E has taken an effort of min(W / (1 − E), P · W) · *x*, which is
//! equation 1. A flow that errors pushed to its limit is behind in outcome when they end; it keeps
//! its limit of effort until it has caught up, which is the compensation of Figure 12.
//!
//! What a flow did not spend of its limit is not saved up, but for a short burst: the limit holds
//! during each spell of errors, not on average since the beginning.
//!
//! A reserved flow has the elapsed effort of the whole link as its measure instead of the level of
//! the others, so that it gets an absolute share and best effort what is left (section 6.3). With a
//! power factor of 1 a flow is served by effort alone: weighted round robin if each packet counts
//! as 1, air-time fairness if it counts as its air time.

use std::collections::BTreeSet;

/// Parameters of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowConfig {
    /// Its weight, above zero; of a reserved flow the reserved fraction of the error-free link.
    pub weight: f64,
    /// Its power factor, 1 or more; infinite for pure outcome fairness.
    pub power_factor: f64,
    /// Whether the weight is a reservation.
    pub reserved: bool,
}

/// Why a flow cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FlowError {
    /// The weight is zero, negative, infinite, or none.
    #[error("weight {0}: it must be a number above 0")]
    Weight(f64),
    /// The power factor is below one, or none.
    #[error("power factor {0}: it must be 1 (100 %) or more")]
    PowerFactor(f64),
}

/// How long the scheduler remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The greatest lag in outcome that is still made good, as a multiple of the flow's weight;
    /// infinite for the paper's own.
    pub lag: f64,
    /// Effort that a flow may spend at once beyond its limit because it did not spend it before.
    pub burst: f64,
}

impl Default for Memory {
    /// Every lag is made good; eight packets, where effort is counted in packets, may come at once.
    fn default() -> Self {
        Self { lag: f64::INFINITY, burst: 8.0 }
    }
}

/// What one turn of a flow cost and brought, in the same unit: packets, bytes or air time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// Link time spent, whether or not anything came of it.
    pub effort: f64,
    /// What was delivered: the effort that it would have taken on a link without errors.
    pub outcome: f64,
}

/// What a flow has had so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// All effort and outcome since the flow began.
    pub total: Service,
    /// Its recent error rate, 0..=1: a moving average over about the last fifty services.
    pub error_rate: f64,
    /// How far its outcome lies behind what its effort should have brought, in outcome.
    pub lag: f64,
}

/// The scheduler. Commands: `add`, `activate`, `deactivate`, `choose`, `charge`; each takes time
/// logarithmic in the number of flows with packets.
#[derive(Debug)]
pub struct Elf {
    flows: Vec<Flow>,
    /// Best-effort flows with packets, by level.
    best_effort: BTreeSet<(Level, usize)>,
    /// Reserved flows with packets, by level.
    reserved: BTreeSet<(Level, usize)>,
    /// Effort spent on all flows: the measure of the reserved ones.
    elapsed: f64,
    /// The level up to which best-effort flows have been served.
    served: f64,
    memory: Memory,
}

#[derive(Debug)]
struct Flow {
    config: FlowConfig,
    outcome_level: f64,
    effort_level: f64,
    active: bool,
    /// Its present turn is a gift of time that nobody else wanted.
    gift: bool,
    account: Account,
}

/// A level in an order that sets can use: levels are never negative, so their bits are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Level(u64);

impl Flow {
    fn level(&self) -> f64 {
        self.outcome_level.max(self.effort_level)
    }

    fn key(&self, index: usize) -> (Level, usize) {
        (Level(self.level().to_bits()), index)
    }
}

/// The weight of one service in the moving average of a flow's error rate.
const MEMORY: f64 = 0.02;

impl Elf {
    /// A scheduler without flows.
    #[must_use]
    pub fn new(memory: Memory) -> Self {
        Self {
            flows: Vec::new(),
            best_effort: BTreeSet::new(),
            reserved: BTreeSet::new(),
            elapsed: 0.0,
            served: 0.0,
            memory,
        }
    }

    /// Adds a flow without packets and gives its index.
    ///
    /// # Errors
    /// If its weight is not above zero or its power factor is below one.
    pub fn add(&mut self, config: FlowConfig) -> Result<usize, FlowError> {
        if !(config.weight > 0.0 && config.weight.is_finite()) {
            return Err(FlowError::Weight(config.weight));
        }
        if !(1.0..).contains(&config.power_factor) && config.power_factor != f64::INFINITY {
            return Err(FlowError::PowerFactor(config.power_factor));
        }
        self.flows.push(Flow {
            config,
            outcome_level: 0.0,
            effort_level: 0.0,
            active: false,
            gift: false,
            account: Account::default(),
        });
        Ok(self.flows.len() - 1)
    }

    /// Says that a flow has packets; it claims nothing for the time when it had none.
    pub fn activate(&mut self, flow: usize) {
        let present = if self.flows[flow].config.reserved { self.elapsed } else { self.served };
        let state = &mut self.flows[flow];
        if state.active {
            return;
        }
        state.active = true;
        if state.level() < present {
            (state.outcome_level, state.effort_level) = (present, present);
        }
        let key = state.key(flow);
        self.queue(flow).insert(key);
    }

    /// Says that a flow has no packets left.
    pub fn deactivate(&mut self, flow: usize) {
        let key = self.flows[flow].key(flow);
        self.flows[flow].active = false;
        self.queue(flow).remove(&key);
    }

    /// The flow whose turn it is; `None` if none has packets.
    ///
    /// First reserved flows that have had less than their due, the one furthest behind; then the
    /// best-effort flow of the lowest level; then, so that the link is never idle, a reserved flow
    /// beyond its due, to which the turn is not charged.
    //= S3.38
    #[must_use]
    pub fn choose(&mut self) -> Option<usize> {
        if let Some(&(level, flow)) = self.reserved.first()
            && f64::from_bits(level.0) <= self.elapsed
        {
            return Some(flow);
        }
        if let Some(&(level, flow)) = self.best_effort.first() {
            self.served = self.served.max(f64::from_bits(level.0));
            return Some(flow);
        }
        let &(_, flow) = self.reserved.first()?;
        self.flows[flow].gift = true;
        Some(flow)
    }

    /// Charges a flow for its turn and credits what came of it.
    pub fn charge(&mut self, flow: usize, service: Service) {
        self.elapsed += service.effort;
        let key = self.flows[flow].key(flow);
        let memory = self.memory;
        let state = &mut self.flows[flow];
        state.account.add(service);
        if core::mem::take(&mut state.gift) {
            return;
        }
        let FlowConfig { weight, power_factor, .. } = state.config;
        state.effort_level += service.effort / (power_factor * weight);
        state.outcome_level += service.outcome / weight;
        //= S3.42
        state.outcome_level = state.outcome_level.max(state.effort_level - memory.lag);
        let saved = memory.burst / (power_factor * weight);
        state.effort_level = state.effort_level.max(state.outcome_level - saved);
        state.account.lag = (state.effort_level - state.outcome_level).max(0.0) * weight;
        if state.active {
            let moved = state.key(flow);
            let queue = self.queue(flow);
            queue.remove(&key);
            queue.insert(moved);
        }
    }

    /// Tells that the link stood idle for so much effort: reserved flows are measured by time.
    pub fn pass(&mut self, effort: f64) {
        self.elapsed += effort;
    }

    /// What a flow has had so far.
    #[must_use]
    pub fn account(&self, flow: usize) -> Account {
        self.flows[flow].account
    }

    fn queue(&mut self, flow: usize) -> &mut BTreeSet<(Level, usize)> {
        if self.flows[flow].config.reserved { &mut self.reserved } else { &mut self.best_effort }
    }
}

impl Account {
    fn add(&mut self, service: Service) {
        self.total.effort += service.effort;
        self.total.outcome += service.outcome;
        if service.effort > 0.0 {
            let error = 1.0 - (service.outcome / service.effort).min(1.0);
            self.error_rate += MEMORY * (error - self.error_rate);
        }
    }
}

#[cfg(test)]
mod tests;
