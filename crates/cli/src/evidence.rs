//! A file that a run writes as it goes on: what fails in it costs neither the run nor its result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::exit::{in_plain_words, tell};

/// With so much held back, in bytes, a run has begun.
const BEGUN: usize = 1 << 20;

/// A file of evidence.
///
/// What it held before stays until the first flush: a run that cannot start takes nothing away.
/// When it cannot be written, the standard error says so once, at that moment and with its name;
/// what follows is ignored, and every [`flush`](Write::flush) says that it is incomplete.
#[derive(Debug)]
pub(crate) struct Evidence {
    path: PathBuf,
    state: State,
    /// Whether there was no such file before.
    is_new: bool,
}

#[derive(Debug)]
enum State {
    /// Before the first flush: nothing is written yet.
    Held(File, Vec<u8>),
    Open(BufWriter<File>),
    Failed(io::ErrorKind, String),
}

impl Evidence {
    /// Opens the file, and leaves in it what is there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(Self { path: path.to_owned(), state: State::Held(file, Vec::new()), is_new })
    }

    /// Writes what was held back, over what the file held before.
    fn begin(&mut self) {
        if let State::Held(file, bytes) = &mut self.state {
            let opened = file.try_clone().and_then(|file| {
                // A pipe or a terminal has no length.
                if file.metadata().is_ok_and(|found| found.is_file()) {
                    file.set_len(0)?;
                }
                let mut out = BufWriter::new(file);
                out.write_all(bytes).map(|()| out)
            });
            match opened {
                Ok(out) => self.state = State::Open(out),
                Err(error) => self.fail(&error),
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        let name = self.path.display();
        let error_text = in_plain_words(&error.to_string());
        tell(format_args!("cannot write {name}: {error_text}; the run goes on without it"));
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
        if let State::Open(out) = &mut self.state
            && let Err(error) = out.write_all(bytes)
        {
            self.fail(&error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begin();
        if let State::Open(out) = &mut self.state
            && let Err(error) = out.flush()
        {
            self.fail(&error);
        }
        match &self.state {
            State::Failed(kind, message) => Err(io::Error::new(*kind, message.clone())),
            _ => Ok(()),
        }
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if self.is_new && matches!(self.state, State::Held(..)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
