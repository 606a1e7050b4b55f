//! Blocking SAP sockets.

mod inspection;

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_sap::{
    CloseReason, ConnectionId, Inspector, Message, MessageCheck, Mode, Received, SapConfig,
    SapSendError, SharedKey, Tolerance,
};

use crate::carrier::Carrier;
use crate::driver::{Handle, State, Status};
use crate::error::{SapError, UnfinishedReason};
use crate::pool::LONG;
use crate::udplite::UdpLiteSocket;
use inspection::Inspection;

/// The longest SAP datagram that every IPv6 path carries (RFC 8200, section 5): 1280 bytes less the
/// headers of IPv6, UDP and UDP-Lite.
const BASE_V6: usize = 1280 - 40 - 8 - 8;

/// Options of a new socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct SapOptions {
    /// The profile and its parameters.
    pub config: SapConfig,
    /// The carrier of the datagrams; both ends must use the same wire format. Unset: UDP, which
    /// needs neither a privilege nor an old kernel.
    pub carrier: Option<Carrier>,
    /// The pre-shared key of an encrypted connection.
    pub key: Option<SharedKey>,
}

impl SapOptions {
    /// Returns the options of the paper profile over UDP.
    #[must_use]
    pub fn paper() -> Self {
        Self { config: SapConfig::paper(), ..Self::default() }
    }

    fn bind(&self, local: SocketAddr) -> Result<UdpLiteSocket, SapError> {
        let carrier = self.carrier.unwrap_or(Carrier::Udp);
        UdpLiteSocket::bind(local, Some(carrier))
            .map_err(SapError::system(format!("cannot use {local} over carrier {carrier}")))
    }

    /// Starts an endpoint on `socket`, which accepts connections if it `listens`.
    fn start(&self, socket: UdpLiteSocket, listens: bool) -> Result<Handle, SapError> {
        let mut config = self.config;
        if socket.local_addr().is_ipv6() {
            config.base_datagram = config.base_datagram.min(BASE_V6);
        }
        // Datagrams already in the socket are processed as soon as the endpoint is driven.
        Handle::new(socket, config, |endpoint| {
            self.key.into_iter().for_each(|key| endpoint.set_key(key));
            endpoint.listen(listens);
        })
    }

    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// If none answers in time, or the operating system reports an error.
    pub fn connect(&self, to: impl ToSocketAddrs) -> Result<SapSocket, SapError> {
        let addresses = to.to_socket_addrs().map_err(SapError::Name)?;
        let mut last = SapError::Address("nothing".to_owned());
        for address in addresses {
            match self.connect_one(address) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect_one(&self, to: SocketAddr) -> Result<SapSocket, SapError> {
        if to.port() == 0 {
            return Err(SapError::Address(format!("{to} (port 0)")));
        }
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let any = any.parse().map_err(|_| SapError::Address(any.to_owned()))?;
        let socket = self.bind(any)?;
        // Without a route the socket stays unconnected, and sending reports the error.
        let _ = socket.connect(to);
        let core = self.start(socket, false)?;
        let id = {
            let mut state = core.lock();
            let id = state.endpoint.connect(core.clock.now(), to);
            state.connections.insert(id, Status::default());
            core.flush(&mut state);
            id
        };
        let socket = SapSocket::new(core, id, to);
        let outcome = socket.core.wait(None, |state, _| match state.connections.get(&id) {
            Some(status) if status.connected => Some(Ok(())),
            Some(Status { closed: Some(reason), .. }) => Some(Err(*reason)),
            Some(_) => None,
            None => Some(Err(CloseReason::Closed)),
        })?;
        outcome.map(|()| socket).map_err(SapError::from)
    }

    /// Listens on the first of the addresses.
    ///
    /// # Errors
    /// If the address is in use or not of this host.
    pub fn listen(&self, on: impl ToSocketAddrs) -> Result<SapListener, SapError> {
        let mut on = on.to_socket_addrs().map_err(SapError::Name)?;
        let on = on.next().ok_or_else(|| SapError::Address("nothing".to_owned()))?;
        self.listen_on(self.bind(on)?)
    }

    fn listen_on(&self, socket: UdpLiteSocket) -> Result<SapListener, SapError> {
        Ok(SapListener { core: self.start(socket, true)? })
    }
}

/// A listener that accepts connections.
pub struct SapListener {
    core: Handle,
}

impl SapListener {
    /// Listens with the standard profile.
    ///
    /// # Errors
    /// As [`SapOptions::listen`].
    pub fn bind(on: impl ToSocketAddrs) -> Result<Self, SapError> {
        SapOptions::default().listen(on)
    }

    /// Returns the local address with its port.
    ///
    /// # Errors
    /// It never fails.
    pub fn local_addr(&self) -> Result<SocketAddr, SapError> {
        Ok(self.core.socket.local_addr())
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// If the listener is closed, or the operating system reports an error.
    pub fn accept(&self) -> Result<(SapSocket, SocketAddr), SapError> {
        self.accept_until(None)
    }

    /// Accepts a connection without waiting, if there is one.
    pub fn try_accept(&self) -> Option<(SapSocket, SocketAddr)> {
        let mut state = self.core.lock();
        let accepted = state.accept();
        drop(state);
        accepted.map(|(id, from)| (SapSocket::new(self.core.clone(), id, from), from))
    }

    /// Returns a descriptor that is readable while a connection can be accepted; only for polling.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn readiness(&self) -> Result<OwnedFd, SapError> {
        let mut state = self.core.lock();
        let waits = !state.accepted.is_empty();
        state.acceptable.share(waits)
    }

    /// Waits for the next connection, at most for `span`.
    ///
    /// # Errors
    /// [`SapError::TimedOut`] if none came, or if the operating system reports an error.
    pub fn accept_timeout(&self, span: Duration) -> Result<(SapSocket, SocketAddr), SapError> {
        self.accept_until(Some(self.core.clock.now() + span))
    }

    fn accept_until(&self, deadline: Option<Instant>) -> Result<(SapSocket, SocketAddr), SapError> {
        let accepted = self.core.wait(deadline, |state, _| match state.accept() {
            None if state.endpoint.is_listening() => None,
            accepted => Some(accepted.ok_or(CloseReason::Closed)),
        })?;
        let (id, from) = accepted?;
        Ok((SapSocket::new(self.core.clone(), id, from), from))
    }

    /// Refuses connections from now on, closes those that were not accepted, and ends waiting calls
    /// of [`accept`](Self::accept). Accepted ones live on, and so does the port as long as they do.
    pub fn close(&self) {
        let mut state = self.core.lock();
        state.endpoint.listen(false);
        while let Some((id, _)) = state.accept() {
            state.endpoint.close(self.core.clock.now(), id);
            state.connections.remove(&id);
        }
        // Whoever polls the descriptor learns of the end.
        state.acceptable.raise();
        self.core.flush(&mut state);
        drop(state);
        self.core.notify();
    }
}

impl Drop for SapListener {
    fn drop(&mut self) {
        self.close();
    }
}

/// A connection whose messages are precise or approximate.
///
/// Threads may share it: one sends, another receives (S0.21).
///
/// A socket that is dropped does not wait: a thread in the background delivers what is precise, as
/// long as the program runs. What is left when the program ends is lost without an error, so call
/// [`close`](Self::close) first.
pub struct SapSocket {
    core: Handle,
    id: ConnectionId,
    peer: SocketAddr,
    mode: Mutex<Mode>,
    tolerance: Mutex<Option<Tolerance>>,
    timeout: Mutex<Option<Duration>>,
    inspection: Box<Inspection>,
}

/// The result of a look at the connection.
enum Next<'a> {
    /// The call returns this.
    Outcome(Result<Option<Received>, SapError>),
    /// A message to be inspected first, or a new check or tolerance to be used.
    Inspect(MutexGuard<'a, Inspector>, Option<Received>),
}

impl SapSocket {
    fn new(core: Handle, id: ConnectionId, peer: SocketAddr) -> Self {
        Self {
            core,
            id,
            peer,
            mode: Mutex::default(),
            tolerance: Mutex::default(),
            timeout: Mutex::default(),
            inspection: Box::default(),
        }
    }

    /// Connects with the standard profile.
    ///
    /// # Errors
    /// As [`SapOptions::connect`].
    pub fn connect(to: impl ToSocketAddrs) -> Result<Self, SapError> {
        SapOptions::default().connect(to)
    }

    /// Returns the peer's address, which changes if the peer moves.
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.core.lock().endpoint.peer(self.id).unwrap_or(self.peer)
    }

    /// Returns the local address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.core.socket.local_addr()
    }

    //= S0.17
    /// Returns the mode of the following messages; precise by default.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    //= S0.1
    //= S0.17
    /// Sets the mode of the following messages.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    //= S1.67
    /// Sets the damage that the application tolerates. The mode of each message is then that of
    /// [`Tolerance::mode`] instead of the socket's, and damage beyond the tolerance is repaired
    /// before the message is received.
    ///
    /// # Errors
    /// If the bit error rate is out of range.
    pub fn set_tolerance(&self, tolerance: Option<Tolerance>) -> Result<(), SapError> {
        let tolerance = tolerance.map(Tolerance::validated).transpose()?;
        *self.tolerance.lock().unwrap_or_else(PoisonError::into_inner) = tolerance;
        self.inspection.set_tolerance(tolerance);
        Ok(())
    }

    //= S0.26
    /// Sets the check that decides on each approximate message before it is received.
    ///
    /// A thread that receives calls it, and holds no lock of the connection meanwhile: it may send
    /// on this socket, but not receive from it, for that waits until the check has returned.
    pub fn set_check(&self, check: Option<MessageCheck>) {
        self.inspection.set_check(check);
    }

    /// Sets the longest time that a call waits; unset, the default, means without limit.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// Returns the reason for which the connection has ended; `None` while it has not.
    #[must_use]
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.core.lock().connections.get(&self.id).and_then(|status| status.closed)
    }

    /// Returns for how long the peer has been silent although data wait for its answer; `None`
    /// while it answers. [`SapConfig::silence_timeout`] ends the connection after such a time,
    /// otherwise it lives on for a minute.
    #[must_use]
    pub fn silence(&self) -> Option<Duration> {
        self.core.lock().endpoint.silence(self.core.clock.now(), self.id)
    }

    /// Sends and receives approximate messages newest first: [`send`](Self::send) never waits for
    /// room for one, but drops the oldest that wait, and [`recv`](Self::recv) returns the newest
    /// that has arrived.
    pub fn set_newest_first(&self, newest_first: bool) {
        self.core.lock().endpoint.set_newest_first(self.id, newest_first);
    }

    /// Sets how long a close waits without progress, that is while nothing precise is acknowledged
    /// or sent for the first time; 60 s by default ([`SapConfig::close_timeout`]).
    pub fn set_linger(&self, linger: Duration) {
        self.core.lock().endpoint.set_linger(self.id, linger);
    }

    fn deadline(&self) -> Option<Instant> {
        let timeout = *self.timeout.lock().unwrap_or_else(PoisonError::into_inner);
        timeout.map(|timeout| self.core.clock.now() + timeout)
    }

    /// Sends a message in the socket's mode; waits while the send buffer is full.
    ///
    /// # Errors
    /// If the message is too long for the path, or the connection has ended.
    pub fn send(&self, data: &[u8]) -> Result<(), SapError> {
        self.check_length(data.len())?;
        self.send_message(&self.message(data))
    }

    /// Rejects a message that is too long for a datagram and for parts, before it is copied.
    ///
    /// # Errors
    /// If a message of `len` bytes is longer than both permit.
    pub fn check_length(&self, len: usize) -> Result<(), SapError> {
        if len <= LONG {
            return Ok(());
        }
        let most = self.max_message();
        if len <= most { Ok(()) } else { Err(SapSendError::TooLong { len, most }.into()) }
    }

    /// Copies the bytes into a message in the mode of the socket or its tolerance.
    #[must_use]
    pub fn message(&self, data: &[u8]) -> Message {
        self.message_of(self.core.socket.pool().copy(data))
    }

    /// Creates a message as [`message`](Self::message) does, without a copy.
    #[must_use]
    pub fn message_of(&self, data: Bytes) -> Message {
        let tolerance = *self.tolerance.lock().unwrap_or_else(PoisonError::into_inner);
        let mode = tolerance.map_or_else(|| self.mode(), |tolerance| tolerance.mode(data.len()));
        Message::new(mode, data)
    }

    /// Sends a message in its own mode and stream; waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_message(&self, message: &Message) -> Result<(), SapError> {
        match self.try_send(message) {
            Err(SapError::Send(SapSendError::Full)) => {}
            result => return result,
        }
        let result = self.core.wait(self.deadline(), |state, _| {
            match state.endpoint.send(self.id, message) {
                Err(SapSendError::Full) => None,
                result => Some(result),
            }
        })?;
        result.map_err(|error| self.explain(error))
    }

    /// Sends messages in their order, each in its own mode and stream; waits while the send buffer
    /// is full.
    ///
    /// Those that the window permits go to the operating system together, and wake the peer once:
    /// that takes less time than one by one.
    ///
    /// # Errors
    /// As [`send`](Self::send); the messages before the one at fault were sent.
    pub fn send_messages(&self, messages: &[Message]) -> Result<(), SapError> {
        let mut rest = messages;
        while let Some(first) = rest.first() {
            let sent = match self.try_send_messages(rest)? {
                0 => self.send_message(first).map(|()| 1)?,
                sent => sent,
            };
            rest = &rest[sent..];
        }
        Ok(())
    }

    /// Sends as many of the messages as there is room for, without waiting; returns their number.
    ///
    /// # Errors
    /// As [`send`](Self::send), if it is the first message that cannot be sent.
    pub fn try_send_messages(&self, messages: &[Message]) -> Result<usize, SapError> {
        let mut state = self.core.lock();
        let mut sent = 0;
        let failure = loop {
            let Some(message) = messages.get(sent) else { break None };
            match state.endpoint.send(self.id, message) {
                Ok(()) => sent += 1,
                Err(error) => break Some(error),
            }
        };
        self.core.flush(&mut state);
        drop(state);
        match failure.filter(|error| sent == 0 && *error != SapSendError::Full) {
            Some(error) => Err(self.explain(error)),
            None => Ok(sent),
        }
    }

    /// Sends a message without waiting.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`SapSendError::Full`] if the send buffer is full.
    pub fn try_send(&self, message: &Message) -> Result<(), SapError> {
        let mut state = self.core.lock();
        let result = state.endpoint.send(self.id, message);
        self.core.flush(&mut state);
        drop(state);
        result.map_err(|error| self.explain(error))
    }

    /// Replaces "not open" by the reason for which the connection ended.
    fn explain(&self, error: SapSendError) -> SapError {
        let state = self.core.lock();
        let closed = state.connections.get(&self.id).and_then(|status| status.closed);
        match closed.filter(|_| error == SapSendError::NotOpen) {
            Some(reason) => reason.into(),
            None => error.into(),
        }
    }

    /// Receives the next message; `None` once the peer has finished and all is read.
    ///
    /// # Errors
    /// If the connection has ended otherwise, the timeout expires, or a check fails.
    pub fn recv(&self) -> Result<Option<Received>, SapError> {
        let deadline = self.deadline();
        loop {
            match self.core.wait(deadline, |state, now| self.next(state, now))? {
                Next::Outcome(outcome) => return outcome,
                Next::Inspect(inspector, received) => self.inspect(inspector, received)?,
            }
        }
    }

    /// Receives a message without waiting; `None` once the peer has finished and all is read.
    ///
    /// # Errors
    /// As [`recv`](Self::recv), and [`SapError::WouldBlock`] if no message is there.
    pub fn try_recv(&self) -> Result<Option<Received>, SapError> {
        loop {
            let mut state = self.core.lock();
            let next = self.next(&mut state, self.core.clock.now());
            self.core.flush(&mut state);
            drop(state);
            match next.unwrap_or(Next::Outcome(Err(SapError::WouldBlock))) {
                Next::Outcome(outcome) => return outcome,
                Next::Inspect(inspector, received) => self.inspect(inspector, received)?,
            }
        }
    }

    /// Looks for the next message; `None` if there is none yet, or another thread inspects one.
    fn next(&self, state: &mut State, now: Instant) -> Option<Next<'_>> {
        let mut inspector = self.inspection.take()?;
        if self.inspection.is_outdated() {
            return Some(Next::Inspect(inspector, None));
        }
        let mut received = inspector.pop();
        if received.is_none() {
            received = state.endpoint.receive(now, self.id);
            if received.is_some() && !inspector.is_idle() {
                return Some(Next::Inspect(inspector, received));
            }
        }
        let ended = state.connections.get(&self.id).is_none_or(|it| it.closed.is_some());
        if received.is_none() && ended {
            inspector.give_up();
            received = inspector.pop();
        }
        let more = inspector.is_ready() || state.endpoint.is_readable(self.id);
        let settled = inspector.is_empty();
        let status = state.connections.get_mut(&self.id)?;
        if !more && !status.finished && status.closed.is_none() {
            status.readable.lower();
        }
        let outcome = match received {
            Some(received) => Some(Ok(Some(received))),
            None if status.finished && settled => Some(Ok(None)),
            None => status.closed.map(|reason| Err(reason.into())),
        };
        outcome.map(Next::Outcome)
    }

    /// Inspects a message, and requests what is to be repaired.
    fn inspect(
        &self,
        mut inspector: MutexGuard<'_, Inspector>,
        received: Option<Received>,
    ) -> Result<(), SapError> {
        self.inspection.update(&mut inspector);
        let request = received.and_then(|received| inspector.push(received));
        let failed = inspector.take_failure();
        let is_awaited = self.inspection.give_back(inspector);
        if let Some(request) = request {
            let mut state = self.core.lock();
            let (stream, number) = (request.stream, request.number);
            // Without a connection, receiving reports its end.
            let _ = state.endpoint.repair(self.id, stream, number, &request.ranges);
            self.core.flush(&mut state);
        }
        if is_awaited {
            // Whoever found the inspector taken waits by the time this lock is free.
            drop(self.core.lock());
            self.core.notify();
        }
        if failed { Err(SapError::Check) } else { Ok(()) }
    }

    //= S0.56
    /// Requests `ranges` of an approximate message again; they arrive as messages of kind
    /// [`Repair`](crate::MessageKind::Repair).
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn repair(&self, of: &Received, ranges: &[std::ops::Range<usize>]) -> Result<(), SapError> {
        self.repair_number(of.stream, of.number, ranges)
    }

    /// Requests ranges of a message that is known by its number only, since it is missing.
    ///
    /// # Errors
    /// If the connection has ended.
    pub fn repair_number(
        &self,
        stream: u16,
        number: u32,
        ranges: &[std::ops::Range<usize>],
    ) -> Result<(), SapError> {
        let mut state = self.core.lock();
        let result = state.endpoint.repair(self.id, stream, number, ranges);
        self.core.flush(&mut state);
        result.map_err(SapError::from)
    }

    /// Finishes this direction; messages can still be received.
    pub fn finish(&self) {
        let mut state = self.core.lock();
        state.endpoint.finish(self.id);
        self.core.flush(&mut state);
    }

    /// Waits until everything precise is acknowledged and everything else sent.
    ///
    /// # Errors
    /// If the connection ends before, or the timeout expires.
    pub fn flush(&self) -> Result<(), SapError> {
        let outcome = self.core.wait(self.deadline(), |state, _| {
            let closed = state.connections.get(&self.id).and_then(|status| status.closed);
            match closed {
                Some(reason) => Some(Err(reason)),
                None => state.endpoint.is_flushed(self.id).then_some(Ok(())),
            }
        })?;
        outcome.map_err(SapError::from)
    }

    //= S0.19
    /// Finishes this direction and waits until the peer has acknowledged everything.
    ///
    /// It waits as long as there is progress, that is while messages are acknowledged or sent for
    /// the first time, and at most for the socket's timeout, if one is set.
    ///
    /// # Errors
    /// [`SapError::Unfinished`] if the peer has not acknowledged the end, with what it may lack.
    pub fn finish_and_wait(&self) -> Result<(), SapError> {
        self.finish();
        let timeout = self.deadline();
        let mut stalled = self.core.clock.now() + self.core.lock().endpoint.linger(self.id);
        let reason = loop {
            let until = timeout.map_or(stalled, |timeout| timeout.min(stalled));
            match self.core.wait(Some(until), |state, _| self.finished(state)) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(reason)) => break UnfinishedReason::Closed(reason),
                Err(SapError::TimedOut) if until < stalled => break UnfinishedReason::TimedOut,
                Err(SapError::TimedOut) => {}
                Err(error) => return Err(error),
            }
            match self.core.lock().endpoint.gives_up_at(self.id) {
                Some(later) if later > stalled => stalled = later,
                _ => break UnfinishedReason::Stalled,
            }
        };
        let left = self.core.lock().endpoint.undelivered(self.id);
        Err(SapError::Unfinished { left, here: self.local_addr(), there: self.peer, reason })
    }

    /// Returns whether the peer has acknowledged the end, or the reason for which it never will.
    fn finished(&self, state: &State) -> Option<Result<(), CloseReason>> {
        let closed = state.connections.get(&self.id).and_then(|status| status.closed);
        let has_all = || state.endpoint.undelivered(self.id).messages == 0;
        match closed {
            Some(CloseReason::Closed) => Some(Ok(())),
            // It has everything; only its last acknowledgement was lost.
            Some(CloseReason::ClosedByPeer) if has_all() => Some(Ok(())),
            Some(reason) => Some(Err(reason)),
            None => state.endpoint.is_finished(self.id).then_some(Ok(())),
        }
    }

    /// Closes the connection after the peer has acknowledged everything.
    ///
    /// It waits as [`finish_and_wait`](Self::finish_and_wait) does. After the time of
    /// [`set_linger`](Self::set_linger) without progress the connection is reset. When the socket's
    /// timeout expires, delivery continues in the background while the program runs.
    ///
    /// # Errors
    /// As [`finish_and_wait`](Self::finish_and_wait).
    pub fn close(self) -> Result<(), SapError> {
        self.finish_or_abort()
    }

    /// Waits as [`close`](Self::close) does, while others may still hold the socket.
    ///
    /// # Errors
    /// As [`finish_and_wait`](Self::finish_and_wait).
    pub fn finish_or_abort(&self) -> Result<(), SapError> {
        self.finish_and_wait().inspect_err(|error| {
            if !matches!(error, SapError::Unfinished { reason: UnfinishedReason::TimedOut, .. }) {
                let mut state = self.core.lock();
                state.endpoint.abort(self.id, CloseReason::TimedOut);
                self.core.flush(&mut state);
            }
        })
    }

    /// Returns the longest message in bytes, 1 MiB by default, whatever the path; to a peer that
    /// does not take messages in parts, the longest that the path carries now, which may grow.
    #[must_use]
    pub fn max_message(&self) -> usize {
        self.core.lock().endpoint.max_message(self.id)
    }

    /// Returns the longest message that goes in one datagram now, in bytes; it may grow. Each part
    /// of a longer message is a datagram of its own.
    #[must_use]
    pub fn max_whole(&self) -> usize {
        self.core.lock().endpoint.max_whole(self.id)
    }

    /// Waits until [`max_whole`](Self::max_whole) is unlikely to grow, at most for `span`: a few
    /// round trips on a new connection, no time later.
    pub fn settle_path(&self, span: Duration) {
        let end = self.core.clock.now() + span;
        let settles_at = || self.core.lock().endpoint.path_settles_at(self.id);
        let is_known = |state: &mut State, now| {
            let at = state.endpoint.path_settles_at(self.id);
            at.is_some_and(|at| at <= now).then_some(())
        };
        while self.core.clock.now() < end {
            let until = settles_at().map_or(end, |at| at.min(end));
            // It ends early if the size grows, and then there is another time to wait for.
            if self.core.wait(Some(until), is_known).is_ok() {
                return;
            }
        }
    }

    /// Returns the smoothed round-trip time, once it was measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.core.lock().endpoint.round_trip(self.id)
    }

    /// Returns a descriptor that is readable while a message or the end can be received; only for
    /// polling.
    ///
    /// # Errors
    /// If the connection has ended, or the process has no descriptors left.
    pub fn readiness(&self) -> Result<OwnedFd, SapError> {
        self.core.readable(self.id)
    }

    /// Returns a descriptor that becomes readable when the send buffer has room again, after
    /// [`try_send`](Self::try_send) found it full; only for polling.
    ///
    /// # Errors
    /// If the connection has ended, or the process has no descriptors left.
    pub fn room(&self) -> Result<OwnedFd, SapError> {
        self.core.writable(self.id)
    }
}

impl Drop for SapSocket {
    fn drop(&mut self) {
        let mut state = self.core.lock();
        state.endpoint.close(self.core.clock.now(), self.id);
        state.connections.remove(&self.id);
        self.core.flush(&mut state);
    }
}

#[cfg(test)]
mod tests;
