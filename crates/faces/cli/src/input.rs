//! Files and standard input, read into bounded memory, and the errors of files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use windfall_base::{ByteCount, MEMORY_VARIABLE, MemoryBudget};
use windfall_system::as_caller;

use crate::exit::{CliError, Result};

/// The part of the memory that a text may take from which a tree is made: a scenario or a track.
/// As a tree it takes up to fifty times the bytes.
const TREE_PART: usize = 64;
/// The least memory of messages of SAP that an option sets: a window in either direction.
const LEAST_MESSAGES: usize = 8 << 20;
/// The part that other files may take: traces, captures and pictures.
const DATA_PART: usize = 4;

/// Returns the memory that reading files may take, from the environment or by default.
pub(crate) fn budget() -> Result<MemoryBudget> {
    Ok(limit()?.map_or_else(MemoryBudget::default, MemoryBudget::new))
}

/// Limits the memory of messages of SAP, if the environment says so.
pub(crate) fn limit_messages() -> Result<()> {
    limit()?.into_iter().for_each(windfall_socket::limit_memory);
    Ok(())
}

/// Limits the memory of messages of SAP to `most` bytes, or to its default if that is less, unless
/// the environment says another limit.
pub(crate) fn limit_messages_to(most: usize) -> Result<()> {
    if limit()?.is_none() {
        windfall_socket::limit_memory(messages_within(most, windfall_socket::memory().1));
    }
    Ok(())
}

/// Returns the memory of messages of SAP where the bodies take `most` bytes: as many, at most those
/// of the default, and at least what the connections of a page need.
fn messages_within(most: usize, default: usize) -> usize {
    most.max(LEAST_MESSAGES).min(default)
}

/// Returns the limit of the environment.
fn limit() -> Result<Option<usize>> {
    let Some(text) = std::env::var_os(MEMORY_VARIABLE) else { return Ok(None) };
    let size = text.to_string_lossy().parse::<ByteCount>();
    let size = size.map_err(|error| CliError::usage(format!("{MEMORY_VARIABLE}: {error}")))?;
    Ok(Some(usize::try_from(size.0).unwrap_or(usize::MAX)))
}

/// Reads a file, or the standard input for `-`, into memory taken from `budget`.
pub(crate) fn read(path: &Path, budget: &mut MemoryBudget) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        return budget.read(io::stdin(), DATA_PART);
    }
    budget.read(open(path)?, DATA_PART)
}

/// Opens a file with the rights of the user, also under sudo.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    as_caller(path, || File::open(path))
}

/// Reads a file that a scenario names, with a copy of the budget.
///
/// It is read when the scenario is checked, when it runs and when it is recorded: a pipe would
/// give nothing the second time, or wait for ever.
pub(crate) fn read_named(path: &Path, budget: &MemoryBudget) -> io::Result<Vec<u8>> {
    if path.metadata()?.file_type().is_fifo() {
        return Err(io::Error::other("it is read more than once: give a plain file, not a pipe"));
    }
    budget.clone().read(open(path)?, DATA_PART)
}

/// Reads a text from which a tree is made, from a file or, for `-`, the standard input.
///
/// `what` names its kind in errors.
pub(crate) fn read_tree(path: &Path, what: &str) -> Result<String> {
    read_text(path, what, TREE_PART, &mut budget()?)
}

/// Reads a list as [`read_tree`] reads a tree. What is made of it is taken from `budget` too.
pub(crate) fn read_list(path: &Path, what: &str, budget: &mut MemoryBudget) -> Result<String> {
    read_text(path, what, DATA_PART, budget)
}

fn read_text(path: &Path, what: &str, part: usize, budget: &mut MemoryBudget) -> Result<String> {
    let bytes = if path.as_os_str() == "-" {
        budget.read(io::stdin(), part)
    } else {
        open(path).and_then(|file| budget.read(file, part))
    };
    let text = String::from_utf8(bytes.map_err(|error| cannot_read(path, &error))?);
    let mut text =
        text.map_err(|_| CliError::usage(format!("{} is no {what}: not text", path.display())))?;
    // Some editors begin a text with a mark of its byte order.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Returns the error of a file that cannot be read.
pub(crate) fn cannot_read(path: &Path, error: &dyn std::error::Error) -> CliError {
    CliError::usage(format!("cannot read {}: {error}", path.display()))
}

/// Returns the error of a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &dyn std::error::Error) -> CliError {
    CliError::usage(format!("cannot write {}: {error}", path.display()))
}
