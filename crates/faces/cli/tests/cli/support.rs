//! Folders, scenarios and running programs that the tests share.

use std::io::{BufRead as _, BufReader, Read};
use std::ops::Deref;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;
use windfall_testkit::folder;

/// The program under test.
pub(crate) const WINDFALL: &str = env!("CARGO_BIN_EXE_windfall");

/// A new folder for the files of one test; removed with everything in it when dropped.
pub(crate) struct Folder(folder::Folder);

impl Deref for Folder {
    type Target = folder::Folder;

    fn deref(&self) -> &folder::Folder {
        &self.0
    }
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        Self(folder::Folder::new(name))
    }

    /// Returns a command that runs the program in this folder, with nothing to read.
    pub(crate) fn windfall(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(WINDFALL);
        command.current_dir(self.path()).args(arguments).stdin(Stdio::null());
        command
    }
}

/// Sets who may read and write a file.
pub(crate) fn permit(name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(name, permissions).expect("it is ours");
}

/// Returns the text of a scenario: the keys of the run, stations with keys of their own, the rest.
pub(crate) fn scenario(keys: &str, stations: &[(&str, &str)], rest: &str) -> String {
    let station = |(name, keys): &(&str, &str)| format!("[[station]]\nname = \"{name}\"\n{keys}\n");
    let stations: String = stations.iter().map(station).collect();
    format!("format = 1\n{keys}\n{stations}{rest}\n")
}

/// Returns the text of a scenario with two stations, `a` and `b`, and a link between them.
pub(crate) fn pair(keys_of_link: &str) -> String {
    let link = format!("[[link]]\nstations = [\"a\", \"b\"]\n{keys_of_link}");
    scenario("", &[("a", ""), ("b", "")], &link)
}

/// Returns the first line that a program writes, and the rest.
pub(crate) fn first_line<R: Read>(stream: Option<R>) -> (String, BufReader<R>) {
    let mut reader = BufReader::new(stream.expect("a pipe"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("text");
    (line, reader)
}

/// Skips the lines of a program up to one that contains `part`.
pub(crate) fn skip_to<R: Read>(stream: Option<R>, part: &str) -> BufReader<R> {
    let mut reader = BufReader::new(stream.expect("a pipe"));
    let mut line = String::new();
    while !line.contains(part) {
        line.clear();
        assert!(reader.read_line(&mut line).expect("text") > 0, "it ended");
    }
    reader
}

/// A receiver on loopback that waits for its sender.
pub(crate) struct Receiver {
    pub(crate) child: Child,
    errors: BufReader<ChildStderr>,
    /// The address and the port where it waits.
    pub(crate) address: String,
}

impl Receiver {
    pub(crate) fn start(command: &str, options: &[&str]) -> Self {
        let words = [command, "receive", "--on", "127.0.0.1", "--port", "0"];
        Self::spawn(Command::new(WINDFALL).args(words).args(options))
    }

    /// Starts a receiver by its command line.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let (line, errors) = first_line(child.stderr.take());
        let address = line.trim().rsplit(' ').next().expect("an address").to_owned();
        Self { child, errors, address }
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().expect("a port")
    }

    /// Waits for its end, and returns its exit code, its report and its errors.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let mut report = String::new();
        let mut errors = String::new();
        let mut out = self.child.stdout.take().expect("piped");
        out.read_to_string(&mut report).expect("text");
        self.errors.read_to_string(&mut errors).expect("text");
        (self.child.wait().expect("it ends").code(), report, errors)
    }
}

/// Returns the report of a receiver to which `words` are sent over `over`, with `both` given to
/// sender and receiver.
pub(crate) fn exchange(both: &[&str], command: &str, over: &str, words: &[&str]) -> Value {
    let both = [&["--over", over], both].concat();
    let receiver = Receiver::start(command, &[&["--json"], &both[..]].concat());
    let sent = Command::new(WINDFALL)
        .args([command, "send", "127.0.0.1", "--port", receiver.port()])
        .args(words)
        .args(&both)
        .output()
        .expect("it runs");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let (code, report, errors) = receiver.end();
    assert_eq!(code, Some(0), "{errors}");
    serde_json::from_str(&report).expect("JSON")
}
