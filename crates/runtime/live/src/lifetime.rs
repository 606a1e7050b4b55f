//! Processes that end with the one that started them.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the process that `command` starts end when the calling thread ends, however it ends.
///
/// The thread that starts it has to outlive it. A process in stations takes everything in them
/// along, so that nothing of a run is left when whatever started it is killed.
pub fn end_with_this_process(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let ask = move || {
        let signal = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(signal)?;
        // A parent that died before it was asked for sends nothing.
        if rustix::process::getppid() != Some(parent) {
            return Err(rustix::io::Errno::SRCH.into());
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(ask) }
}
