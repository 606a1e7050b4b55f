//! The control socket of a run: other processes of the same user ask at a socket by name.
//!
//! The socket lies in a directory that belongs to the user alone, where no other user can take its
//! name; one that a killed run left there is removed by the next process that looks. Where there is
//! no such directory the socket is an abstract one, with a number after its name so that no other
//! process can have taken it before. A process that enters checks the owner of the socket.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, OFlag, fcntl};
use nix::sched::CloneFlags;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, getsockopt, listen,
    sockopt::PeerCredentials,
};
use nix::time::ClockId;

use crate::control::{Control, Message};
use crate::error::{Context, LiveError, Result};
use crate::identity::Identity;
use crate::plan::{Program, ProgramOutput, neighbour_variables};
use crate::program;
use crate::stations::Stations;
use crate::system;
use crate::terminal::Terminal;

/// The beginning of every abstract name.
const PREFIX: &str = "windfall/";
/// The user's directory of sockets, in that of everything that lasts as long as the session.
const FOLDER: &str = "windfall";
/// The longest name of a run.
pub const LONGEST: usize = 60;
/// The number of clients that may wait.
const WAITING: i32 = 64;

/// The socket at which a run can be entered.
#[derive(Debug)]
pub struct ControlSocket {
    socket: OwnedFd,
    /// The socket's file, if it is none of the abstract ones.
    path: Option<PathBuf>,
}

impl ControlSocket {
    /// Opens a control socket under a name of which there is only one at a time for each user.
    ///
    /// # Errors
    /// If the name is taken or not allowed.
    pub fn open(name: &str) -> Result<Self> {
        check_name(name)?;
        let doing = || format!("announce the run as \"{name}\"");
        let taken = || {
            let why = format!("a run of yours is called \"{name}\" already: give another --name");
            Err(LiveError::NoSuchRun(why))
        };
        let socket = socket(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK).context(doing)?;
        let Some(folder) = folder(true) else {
            if find().iter().any(|run| run.name == name) {
                return taken();
            }
            let user = nix::unistd::geteuid();
            let number = system::nanos(ClockId::CLOCK_MONOTONIC) % 1_000_000_000;
            let full = format!("{PREFIX}{user}/{name}/{}-{number}", std::process::id());
            listen_at(&socket, UnixAddr::new_abstract(full.as_bytes())).context(doing)?;
            return Ok(Self { socket, path: None });
        };
        // Two that begin at once must not take each other's socket for one that was left behind.
        let lock = fs::File::open(&folder).context(doing)?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, error)| error)
            .context(doing)?;
        if find().iter().any(|run| run.name == name) {
            return taken();
        }
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        listen_at(&socket, UnixAddr::new(&path)).context(doing)?;
        Ok(Self { socket, path: Some(path) })
    }

    /// Serves whoever waits, if it is the same user or root.
    pub(crate) fn serve(&self, stations: &Stations) {
        while let Ok(client) = accept4(self.socket.as_raw_fd(), SockFlag::SOCK_CLOEXEC) {
            // SAFETY: the descriptor was just opened, and nothing else holds it.
            let client = unsafe { OwnedFd::from_raw_fd(client) };
            if may_enter(&client) {
                // A client that is gone again is no failure of the run.
                let _ = send_namespaces(&Control::new(client), stations);
            }
        }
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Binds a socket to an address, if there is one, and listens there.
fn listen_at(socket: &OwnedFd, address: nix::Result<UnixAddr>) -> nix::Result<()> {
    bind(socket.as_raw_fd(), &address?)?;
    listen(socket, Backlog::new(WAITING)?)
}

/// A run that can be entered, and a connection to it.
struct RunSocket {
    name: String,
    socket: OwnedFd,
}

/// Tells whether this may name a run: the name is that of a file, and is shown to users.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_plain = !name.chars().any(|it| it.is_control() || it == '/');
    (1..=LONGEST).contains(&name.len()) && is_plain && !name.starts_with('.')
}

/// Refuses what cannot name a run.
///
/// # Errors
/// If it is no name.
pub fn check_name(name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(LiveError::NoSuchRun(format!(
        "\"{name}\" cannot name a run: give it up to {LONGEST} letters without / by --name"
    )))
}

/// Returns the directory of the user's sockets, if there is one that no other user can enter; makes
/// it if asked to.
fn folder(make: bool) -> Option<PathBuf> {
    let user = nix::unistd::geteuid();
    let is_own = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| it.is_dir() && it.uid() == user.as_raw() && it.mode() & 0o077 == 0)
    };
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let session = session.map_or_else(|| format!("/run/user/{user}").into(), PathBuf::from);
    let folder = session.is_absolute().then(|| session.join(FOLDER))?;
    if make && is_own(&session) {
        let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    }
    is_own(&folder).then_some(folder)
}

/// Returns the runs of this user that can be entered.
fn find() -> Vec<RunSocket> {
    let mut runs = Vec::new();
    let entries = folder(false).and_then(|folder| fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        match UnixAddr::new(&entry.path()).and_then(|address| connect(&address)) {
            Ok(socket) if is_name(&name) && is_own(&socket) => {
                runs.push(RunSocket { name, socket });
            }
            // Its run was killed.
            Err(Errno::ECONNREFUSED) => drop(fs::remove_file(entry.path())),
            _ => {}
        }
    }
    let own = format!("{PREFIX}{}/", nix::unistd::geteuid());
    // Any user can make any name appear here: only what answers as this user counts.
    let sockets = fs::read("/proc/net/unix").unwrap_or_default();
    for line in String::from_utf8_lossy(&sockets).lines() {
        let Some((_, full)) = line.split_once(&format!(" @{own}")) else { continue };
        let Some((name, _)) = full.rsplit_once('/').filter(|(name, _)| is_name(name)) else {
            continue;
        };
        let address = UnixAddr::new_abstract(format!("{own}{full}").as_bytes());
        if let Ok(socket) = address.and_then(|address| connect(&address))
            && is_own(&socket)
            && !runs.iter().any(|run| run.name == name)
        {
            runs.push(RunSocket { name: name.to_owned(), socket });
        }
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    runs
}

/// Connects without waiting for whoever listens and never answers.
fn connect(address: &UnixAddr) -> nix::Result<OwnedFd> {
    let socket = socket(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
    nix::sys::socket::connect(socket.as_raw_fd(), address)?;
    Ok(socket)
}

/// Tells whether the process that listens at the peer socket is this user's.
fn is_own(socket: &OwnedFd) -> bool {
    let other = getsockopt(socket, PeerCredentials);
    other.is_ok_and(|other| other.uid() == nix::unistd::geteuid().as_raw())
}

/// Runs a program in a station of a run of `windfall up`; returns the program's exit status.
///
/// It runs as the user who called through sudo, if there is one, unless it is to run `as_root`.
///
/// # Errors
/// If there is no such run or station, or the program cannot be started.
pub fn enter(
    run: Option<&str>,
    station: &str,
    arguments: Vec<OsString>,
    interactive: bool,
    as_root: bool,
) -> Result<u8> {
    let run = choose(run)?;
    let identity = Identity::of_caller(as_root)?;
    let name = &run.name;
    let (shared, stations) = ask(&run)?;
    let names = || stations.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(found) = stations.iter().find(|it| it.name == station) else {
        let why = format!("run \"{name}\" has no station \"{station}\"; it has {}", names());
        return Err(LiveError::NoSuchRun(why));
    };
    let directory = std::env::current_dir();
    let move_to = |namespace: &OwnedFd, kind| {
        nix::sched::setns(namespace, kind).context(|| format!("enter station {station}"))
    };
    // The user namespace comes last in the list and first here: it gives the right to the others.
    for (namespace, kind) in shared.iter().zip(KINDS).rev() {
        move_to(namespace, kind)?;
    }
    move_to(&found.network, CloneFlags::CLONE_NEWNET)?;
    let mut environment = vec![("WINDFALL_STATION".into(), station.into())];
    environment.extend(found.neighbour.into_iter().flat_map(|it| neighbour_variables(Some(it))));
    let output = ProgramOutput::Inherit;
    let program = Program { station: 0, arguments, environment, interactive, output };
    let mut command =
        program::prepare(&program, None, identity.as_ref(), shared.len() == KINDS.len());
    if let Ok(directory) = directory {
        // Entering a mount namespace moves to its root.
        command.current_dir(directory);
    }
    let die_with_us = || Ok(set_pdeathsig(Signal::SIGKILL)?);
    // SAFETY: the closure makes one system call; the process has a single thread.
    unsafe { command.pre_exec(die_with_us) };
    // Signals of a terminal go to the program as well, which decides.
    let signals = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTTOU];
    let _ = signals.into_iter().collect::<SigSet>().thread_block();
    let terminal = Terminal::of_this_process();
    let spawned = command.status();
    terminal.restore();
    let name = program.arguments.first().map(|name| name.to_string_lossy().into_owned());
    let status =
        spawned.map_err(|source| LiveError::Spawn { program: name.unwrap_or_default(), source })?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// The kinds of the namespaces that a control socket sends, in their order.
const KINDS: [CloneFlags; 3] =
    [CloneFlags::CLONE_NEWNS, CloneFlags::CLONE_NEWPID, CloneFlags::CLONE_NEWUSER];

/// Returns the run of this name, or the only one.
fn choose(run: Option<&str>) -> Result<RunSocket> {
    let mut runs = find();
    let names = runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match run {
        Some(name) => runs.iter().position(|run| run.name == name),
        None => (runs.len() == 1).then_some(0),
    };
    match (run, found) {
        (_, Some(place)) => Ok(runs.swap_remove(place)),
        _ if runs.is_empty() => {
            Err(LiveError::NoSuchRun("no `windfall up` of yours is running; start one".to_owned()))
        }
        (Some(name), None) => {
            Err(LiveError::NoSuchRun(format!("no run is called \"{name}\"; there are {names}")))
        }
        (None, None) => Err(LiveError::NoSuchRun(format!(
            "there are several runs; choose one of {names} with --run"
        ))),
    }
}

/// A station of a run that can be entered.
struct OpenStation {
    name: String,
    network: OwnedFd,
    neighbour: Option<IpAddr>,
}

/// Asks a run for the namespaces that all stations share, and for its stations.
fn ask(run: &RunSocket) -> Result<(Vec<OwnedFd>, Vec<OpenStation>)> {
    let doing = || format!("enter the run \"{}\"", run.name);
    let socket = run.socket.try_clone().context(doing)?;
    fcntl(&socket, FcntlArg::F_SETFL(OFlag::empty())).context(doing)?;
    let control = Control::new(socket);
    let mut shared = Vec::new();
    let (mut stations, mut neighbour) = (Vec::new(), None);
    while let Some(message) = control.receive().context(doing)? {
        match message {
            Message::Namespaces(namespaces) => shared = namespaces,
            Message::Neighbour(address) => neighbour = Some(address),
            Message::Station(name, network) => {
                stations.push(OpenStation { name, network, neighbour: neighbour.take() });
            }
            _ => {}
        }
    }
    Ok((shared, stations))
}

fn send_namespaces(client: &Control, stations: &Stations) -> std::io::Result<()> {
    let copies = stations.shared_namespaces().iter().map(OwnedFd::try_clone);
    client.send(&Message::Namespaces(copies.collect::<std::io::Result<_>>()?))?;
    for ((name, namespace), neighbour) in stations.namespaces().iter().zip(stations.neighbours()) {
        if let Some(address) = neighbour {
            client.send(&Message::Neighbour(*address))?;
        }
        client.send(&Message::Station(name.clone(), namespace.try_clone()?))?;
    }
    Ok(())
}

/// Tells whether the process at the peer socket belongs to this user or to root.
fn may_enter(socket: &OwnedFd) -> bool {
    let other = getsockopt(socket, PeerCredentials);
    other.is_ok_and(|other| other.uid() == 0 || other.uid() == nix::unistd::geteuid().as_raw())
}

fn socket(flags: SockFlag) -> nix::Result<OwnedFd> {
    nix::sys::socket::socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}
