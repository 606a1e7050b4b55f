//! Deficit round robin: air-time fairness where effort is air time, weighted round robin where each
//! attempt counts as one.

use std::collections::VecDeque;

use super::elf::Elf;
use super::{Discipline, Measure, Sharing};
use crate::backlog::Backlog;
use crate::scheduler::{FlowConfig, FlowError, Scheduler, Service};

/// Weighted round robin, packet by packet.
pub const WRR: Discipline = Discipline {
    name: "wrr",
    measure: Measure::Packets,
    sharing: Sharing::ByWeight,
    scheduler: |unit| Box::new(Deficit::new(unit)),
};

/// Air time in proportion to weights, by deficit round robin.
pub const AIRTIME: Discipline = Discipline { name: "airtime", measure: Measure::AirTime, ..WRR };

/// Serves flows in rounds. In each round a flow gets a quantum in proportion to its weight; a debt
/// from earlier rounds is deducted. Every decision takes amortized constant time.
///
/// Only effort counts, not outcome: a flow pays for its own errors, and power factors are ignored.
/// Reserved flows come first, up to the part of the link that each reserves.
#[derive(Debug)]
pub struct Deficit {
    backlog: Backlog,
    flows: Vec<Flow>,
    /// The reserved flows, numbered from zero.
    reserved: Elf,
    /// The number of each reserved flow in this scheduler.
    numbers: Vec<usize>,
    /// Flows with packets; the front has the turn.
    round: VecDeque<usize>,
    /// The effort that a flow of weight 1 may spend in a round.
    quantum: f64,
    unit: f64,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    weight: f64,
    /// The deficit counter: the effort that the flow may spend; negative after overspending.
    credit: f64,
    /// Its number among the reserved flows, if it is one.
    reserved: Option<usize>,
}

impl Deficit {
    /// A scheduler without flows; `unit` is the typical cost of an attempt.
    #[must_use]
    pub fn new(unit: f64) -> Self {
        Self {
            backlog: Backlog::default(),
            flows: Vec::new(),
            reserved: Elf::without_power(unit),
            numbers: Vec::new(),
            round: VecDeque::new(),
            quantum: unit,
            unit,
        }
    }

    /// Skips the rounds in which no flow has a positive deficit counter, in one step. After large
    /// debts there may be many.
    fn skip_rounds(&mut self) {
        let share = |flow: &Flow| self.quantum * flow.weight;
        let owed = self.round.iter().map(|&flow| &self.flows[flow]);
        let rounds = owed.map(|flow| -flow.credit / share(flow)).fold(f64::INFINITY, f64::min);
        for &flow in &self.round {
            let state = &mut self.flows[flow];
            state.credit += rounds.floor().max(0.0) * self.quantum * state.weight;
        }
    }
}

impl Scheduler for Deficit {
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError> {
        flow.check()?;
        let reserved = flow.reserved.then(|| self.reserved.add(flow)).transpose()?;
        self.flows.push(Flow { weight: flow.weight, credit: 0.0, reserved });
        let number = self.backlog.add();
        if reserved.is_some() {
            self.numbers.push(number);
            return Ok(number);
        }
        // The flow of the least weight can still afford an attempt in each round.
        let in_turn = self.flows.iter().filter(|flow| flow.reserved.is_none());
        let least = in_turn.map(|flow| flow.weight).fold(f64::INFINITY, f64::min);
        self.quantum = self.unit / least;
        Ok(number)
    }

    fn arrive(&mut self, flow: usize) {
        if let Some(reserved) = self.flows[flow].reserved {
            return self.reserved.arrive(reserved);
        }
        if self.backlog.arrive(flow) {
            // A flow gets no credit for the time without packets, but keeps its debt.
            let state = &mut self.flows[flow];
            state.credit = state.credit.min(0.0) + self.quantum * state.weight;
            self.round.push_back(flow);
        }
    }

    fn depart(&mut self, flow: usize) {
        if let Some(reserved) = self.flows[flow].reserved {
            return self.reserved.depart(reserved);
        }
        if self.backlog.depart(flow)
            && let Some(place) = self.round.iter().position(|own| *own == flow)
        {
            self.round.remove(place);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        if let Some(flow) = self.reserved.due() {
            return Some(self.numbers[flow]);
        }
        let mut passed = 0;
        while let Some(&flow) = self.round.front() {
            let state = &mut self.flows[flow];
            if state.credit > 0.0 {
                return Some(flow);
            }
            state.credit += self.quantum * state.weight;
            self.round.rotate_left(1);
            passed += 1;
            if passed == self.round.len() {
                self.skip_rounds();
            }
        }
        // The link is not idle while a reserved flow has packets.
        Some(self.numbers[self.reserved.choose()?])
    }

    fn charge(&mut self, flow: usize, service: Service) {
        let state = &mut self.flows[flow];
        if let Some(reserved) = state.reserved {
            return self.reserved.charge(reserved, service);
        }
        self.reserved.pass(service.effort);
        state.credit -= service.effort;
    }

    fn pass(&mut self, effort: f64) {
        self.reserved.pass(effort);
    }
}

#[cfg(test)]
mod tests;
