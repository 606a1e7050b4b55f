//! A file that a run writes as it goes on: what fails in it costs neither the run nor its result.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::PendingFile;
use crate::files::pipe::Pipe;

/// With so much held back, in bytes, a run has begun.
const BEGUN: usize = 1 << 20;

/// A file of evidence.
///
/// What it held before stays until the first flush: a run that cannot start takes nothing away.
/// When it cannot be written, the standard error says so once, at that moment and with its name;
/// what follows is ignored, and every [`flush`](Write::flush) says that it is incomplete.
#[derive(Debug)]
pub struct Evidence {
    path: PathBuf,
    state: State,
    /// The run does not wait for the reader of a pipe.
    is_live: bool,
    /// Tells the user of a failure.
    tell: fn(&str),
}

#[derive(Debug)]
enum State {
    /// Before the first flush: nothing is written yet.
    Held(PendingFile, Vec<u8>),
    Open(BufWriter<Arc<File>>),
    /// In real time, a file that is no regular one.
    Piped(Pipe),
    Failed(io::ErrorKind, String),
}

impl Evidence {
    /// Opens the file, and leaves in it what is there.
    ///
    /// A pipe that its reader does not empty stops a run that `is_live` no more than a full disk.
    /// Of a failure the user learns by `tell`.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path, is_live: bool, tell: fn(&str)) -> io::Result<Self> {
        let file = PendingFile::open_named(path)?;
        Ok(Self { path: path.to_owned(), state: State::Held(file, Vec::new()), is_live, tell })
    }

    /// Writes what was held back, over what the file held before.
    fn begin(&mut self) {
        if let State::Held(file, bytes) = &mut self.state {
            let is_live = self.is_live;
            let opened = file.begin().and_then(|file| {
                if is_live && !file.metadata()?.is_file() {
                    let mut pipe = Pipe::new(file)?;
                    return pipe.write_all(bytes).map(|()| State::Piped(pipe));
                }
                let mut out = BufWriter::new(file);
                out.write_all(bytes).map(|()| State::Open(out))
            });
            match opened {
                Ok(state) => self.state = state,
                Err(error) => self.fail(&error),
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        let name = self.path.display();
        (self.tell)(&format!("cannot write {name}: {error}; the run goes on without it"));
        let old = State::Failed(error.kind(), format!("{name} is incomplete: {error}"));
        if let State::Open(out) = std::mem::replace(&mut self.state, old) {
            // What it still holds would be tried once more.
            drop(out.into_parts());
        }
    }
}

impl Write for Evidence {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let State::Held(_, held) = &mut self.state {
            held.extend_from_slice(bytes);
            if held.len() > BEGUN {
                self.begin();
            }
            return Ok(bytes.len());
        }
        let written = match &mut self.state {
            State::Open(out) => out.write_all(bytes),
            State::Piped(pipe) => pipe.write_all(bytes),
            State::Held(..) | State::Failed(..) => Ok(()),
        };
        written.unwrap_or_else(|error| self.fail(&error));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin();
        let flushed = match &mut self.state {
            State::Open(out) => out.flush(),
            State::Piped(pipe) => pipe.flush(),
            State::Held(..) | State::Failed(..) => Ok(()),
        };
        flushed.unwrap_or_else(|error| self.fail(&error));
        match &self.state {
            State::Failed(kind, message) => Err(io::Error::new(*kind, message.clone())),
            _ => Ok(()),
        }
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if let State::Piped(pipe) = &mut self.state
            && let Err(error) = pipe.finish()
        {
            self.fail(&error);
        }
    }
}
