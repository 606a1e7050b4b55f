//! One run from beginning to end: the loop turns while the programs do their work.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use windfall_base::{Duration, Frame, Instant, Node, Payload, Port};

use crate::clock::SystemClock;
use crate::control::Message;
use crate::control_socket::{self, ControlSocket};
use crate::device::StationDevice;
use crate::driver::{Clock, Device, EventLoop, Lateness};
use crate::error::{ErrorContext, LiveError, Result};
use crate::keeper::Keeper;
use crate::kernel_counters::KernelCounters;
use crate::kernel_counters::account::{self, DeviceAccount, StationDrops};
use crate::line::LineDevice;
use crate::requests::{self, Clients, Reply};
use crate::stations::Stations;
use crate::system;
use crate::terminal::Terminal;

/// Names of what the loop waits for beside devices.
const STATIONS: u32 = 0;
const SIGNALS: u32 = 1;
const CONTROL_SOCKET: u32 = 2;
const KEEPER: u32 = 3;
/// The first of the names of clients at the control socket.
const CLIENTS: u32 = 16;

/// The failure of a run whose keeper was killed, as text.
pub const KEEPER_LOST: &str = "the process that takes names and interfaces back was killed, and \
                               the run has taken them back itself: had it been killed too, they \
                               would have stayed";

/// The priority of the loop, as `nice` counts it.
pub const PRIORITY: i32 = -15;

/// Signals that mean something to the command alone.
const FOR_COMMANDS: [Signal; 2] = [Signal::SIGUSR1, Signal::SIGUSR2];

/// Comes from a terminal, not from a process.
const FROM_KERNEL: i32 = 0x80;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// The exit status of the command, as a shell gives it; 0 without a command.
    pub status: u8,
    /// The time from the beginning to the end of the last program.
    pub duration: Duration,
    /// The lateness of the deliveries.
    pub lateness: Lateness,
    /// The kernel's counters of each station, in the order of the plan.
    pub counters: Vec<KernelCounters>,
    /// The packets that each station dropped, in the order of the plan.
    pub drops: Vec<StationDrops>,
    /// The programs beside the command that failed before they were told to end.
    pub failed: Vec<ProgramFailure>,
    /// The process that takes back what is outside was killed: the run has done it itself.
    pub has_lost_keeper: bool,
}

/// A program beside the command that ended with another status than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFailure {
    /// The number of its station.
    pub station: usize,
    /// The line of the shell, as it was given.
    pub line: String,
    /// Its exit status, as a shell gives it.
    pub status: u8,
}

/// Looks at a run from inside its loop.
pub trait Observer<N> {
    /// Called after every turn of the loop; drains the node's events.
    fn observe(&mut self, now: Instant, node: &mut N);

    /// Called when the command begins, after what it waits for.
    fn command_began(&mut self, _now: Instant, _node: &mut N) {}

    /// When to be called again at the latest, even if nothing happens.
    fn wakeup(&self) -> Option<Instant> {
        None
    }

    /// The delay from which on packets count as beyond the limit of the run, if it has one.
    fn late_limit(&self) -> Option<Duration> {
        None
    }

    /// Called with each request at the control socket, a line without its end; `lateness` is that
    /// of the run so far.
    fn request(&mut self, now: Instant, node: &mut N, lateness: &Lateness, line: &[u8]) -> Reply {
        let _ = (now, node, lateness, line);
        Reply::Line(r#"{"error":"this run takes no requests"}"#.to_owned())
    }

    /// Called when a program has deleted a device of a station; the run goes on without it.
    fn lost(&mut self, _station: &str, _device: &str) {}

    /// Called when something has happened of which the user should know at once.
    fn warn(&mut self, _text: &str) {}

    /// Called before the terminal stops the run; the terminal is to be left as it was found.
    fn suspend(&mut self) {}
}

/// Signals that a run handles itself from now on, instead of being ended by them.
///
/// Must be made before the stations are built, so that none is lost in between.
#[derive(Debug)]
pub struct Signals(SignalFd);

impl Signals {
    /// Takes over the signals.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn take_over() -> Result<Self> {
        let taken = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
        let taken = taken.into_iter().chain(FOR_COMMANDS).chain([Signal::SIGTSTP]);
        let taken: SigSet = taken.collect();
        let mut blocked = taken;
        // A run in the background may write to the terminal and give it back to its owner.
        blocked.add(Signal::SIGTTOU);
        // A file that reaches the limit of its size is an error of writing and no end of the run.
        blocked.add(Signal::SIGXFSZ);
        blocked.thread_block().context(|| "block signals".into())?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self(SignalFd::with_flags(&taken, flags).context(|| "wait for signals".into())?))
    }

    /// Returns the number of a signal that has come since the last call; one that stops the process
    /// has stopped it, and is not returned.
    #[must_use]
    pub fn take(&self) -> Option<i32> {
        let signal = self.0.read_signal().ok()??.ssi_signo as i32;
        if is_stop(signal) {
            stop();
            return self.take();
        }
        Some(signal)
    }

    /// Tells whether a signal that ends a program has come since the last call.
    #[must_use]
    pub fn has_ending(&self) -> bool {
        let ending = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
        std::iter::from_fn(|| self.take()).any(|it| ending.iter().any(|end| *end as i32 == it))
    }
}

fn is_stop(signal: i32) -> bool {
    signal == Signal::SIGTSTP as i32
}

/// Stops this process, as a terminal does, until it is continued.
fn stop() {
    let signal: SigSet = [Signal::SIGTSTP].into_iter().collect();
    let _ = nix::sys::signal::raise(Signal::SIGTSTP);
    // It comes when it is let in.
    let _ = signal.thread_unblock();
    let _ = signal.thread_block();
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The way in which a run is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// When its command ends; signals go to the command.
    WithCommand,
    /// When a signal asks for it.
    OnSignal,
}

/// Carries packets through `node` until the run ends, and returns the outcome and the node.
///
/// # Errors
/// If a device or the stations vanish; the programs in them have then been killed.
pub fn run<N: Node>(
    stations: Stations,
    signals: &Signals,
    control_socket: Option<&ControlSocket>,
    ending: RunEnd,
    node: N,
    observer: &mut impl Observer<N>,
) -> Result<(RunOutcome, N)> {
    let clock = SystemClock::new().context(|| "make a clock".into())?;
    let work = RunWork { stations, line: None, ending };
    let control = RunControls { signals, socket: control_socket };
    run_on(clock, work, &control, node, observer)
}

/// A line, and the clock that its node has known before.
pub struct TimedLine {
    /// The clock that the node has known before.
    pub clock: SystemClock,
    /// The device of the line.
    pub line: LineDevice,
}

/// The devices between which a run carries packets, and its end.
struct RunWork {
    stations: Stations,
    line: Option<LineDevice>,
    ending: RunEnd,
}

/// The signals and the control socket of a run.
struct RunControls<'a> {
    signals: &'a Signals,
    socket: Option<&'a ControlSocket>,
}

/// As [`run`], for a node that has known its clock before, and whose last port is a line.
///
/// # Errors
/// As [`run`].
pub fn run_over_line<N: Node>(
    line: TimedLine,
    stations: Stations,
    signals: &Signals,
    node: N,
    observer: &mut impl Observer<N>,
) -> Result<(RunOutcome, N)> {
    let TimedLine { clock, line } = line;
    let work = RunWork { stations, line: Some(line), ending: RunEnd::WithCommand };
    let control = RunControls { signals, socket: None };
    run_on(clock, work, &control, node, observer)
}

/// Carries packets between stations, and a line if there is one, until the run ends.
fn run_on<N: Node>(
    clock: SystemClock,
    work: RunWork,
    control: &RunControls<'_>,
    node: N,
    observer: &mut impl Observer<N>,
) -> Result<(RunOutcome, N)> {
    let RunWork { mut stations, line, ending } = work;
    let RunControls { signals, socket: control_socket } = *control;
    let terminal = Terminal::of_this_process();
    let devices = stations.take_devices().into_iter().map(|it| Attached::Station(Box::new(it)));
    let devices: Vec<_> = devices.chain(line.map(Attached::Line)).collect();
    for (number, device) in devices.iter().enumerate() {
        watched(clock.watch_device(Port(number as u16), device))?;
    }
    watched(clock.watch_other(STATIONS, &stations))?;
    watched(clock.watch_other(SIGNALS, signals.0.as_fd()))?;
    for socket in control_socket.iter().flat_map(|it| it.sockets()) {
        watched(clock.watch_other(CONTROL_SOCKET, socket))?;
    }
    if let Some(keeper) = stations.keeper().and_then(Keeper::socket) {
        watched(clock.watch_other(KEEPER, keeper))?;
    }
    let mut run = Run {
        driver: EventLoop::new(node, clock, devices),
        stations,
        ending,
        status: 0,
        counters: Vec::new(),
        failed: Vec::new(),
        has_lost_keeper: false,
        has_just_begun: false,
        finished: false,
    };
    if let Some(limit) = observer.late_limit() {
        run.driver.set_limit(limit);
    }
    // Lateness is what programs see of a busy machine. The stations keep their own priority; who
    // may not raise it goes on as before.
    let before = system::priority().unwrap_or(0);
    let _ = system::set_priority(PRIORITY);
    let began = run.stations.begin();
    let result = began.and_then(|()| run.carry_on(signals, control_socket, observer));
    let duration = run.driver.clock_mut().now() - Instant::START;
    let result = result.and_then(|()| run.count());
    let _ = system::set_priority(before);
    terminal.restore();
    let drops = result?;
    let lateness = run.driver.lateness();
    observer.observe(Instant::START + duration, run.driver.node_mut());
    let Run { driver, status, counters, failed, has_lost_keeper, .. } = run;
    let outcome =
        RunOutcome { status, duration, lateness, counters, drops, failed, has_lost_keeper };
    Ok((outcome, driver.into_node()))
}

/// Says that an error occurred while a descriptor was handed to the clock.
fn watched(result: io::Result<()>) -> Result<()> {
    result.context(|| "watch a descriptor".into())
}

/// Carries packets between a device of the own namespace and a line until a signal asks for the
/// end, and returns the node.
///
/// # Errors
/// If the device vanishes.
pub fn run_here<N: Node>(
    line: TimedLine,
    device: StationDevice,
    signals: &Signals,
    node: N,
    observer: &mut impl Observer<N>,
) -> Result<(Duration, N)> {
    let TimedLine { clock, line } = line;
    watched(clock.watch_device(Port(0), &device))?;
    watched(clock.watch_device(Port(1), &line))?;
    watched(clock.watch_other(SIGNALS, signals.0.as_fd()))?;
    let devices = vec![Attached::Station(Box::new(device)), Attached::Line(line)];
    let mut driver = EventLoop::new(node, clock, devices);
    let began = driver.clock_mut().now();
    loop {
        driver.turn_until(observer.wakeup()).context(|| "carry packets".into())?;
        let now = driver.clock_mut().now();
        observer.observe(now, driver.node_mut());
        let _ = driver.clock_mut().take_others();
        if signals.take().is_some() {
            return Ok((now - began, driver.into_node()));
        }
    }
}

/// The device that a port of the node is attached to.
#[derive(Debug)]
pub(crate) enum Attached {
    Station(Box<StationDevice>),
    Line(LineDevice),
}

impl Attached {
    /// The device of a station; a line is none.
    fn station(&mut self) -> Option<&mut StationDevice> {
        match self {
            Self::Station(device) => Some(device),
            Self::Line(_) => None,
        }
    }
}

impl Device for Attached {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        match self {
            Self::Station(device) => device.receive(packets),
            Self::Line(line) => line.receive(packets),
        }
    }

    fn waited(&mut self) -> Option<Duration> {
        match self {
            Self::Station(device) => device.waited(),
            Self::Line(line) => line.waited(),
        }
    }

    fn send(&mut self, frame: Frame) -> io::Result<()> {
        match self {
            Self::Station(device) => device.send(frame),
            Self::Line(line) => line.send(frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Station(device) => device.flush(),
            Self::Line(line) => line.flush(),
        }
    }
}

impl AsFd for Attached {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Station(device) => device.as_fd(),
            Self::Line(line) => line.as_fd(),
        }
    }
}

struct Run<N> {
    driver: EventLoop<N, SystemClock, Attached>,
    stations: Stations,
    ending: RunEnd,
    status: u8,
    counters: Vec<KernelCounters>,
    failed: Vec<ProgramFailure>,
    has_lost_keeper: bool,
    /// The command has begun, and the observer does not know yet.
    has_just_begun: bool,
    finished: bool,
}

impl<N: Node> Run<N> {
    fn carry_on(
        &mut self,
        signals: &Signals,
        control_socket: Option<&ControlSocket>,
        observer: &mut impl Observer<N>,
    ) -> Result<()> {
        let mut clients = Clients::new(CLIENTS);
        while !self.finished {
            let at_once = clients.has_request().then_some(Instant::START);
            self.driver
                .turn_until(observer.wakeup().into_iter().chain(at_once).min())
                .context(|| "carry packets between the stations".into())?;
            self.note_ends(observer)?;
            let now = self.driver.clock_mut().now();
            observer.observe(now, self.driver.node_mut());
            for other in self.driver.clock_mut().take_others() {
                match other {
                    STATIONS => self.handle_message()?,
                    SIGNALS => self.handle_signals(signals, observer),
                    KEEPER => self.note_lost_keeper(observer)?,
                    CONTROL_SOCKET => {
                        while let Some(client) = control_socket.and_then(ControlSocket::accept) {
                            clients.add(client, self.driver.parts().0);
                        }
                    }
                    client => clients.attend(client, self.driver.parts().0),
                }
            }
            if core::mem::take(&mut self.has_just_begun) {
                self.driver
                    .act(|node, now| observer.command_began(now, node))
                    .context(|| "carry packets between the stations".into())?;
            }
            self.serve(&mut clients, observer)?;
        }
        Ok(())
    }

    /// Serves one request, if one waits.
    fn serve(&mut self, clients: &mut Clients, observer: &mut impl Observer<N>) -> Result<()> {
        let Some((client, line)) = clients.next_request(self.driver.parts().0) else {
            return Ok(());
        };
        let lateness = self.driver.lateness();
        let mut reply = None;
        self.driver
            .act(|node, now| reply = Some(observer.request(now, node, &lateness, &line)))
            .context(|| "carry packets between the stations".into())?;
        let clock = self.driver.parts().0;
        match reply {
            Some(Reply::Enter(line)) => match control_socket::announce(&self.stations) {
                Ok(descriptor) => clients.answer_with(client, &line, &descriptor),
                Err(error) => clients.answer(client, &requests::refused(&error), clock),
            },
            Some(Reply::Line(line)) => clients.answer(client, &line, clock),
            Some(Reply::End(line)) => {
                clients.answer(client, &line, clock);
                self.ask_to_end(Signal::SIGTERM as i32);
            }
            None => {}
        }
        Ok(())
    }

    /// Asks the stations to end, or the command, whose end is that of the run.
    fn ask_to_end(&mut self, signal: i32) {
        let message = match self.ending {
            RunEnd::OnSignal => Message::Finish,
            RunEnd::WithCommand => Message::Signal(signal),
        };
        // Stations that are gone have been told already; what they said last is still to come.
        let _ = self.stations.send(&message);
    }

    /// Waits no more for devices that are gone, and says which they are.
    fn note_ends(&mut self, observer: &mut impl Observer<N>) -> Result<()> {
        for port in 0..self.driver.devices().len() {
            let device = self.driver.devices_mut()[port].station();
            if !device.is_some_and(StationDevice::has_just_gone) {
                continue;
            }
            let (clock, devices) = self.driver.parts();
            clock.unwatch(&devices[port]).context(|| "watch a device no more".into())?;
            let (_, station, device) = self.stations.device(port);
            observer.lost(station, device);
        }
        Ok(())
    }

    /// Goes on without the keeper, and says so.
    fn note_lost_keeper(&mut self, observer: &mut impl Observer<N>) -> Result<()> {
        let clock = self.driver.parts().0;
        let Some(keeper) = self.stations.keeper_mut() else { return Ok(()) };
        if let Some(socket) = keeper.socket() {
            clock.unwatch(socket).context(|| "watch the keeper no more".into())?;
            let how = keeper.note_end();
            observer.warn(&format!("{how}: the run takes them back itself at its end"));
            self.has_lost_keeper = true;
        }
        Ok(())
    }

    /// Collects the counters of the kernels, and adds up the drops of the stations.
    fn count(&mut self) -> Result<Vec<StationDrops>> {
        self.stations.send(&Message::Count)?;
        self.finished = false;
        while !self.finished {
            self.handle_message()?;
        }
        let mut devices = Vec::new();
        let attached = self.driver.devices_mut().iter_mut();
        for (port, device) in attached.filter_map(Attached::station).enumerate() {
            let (station, _, name) = self.stations.device(port);
            let waiting = device.drain().context(|| format!("empty the device {name}"))?;
            let drops = device.drops();
            devices.push(DeviceAccount { station, device: name.to_owned(), drops, waiting });
        }
        Ok(account::stations(&self.counters, &devices))
    }

    fn handle_message(&mut self) -> Result<()> {
        match self.stations.receive()? {
            Message::Began => {
                self.has_just_begun = true;
                Ok(())
            }
            Message::Ended(status) => {
                self.status = status;
                Ok(())
            }
            Message::Counters(_, text) => {
                self.counters.push(KernelCounters::parse(&text));
                Ok(())
            }
            Message::Failure(status, station, line) => {
                self.failed.push(ProgramFailure { station: station.into(), line, status });
                Ok(())
            }
            Message::Idle | Message::Finished => {
                self.finished = true;
                Ok(())
            }
            Message::Failed(status, why) => Err(LiveError::Stations { status, why }),
            _ => Ok(()),
        }
    }

    fn handle_signals(&mut self, signals: &Signals, observer: &mut impl Observer<N>) {
        while let Ok(Some(signal)) = signals.0.read_signal() {
            let number = signal.ssi_signo as i32;
            if is_stop(number) {
                // The programs of this terminal are stopped by it as well.
                observer.suspend();
                stop();
                continue;
            }
            match self.ending {
                RunEnd::OnSignal if FOR_COMMANDS.iter().any(|it| *it as i32 == number) => {}
                // What a terminal sends, it sends to the command as well.
                RunEnd::WithCommand if signal.ssi_code == FROM_KERNEL => {}
                _ => self.ask_to_end(number),
            }
        }
    }
}
