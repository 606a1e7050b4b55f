//! One connection: its state and the commands of its application.
//!
//! `transmit` chooses and builds the next datagram, `arrive` processes received ones, `timers`
//! handles timeouts.

use std::collections::{BTreeMap, VecDeque};

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::{HEADER_LEN, Reason, SapPing, features, flags};

use crate::budget::{Allowance, weight};
use crate::config::{Profile, SapConfig};
use crate::encode::overhead;
use crate::error::CloseReason;
use crate::event::{SapEvent, Undelivered};
use crate::handshake::Initiator;
use crate::message::{Integrity, MessageKind, Received};
use crate::numbers::Numbers;
use crate::order::Order;
use crate::path_mtu::{TooLong, stated_largest};
use crate::path_state::PathState;
use crate::received_messages::{MessageId, ReceivedMessages};
use crate::requested_repairs::RequestedRepairs;
use crate::seal::{Seal, SharedKey, TAG_LEN};
use crate::sent::Sent;

use migrate::Migration;
use outbox::Outbox;
use reassemble::Partial;

mod arrive;
mod ending;
mod migrate;
mod newest;
mod outbox;
mod reassemble;
mod refit;
mod repair;
mod timers;
mod transmit;

/// The bytes charged for a connection without messages: its heap memory after the first packets,
/// its entries in the endpoint and the socket, and the overhead of the allocator.
pub(crate) const BASE: usize = 6144;
/// The bytes charged for a stream, and for the remembered length of an approximate message.
const STREAM: usize = 96;
const LENGTH: usize = 32;
/// The number of approximate messages whose length is remembered.
const LENGTHS: usize = 64;
/// The capacity in messages that an empty queue may keep.
const LARGE: usize = 64;

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The ping has not been answered.
    Connecting(Connecting),
    /// Messages can be sent and received.
    Open,
    /// The connection has ended.
    Closed,
}

/// A connection attempt whose ping has not been answered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Connecting {
    ping: SapPing,
    /// The time of the first ping.
    began: Instant,
    /// The time of the next ping, and the interval after it.
    due: Instant,
    wait: Duration,
    deadline: Instant,
}

/// The state of the FIN, which ends the sending direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinState {
    /// The application may still send.
    Open,
    /// A FIN is sent when everything before it is acknowledged.
    Pending,
    /// The FIN was sent.
    Sent,
    /// The peer has acknowledged the FIN.
    Acknowledged,
}

/// Received messages that the application has not read.
#[derive(Clone, Debug, Default)]
struct Inbox {
    ready: VecDeque<Received>,
    /// Approximate messages, if they are read newest first as `newest_first` says.
    fresh: VecDeque<Received>,
    newest_first: bool,
    /// The number of approximate messages that were dropped unread for newer ones.
    displaced: u64,
    /// Messages of which parts have arrived.
    partial: Partial,
    orders: BTreeMap<u16, Order>,
    /// The number of approximate messages that have arrived, whole or in part.
    approximates: u32,
    /// The lengths of the latest approximate messages.
    lengths: VecDeque<(MessageId, usize)>,
    /// The approximate messages that have arrived, to detect retransmitted copies.
    received: ReceivedMessages,
    /// The repairs that this end has requested, to detect answers to no request.
    requested: RequestedRepairs,
    /// The bytes charged for the messages in this inbox.
    bytes: usize,
    /// The limit of `bytes`, and the memory that all connections have left.
    limit: usize,
    left: usize,
    /// The receive window that the last acknowledgement advertised, in bytes.
    advertised_room: usize,
}

/// The acknowledgement to send next.
#[derive(Clone, Copy, Debug, Default)]
struct AckState {
    due: Option<Instant>,
    /// The received precise packets that are not acknowledged yet, and the approximate ones that
    /// are not reported yet.
    precise: u32,
    approximate: u32,
    /// The bytes of the precise packets that are not acknowledged yet.
    bytes: usize,
    /// The number of approximate packets received.
    total: u32,
}

/// The transport parameters in the ping or the accept of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Introduction {
    pub(crate) id: u32,
    pub(crate) max_datagram: u16,
    pub(crate) features: u8,
}

/// One connection of an endpoint.
#[derive(Debug)]
pub(crate) struct Connection {
    config: SapConfig,
    peer: SocketAddr,
    peer_id: u32,
    state: State,
    /// The session keys, if the connection is encrypted.
    seal: Option<Box<Seal>>,
    /// The peer understands messages in parts.
    takes_parts: bool,
    /// The handshake of an encrypted connection attempt.
    initiator: Option<Initiator>,
    /// The carrier's checksums cover neither addresses nor ports, as in the peer's last packet.
    unbound: bool,
    /// The path validation of another address that the peer may have moved to.
    migration: Option<Migration>,
    /// The response to a path challenge, and its destination.
    response: Option<(SocketAddr, Bytes)>,
    /// The key from which the values of path challenges are derived.
    secret: [u8; 16],
    /// The number of path challenges generated.
    challenges: u64,
    /// Bytes that each datagram adds to its body.
    datagram_overhead: usize,
    sent: Sent,
    seen: Numbers,
    outbox: Outbox,
    inbox: Inbox,
    ack: AckState,
    path: PathState,
    /// The bytes of data sent since the last packet that requested an immediate acknowledgement.
    bytes_since_ack_request: usize,
    /// The receive window that the peer advertises, in bytes.
    peer_room: usize,
    /// The number of the acknowledgement that told this room.
    peer_room_number: u64,
    sending: FinState,
    /// The peer has sent its FIN.
    peer_finished: bool,
    /// The peer's FIN, until the messages sent before it have arrived or their time is over.
    ending: Option<ending::Ending>,
    /// The time at which the next packet is declared lost (loss_time of RFC 9002).
    loss_at: Option<Instant>,
    probe_due: bool,
    heard_at: Instant,
    asked_at: Instant,
    /// The time at which the connection ends in any case.
    deadline: Option<Instant>,
    /// The time of the last progress: a message sent for the first time, or acknowledged.
    progress_at: Instant,
    /// The messages that were not delivered when the connection ended.
    left: Undelivered,
    reset: Option<Reason>,
    /// The application has closed the connection.
    released: bool,
    /// The bytes that the endpoint has charged for the connection.
    charged: usize,
    events: VecDeque<SapEvent>,
}

impl Connection {
    fn new(
        now: Instant,
        config: SapConfig,
        peer: SocketAddr,
        state: State,
        secret: [u8; 16],
    ) -> Self {
        let skips = config.congestion_control.then_some(secret);
        Self {
            config,
            peer,
            peer_id: 0,
            state,
            seal: None,
            takes_parts: false,
            initiator: None,
            // Older peers do not know checksums without addresses, so the next ping uses the other
            // form.
            unbound: true,
            migration: None,
            response: None,
            secret,
            challenges: 0,
            datagram_overhead: HEADER_LEN,
            sent: Sent::new(skips),
            seen: Numbers::default(),
            outbox: Outbox { limit: config.send_buffer, ..Outbox::default() },
            inbox: Inbox {
                advertised_room: config.receive_buffer,
                limit: config.receive_buffer,
                left: config.receive_buffer,
                ..Inbox::default()
            },
            ack: AckState::default(),
            path: PathState::new(peer.ip(), &config),
            bytes_since_ack_request: 0,
            peer_room: config.base_datagram * 16,
            peer_room_number: 0,
            sending: FinState::Open,
            peer_finished: false,
            ending: None,
            loss_at: None,
            probe_due: false,
            heard_at: now,
            asked_at: now,
            deadline: None,
            progress_at: now,
            left: Undelivered::default(),
            reset: None,
            released: false,
            charged: 0,
            events: VecDeque::new(),
        }
    }

    //= S0.18
    /// Creates a connection to `peer`; with a shared key and fresh random bytes, an encrypted one.
    pub(crate) fn connect(
        now: Instant,
        config: SapConfig,
        id: u32,
        peer: SocketAddr,
        key: Option<(SharedKey, [u8; 32])>,
        skips: [u8; 16],
    ) -> Self {
        let max_datagram = stated_largest(config.max_datagram);
        let features = features::PARTS;
        let mut ping = SapPing { connection: id, max_datagram, features, ..SapPing::default() };
        let begun = key.and_then(|(key, fresh)| Initiator::begin(&key, fresh, (id, max_datagram)));
        let initiator = begun.map(|(initiator, handshake)| {
            ping.handshake = handshake;
            initiator
        });
        let deadline = now + config.connect_timeout;
        let connecting =
            Connecting { ping, began: now, due: now, wait: config.initial_timeout, deadline };
        let mut connection = Self::new(now, config, peer, State::Connecting(connecting), skips);
        connection.datagram_overhead += initiator.as_ref().map_or(0, |_| TAG_LEN);
        connection.initiator = initiator;
        connection
    }

    /// Records the duration of the handshake, from the accept to its answer.
    pub(crate) fn note_handshake(&mut self, span: Duration) {
        self.path.handshake = Some(span);
    }

    /// Creates the responder's side of a connection that `peer` requested. Its accept was packet 0.
    pub(crate) fn accept(
        now: Instant,
        config: SapConfig,
        peer: SocketAddr,
        ping: Introduction,
        seal: Option<Box<Seal>>,
        skips: [u8; 16],
    ) -> Self {
        let mut connection = Self::new(now, config, peer, State::Open, skips);
        connection.datagram_overhead += seal.as_ref().map_or(0, |_| TAG_LEN);
        connection.seal = seal;
        connection.sent.push(now, None, false);
        connection.open(now, ping);
        connection
    }

    /// Opens the connection with the peer's parameters and starts path MTU discovery.
    fn open(&mut self, now: Instant, peer: Introduction) {
        self.peer_id = peer.id;
        self.takes_parts = peer.features & features::PARTS != 0;
        let most = self.config.max_datagram.min(usize::from(peer.max_datagram));
        self.path.mtu.open(now, self.peer.ip(), most, self.config.path_discovery);
        self.heard_at = now;
        self.asked_at = now;
    }

    /// Returns the peer's address.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Returns the peer's connection id.
    pub(crate) fn peer_id(&self) -> u32 {
        self.peer_id
    }

    /// Records a datagram from the peer's address whose header is damaged; `is_own` says that it
    /// belongs to this connection.
    pub(crate) fn note_damage(&mut self, is_own: bool) {
        self.path.trust.on_damage();
        if is_own && !self.is_paper() {
            self.seen.note_nameless();
        }
    }

    /// Returns whether the connection is open.
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Returns whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns whether the connection has ended and can be removed.
    pub(crate) fn is_gone(&self) -> bool {
        self.state == State::Closed && self.released && self.reset.is_none()
    }

    /// Returns whether a message can be read.
    pub(crate) fn is_readable(&self) -> bool {
        !(self.inbox.ready.is_empty() && self.inbox.fresh.is_empty())
    }

    /// Returns whether the send buffer has room for another message.
    pub(crate) fn is_writable(&self) -> bool {
        self.state != State::Closed && self.outbox.bytes < self.outbox.limit
    }

    /// Returns the smoothed round-trip time, once it was measured.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.path.rtt.smoothed()
    }

    /// Returns the time from which on the path MTU is unlikely to grow.
    pub(crate) fn path_settles_at(&self) -> Option<Instant> {
        self.path.mtu.settles_at(self.path.rtt.smoothed().unwrap_or(self.config.initial_timeout))
    }

    /// Returns whether all precise messages are acknowledged, and no approximate one waits for its
    /// transmission or retransmission.
    pub(crate) fn is_flushed(&self) -> bool {
        let Outbox { precise, approximate, repeatable, .. } = &self.outbox;
        precise.is_empty() && approximate.is_empty() && repeatable.is_empty()
    }

    /// Returns whether the peer has acknowledged the FIN of this end.
    pub(crate) fn is_finished(&self) -> bool {
        self.sending == FinState::Acknowledged || self.state == State::Closed
    }

    /// Counts the messages that are not acknowledged or not sent. After the connection has ended,
    /// the count is that at its end.
    pub(crate) fn undelivered(&self) -> Undelivered {
        if self.state == State::Closed {
            return self.left;
        }
        let outbox = &self.outbox;
        let waiting = outbox.precise.values().chain(&outbox.approximate);
        let waiting = waiting.chain(outbox.repeatable.values());
        let mut last = None;
        waiting.fold(Undelivered::default(), |sum, encoded| {
            // The parts of a message follow each other.
            let kind = encoded.flags & (flags::APPROXIMATE | flags::REPAIRED);
            let name = Some((encoded.of.stream, encoded.of.number, kind));
            let other = core::mem::replace(&mut last, name) != name;
            Undelivered {
                messages: sum.messages + u64::from(other),
                bytes: sum.bytes + (encoded.exact.len() + encoded.rest.len()) as u64,
            }
        })
    }

    /// Returns the time at which a close gives up without progress.
    pub(crate) fn gives_up_at(&self) -> Instant {
        self.progress_at + self.close_patience()
    }

    /// Sets how long a close waits without progress.
    pub(crate) fn set_linger(&mut self, linger: Duration) {
        self.config.close_timeout = linger;
    }

    /// Returns the time without progress after which a close gives up, which covers several round
    /// trips.
    pub(crate) fn close_patience(&self) -> Duration {
        self.config.close_timeout.max(self.timeout() * 3)
    }

    /// Records progress, which postpones the deadline of a close.
    fn note_progress(&mut self, now: Instant) {
        self.progress_at = now;
        if self.released && self.deadline.is_some() && self.sending != FinState::Acknowledged {
            self.deadline = Some(self.gives_up_at());
        }
    }

    /// Returns the longest message in bytes, unless its exact bytes are in ranges. The
    /// configuration limits it, or the path MTU if the peer does not accept messages in parts.
    pub(crate) fn max_message(&self) -> usize {
        if self.takes_parts && self.config.max_message > 0 {
            return self.config.max_message;
        }
        self.max_whole()
    }

    /// Returns the longest message that fits into one datagram, unless its exact bytes are in
    /// ranges.
    pub(crate) fn max_whole(&self) -> usize {
        let room = self.path.size() - self.datagram_overhead;
        room - overhead(room, self.config.block_checks)
    }

    /// Returns the next received message.
    pub(crate) fn receive(&mut self) -> Option<Received> {
        let inbox = &mut self.inbox;
        let received = inbox.ready.pop_front().or_else(|| inbox.fresh.pop_back())?;
        inbox.bytes -= weight(received.data.len());
        if inbox.ready.is_empty() && inbox.ready.capacity() > LARGE {
            inbox.ready = VecDeque::new();
        }
        Some(received)
    }

    /// Schedules a window update: the peer may have stopped because the receive buffer was full.
    pub(crate) fn announce_room(&mut self, now: Instant) {
        if self.is_open() && self.room() >= self.inbox.advertised_room + self.inbox.limit / 2 {
            self.ack.due = Some(now);
        }
    }

    /// Returns whether an acknowledgement is due.
    pub(crate) fn has_news(&self, now: Instant) -> bool {
        self.ack.due.is_some_and(|due| due <= now)
    }

    /// Ends the sending direction: a FIN follows the messages sent before.
    pub(crate) fn finish(&mut self) {
        if self.sending == FinState::Open {
            self.sending = FinState::Pending;
        }
    }

    //= S0.19
    /// Closes the connection after all precise messages are acknowledged, or after the close
    /// timeout without progress.
    pub(crate) fn close(&mut self, now: Instant) {
        self.released = true;
        self.inbox.ready.clear();
        self.inbox.fresh.clear();
        self.inbox.partial = Partial::default();
        // Out-of-order messages stay: they are acknowledged already, and later ones depend on them.
        self.inbox.bytes = self.inbox.orders.values().map(Order::charge).sum();
        match self.state {
            State::Open => {
                self.finish();
                self.deadline = Some(now + self.close_patience());
                self.settle(now);
            }
            State::Connecting(_) => self.state = State::Closed,
            State::Closed => {}
        }
    }

    /// Resets the connection at once.
    pub(crate) fn abort(&mut self, reason: CloseReason) {
        self.abort_because(Reason::Closed, reason);
    }

    /// Resets the connection to free its place for a new one.
    pub(crate) fn displace(&mut self) {
        self.events.push_back(SapEvent::Displaced);
        self.abort_because(Reason::Busy, CloseReason::Displaced);
    }

    /// Returns the time of the last packet of the peer.
    pub(crate) fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Resets the connection at once and reports the reason to the peer.
    fn abort_because(&mut self, told: Reason, reason: CloseReason) {
        if self.state == State::Closed {
            return;
        }
        if self.state == State::Open {
            self.reset = Some(told);
        }
        self.end(reason);
    }

    fn end(&mut self, reason: CloseReason) {
        self.left = self.undelivered();
        self.deliver_partial(None);
        if let Some(ending::Ending { approximate, .. }) = self.ending.take() {
            self.events.push_back(SapEvent::Finished { approximate });
        }
        self.state = State::Closed;
        self.outbox = Outbox { displaced: self.outbox.displaced, ..Outbox::default() };
        self.sent.clear();
        self.deadline = None;
        self.events.push_back(SapEvent::Closed(reason));
    }

    fn room(&self) -> usize {
        self.inbox.limit.saturating_sub(self.inbox.bytes)
    }

    /// Limits the buffers of both directions to the allowance of the connection.
    pub(crate) fn limit(&mut self, allowed: Allowance) {
        self.inbox.limit = allowed.limit(self.config.receive_buffer, self.inbox.bytes);
        self.inbox.left = allowed.left;
        self.outbox.limit = allowed.limit(self.config.send_buffer, self.outbox.bytes);
    }

    /// Returns the memory that the endpoint has charged.
    pub(crate) fn charged(&self) -> usize {
        self.charged
    }

    /// Updates and returns the memory that the connection and its messages take.
    pub(crate) fn charge(&mut self) -> usize {
        let messages = self.inbox.bytes + self.outbox.charge() + self.outbox.remembered;
        self.charged = BASE + messages + self.tables();
        self.charged
    }

    /// Returns the bytes charged for the records of packets and messages that are not held
    /// themselves.
    fn tables(&self) -> usize {
        let streams = self.inbox.orders.len() + self.outbox.numbers.len();
        let lengths = self.inbox.lengths.len() + self.inbox.partial.given_up();
        let messages = streams * STREAM + lengths * LENGTH + self.inbox.received.charge();
        let messages = messages + self.inbox.requested.charge();
        messages + self.seen.charge() + self.sent.charge()
    }

    /// Returns the number of parts dropped since the last call because too little of their messages
    /// arrived.
    pub(crate) fn take_incomplete(&mut self) -> u64 {
        core::mem::take(&mut self.inbox.partial.dropped)
    }

    /// Learns what was too long for another connection to the same host.
    pub(crate) fn learn_too_long(&mut self, now: Instant, known: TooLong) {
        self.path.mtu.learn(now, known);
    }

    /// Returns the size that is too long for the path, once after each search.
    pub(crate) fn take_too_long(&mut self) -> Option<TooLong> {
        self.path.mtu.take_too_long()
    }

    /// Returns the retransmission timeout.
    fn timeout(&self) -> Duration {
        self.path.timeout(&self.config)
    }

    /// Returns whether anything has arrived damaged in either direction.
    #[cfg(test)]
    pub(crate) fn has_damage(&self) -> bool {
        self.path.trust.is_broken()
    }

    /// Returns the receive window that the peer advertises, in bytes.
    #[cfg(test)]
    pub(crate) const fn peer_room(&self) -> usize {
        self.peer_room
    }

    /// Acts as if the peer predated messages in parts.
    #[cfg(test)]
    pub(crate) fn forbid_parts(&mut self) {
        self.takes_parts = false;
    }

    fn is_paper(&self) -> bool {
        self.config.profile == Profile::Paper
    }

    /// Returns the next event.
    pub(crate) fn poll_event(&mut self) -> Option<SapEvent> {
        self.events.pop_front()
    }

    /// Reports that a message can be read, if none could before.
    fn tell_readable(&mut self) {
        if self.inbox.ready.len() + self.inbox.fresh.len() == 1 {
            self.events.push_back(SapEvent::Readable);
        }
    }

    /// Delivers a message to the application.
    fn deliver(&mut self, received: Received) {
        if received.kind == MessageKind::Approximate {
            self.inbox.approximates = self.inbox.approximates.wrapping_add(1);
            if self.inbox.lengths.len() == LENGTHS {
                self.inbox.lengths.pop_front();
            }
            let name = (received.stream, received.number);
            self.inbox.lengths.push_back((name, received.data.len()));
        }
        if self.released {
            // The application no longer reads, and the message must not block later ones of the
            // peer.
            return;
        }
        let inbox = &mut self.inbox;
        inbox.bytes += weight(received.data.len());
        let fresh = inbox.newest_first && received.kind == MessageKind::Approximate;
        let queue = if fresh { &mut inbox.fresh } else { &mut inbox.ready };
        queue.push_back(received);
        self.tell_readable();
    }

    /// Delivers precise message `number` of `stream`.
    fn deliver_precise(&mut self, stream: u16, number: u32, data: Bytes) {
        let exact = Vec::from_iter((!data.is_empty()).then_some(0..data.len()));
        let integrity = Integrity::Intact;
        let kind = MessageKind::Precise;
        let missing = Vec::new();
        self.deliver(Received { stream, kind, number, data, exact, integrity, missing });
    }
}

#[cfg(test)]
mod tests;
