//! What a user names or pipes in, read into bounded memory, and files that are written whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::Path;

use windfall_base::{ByteCount, MEMORY_VARIABLE, MemoryBudget};

use crate::exit::{Result, Trouble};

/// The part of the memory that a text may take from which a tree is made: a scenario or a track.
/// As a tree it takes up to fifty times the bytes.
const TREE_PART: usize = 64;
/// The part that other files may take: traces, captures and pictures.
const DATA_PART: usize = 4;
/// The longest file with a key.
const KEY: usize = 4_096;

/// The memory that reading files may take: what the environment says, or the default.
pub(crate) fn budget() -> Result<MemoryBudget> {
    let Some(text) = std::env::var_os(MEMORY_VARIABLE) else { return Ok(MemoryBudget::default()) };
    let size = text.to_string_lossy().parse::<ByteCount>();
    let size =
        size.map_err(|error| Trouble::of_arguments(format!("{MEMORY_VARIABLE}: {error}")))?;
    Ok(MemoryBudget::new(usize::try_from(size.0).unwrap_or(usize::MAX)))
}

/// The bytes of a file, which `budget` pays for; `-` is the standard input.
pub(crate) fn read(path: &Path, budget: &mut MemoryBudget) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        return budget.read(io::stdin(), DATA_PART);
    }
    budget.read(File::open(path)?, DATA_PART)
}

/// The bytes of a file that a scenario names, for a budget of its own.
pub(crate) fn read_named(path: &Path, budget: &MemoryBudget) -> io::Result<Vec<u8>> {
    budget.clone().read(File::open(path)?, DATA_PART)
}

/// The text of a file from which a tree is made, or of the standard input if the name is `-`;
/// `what` names what it should be.
pub(crate) fn read_tree(path: &Path, what: &str) -> Result<String> {
    let cannot = |error| cannot_read(path, &error);
    let mut budget = budget()?;
    let bytes = match path.as_os_str() == "-" {
        true => budget.read(io::stdin(), TREE_PART),
        false => File::open(path).and_then(|file| budget.read(file, TREE_PART)),
    };
    let text = String::from_utf8(bytes.map_err(cannot)?);
    text.map_err(|_| Trouble::of_arguments(format!("{} is no {what}: not text", path.display())))
}

/// The text of a file with a key.
pub(crate) fn read_key(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(KEY as u64 + 1).read_to_string(&mut text)?;
    match text.len() > KEY {
        true => Err(io::Error::other(format!("it is longer than {KEY} bytes, and no key is"))),
        false => Ok(text),
    }
}

/// That a file cannot be read.
pub(crate) fn cannot_read(path: &Path, error: &dyn std::error::Error) -> Trouble {
    Trouble::of_arguments(format!("cannot read {}: {error}", path.display()))
}

/// Writes a file beside `path` and puts it in its place when all of it is there, so that what
/// stood there stays where the disk is full. What is no plain file is written as it stands.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(path).ok();
    let is_plain = old.as_ref().is_none_or(fs::Metadata::is_file);
    let Some(name) = path.file_name().filter(|_| is_plain) else {
        return fs::write(path, bytes);
    };
    let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    let beside = path.with_file_name(name);
    let file = match File::create_new(&beside) {
        // Somebody may write this file and yet make none in its folder.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return fs::write(path, bytes),
        file => file?,
    };
    let written = fill(file, bytes, old.map(|old| old.permissions()));
    let placed = written.and_then(|()| fs::rename(&beside, path));
    placed.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn fill(mut file: File, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()?;
    permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))
}
