//! A packet in a queue: the facts known to the queue, and the packet's fate.

use windfall_base::{DropReason, Frame, Instant};

/// The facts that a queue must know of a packet, which it does not parse itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// A number that the packets of one transport flow have in common.
    pub flow: u64,
    /// Its sender understands marks of congestion.
    pub may_be_marked: bool,
}

/// Looks into a packet.
pub type Inspect = fn(&Frame) -> Inspection;

/// Knows nothing of any packet.
pub(crate) fn inspect_nothing(_: &Frame) -> Inspection {
    Inspection::default()
}

/// The fate of a packet that leaves a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueVerdict {
    /// It is sent unchanged.
    #[default]
    Pass,
    /// It is to be marked, if its sender understands marks.
    Mark,
    /// It is to be dropped, so that its sender slows down.
    Drop,
}

impl QueueVerdict {
    /// Returns the fate that signals congestion to the sender of `frame`.
    pub(crate) fn signal(frame: &Frame, inspect: Inspect, ecn: bool) -> Self {
        if ecn && inspect(frame).may_be_marked { Self::Mark } else { Self::Drop }
    }
}

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// When it joined.
    pub since: Instant,
    /// The packet that waits.
    pub frame: Frame,
    /// Its fate when it leaves.
    pub verdict: QueueVerdict,
}

impl Waiting {
    /// The end of the packet's lifetime.
    #[must_use]
    pub fn expires(&self) -> Option<Instant> {
        let lifetime = self.frame.class.lifetime.map(|it| self.since.saturating_add(it));
        self.frame.expires.or(lifetime)
    }
}

/// The outcome for a packet that came.
#[derive(Debug)]
#[must_use]
pub enum Join {
    /// It has joined the queue.
    Joined,
    /// It has joined in place of these, which had joined before.
    Displaced(Vec<Waiting>),
    /// It was not taken, and why.
    Refused(Frame, DropReason),
}

impl Join {
    /// The outcome for a packet that joined when these had left for it.
    #[inline]
    pub(crate) fn after(displaced: Vec<Waiting>) -> Self {
        if displaced.is_empty() { Self::Joined } else { Self::Displaced(displaced) }
    }
}
