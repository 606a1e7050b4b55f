//! The supervisor of the stations: builds them, starts and reaps programs, counts at the end.
//!
//! It is process 1 of its own process namespace. When it ends, the kernel kills every other process
//! in there, and nothing of the run is left.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::time::ClockId;
use nix::unistd::Pid;

use crate::control::{Control, Message};
use crate::error::{ErrorContext, LiveError, Result};
use crate::grace::{GracePeriod, Programs};
use crate::kernel;
use crate::lines::Lines;
use crate::namespace;
use crate::plan::{Listening, LivePlan, Program};
use crate::program;
use crate::setup::{self, Station};
use crate::system;
use windfall_system::Identity;

/// The time that a program beside the command may take to listen before the command starts; time in
/// which it waits for a processor or a disk does not count.
const LISTEN_GRACE: Duration = Duration::from_secs(1);
/// The upper limit of that time, with waits for a processor or a disk.
const MAX_LISTEN_GRACE: Duration = Duration::from_secs(10);
/// The time that it may take where a port is named.
const PORT_TIMEOUT: Duration = Duration::from_secs(30);
/// The time that programs may take to end when the command has ended; time in which they wait for a
/// processor or a disk does not count.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// The upper limit of that time, with waits for a processor or a disk.
const MAX_TERM_GRACE: Duration = Duration::from_secs(10);

/// The time that programs may take to end by themselves when the command has ended, before they are
/// told to; time in which they wait for a processor or a disk does not count.
const EXIT_GRACE: Duration = Duration::from_millis(100);
/// The upper limit of that time, with waits for a processor or a disk.
const MAX_EXIT_GRACE: Duration = Duration::from_secs(2);
/// A program that failed so shortly before an interrupt is known may have failed by it.
const JUST_NOW: Duration = Duration::from_millis(500);

/// The work of the supervisor.
#[derive(Clone, Debug)]
pub(crate) struct SupervisorTask {
    pub(crate) plan: LivePlan,
    /// The programs beside the command; started before it, ended after it.
    pub(crate) others: Vec<Program>,
    /// The command, whose end is the end of the run; without one the run lasts until it is told.
    pub(crate) command: Option<Program>,
    /// A user namespace lies around the stations.
    pub(crate) own_user: bool,
    /// The user as whom programs run, if not the caller.
    pub(crate) identity: Option<Identity>,
}

/// Supervises a run from its beginning to its end; returns the exit status of the process.
pub(crate) fn run(control: &Control, work: &SupervisorTask) -> u8 {
    // A caller that ignores the death of its children must not teach that to process 1.
    // SAFETY: the default action runs no code of ours.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
    // Nothing may happen before the identity is arranged, or if the run is gone already.
    if !matches!(control.receive(), Ok(Some(Message::Go))) {
        return 125;
    }
    match Supervisor::build(control, work).and_then(|mut first| first.run(work)) {
        Ok(()) => 0,
        Err(error) => {
            let _ = control.send(&Message::Failed(error.exit_code(), describe(&error)));
            error.exit_code()
        }
    }
}

/// Returns the error with its causes, in one line.
fn describe(error: &LiveError) -> String {
    // Causes are part of each message already.
    error.to_string().replace('\n', " ")
}

/// Returns the time of the system's clock.
fn now() -> Duration {
    Duration::from_nanos(system::nanos(ClockId::CLOCK_MONOTONIC).unsigned_abs())
}

/// The time of the system's clock at which a wait ends.
struct Deadline(Duration);

impl Deadline {
    fn after(span: Duration) -> Self {
        Self(now() + span)
    }

    fn is_over(&self) -> bool {
        now() >= self.0
    }
}

/// Blocks signals, and returns a descriptor from which they are read.
fn take_over(signals: &[Signal]) -> Result<SignalFd> {
    let signals: SigSet = signals.iter().copied().collect();
    signals.thread_block().context(|| "block signals".into())?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .context(|| "wait for signals".into())
}

/// The state of the supervisor while the run goes on.
struct Supervisor<'a> {
    control: &'a Control,
    stations: Vec<Station>,
    signals: SignalFd,
    /// Signals that ask the whole process group to end, this process included.
    interrupts: SignalFd,
    command: Option<Pid>,
    /// The programs beside the command, with their stations and what their users wrote.
    others: BTreeMap<Pid, (usize, String)>,
    /// Their output, where it is passed on line by line.
    lines: Vec<Lines>,
    /// The programs have been told to end, so that their exit statuses are no failures.
    told: bool,
    /// The programs that failed before, with the time: to be reported at the end.
    failures: Vec<(Duration, Message)>,
}

impl<'a> Supervisor<'a> {
    fn build(control: &'a Control, work: &SupervisorTask) -> Result<Self> {
        namespace::own_mounts()?;
        if work.plan.nat.is_some() {
            namespace::use_resolver()?;
        }
        namespace::use_names(&work.plan.stations);
        let (stations, kind) = setup::build_all(&work.plan)?;
        let send = |message| control.send(&message).context(|| "report the devices".into());
        for &(station, device) in &work.plan.ports {
            let ours = copy_descriptor(&stations[station].devices[device])?;
            send(Message::Device(station as u16, ours))?;
        }
        if let Some((station, device)) = work.plan.nat {
            send(Message::Outside(copy_descriptor(&stations[station].devices[device])?))?;
        }
        for &Listening { station, port, is_udp } in &work.plan.listening {
            setup::enter(stations[station].namespace.as_fd())?;
            let name = &work.plan.stations[station].name;
            send(Message::Listener(setup::listen(name, port, is_udp)?))?;
        }
        let own = stations.iter().filter(|station| !station.is_shared);
        for (station, name) in own.zip(work.plan.entry_socket.iter().cycle()) {
            setup::enter(station.namespace.as_fd())?;
            let entry_socket = setup::listen_as(name);
            send(Message::Door(
                entry_socket.context(|| "open the control socket in a station".into())?,
            ))?;
        }
        for (station, plan) in stations.iter().zip(&work.plan.stations) {
            send(Message::Station(plan.name.clone(), copy_descriptor(&station.namespace)?))?;
            send(Message::Hints(copy_descriptor(&station.hints)?))?;
        }
        let mut namespaces = vec![namespace::own("mnt")?, namespace::own("pid")?];
        if work.own_user {
            namespaces.push(namespace::own("user")?);
        }
        send(Message::Namespaces(namespaces))?;
        send(Message::Ready(kind))?;
        let signals = take_over(&[Signal::SIGCHLD])?;
        let interrupts = take_over(&[Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM])?;
        Ok(Self {
            control,
            stations,
            signals,
            interrupts,
            command: None,
            others: BTreeMap::new(),
            lines: Vec::new(),
            told: false,
            failures: Vec::new(),
        })
    }

    fn run(&mut self, work: &SupervisorTask) -> Result<()> {
        if !matches!(self.control.receive(), Ok(Some(Message::Go))) {
            return Ok(());
        }
        for program in &work.others {
            let station = &self.stations[program.station];
            let namespace = station.namespace.as_fd();
            let identity = work.identity.as_ref();
            // What is typed is for the command.
            let input = program::no_input()?;
            let (pid, lines) = program::start(program, namespace, identity, work.own_user, input)?;
            self.lines.extend(lines);
            let line = program.arguments.last().map(|line| line.to_string_lossy().into_owned());
            self.others.insert(pid, (program.station, line.unwrap_or_default()));
        }
        let interrupted = self.await_listeners(work)?;
        if let Some(status) = interrupted {
            let _ = self.control.send(&Message::Ended(status));
        } else if let Some(program) = &work.command {
            let station = &self.stations[program.station];
            let namespace = station.namespace.as_fd();
            let identity = work.identity.as_ref();
            let (command, lines) =
                program::start(program, namespace, identity, work.own_user, Stdio::inherit())?;
            self.lines.extend(lines);
            // What was sent before the command was there has reached only the others of the group.
            while let Some(signal) = self.take_interrupt() {
                let _ = kill(command, signal);
                self.excuse_failures();
            }
            self.command = Some(command);
            let _ = self.control.send(&Message::Began);
        }
        if interrupted.is_none() && self.attend()?.is_some_and(|status| status < 128) {
            self.wait_for_others()?;
        }
        self.end_all()?;
        self.count();
        Ok(())
    }

    /// Waits until the stations listen on the ports that are awaited; where none is, on as many
    /// sockets as programs were started, or some time.
    ///
    /// Returns the exit status if the run is told to end meanwhile.
    fn await_listeners(&mut self, work: &SupervisorTask) -> Result<Option<u8>> {
        let limit = Deadline::after(PORT_TIMEOUT);
        for &(station, port) in &work.plan.awaited {
            while !self.at(station, || kernel::listens_on(port))? {
                let why = match (self.has_programs(), limit.is_over()) {
                    (true, false) => None,
                    (true, true) => Some(format!("waited for {} s", PORT_TIMEOUT.as_secs())),
                    (false, _) => Some("its programs have ended".to_owned()),
                };
                if let Some(why) = why {
                    let station = work.plan.stations[station].name.clone();
                    return Err(LiveError::NotListening { port, station, why });
                }
                if let Some(status) = self.pause()? {
                    return Ok(Some(status));
                }
            }
        }
        let mut wanted = BTreeMap::<usize, usize>::new();
        for program in &work.others {
            *wanted.entry(program.station).or_default() += 1;
        }
        for Listening { station, .. } in &work.plan.listening {
            wanted.entry(*station).and_modify(|count| *count += 1);
        }
        wanted.retain(|station, _| work.plan.awaited.iter().all(|(known, _)| known != station));
        let mut grace = GracePeriod::new(now(), LISTEN_GRACE, MAX_LISTEN_GRACE);
        for (station, count) in wanted {
            while !self.others.is_empty() && !grace.is_over(now(), Programs::read()) {
                if self.at(station, || kernel::listeners() >= count)? {
                    break;
                }
                if let Some(status) = self.pause()? {
                    return Ok(Some(status));
                }
            }
        }
        Ok(None)
    }

    /// Calls `ask` in the network namespace of a station.
    fn at(&self, station: usize, ask: impl FnOnce() -> bool) -> Result<bool> {
        setup::enter(self.stations[station].namespace.as_fd())?;
        Ok(ask())
    }

    /// Tells whether anything runs in the stations.
    fn has_programs(&self) -> bool {
        // From process 1 this means everything in its namespace but itself.
        kill(Pid::from_raw(-1), None) != Err(nix::errno::Errno::ESRCH)
    }

    /// Waits 5 ms for programs to listen; returns the exit status if the run is to end.
    fn pause(&mut self) -> Result<Option<u8>> {
        self.wait(PollTimeout::from(5_u8))?;
        self.reap()?;
        if let Some(signal) = self.take_interrupt() {
            self.excuse_failures();
            return Ok(Some(128 + signal as u8));
        }
        match self.heard()? {
            None => Ok(None),
            Some(Message::Signal(signal)) => Ok(Some(128 + signal as u8)),
            Some(_) => Ok(Some(0)),
        }
    }

    /// Returns the next message of the run, if there is one.
    fn heard(&self) -> Result<Option<Message>> {
        let mut ready = [PollFd::new(self.control.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::ZERO).context(|| "wait".into())?;
        if ready[0].any() != Some(true) {
            return Ok(None);
        }
        match self.control.receive().context(|| "hear the run".into())? {
            Some(message) => Ok(Some(message)),
            // Without the run there is nothing left to do; the kernel is about to end this.
            None => std::process::exit(125),
        }
    }

    /// Reaps programs and does as it is told, until the run ends; returns the command's status if
    /// it has ended.
    fn attend(&mut self) -> Result<Option<u8>> {
        loop {
            if let Some(status) = self.reap()? {
                return Ok(Some(status));
            }
            self.wait(PollTimeout::NONE)?;
            match self.heard()? {
                Some(Message::Signal(signal)) => {
                    if let (Some(command), Ok(signal)) = (self.command, Signal::try_from(signal)) {
                        let _ = kill(command, signal);
                    }
                }
                Some(_) => return Ok(None),
                None => {}
            }
        }
    }

    /// Waits for programs that are about to end by themselves, as the peers of the command do.
    fn wait_for_others(&mut self) -> Result<()> {
        let mut grace = GracePeriod::new(now(), EXIT_GRACE, MAX_EXIT_GRACE);
        while !self.told && !self.others.is_empty() && !grace.is_over(now(), Programs::read()) {
            self.wait(PollTimeout::from(5_u8))?;
            // A program that could not be run is not missed any more.
            let _ = self.reap();
        }
        Ok(())
    }

    /// Returns an interrupt that has come since the last call: from a terminal, or from a process
    /// outside the run, such as `timeout`.
    ///
    /// A program of the run may end its own process group, which is that of the run as well.
    fn take_interrupt(&self) -> Option<Signal> {
        while let Ok(Some(signal)) = self.interrupts.read_signal() {
            // A sender outside this process namespace has no number in it.
            if signal.ssi_pid == 0 {
                return Signal::try_from(signal.ssi_signo as i32).ok();
            }
        }
        None
    }

    /// Checks whether the programs have been interrupted; their exit statuses are then no failures.
    fn check_interrupts(&mut self) {
        if self.take_interrupt().is_some() {
            self.excuse_failures();
        }
    }

    /// Attributes the exit statuses of programs from now on, and of just now, to an interrupt.
    fn excuse_failures(&mut self) {
        self.told = true;
        let since = now().saturating_sub(JUST_NOW);
        self.failures.retain(|(at, _)| *at < since);
    }

    /// Waits for the end of a program or a message of the run, and passes on what programs write.
    fn wait(&mut self, timeout: PollTimeout) -> Result<()> {
        let others = self.lines.iter().map(AsFd::as_fd);
        let all = [self.control.as_fd(), self.signals.as_fd()].into_iter().chain(others);
        let mut ready: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut ready, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error).context(|| "wait for programs".into()),
        }
        let ready: Vec<bool> = ready.iter().skip(2).map(|fd| fd.any() == Some(true)).collect();
        let mut ready = ready.into_iter();
        let mut err = std::io::stderr();
        self.lines.retain_mut(|lines| ready.next() != Some(true) || lines.pass_on(&mut err));
        while let Ok(Some(_)) = self.signals.read_signal() {}
        Ok(())
    }

    /// Reaps every process that has ended; reports the programs beside the command that failed,
    /// and the command's end, whose status it returns.
    ///
    /// # Errors
    /// If a program beside the command could not be run, as its shell says by its status: the
    /// command would wait without end.
    fn reap(&mut self) -> Result<Option<u8>> {
        let mut ended = None;
        if self.command.is_some() {
            self.check_interrupts();
        }
        loop {
            let Ok(Some((pid, status))) = system::reap() else {
                return Ok(ended);
            };
            match (self.others.remove(&pid), status) {
                (Some((_, line)), 126 | 127) => return Err(LiveError::Shell { line, status }),
                (Some((station, line)), 1..) if !self.told => {
                    let failure = Message::Failure(status, station as u16, line);
                    self.failures.push((now(), failure));
                }
                _ => {}
            }
            if self.command == Some(pid) {
                self.command = None;
                ended = Some(status);
                let _ = self.control.send(&Message::Ended(status));
            }
        }
    }

    /// Asks every program to end, and waits a while for those that do.
    fn end_all(&mut self) -> Result<()> {
        // From process 1 this reaches everything in its namespace but itself.
        let everything = Pid::from_raw(-1);
        self.check_interrupts();
        self.told = true;
        for (_, failure) in self.failures.drain(..) {
            let _ = self.control.send(&failure);
        }
        let _ = kill(everything, Signal::SIGTERM);
        let _ = kill(everything, Signal::SIGCONT);
        let mut grace = GracePeriod::new(now(), TERM_GRACE, MAX_TERM_GRACE);
        while !grace.is_over(now(), Programs::read()) {
            // A program that could not be run is not missed any more.
            let _ = self.reap();
            if !self.has_programs() {
                break;
            }
            self.wait(PollTimeout::from(20_u8))?;
        }
        self.lines.iter_mut().for_each(|lines| lines.drain(&mut std::io::stderr()));
        Ok(())
    }

    /// Reports the counters of every station, when nothing is on its way to them any more.
    fn count(&self) {
        let _ = self.control.send(&Message::Idle);
        // Whatever else the run has said meanwhile comes too late.
        while !matches!(self.control.receive(), Ok(Some(Message::Count) | None) | Err(_)) {}
        for (number, station) in self.stations.iter().enumerate() {
            if setup::enter(station.namespace.as_fd()).is_ok() {
                let text = kernel::read_files(station.is_shared);
                let _ = self.control.send(&Message::Counters(number as u16, text));
            }
        }
        let _ = self.control.send(&Message::Finished);
    }
}

/// Returns a copy of a descriptor.
fn copy_descriptor(descriptor: &std::os::fd::OwnedFd) -> Result<std::os::fd::OwnedFd> {
    descriptor.try_clone().context(|| "copy a descriptor".into())
}
