//! The files and folders that commands write.
//!
//! Under sudo all of it is done with the rights of the user who called, to whom what is new
//! belongs. [`write()`] fills a file, [`replace`] and [`Replacement`] put a whole
//! one in its place, [`PendingFile`] is opened before there is anything to write, or
//! [`check_place`] tries it, [`Evidence`] is written while a run goes on, which it never stops.
//! [`UsedFiles`] finds those with two uses.

mod evidence;
mod pipe;
mod used_files;

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, XattrFlags, fremovexattr, fsetxattr, getxattr, linkat,
};
use rustix::io::Errno;

use crate::as_caller;

pub use evidence::Evidence;
pub use used_files::UsedFiles;

/// The bytes of the longest version that is noted.
const LONGEST_VERSION: usize = 1_024;
/// Links that are followed one after another, as many as Linux follows.
const LINKS: usize = 40;

/// Writes a whole file, in place of what it held.
///
/// # Errors
/// If the file cannot be opened or written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, _) = as_caller(path, || open(path))?;
    empty(&file)?;
    file.write_all(bytes)
}

/// Opens a file to append to it; makes it if it is not there.
///
/// # Errors
/// If the file cannot be opened.
pub fn append(path: &Path) -> io::Result<File> {
    refuse_dash(path)?;
    as_caller(path, || OpenOptions::new().append(true).create(true).open(path))
}

/// Opens a named pipe to write to it, without waiting for a program that reads it; `None` if the
/// path leads to none.
///
/// # Errors
/// [`ErrorKind::WouldBlock`] as long as no program reads it, or if it cannot be opened.
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    as_caller(path, || {
        if !fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
            return Ok(None);
        }
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let pipe = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) => return Err(ErrorKind::WouldBlock.into()),
            pipe => pipe?,
        };
        rustix::fs::fcntl_setfl(&pipe, OFlags::empty())?;
        Ok(Some(pipe.into()))
    })
}

/// The attribute of a file that names the version of what was fetched.
const VERSION: &str = "user.windfall.version";

/// Notes which version of something a file has bytes of, or that it is not known.
///
/// File systems without attributes keep no note.
pub fn note_version(file: &File, version: Option<&[u8]>) {
    // The note is a help for the next time, and no part of the file.
    let _ = match version {
        Some(version) => fsetxattr(file, VERSION, version, XattrFlags::empty()),
        None => fremovexattr(file, VERSION),
    };
}

/// Returns the version that [`note_version`] has noted for a file.
#[must_use]
pub fn noted_version(path: &Path) -> Option<Vec<u8>> {
    let mut version = vec![0; LONGEST_VERSION];
    let length = as_caller(path, || Ok::<_, io::Error>(getxattr(path, VERSION, &mut version[..])?));
    let length = length.ok()?;
    version.truncate(length);
    Some(version)
}

/// Writes a file beside `path` and puts it in its place when all of it is there, so that what
/// stood there stays where the disk is full. What is no plain file is written as it stands.
///
/// # Errors
/// If the file cannot be made, written or put in its place; what stood there is still there then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(path)?;
    file.write_all(bytes)?;
    // What is no plain file, such as a pipe or /dev/null, has nothing to bring to a disk.
    if file.file.metadata()?.is_file() {
        file.file.sync_all()?;
    }
    file.place()
}

/// A file that is written beside another one, and takes its place when it is whole.
///
/// Until then it has no name, so that a program that is killed leaves nothing; where the file
/// system makes none without a name, it stands there as `.NAME.PID`.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    path: PathBuf,
    /// The file beside, and what it replaces; unset where the file is written as it stands.
    beside: Option<(PathBuf, Option<fs::Metadata>)>,
    /// The file has its name beside.
    is_named: bool,
}

impl Replacement {
    /// Begins a file that will stand at `path`.
    ///
    /// # Errors
    /// If no file can be made there.
    pub fn begin(path: &Path) -> io::Result<Self> {
        refuse_dash(path)?;
        as_caller(path, || Self::beside(path))
    }

    fn beside(path: &Path) -> io::Result<Self> {
        let path = target(path)?;
        let old = fs::metadata(&path).ok();
        let is_plain = old.as_ref().is_none_or(fs::Metadata::is_file);
        let Some(name) = path.file_name().filter(|_| is_plain) else {
            return Self::in_place(path);
        };
        let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
        let beside = path.with_file_name(name);
        let (file, is_named) = match nameless(&path) {
            Some(file) => (Ok(file), false),
            None => (File::create_new(&beside), true),
        };
        match file {
            // A user may be allowed to write this file and yet to make none in its folder.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Self::in_place(path),
            file => Ok(Self { file: file?, path, beside: Some((beside, old)), is_named }),
        }
    }

    fn in_place(path: PathBuf) -> io::Result<Self> {
        let file = File::create(&path)?;
        Ok(Self { file, path, beside: None, is_named: false })
    }

    /// Returns the open file, to which others may write before it is placed.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends to the file.
    ///
    /// # Errors
    /// If the disk is full or gone.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// If the file cannot take its place.
    pub fn place(mut self) -> io::Result<()> {
        let path = self.path.clone();
        as_caller(&path, || self.put())
    }

    fn put(&mut self) -> io::Result<()> {
        let Some((beside, old)) = &self.beside else { return Ok(()) };
        if let Some(old) = old {
            // A process that may not change the owner is the owner, or one of the group.
            let _ = fchown(&self.file, Some(old.uid()), Some(old.gid()));
            self.file.set_permissions(old.permissions())?;
        }
        if !self.is_named {
            name(&self.file, beside)?;
            self.is_named = true;
        }
        fs::rename(beside, &self.path)?;
        self.beside = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((beside, _)) = self.beside.as_ref().filter(|_| self.is_named) {
            let _ = as_caller(beside, || fs::remove_file(beside));
        }
    }
}

/// The folder by which the files that this process has open can be named.
const OPEN_FILES: &str = "/proc/self/fd";

/// Makes a file in the folder of `path` that vanishes with this process unless it gets a name;
/// `None` where that cannot be done.
fn nameless(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(folder.unwrap_or(Path::new(".")), flags, mode).ok()?;
    Path::new(OPEN_FILES).exists().then(|| file.into())
}

/// Gives a name to a file that has none. What has this name was left by a process with the number
/// of this one, which has ended.
fn name(file: &File, name: &Path) -> io::Result<()> {
    let open = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    let link = || linkat(CWD, open.as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW);
    match link() {
        Err(Errno::EXIST) => fs::remove_file(name).and_then(|()| Ok(link()?)),
        linked => Ok(linked?),
    }
}

/// Makes a folder with those around it, if need be; the new ones belong to the user who called
/// through sudo.
///
/// # Errors
/// If a folder cannot be made, or something else has its name.
pub fn make_folder(path: &Path) -> io::Result<()> {
    refuse_dash(path)?;
    as_caller(path, || make_folders(path))
}

fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(_) if path.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(io::Error::new(ErrorKind::NotADirectory, "it is not a directory"))
        }
        Err(error) => Err(error),
    }
}

/// A file that is opened before there is anything to write, so that it fails early.
///
/// Its old content stays until [`begin`](Self::begin). A new file has no name before that, so that
/// a run that cannot start, or is killed, leaves nothing and takes nothing away. A file that is
/// [opened with its name](Self::open_named) is removed when it is dropped before, and so is one
/// where the file system makes none without a name.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    file: Arc<File>,
    state: Cell<Pending>,
}

/// The state of a file that is opened early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// It is new and has no name yet.
    Nameless,
    /// It is new, and to be removed when it is dropped.
    Unused,
    /// It was there already, or is used.
    Stays,
}

impl PendingFile {
    /// Opens the file, and leaves in it what is there.
    ///
    /// # Errors
    /// If the file cannot be opened to write.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = as_caller(path, || {
            refuse_dash(path)?;
            Ok::<_, io::Error>(is_new(path).then(|| nameless(path)).flatten())
        })?;
        let Some(file) = file else { return Self::open_named(path) };
        let state = Cell::new(Pending::Nameless);
        Ok(Self { path: path.to_owned(), file: Arc::new(file), state })
    }

    /// Opens the file as [`open`](Self::open) does, but a new one has its name at once, so that
    /// others can follow it from the start.
    ///
    /// # Errors
    /// If the file cannot be opened to write.
    pub fn open_named(path: &Path) -> io::Result<Self> {
        let (file, is_new) = as_caller(path, || open(path))?;
        let state = Cell::new(if is_new { Pending::Unused } else { Pending::Stays });
        Ok(Self { path: path.to_owned(), file: Arc::new(file), state })
    }

    /// Returns the path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file, which still holds its old content before [`begin`](Self::begin).
    #[must_use]
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Empties the file, which now stays, and returns it.
    ///
    /// # Errors
    /// If the file cannot be emptied, or a new one cannot get its name.
    pub fn begin(&self) -> io::Result<Arc<File>> {
        if self.state.replace(Pending::Stays) == Pending::Nameless {
            as_caller(&self.path, || name(&self.file, &self.path))?;
        }
        empty(&self.file)?;
        Ok(Arc::clone(&self.file))
    }

    /// Writes a whole file: until all of it is there, the name leads to what was there before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn fill(self, bytes: &[u8]) -> io::Result<()> {
        match self.state.get() {
            Pending::Nameless => {
                (&*self.file).write_all(bytes)?;
                self.state.set(Pending::Stays);
                as_caller(&self.path, || name(&self.file, &self.path))
            }
            Pending::Stays if self.file.metadata()?.is_file() => replace(&self.path, bytes),
            Pending::Unused | Pending::Stays => self.begin()?.as_ref().write_all(bytes),
        }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if self.state.get() == Pending::Unused {
            let _ = as_caller(&self.path, || fs::remove_file(&self.path));
        }
    }
}

/// Tells whether nothing has this name, not even a link, and a file may have it.
fn is_new(path: &Path) -> bool {
    let names_file =
        path.file_name().is_some_and(|name| path.as_os_str().as_bytes().ends_with(name.as_bytes()));
    let found = fs::symlink_metadata(path);
    names_file && found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Checks that a file which is written when the work is done can be written, and leaves everything
/// as it is. What is no plain file, such as a pipe whose reader would take it for the end, is not
/// opened.
///
/// # Errors
/// If no file can be written there.
pub fn check_place(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => PendingFile::open(path).map(drop),
    }
}

/// Follows links, so that a link stays one, also to a file that does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        // An absolute one goes in place of the whole path.
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    Err(Errno::LOOP.into())
}

/// Checks that names, of which those that are unset do not count, lead to different files, so that
/// none is written over another; devices and pipes may stand there several times.
///
/// # Errors
/// Says of the first two that lead to one file that the second would overwrite the first.
pub fn distinct(named: &[(&str, Option<&Path>)]) -> Result<(), String> {
    let is_plain =
        |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.is_file()) || !path.exists();
    let lead_to: Vec<(&str, PathBuf)> = named
        .iter()
        .filter_map(|(name, path)| Some((*name, std::path::absolute(target((*path)?).ok()?).ok()?)))
        .filter(|(_, path)| is_plain(path))
        .collect();
    for (at, (second, path)) in lead_to.iter().enumerate() {
        if let Some((first, _)) = lead_to[..at].iter().find(|(_, other)| other == path) {
            return Err(format!("{second} would overwrite {first}: name another file"));
        }
    }
    Ok(())
}

/// Refuses the name by which programs call the standard output: who gives it does not expect a
/// file. Commands that write there look for it before they open anything.
fn refuse_dash(path: &Path) -> io::Result<()> {
    if path.as_os_str() != "-" {
        return Ok(());
    }
    let message = "- is the standard output elsewhere; use /dev/stdout, or ./- for such a file";
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

/// Opens a file to write to it, and leaves in it what is there; also tells whether it is new.
fn open(path: &Path) -> io::Result<(File, bool)> {
    refuse_dash(path)?;
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

/// Takes away what a file holds; a pipe or a terminal holds nothing.
fn empty(file: &File) -> io::Result<()> {
    if file.metadata().is_ok_and(|found| found.is_file()) { file.set_len(0) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
