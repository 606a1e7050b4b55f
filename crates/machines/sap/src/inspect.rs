//! Inspection of approximate messages before the application reads them: a tolerance for bit
//! errors, and a check that knows what the bytes mean.

use std::collections::VecDeque;

use core::fmt;
use core::ops::Range;

use bytes::BytesMut;
use windfall_base::RangeSet;
use windfall_base::seq::Seq32;
use windfall_wire_net::sap::data::BLOCK;

use crate::error::SapSendError;
use crate::message::{Integrity, MessageKind, Mode, Received};

/// The number of blocks from which the bit error rate is estimated.
const WINDOW: usize = 64;
/// The maximum number of messages that wait behind one that is being repaired.
const WAITING: usize = 64;

/// The decision about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The message is delivered.
    Accept,
    /// The message is dropped.
    Discard,
    /// The message is delivered once these ranges were retransmitted.
    Repair(Vec<Range<usize>>),
    /// The message is dropped, and the call that would have received it reports that the check
    /// itself failed.
    Fail,
}

//= S0.26
/// A check that knows what the bytes mean, such as "at most ten units from the last point".
pub type MessageCheck = Box<dyn FnMut(&Received) -> Decision + Send>;

//= S1.67
/// The damage that an application tolerates; a socket derives the mode of each message from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The highest acceptable bit error rate of unprotected bytes, 0 to 0.5.
    pub bit_errors: f64,
    /// Accepts the loss of messages.
    pub loss: bool,
    /// Requires the order of sending: late messages are dropped, and a message under repair blocks
    /// those behind it.
    #[doc(alias = "msgOrdered")]
    pub in_order: bool,
    /// The number of bytes at the front of each message that must be exact.
    pub protected: usize,
}

impl Tolerance {
    /// Tolerates neither bit errors, nor loss, nor reordering.
    pub const NONE: Self = Self { bit_errors: 0.0, loss: false, in_order: true, protected: 0 };

    /// Returns the mode of a message of `len` bytes.
    ///
    /// Without tolerance for loss it is precise: exact, retransmitted until it is acknowledged.
    /// With tolerance for loss and none for bit errors the whole message is protected and not
    /// retransmitted. With both, the first `protected` bytes are protected, and block checks tell
    /// the receiver which of the others to request again.
    #[must_use]
    pub fn mode(&self, len: usize) -> Mode {
        if !self.loss {
            Mode::Precise
        } else if self.bit_errors > 0.0 {
            Mode::Approximate { protected: self.protected }
        } else {
            Mode::Approximate { protected: len }
        }
    }

    /// Checks that the values are valid.
    ///
    /// # Errors
    /// [`SapSendError::Tolerance`] if the bit error rate is outside 0 to 0.5.
    pub fn validated(self) -> Result<Self, SapSendError> {
        if (0.0..=0.5).contains(&self.bit_errors) {
            return Ok(self);
        }
        Err(SapSendError::Tolerance)
    }
}

/// The fraction of recent blocks that were damaged.
#[derive(Clone, Debug, Default)]
struct Estimate(VecDeque<bool>);

impl Estimate {
    fn learn(&mut self, received: &Received, suspect: &[Range<usize>]) {
        let exact: usize = received.exact.iter().map(Range::len).sum();
        let blocks = (received.data.len() - exact).div_ceil(BLOCK);
        let bytes: usize = suspect.iter().map(Range::len).sum();
        let bad = bytes.div_ceil(BLOCK);
        self.0.extend((0..blocks).map(|block| block < bad));
        self.0.drain(..self.0.len().saturating_sub(WINDOW));
    }

    /// A block is intact with probability (1 - rate)^bits. Half a block is added to each side, so
    /// that the estimate is finite even if all blocks are damaged: about 2e-3 at most.
    fn bit_errors(&self) -> f64 {
        let bad = self.0.iter().filter(|bad| **bad).count() as f64;
        let share = (bad + 0.5) / (self.0.len() as f64 + 1.0);
        if bad > 0.0 { -(1.0 - share).ln() / (8 * BLOCK) as f64 } else { 0.0 }
    }
}

/// A message that the application has not read yet.
#[derive(Debug)]
struct Slot {
    received: Received,
    /// The number of bytes that were requested again and have not arrived.
    owed: usize,
}

/// A request for repair, the result of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairRequest {
    /// The stream of the message.
    pub stream: u16,
    /// The number of the message.
    pub number: u32,
    /// The ranges to request.
    pub ranges: Vec<Range<usize>>,
}

/// Decides which received messages reach the application.
#[derive(Default)]
pub struct Inspector {
    tolerance: Option<Tolerance>,
    check: Option<MessageCheck>,
    estimate: Estimate,
    slots: VecDeque<Slot>,
    /// The newest approximate message, by stream and number.
    last: Option<(u16, u32)>,
    /// Messages dropped by a check or for their order.
    discarded: u64,
    /// A check has failed.
    failed: bool,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl Inspector {
    /// Sets the tolerance for the following messages.
    pub fn set_tolerance(&mut self, tolerance: Option<Tolerance>) {
        self.tolerance = tolerance;
    }

    /// Sets the check that is called for each approximate message.
    pub fn set_check(&mut self, check: Option<MessageCheck>) {
        self.check = check;
    }

    /// Returns the number of messages dropped by the check or because they were late.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Returns whether a check has failed since the last call.
    pub fn take_failure(&mut self) -> bool {
        core::mem::take(&mut self.failed)
    }

    /// Returns whether nothing is inspected, so that messages may bypass the inspector.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.tolerance.is_none() && self.check.is_none() && self.slots.is_empty()
    }

    /// Takes a received message; returns the repair to request, if any.
    pub fn push(&mut self, received: Received) -> Option<RepairRequest> {
        match received.kind {
            MessageKind::Precise => {
                self.slots.push_back(Slot { received, owed: 0 });
                None
            }
            MessageKind::Approximate => self.judge(received),
            MessageKind::Repair => {
                self.mend(received);
                None
            }
        }
    }

    /// Returns the next message for the application.
    pub fn pop(&mut self) -> Option<Received> {
        self.next().and_then(|next| self.slots.remove(next)).map(|slot| slot.received)
    }

    /// Returns whether a message is ready for the application.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.next().is_some()
    }

    /// Returns whether no message waits for a repair or for the application.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Delivers messages without their repairs, since the connection has ended.
    pub fn give_up(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.owed = 0);
    }

    fn next(&self) -> Option<usize> {
        let in_order = self.tolerance.is_some_and(|tolerance| tolerance.in_order);
        if self.slots.len() > WAITING {
            return Some(0);
        }
        let ready = self.slots.iter().position(|slot| slot.owed == 0);
        ready.filter(|index| *index == 0 || !in_order)
    }

    fn judge(&mut self, received: Received) -> Option<RepairRequest> {
        let name = (received.stream, received.number);
        let late = self.last.is_some_and(|last| {
            last.0 == name.0 && Seq32(name.1).distance_from(Seq32(last.1)) <= 0
        });
        if late && self.tolerance.is_some_and(|tolerance| tolerance.in_order) {
            self.discarded += 1;
            return None;
        }
        if !late {
            self.last = Some(name);
        }
        match self.decide(&received) {
            Decision::Accept => self.slots.push_back(Slot { received, owed: 0 }),
            refusal @ (Decision::Discard | Decision::Fail) => self.discard(&refusal),
            Decision::Repair(mut ranges) => {
                // A range may mean everything to the end.
                ranges.iter_mut().for_each(|it| it.end = it.end.min(received.data.len()));
                ranges.retain(|range| !range.is_empty());
                let owed = ranges.iter().map(Range::len).sum();
                self.slots.push_back(Slot { received, owed });
                if ranges.is_empty() {
                    return None;
                }
                return Some(RepairRequest { stream: name.0, number: name.1, ranges });
            }
        }
        None
    }

    /// Returns the decision of the tolerance and then of the application's check.
    fn decide(&mut self, received: &Received) -> Decision {
        let suspect = match &received.integrity {
            Integrity::Suspect(ranges) => ranges.clone(),
            Integrity::Intact | Integrity::Unknown => Vec::new(),
        };
        if let Some(tolerance) = self.tolerance {
            self.estimate.learn(received, &suspect);
            if !suspect.is_empty() && self.estimate.bit_errors() > tolerance.bit_errors {
                return Decision::Repair(suspect);
            }
        }
        self.check.as_mut().map_or(Decision::Accept, |check| check(received))
    }

    /// Writes repaired ranges into their message and checks it once more.
    fn mend(&mut self, repair: Received) {
        let name = (repair.stream, repair.number);
        let Some(index) = self
            .slots
            .iter()
            .position(|slot| slot.owed > 0 && (slot.received.stream, slot.received.number) == name)
        else {
            // The application had requested this repair itself.
            self.slots.push_back(Slot { received: repair, owed: 0 });
            return;
        };
        let slot = &mut self.slots[index];
        let came = repair.exact.iter().map(Range::len).sum();
        slot.owed = if came == 0 { 0 } else { slot.owed.saturating_sub(came) };
        let mut data = BytesMut::from(&slot.received.data[..]);
        let mut from = 0;
        for range in &repair.exact {
            if let Some(place) = data.get_mut(range.clone()) {
                place.copy_from_slice(&repair.data[from..from + range.len()]);
            }
            from += range.len();
        }
        slot.received.data = data.freeze();
        if let Integrity::Suspect(suspect) = &mut slot.received.integrity {
            *suspect = without(suspect, &repair.exact);
            if suspect.is_empty() {
                slot.received.integrity = Integrity::Intact;
            }
        }
        slot.received.missing = without(&slot.received.missing, &repair.exact);
        let Some(check) = self.check.as_mut().filter(|_| slot.owed == 0) else { return };
        let decision = check(&slot.received);
        if matches!(decision, Decision::Discard | Decision::Fail) {
            self.slots.remove(index);
            self.discard(&decision);
        }
    }

    fn discard(&mut self, refusal: &Decision) {
        self.discarded += 1;
        self.failed |= *refusal == Decision::Fail;
    }
}

/// Returns the parts of `ranges` that are not in `removed`.
fn without(ranges: &[Range<usize>], removed: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = RangeSet::<u64>::default();
    let wide = |range: &Range<usize>| range.start as u64..range.end as u64;
    for range in ranges {
        left.insert(wide(range));
    }
    removed.iter().for_each(|range| left.remove(wide(range)));
    left.iter().map(|range| range.start as usize..range.end as usize).collect()
}

#[cfg(test)]
mod tests;
