//! Runs that end with whoever has started them: at the end of a pipe of which they hold one end.

use std::fs::File;
use std::io::{self, Read as _};

use rustix::process::{Signal, getpid, kill_process};

/// The content of a pipe that lets a run go on for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Nothing does: the run ends with the pipe.
    Never,
    /// The first byte that comes does.
    ByAnyByte,
}

/// Asks this process to end, as SIGTERM does, when the pipe at the descriptor of this number comes
/// to its end. Starts a thread.
///
/// # Errors
/// If there is no such descriptor.
pub fn end_with(descriptor: u16, release: Release) -> io::Result<()> {
    // Opened anew, so that nothing else closes it.
    let mut pipe = File::open(format!("/proc/self/fd/{descriptor}"))?;
    let watch = move || {
        let mut bytes = [0; 64];
        while let Ok(count) = pipe.read(&mut bytes) {
            if count == 0 {
                let _ = kill_process(getpid(), Signal::TERM);
                return;
            }
            if release == Release::ByAnyByte {
                return;
            }
        }
    };
    std::thread::Builder::new().spawn(watch).map(drop)
}
