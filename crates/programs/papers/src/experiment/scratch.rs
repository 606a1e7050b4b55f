//! Directories for what a run leaves behind, gone with it.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{FlockOperation, flock};

use crate::experiment::error::ExperimentError;

/// The first part of the names of the directories.
const PREFIX: &str = "windfall-scratch-";
/// The file that is locked as long as its directory is in use.
const LOCK: &str = "lock";
/// A script that removes the directory when this process is gone, since its input ends then. It
/// has a process group of its own, so that no signal for this process ends it.
const REAPER: &str = "trap '' INT TERM HUP QUIT; while read -r line; do :; done; n=0; \
    while [ -e \"$1\" ] && [ $n -lt 50 ]; do rm -rf -- \"$1\" || sleep 0.1; n=$((n+1)); done";

/// The directory of this process while there is any [`Scratch`].
static ROOT: Mutex<Weak<Root>> = Mutex::new(Weak::new());

/// A directory that goes when it is no longer needed, or when the process dies.
pub struct Scratch(pub PathBuf, #[expect(dead_code, reason = "kept alive")] Arc<Root>);

impl Scratch {
    /// Makes a directory of a name that no other process uses.
    pub fn new() -> Result<Self, ExperimentError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut shared = ROOT.lock().unwrap_or_else(PoisonError::into_inner);
        let root = match shared.upgrade() {
            Some(root) => root,
            None => Arc::new(Root::new(&std::env::temp_dir())?),
        };
        *shared = Arc::downgrade(&root);
        let path = root.path.join(number.to_string());
        fs::create_dir(&path)
            .map_err(|source| ExperimentError::File { path: path.clone(), source })?;
        Ok(Self(path, root))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the root.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The directory that all others lie in, and the process that removes it after this one.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    reaper: Child,
    /// Locked as long as this exists.
    _lock: File,
}

impl Root {
    fn new(temporary: &Path) -> Result<Self, ExperimentError> {
        sweep(temporary);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let name = format!("{PREFIX}{}-{}-{}", std::process::id(), now.tv_sec, now.tv_nsec);
        let path = temporary.join(name);
        // Before there is anything to remove: this process may die at any moment.
        let mut reaper = reaper(&path)
            .map_err(|source| ExperimentError::Start { command: "/bin/sh".to_owned(), source })?;
        let made = fs::create_dir(&path).and_then(|()| {
            let lock = File::create(path.join(LOCK))?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            Ok(lock)
        });
        match made {
            Ok(lock) => Ok(Self { path, reaper, _lock: lock }),
            Err(source) => {
                finish(&mut reaper);
                Err(ExperimentError::File { path, source })
            }
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // What cannot be removed is left to the reaper.
        let _ = fs::remove_dir_all(&self.path);
        finish(&mut self.reaper);
    }
}

fn reaper(path: &Path) -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", REAPER, "sh"]).arg(path).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Ends the reaper's input, and waits for its end.
fn finish(reaper: &mut Child) {
    drop(reaper.stdin.take());
    let _ = reaper.wait();
}

/// Removes unused directories, of processes whose reapers were killed too.
fn sweep(temporary: &Path) {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for path in ours.map(|entry| entry.path()) {
        let is_free = match File::open(path.join(LOCK)) {
            Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
            Err(_) => false,
        };
        // Files of another user cannot be removed.
        let _ = if is_free { fs::remove_dir_all(&path) } else { fs::remove_dir(&path) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_vanish_and_stale_ones_are_swept() {
        let first = Scratch::new().unwrap();
        let second = Scratch::new().unwrap();
        fs::write(second.0.join("file"), "x").unwrap();
        let root = first.0.parent().unwrap().to_owned();
        assert_eq!(second.0.parent(), Some(&*root));
        // In use: it is not swept away.
        sweep(&std::env::temp_dir());
        assert!(second.0.join("file").exists());
        drop(first);
        assert!(second.0.exists());
        let folder = second.0.clone();
        let stale = folder.join(format!("{PREFIX}1-2-3"));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join(LOCK), "").unwrap();
        let other = folder.join("windfall-of-the-user");
        fs::create_dir(&other).unwrap();
        sweep(&folder);
        assert!(!stale.exists() && other.exists());
        drop(second);
        assert!(!root.exists());
    }
}
