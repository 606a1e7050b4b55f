//! The outcome that each flow could expect on a link without errors, for every discipline (S3.25).
//!
//! Without errors, the busy time of the link would be shared among the backlogged flows as the
//! discipline says. This share is the expectation of a busy flow. The expectation of a flow that
//! empties its queue soon is limited to its own packets, however many attempts they took.

use std::collections::BTreeSet;

use windfall_base::{Duration, Instant};

use crate::discipline::{Discipline, Measure, Sharing};
use crate::scheduler::FlowConfig;

/// A flow that is backlogged for this time without a break counts as limited by the link.
const BUSY: Duration = Duration::from_secs(1);

/// Counters of the link that the expectation of a busy flow is derived from.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    /// All time that was spent on packets.
    effort: f64,
    /// The outcome of it.
    outcome: f64,
    /// The expectation of a flow of best effort so far, for each unit of weight.
    rest: f64,
    /// The expectation of a reserved flow so far, for each unit of weight.
    reserved: f64,
}

/// A flow and its expectation.
#[derive(Clone, Debug)]
struct Claimant {
    config: FlowConfig,
    /// Its weight in link time.
    weight: f64,
    packets: usize,
    /// When it last began to have packets, and the counters then.
    since: Instant,
    clocks: Clocks,
    /// Since then: the link time of delivered packets, that of abandoned ones, and all link time
    /// while the flow had priority.
    outcome: f64,
    lost: f64,
    first: f64,
    /// The time that a packet of it takes without errors.
    packet: f64,
    /// The expectation of earlier times.
    expected: f64,
}

/// The expectations of all flows of a link, in link time.
#[derive(Debug)]
pub struct Expectations {
    discipline: Discipline,
    flows: Vec<Claimant>,
    clocks: Clocks,
    /// The weights of the flows that have packets: of best effort, and reserved.
    rest: f64,
    reserved: f64,
    /// The flows that have packets.
    busy: BTreeSet<usize>,
}

impl Expectations {
    /// A link without flows.
    #[must_use]
    pub fn new(discipline: Discipline) -> Self {
        let clocks = Clocks::default();
        let busy = BTreeSet::new();
        Self { discipline, flows: Vec::new(), clocks, rest: 0.0, reserved: 0.0, busy }
    }

    /// Adds a flow without packets; flows are numbered as they are added.
    pub fn add(&mut self, config: FlowConfig) {
        self.flows.push(Claimant {
            config,
            weight: config.weight,
            packets: 0,
            since: Instant::START,
            clocks: Clocks::default(),
            outcome: 0.0,
            lost: 0.0,
            first: 0.0,
            packet: 0.0,
            expected: 0.0,
        });
    }

    /// A packet of `bytes` bytes joins a flow.
    pub fn arrive(&mut self, now: Instant, flow: usize, bytes: usize) {
        let claimant = &mut self.flows[flow];
        claimant.packets += 1;
        if claimant.packets > 1 {
            return;
        }
        let FlowConfig { weight, reserved, .. } = claimant.config;
        // Flows that take turns by packets have link time by the length of these.
        let by_packets = self.discipline.measure == Measure::Packets && !reserved;
        claimant.weight = if by_packets { weight * bytes.max(1) as f64 } else { weight };
        claimant.since = now;
        claimant.clocks = self.clocks;
        (claimant.outcome, claimant.lost, claimant.first) = (0.0, 0.0, 0.0);
        *if reserved { &mut self.reserved } else { &mut self.rest } += claimant.weight;
        self.busy.insert(flow);
    }

    /// The link has spent time on a packet of a flow, in `count` attempts.
    pub fn spend(&mut self, flow: usize, effort: f64, count: u32) {
        if count > 0 {
            self.flows[flow].packet = effort / f64::from(count);
        }
        self.clocks.effort += effort;
        if self.discipline.sharing == Sharing::ByRank
            && let Some(&first) = self.busy.first()
        {
            self.flows[first].first += effort;
        }
        // Best effort shares what reserved flows leave; without any, they have it all.
        if self.rest > 0.0 {
            self.clocks.reserved += effort / self.reserved.max(1.0);
            self.clocks.rest += effort * (1.0 - self.reserved).max(0.0) / self.rest;
        } else if self.reserved > 0.0 {
            self.clocks.reserved += effort / self.reserved;
        }
    }

    /// A packet of a flow has arrived, which without errors would have taken so much time.
    pub fn credit(&mut self, flow: usize, ideal: f64) {
        self.clocks.outcome += ideal;
        let claimant = &mut self.flows[flow];
        claimant.packet = ideal;
        // A packet that is delivered after the queue has emptied was offered by the flow as well.
        *if claimant.packets > 0 { &mut claimant.outcome } else { &mut claimant.expected } += ideal;
    }

    /// A packet of a flow was given up.
    pub fn give_up(&mut self, flow: usize) {
        let claimant = &mut self.flows[flow];
        let packet = claimant.packet;
        *if claimant.packets > 0 { &mut claimant.lost } else { &mut claimant.expected } += packet;
    }

    /// A packet of a flow is gone, whatever its fate.
    pub fn depart(&mut self, now: Instant, flow: usize) {
        if self.flows[flow].packets == 1 {
            let since = self.since_busy(now, flow);
            let claimant = &mut self.flows[flow];
            claimant.expected += since;
            let weight = claimant.weight;
            *if claimant.config.reserved { &mut self.reserved } else { &mut self.rest } -= weight;
            self.busy.remove(&flow);
            if self.busy.is_empty() {
                // Clears rounding errors.
                (self.rest, self.reserved) = (0.0, 0.0);
            }
        }
        let claimant = &mut self.flows[flow];
        claimant.packets = claimant.packets.saturating_sub(1);
    }

    /// Returns the outcome that a flow could expect until now.
    #[must_use]
    pub fn expected(&self, now: Instant, flow: usize) -> f64 {
        let claimant = &self.flows[flow];
        let since = if claimant.packets > 0 { self.since_busy(now, flow) } else { 0.0 };
        claimant.expected + since
    }

    /// Returns the expectation of a flow that has packets since it began to have them.
    fn since_busy(&self, now: Instant, flow: usize) -> f64 {
        let claimant = &self.flows[flow];
        let Claimant { config, weight, since, clocks, outcome, lost, first, .. } = claimant;
        if now.saturating_since(*since) < BUSY {
            return outcome + lost;
        }
        match self.discipline.sharing {
            Sharing::ByRank => *first,
            // FIFO: without errors all flows would be faster by the same factor.
            Sharing::ByArrival => {
                let effort = self.clocks.effort - clocks.effort;
                let all = self.clocks.outcome - clocks.outcome;
                if all > 0.0 { (outcome / all) * effort } else { effort }
            }
            Sharing::ByWeight if config.reserved => {
                weight * (self.clocks.reserved - clocks.reserved)
            }
            Sharing::ByWeight => weight * (self.clocks.rest - clocks.rest),
        }
    }
}

#[cfg(test)]
mod tests;
