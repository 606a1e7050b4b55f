//! Deficit round robin: air-time fairness where effort is air time, weighted round robin where each
//! attempt counts as one.

use std::collections::VecDeque;

use crate::backlog::Backlog;
use crate::scheduler::{FlowConfig, FlowError, Scheduler, Service};

/// Lets flows take turns. In each round a flow may spend what its weight says and what it owes is
/// held back from; every decision takes constant time on average.
///
/// Effort counts and outcome does not: a flow pays for its own errors. Power factors mean nothing,
/// and a reservation counts as a weight.
#[derive(Debug)]
pub struct Deficit {
    backlog: Backlog,
    flows: Vec<Flow>,
    /// Flows with packets; the front has the turn.
    round: VecDeque<usize>,
    /// The effort that a flow of weight 1 may spend in a round.
    quantum: f64,
    unit: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    weight: f64,
    /// The effort that it may spend; negative if it owes.
    credit: f64,
}

impl Deficit {
    /// A scheduler without flows; `unit` is what an attempt typically costs.
    #[must_use]
    pub fn new(unit: f64) -> Self {
        let (backlog, flows, round) = (Backlog::default(), Vec::new(), VecDeque::new());
        Self { backlog, flows, round, quantum: unit, unit }
    }
}

impl Scheduler for Deficit {
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError> {
        flow.check()?;
        self.flows.push(Flow { weight: flow.weight, credit: 0.0 });
        // The flow of the least weight can still afford an attempt in each round.
        let least = self.flows.iter().map(|flow| flow.weight).fold(f64::INFINITY, f64::min);
        self.quantum = self.unit / least;
        Ok(self.backlog.add())
    }

    fn arrive(&mut self, flow: usize) {
        if self.backlog.arrive(flow) {
            // It claims nothing for the time when it had no packets, but what it owes it owes.
            let state = &mut self.flows[flow];
            state.credit = state.credit.min(0.0) + self.quantum * state.weight;
            self.round.push_back(flow);
        }
    }

    fn depart(&mut self, flow: usize) {
        if self.backlog.depart(flow)
            && let Some(place) = self.round.iter().position(|own| *own == flow)
        {
            self.round.remove(place);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        loop {
            let &flow = self.round.front()?;
            let state = &mut self.flows[flow];
            if state.credit > 0.0 {
                return Some(flow);
            }
            state.credit += self.quantum * state.weight;
            self.round.rotate_left(1);
        }
    }

    fn charge(&mut self, flow: usize, service: Service) {
        let state = &mut self.flows[flow];
        state.credit -= service.effort;
        // Attempts that cost more than was thought of make the rounds longer, or whoever owes much
        // would be skipped many times.
        if service.effort > self.quantum * state.weight {
            self.quantum = service.effort / state.weight;
        }
    }
}
