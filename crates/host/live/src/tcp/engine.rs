//! The engine at work: its connections, the kernel's sockets and bulk ends behind them, signals.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windfall_base::{Duration, Instant, Seed};
use windfall_stack::socket_api::{SocketCommand, SocketError, SocketEvent, SocketId, Transport};
use windfall_stack::{AppId, Host};
use windfall_tcp::{Connection, TcpState};

use windfall_system::Identity;

use super::bulk::{Job, Worker};
use super::end::End;
use super::kernel_table::KernelTable;
use super::record::{ConnectionRecord, Times};
use super::site::{EngineSite, Removal};
use super::splice::Splice;
use crate::clock::SystemClock;
use crate::device::StationDevice;
use crate::driver::{Clock, EventLoop};
use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::{Program, ProgramOutput};
use crate::session::Signals;
use crate::system;

mod drain;

/// The engine has one user.
const APP: AppId = AppId(0);
/// Names of what is waited for beside the device: signals, the command, then sockets.
const SIGNALS: u32 = 0;
const COMMAND: u32 = 1;
const FIRST_SOCKET: u32 = 2;
/// The time for which the kernel's listening sockets rest when no descriptor is left for a
/// connection.
const REST: Duration = Duration::from_millis(200);
/// The least time for which an engine stays when all is done.
const LINGER: Duration = Duration::from_millis(300);
/// The longest time for which it stays then.
const LONGEST_LINGER: Duration = Duration::from_secs(5);
/// The error of connections that are reset because the engine ends.
const INTERRUPTED: &str = "interrupted";

/// The service behind a port on which the engine listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenService {
    /// A connection by the kernel's TCP.
    Kernel(SocketAddr),
    /// A bulk source and sink.
    Bulk(Job),
}

/// The reason why a turn was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// A signal asks for the end; its number.
    Signal(i32),
    /// The command whose end was awaited has ended.
    Command,
}

/// The shortage of descriptors, and whether it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shortage {
    None,
    New,
    Outcome,
}

/// The way in which a connection is let go.
#[derive(Debug)]
enum Departure {
    /// Both directions are delivered.
    InOrder,
    /// The engine ends.
    Interrupted,
    /// One of the ends failed.
    Failed(String),
}

#[derive(Debug)]
struct CarriedConnection {
    splice: Splice,
    times: Times,
    /// The name by which the end's socket is waited for.
    name: Option<u32>,
}

/// An engine on its device, and what its connections are spliced to.
///
/// Call [`turn`](Self::turn) for ever; in between, take the [`records`](Self::take_records) of
/// connections that are over.
pub struct Engine {
    driver: EventLoop<Host, SystemClock, StationDevice>,
    /// Dropped after the device.
    _removal: Removal,
    signals: Signals,
    /// The descriptor of the program that runs meanwhile.
    command: Option<OwnedFd>,
    /// The kernel's listening sockets, and the destination to which the engine connects for each.
    listeners: BTreeMap<u32, (TcpListener, SocketAddr)>,
    offers: BTreeMap<SocketId, ListenService>,
    carried: BTreeMap<SocketId, CarriedConnection>,
    names: BTreeMap<u32, SocketId>,
    /// Connections whose directions are both done, as far as the ends know.
    leaving: BTreeSet<SocketId>,
    records: Vec<ConnectionRecord>,
    /// When the kernel's listening sockets are looked at again, after descriptors ran out.
    rests_until: Option<Instant>,
    /// The report of the shortage, which may be due.
    shortage: Shortage,
    next_name: u32,
    next_socket: u32,
    buffer: Vec<u8>,
    /// The kernel's sockets, as they were in this turn.
    table: Option<KernelTable>,
}

impl Engine {
    /// An engine at `site`, whose connections behave as `tcp` says.
    ///
    /// # Errors
    /// If the device cannot be made: it takes the rights of a station or of root.
    pub fn open(
        site: &EngineSite,
        tcp: windfall_tcp::TcpConfig,
        seed: Seed,
        signals: Signals,
    ) -> Result<Self> {
        let (device, removal) = site.open()?;
        let clock = SystemClock::new().context(|| "make a clock".into())?;
        let watched = clock.watch_device(windfall_base::Port(0), &device);
        let watched = watched.and_then(|()| clock.watch_other(SIGNALS, signals.as_fd()));
        watched.context(|| "watch the device".into())?;
        let host = Host::new(site.host(tcp), seed);
        Ok(Self {
            driver: EventLoop::new(host, clock, vec![device]),
            _removal: removal,
            signals,
            command: None,
            listeners: BTreeMap::new(),
            offers: BTreeMap::new(),
            carried: BTreeMap::new(),
            names: BTreeMap::new(),
            leaving: BTreeSet::new(),
            records: Vec::new(),
            rests_until: None,
            shortage: Shortage::None,
            next_name: FIRST_SOCKET,
            next_socket: 0,
            buffer: Vec::new(),
            table: None,
        })
    }

    /// Listens by the kernel's TCP at `local`, and connects by the engine to `to` for each
    /// connection; gives back the address that it got.
    ///
    /// # Errors
    /// If the address is in use or not of this station.
    pub fn listen_by_kernel(&mut self, local: SocketAddr, to: SocketAddr) -> Result<SocketAddr> {
        let doing = || format!("listen on {local}");
        let listener = TcpListener::bind(local).context(doing)?;
        listener.set_nonblocking(true).context(doing)?;
        let name = self.name();
        self.driver.clock_mut().watch_other(name, &listener).context(doing)?;
        let local = listener.local_addr().context(doing)?;
        self.listeners.insert(name, (listener, to));
        Ok(local)
    }

    /// Listens by the engine on `port`, of every address that it has.
    ///
    /// # Errors
    /// If it listens there already.
    pub fn listen(&mut self, port: u16, offer: ListenService) -> Result<()> {
        for local in [SocketAddr::from(([0; 4], port)), SocketAddr::from(([0_u16; 8], port))] {
            let socket = self.socket();
            self.command(SocketCommand::Open { socket, transport: Transport::Tcp, local });
            self.offers.insert(socket, offer);
            self.command(SocketCommand::Listen { socket });
        }
        self.handle_host_events();
        Ok(())
    }

    /// Opens a connection by the engine and does the job on it.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn connect(&mut self, to: SocketAddr, job: Job) -> Result<()> {
        let splice = Splice::new(End::Bulk(Worker::new(job)), false);
        self.open_splice(to, splice, None);
        self.handle_host_events();
        self.driver.flush().context(|| "open the connection".into())
    }

    /// The time of the engine.
    pub fn now(&mut self) -> Instant {
        self.driver.clock_mut().now()
    }

    /// The connections that are going on.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.carried.len()
    }

    /// Returns the records of the connections that ended since the last call.
    pub fn take_records(&mut self) -> Vec<ConnectionRecord> {
        std::mem::take(&mut self.records)
    }

    /// Waits once, no longer than until `limit`, and does all that is due.
    ///
    /// # Errors
    /// If the device is gone or the clock cannot wait.
    pub fn turn(&mut self, limit: Option<Instant>) -> Result<Option<Interruption>> {
        let carry = |result: io::Result<()>| result.context(|| "carry packets".into());
        let limit = limit.into_iter().chain(self.rests_until).min();
        self.table = None;
        carry(self.driver.turn_until(limit))?;
        self.end_rest()?;
        let mut interruption = None;
        for name in self.driver.clock_mut().take_others() {
            match name {
                SIGNALS => {
                    interruption = self.signals.take().map(Interruption::Signal).or(interruption);
                }
                COMMAND => interruption = Some(Interruption::Command),
                name => match self.names.get(&name) {
                    Some(&socket) => self.pump(socket),
                    None => self.admit(name),
                },
            }
        }
        self.handle_host_events();
        carry(self.driver.flush())?;
        Ok(interruption)
    }

    /// Resets every connection; the records say so.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn abort(&mut self) -> Result<()> {
        for socket in self.sockets() {
            self.leave(socket, Departure::Interrupted);
        }
        self.driver.flush().context(|| "say goodbye to the peers".into())
    }

    fn sockets(&self) -> Vec<SocketId> {
        self.carried.keys().copied().collect()
    }

    /// Returns the bytes that the engine has acknowledged and the end has not.
    fn undelivered(&self, socket: SocketId) -> u64 {
        let connection = self.driver.node().connection(APP, socket);
        let readable = connection.map_or(0, Connection::readable) as u64;
        self.carried.get(&socket).map_or(0, |it| it.splice.undelivered()) + readable
    }

    /// Goes on for a moment after the last connection, so that its last acknowledgment can be
    /// repeated if it got lost: as long as the peer may take to retransmit. Where no connection can
    /// be asked for one, it is done at once: a run that ends tells its programs to end, and then
    /// does not ask for their outcome.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn linger(&mut self) -> Result<()> {
        let open = self.driver.node().connections().filter(|it| it.state() != TcpState::Closed);
        let timeouts = open.map(|it| it.retransmission_timeout().as_nanos() / 2 * 3);
        let span = timeouts.max().map_or(LINGER, Duration::from_nanos);
        let until = self.now().saturating_add(span.clamp(LINGER, LONGEST_LINGER));
        while self.now() < until && self.has_open_connections() {
            if self.turn(Some(until))?.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn has_open_connections(&self) -> bool {
        let mut connections = self.driver.node().connections();
        connections.any(|connection| connection.state() != TcpState::Closed)
    }

    fn socket(&mut self) -> SocketId {
        self.next_socket += 1;
        SocketId(self.next_socket)
    }

    fn name(&mut self) -> u32 {
        self.next_name += 1;
        self.next_name
    }

    fn command(&mut self, command: SocketCommand) {
        // A device that is gone is found out by the next turn.
        let _ = self.driver.act(|host, now| host.handle_command(now, APP, command));
    }

    /// Takes what waits at a listening socket of the kernel.
    fn admit(&mut self, name: u32) {
        while let Some((listener, to)) = self.listeners.get(&name) {
            let to = *to;
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if is_shortage(&error) => return self.rest(),
                Err(_) => return,
            };
            if let Ok(end) = End::accepted(socket) {
                let name = self.watch(&end);
                self.open_splice(to, Splice::new(end, false), name);
            }
        }
    }

    /// Leaves connections where they wait until there may be descriptors for them: who looks at
    /// them all the time finds nothing but the same.
    fn rest(&mut self) {
        let now = self.now();
        self.rests_until = Some(now.saturating_add(REST));
        if self.shortage == Shortage::None {
            self.shortage = Shortage::New;
        }
        for (listener, _) in self.listeners.values() {
            let _ = self.driver.clock_mut().unwatch(listener);
        }
    }

    /// Looks at the listening sockets again when their rest is over.
    fn end_rest(&mut self) -> Result<()> {
        let now = self.now();
        if self.rests_until.is_none_or(|until| now < until) {
            return Ok(());
        }
        self.rests_until = None;
        for (name, (listener, _)) in &self.listeners {
            let watched = self.driver.clock_mut().watch_other(*name, listener);
            watched.context(|| "watch a listening socket".into())?;
        }
        Ok(())
    }

    /// Tells whether descriptors ran out for the first time since the last call.
    pub fn take_shortage(&mut self) -> bool {
        let is_new = self.shortage == Shortage::New;
        if is_new {
            self.shortage = Shortage::Outcome;
        }
        is_new
    }

    /// Waits for the kernel's socket of an end.
    fn watch(&mut self, end: &End) -> Option<u32> {
        let name = self.name();
        let watched = self.driver.clock_mut().watch_edges(name, end.socket()?);
        watched.ok().map(|()| name)
    }

    fn open_splice(&mut self, to: SocketAddr, splice: Splice, name: Option<u32>) {
        let socket = self.socket();
        let any = if to.is_ipv4() {
            SocketAddr::from(([0; 4], 0))
        } else {
            SocketAddr::from(([0_u16; 8], 0))
        };
        self.add(socket, splice, name);
        self.command(SocketCommand::Open { socket, transport: Transport::Tcp, local: any });
        self.command(SocketCommand::Connect { socket, to });
    }

    fn add(&mut self, socket: SocketId, splice: Splice, name: Option<u32>) {
        let times = Times::starting(self.now());
        self.names.extend(name.map(|name| (name, socket)));
        self.carried.insert(socket, CarriedConnection { splice, times, name });
    }

    /// Does what the host has to tell, until it has nothing more.
    fn handle_host_events(&mut self) {
        while let Some((_, event)) = self.driver.node_mut().poll_socket_event() {
            match event {
                SocketEvent::Accepted { listener, socket, .. } => self.accept(listener, socket),
                SocketEvent::Connected { socket } => self.with(socket, |splice, times, now| {
                    splice.connected = true;
                    *times = Times::starting(now);
                }),
                SocketEvent::Stream { socket, data } => self.with(socket, |splice, times, now| {
                    splice.take(data);
                    times.last = now;
                }),
                SocketEvent::Writable { socket } => {
                    self.with(socket, |splice, _, _| splice.granted = true);
                }
                SocketEvent::Finished { socket } => {
                    self.with(socket, |splice, _, _| splice.peer_finished = true);
                }
                SocketEvent::Failed { socket, error } => self.fail(socket, error),
                SocketEvent::Opened { .. }
                | SocketEvent::Received { .. }
                | SocketEvent::Closed { .. } => {}
            }
        }
        self.part();
    }

    fn accept(&mut self, listener: SocketId, socket: SocketId) {
        let end = match self.offers.get(&listener) {
            Some(ListenService::Kernel(to)) => End::connect(*to),
            Some(ListenService::Bulk(job)) => Ok(End::Bulk(Worker::new(*job))),
            None => return,
        };
        match end {
            Ok(end) => {
                let name = self.watch(&end);
                self.add(socket, Splice::new(end, true), name);
                self.pump(socket);
            }
            Err(_) => self.command(SocketCommand::Abort { socket }),
        }
    }

    /// Changes a splice as an event says, and moves what can be moved then.
    fn with(&mut self, socket: SocketId, act: impl FnOnce(&mut Splice, &mut Times, Instant)) {
        let now = self.driver.clock_mut().now();
        if let Some(carried) = self.carried.get_mut(&socket) {
            act(&mut carried.splice, &mut carried.times, now);
            self.pump(socket);
        }
    }

    /// Moves what can be moved between a connection and its other end.
    fn pump(&mut self, socket: SocketId) {
        let now = self.driver.clock_mut().now();
        while let Some(carried) = self.carried.get_mut(&socket) {
            match carried.splice.step(now, socket, &mut self.buffer) {
                Ok(Some(command)) => self.command(command),
                Ok(None) if carried.splice.is_over() => {
                    self.leaving.insert(socket);
                    return;
                }
                Ok(None) => return,
                Err(error) => return self.leave(socket, Departure::Failed(error.to_string())),
            }
        }
    }

    fn fail(&mut self, socket: SocketId, error: SocketError) {
        if let Some(carried) = self.carried.get_mut(&socket) {
            carried.splice.end.reset();
            self.leave(socket, Departure::Failed(error.to_string()));
        } else if self.offers.contains_key(&socket) {
            let error = Some(error.to_string());
            self.records.push(ConnectionRecord { error, ..ConnectionRecord::default() });
        }
    }

    /// Lets go of the connections whose last byte is acknowledged, by the peer and by the end.
    fn part(&mut self) {
        for socket in self.leaving.iter().copied().collect::<Vec<_>>() {
            let connection = self.driver.node().connection(APP, socket);
            let is_done = connection.is_none_or(|connection| {
                let closing = matches!(connection.state(), TcpState::LastAck | TcpState::Closing);
                connection.unacknowledged() == 0 && !closing
            });
            if !is_done {
                continue;
            }
            let Some(CarriedConnection { splice, .. }) = self.carried.get(&socket) else {
                continue;
            };
            if splice.undelivered() == 0 {
                self.leave(socket, Departure::InOrder);
            } else if let Some(error) = splice.end.take_error() {
                self.leave(socket, Departure::Failed(error.to_string()));
            }
        }
    }

    /// Tells whether every byte of a connection has arrived, and no program is known to wait for
    /// more.
    fn has_arrived(&self, socket: SocketId, splice: &Splice, table: &KernelTable) -> bool {
        let connection = self.driver.node().connection(APP, socket);
        splice.connected
            && !splice.end.is_bulk()
            && connection.is_none_or(|it| it.held_bytes() == 0)
            && splice.undelivered() == 0
            && splice.end.waiting(table) == 0
            && !splice.awaits_answer(table)
    }

    /// Lets go of a connection, by a reset unless it ended in order, and records its outcome.
    fn leave(&mut self, socket: SocketId, departure: Departure) {
        let Some(CarriedConnection { mut splice, mut times, name }) = self.carried.remove(&socket)
        else {
            return;
        };
        self.leaving.remove(&socket);
        let mut record = ConnectionRecord {
            first_wrong_byte: splice.end.wrong(),
            ..ConnectionRecord::default()
        };
        let mut acknowledged = 0;
        let mut readable = 0;
        let mut peer_has_finished = splice.peer_finished;
        if let Some(connection) = self.driver.node().connection(APP, socket) {
            record.describe(connection);
            acknowledged = connection.acknowledged();
            readable = connection.readable() as u64;
            peer_has_finished |= connection.peer_has_finished();
        }
        let is_in_order = matches!(departure, Departure::InOrder);
        if !is_in_order && splice.end.socket().is_some() {
            self.table.get_or_insert_with(KernelTable::read);
        }
        record.lost = splice.lost(acknowledged, self.table.as_ref());
        // The FIN of a peer may wait behind data for which the engine had no room. Otherwise a peer
        // that has not closed sees the reset.
        if peer_has_finished || matches!(departure, Departure::Interrupted) {
            record.lost += splice.undelivered() + readable;
        }
        record.error = match departure {
            Departure::InOrder => None,
            Departure::Failed(error) => Some(error),
            Departure::Interrupted => {
                let table = self.table.as_ref();
                let has_arrived = table.is_some_and(|it| self.has_arrived(socket, &splice, it));
                (!has_arrived).then(|| INTERRUPTED.to_owned())
            }
        };
        if splice.sent >= splice.received {
            times.last = self.now();
        }
        record.measure(splice.sent.min(acknowledged), splice.received, times.span());
        if is_in_order {
            self.command(SocketCommand::Close { socket });
        } else {
            // What a peer sent before it closed has been written, and is still to be read.
            if !splice.told {
                splice.end.reset();
            }
            self.command(SocketCommand::Abort { socket });
        }
        self.records.push(record);
        name.map(|name| self.names.remove(&name));
    }
}

/// Tells whether the system has no room for another connection now, and may have later.
fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM))
}

/// A program that runs while an engine works.
#[derive(Debug)]
pub struct HelperProcess(Child);

impl HelperProcess {
    /// Starts the program, whose end will interrupt the engine's turn. It runs as the user who
    /// called through sudo, if there is one, unless it is to run `as_root`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(engine: &mut Engine, arguments: &[OsString], as_root: bool) -> Result<Self> {
        let arguments = arguments.to_vec();
        let environment = Vec::new();
        let program = Program {
            station: 0,
            arguments,
            environment,
            interactive: false,
            output: ProgramOutput::Inherit,
        };
        let name = || program.arguments[0].to_string_lossy().into_owned();
        let identity = Identity::of_caller(as_root)?;
        let child = crate::program::prepare(&program, Vec::new(), identity.as_ref(), false).spawn();
        let child = child.map_err(|source| LiveError::Spawn { program: name(), source })?;
        let doing = || "watch the command".into();
        let process = system::pidfd_open(Pid::from_raw(child.id() as i32)).context(doing)?;
        engine.driver.clock_mut().watch_other(COMMAND, &process).context(doing)?;
        engine.command = Some(process);
        Ok(Self(child))
    }

    /// Sends the program a signal that was meant for both. What comes from a terminal it has got
    /// already, and takes no harm from getting it twice.
    pub fn pass_on(&self, signal: i32) {
        if let Ok(signal) = Signal::try_from(signal) {
            let _ = kill(Pid::from_raw(self.0.id() as i32), signal);
        }
    }

    /// Its exit status, as a shell gives it, if it has ended.
    pub fn status(&mut self) -> Option<u8> {
        let status = self.0.try_wait().ok()??;
        Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        // Only if the engine failed before the program ended.
        if self.status().is_none() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
