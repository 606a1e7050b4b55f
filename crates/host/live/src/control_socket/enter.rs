//! Programs of others in the stations of a run: `windfall exec`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IoSliceMut, Read as _, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus};

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::prctl::{self, set_pdeathsig};
use nix::sys::signal::{self, SigHandler, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::unistd::Pid;

use super::witness::Witness;
use super::{RunSocket, choose, is_inside};
use crate::control::{Control, Message};
use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::{Program, ProgramOutput, neighbour_variables};
use crate::program;
use crate::system;
use crate::terminal::Terminal;
use windfall_system::Identity;

/// Why a program in a run cannot enter its stations.
const CLOSED: &str = "Linux lets only processes with CAP_SYS_ADMIN change their network \
                      namespace, and an ordinary user's programs in a run have none; do it from a \
                      shell outside, or start the program by --far";
/// Why a program in a run cannot enter those of a run around it.
const AROUND: &str = "Linux lets no process out of its process namespace, and the run is around \
                      that of this program; do it from a shell outside";

/// The signals that are for the program in the place of this process, which stands for it.
const FOR_THE_PROGRAM: [Signal; 16] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGABRT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGTERM,
    Signal::SIGCONT,
    Signal::SIGURG,
    Signal::SIGXCPU,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGWINCH,
    Signal::SIGIO,
    Signal::SIGPWR,
];

/// Tells whether this process is in this user namespace.
fn is_own_user(namespace: &OwnedFd) -> bool {
    let own = std::fs::metadata("/proc/self/ns/user");
    let other = std::fs::metadata(format!("/proc/self/fd/{}", namespace.as_raw_fd()));
    own.is_ok_and(|own| other.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino())))
}

/// Runs a program in a station of a run of `windfall up`; returns the program's exit status.
///
/// It runs as the user who called through sudo, if there is one, unless it is to run `as_root`. It
/// has the environment of this process, or the one that the descriptor of that number has, as
/// `/proc` shows those of processes.
///
/// # Errors
/// If there is no such run or station, or the program cannot be started.
pub fn enter(
    run: Option<&str>,
    station: &str,
    arguments: Vec<OsString>,
    interactive: bool,
    as_root: bool,
    environment: Option<u16>,
) -> Result<u8> {
    let given = environment.map(environment_at).transpose()?;
    let run = choose(run)?;
    let identity = Identity::of_caller(as_root)?;
    let name = &run.name;
    let (shared, stations) = ask(&run)?;
    let Some(found) = stations.iter().find(|it| it.name == station) else {
        let why = format!(
            "run \"{name}\" has no station \"{station}\"; it has {}",
            stations.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
        );
        return Err(LiveError::NoSuchRun(why));
    };
    let directory = std::env::current_dir();
    let signals = take_over()?;
    // Before the process namespace is entered, in which each process counts as one of the run.
    let witness = Witness::start().context(|| "start a process that watches signals".into())?;
    let move_to = |namespace: &OwnedFd, kind| match nix::sched::setns(namespace, kind) {
        // What lies around a namespace cannot be entered from it, nor what needs rights.
        Err(error @ (Errno::EINVAL | Errno::EPERM)) if is_inside() => {
            let why = if error == Errno::EPERM { CLOSED } else { AROUND };
            Err(LiveError::NoSuchRun(format!(
                "station {station} of \"{name}\" cannot be entered from inside a run: {why}"
            )))
        }
        Err(error) => Err(LiveError::forbidden(format!("enter station {station}"), error)),
        Ok(()) => Ok(()),
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
    if let Some(given) = given {
        let added = program.environment.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(given).envs(added);
    }
    // Entering a mount namespace moves to its root.
    directory.map_or(Ok(()), |directory| go_back(&directory))?;
    // SAFETY: the closure makes one system call; the process has a single thread.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
    let terminal = Terminal::of_this_process();
    // A program that takes the terminal has a process group of its own.
    let others = (!interactive).then_some(&witness);
    let ended = command.spawn().and_then(|mut child| attend(&mut child, &signals, others));
    terminal.restore();
    drop(witness);
    let name = program.arguments.first().map(|name| name.to_string_lossy().into_owned());
    let status =
        ended.map_err(|source| LiveError::Spawn { program: name.unwrap_or_default(), source })?;
    if let Some(signal) = status.signal() {
        let _ = end_by(signal);
    }
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}

/// Reads an environment from the descriptor of this number, and closes it.
fn environment_at(number: u16) -> Result<Vec<(OsString, OsString)>> {
    let reading = || format!("read an environment from the descriptor {number}");
    std::fs::metadata(format!("/proc/self/fd/{number}")).context(reading)?;
    // SAFETY: the descriptor is open, and whoever started this process has left it to this call.
    let mut file = unsafe { File::from_raw_fd(RawFd::from(number)) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).context(reading)?;
    let variables = bytes.split(|byte| *byte == 0).filter_map(|line| {
        let end = line.iter().position(|byte| *byte == b'=')?;
        Some((os_text(&line[..end]), os_text(&line[end + 1..])))
    });
    Ok(variables.collect())
}

/// Returns bytes as text of the system.
fn os_text(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

/// Blocks the signals that are for the program, and returns a descriptor from which they are read.
fn take_over() -> Result<SignalFd> {
    let mut signals: SigSet = FOR_THE_PROGRAM.into_iter().collect();
    signals.add(Signal::SIGCHLD);
    let mut blocked = signals;
    // The terminal is taken back from the background.
    blocked.add(Signal::SIGTTOU);
    blocked.thread_block().context(|| "block signals".into())?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).context(|| "wait for signals".into())
}

/// Waits for the end of the program, and passes the signals on that others send to this process.
///
/// What goes to the whole process group, as Ctrl-C does, has reached a program in that group; the
/// `witness` tells.
fn attend(
    child: &mut Child,
    signals: &SignalFd,
    witness: Option<&Witness>,
) -> std::io::Result<ExitStatus> {
    let program = Pid::from_raw(child.id() as i32);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let Some(came) = system::retry(|| signals.read_signal())? else { continue };
        let Ok(signal) = Signal::try_from(came.ssi_signo as i32) else { continue };
        if signal != Signal::SIGCHLD && !witness.is_some_and(|it| it.saw(signal)) {
            let _ = signal::kill(program, signal);
        }
    }
}

/// Makes this directory the working directory again.
///
/// A program has no use for one that it may not enter, and begins in the root instead.
fn go_back(directory: &Path) -> Result<()> {
    match nix::unistd::chdir(directory) {
        Err(Errno::EACCES) => {
            let _ = writeln!(
                std::io::stderr(),
                "windfall: {} may not be entered: the program begins in /",
                directory.display()
            );
            Ok(())
        }
        outcome => outcome.context(|| format!("enter {} in the run", directory.display())),
    }
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
    let mut stations = Vec::new();
    let mut neighbour = None;
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
