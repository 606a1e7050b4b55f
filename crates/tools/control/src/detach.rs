//! Runs that go on by themselves: this command once more, as a process of its own.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::protocol::{RunRequest, RunStatus};
use crate::{ControlClient, ControlError};

/// The time from one look at the run to the next.
const LOOK: Duration = Duration::from_millis(10);

/// The option of the command that has been started again.
pub const OPTION: &str = "--is-detached";

/// The words of this command line behind the name of the program, as the user gave them.
pub fn words() -> impl Iterator<Item = OsString> {
    let words = std::env::args_os().skip(1).enumerate();
    words.filter(|(at, word)| *at != 1 || word != OPTION).map(|(_, word)| word)
}

/// Returns the file for what a detached run of this name prints, and makes its folder: one for each
/// name, which the next run of that name writes anew.
///
/// # Errors
/// If there is no home folder, or the folder cannot be made.
pub fn default_output(name: &str) -> Result<PathBuf, ControlError> {
    // A relative one is to be ignored (XDG Base Directory Specification).
    let state = folder_variable("XDG_STATE_HOME")
        .or_else(|| Some(folder_variable("HOME")?.join(".local/state")))
        .ok_or_else(|| {
            let text = "there is no home folder for what the run prints: name a file by --output";
            ControlError::Refused(text.to_owned())
        })?;
    let folder = state.join("windfall");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| {
        let text = format!("cannot make {}: {error}: name a file by --output", folder.display());
        ControlError::Refused(text)
    })?;
    remove_unfinished(&folder);
    Ok(folder.join(format!("{name}.log")))
}

/// Returns the absolute path in an environment variable.
fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute())
}

/// Removes the files of starts that were killed: `.NAME.log.PID` of processes that are gone.
fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let process = name.strip_prefix('.').and_then(|it| it.rsplit_once(".log."));
        let process = process.and_then(|(_, process)| process.parse::<u32>().ok());
        if process.is_some_and(|it| !Path::new(&format!("/proc/{it}")).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Starts this command again as a process of its own, with [`OPTION`] behind its first word, which
/// prints to `output`, and returns when the run is up. If this process ends before, so does the
/// run.
///
/// # Errors
/// The last line that the process has printed if it ends before; a scenario from the standard
/// input, which this process has read already, is refused.
pub fn detach(name: &str, output: &File, scenario: Option<&Path>) -> Result<(), ControlError> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| ControlError::Refused(format!("cannot {what}: {error}"))
    };
    if scenario == Some(Path::new("-")) {
        let text = "a detached run cannot read its scenario from the standard input: \
                    write it to a file, and name that";
        return Err(ControlError::Refused(text.to_owned()));
    }
    let open = through(output);
    let append = || OpenOptions::new().append(true).open(&open).map_err(failed("open a file"));
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new(std::env::current_exe().map_err(failed("find this program"))?);
    command.args(words.next()).arg(OPTION).args(words);
    let (mut lifeline, theirs) = UnixStream::pair().map_err(failed("make a socket"))?;
    command.stdin(Stdio::from(OwnedFd::from(theirs)));
    command.stdout(append()?).stderr(append()?);
    let mut child = command.spawn().map_err(failed("start this program again"))?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed("wait for the run"))? {
            let signal = status.signal();
            let code = status.code().or_else(|| signal.map(|signal| 128 + signal)).unwrap_or(1);
            let line = reported(&mut lifeline).or_else(|| last_line(&open));
            let line = line.unwrap_or_else(|| match signal {
                Some(signal) => format!("the run was ended by signal {signal} before it was up"),
                None => "the run ended before it was up".to_owned(),
            });
            return Err(ControlError::Ended { code: code as u8, line });
        }
        if let Ok(mut run) = ControlClient::connect(Some(name))
            && let Ok(status) = run.ask::<RunStatus>(&RunRequest::Status)
            && status.pid == child.id()
        {
            return lifeline.write_all(b"\n").map_err(failed("let the run go on"));
        }
        wait();
    }
}

/// The name by which this process opens a file that is open, wherever it lies.
fn through(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Tells whoever has started this process by [`detach`] why it cannot run; what it prints may go
/// where no user looks, or to a disk that is full.
pub fn report(error: &str) {
    if let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() {
        let _ = UnixStream::from(socket).write_all(error.as_bytes());
    }
}

/// Returns the report of the process that has ended.
fn reported(lifeline: &mut UnixStream) -> Option<String> {
    let mut said = Vec::new();
    // Others may have its end of the socket still.
    let _ = lifeline.set_nonblocking(true).and_then(|()| lifeline.read_to_end(&mut said));
    Some(String::from_utf8_lossy(&said).into_owned()).filter(|said| !said.is_empty())
}

/// The last line that was printed to a file; a pipe or a terminal is not read.
fn last_line(path: &Path) -> Option<String> {
    let is_plain = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let bytes = if is_plain { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().last()?;
    Some(line.strip_prefix("windfall: ").unwrap_or(line).to_owned())
}

#[expect(clippy::disallowed_methods, reason = "another process comes up in real time")]
fn wait() {
    std::thread::sleep(LOOK);
}
