//! Reassembly of messages that arrive in parts.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::Part;

use super::Connection;
use super::outbox::PATIENCES;
use crate::budget::{BEGUN, weight};
use crate::event::Dropped;
use crate::message::{MessageKind, Received};
use crate::order::Placed;
use crate::parts::{Assembly, Rhythm};
use crate::pieces::{Pieces, is_within};
use crate::received_messages::{Known, MessageId};

/// The maximum number of approximate messages that wait for parts.
const WAITING: usize = 64;
/// The maximum number of them where full queues may delay the parts for seconds.
const WAITING_FOR_QUEUES: usize = 1024;
/// The round-trip time that is assumed before the first sample.
const UNKNOWN: Duration = Duration::from_millis(400);
/// The longest message that every receiver must accept.
pub(super) const LONGEST: usize = 1 << 20;

/// The messages of which parts have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    precise: BTreeMap<MessageId, Pieces>,
    approximate: BTreeMap<MessageId, Assembly>,
    /// The one precise message whose parts are accepted beyond a full buffer: until it is complete,
    /// nothing can be read.
    favoured: Option<MessageId>,
    /// Approximate messages that were delivered although parts were missing, and when their last
    /// part had arrived.
    given_up: VecDeque<(MessageId, Instant)>,
    rhythm: Rhythm,
    /// The time of the last message or part.
    pub(super) progress_at: Instant,
    /// The number of parts of messages of which too little arrived.
    pub(super) dropped: u64,
}

impl Partial {
    /// Records that a packet arrived `late` after one that was sent later.
    pub(super) fn observe_disorder(&mut self, late: Duration) {
        self.rhythm.observe_disorder(late);
    }

    /// Returns the longest delay of a reordered packet.
    pub(super) fn longest_disorder(&self) -> Duration {
        self.rhythm.disorder()
    }

    /// Returns the number of remembered messages that were delivered incomplete.
    pub(super) fn given_up(&self) -> usize {
        self.given_up.len()
    }
}

impl Connection {
    /// Handles a part of a precise message, which occupies a buffer of `held` bytes.
    pub(super) fn take_precise_part(
        &mut self,
        part: Part,
        received: &Received,
        held: usize,
    ) -> Result<(), Dropped> {
        let name = (received.stream, received.number);
        let placed = self.order(name.0)?.place(name.1, true);
        match placed {
            Placed::Known => return Ok(()),
            Placed::NoRoom => return Err(Dropped::NoRoom),
            Placed::Waits | Placed::Next => {}
        }
        let begun = self.inbox.partial.precise.get(&name);
        self.admit(begun.map(|it| it.admits(part, received.data.len())), part, received)?;
        let first = if begun.is_none() { BEGUN } else { 0 };
        let room = self.room();
        let needed = first + weight(received.data.len());
        if room < needed {
            let mine = self.inbox.partial.favoured.is_none_or(|favoured| favoured == name);
            if placed != Placed::Next || !self.inbox.ready.is_empty() || !mine {
                return Err(Dropped::NoRoom);
            }
            if self.inbox.left < needed {
                return Err(Dropped::NoRoom);
            }
            self.inbox.partial.favoured = Some(name);
        }
        let partial = &mut self.inbox.partial;
        let fresh = || Pieces::new(part.total as usize);
        let before = partial.precise.get(&name).map_or(0, Pieces::charge);
        let pieces = partial.precise.entry(name).or_insert_with(fresh);
        pieces.add(part.offset as usize, &received.data, held, room.saturating_sub(needed));
        self.inbox.bytes = self.inbox.bytes + pieces.charge() - before;
        if !pieces.is_complete() {
            return Ok(());
        }
        partial.favoured = partial.favoured.filter(|favoured| *favoured != name);
        let Some(pieces) = partial.precise.remove(&name) else { return Ok(()) };
        self.inbox.bytes -= pieces.charge();
        // All its parts are acknowledged, so the message cannot be rejected any more.
        self.place_precise(name, pieces.finish(), true)
    }

    /// Handles a part of an approximate message.
    pub(super) fn take_approximate_part(
        &mut self,
        now: Instant,
        part: Part,
        received: Received,
        is_again: bool,
    ) -> Result<(), Dropped> {
        let name = (received.stream, received.number);
        let offset = part.offset as usize;
        let len = received.data.len();
        let partial = &mut self.inbox.partial;
        let known = partial.approximate.get(&name).is_some_and(|it| it.overlaps(offset, len));
        if let Some((_, at)) = partial.given_up.iter().find(|(it, _)| *it == name) {
            partial.rhythm.observe_disorder(now.saturating_since(*at));
            return Err(Dropped::Late);
        }
        let partial = &self.inbox.partial;
        if known {
            return Err(Dropped::Duplicate);
        }
        let begun = partial.approximate.get(&name);
        // A message that was delivered, or may have been, is not reassembled again.
        if begun.is_none() && self.inbox.received.known(name) != Known::New {
            return Err(Dropped::Duplicate);
        }
        self.admit(begun.map(|it| it.admits(part, len)), part, &received)?;
        let most_missing = self.config.most_missing;
        let fresh = Assembly::new(part.total as usize, now);
        let charge = begun.map_or(0, |it| it.charge(None, most_missing));
        let grown = begun.unwrap_or(&fresh).charge(Some(len), most_missing);
        // The last part may need no memory, because it replaces zeros that are charged already.
        if !self.make_room(grown.saturating_sub(charge)) {
            return Err(Dropped::NoRoom);
        }
        let most_waiting = self.most_waiting();
        let partial = &mut self.inbox.partial;
        if let Some(begun) = partial.approximate.get(&name) {
            partial.rhythm.learn(now.saturating_since(begun.at));
        }
        let assembly = partial.approximate.entry(name).or_insert(fresh);
        assembly.add(now, offset, received);
        assembly.repeats |= is_again;
        self.inbox.bytes = self.inbox.bytes + grown - charge;
        let complete = assembly.is_complete();
        if complete {
            self.deliver_assembly(name);
        } else if partial.approximate.len() > most_waiting {
            let oldest = partial.approximate.iter().min_by_key(|(_, it)| it.at);
            let oldest = oldest.map_or(name, |(name, _)| *name);
            self.deliver_assembly(oldest);
        }
        Ok(())
    }

    /// Rejects a part that lies outside its message or contradicts earlier parts. `fits` is the
    /// result of the comparison with earlier parts, if there are any.
    fn admit(&self, fits: Option<bool>, part: Part, received: &Received) -> Result<(), Dropped> {
        let total = part.total as usize;
        let fits = fits.unwrap_or_else(|| is_within(part, received.data.len(), total));
        let possible = total <= self.config.max_message.max(LONGEST);
        (fits && possible).then_some(()).ok_or(Dropped::Malformed)
    }

    /// Delivers an approximate message as far as it has arrived.
    fn deliver_assembly(&mut self, name: MessageId) {
        let partial = &mut self.inbox.partial;
        let Some(assembly) = partial.approximate.remove(&name) else { return };
        let most_missing = self.config.most_missing;
        self.inbox.received.note(name, assembly.repeats);
        self.inbox.bytes -= assembly.charge(None, most_missing);
        if !assembly.is_complete() {
            if partial.given_up.len() == WAITING {
                partial.given_up.pop_front();
            }
            partial.given_up.push_back((name, assembly.at));
        }
        if !assembly.is_deliverable(most_missing) {
            self.inbox.partial.dropped += assembly.parts() as u64;
            self.inbox.approximates = self.inbox.approximates.wrapping_add(1);
            return;
        }
        if let Some(received) = assembly.finish() {
            debug_assert_eq!(received.kind, MessageKind::Approximate);
            self.deliver(received);
        }
    }

    /// Returns the time at which an approximate message is delivered although parts are missing.
    pub(super) fn parts_due(&self) -> Option<Instant> {
        let patience = self.patience();
        self.inbox.partial.approximate.values().map(|it| self.part_due(it, patience)).min()
    }

    /// Returns the time at which a message is delivered although parts are missing, `patience`
    /// after the last one. On a path without damage a full queue has dropped them, and the peer
    /// retransmits them as long as others arrive.
    fn part_due(&self, assembly: &Assembly, patience: Duration) -> Instant {
        let due = assembly.at + patience;
        if !self.waits_for_queues() {
            return due;
        }
        let queues = self.outbox.patience;
        let progress_at = self.inbox.partial.progress_at;
        due.max((progress_at + queues).min(assembly.at + queues * PATIENCES))
    }

    /// Returns whether missing parts are late rather than lost, as the owner sees it. Without
    /// congestion control nothing reports them, so the peer does not retransmit them.
    fn waits_for_queues(&self) -> bool {
        let reports = self.config.congestion_control;
        reports && self.outbox.patience > Duration::ZERO && !self.path.trust.is_broken()
    }

    fn most_waiting(&self) -> usize {
        if self.waits_for_queues() { WAITING_FOR_QUEUES } else { WAITING }
    }

    /// Returns the time to wait for the next part of an approximate message: at least a round trip,
    /// because a part may arrive that much ahead of the others. An end that only receives has no
    /// other sample than the handshake.
    fn patience(&self) -> Duration {
        let round_trip = self.round_trip().unwrap_or(UNKNOWN);
        let handshake = self.path.handshake.unwrap_or_default();
        self.inbox.partial.rhythm.patience(round_trip.max(handshake))
    }

    /// Delivers approximate messages whose missing parts are overdue, or all of them.
    pub(super) fn deliver_partial(&mut self, now: Option<Instant>) {
        let patience = self.patience();
        let partial = &self.inbox.partial;
        let is_due = |it: &Assembly| now.is_none_or(|now| self.part_due(it, patience) <= now);
        let due = partial.approximate.iter().filter(|(_, assembly)| is_due(assembly));
        let due: Vec<MessageId> = due.map(|(name, _)| *name).collect();
        due.into_iter().for_each(|name| self.deliver_assembly(name));
    }
}
