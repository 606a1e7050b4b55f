//! The files over which the stations' namespaces are mounted.
//!
//! Each has a text by which it is known as ours, and is locked as long as a process of its run is
//! there. So names are known that a run has left which was killed together with its keeper: the
//! file below the mount is ours, and no process holds its lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{Kept, complain};
use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::LivePlan;

/// The text of each file.
const OURS: &[u8] = b"The network namespace of a station of Windfall.\n";

/// Makes the files of a plan's names, locked, and notes them in `made`.
pub(super) fn claim(plan: &LivePlan, made: &mut Kept) -> Result<Vec<File>> {
    let Some(folder) = &plan.names else { return Ok(Vec::new()) };
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o755).create(folder).context(|| {
            format!("make the folder {} of the stations' namespaces", folder.display())
        })?;
        made.folder = Some(folder.clone());
    }
    let mut locks = Vec::new();
    for station in &plan.stations {
        let path = folder.join(&station.name);
        let shown = path.display();
        let mut file = create(&path);
        if file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            if !remove_dead(folder, &station.name) {
                return Err(LiveError::NameTaken { path: shown.to_string() });
            }
            complain(&format_args!("{shown} was left by a run that was killed: replacing it"));
            file = create(&path);
        }
        let mut file = file.context(|| format!("make {shown}"))?;
        made.names.push(path.clone());
        // Locked first: what has the text and no lock is dead.
        file.lock().and_then(|()| file.write_all(OURS)).context(|| format!("write {shown}"))?;
        locks.push(file);
    }
    Ok(locks)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)
}

/// Removes a name in a folder if it was left by a run whose processes are all gone; tells whether.
fn remove_dead(folder: &Path, name: &str) -> bool {
    let path = folder.join(name);
    let found = [path.as_path(), folder].map(fs::symlink_metadata);
    let [Ok(found), Ok(around)] = found else { return false };
    let is_mounted = found.dev() != around.dev();
    let below = match (is_mounted, found.is_file()) {
        (true, _) => beneath(folder, name),
        (false, true) => File::open(&path),
        _ => return false,
    };
    // The lock is held until the name is gone, so that of two runs one replaces it.
    let Ok(file) = below else { return false };
    let mut text = Vec::new();
    let is_ours = (&file).take(OURS.len() as u64 + 1).read_to_end(&mut text).is_ok()
        && text == OURS
        && file.try_lock().is_ok();
    if is_ours && is_mounted {
        let _ = umount2(&path, MntFlags::MNT_DETACH);
    }
    is_ours && fs::remove_file(&path).is_ok()
}

/// Opens the file below what is mounted over a name: the folder by itself, mounted at another
/// place, shows it.
fn beneath(folder: &Path, name: &str) -> io::Result<File> {
    let place = std::env::temp_dir().join(format!("windfall-names-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&place)?;
    let none = None::<&str>;
    let opened = match mount(Some(folder), &place, none, MsFlags::MS_BIND, none) {
        Ok(()) => {
            let below = place.join(name);
            let is_file = fs::symlink_metadata(&below).is_ok_and(|it| it.is_file());
            let opened = is_file.then(|| File::open(below));
            let _ = umount2(&place, MntFlags::MNT_DETACH);
            opened.unwrap_or_else(|| Err(io::ErrorKind::InvalidInput.into()))
        }
        Err(error) => Err(error.into()),
    };
    let _ = fs::remove_dir(&place);
    opened
}
