//! The way into a run that goes on: other processes of the same user ask at a socket by name.
//!
//! The socket is an abstract one: it has no file, and vanishes with the process that holds it, so a
//! run that was killed leaves nothing behind, not even a name.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};

use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, Signal};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::control::{Control, Message};
use crate::error::{Doing, Error, Result};
use crate::plan::Program;
use crate::program;
use crate::stage::Stage;
use crate::terminal::Terminal;

/// What every name begins with.
const PREFIX: &str = "windfall/";

/// Where a run can be entered.
#[derive(Debug)]
pub struct Door(OwnedFd);

impl Door {
    /// Opens a door under a name of which there is only one at a time for each user.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn open(name: &str) -> Result<Self> {
        let doing = || format!("announce the run as \"{name}\" (give it another name)");
        let address = address(&format!("{PREFIX}{}/{name}", nix::unistd::geteuid()));
        let socket = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).doing(doing)?;
        address.and_then(|address| rustix::net::bind(&socket, &address)).doing(doing)?;
        rustix::net::listen(&socket, 8).doing(doing)?;
        Ok(Self(socket))
    }

    /// Lets in whoever waits, if it is the same user or root.
    pub(crate) fn admit(&self, stage: &Stage) {
        while let Ok(guest) = rustix::net::accept_with(&self.0, SocketFlags::CLOEXEC) {
            if is_friend(&guest) {
                // A guest that is gone again is no trouble of ours.
                let _ = hand_over(&Control::new(guest), stage);
            }
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The names of this user's runs that can be entered.
#[must_use]
pub fn runs() -> Vec<String> {
    let own = format!("@{PREFIX}{}/", nix::unistd::geteuid());
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let name = |line: &str| line.split_once(&own).map(|(_, name)| name.to_owned());
    let mut names: Vec<_> = sockets.lines().filter_map(name).collect();
    names.sort();
    names.dedup();
    names
}

/// Runs a program in a station of a run that goes on; returns the program's exit status.
///
/// # Errors
/// If there is no such run or station, or the program cannot be started.
pub fn enter(
    run: Option<&str>,
    station: &str,
    arguments: Vec<OsString>,
    interactive: bool,
) -> Result<u8> {
    let run = choose(run)?;
    let (place, stations) = ask(&run)?;
    let names = || stations.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let Some((_, network)) = stations.iter().find(|(name, _)| name == station) else {
        let why = format!("run \"{run}\" has no station \"{station}\"; it has {}", names());
        return Err(Error::NoSuchRun(why));
    };
    let directory = std::env::current_dir();
    let move_to = |namespace: &OwnedFd, kind| {
        nix::sched::setns(namespace, kind).doing(|| format!("enter station {station}"))
    };
    // The user namespace comes last in the list and first here: it gives the right to the others.
    for (namespace, kind) in place.iter().zip(KINDS).rev() {
        move_to(namespace, kind)?;
    }
    move_to(network, CloneFlags::CLONE_NEWNET)?;
    let environment = vec![("WINDFALL_STATION".into(), station.into())];
    let program = Program { station: 0, arguments, environment, interactive };
    let mut command = program::prepare(&program);
    if let Ok(directory) = directory {
        // Entering a mount namespace moves to its root.
        command.current_dir(directory);
    }
    let die_with_us = || {
        let signal = Some(rustix::process::Signal::KILL);
        Ok(rustix::process::set_parent_process_death_signal(signal)?)
    };
    // SAFETY: the closure makes one system call; the process has a single thread.
    unsafe { command.pre_exec(die_with_us) };
    // What a terminal sends goes to the program as well, and the program decides.
    let signals = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTTOU];
    let _ = signals.into_iter().collect::<SigSet>().thread_block();
    let terminal = Terminal::of_this_process();
    let spawned = command.status();
    terminal.restore();
    let name = program.arguments.first().map(|name| name.to_string_lossy().into_owned());
    let status =
        spawned.map_err(|source| Error::Spawn { program: name.unwrap_or_default(), source })?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// The kinds of the namespaces that a door hands over, in their order.
const KINDS: [CloneFlags; 3] =
    [CloneFlags::CLONE_NEWNS, CloneFlags::CLONE_NEWPID, CloneFlags::CLONE_NEWUSER];

/// The run that is meant: the one named, or the only one.
fn choose(run: Option<&str>) -> Result<String> {
    let runs = runs();
    match (run, &runs[..]) {
        (Some(name), _) if runs.iter().any(|run| run == name) => Ok(name.to_owned()),
        (None, [only]) => Ok(only.clone()),
        (_, []) => {
            Err(Error::NoSuchRun("no `windfall up` of yours is running; start one".to_owned()))
        }
        (Some(name), _) => {
            let names = runs.join(", ");
            Err(Error::NoSuchRun(format!("no run is called \"{name}\"; there are {names}")))
        }
        (None, _) => {
            let names = runs.join(", ");
            Err(Error::NoSuchRun(format!("several runs go on; choose one of {names} with --run")))
        }
    }
}

/// Asks a run for its namespaces: those that all stations share, and each station's own.
#[expect(clippy::type_complexity, reason = "two lists, used once")]
fn ask(run: &str) -> Result<(Vec<OwnedFd>, Vec<(String, OwnedFd)>)> {
    let doing = || format!("enter the run \"{run}\"");
    let address = address(&format!("{PREFIX}{}/{run}", nix::unistd::geteuid())).doing(doing)?;
    let socket = socket(SocketFlags::CLOEXEC).doing(doing)?;
    rustix::net::connect(&socket, &address).doing(doing)?;
    if !is_friend(&socket) {
        let why = format!("the run \"{run}\" belongs to another user");
        return Err(Error::NoSuchRun(why));
    }
    let control = Control::new(socket);
    let (mut place, mut stations) = (Vec::new(), Vec::new());
    while let Some(message) = control.receive().doing(doing)? {
        match message {
            Message::Place(namespaces) => place = namespaces,
            Message::Station(name, namespace) => stations.push((name, namespace)),
            _ => {}
        }
    }
    Ok((place, stations))
}

fn hand_over(guest: &Control, stage: &Stage) -> std::io::Result<()> {
    let copies = stage.place().iter().map(OwnedFd::try_clone);
    guest.send(&Message::Place(copies.collect::<std::io::Result<_>>()?))?;
    for (name, namespace) in stage.stations() {
        guest.send(&Message::Station(name.clone(), namespace.try_clone()?))?;
    }
    Ok(())
}

/// Whether the process at the other end belongs to this user or to root.
fn is_friend(socket: &OwnedFd) -> bool {
    let other = rustix::net::sockopt::socket_peercred(socket);
    other.is_ok_and(|other| {
        other.uid.is_root() || other.uid.as_raw() == nix::unistd::geteuid().as_raw()
    })
}

fn address(name: &str) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(name.as_bytes())
}

fn socket(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}
