//! The driver of an endpoint: moves datagrams between it and its UDP-Lite socket.
//!
//! A caller that waits drives the endpoint itself: it polls the socket, passes datagrams to the
//! endpoint and sends its output, so that messages need no thread switch. A background thread
//! drives while no caller waits, so that acknowledgements and retransmissions do not depend on the
//! application.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrayvec::ArrayVec;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use windfall_base::{Check, Duration, Instant};
use windfall_sap::{
    CloseReason, ConnectionId, DatagramMeta, OutgoingDatagram, SapConfig, SapEndpoint, SapEvent,
    Secret,
};

use crate::clock::Clock;
use crate::eager::Eager;
use crate::error::SapError;
use crate::hints::Hints;
use crate::memory;
use crate::signal::Signal;
use crate::system::{SEGMENTS, timespec};
use crate::udplite::{ReceivedDatagram, UdpLiteDatagram, UdpLiteSocket};
use crate::waiting::{Awaited, Waiting};

/// The time for which the background thread yields to callers after one has driven.
const YIELD: Duration = Duration::from_millis(10);
/// The longest sleep of the background thread while a caller drives.
const LONG: Duration = Duration::from_secs(60);
/// The idle time after which receive buffers are released.
const QUIET: Duration = Duration::from_secs(1);

/// The state of a connection that blocked calls of its application wait for.
#[derive(Debug, Default)]
pub(crate) struct Status {
    pub(crate) connected: bool,
    pub(crate) finished: bool,
    pub(crate) closed: Option<CloseReason>,
    /// Raised while a message or the end can be received.
    pub(crate) readable: Signal,
    /// Raised when the send buffer has room again.
    pub(crate) writable: Signal,
}

/// The outcome of listening to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    Datagrams,
    /// A report that no program receives at the peer's port.
    Refusal,
}

/// The thread that polls the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Idle,
    Caller,
    Background,
}

impl State {
    /// Returns the next connection that waits for an accept.
    pub(crate) fn accept(&mut self) -> Option<(ConnectionId, SocketAddr)> {
        let accepted = self.accepted.pop_front();
        if let Some((id, _)) = accepted {
            self.endpoint.accept(id);
        }
        if self.accepted.is_empty() {
            self.acceptable.lower();
        }
        accepted
    }

    /// Wakes the callers whose connections have changed.
    fn wake_changed(&mut self) {
        for id in self.endpoint.take_changed() {
            self.waiting.wake(Awaited::Connection(id));
        }
    }

    /// Wakes a waiting caller to drive the endpoint, if no other does.
    fn hand_over(&self) {
        if self.driver == Driver::Idle {
            self.waiting.wake_any();
        }
    }
}

pub(crate) struct State {
    pub(crate) endpoint: SapEndpoint,
    pub(crate) connections: BTreeMap<ConnectionId, Status>,
    pub(crate) accepted: VecDeque<(ConnectionId, SocketAddr)>,
    /// Raised while a connection can be accepted.
    pub(crate) acceptable: Signal,
    /// Datagrams that the operating system has not accepted yet.
    unsent: VecDeque<OutgoingDatagram>,
    arrivals: Vec<ReceivedDatagram>,
    hints: Option<Hints>,
    driver: Driver,
    /// The callers that wait for the one that drives.
    waiting: Waiting,
    /// The last time at which a caller drove the endpoint. Until the first one does, the background
    /// thread drives it.
    driven: Option<Instant>,
    /// The background thread sleeps until the driving caller stops.
    asleep: bool,
    /// The busy polling of callers.
    eager: Eager,
    heard: Instant,
    ended: bool,
}

/// An endpoint, its socket, and the threads that wait for it.
pub(crate) struct Core {
    pub(crate) socket: UdpLiteSocket,
    pub(crate) clock: Clock,
    state: Mutex<State>,
    /// Wakes the background thread while callers drive.
    parked: Condvar,
    /// Wakes the thread that polls.
    wake: OwnedFd,
    handles: AtomicUsize,
}

/// A reference to a core; the endpoint is closed when the last one is dropped.
pub(crate) struct Handle(Arc<Core>);

impl Handle {
    /// Starts an endpoint on `socket` and the thread that drives it; `prepare` runs before.
    pub(crate) fn new(
        socket: UdpLiteSocket,
        config: SapConfig,
        prepare: impl FnOnce(&mut SapEndpoint),
    ) -> Result<Self, SapError> {
        let mut key = [0; 32];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| SapError::system("cannot get random bytes")(error.into()))?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = eventfd(0, flags)
            .map_err(|error| SapError::system("cannot make an event descriptor")(error.into()))?;
        socket.permit_merging();
        let clock = Clock::new();
        let mut endpoint = SapEndpoint::new(config, Secret::new(key));
        endpoint.share_budget(memory::of_process());
        prepare(&mut endpoint);
        let state = State {
            endpoint,
            connections: BTreeMap::new(),
            accepted: VecDeque::new(),
            acceptable: Signal::default(),
            unsent: VecDeque::new(),
            arrivals: Vec::new(),
            hints: Hints::ask(),
            driver: Driver::Idle,
            waiting: Waiting::default(),
            driven: None,
            asleep: false,
            eager: Eager::default(),
            heard: clock.now(),
            ended: false,
        };
        let core = Arc::new(Core {
            socket,
            clock,
            state: Mutex::new(state),
            parked: Condvar::new(),
            wake,
            handles: AtomicUsize::new(1),
        });
        let background = Arc::clone(&core);
        std::thread::Builder::new()
            .name("sap".to_owned())
            .stack_size(128 << 10)
            .spawn(move || background.run())
            .map_err(SapError::system("cannot start a thread"))?;
        Ok(Self(core))
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.0.handles.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.lock().ended = true;
            self.0.parked.notify_all();
            self.0.wake();
        }
    }
}

impl std::ops::Deref for Handle {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.0
    }
}

impl Core {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // A full counter wakes as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Wakes the calls that wait for `awaited`, so that they check the state again. The driving
    /// caller may be one of them.
    pub(crate) fn notify(&self, state: &State, awaited: Awaited) {
        self.wake();
        state.waiting.wake(awaited);
    }

    /// Sends the endpoint's datagrams and reports its events, after the state was changed.
    pub(crate) fn flush(&self, state: &mut State) {
        if !state.endpoint.has_work() && state.unsent.is_empty() {
            return;
        }
        let before = state.endpoint.deadline();
        self.transmit(state);
        self.sort_events(state);
        state.wake_changed();
        // The polling thread must learn of an earlier deadline.
        let earlier = match (before, state.endpoint.deadline()) {
            (Some(before), Some(now)) => now < before,
            (before, now) => before.is_none() && now.is_some(),
        };
        if state.driver != Driver::Idle && (earlier || !state.unsent.is_empty()) {
            self.wake();
        }
    }

    /// Waits until `ready` returns a value, and drives the endpoint meanwhile. `awaited` names the
    /// condition that `ready` checks.
    pub(crate) fn wait<T>(
        &self,
        awaited: Awaited,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut State, Instant) -> Option<T>,
    ) -> Result<T, SapError> {
        let mut state = self.lock();
        loop {
            let now = self.clock.now();
            let found = ready(&mut state, now);
            if found.is_some() || deadline.is_some_and(|deadline| deadline <= now) {
                self.flush(&mut state);
                state.hand_over();
                return found.ok_or(SapError::TimedOut);
            }
            if state.driver == Driver::Idle {
                state = self.turn(state, Driver::Caller, deadline)?;
                state.driven = Some(self.clock.now());
                continue;
            }
            if state.driver == Driver::Background {
                // The background thread releases the socket when it sees that a caller has just
                // driven.
                state.driven = Some(now);
                self.wake();
            }
            let span = deadline.map_or(QUIET, |deadline| deadline.saturating_since(now).min(QUIET));
            let (place, woken) = state.waiting.enter(awaited);
            let waited = woken.wait_timeout(state, span.into());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting.leave(place);
        }
    }

    /// Drives once: waits for the socket, a deadline or a wake-up, and processes it.
    fn turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        driver: Driver,
        deadline: Option<Instant>,
    ) -> Result<MutexGuard<'a, State>, SapError> {
        state.driver = driver;
        let now = self.clock.now();
        let quiet = now.saturating_since(state.heard) >= QUIET;
        if quiet {
            self.socket.rest();
            state.arrivals = Vec::new();
        }
        let due = state.endpoint.deadline();
        let rest = (!quiet).then(|| now + QUIET);
        let until = due.into_iter().chain(deadline).chain(rest).min();
        let busy = !state.unsent.is_empty();
        let mut eager = state.eager;
        let mut arrivals = std::mem::take(&mut state.arrivals);
        drop(state);
        let look = (driver == Driver::Caller).then_some(&mut eager);
        let result = self.listen(&mut arrivals, until, busy, look);
        let mut state = self.lock();
        match result {
            Ok(Heard::Refusal) => self.refused(&mut state),
            Ok(Heard::Nothing) => _ = self.take_reports(&mut state),
            Ok(Heard::Datagrams) | Err(_) => {}
        }
        self.pump(&mut state, arrivals);
        state.driver = Driver::Idle;
        state.wake_changed();
        // A caller that has driven continues, or wakes another one when it stops.
        if driver == Driver::Background || result.is_err() {
            state.hand_over();
        }
        if std::mem::take(&mut state.asleep) {
            self.parked.notify_one();
        }
        state.eager = eager;
        result.map_err(SapError::system("cannot wait for the socket")).map(|_| state)
    }

    /// Waits for datagrams, a wake-up or `until`, and receives what has arrived.
    fn listen(
        &self,
        arrivals: &mut Vec<ReceivedDatagram>,
        until: Option<Instant>,
        busy: bool,
        mut eager: Option<&mut Eager>,
    ) -> io::Result<Heard> {
        let began = self.clock.now();
        let end = eager.as_deref_mut().map_or(began, |eager| began + eager.patience());
        let end = until.map_or(end, |until| until.min(end));
        let mut now = began;
        let mut heard = Heard::Nothing;
        while heard == Heard::Nothing && now < end {
            // If the peer is a process that waits for this processor, it runs first.
            std::thread::yield_now();
            heard = self.receive(arrivals);
            now = self.clock.now();
        }
        let span = until.map(|until| until.saturating_since(now));
        if heard == Heard::Nothing && self.poll(span, busy)? {
            heard = self.receive(arrivals);
            now = self.clock.now();
        }
        if let Some(eager) = eager {
            eager.learn((heard == Heard::Datagrams).then(|| now.saturating_since(began)));
        }
        Ok(heard)
    }

    /// Receives what has arrived. An error concerns a datagram sent before, which counts as lost.
    fn receive(&self, arrivals: &mut Vec<ReceivedDatagram>) -> Heard {
        match self.socket.receive_any(arrivals) {
            Ok(_) => Heard::Datagrams,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Heard::Refusal,
            Err(_) => Heard::Nothing,
        }
    }

    /// Notes that a peer's host reports a closed port.
    fn refused(&self, state: &mut State) {
        if let Some(peer) = self.socket.peer() {
            state.endpoint.handle_refused(self.clock.now(), peer);
        }
        self.take_reports(state);
    }

    /// Processes the ICMP errors about datagrams to any peer; returns whether there were any.
    fn take_reports(&self, state: &mut State) -> bool {
        let refusals = self.socket.refusals();
        for peer in refusals.iter().flatten() {
            state.endpoint.handle_refused(self.clock.now(), *peer);
        }
        refusals.is_some()
    }

    /// Polls the socket; returns whether there is something to receive.
    fn poll(&self, span: Option<Duration>, busy: bool) -> io::Result<bool> {
        let mut interest = PollFlags::IN;
        interest.set(PollFlags::OUT, busy);
        let mut fds = [PollFd::new(&self.socket, interest), PollFd::new(&self.wake, PollFlags::IN)];
        let timeout = span.map(timespec);
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !fds[1].revents().is_empty() {
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        // Any event except writability: receiving also fetches pending errors.
        Ok(!fds[0].revents().difference(PollFlags::OUT).is_empty())
    }

    /// Passes received datagrams to the endpoint, handles expired timers, and sends.
    fn pump(&self, state: &mut State, mut arrivals: Vec<ReceivedDatagram>) {
        let now = self.clock.now();
        if !arrivals.is_empty() {
            state.heard = now;
            state.hints.iter_mut().for_each(Hints::gather);
        }
        for arrival in arrivals.drain(..) {
            let hints = state.hints.as_mut();
            let hinted = hints.is_some_and(|hints| hints.take(&arrival.data));
            let meta = DatagramMeta {
                from: arrival.from,
                covered_intact: arrival.intact,
                frame: if hinted { Check::Bad } else { Check::Unchecked },
                unbound: arrival.unbound,
                whole: arrival.whole,
                buffer: arrival.buffer,
            };
            state.endpoint.handle_datagram(now, &meta, &arrival.data);
        }
        state.arrivals = arrivals;
        state.endpoint.handle_timeout(now);
        self.transmit(state);
        self.sort_events(state);
    }

    /// Passes waiting datagrams to the operating system in batches.
    fn transmit(&self, state: &mut State) {
        loop {
            let now = self.clock.now();
            while state.unsent.len() < SEGMENTS
                && let Some(transmit) = state.endpoint.poll_transmit(now)
            {
                state.unsent.push_back(transmit);
            }
            if state.unsent.is_empty() || !self.send(state) {
                return;
            }
        }
    }

    /// Sends the first batch; returns whether the operating system accepts more.
    fn send(&self, state: &mut State) -> bool {
        let mut datagrams: ArrayVec<UdpLiteDatagram<'_>, SEGMENTS> = ArrayVec::new();
        datagrams.extend(state.unsent.iter().take(SEGMENTS).map(|it| UdpLiteDatagram {
            to: it.to,
            coverage: it.coverage(),
            whole: it.whole,
            unbound: it.unbound,
            parts: [&it.parts[0], &it.parts[1], &it.parts[2]],
        }));
        let sent = self.socket.send(&datagrams);
        drop(datagrams);
        match sent {
            Ok(count) => drop(state.unsent.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => {
                // The error concerns the first datagram, which then counts as lost. An ICMP error
                // concerns an earlier datagram, and is not authenticated.
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    self.refused(state);
                } else if !self.take_reports(state)
                    && let Some(lost) = state.unsent.pop_front()
                {
                    if error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error()) {
                        let size = lost.parts.iter().map(bytes::Bytes::len).sum();
                        state.endpoint.handle_too_long(lost.to, size);
                    } else {
                        state.endpoint.handle_unreachable(lost.to);
                    }
                }
            }
        }
        true
    }

    /// Updates the status of each connection, and raises or lowers its signals.
    fn sort_events(&self, state: &mut State) {
        while let Some((id, event)) = state.endpoint.poll_event() {
            if matches!(event, SapEvent::Accepted { .. }) && !state.endpoint.is_listening() {
                // The connection was half open when the listener closed, and cannot be accepted any
                // more.
                state.endpoint.close(self.clock.now(), id);
                continue;
            }
            if let SapEvent::Accepted { from } = event {
                state.connections.insert(id, Status { connected: true, ..Status::default() });
                state.accepted.push_back((id, from));
                state.acceptable.raise();
                state.waiting.wake(Awaited::Accepted);
            }
            if event == SapEvent::Displaced
                && let Some(index) = state.accepted.iter().position(|(other, _)| *other == id)
            {
                state.accepted.remove(index);
                state.connections.remove(&id);
                state.endpoint.close(self.clock.now(), id);
                continue;
            }
            let Some(status) = state.connections.get_mut(&id) else { continue };
            match event {
                SapEvent::Connected => status.connected = true,
                SapEvent::Finished { .. } => status.finished = true,
                SapEvent::Closed(reason) => status.closed = Some(reason),
                SapEvent::Silent => {
                    self.socket.reconnect();
                    continue;
                }
                SapEvent::Readable => {}
                SapEvent::Writable => {
                    status.writable.raise();
                    continue;
                }
                // The others change nothing that a caller waits for.
                _ => continue,
            }
            status.readable.raise();
            if status.closed.is_some() {
                status.writable.raise();
            }
        }
    }

    /// The loop of the background thread.
    fn run(&self) {
        let mut state = self.lock();
        loop {
            let now = self.clock.now();
            if state.ended {
                if state.endpoint.is_empty() {
                    return;
                }
                // All handles are dropped; connections that were not accepted are closed too.
                let ids: Vec<ConnectionId> = state.connections.keys().copied().collect();
                ids.into_iter().for_each(|id| state.endpoint.close(now, id));
                state.connections.clear();
                self.transmit(&mut state);
            }
            let recent = state.driven.is_some_and(|driven| now.saturating_since(driven) < YIELD);
            if state.driver != Driver::Idle || recent && !state.ended {
                // A caller that waits for long wakes this thread when it stops.
                state.asleep = !recent && !state.ended;
                let span = if state.asleep { LONG } else { YIELD };
                let parked = self.parked.wait_timeout(state, span.into());
                state = parked.unwrap_or_else(PoisonError::into_inner).0;
                state.asleep = false;
                continue;
            }
            match self.turn(state, Driver::Background, None) {
                Ok(next) => state = next,
                Err(_) => return,
            }
        }
    }

    /// Returns the descriptor that is readable while a message or the end of `id` can be received.
    pub(crate) fn readable(&self, id: ConnectionId) -> Result<OwnedFd, SapError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let waits = state.endpoint.is_readable(id);
        let status = state.connections.get_mut(&id).ok_or(CloseReason::Closed)?;
        status.readable.share(waits || status.finished || status.closed.is_some())
    }

    /// Returns the descriptor that is readable once the connection accepts messages again.
    pub(crate) fn writable(&self, id: ConnectionId) -> Result<OwnedFd, SapError> {
        let mut state = self.lock();
        let status = state.connections.get_mut(&id).ok_or(CloseReason::Closed)?;
        status.writable.share(status.closed.is_some())
    }
}

impl AsFd for Core {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
