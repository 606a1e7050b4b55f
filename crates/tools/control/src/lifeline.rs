//! Runs that end with whoever has started them: at the end of a pipe of which they hold one end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;

use rustix::process::{Signal, getpid, kill_process};

/// The bits of a descriptor's flags that say for what it is open: 0 for reading, 1 for writing.
const ACCESS: u32 = 0o3;

/// A pipe whose end is that of the run.
#[derive(Debug)]
pub struct Lifeline {
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The run ends with it.
    Pipe(File),
    /// The run ends with it, unless a byte has come before, which lets it go on for good.
    Socket(UnixStream),
}

impl Lifeline {
    /// The pipe at the descriptor of this number, which must be open for reading alone. To be
    /// called before this process opens anything, which could get the number.
    ///
    /// # Errors
    /// Says what is wrong about the descriptor, and what to give.
    pub fn at(descriptor: u16) -> Result<Self, String> {
        let path = format!("/proc/self/fd/{descriptor}");
        let found = fs::metadata(&path).map_err(|_| {
            "no such descriptor is open: give the reading end of a pipe whose writing end stays \
             with the process that starts the run"
                .to_owned()
        })?;
        if !found.file_type().is_fifo() {
            return Err("it is no pipe: give the reading end of one".to_owned());
        }
        if access(&descriptor.to_string()) != Some(0) {
            return Err(
                "it is open for writing, and a run ends when no process can write to the pipe any \
                 more: give the end for reading"
                    .to_owned(),
            );
        }
        let is_writer = |name: &String| {
            let other = fs::metadata(format!("/proc/self/fd/{name}"));
            let is_same = other.is_ok_and(|it| (it.dev(), it.ino()) == (found.dev(), found.ino()));
            is_same && access(name) != Some(0)
        };
        let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        if let Some(other) = names.find(is_writer) {
            return Err(format!(
                "the run has the writing end too, as descriptor {other}, so that the pipe never \
                 ends: close that one for the run"
            ));
        }
        // Opened anew, so that nothing else closes it.
        let pipe = File::open(&path).map_err(|error| format!("cannot be opened: {error}"))?;
        Ok(Self { source: Source::Pipe(pipe) })
    }

    /// The standard input, a socket: a byte that comes lets the run go on for good.
    ///
    /// # Errors
    /// If the system has no descriptors left.
    pub fn standard_input() -> io::Result<Self> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self { source: Source::Socket(socket.into()) })
    }

    /// Asks this process to end, as SIGTERM does, when the pipe comes to its end. Starts a thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn watch(self) -> io::Result<()> {
        let (mut source, is_released): (Box<dyn Read + Send>, bool) = match self.source {
            Source::Pipe(pipe) => (Box::new(pipe), false),
            Source::Socket(socket) => (Box::new(socket), true),
        };
        let watch = move || {
            let mut bytes = [0; 64];
            while let Ok(count) = source.read(&mut bytes) {
                if count == 0 {
                    let _ = kill_process(getpid(), Signal::TERM);
                    return;
                }
                if is_released {
                    return;
                }
            }
        };
        std::thread::Builder::new().spawn(watch).map(drop)
    }
}

/// For what the descriptor of this name is open.
fn access(descriptor: &str) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u32::from_str_radix(flags.trim(), 8).ok()? & ACCESS)
}
