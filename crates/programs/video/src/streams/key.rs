//! Files with keys that both ends of a connection share, kept as SSH keeps its own: only their
//! owner may read them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use windfall_socket::SharedKey;
use windfall_system::{as_caller, caller};

/// The longest file with a key.
const LONGEST: u64 = 4_096;
/// The bits of a mode that let others read, and those that let them write.
const READ_BY_OTHERS: u32 = 0o044;
const WRITTEN_BY_OTHERS: u32 = 0o022;
/// The bits of a folder's mode that let everybody write it, and only owners replace their files.
const WRITTEN_BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// The word in place of a file for no key.
pub const NONE: &str = "none";

/// The key of an end, as its user has chosen it.
#[derive(Clone, Copy, Debug)]
pub enum KeyChoice {
    /// The end does not encrypt, whatever key its user has.
    Unencrypted,
    /// The end encrypts with this key.
    Shared(SharedKey),
}

impl KeyChoice {
    /// Reads the key from a file, so that it appears in no list of processes.
    ///
    /// # Errors
    /// If it cannot be read, or others can read it.
    pub fn parse(file: &str) -> Result<Self, String> {
        if file == NONE {
            return Ok(Self::Unencrypted);
        }
        read(file.as_ref()).map(Self::Shared).map_err(|error| error.to_string())
    }

    /// Returns the chosen key; without a choice that of the user, if there is one.
    ///
    /// # Errors
    /// If the user's key cannot be read.
    pub fn key(choice: Option<Self>) -> Result<Option<SharedKey>, String> {
        match choice {
            Some(Self::Unencrypted) => Ok(None),
            Some(Self::Shared(key)) => Ok(Some(key)),
            None => of_user(),
        }
    }
}

/// Returns the place of the user's key.
#[must_use]
pub fn place() -> Option<PathBuf> {
    // A relative one is to be ignored (XDG Base Directory Specification): the key would be another
    // in each folder.
    // Under sudo the home is root's, where the user who called has no key.
    let folder = match caller() {
        Some(_) => windfall_system::caller_home().map(|home| home.join(".config")),
        None => folder_variable("XDG_CONFIG_HOME")
            .or_else(|| Some(folder_variable("HOME")?.join(".config"))),
    };
    folder.map(|folder| folder.join("windfall/sap.key"))
}

/// Returns the absolute path in an environment variable.
fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute())
}

fn of_user() -> Result<Option<SharedKey>, String> {
    let Some(place) = place() else { return Ok(None) };
    match read(&place) {
        Ok(key) => Ok(Some(key)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let text = format!("cannot read {}: {error}; --key none does without", place.display());
            Err(text)
        }
    }
}

/// Reads a key; refuses a file that others than its owner can write, that belongs to another user
/// than this one and root, that others can read although it is this user's, or that everybody can
/// replace.
fn read(path: &Path) -> io::Result<SharedKey> {
    let file = as_caller(path, || File::open(path))?;
    let metadata = file.metadata()?;
    // A pipe has no key that another user could put there.
    let is_file = metadata.is_file();
    if is_file {
        check_rights(&metadata, path)?;
        check_folder(path)?;
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes, and no key is")));
    }
    let digits = text.trim();
    if digits.is_empty() {
        let name = path.display();
        let fix = if is_file {
            format!("it is empty: remove it, and write a key with windfall sap keygen {name}")
        } else {
            "it holds no key: name a file that windfall sap keygen has written".to_owned()
        };
        return Err(io::Error::new(io::ErrorKind::InvalidData, fix));
    }
    SharedKey::from_hex(digits).ok_or_else(|| {
        let found = digits.len();
        io::Error::other(format!("it holds {found} characters, not 64 hexadecimal digits"))
    })
}

/// Checks that no other user can have put a key into a file, nor can know it.
fn check_rights(metadata: &std::fs::Metadata, path: &Path) -> io::Result<()> {
    let own = caller().map_or_else(|| rustix::process::geteuid().as_raw(), |(user, _)| user);
    let owner = metadata.uid();
    let mode = metadata.mode() & 0o777;
    let name = path.display();
    let fault = if owner != own && owner != 0 {
        format!("it belongs to user {owner}, who can replace the key: copy it to a file of yours")
    } else if mode & WRITTEN_BY_OTHERS != 0 {
        format!("others can write it (mode {mode:o}), so the key may be theirs: chmod 600 {name}")
    } else if owner == own && mode & READ_BY_OTHERS != 0 {
        format!("others can read it (mode {mode:o}), so it is no secret: chmod 600 {name}")
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, fault))
}

/// Checks that not everybody can put another file in the place of one with a key.
fn check_folder(path: &Path) -> io::Result<()> {
    let real = as_caller(path, || std::fs::canonicalize(path)).unwrap_or_default();
    // A file without a name can be replaced by none.
    let Some(folder) = real.parent() else { return Ok(()) };
    let mode = as_caller(folder, || std::fs::metadata(folder))?.mode();
    // In a folder with the sticky bit only the owner of a file can replace it.
    if mode & WRITTEN_BY_ALL == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    let fault = format!(
        "all can replace it (mode {mode:o} of its folder), so the key may be theirs: chmod o-w {}",
        folder.display(),
        mode = mode & 0o7777
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, fault))
}

/// Writes a new key, which only this user can read; an existing file is kept.
///
/// # Errors
/// If the file is there, or cannot be written.
pub fn create(path: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    as_caller(path, || {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{digits}").inspect_err(|_| {
            // Half a key would be refused for ever.
            let _ = std::fs::remove_file(path);
        })
    })
}

#[cfg(test)]
mod tests;
