//! The control socket of a run: other processes of the same user ask at a socket by name.
//!
//! What clients say are lines of JSON, which `docs/reference/control.md` describes; the module
//! `requests` serves them.
//!
//! The socket lies in a directory that belongs to the user alone, where no other user can take its
//! name: that of the session, or one among the temporary files. A socket that a killed run left
//! there is removed by the next process that looks. Where there is no such directory, or the path
//! is too long for the address of a socket, it is an abstract one, with a number after its name so
//! that no other process can have taken it before. A process that enters checks the owner of the
//! socket. An abstract name is one of a network namespace, so that the run listens under it in each
//! of its stations as well.

mod enter;
mod witness;

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, OFlag, fcntl};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, getsockopt, listen,
    setsockopt,
    sockopt::{PeerCredentials, SendTimeout},
};
use nix::sys::time::{TimeVal, TimeValLike as _};
use nix::time::ClockId;

use crate::control::{Control, Message};
use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::LivePlan;
use crate::stations::Stations;
use crate::system;

pub use enter::enter;

/// The beginning of every abstract name.
const PREFIX: &str = "windfall/";
/// The user's directory of sockets, in that of everything that lasts as long as the session.
const FOLDER: &str = "windfall";
/// The beginning of the names of runs that were given none; the number of the process follows.
const UNNAMED: &str = "run-";
/// The folder of everybody's temporary files.
const TEMPORARY: &str = "/tmp";
/// Why a process in a run may not find the run.
const NOT_SEEN: &str = "the run around this program is another user's, or XDG_RUNTIME_DIR was \
                        another when it began; ask from a shell outside, or unset that variable";
/// The longest name of a run.
pub const LONGEST: usize = 60;
/// The names that runs may have, in words.
pub const ALLOWED: &str = "up to 60 letters without /, = and control characters, neither uplink \
                           nor downlink, beginning with no . and no -";
/// The time that a process which enters may take to hear what the stations are.
const ANSWER_SECONDS: i64 = 2;
/// The number of clients that may wait.
const WAITING: i32 = 64;

/// The socket at which a run can be entered.
#[derive(Debug)]
pub struct ControlSocket {
    socket: OwnedFd,
    /// The socket's file, if it is none of the abstract ones.
    path: Option<PathBuf>,
    abstract_name: String,
    /// The sockets of the same abstract name in the stations.
    doors: Vec<OwnedFd>,
}

impl ControlSocket {
    /// Opens a control socket under a name of which there is only one at a time for each user; it
    /// counts in the stations too, if they were built for that by [`plan`](Self::plan).
    ///
    /// # Errors
    /// If the name is taken or not allowed.
    pub fn open(name: &str, stations: &mut Stations) -> Result<Self> {
        check_name(name)?;
        let doing = || format!("announce the run as \"{name}\"");
        let taken = || {
            let why = format!("a run of yours is called \"{name}\" already: give another --name");
            Err(LiveError::NoSuchRun(why))
        };
        let socket = socket(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK).context(doing)?;
        let Some(folder) = folder_for(name) else {
            if find().iter().any(|run| run.name == name) {
                return taken();
            }
            let full = abstract_name(name);
            listen_at(&socket, UnixAddr::new_abstract(full.as_bytes())).context(doing)?;
            let doors = stations.take_doors();
            return Ok(Self { socket, path: None, abstract_name: full, doors });
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
        Ok(Self { socket, path: Some(path), abstract_name: String::new(), doors: Vec::new() })
    }

    /// Lets a run of this name listen in its stations too, where programs in them would not find
    /// its socket otherwise.
    pub fn plan(name: &str, plan: &mut LivePlan) {
        plan.entry_socket = folder_for(name).is_none().then(|| abstract_name(name));
    }

    /// All sockets at which clients connect.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        core::iter::once(&self.socket).chain(&self.doors).map(AsFd::as_fd)
    }

    /// Takes the next client that waits; those of other users but root are sent away.
    pub(crate) fn accept(&self) -> Option<OwnedFd> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        for socket in self.sockets() {
            while let Ok(client) = accept4(socket.as_raw_fd(), flags) {
                // SAFETY: the descriptor was just opened, and nothing else holds it.
                let client = unsafe { OwnedFd::from_raw_fd(client) };
                if may_enter(&client) {
                    return Some(client);
                }
            }
        }
        None
    }

    /// The address of the socket: its path, or `@` and the name of an abstract one.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => format!("@{}", self.abstract_name),
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// The directory for the socket of a run of this name, if there is one that fits.
fn folder_for(name: &str) -> Option<PathBuf> {
    folder(true).filter(|folder| UnixAddr::new(&folder.join(name)).is_ok())
}

/// The abstract name of the socket of a run of this process.
fn abstract_name(name: &str) -> String {
    static NUMBER: OnceLock<i64> = OnceLock::new();
    let number = NUMBER.get_or_init(|| system::nanos(ClockId::CLOCK_MONOTONIC) % 1_000_000_000);
    format!("{PREFIX}{}/{name}/{}-{number}", nix::unistd::geteuid(), std::process::id())
}

/// Binds a socket to an address, if there is one, and listens there.
fn listen_at(socket: &OwnedFd, address: nix::Result<UnixAddr>) -> nix::Result<()> {
    bind(socket.as_raw_fd(), &address?)?;
    listen(socket, Backlog::new(WAITING)?)
}

/// A run of this user, and a connection to it.
#[derive(Debug)]
pub struct RunSocket {
    /// The name of the run.
    pub name: String,
    /// The address of its socket: a path, or `@` and the name of an abstract one.
    pub address: String,
    /// A connection, on which nothing was said yet; reading it waits.
    pub socket: UnixStream,
}

impl RunSocket {
    fn new(name: &str, address: String, socket: OwnedFd) -> Option<Self> {
        fcntl(&socket, FcntlArg::F_SETFL(OFlag::empty())).ok()?;
        Some(Self { name: name.to_owned(), address, socket: socket.into() })
    }
}

/// The name of a run that was given none.
#[must_use]
pub fn default_name() -> String {
    format!("{UNNAMED}{}", std::process::id())
}

/// Tells whether a run was given no name of its own.
fn is_unnamed(name: &str) -> bool {
    let number = name.strip_prefix(UNNAMED);
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Tells whether this may name a run: the name is that of a file, and is shown to users.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_plain = !name.chars().any(|it| it.is_control() || it == '/');
    // Commands tell a name from the settings behind it.
    let is_setting = name.contains('=') || ["uplink", "downlink"].contains(&name);
    (1..=LONGEST).contains(&name.len()) && is_plain && !is_setting && !name.starts_with(['.', '-'])
}

/// Refuses what cannot name a run.
///
/// # Errors
/// If it is no name.
pub fn check_name(name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(LiveError::NoSuchRun(format!("\"{name}\" cannot name a run: give it {ALLOWED} by --name")))
}

/// Returns the directory of the user's sockets, if there is one that no other user can enter; makes
/// it if asked to.
fn folder(make: bool) -> Option<PathBuf> {
    let user = nix::unistd::geteuid();
    let is_own = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| it.is_dir() && it.uid() == user.as_raw() && it.mode() & 0o077 == 0)
    };
    let named = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let is_named = named.is_some();
    let session = named.map_or_else(|| format!("/run/user/{user}").into(), PathBuf::from);
    let has_session = session.is_absolute() && is_own(&session);
    // Who has no session, as in a container, has a directory among the temporary files, of which no
    // other user can take more than the name.
    let folder = match (has_session, is_named) {
        (true, _) => session.join(FOLDER),
        (false, true) => return None,
        (false, false) => format!("{TEMPORARY}/{FOLDER}-{user}").into(),
    };
    if make {
        let _ = fs::DirBuilder::new().mode(0o700).create(&folder);
    }
    is_own(&folder).then_some(folder)
}

/// Returns the directory in which no run of this user is looked for, though it is there, since
/// others could enter it.
#[must_use]
pub fn distrusted() -> Option<PathBuf> {
    let user = nix::unistd::geteuid();
    let session = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
    let session = session.map_or_else(|| format!("/run/user/{user}").into(), PathBuf::from);
    let temporary = PathBuf::from(format!("{TEMPORARY}/{FOLDER}-{user}"));
    let own = session.join(FOLDER);
    let is_open = |path: &PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|it| it.is_dir() && it.mode() & 0o077 != 0)
    };
    let has_runs = own.is_dir();
    [session, own, temporary].into_iter().find(|path| has_runs && is_open(path))
}

/// Returns the runs of this user, by their names; sockets that killed runs have left are removed.
#[must_use]
pub fn find() -> Vec<RunSocket> {
    let mut runs = Vec::new();
    let entries = folder(false).and_then(|folder| fs::read_dir(folder).ok());
    for entry in entries.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        match UnixAddr::new(&entry.path()).and_then(|address| connect(&address)) {
            Ok(socket) if is_name(&name) && is_own(&socket) => {
                let address = entry.path().display().to_string();
                runs.extend(RunSocket::new(&name, address, socket));
            }
            Err(Errno::ECONNREFUSED) => remove_left_behind(&entry.path()),
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
            runs.extend(RunSocket::new(name, format!("@{own}{full}"), socket));
        }
    }
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    runs
}

/// Removes the socket of a run that was killed.
///
/// One that was just bound and does not listen yet refuses clients, too, and a new one may have
/// taken the place of a dead one since. So nothing is removed while a run opens its own.
fn remove_left_behind(path: &Path) {
    let lock = path.parent().and_then(|folder| fs::File::open(folder).ok());
    let lock = lock.and_then(|it| Flock::lock(it, FlockArg::LockExclusiveNonblock).ok());
    let is_dead = || {
        let connected = UnixAddr::new(path).and_then(|address| connect(&address));
        matches!(connected, Err(Errno::ECONNREFUSED))
    };
    if lock.is_some() && is_dead() {
        let _ = fs::remove_file(path);
    }
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

/// Returns the run of this name; without one the only run, where runs that were given no name of
/// their own count only if no other is there.
///
/// # Errors
/// If there is none or several; names those that are there.
pub fn choose(run: Option<&str>) -> Result<RunSocket> {
    let mut runs = find();
    let names = runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let only = |is_candidate: &dyn Fn(&RunSocket) -> bool| {
        let mut found = runs.iter().enumerate().filter(|(_, run)| is_candidate(run));
        found.next().filter(|_| found.next().is_none()).map(|(place, _)| place)
    };
    let found = match run {
        Some(name) => only(&|run| run.name == name),
        None => only(&|run| !is_unnamed(&run.name)).or_else(|| only(&|_| true)),
    };
    match (run, found) {
        (_, Some(place)) => Ok(runs.swap_remove(place)),
        _ if runs.is_empty() => {
            let why = match distrusted() {
                Some(folder) => not_searched(&folder),
                None if is_inside() => NOT_SEEN.to_owned(),
                None => "start one with `windfall up` or `windfall run`".to_owned(),
            };
            Err(LiveError::NoSuchRun(format!("no run of yours is there: {why}")))
        }
        (Some(name), None) => {
            Err(LiveError::NoSuchRun(format!("no run is called \"{name}\"; there are {names}")))
        }
        (None, None) => {
            Err(LiveError::NoSuchRun(format!("there are several runs; name one of {names}")))
        }
    }
}

/// Tells whether this process is in a run.
fn is_inside() -> bool {
    std::env::var_os("WINDFALL_BASE").is_some()
}

/// Says why a directory is not looked into.
#[must_use]
pub fn not_searched(folder: &Path) -> String {
    let folder = folder.display();
    format!("{folder} is not looked into, since others may enter it: chmod 700 {folder}")
}

/// Returns a descriptor at which another process learns what the stations of a run are.
pub(crate) fn announce(stations: &Stations) -> std::io::Result<OwnedFd> {
    let copies = stations.shared_namespaces().iter().map(OwnedFd::try_clone);
    let mut messages = vec![Message::Namespaces(copies.collect::<std::io::Result<_>>()?)];
    for ((name, namespace), neighbour) in stations.namespaces().iter().zip(stations.neighbours()) {
        messages.extend(neighbour.map(Message::Neighbour));
        messages.push(Message::Station(name.clone(), namespace.try_clone()?));
    }
    let (ours, theirs) = Control::pair()?;
    setsockopt(&ours, SendTimeout, &TimeVal::seconds(ANSWER_SECONDS))?;
    // Whoever does not take what it has asked for must not hold up the run.
    std::thread::Builder::new()
        .spawn(move || messages.iter().try_for_each(|message| ours.send(message)))?;
    Ok(theirs.into_socket())
}

/// Tells whether the process at the peer socket belongs to this user or to root.
fn may_enter(socket: &OwnedFd) -> bool {
    let other = getsockopt(socket, PeerCredentials);
    other.is_ok_and(|other| other.uid() == 0 || other.uid() == nix::unistd::geteuid().as_raw())
}

fn socket(flags: SockFlag) -> nix::Result<OwnedFd> {
    nix::sys::socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)
}
