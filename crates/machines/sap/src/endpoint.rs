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

use address_quota::AddressQuota;

/// The id of a connection, as its datagrams carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// The silence after which an unauthenticated report of a closed port is believed.
const REFUSED: Duration = Duration::from_secs(2);

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
    /// Each on its own: a place in the tree that nothing takes is as large as what may take it.
    connections: BTreeMap<u32, Box<Connection>>,
    /// Connections by the peer's address and connection id.
    peers: BTreeMap<(SocketAddr, u32), u32>,
    half_open: BTreeMap<(SocketAddr, u32), HalfOpen>,
    half_open_ids: BTreeMap<u32, (SocketAddr, u32)>,
    /// The places that the connections of each address take.
    address_quota: AddressQuota,
    /// Connections that may have something to send.
    ready: BTreeSet<u32>,
    timers: BTreeSet<(Instant, u32)>,
    due: BTreeMap<u32, Instant>,
    answers: VecDeque<OutgoingDatagram>,
    events: VecDeque<(ConnectionId, SapEvent)>,
    drops: DropCounts,
    /// The memory of all connections, and that of all endpoints that share it.
    budget: SapBudget,
    shared: Option<SapBudget>,
    /// The bytes that the connections are charged.
    held: usize,
    /// Connections that gave way for their memory, and when: they have it until the application
    /// learns of it.
    leaving: VecDeque<(Instant, u32)>,
    /// The time from which on others that may give way for their memory are searched again.
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
            half_open: BTreeMap::new(),
            half_open_ids: BTreeMap::new(),
            address_quota: AddressQuota::default(),
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
    fn add(&mut self, id: u32, connection: Connection) {
        self.connections.insert(id, Box::new(connection));
        self.budgets().for_each(SapBudget::enter);
    }

    /// Charges a connection its present memory; nothing after it has ended.
    fn charge(&mut self, before: usize, after: usize) {
        if before != after {
            self.held = self.held + after - before;
            self.budgets().for_each(|budget| budget.charge(before, after));
        }
    }

    /// Accepts connections from now on, or refuses them.
    pub fn listen(&mut self, listening: bool) {
        self.listening = listening;
    }

    /// Returns whether it accepts connections.
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
        self.add(id, Connection::connect(now, self.config, id, to, key, skips));
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
        let (before, after) = (connection.charged(), connection.charge());
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

    /// Announces the end of this direction once everything before it is acknowledged.
    pub fn finish(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.finish();
            self.touch(id.0);
        }
    }

    /// Closes a connection in order, within [`SapConfig::close_timeout`], and then frees its
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

    /// Ends the connection attempts to `address`, which the operating system reports as
    /// unreachable.
    pub fn handle_unreachable(&mut self, address: SocketAddr) {
        let ids: Vec<u32> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.peer() == address && !connection.is_open())
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().for_each(|id| self.abort(ConnectionId(id), CloseReason::Unreachable));
    }

    /// Takes an error of the operating system: a datagram of `size` bytes to `address` exceeds the
    /// MTU of the interface. The search for the path MTU skips such sizes.
    pub fn handle_too_long(&mut self, address: SocketAddr, size: usize) {
        let to = self.connections.iter_mut().filter(|(_, it)| it.peer() == address);
        let changed = to.filter_map(|(id, it)| it.refuse_size(size).then_some(*id));
        let changed: Vec<u32> = changed.collect();
        changed.into_iter().for_each(|id| self.touch(id));
    }

    /// Takes the word of the operating system that no program receives at `address`: ends
    /// connection attempts to it, and connections whose peer has been silent for long.
    pub fn handle_refused(&mut self, now: Instant, address: SocketAddr) {
        let gone = |it: &Connection| {
            let silent = it.silence(now).is_some_and(|span| span >= REFUSED);
            it.peer() == address && (silent || !it.is_open())
        };
        let gone = self.connections.iter().filter(|(_, connection)| gone(connection));
        let ids: Vec<u32> = gone.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.abort(ConnectionId(id), CloseReason::PortClosed));
    }

    /// Returns for how long the peer has been silent although data wait for its answer; `None`
    /// while it answers.
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

    /// Notes that a datagram with a damaged header came from `from`.
    fn note_damage(&mut self, from: SocketAddr) {
        let accepted = self.peers.range((from, 0)..=(from, u32::MAX)).next().map(|(_, id)| *id);
        // An endpoint that has connected has this one only.
        let begun = self.connections.keys().next().copied();
        for id in [accepted, begun].into_iter().flatten() {
            let connection = self.connections.get_mut(&id).filter(|it| it.peer() == from);
            connection.into_iter().for_each(|it| it.note_damage());
        }
    }

    /// Notes the new address of a peer that was at `before`.
    fn follow(&mut self, id: u32, before: SocketAddr) {
        let Some(connection) = self.connections.get(&id).filter(|it| it.peer() != before) else {
            return;
        };
        let (peer, peer_id) = (connection.peer(), connection.peer_id());
        if self.peers.remove(&(before, peer_id)).is_some() {
            self.peers.insert((peer, peer_id), id);
        }
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
            let incomplete = connection.take_incomplete();
            let (before, after) = (connection.charged(), connection.charge());
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

    /// Returns whether a connection has room for a message of the usual size.
    #[must_use]
    pub fn is_writable(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_some_and(|it| it.is_writable())
    }

    /// Returns whether everything precise is acknowledged, and everything else sent.
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

    /// Returns the time within which the peer's report of an approximate message usually comes;
    /// `None` if it sends none, as in the paper profile.
    #[must_use]
    pub fn report_within(&self, id: ConnectionId) -> Option<Duration> {
        self.connections.get(&id.0)?.report_within()
    }

    /// Returns whether the peer has acknowledged the end of this direction.
    #[must_use]
    pub fn is_finished(&self, id: ConnectionId) -> bool {
        self.connections.get(&id.0).is_none_or(|it| it.is_finished())
    }

    /// Returns the messages that the peer may not have; of a connection that has ended, those at
    /// its end.
    #[must_use]
    pub fn undelivered(&self, id: ConnectionId) -> Undelivered {
        self.connections.get(&id.0).map_or_else(Undelivered::default, |it| it.undelivered())
    }

    /// Returns the time at which to stop waiting for the end of this direction, unless there is
    /// progress before: an acknowledgement of something new, or data sent for the first time.
    #[must_use]
    pub fn gives_up_at(&self, id: ConnectionId) -> Option<Instant> {
        self.connections.get(&id.0).map(|it| it.gives_up_at())
    }

    /// Sends and delivers the approximate messages of a connection newest first, and drops the
    /// oldest of them instead of reporting a full buffer; or keeps the order of sending, as by
    /// default.
    pub fn set_newest_first(&mut self, id: ConnectionId, newest_first: bool) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_newest_first(newest_first);
        }
    }

    /// Sets how long approximate messages of a connection that were lost are sent again, from their
    /// first transmission on; zero, the default, if they are sent once. It is for messages that are
    /// sent afterwards, unless the newest goes first, and each is sent three times at most if that
    /// takes longer.
    pub fn set_lateness(&mut self, id: ConnectionId, lateness: Duration) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_lateness(lateness);
        }
    }

    /// Sends approximate messages of a connection that were lost again beyond their lateness
    /// ([`set_lateness`](Self::set_lateness)), unless there is no progress for this time or
    /// anything has arrived damaged. A full queue has dropped what is lost otherwise, which makes
    /// a transfer slow and damages nothing. Progress is a message that is sent for the first time
    /// or acknowledged; whatever there is of it, each is given up after six times this time. Zero
    /// by default.
    pub fn set_patience_with_queues(&mut self, id: ConnectionId, patience: Duration) {
        if let Some(connection) = self.connections.get_mut(&id.0) {
            connection.set_patience_with_queues(patience);
        }
    }

    /// Returns whether all approximate messages of a stream arrived, of those that are sent again
    /// if they were lost; `None` while that is open. The account begins anew with the answer.
    pub fn take_fate(&mut self, id: ConnectionId, stream: u16) -> Option<bool> {
        self.connections.get_mut(&id.0)?.take_fate(stream)
    }

    /// Returns the number of approximate messages of a connection that gave way to newer ones
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

    /// Returns the longest message that a connection accepts, in bytes. If the peer does not take
    /// messages in parts, it is the longest for the path, unless it is in ranges, and path MTU
    /// discovery may raise it.
    #[must_use]
    pub fn max_message(&self, id: ConnectionId) -> usize {
        self.connections.get(&id.0).map_or(0, |it| it.max_message())
    }

    /// Returns the longest message of a connection that goes in one datagram now, in bytes, unless
    /// it is in ranges; path MTU discovery may raise it.
    #[must_use]
    pub fn max_whole(&self, id: ConnectionId) -> usize {
        self.connections.get(&id.0).map_or(0, |it| it.max_whole())
    }

    /// Returns the time from which on the size of a connection's path is as good as known: a longer
    /// datagram would have been answered. `None` before it was sent; there is none without a
    /// connection.
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
