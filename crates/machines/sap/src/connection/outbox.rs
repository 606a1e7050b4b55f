//! The send buffer: messages encoded, segmented if they are long, and kept for repair.

use std::collections::{BTreeMap, VecDeque};

use core::ops::Range;

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::SapRepair;

use super::{Connection, FinState, State};
use crate::budget::weight;
use crate::encode::{Again, Encoded, Origin, encode, encode_parts, overhead, recut};
use crate::error::SapSendError;
use crate::message::{Message, Mode};
use crate::received_messages::MessageId;
use crate::ring::Ring;

/// Messages to send or to retransmit.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    /// Precise messages and repairs that are not acknowledged, by key.
    pub(super) precise: Ring<Encoded>,
    /// Keys of precise messages that were never sent, and of those that were lost.
    pub(super) new: VecDeque<u64>,
    pub(super) lost: VecDeque<u64>,
    /// Approximate messages to send, and the bytes of data in them.
    pub(super) approximate: VecDeque<Encoded>,
    pub(super) approximate_bytes: usize,
    /// The bytes of data of all approximate messages that were ever queued.
    pub(super) approximate_queued: u64,
    /// The newest approximate message is sent first, and the oldest are dropped.
    pub(super) newest_first: bool,
    /// The number of approximate messages that were dropped for newer ones.
    pub(super) displaced: u64,
    /// The approximate message of which a part was sent last.
    pub(super) begun: Option<Origin>,
    /// The time for which lost approximate messages are retransmitted; zero: never.
    pub(super) lateness: Duration,
    /// The time without progress up to which lost approximate messages are retransmitted beyond
    /// `lateness`, on a path without damage. If others make progress, each is retransmitted for up
    /// to [`PATIENCES`] times as long.
    pub(super) patience: Duration,
    /// Approximate datagrams in flight that are retransmitted if they are lost, by key, and the
    /// next key.
    pub(super) repeatable: Ring<Encoded>,
    pub(super) repeatables: u64,
    /// The retransmittable approximate datagrams of each stream, counted by outcome.
    pub(super) fates: BTreeMap<u16, Fates>,
    /// Requests for repair that are not acknowledged, and keys of those to send.
    pub(super) requests: BTreeMap<u64, SapRepair>,
    pub(super) requests_due: VecDeque<u64>,
    /// Ranges to request once the length of their message is known.
    pub(super) unsized_repairs: BTreeMap<MessageId, Vec<Range<usize>>>,
    /// The next key.
    pub(super) name: u64,
    /// The bytes of all queued messages, and the limit of the send buffer.
    pub(super) bytes: usize,
    pub(super) limit: usize,
    /// The size of the precise messages in flight, and their number.
    pub(super) in_flight: (usize, usize),
    /// The next numbers of each stream: of precise and of approximate messages.
    pub(super) numbers: BTreeMap<u16, (u32, u32)>,
    /// The number of approximate messages sent.
    pub(super) approximates: u32,
    /// The application was told that the buffer is full.
    pub(super) was_full: bool,
    /// Alternates between the two kinds of message: `true` sends a precise one next.
    pub(super) turn: bool,
    /// Sent approximate messages, kept for repair, and their size in bytes.
    pub(super) memory: VecDeque<Kept>,
    pub(super) remembered: usize,
}

/// The age up to which an approximate datagram is retransmitted while others make progress, as a
/// multiple of the patience with queues.
pub(super) const PATIENCES: u64 = 6;

/// The bytes charged for a message that is kept for repair, besides its data.
pub(super) const KEPT: usize = 64;

/// The approximate datagrams of a stream that are retransmitted if they are lost, by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fates {
    /// The number of datagrams that wait or are in flight.
    pub(super) open: u64,
    /// The number of datagrams that were given up.
    pub(super) lost: u64,
}

/// The bodies of the datagrams of one message, usually one.
pub(super) type Bodies = Vec<Encoded>;

/// A sent approximate message that is kept for repair.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) stream: u16,
    pub(super) number: u32,
    pub(super) data: Bytes,
    /// The bytes that were sent to repair it.
    pub(super) repaired: usize,
}

impl Connection {
    /// Queues a message for transmission.
    pub(crate) fn send(&mut self, message: &Message) -> Result<(), SapSendError> {
        match (&self.state, self.sending) {
            (State::Closed, _) => return Err(SapSendError::NotOpen),
            (_, FinState::Open) => {}
            _ => return Err(SapSendError::Finished),
        }
        let precise = message.mode == Mode::Precise;
        let numbers = self.outbox.numbers.get(&message.stream).copied().unwrap_or_default();
        let number = if precise { numbers.0 } else { numbers.1 };
        if precise && number == 0 {
            self.open_stream(message.stream)?;
        }
        let mut bodies = self.encode(message, number)?;
        let size: usize = bodies.iter().map(Encoded::len).sum();
        if !precise && self.outbox.newest_first {
            self.outbox.drop_oldest(size);
        } else if self.outbox.bytes + size > self.outbox.limit && self.outbox.bytes > 0 {
            self.outbox.was_full = true;
            return Err(SapSendError::Full);
        }
        self.outbox.bytes += size;
        let numbers = self.outbox.numbers.entry(message.stream).or_default();
        if precise {
            numbers.0 = number.wrapping_add(1);
            bodies.into_iter().for_each(|encoded| self.outbox.push_precise(encoded));
        } else {
            numbers.1 = number.wrapping_add(1);
            self.remember(message, number);
            self.outbox.open_fates(&mut bodies);
            self.outbox.approximate_bytes += message.data.len();
            self.outbox.approximate_queued += message.data.len() as u64;
            self.outbox.approximate.extend(bodies);
        }
        Ok(())
    }

    /// Returns the bytes of data of approximate messages that were queued, and those of them that
    /// have left the queue.
    pub(crate) fn approximate_progress(&self) -> (u64, u64) {
        let queued = self.outbox.approximate_queued;
        (queued, queued - self.outbox.approximate_bytes as u64)
    }

    /// Sets how long lost approximate messages are retransmitted.
    pub(crate) fn set_lateness(&mut self, lateness: Duration) {
        // Without congestion control the peer sends no reports, so losses stay unknown.
        if self.config.congestion_control {
            self.outbox.lateness = lateness;
        }
    }

    /// Sets the time without progress up to which lost approximate messages are retransmitted
    /// beyond their lateness, and missing parts of those of the peer are waited for, on a path
    /// without damage.
    pub(crate) fn set_patience_with_queues(&mut self, patience: Duration) {
        self.outbox.patience = patience;
    }

    /// Sets the capacity for sent approximate messages that are kept for repair, in bytes.
    pub(crate) fn set_repair_memory(&mut self, bytes: usize) {
        self.config.repair_memory = bytes;
        self.forget_old_messages();
    }

    /// Returns whether all retransmittable approximate messages of a stream have arrived; `None`
    /// while some are outstanding. An answer resets the count.
    pub(crate) fn take_fate(&mut self, stream: u16) -> Option<bool> {
        let fates = self.outbox.fates.get(&stream).copied().unwrap_or_default();
        if fates.open > 0 {
            return None;
        }
        self.outbox.fates.remove(&stream);
        Some(fates.lost == 0)
    }

    /// Queues the approximate datagram with this key for retransmission, unless its time is over.
    pub(super) fn repeat(&mut self, now: Instant, name: u64) {
        // On a path without damage, a lost datagram was dropped by a full queue. It is worth a
        // retransmission as long as anything arrives.
        let room = self.path.size() - self.datagram_overhead;
        let stalled = now.saturating_since(self.progress_at);
        let patience = self.outbox.patience;
        let outbox = &mut self.outbox;
        let Some(mut encoded) = outbox.repeatable.remove(name) else { return };
        // A retransmission must survive bit errors and collisions: links retransmit exact bytes.
        encoded.make_exact();
        let fits = encoded.len() <= room;
        let may_cut = !fits && self.takes_parts && encoded.rest.is_empty() && !encoded.has_spans();
        // Progress of other datagrams does not help one that never arrives.
        let is_worth = |age: Duration| stalled < patience && age < patience * PATIENCES;
        let waits = !self.path.trust.is_broken() && (fits || may_cut);
        let is_over = |it: Again| it.is_late(now) && !(waits && is_worth(it.age(now)));
        if encoded.again.is_none_or(is_over) {
            outbox.settle_fate(encoded.of.stream, false);
            return;
        }
        let stream = encoded.of.stream;
        outbox.approximate_bytes += encoded.data_len();
        let bodies = if may_cut { recut(&encoded, room) } else { Vec::from([encoded]) };
        outbox.fates.entry(stream).or_default().open += bodies.len().saturating_sub(1) as u64;
        outbox.bytes += bodies.iter().map(Encoded::len).sum::<usize>();
        bodies.into_iter().rev().for_each(|encoded| outbox.approximate.push_front(encoded));
    }

    /// Returns the time within which the peer usually reports an approximate message; `None` if it
    /// sends no reports.
    pub(crate) fn report_within(&self) -> Option<Duration> {
        self.config.congestion_control.then(|| self.timeout() + self.config.ack_delay)
    }

    /// Encodes a message, in parts if it is longer than a datagram.
    pub(super) fn encode(&self, message: &Message, number: u32) -> Result<Bodies, SapSendError> {
        let room = self.path.size() - self.datagram_overhead;
        let len = message.data.len();
        let checks = self.config.block_checks;
        // A message that does not fit in any case is not encoded twice.
        let whole = (len <= room).then(|| encode(message, number, checks)).transpose()?;
        let extra = match whole {
            Some(encoded) if encoded.len() <= room => return Ok(Bodies::from_iter([encoded])),
            Some(encoded) => encoded.len() - len,
            None => overhead(len, checks && message.mode != Mode::Precise),
        };
        if !self.takes_parts || self.config.max_message == 0 {
            return Err(SapSendError::TooLong { len, most: room.saturating_sub(extra) });
        }
        if len > self.config.max_message {
            return Err(SapSendError::TooLong { len, most: self.config.max_message });
        }
        encode_parts(message, number, checks, room).map(Bodies::from_iter)
    }

    /// Rejects a stream of precise messages that the peer would not accept.
    fn open_stream(&self, stream: u16) -> Result<(), SapSendError> {
        let others = self.outbox.numbers.iter().filter(|(other, it)| **other != stream && it.0 > 0);
        if others.count() < self.config.max_streams {
            return Ok(());
        }
        Err(SapSendError::Streams { stream, most: self.config.max_streams })
    }

    /// Keeps an approximate message for repair.
    fn remember(&mut self, message: &Message, number: u32) {
        let outbox = &mut self.outbox;
        let stream = message.stream;
        let data = message.data.clone();
        outbox.memory.push_back(Kept { stream, number, repaired: 0, data });
        outbox.remembered += KEPT + message.data.len();
        self.forget_old_messages();
    }

    /// Forgets the oldest messages that are kept for repair, until the others have room.
    fn forget_old_messages(&mut self) {
        let outbox = &mut self.outbox;
        while outbox.remembered > self.config.repair_memory
            && let Some(kept) = outbox.memory.pop_front()
        {
            outbox.remembered -= KEPT + kept.data.len();
        }
    }
}

impl Outbox {
    /// Returns the memory that messages to send or to retransmit take.
    pub(super) fn charge(&self) -> usize {
        self.bytes + weight(0) * (self.precise.len() + self.approximate.len())
    }

    pub(super) fn next_name(&mut self) -> u64 {
        self.name += 1;
        self.name
    }

    /// Marks the datagrams of an approximate message as retransmittable.
    fn open_fates(&mut self, bodies: &mut Bodies) {
        if self.lateness == Duration::ZERO || self.newest_first {
            return;
        }
        for encoded in bodies {
            encoded.again = Some(Again::new(self.lateness));
            self.fates.entry(encoded.of.stream).or_default().open += 1;
        }
    }

    /// Counts a retransmittable datagram of a stream as arrived or as given up.
    pub(super) fn settle_fate(&mut self, stream: u16, arrived: bool) {
        let fates = self.fates.entry(stream).or_default();
        fates.open = fates.open.saturating_sub(1);
        fates.lost += u64::from(!arrived);
    }

    pub(super) fn push_precise(&mut self, encoded: Encoded) {
        let name = self.next_name();
        self.precise.push(name, encoded);
        self.new.push_back(name);
    }
}
