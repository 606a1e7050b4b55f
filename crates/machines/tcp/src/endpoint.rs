//! All connections of a host: listeners, demultiplexing, and the order of transmission.
//!
//! - Feed it with [`handle_segment`](TcpEndpoint::handle_segment) and
//!   [`handle_timeout`](TcpEndpoint::handle_timeout), and with the application's verbs.
//! - After every change drain [`poll_transmit`](TcpEndpoint::poll_transmit) and
//!   [`poll_event`](TcpEndpoint::poll_event) until `None`, then ask
//!   [`poll_timeout`](TcpEndpoint::poll_timeout).
//!
//! Each call costs the connection it is about, not those that are idle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use core::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use windfall_base::seq::Seq32;
use windfall_base::{Instant, Seed, Stream};

use crate::config::TcpConfig;
use crate::connection::{Connection, Cork, SocketPair, TcpState};
use crate::event::{TcpEvent, UseError};
use crate::lookup::{ConnectionKey, ConnectionTable, Lookup};
use crate::operations::Operations;
use crate::segment::TcpTransmit;
use crate::siphash::SipKey;

mod account;
mod arrive;
mod budget;
mod cookie;
mod fast_open;

/// The first of the ports that are given out.
const FIRST_EPHEMERAL: u16 = 49_152;
/// The number of ephemeral ports.
const EPHEMERAL: u16 = u16::MAX - FIRST_EPHEMERAL + 1;

/// The name of a connection of an endpoint; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle {
    slot: u32,
    generation: u32,
}

/// The configuration of a listening port.
#[derive(Clone, Debug)]
pub struct Listener {
    /// The configuration of its connections.
    pub config: Arc<TcpConfig>,
    /// That of connections over IPv6, whose longer headers leave less for a segment; `config` if
    /// `None`.
    pub ipv6: Option<Arc<TcpConfig>>,
    /// Connections that may be half open at once.
    pub backlog: usize,
    /// The treatment of SYNs beyond the backlog.
    pub overflow: Overflow,
}

impl Listener {
    /// Creates a listener for 128 half-open connections, beyond which it sends cookies.
    #[must_use]
    pub fn new(config: Arc<TcpConfig>) -> Self {
        Self { config, ipv6: None, backlog: 128, overflow: Overflow::Cookies }
    }

    /// Returns the configuration of a connection to `remote`.
    fn config_for(&self, remote: IpAddr) -> Arc<TcpConfig> {
        let ipv6 = self.ipv6.as_ref().filter(|_| remote.is_ipv6());
        Arc::clone(ipv6.unwrap_or(&self.config))
    }
}

/// The treatment of a SYN when too many connections are half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// It is dropped.
    Drop,
    /// It is answered without memory; such a connection has no options but the segment size.
    Cookies,
}

/// Why a connection cannot be opened or a port not be listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// One address is IPv4, the other IPv6.
    #[error("{local} and {remote} are not of one family")]
    Family {
        /// The local address and port.
        local: SocketAddr,
        /// The address and port of the peer.
        remote: SocketAddr,
    },
    /// The pair of addresses and ports, or the listening port, is in use.
    #[error("{0} is in use: choose another port")]
    InUse(SocketAddr),
    /// No port is left to give out.
    #[error("every port of {0} towards this destination is in use")]
    NoPort(IpAddr),
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
    /// Stands in `ready`; stands in `has_events_queue`.
    is_ready: bool,
    has_events: bool,
    /// Its one place among the wake-ups.
    armed: Option<Instant>,
    /// The listener whose backlog it counts against.
    half_open: Option<SocketAddr>,
    /// The part of the endpoint's memory that its buffers hold.
    holding: budget::Holding,
}

/// A host's connections and listeners.
#[derive(Debug)]
pub struct TcpEndpoint {
    table: ConnectionTable,
    slots: Vec<Slot>,
    free: Vec<u32>,
    listeners: BTreeMap<SocketAddr, (Listener, usize)>,
    ready: VecDeque<u32>,
    has_events_queue: VecDeque<u32>,
    /// One for each connection with a timer, not later than the timer.
    wakeups: BTreeSet<(Instant, u32)>,
    /// Answers that belong to no connection.
    replies: VecDeque<TcpTransmit>,
    secret: SipKey,
    next_port: u16,
    cookies: u64,
    fast_opens: fast_open::FastOpens,
    /// Steps taken for connections that are gone, and for segments that belonged to none.
    past: Operations,
    budget: budget::Budget,
}

impl TcpEndpoint {
    /// Creates an endpoint; `seed` and `name` decide its initial sequence numbers, ports and
    /// cookies.
    #[must_use]
    pub fn new(seed: Seed, name: &str, lookup: Lookup) -> Self {
        let mut stream = Stream::new(seed, name);
        let secret = SipKey([stream.bits(), stream.bits()]);
        Self {
            table: ConnectionTable::new(lookup, [stream.bits(), stream.bits()]),
            slots: Vec::new(),
            free: Vec::new(),
            listeners: BTreeMap::new(),
            ready: VecDeque::new(),
            has_events_queue: VecDeque::new(),
            wakeups: BTreeSet::new(),
            replies: VecDeque::new(),
            secret,
            next_port: stream.below(u64::from(EPHEMERAL)) as u16,
            cookies: 0,
            fast_opens: fast_open::FastOpens::default(),
            past: Operations::default(),
            budget: budget::Budget::new(TcpConfig::default().memory),
        }
    }

    /// Listens on `local`; an unspecified address matches every address of its family.
    ///
    /// # Errors
    /// Another listener has this address already.
    pub fn listen(&mut self, local: SocketAddr, listener: Listener) -> Result<(), OpenError> {
        if self.listeners.contains_key(&local) {
            return Err(OpenError::InUse(local));
        }
        self.listeners.insert(local, (listener, 0));
        Ok(())
    }

    /// Stops listening; connections that are open stay.
    pub fn unlisten(&mut self, local: SocketAddr) {
        self.listeners.remove(&local);
    }

    /// Opens a connection from `local` to `remote`; port 0 of `local` asks for a free one.
    ///
    /// # Errors
    /// The addresses differ in family, or the ports are in use.
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        config: Arc<TcpConfig>,
    ) -> Result<ConnectionHandle, OpenError> {
        let local = if local.port() == 0 { self.free_port(local, remote)? } else { local };
        let path = SocketPair::new(local, remote).ok_or(OpenError::Family { local, remote })?;
        if self.table.peek(&key(&path)).is_some() {
            return Err(OpenError::InUse(local));
        }
        let origin = self.origin(now, &path);
        let fast_open = self.fast_opens.towards(&config, now, &path);
        let connection = Connection::connect(config, path, origin, now).with_fast_open(fast_open);
        Ok(self.add(connection))
    }

    /// Returns a port that is free towards `remote` (RFC 6056, algorithm 3 without its table).
    fn free_port(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<SocketAddr, OpenError> {
        for _ in 0..EPHEMERAL {
            let port = FIRST_EPHEMERAL + self.next_port % EPHEMERAL;
            self.next_port = self.next_port.wrapping_add(1) % EPHEMERAL;
            let candidate = SocketAddr::new(local.ip(), port);
            let path = SocketPair::new(candidate, remote)
                .ok_or(OpenError::Family { local: candidate, remote })?;
            if self.table.peek(&key(&path)).is_none() && !self.listeners.contains_key(&candidate) {
                return Ok(candidate);
            }
        }
        Err(OpenError::NoPort(local.ip()))
    }

    /// Returns the initial sequence number (RFC 6528): a clock of 4 µs and a hash of the ends.
    fn origin(&self, now: Instant, path: &SocketPair) -> Seq32 {
        let clock = (now.as_nanos() / 4_000) as u32;
        Seq32(clock.wrapping_add(self.secret.hash(&words(path)) as u32))
    }

    fn add(&mut self, connection: Connection) -> ConnectionHandle {
        let key = key(connection.path());
        let connection = Some(Box::new(connection));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].connection = connection;
                slot
            }
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    connection,
                    is_ready: false,
                    has_events: false,
                    armed: None,
                    half_open: None,
                    holding: budget::Holding::default(),
                });
                self.slots.len() as u32 - 1
            }
        };
        self.table.insert(key, slot);
        self.touch(slot);
        ConnectionHandle { slot, generation: self.slots[slot as usize].generation }
    }

    /// Lets a connection send, report and wake up after a change to it.
    fn touch(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        entry.settle(&mut self.budget);
        let Some(connection) = &entry.connection else {
            return;
        };
        if !entry.is_ready {
            entry.is_ready = true;
            self.ready.push_back(slot);
        }
        if !entry.has_events && connection.has_event() {
            entry.has_events = true;
            self.has_events_queue.push_back(slot);
        }
        if let Some(local) = entry.half_open
            && connection.state() != TcpState::SynReceived
        {
            entry.half_open = None;
            if let Some((_, half_open)) = self.listeners.get_mut(&local) {
                *half_open = half_open.saturating_sub(1);
            }
        }
    }

    /// Makes sure that the connection is woken in time. An early wake-up costs less than moving it
    /// with every segment.
    fn arm(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let next = entry.connection.as_ref().and_then(|connection| connection.poll_timeout());
        if let Some((at, _)) = next
            && entry.armed.is_none_or(|armed| at < armed)
        {
            if let Some(later) = entry.armed.replace(at) {
                self.wakeups.remove(&(later, slot));
            }
            self.wakeups.insert((at, slot));
        }
    }

    /// Fires every timer due at `now`; a spurious call changes nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.budget.note_time(now);
        while let Some(&(at, slot)) = self.wakeups.first() {
            if at > now {
                break;
            }
            self.wakeups.pop_first();
            let entry = &mut self.slots[slot as usize];
            entry.armed = None;
            if let Some(connection) = &mut entry.connection {
                let opening = connection.opens_fast();
                connection.handle_timeout(now);
                let forgets = !connection.config().manner.keeps_fast_open;
                if opening && forgets && connection.state() == TcpState::Closed {
                    self.fast_opens.refuse(now, connection.path());
                }
                self.touch(slot);
                self.arm(slot);
            }
        }
    }

    /// Returns whether [`poll_transmit`](Self::poll_transmit) was not called until `None` after the
    /// last change.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !(self.ready.is_empty() && self.replies.is_empty())
    }

    /// Yields the next segment to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<TcpTransmit> {
        self.budget.note_time(now);
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        while let Some(&slot) = self.ready.front() {
            let entry = &mut self.slots[slot as usize];
            let transmit = entry.connection.as_mut().and_then(|c| c.poll_transmit(now));
            if transmit.is_some() {
                return transmit;
            }
            entry.is_ready = false;
            self.ready.pop_front();
            self.arm(slot);
            self.collect(slot);
        }
        None
    }

    /// Removes a connection that is over and was released.
    fn collect(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let Some(connection) = &entry.connection else {
            return;
        };
        if !connection.is_done() || (connection.has_event() && entry.has_events) {
            return;
        }
        self.drop_connection(slot);
    }

    /// Removes a connection without sending anything.
    fn drop_connection(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        if let Some(connection) = entry.connection.take() {
            entry.settle(&mut self.budget);
            entry.generation = entry.generation.wrapping_add(1);
            self.past += *connection.operations();
            self.table.remove(&key(connection.path()));
            self.free.push(slot);
        }
    }

    /// Says when to call `handle_timeout` next, and why.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let (at, slot) = *self.wakeups.first()?;
        let connection = self.slots[slot as usize].connection.as_ref();
        let next = connection.and_then(|connection| connection.poll_timeout());
        Some((at, next.map_or("tcp", |(_, reason)| reason)))
    }

    /// Yields the next event and its connection; call until `None`.
    pub fn poll_event(&mut self) -> Option<(ConnectionHandle, TcpEvent)> {
        while let Some(&slot) = self.has_events_queue.front() {
            let entry = &mut self.slots[slot as usize];
            let generation = entry.generation;
            if let Some(event) = entry.connection.as_mut().and_then(|c| c.poll_event()) {
                return Some((ConnectionHandle { slot, generation }, event));
            }
            entry.has_events = false;
            self.has_events_queue.pop_front();
            self.collect(slot);
        }
        None
    }

    /// Returns the connection of this handle.
    #[must_use]
    pub fn connection(&self, id: ConnectionHandle) -> Option<&Connection> {
        let entry = self.slots.get(id.slot as usize)?;
        entry.connection.as_deref().filter(|_| entry.generation == id.generation)
    }

    /// Returns every connection, dying ones included.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter_map(|slot| slot.connection.as_deref())
    }

    fn with<T>(
        &mut self,
        id: ConnectionHandle,
        act: impl FnOnce(&mut Connection) -> T,
    ) -> Result<T, UseError> {
        let entry = self.slots.get_mut(id.slot as usize).ok_or(UseError::Unknown)?;
        let generation = entry.generation;
        let connection = entry.connection.as_deref_mut().filter(|_| generation == id.generation);
        let result = act(connection.ok_or(UseError::Unknown)?);
        self.touch(id.slot);
        Ok(result)
    }

    /// Appends a copy of `data` to the stream; returns how much there was room for.
    ///
    /// # Errors
    /// The connection is unknown, over, or finished on this side.
    pub fn write(&mut self, id: ConnectionHandle, data: &[u8]) -> Result<usize, UseError> {
        let room = self.make_room(id.slot, data.len());
        self.with(id, |connection| {
            connection.note_shortage(room < data.len());
            connection.write(&data[..room])
        })?
    }

    /// As [`write`](Self::write), sharing the bytes.
    ///
    /// # Errors
    /// The connection is unknown, over, or finished on this side.
    pub fn write_bytes(
        &mut self,
        id: ConnectionHandle,
        mut data: Bytes,
    ) -> Result<usize, UseError> {
        let room = self.make_room(id.slot, data.len());
        let is_short = room < data.len();
        data.truncate(room);
        self.with(id, |connection| {
            connection.note_shortage(is_short);
            connection.write_bytes(data)
        })?
    }

    /// Takes the next bytes that arrived, `most` at most; `None` if there are none.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn read(&mut self, id: ConnectionHandle, most: usize) -> Result<Option<Bytes>, UseError> {
        let is_tight = self.budget.is_tight();
        self.with(id, |connection| {
            connection.note_pressure(is_tight);
            connection.read(most)
        })
    }

    /// Closes the sending direction with FIN; receiving continues.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn shutdown(&mut self, id: ConnectionHandle) -> Result<(), UseError> {
        self.with(id, Connection::shutdown)
    }

    /// Releases a connection: written data are still sent, but its handle is no longer valid.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn close(&mut self, now: Instant, id: ConnectionHandle) -> Result<(), UseError> {
        self.with(id, |connection| connection.close(now))?;
        self.arm(id.slot);
        Ok(())
    }

    /// Ends a connection at once, with a reset.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn abort(&mut self, id: ConnectionHandle) -> Result<(), UseError> {
        self.with(id, Connection::abort)
    }

    /// Opens a connection that waits for data for its SYN (RFC 7413) without them.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn open_without_data(&mut self, id: ConnectionHandle) -> Result<(), UseError> {
        self.with(id, Connection::open_without_data)
    }

    /// Ends a record: no segment crosses the end of the data written so far.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn end_record(&mut self, id: ConnectionHandle) -> Result<(), UseError> {
        self.with(id, Connection::end_record)
    }

    /// Holds short segments back until more is written, or sends them.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn cork(&mut self, id: ConnectionHandle, cork: Cork) -> Result<(), UseError> {
        self.with(id, |connection| connection.cork(cork))
    }

    /// Handles an ICMP report that the peer is unreachable for the connection; `seq` is the
    /// sequence number that it quotes. An attempt to connect is refused, an open connection
    /// continues (RFC 5461).
    pub fn handle_refusal(&mut self, id: ConnectionHandle, seq: Seq32) {
        // A connection that is unknown has nothing to end.
        let _ = self.with(id, |connection| connection.take_refusal(seq));
    }

    /// Handles an ICMP report that a packet of the connection was too big and that the path MTU is
    /// `mtu` bytes; `seq` is the sequence number that it quotes. `false` if that was not in flight.
    ///
    /// # Errors
    /// The connection is unknown.
    pub fn handle_too_big(
        &mut self,
        id: ConnectionHandle,
        seq: Seq32,
        mtu: u16,
    ) -> Result<bool, UseError> {
        let now = self.budget.now();
        self.with(id, |connection| connection.take_too_big(now, seq, mtu))
    }

    /// Handles an ICMP report that a segment of the connection did not arrive; `seq` is the
    /// sequence number that it quotes. It may be a soft error (RFC 5461), but while a SYN for Fast
    /// Open waits for its answer, it counts as a refusal (RFC 7413, section 4.1.3.1).
    pub fn handle_unreachable(&mut self, now: Instant, id: ConnectionHandle, seq: Seq32) {
        if let Some(connection) = self.connection(id)
            && connection.opens_fast()
            && connection.has_in_flight(seq)
        {
            let path = *connection.path();
            self.fast_opens.refuse(now, &path);
        }
    }

    /// Returns the connection between these ends; does not count as a lookup.
    #[must_use]
    pub fn find(&self, local: SocketAddr, remote: SocketAddr) -> Option<ConnectionHandle> {
        let path = SocketPair::new(local, remote)?;
        let slot = self.table.peek(&key(&path))?;
        Some(ConnectionHandle { slot, generation: self.slots[slot as usize].generation })
    }
}

/// Returns the key of a connection on `path`.
fn key(path: &SocketPair) -> ConnectionKey {
    ConnectionKey {
        local: path.local.ip(),
        remote: path.remote.ip(),
        local_port: path.local.port(),
        remote_port: path.remote.port(),
    }
}

/// Returns the two ends as words to hash.
fn words(path: &SocketPair) -> [u64; 5] {
    let split = |address: IpAddr| match address {
        IpAddr::V4(v4) => [4, u64::from(v4.to_bits())],
        IpAddr::V6(v6) => [(v6.to_bits() >> 64) as u64, v6.to_bits() as u64],
    };
    let [a, b] = split(path.local.ip());
    let [c, d] = split(path.remote.ip());
    let ports = u64::from(path.local.port()) << 16 | u64::from(path.remote.port());
    [a, b, c, d, ports]
}
