//! What an application thinks of approximate messages before it takes them: a tolerance for bit
//! errors, or a check of its own that knows what the bytes mean.

use std::collections::VecDeque;

use core::fmt;
use core::ops::Range;

use bytes::BytesMut;
use windfall_base::seq::Seq32;
use windfall_wire_net::sap::data::BLOCK;

use crate::error::SapSendError;
use crate::message::{Integrity, MessageKind, Mode, Received};

/// Blocks from which the bit error rate is estimated.
const WINDOW: usize = 64;
/// Messages that may wait behind one that is being repaired.
const WAITING: usize = 64;

/// What a check says of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The application takes it.
    Accept,
    /// It is of no use.
    Discard,
    /// It is of use if these ranges come again, exact.
    Repair(Vec<Range<usize>>),
}

//= S0.26
/// A check that knows what the bytes mean: "within so many units of the last point".
pub type MessageCheck = Box<dyn FnMut(&Received) -> Decision + Send>;

//= S1.67
/// What an application can bear, from which a socket chooses how messages travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The greatest bit error rate of the bytes that are not protected, 0 to 0.5.
    pub bit_errors: f64,
    /// Whether messages may get lost.
    pub loss: bool,
    /// Whether those that arrive must do so in the order of sending: late ones are discarded, and a
    /// message that is being repaired holds up those behind it.
    #[doc(alias = "msgOrdered")]
    pub in_order: bool,
    /// Bytes at the front of each message that must be exact.
    pub protected: usize,
}

impl Tolerance {
    /// Bears nothing.
    pub const NONE: Self = Self { bit_errors: 0.0, loss: false, in_order: true, protected: 0 };

    /// How a message of `len` bytes travels.
    ///
    /// Who cannot bear loss gets precise messages: exact, repeated until they are acknowledged. Who
    /// bears loss and no wrong bit gets whole coverage without repetition. Who bears both gets
    /// coverage of the protected bytes, and checks of the blocks, by which the receiver asks again
    /// for what is beyond the tolerance.
    #[must_use]
    pub fn mode(&self, len: usize) -> Mode {
        match (self.loss, self.bit_errors > 0.0) {
            (false, _) => Mode::Precise,
            (true, false) => Mode::Approximate { protected: len },
            (true, true) => Mode::Approximate { protected: self.protected },
        }
    }

    /// Whether the values make sense.
    ///
    /// # Errors
    /// If the bit error rate is none.
    pub fn validated(self) -> Result<Self, SapSendError> {
        if (0.0..=0.5).contains(&self.bit_errors) {
            return Ok(self);
        }
        Err(SapSendError::Tolerance)
    }
}

/// The share of blocks that were damaged lately, and the bit error rate that it implies.
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

    /// Blocks stay whole with probability (1 - rate)^bits. Half a block is added to each side, so
    /// that even nothing but damage gives a number: about 2e-3 is the most that blocks can tell.
    fn bit_errors(&self) -> f64 {
        let bad = self.0.iter().filter(|bad| **bad).count() as f64;
        let share = (bad + 0.5) / (self.0.len() as f64 + 1.0);
        if bad > 0.0 { -(1.0 - share).ln() / (8 * BLOCK) as f64 } else { 0.0 }
    }
}

/// A message on its way to the application.
#[derive(Debug)]
struct Slot {
    received: Received,
    /// It waits for its repair.
    waits: bool,
}

/// A request for repair that follows from an opinion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairRequest {
    /// The stream of the message.
    pub stream: u16,
    /// Its number.
    pub number: u32,
    /// The ranges to ask for.
    pub ranges: Vec<Range<usize>>,
}

/// Stands between the messages that arrive and the application.
#[derive(Default)]
pub struct Inspector {
    tolerance: Option<Tolerance>,
    check: Option<MessageCheck>,
    estimate: Estimate,
    slots: VecDeque<Slot>,
    /// The approximate message delivered last, by stream and number.
    last: Option<(u16, u32)>,
    /// Messages that a check or the order cost.
    discarded: u64,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("slots", &self.slots).finish_non_exhaustive()
    }
}

impl Inspector {
    /// Judges by `tolerance` from now on.
    pub fn set_tolerance(&mut self, tolerance: Option<Tolerance>) {
        self.tolerance = tolerance;
    }

    /// Asks `check` about each approximate message from now on.
    pub fn set_check(&mut self, check: Option<MessageCheck>) {
        self.check = check;
    }

    /// Messages that were discarded: by the check, or because they came late.
    #[must_use]
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Whether nothing is judged, so that every message may go past.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.tolerance.is_none() && self.check.is_none() && self.slots.is_empty()
    }

    /// Takes a message that arrived; gives what must be asked for.
    pub fn push(&mut self, received: Received) -> Option<RepairRequest> {
        match received.kind {
            MessageKind::Precise => {
                self.slots.push_back(Slot { received, waits: false });
                None
            }
            MessageKind::Approximate => self.judge(received),
            MessageKind::Repair => {
                self.mend(received);
                None
            }
        }
    }

    /// The next message for the application.
    pub fn pop(&mut self) -> Option<Received> {
        self.next().and_then(|next| self.slots.remove(next)).map(|slot| slot.received)
    }

    /// Whether a message is ready for the application.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.next().is_some()
    }

    /// Whether no message waits, neither for its repair nor for the application.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Waits for no more repairs: the connection has ended.
    pub fn give_up(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.waits = false);
    }

    fn next(&self) -> Option<usize> {
        let in_order = self.tolerance.is_some_and(|tolerance| tolerance.in_order);
        if self.slots.len() > WAITING {
            return Some(0);
        }
        let ready = self.slots.iter().position(|slot| !slot.waits);
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
        match self.opinion(&received) {
            Decision::Accept => self.slots.push_back(Slot { received, waits: false }),
            Decision::Discard => self.discarded += 1,
            Decision::Repair(ranges) if ranges.is_empty() => {
                self.slots.push_back(Slot { received, waits: false });
            }
            Decision::Repair(ranges) => {
                self.slots.push_back(Slot { received, waits: true });
                return Some(RepairRequest { stream: name.0, number: name.1, ranges });
            }
        }
        None
    }

    /// What the application's check says, and before it the tolerance.
    fn opinion(&mut self, received: &Received) -> Decision {
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

    /// Puts what came again into its message, which is judged once more by the check.
    fn mend(&mut self, repair: Received) {
        let name = (repair.stream, repair.number);
        let Some(index) = self
            .slots
            .iter()
            .position(|slot| slot.waits && (slot.received.stream, slot.received.number) == name)
        else {
            // The application asked for it itself.
            self.slots.push_back(Slot { received: repair, waits: false });
            return;
        };
        let slot = &mut self.slots[index];
        slot.waits = false;
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
            suspect.retain(|range| !repair.exact.contains(range));
            if suspect.is_empty() {
                slot.received.integrity = Integrity::Intact;
            }
        }
        let Some(check) = &mut self.check else { return };
        if check(&slot.received) == Decision::Discard {
            self.slots.remove(index);
            self.discarded += 1;
        }
    }
}

#[cfg(test)]
mod tests;
