//! Processes that end with the one that started them.

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{getpid, getppid};

/// Makes the process that `command` starts end when the calling thread ends, however it ends.
///
/// The thread that starts it has to outlive it. A process in stations takes everything in them
/// along, so that nothing of a run is left when whatever started it is killed.
pub fn end_with_this_process(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let ask = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // A parent that died before it was asked for sends nothing.
        if getppid() != parent {
            return Err(Errno::ESRCH.into());
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(ask) }
}

/// Lets this process wait for its children, whatever the one that started it has taught it.
///
/// A process that ignores the end of its children is told nothing of them, and passes that on.
pub fn notice_children() {
    // SAFETY: the default action runs no code of ours.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
}
