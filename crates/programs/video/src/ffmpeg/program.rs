//! The program as a child with pipes.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ffmpeg::error::FfmpegError;

/// Returns a command with what every call has in common.
pub(crate) fn command() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]);
    command
}

/// Runs the program with `input` on its standard input, and returns its standard output.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, FfmpegError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(FfmpegError::Missing)?;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let mut output = Vec::new();
    let mut words = String::new();
    // The three pipes are served at once: none may fill up while another is waited for.
    let read = std::thread::scope(|scope| {
        let writing = move || {
            // It stops reading when it has enough or fails; its exit status tells.
            let _ = stdin.map(|mut pipe| pipe.write_all(input));
        };
        let words = &mut words;
        let listening = move || {
            let _ = stderr.map(|mut pipe| pipe.read_to_string(words));
        };
        std::thread::Builder::new().spawn_scoped(scope, writing)?;
        std::thread::Builder::new().spawn_scoped(scope, listening)?;
        stdout.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut output))
    });
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    read?;
    if status.success() { Ok(output) } else { Err(FfmpegError::Failed(last_words(&words))) }
}

/// The first line that names a reason, which is the last one of few.
fn last_words(words: &str) -> String {
    let line = words.lines().rfind(|line| !line.trim().is_empty());
    line.map_or_else(|| "it says no reason".to_owned(), str::to_owned)
}

/// A file that is removed when nothing needs it.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    /// Creates a file of `bytes` that only its owner reads.
    pub(crate) fn create(ending: &str, bytes: &[u8]) -> std::io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windfall-{}-{number}.{ending}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::File::create_new(&path)?;
        let this = Self(path);
        file.write_all(bytes)?;
        Ok(this)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It lies in a folder that the system empties.
        let _ = std::fs::remove_file(&self.0);
    }
}
