//! A file that a run writes as it goes on: what fails in it costs neither the run nor its result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::exit::{in_plain_words, tell};
use crate::pipe::Pipe;

/// With so much held back, in bytes, a run has begun.
const BEGUN: usize = 1 << 20;

/// Opens a file to write to it, and leaves in it what is there; also says whether it is new.
///
/// A new one belongs to the user who called through sudo, if there is one. A file that was there,
/// and that behind a link, stays whose it is.
pub(crate) fn open(path: &Path) -> io::Result<(File, bool)> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => {
            give_away(&file);
            Ok((file, true))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

/// Writes a whole file, in place of what it held.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, _) = open(path)?;
    empty(&file)?;
    file.write_all(bytes)
}

/// Takes away what a file holds; a pipe or a terminal holds nothing.
pub(crate) fn empty(file: &File) -> io::Result<()> {
    match file.metadata().is_ok_and(|found| found.is_file()) {
        true => file.set_len(0),
        false => Ok(()),
    }
}

/// Makes a folder with those around it, if need be; the new ones belong to the user who called
/// through sudo.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folder(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => {
            // Not what somebody may have put in its place since.
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = rustix::fs::open(path, flags, Mode::empty())?;
            give_away(&File::from(folder));
            Ok(())
        }
        Err(_) if path.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a directory"))
        }
        Err(error) => Err(error),
    }
}

/// Gives a file to the user who called through sudo.
fn give_away(file: &File) {
    if let Some((user, group)) = windfall_live::caller() {
        // Who may not stays the owner.
        let _ = std::os::unix::fs::fchown(file, Some(user), Some(group));
    }
}

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
    /// Whether the run does not wait for those who read a pipe.
    is_live: bool,
}

#[derive(Debug)]
enum State {
    /// Before the first flush: nothing is written yet.
    Held(File, Vec<u8>),
    Open(BufWriter<File>),
    /// In real time, what is no regular file.
    Piped(Pipe),
    Failed(io::ErrorKind, String),
}

impl Evidence {
    /// Opens the file, and leaves in it what is there.
    ///
    /// A pipe that its reader does not empty stops a run that `is_live` no more than a full disk.
    pub(crate) fn open(path: &Path, is_live: bool) -> io::Result<Self> {
        let (file, is_new) = open(path)?;
        Ok(Self { path: path.to_owned(), state: State::Held(file, Vec::new()), is_new, is_live })
    }

    /// Writes what was held back, over what the file held before.
    fn begin(&mut self) {
        if let State::Held(file, bytes) = &mut self.state {
            let is_live = self.is_live;
            let opened = file.try_clone().and_then(|file| {
                empty(&file)?;
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
        if self.is_new && matches!(self.state, State::Held(..)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
