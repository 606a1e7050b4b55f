//! A pipe that a run in real time writes to: whoever reads it does not stop the run.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes kept for a reader that is behind, at most.
const ROOM: usize = 1 << 20;
/// The longest time that the end of a run waits for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The writing end of a pipe, or what else is no regular file, with a bounded buffer before it.
#[derive(Debug)]
pub(crate) struct Pipe {
    file: Arc<File>,
    waiting: Vec<u8>,
}

impl Pipe {
    /// Takes over a file that was opened by this process alone.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Self> {
        fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
        Ok(Self { file, waiting: Vec::new() })
    }

    /// Writes as much as the reader takes now, and returns whether that is all.
    fn advance(&mut self) -> io::Result<bool> {
        let mut written = 0;
        let result = loop {
            match self.file.write(&self.waiting[written..]) {
                _ if written == self.waiting.len() => break Ok(true),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.waiting.drain(..written);
        result
    }

    /// Writes the rest, as long as its reader takes some of it within a second.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        let second = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        while !self.advance()? {
            let mut ready = [PollFd::new(&self.file, PollFlags::OUT)];
            match poll(&mut ready, Some(&second)) {
                Ok(0) => return Err(stalled()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.waiting.len() + bytes.len() > ROOM {
            self.advance()?;
        }
        if self.waiting.len() + bytes.len() > ROOM {
            return Err(stalled());
        }
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.advance().map(drop)
    }
}

fn stalled() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "its reader does not take what is written")
}

#[cfg(test)]
mod tests;
