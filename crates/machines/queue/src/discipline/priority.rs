//! Strict priority: a flow is served only while no earlier flow has packets.

use std::collections::BTreeSet;

use super::{Discipline, Measure, Sharing};
use crate::backlog::Backlog;
use crate::scheduler::{FlowConfig, FlowError, Scheduler, Service};

/// In the order in which flows were added; packets of no flow come last.
pub const PRIORITY: Discipline = Discipline {
    name: "priority",
    measure: Measure::AirTime,
    sharing: Sharing::ByRank,
    scheduler: |_| Box::new(Priority::default()),
};

/// Serves the flow that was added first among those with packets; weights count for nothing.
#[derive(Debug, Default)]
pub struct Priority {
    backlog: Backlog,
    active: BTreeSet<usize>,
}

impl Scheduler for Priority {
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError> {
        flow.check()?;
        Ok(self.backlog.add())
    }

    fn arrive(&mut self, flow: usize) {
        self.backlog.arrive(flow);
        self.active.insert(flow);
    }

    fn depart(&mut self, flow: usize) {
        if self.backlog.depart(flow) {
            self.active.remove(&flow);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        self.active.first().copied()
    }

    fn charge(&mut self, _flow: usize, _service: Service) {}
}
