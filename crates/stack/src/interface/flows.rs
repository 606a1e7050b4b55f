//! The packets that wait for one peer: in one queue, or in one queue for each flow between which
//! the effort-limited fair scheduler chooses (S3.29–S3.42).

use windfall_base::{FlowId, Frame, Instant, Tag};
use windfall_link::Event;
use windfall_queue::elf::{Account, Elf, FlowConfig, FlowError, Memory, Service};
use windfall_queue::{DropTail, Limits, Waiting};

/// A flow with a share of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledFlow {
    /// The flow, as rules of the interface name it.
    pub flow: FlowId,
    /// Its share.
    pub share: FlowConfig,
}

/// What everything else gets: weight 1, and the power factor of best effort (S3.35).
const REST: FlowConfig = FlowConfig { weight: 1.0, power_factor: 1.2, reserved: false };

/// What a flow has had of a link so far, in bytes of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowAccount {
    /// The flow.
    pub flow: FlowId,
    /// Its share.
    pub share: FlowConfig,
    /// Effort, outcome and error rate.
    pub account: Account,
}

/// The packet under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// The flow's place among the queues.
    queue: usize,
    tag: Option<Tag>,
    /// What it has cost, and what it should have.
    service: Service,
}

#[derive(Debug)]
pub(super) struct Queues {
    /// Packets of each flow; flow 0 of the scheduler is everything else.
    queues: Vec<(FlowId, FlowConfig, DropTail)>,
    elf: Elf,
    /// The packet under way.
    current: Option<Current>,
    packets: usize,
    bytes: usize,
}

impl Queues {
    /// Empty queues, one for each of `flows` and one for everything else.
    ///
    /// Flows whose weight or power factor is none are left out; [`check`] names them.
    pub(super) fn new(limits: Limits, flows: &[ScheduledFlow]) -> Self {
        let mut elf = Elf::new(Memory { burst: 16_000.0, ..Memory::default() });
        let rest = ScheduledFlow { flow: FlowId(0), share: REST };
        let queues = core::iter::once(&rest)
            .chain(flows)
            .filter(|flow| elf.add(flow.share).is_ok())
            .map(|flow| (flow.flow, flow.share, DropTail::new(limits)))
            .collect();
        Self { queues, elf, current: None, packets: 0, bytes: 0 }
    }

    /// Takes a packet at the tail of its flow, or gives it back if that queue is full.
    #[must_use]
    pub(super) fn push(&mut self, now: Instant, frame: Frame) -> Option<Frame> {
        let flow = frame.class.flow;
        let index = self.queues.iter().position(|(own, ..)| *own == flow).unwrap_or(0);
        let (.., queue) = &mut self.queues[index];
        let len = frame.len();
        let refused = queue.push(now, frame);
        if refused.is_none() {
            self.packets += 1;
            self.bytes += len;
            self.elf.activate(index);
        }
        refused
    }

    /// Gives the next packet of the flow whose turn it is.
    //= S3.38
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        self.settle(false);
        let index = self.elf.choose()?;
        let (.., queue) = &mut self.queues[index];
        let waiting = queue.pop();
        if queue.is_empty() {
            self.elf.deactivate(index);
        }
        if let Some(waiting) = &waiting {
            self.packets -= 1;
            self.bytes -= waiting.frame.len();
            let (tag, service) = (waiting.frame.tag, Service::default());
            self.current = Some(Current { queue: index, tag, service });
        }
        waiting
    }

    /// Learns what the link did with the packet under way.
    ///
    /// Every frame is effort; of a packet that arrives, the first attempts are what it would have
    /// cost without errors.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::Sent { attempt, len, kept, .. } => {
                let Some(Current { service, .. }) = &mut self.current else { return };
                service.effort += *len as f64;
                if *attempt == 1 {
                    service.outcome += *len as f64;
                }
                if !kept {
                    self.settle(true);
                }
            }
            Event::Acknowledged { .. } => self.settle(true),
            // The link also reports drops of what the peer sent.
            Event::Dropped { tag, kept: false, .. }
                if self.current.is_some_and(|current| current.tag == *tag) =>
            {
                self.settle(false);
            }
            Event::Dropped { .. } => {}
        }
    }

    fn settle(&mut self, arrived: bool) {
        if let Some(Current { queue, mut service, .. }) = self.current.take()
            && service.effort > 0.0
        {
            if !arrived {
                service.outcome = 0.0;
            }
            self.elf.charge(queue, service);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    pub(super) fn len(&self) -> usize {
        self.packets
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What each flow has had, everything else first.
    pub(super) fn accounts(&self) -> impl Iterator<Item = FlowAccount> + '_ {
        self.queues.iter().enumerate().map(|(index, (flow, share, _))| FlowAccount {
            flow: *flow,
            share: *share,
            account: self.elf.account(index),
        })
    }
}

/// The first flow that cannot be scheduled, and why.
///
/// # Errors
/// If a weight is not above zero or a power factor is below one.
pub fn check(flows: &[ScheduledFlow]) -> Result<(), (FlowId, FlowError)> {
    let mut elf = Elf::new(Memory::default());
    for flow in flows {
        elf.add(flow.share).map_err(|error| (flow.flow, error))?;
    }
    Ok(())
}
