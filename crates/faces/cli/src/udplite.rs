//! `windfall udplite`: programs that open sockets of UDP-Lite, on a kernel that has none.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::{CliError, Result};

/// The library that is preloaded.
const LIBRARY: &str = "libwindfall_udplite.so";
/// The variable that names the library, where it does not lie beside the program.
const LIBRARY_VARIABLE: &str = "WINDFALL_UDPLITE_LIBRARY";
/// The variable by which the library learns the carrier.
const CARRIER_VARIABLE: &str = "WINDFALL_UDPLITE_CARRIER";
/// The variable by which the dynamic linker learns of the library.
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Run a program with UDP-Lite sockets on a kernel without UDP-Lite
///
/// The program stays unchanged, but must be dynamically linked. A library is preloaded into it and
/// into the programs that it starts. Its IPPROTO_UDPLITE sockets become sockets of the kernel, raw
/// sockets of protocol 136, or UDP sockets with the partial checksum inside.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Carrier of the datagrams. auto takes the first of kernel, raw and udp that the machine
    /// allows
    #[arg(long, value_name = "CARRIER", default_value = "auto")]
    #[arg(value_parser = ["auto", "kernel", "raw", "udp"])]
    carrier: String,
    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result {
    let library = library()?;
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os(PRELOAD_VARIABLE).filter(|it| !it.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let program = Path::new(&args.program[0]);
    if let Some(path) = find(program).filter(|path| is_static(path)) {
        let why = "is linked statically, and a library cannot be preloaded into it";
        return Err(CliError::new(format!("{} {why}", path.display())));
    }
    let mut command = Command::new(program);
    command.args(&args.program[1..]);
    command.env(PRELOAD_VARIABLE, preload).env(CARRIER_VARIABLE, &args.carrier);
    let error = command.exec();
    Err(CliError::new(format!("cannot run {}: {error}", program.display())))
}

/// Finds the library: where a variable says, beside this program, or in the folder of libraries
/// next to its own.
fn library() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(LIBRARY_VARIABLE) {
        let path = PathBuf::from(named);
        let why = format!("{LIBRARY_VARIABLE} names {}, which is not there", path.display());
        return path.canonicalize().map_err(|_| CliError::new(why));
    }
    let own = std::env::current_exe()?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let places = ["", "deps", "../lib"].map(|place| folder.join(place).join(LIBRARY));
    let found = places.iter().find_map(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        let fix = "build it by `cargo build --release --package windfall-preload`, or name";
        let beside = folder.display();
        CliError::new(format!("{LIBRARY} is not in {beside}: {fix} it by {LIBRARY_VARIABLE}"))
    })
}

/// Finds a program as the shell does.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Tells whether a program is an ELF file of 64 bits that asks for no dynamic linker.
fn is_static(path: &Path) -> bool {
    const INTERPRETER: u32 = 3;
    let Ok(bytes) = std::fs::read(path) else { return false };
    if bytes.get(..5) != Some(b"\x7fELF\x02") {
        return false;
    }
    let half = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let (Some(start), Some(size), Some(count)) = (word(32), half(54), half(56)) else {
        return false;
    };
    let kind = |at: u16| word(start as usize + usize::from(at) * usize::from(size));
    !(0..count).any(|at| kind(at) == Some(INTERPRETER))
}
