//! Programs of others in the stations of a run: `windfall exec`.

use std::ffi::OsString;
use std::io::{IoSliceMut, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::prctl::{self, set_pdeathsig};
use nix::sys::signal::{self, SigHandler, SigSet, Signal};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

use super::{RunSocket, choose, is_inside};
use crate::control::{Control, Message};
use crate::error::{ErrorContext, LiveError, Result};
use crate::identity::Identity;
use crate::plan::{Program, ProgramOutput, neighbour_variables};
use crate::program;
use crate::terminal::Terminal;

/// Why a program in a run cannot enter its stations.
const CLOSED: &str = "Linux lets only processes with CAP_SYS_ADMIN change their network \
                      namespace, and an ordinary user's programs in a run have none; do it from a \
                      shell outside, or start the program by --far";
/// Why a program in a run cannot enter those of a run around it.
const AROUND: &str = "Linux lets no process out of its process namespace, and the run is around \
                      that of this program; do it from a shell outside";

/// Tells whether this process is in this user namespace.
fn is_own_user(namespace: &OwnedFd) -> bool {
    let own = std::fs::metadata("/proc/self/ns/user");
    let other = std::fs::metadata(format!("/proc/self/fd/{}", namespace.as_raw_fd()));
    own.is_ok_and(|own| other.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino())))
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
    let move_to = |namespace: &OwnedFd, kind| match nix::sched::setns(namespace, kind) {
        // What lies around a namespace cannot be entered from it, nor what needs rights.
        Err(error @ (Errno::EINVAL | Errno::EPERM)) if is_inside() => {
            let why = if error == Errno::EPERM { CLOSED } else { AROUND };
            Err(LiveError::NoSuchRun(format!(
                "station {station} of \"{name}\" cannot be entered from inside a run: {why}"
            )))
        }
        outcome => outcome.context(|| format!("enter station {station}")),
    };
    // The user namespace comes last in the list and first here: it gives the right to the others.
    for (namespace, kind) in shared.iter().zip(KINDS).rev() {
        // That in which this process is already cannot be entered again.
        if kind != CloneFlags::CLONE_NEWUSER || !is_own_user(namespace) {
            move_to(namespace, kind)?;
        }
    }
    move_to(&found.network, CloneFlags::CLONE_NEWNET)?;
    let mut environment = vec![("WINDFALL_STATION".into(), station.into())];
    environment.extend(found.neighbour.into_iter().flat_map(|it| neighbour_variables(Some(it))));
    let output = ProgramOutput::Inherit;
    let program = Program { station: 0, arguments, environment, interactive, output };
    let mut command =
        program::prepare(&program, Vec::new(), identity.as_ref(), shared.len() == KINDS.len());
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
    if let Some(signal) = status.signal() {
        let _ = end_by(signal);
    }
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// Ends this process by a signal, as the program that it stands for ended; it leaves no dump.
///
/// Comes back if the signal is one of real time, or does not end a process.
fn end_by(number: i32) -> nix::Result<()> {
    let ending = Signal::try_from(number)?;
    prctl::set_dumpable(false)?;
    // The action of SIGKILL is always the default one, and cannot be set.
    // SAFETY: no handler is installed, only the default action is restored.
    let _ = unsafe { signal::signal(ending, SigHandler::SigDfl) };
    SigSet::from(ending).thread_unblock()?;
    signal::raise(ending)
}

/// The kinds of the namespaces that a control socket sends, in their order.
const KINDS: [CloneFlags; 3] =
    [CloneFlags::CLONE_NEWNS, CloneFlags::CLONE_NEWPID, CloneFlags::CLONE_NEWUSER];

/// A station of a run that can be entered.
struct OpenStation {
    name: String,
    network: OwnedFd,
    neighbour: Option<IpAddr>,
}

/// Asks a run for the namespaces that all stations share, and for its stations.
fn ask(run: &RunSocket) -> Result<(Vec<OwnedFd>, Vec<OpenStation>)> {
    let doing = || format!("enter the run \"{}\"", run.name);
    let control = Control::new(ask_for_stations(&run.socket).context(doing)?);
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

/// Asks for the descriptor at which the run says what its stations are.
fn ask_for_stations(socket: &UnixStream) -> std::io::Result<OwnedFd> {
    let mut out = socket;
    out.write_all(b"{\"do\":\"enter\"}\n")?;
    let mut line = [0; 4096];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let mut parts = [IoSliceMut::new(&mut line)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(rights) = message
            && let Some(descriptor) = rights.first()
        {
            // SAFETY: the kernel has just opened this descriptor for this process.
            return Ok(unsafe { OwnedFd::from_raw_fd(*descriptor) });
        }
    }
    Err(std::io::Error::other("it lets no program in now"))
}
