//! First in, first out, whatever the flow.

use std::collections::VecDeque;

use super::{Discipline, Measure, Sharing};
use crate::scheduler::{FlowConfig, FlowError, Scheduler, Service};

/// In the order of arrival, whatever the flow.
pub const FIFO: Discipline = Discipline {
    name: "fifo",
    measure: Measure::AirTime,
    sharing: Sharing::ByArrival,
    scheduler: |_| Box::new(Fifo::default()),
};

/// Serves packets in the order in which they joined; weights count for nothing.
#[derive(Debug, Default)]
pub struct Fifo {
    flows: usize,
    /// The flow of each packet.
    order: VecDeque<usize>,
}

impl Scheduler for Fifo {
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError> {
        flow.check()?;
        self.flows += 1;
        Ok(self.flows - 1)
    }

    fn arrive(&mut self, flow: usize) {
        self.order.push_back(flow);
    }

    fn depart(&mut self, flow: usize) {
        // Nearly always the first: only packets that a link still retransmits leave out of order.
        if let Some(place) = self.order.iter().position(|own| *own == flow) {
            self.order.remove(place);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        self.order.front().copied()
    }

    fn charge(&mut self, _flow: usize, _service: Service) {}
}
