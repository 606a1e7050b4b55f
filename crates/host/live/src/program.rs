//! Starts programs in a station with the caller's own identity.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::Pid;

use crate::error::{ErrorContext, LiveError, Result};
use crate::lines::Lines;
use crate::plan::{Program, ProgramOutput};
use crate::system::{self, Capabilities, CapabilitySet, NET_ADMIN, NET_BIND_SERVICE, NET_RAW};
use windfall_system::Identity;

/// The rights of an ordinary user in stations that are the user's own: look at packets, shape
/// devices, serve on any port.
const OWN: CapabilitySet = NET_RAW | NET_ADMIN | NET_BIND_SERVICE;

/// Starts a program in the network namespace of a station, as `identity` if there is one, with or
/// without rights there and with this standard input; also returns what it writes, if that is to be
/// passed on line by line.
pub(crate) fn start(
    program: &Program,
    station: BorrowedFd<'_>,
    identity: Option<&Identity>,
    rights: bool,
    input: Stdio,
) -> Result<(Pid, Option<Lines>)> {
    let station = station.try_clone_to_owned().map_err(|source| failed(program, source))?;
    let namespaces = vec![(station, CloneFlags::CLONE_NEWNET)];
    let mut command = prepare(program, namespaces, identity, rights);
    command.stdin(input);
    let lines = match &program.output {
        ProgramOutput::Inherit => None,
        ProgramOutput::File(file) => {
            let copy = || file.try_clone().map_err(|source| failed(program, source));
            command.stdout(copy()?).stderr(copy()?);
            None
        }
        ProgramOutput::Prefixed(prefix) => {
            let (lines, end) = Lines::new(prefix).map_err(|source| failed(program, source))?;
            // Both in one pipe, so that what is written to both keeps its order.
            command.stderr(end.try_clone().map_err(|source| failed(program, source))?);
            command.stdout(end);
            Some(lines)
        }
    };
    let child = command.spawn().map_err(|source| failed(program, source))?;
    Ok((Pid::from_raw(child.id() as i32), lines))
}

/// A command that becomes the program, in these namespaces and otherwise where the process is, as
/// `identity` or as the process's own user.
///
/// It may have `rights` of its own only in a user namespace around the stations: those of another
/// hold for the host's network as well, wherever the program gets hold of it.
pub(crate) fn prepare(
    program: &Program,
    namespaces: Vec<(OwnedFd, CloneFlags)>,
    identity: Option<&Identity>,
    rights: bool,
) -> Command {
    let (name, arguments) = program.arguments.split_first().map_or_else(
        || (std::ffi::OsStr::new(""), &[][..]),
        |(name, arguments)| (name.as_os_str(), arguments),
    );
    let mut command = Command::new(name);
    let identity = identity.cloned();
    if let Some(identity) = &identity {
        identity.describe(&mut command);
    }
    command.args(arguments).envs(program.environment.iter().map(|(name, value)| (name, value)));
    let interactive = program.interactive;
    let become_user = move || {
        // The run handles signals by waiting for them; its programs must not inherit that.
        SigSet::empty().thread_set_mask()?;
        if interactive {
            take_terminal();
        }
        for (namespace, kind) in &namespaces {
            nix::sched::setns(namespace, *kind)?;
        }
        if let Some(identity) = &identity {
            identity.assume()?;
        }
        if rights {
            keep_own_capabilities();
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only; the process has a single thread.
    unsafe { command.pre_exec(become_user) };
    command
}

/// Returns the standard input of a program that gets none.
pub(crate) fn no_input() -> Result<Stdio> {
    match File::open("/dev/null") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(LiveError::NoNull(error)),
        outcome => outcome.map(Into::into).context(|| "open /dev/null".into()),
    }
}

fn failed(program: &Program, source: io::Error) -> LiveError {
    let name = program.arguments.first().map(|name| name.to_string_lossy().into_owned());
    LiveError::Spawn { program: name.unwrap_or_default(), source }
}

/// Makes the process the leader of its own group, in the foreground of the terminal.
fn take_terminal() {
    let own = nix::unistd::getpid();
    let _ = nix::unistd::setpgid(own, own);
    // A background process that changes the foreground is stopped, unless it blocks that signal.
    let stop: SigSet = [Signal::SIGTTOU].into_iter().collect();
    let _ = stop.thread_block();
    let _ = nix::unistd::tcsetpgrp(io::stdin(), own);
    let _ = stop.thread_unblock();
}

/// Keeps the harmless capabilities of a user namespace across the execution of a program.
///
/// Root keeps what root has without this; a process without capabilities has nothing to keep.
fn keep_own_capabilities() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    if let Ok(sets) = Capabilities::of_this_thread() {
        let inheritable = sets.permitted & OWN;
        if (Capabilities { inheritable, ..sets }).assume().is_ok() {
            system::keep_ambient(OWN);
        }
    }
}

/// Returns the path of a program, if it is on the search path.
pub(crate) fn installed(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Network helpers often lie in folders on root's search path only.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let mut files = folders.map(|folder| folder.join(name));
    files.find(|file| file.is_file()).map(|file| file.display().to_string())
}
