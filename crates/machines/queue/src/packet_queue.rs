//! The packets that wait for a link, as one flow or as all.

use windfall_base::{Frame, Instant, Stream};

use crate::codel::Codel;
use crate::fair::FairQueue;
use crate::limits::Limits;
use crate::management::Management;
use crate::pie::Pie;
use crate::single::{Control, SingleQueue};
use crate::waiting::{Inspect, Join, Waiting, inspect_nothing};

/// Packets that wait for a link (S3.10: each flow keeps its order).
///
/// Commands: `push`, `pop`. Each does bounded work.
#[derive(Debug)]
pub struct PacketQueue(Order);

#[derive(Debug)]
enum Order {
    Single(SingleQueue),
    Fair(Box<FairQueue>),
}

impl PacketQueue {
    /// An empty queue, which looks into packets by `inspect` and draws chances from `random`.
    #[must_use]
    pub fn new(limits: Limits, inspect: Inspect, random: Stream) -> Self {
        let single = |control| Order::Single(SingleQueue::new(limits, inspect, control));
        Self(match limits.management {
            Management::DropTail => single(Control::Tail),
            Management::DropHead => single(Control::Head),
            Management::Codel(config) => single(Control::Codel(Codel::new(config))),
            Management::Pie(config) => single(Control::Pie(Box::new(Pie::new(config, random)))),
            Management::FqCodel(config) => {
                Order::Fair(Box::new(FairQueue::new(config, limits, inspect)))
            }
        })
    }

    /// An empty queue that drops at the tail.
    #[must_use]
    pub fn drop_tail(limits: Limits) -> Self {
        Self(Order::Single(SingleQueue::new(limits, inspect_nothing, Control::Tail)))
    }

    /// Appends a packet, if there is room and the queue management does not drop it.
    #[inline]
    pub fn push(&mut self, now: Instant, frame: Frame) -> Join {
        match &mut self.0 {
            Order::Single(queue) => queue.push(now, frame),
            Order::Fair(queue) => queue.push(now, frame),
        }
    }

    /// Gives the next packet, and its fate.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<Waiting> {
        match &mut self.0 {
            Order::Single(queue) => queue.pop(now),
            Order::Fair(queue) => queue.pop(now),
        }
    }

    /// Returns the packets that wait, in the order in which they leave; none of a queue that
    /// orders them only as they leave.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let single = match &self.0 {
            Order::Single(queue) => Some(queue),
            Order::Fair(_) => None,
        };
        single.into_iter().flat_map(SingleQueue::iter)
    }

    /// Returns the number of packets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Order::Single(queue) => queue.len(),
            Order::Fair(queue) => queue.len(),
        }
    }

    /// Returns `true` if no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the packets waiting.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Order::Single(queue) => queue.bytes(),
            Order::Fair(queue) => queue.bytes(),
        }
    }
}
