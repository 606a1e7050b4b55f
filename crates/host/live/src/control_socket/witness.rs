//! Tells signals to a whole process group from those to this process alone.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

use crate::system;

/// The longest wait for an answer, which does not come from a stopped process.
const PATIENCE: Duration = Duration::from_secs(1);
/// The answer if the signal came.
const CAME: u8 = 1;

/// A process in the same process group that gets the same signals of the group, and no others.
#[derive(Debug)]
pub(super) struct Witness {
    socket: UnixStream,
    process: Pid,
}

impl Witness {
    /// Starts the witness, which ends with this process at the latest.
    ///
    /// This process must have a single thread, and must block the signals that it asks for.
    pub(super) fn start() -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // SAFETY: the process has a single thread, so that no lock is left held in the copy.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => {
                ours.set_read_timeout(Some(PATIENCE))?;
                Ok(Self { socket: ours, process: child })
            }
            ForkResult::Child => {
                drop(ours);
                let _ = SigSet::all().thread_block();
                let _ = answer(&theirs);
                // SAFETY: the call ends the copy and runs no code of ours.
                unsafe { nix::libc::_exit(0) }
            }
        }
    }

    /// Tells whether a signal that has come to this process came to its whole group.
    pub(super) fn saw(&self, signal: Signal) -> bool {
        // The kernel signals the processes of a group one after the other.
        system::pause();
        let mut byte = [signal as u8];
        let mut socket = &self.socket;
        let asked = socket.write_all(&byte).and_then(|()| socket.read_exact(&mut byte));
        asked.is_ok() && byte == [CAME]
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = kill(self.process, Signal::SIGKILL);
        let _ = system::retry(|| waitpid(self.process, None));
    }
}

/// Answers for each signal whether it has come since the last question, until the socket is closed.
fn answer(mut socket: &UnixStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        socket.read_exact(&mut byte)?;
        let asked: SigSet = Signal::try_from(i32::from(byte[0])).into_iter().collect();
        let pending = SignalFd::with_flags(&asked, SfdFlags::SFD_NONBLOCK)?;
        let came = matches!(pending.read_signal(), Ok(Some(_)));
        socket.write_all(&[if came { CAME } else { 0 }])?;
    }
}
