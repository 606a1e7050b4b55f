//! Files with keys that both ends of a connection share, kept as SSH keeps its own: only their
//! owner may read them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use windfall_socket::SharedKey;

/// The longest file with a key.
const LONGEST: u64 = 4_096;
/// The bits of a mode that give others rights.
const OF_OTHERS: u32 = 0o077;
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
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    folder.map(|folder| folder.join("windfall/sap.key"))
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

/// Reads a key; refuses a file of this user that others may read.
fn read(path: &Path) -> io::Result<SharedKey> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_file() && is_ours && metadata.mode() & OF_OTHERS != 0 {
        let mode = metadata.mode() & 0o777;
        let name = path.display();
        let text =
            format!("others can read it (mode {mode:o}), so it is no secret: chmod 600 {name}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes, and no key is")));
    }
    SharedKey::from_hex(text.trim()).ok_or_else(|| {
        let found = text.trim().len();
        io::Error::other(format!("it holds {found} characters, not 64 hexadecimal digits"))
    })
}

/// Writes a new key, which only this user can read; an existing file is kept.
///
/// # Errors
/// If the file is there, or cannot be written.
pub fn create(path: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{digits}")
}
