//! The endpoint: all connections of one socket.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use core::fmt;
use core::net::SocketAddr;
use core::ops::Range;

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_wire_net::WireError;
use windfall_wire_net::sap::{SapKind, SapPacket};

use crate::budget::{Allowance, SapBudget};
use crate::config::SapConfig;
use crate::connection::{Connection, Introduction};
use crate::datagram::{DatagramMeta, OutgoingDatagram};
use crate::error::{CloseReason, SapSendError};
use crate::event::{Dropped, SapEvent, Undelivered};
use crate::message::{Message, Received};
use crate::seal::{Seal, SharedKey};
use crate::secret::Secret;

mod accept;
mod address_quota;
mod by_address;
mod path_mtus;

use address_quota::AddressQuota;
use path_mtus::PathMtus;

/// The id of a connection, as its datagrams carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// The number of dropped datagrams by reason.
pub type DropCounts = BTreeMap<Dropped, u64>;

/// A connection that was accepted, and whose peer has sent nothing since.
#[derive(Debug)]
struct HalfOpen {
    id: u32,
    peer: Introduction,
    /// The time of the first accept.
    since: Instant,
    until: Instant,
    /// The keys and the handshake of the accept, if it is encrypted.
    sealed: Option<(Box<Seal>, Bytes)>,
}

/// The connections of one socket, half-open ones included.
pub struct SapEndpoint {
    config: SapConfig,
    secret: Secret,
    key: Option<SharedKey>,
    listening: bool,
    /// Boxed, because the unused slots of a B-tree node are as large as the used ones.
    connections: BTreeMap<u32, Box<Connection>>,
    /// Accepted connections by the peer's address and connection id.
    peers: BTreeMap<(SocketAddr, u32), u32>,
    /// All connections by the peer's address, which is all that errors of the system and damaged
    /// headers tell.
    by_address: BTreeSet<(SocketAddr, u32)>,
    half_open: BTreeMap<(SocketAddr, u32), HalfOpen>,
    half_open_ids: BTreeMap<u32, (SocketAddr, u32)>,
    /// The number of connections of each address, and its limit.
    address_quota: AddressQuota,
    /// The sizes that are too long for the paths to hosts.
    path_mtus: PathMtus,
    /// Connections that may have something to send.
    ready: BTreeSet<u32>,
    timers: BTreeSet<(Instant, u32)>,
    due: BTreeMap<u32, Instant>,
    answers: VecDeque<OutgoingDatagram>,
    events: VecDeque<(ConnectionId, SapEvent)>,
    drops: DropCounts,
    /// The memory budget of this endpoint, and the one that it shares with others.
    budget: SapBudget,
    shared: Option<SapBudget>,
    /// The bytes charged for all connections.
    held: usize,
    /// Connections that were reset to free memory, and when. Each keeps its memory until the
    /// application learns of the end.
    leaving: VecDeque<(Instant, u32)>,
    /// The earliest time of the next search for connections that can be reset to free memory.
    search_at: Instant,
    /// Connections that have changed since a driver asked.
    changed: BTreeSet<u32>,
}

impl fmt::Debug for SapEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SapEndpoint");
        shown.field("connections", &self.connections.len());
        shown.field("half_open", &self.half_open.len()).finish_non_exhaustive()
    }
}

impl Drop for SapEndpoint {
    fn drop(&mut self) {
        self.budgets().for_each(|budget| budget.charge(self.held, 0));
        let all = self.connections.len();
        (0..all).for_each(|_| self.budgets().for_each(SapBudget::leave));
    }
}

impl SapEndpoint {
    /// Creates an endpoint without connections, whose randomness comes from `secret`.
    #[must_use]
    pub fn new(config: SapConfig, secret: Secret) -> Self {
        Self {
            config,
            secret,
            key: None,
            listening: false,
            connections: BTreeMap::new(),
            peers: BTreeMap::new(),
            by_address: BTreeSet::new(),
            half_open: BTreeMap::new(),
            half_open_ids: BTreeMap::new(),
            address_quota: AddressQuota::default(),
            path_mtus: PathMtus::default(),
            ready: BTreeSet::new(),
            timers: BTreeSet::new(),
            due: BTreeMap::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            drops: DropCounts::new(),
            budget: SapBudget::new(config.memory_total),
            shared: None,
            held: 0,
            leaving: VecDeque::new(),
            search_at: Instant::START,
            changed: BTreeSet::new(),
        }
    }

    /// Encrypts every connection from now on; peers need the same key.
    pub fn set_key(&mut self, key: SharedKey) {
        self.key = Some(key);
    }

    /// Shares a budget with other endpoints; call it before the first connection.
    pub fn share_budget(&mut self, budget: SapBudget) {
        self.shared = Some(budget);
    }

    /// Returns the memory of the connections and their messages, as it is charged, in bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    fn budgets(&self) -> impl Iterator<Item = &SapBudget> {
        core::iter::once(&self.budget).chain(&self.shared)
    }

    /// Returns the memory that a connection may take now.
    fn allowance(&self) -> Allowance {
        let own = self.budget.allowance();
        self.shared.as_ref().map_or(own, |shared| own.min(shared.allowance()))
    }

    /// Adds a connection.
    fn add(&mut self, now: Instant, id: u32, mut connection: Connection) {
        if let Some(known) = self.path_mtus.get(now, connection.peer().ip()) {
            connection.learn_too_long(now, known);
        }
        self.by_address.insert((connection.peer(), id));
        self.connections.insert(id, Box::new(connection));
        self.budgets().for_each(SapBudget::enter);
    }

    /// Replaces the charge of a connection; `after` is 0 when the connection is removed.
    fn charge(&mut self, before: usize, after: usize) {
        if before != after {
            self.held = self.held + after - before;
            self.budgets().for_each(|budget| budget.charge(before, after));
        }
    }

    /// Sets whether the endpoint accepts connections or refuses them.
    pub fn listen(&mut self, listening: bool) {
        self.listening = listening;
    }

    /// Returns whether the endpoint accepts connections.
    #[must_use]
    pub fn is_listening(&self) -> bool {
        self.listening
    }

    /// Begins to connect to `to`; [`SapEvent::Connected`] or [`SapEvent::Closed`] reports the
    /// outcome.
    pub fn connect(&mut self, now: Instant, to: SocketAddr) -> ConnectionId {
        let id = self.new_id();
        let key = self.key.map(|key| (key, self.secret.draw()));
        let skips = self.secret.draw();
        self.add(now, id, Connection::connect(now, self.config, id, to, key, skips));
        self.touch(id);
        ConnectionId(id)
    }

    /// Notes that the application has accepted a connection, whose peer may then open further ones.
    pub fn accept(&mut self, id: ConnectionId) {
        self.address_quota.accept(id.0);
    }

    /// Queues a message for transmission.
    ///
    /// # Errors
    /// If the connection has ended, the message is too long or invalid, or the buffer is full.
    pub fn send(&mut self, id: ConnectionId, message: &Message) -> Result<(), SapSendError> {
        let allowed = self.allowance();
        let connection = self.connections.get_mut(&id.0).ok_or(SapSendError::NotOpen)?;
        connection.limit(allowed);
        connection.send(message)?;
        self.touch(id.0);
        Ok(())
    }

    /// Returns the next message of a connection. Messages stay readable after it has ended, until
    /// [`close`](Self::close).
    pub fn receive(&mut self, now: Instant, id: ConnectionId) -> Option<Received> {
        let connection = self.connections.get_mut(&id.0)?;
        let received = connection.receive()?;
        let before = connection.charged();
        let after = connection.charge();
        self.charge(before, after);
        let allowed = self.allowance();
        let connection = self.connections.get_mut(&id.0)?;
        connection.limit(allowed);
        connection.announce_room(now);
        if connection.has_news(now) {
            self.ready.insert(id.0);
        }
        Some(received)
    }

    /// Requests `ranges` of the approximate message `number` of `stream` again.
    ///
    /// # Errors
    /// If the connection is not open.
    pub fn repair(
        &mut self,
        id: ConnectionId,
        stream: u16,
        number: u32,
        ranges: &[Range<usize>],
    ) -> Result<(), SapSendError> {
        let connection = self.connections.get_mut(&id.0).ok_or(SapSendError::NotOpen)?;
        connection.repair(stream, number, ranges)?;
        self.touch(id.0);
        Ok(())
    }

    /// Ends the sending direction: a FIN is sent once everything before it is acknowledged.
    pub fn finish(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.finish();
            self.touch(id.0);
        }
    }

    /// Closes a connection gracefully, within [`SapConfig::close_timeout`], and then frees its
    /// memory.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.close(now);
            self.touch(id.0);
        }
    }

    /// Resets a connection at once and reports `reason`.
    pub fn abort(&mut self, id: ConnectionId, reason: CloseReason) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.abort(reason);
            self.touch(id.0);
        }
    }

    /// Returns for how long the peer has left retransmissions unanswered; `None` while it responds.
    #[must_use]
    pub fn silence(&self, now: Instant, id: ConnectionId) -> Option<Duration> {
        self.connections.get(&id.0)?.silence(now)
    }

    /// Processes the payload of a datagram, or counts the reason of its drop.
    pub fn handle_datagram(&mut self, now: Instant, meta: &DatagramMeta, bytes: &Bytes) {
        if let Err(dropped) = self.take(now, meta, bytes) {
            *self.drops.entry(dropped).or_default() += 1;
        }
    }

    fn take(&mut self, now: Instant, meta: &DatagramMeta, bytes: &Bytes) -> Result<(), Dropped> {
        let from = meta.from;
        let packet = match SapPacket::parse(bytes) {
            Ok(packet) => packet,
            Err(WireError::Version { .. }) => {
                self.refuse_version(meta, bytes);
                return Err(Dropped::Version);
            }
            Err(_) => {
                self.note_damage(from);
                return Err(Dropped::Header);
            }
        };
        let intact = packet.intact && meta.covered_intact;
        if packet.header.kind == SapKind::Ping {
            return if intact {
                self.handle_ping(now, meta, &packet)
            } else {
                Err(Dropped::Damaged)
            };
        }
        let id = packet.header.connection;
        if intact {
            self.confirm(now, from, id, &packet)?;
        }
        let allowed = self.allowance();
        let connection = self.connections.get_mut(&id).ok_or(Dropped::NoConnection)?;
        let before = connection.peer();
        connection.limit(allowed);
        let result = connection.handle_packet(now, &packet, intact, meta);
        let has_moved = connection.peer() != before;
        self.touch(id);
        if has_moved {
            self.follow(id, before);
        }
        result
    }

    /// Performs the actions that are due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((at, id)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.timers.remove(&(at, id));
            self.due.remove(&id);
            if let Some(key) = self.half_open_ids.get(&id).copied() {
                if self.half_open.get(&key).is_some_and(|half| half.until <= now) {
                    self.forget(id);
                    self.address_quota.release(id);
                }
                continue;
            }
            if let Some(connection) = self.connections.get_mut(&id) {
                let before = connection.peer();
                connection.handle_timeout(now);
                // Its next timeout is read when it is drained.
                self.ready.insert(id);
                self.changed.insert(id);
                self.collect_events(id);
                self.follow(id, before);
            }
        }
    }

    /// Returns the next datagram to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        while let Some(id) = self.ready.first().copied() {
            let Some(connection) = self.connections.get_mut(&id) else {
                self.ready.remove(&id);
                continue;
            };
            if let Some(transmit) = connection.poll_transmit(now) {
                self.changed.insert(id);
                self.collect_events(id);
                return Some(transmit);
            }
            let due = connection.poll_timeout().map(|(at, _)| at);
            let gone = connection.is_gone();
            let peer = (connection.peer(), connection.peer_id());
            self.ready.remove(&id);
            self.collect_events(id);
            if gone {
                self.set_timer(id, None);
                self.changed.remove(&id);
                if let Some(removed) = self.connections.remove(&id) {
                    self.charge(removed.charged(), 0);
                    self.budgets().for_each(SapBudget::leave);
                }
                self.peers.remove(&peer);
                self.by_address.remove(&(peer.0, id));
                self.address_quota.release(id);
            } else {
                self.set_timer(id, due);
            }
        }
        None
    }

    /// Returns the next event and its connection; call until `None`.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, SapEvent)> {
        self.events.pop_front()
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), and its cause.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let (at, id) = *self.timers.first()?;
        let connection = self.connections.get(&id);
        let why = connection.and_then(|it| it.poll_timeout()).map_or("half open", |(_, why)| why);
        Some((at, why))
    }

    /// Returns the connections that have changed since the last call: a caller that waits for one
    /// of them may find the awaited event.
    pub fn take_changed(&mut self) -> impl Iterator<Item = ConnectionId> + use<> {
        core::mem::take(&mut self.changed).into_iter().map(ConnectionId)
    }

    /// Returns the time of [`poll_timeout`](Self::poll_timeout) without its cause.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Returns whether there may be datagrams or events since the endpoint was drained.
    #[must_use]
    pub fn has_work(&self) -> bool {
        !(self.ready.is_empty() && self.answers.is_empty() && self.events.is_empty())
    }

    /// Notes the new address of a peer that was at `before`.
    fn follow(&mut self, id: u32, before: SocketAddr) {
        let Some(connection) = self.connections.get(&id).filter(|it| it.peer() != before) else {
            return;
        };
        let peer = connection.peer();
        let peer_id = connection.peer_id();
        if self.peers.remove(&(before, peer_id)).is_some() {
            self.peers.insert((peer, peer_id), id);
        }
        self.by_address.remove(&(before, id));
        self.by_address.insert((peer, id));
        self.address_quota.follow(id, peer);
    }

    /// Marks a connection as changed.
    fn touch(&mut self, id: u32) {
        self.ready.insert(id);
        self.changed.insert(id);
        self.collect_events(id);
    }

    fn collect_events(&mut self, id: u32) {
        if let Some(connection) = self.connections.get_mut(&id) {
            while let Some(event) = connection.poll_event() {
                self.events.push_back((ConnectionId(id), event));
            }
            if let Some(found) = connection.take_too_long() {
                self.path_mtus.insert(connection.peer().ip(), found);
            }
            let incomplete = connection.take_incomplete();
            let before = connection.charged();
            let after = connection.charge();
            if incomplete > 0 {
                *self.drops.entry(Dropped::Incomplete).or_default() += incomplete;
            }
            self.charge(before, after);
        }
    }

    fn set_timer(&mut self, id: u32, at: Option<Instant>) {
        if self.due.get(&id) == at.as_ref() {
            return;
        }
        if let Some(before) = self.due.remove(&id) {
            self.timers.remove(&(before, id));
        }
        if let Some(at) = at {
            self.timers.insert((at, id));
            self.due.insert(id, at);
        }
    }

    fn new_id(&mut self) -> u32 {
        loop {
            let id = u32::from_be_bytes(self.secret.draw());
            let taken = self.connections.contains_key(&id) || self.half_open_ids.contains_key(&id);
            if id != 0 && !taken {
                return id;
            }
        }
    }

    /// Returns the address of a connection's peer.
    #[must_use]
    pub fn peer(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.connections.get(&id.0).map(|it| it.peer())
    }

    /// Returns whether a connection is open.
    #[must_use]
    pub fn is_open(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_some_and(|it| it.is_open())
    }

    /// Returns whether a message of a connection can be read.
    #[must_use]
    pub fn is_readable(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_some_and(|it| it.is_readable())
    }

    /// Returns whether the send buffer of a connection has room for another message.
    #[must_use]
    pub fn is_writable(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_some_and(|it| it.is_writable())
    }

    /// Returns whether all precise messages are acknowledged, and all others are sent.
    #[must_use]
    pub fn is_flushed(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_none_or(|it| it.is_flushed())
    }

    /// Returns the bytes of approximate messages that were ever queued on a connection, with their
    /// headers, and how many of them were sent, or dropped for newer ones.
    #[must_use]
    pub fn approximate_progress(&self, id: ConnectionId) -> (u64, u64) {
        self.connections.get(&id.0).map_or((0, 0), |it| it.approximate_progress())
    }

    /// Returns the time within which the peer usually reports an approximate message; `None` if it
    /// sends no reports, as in the paper profile.
    #[must_use]
    pub fn report_within(&self, id: ConnectionId) -> Option<Duration> {
        self.connections.get(&id.0)?.report_within()
    }

    /// Returns whether the peer has acknowledged the FIN of this end.
    #[must_use]
    pub fn is_finished(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_none_or(|it| it.is_finished())
    }

    /// Counts the messages that the peer may not have received. After the connection has ended, the
    /// count is that at its end.
    #[must_use]
    pub fn undelivered(&self, id: ConnectionId) -> Undelivered {
        self.connections.get(&id.0).map_or_else(Undelivered::default, |it| it.undelivered())
    }

    /// Returns the time at which to stop waiting for the acknowledgement of the FIN. Progress
    /// postpones it: a new acknowledgement, or data sent for the first time.
    #[must_use]
    pub fn gives_up_at(&self, id: ConnectionId) -> Option<Instant> {
        self.connections.get(&id.0).map(|it| it.gives_up_at())
    }

    /// Sets whether approximate messages of a connection are sent and delivered newest first. If
    /// so, a full buffer drops the oldest ones instead of rejecting new ones. By default they keep
    /// the order of sending.
    pub fn set_newest_first(&mut self, id: ConnectionId, newest_first: bool) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_newest_first(newest_first);
        }
    }

    /// Sets how long lost approximate messages of a connection are retransmitted, counted from
    /// their first transmission; zero, the default, means never. The setting applies to messages
    /// sent afterwards, and not if the newest are sent first. Each lost message has three
    /// transmissions even if they take longer.
    pub fn set_lateness(&mut self, id: ConnectionId, lateness: Duration) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_lateness(lateness);
        }
    }

    /// Retransmits lost approximate messages of a connection beyond their lateness
    /// ([`set_lateness`](Self::set_lateness)). This ends after `patience` without progress, or if
    /// anything arrives damaged. On a path without damage, losses come from full queues: the
    /// transfer is slow, but can be completed. Progress is the first transmission or the
    /// acknowledgement of a message. Each message is given up after six times `patience` in any
    /// case. Zero by default.
    ///
    /// At the receiving end it is the time without any message after which an approximate one is
    /// delivered although parts of it are missing, while nothing has arrived damaged.
    pub fn set_patience_with_queues(&mut self, id: ConnectionId, patience: Duration) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_patience_with_queues(patience);
        }
    }

    /// Sets how many bytes of sent approximate messages a connection keeps for repair, instead of
    /// [`SapConfig::repair_memory`]; 0: none. A message that is kept keeps the whole buffer that
    /// its bytes are a part of.
    pub fn set_repair_memory(&mut self, id: ConnectionId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_repair_memory(bytes);
        }
    }

    /// Returns whether all retransmittable approximate messages of a stream have arrived; `None`
    /// while some are outstanding. An answer resets the count.
    pub fn take_fate(&mut self, id: ConnectionId, stream: u16) -> Option<bool> {
        self.connections.get_mut(&id.0)?.take_fate(stream)
    }

    /// Returns the numbers of approximate messages of a connection that were dropped for newer ones
    /// ([`set_newest_first`](Self::set_newest_first)): before they were sent, and before they were
    /// read.
    #[must_use]
    pub fn displaced(&self, id: ConnectionId) -> (u64, u64) {
        self.connections.get(&id.0).map_or((0, 0), |it| it.displaced())
    }

    /// Sets how long the close of a connection waits without progress, instead of
    /// [`SapConfig::close_timeout`].
    pub fn set_linger(&mut self, id: ConnectionId, linger: Duration) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_linger(linger);
        }
    }

    /// Returns how long the close of a connection waits without progress.
    #[must_use]
    pub fn linger(&self, id: ConnectionId) -> Duration {
        self.connections.get(&id.0).map_or(self.config.close_timeout, |it| it.close_patience())
    }

    /// Returns the longest message that a connection accepts, in bytes. If the peer does not accept
    /// messages in parts, the path MTU limits it, and path MTU discovery may raise it. Messages
    /// with exact ranges may have a lower limit.
    #[must_use]
    pub fn max_message(&self, id: ConnectionId) -> usize {
        self.connections.get(&id.0).map_or(0, |it| it.max_message())
    }

    /// Returns the longest message of a connection that fits into one datagram now, in bytes. Path
    /// MTU discovery may raise it. Messages with exact ranges may have a lower limit.
    #[must_use]
    pub fn max_whole(&self, id: ConnectionId) -> usize {
        self.connections.get(&id.0).map_or(0, |it| it.max_whole())
    }

    /// Returns the time from which on the path MTU of a connection is unlikely to grow: an answer
    /// to the last probe would have arrived. `None` before the probe was sent.
    #[must_use]
    pub fn path_settles_at(&self, id: ConnectionId) -> Option<Instant> {
        let connection = self.connections.get(&id.0);
        connection.map_or(Some(Instant::START), |it| it.path_settles_at())
    }

    /// Returns the smoothed round-trip time of a connection, once it was measured.
    #[must_use]
    pub fn round_trip(&self, id: ConnectionId) -> Option<Duration> {
        self.connections.get(&id.0)?.round_trip()
    }

    /// Returns the number of connections, half-open ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len() + self.half_open.len()
    }

    /// Returns whether there is no connection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of dropped datagrams by reason.
    #[must_use]
    pub fn drops(&self) -> &DropCounts {
        &self.drops
    }
}

#[cfg(test)]
mod tests;
