//! The program itself, on this machine's kernel: real namespaces, real devices, real programs.
//!
//! Tests that this machine cannot run say so and are counted. None sends anything outside the
//! namespaces that it makes itself, and each ends by itself within seconds.
#![expect(
    clippy::disallowed_methods,
    reason = "real programs take real time, and the tests wait for them"
)]

mod apply;
mod attached;
mod browser;
mod camera;
mod coding;
mod control;
mod damage;
mod dashboard;
mod demo;
mod detached;
mod disturbed;
mod door;
mod drops;
mod evidence;
mod exchange;
mod expert;
mod far;
mod flows;
mod interop;
mod json;
mod lighttpd;
mod limits;
mod line;
mod namesakes;
mod offers;
mod office;
mod outside;
mod ports;
mod programs;
mod python;
mod recovery;
mod remains;
mod screen;
mod several;
mod slow;
mod sweep;
mod tcp;
mod terminal;
mod throughput;
mod udplite;
mod users;
mod video;
mod web;
mod worlds;

use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::support::{Folder, WINDFALL, first_line, pair, skip_to};

/// Longer than anything that a test waits for takes, on a machine however busy.
const LONG: Duration = Duration::from_secs(60);

/// A line of the shell that sends echo requests, each after the answer to the one before: several
/// of one `ping` are given up soon after the last, and a busy machine answers later.
fn pings(count: u32, options: &str) -> String {
    format!("for i in $(seq {count}); do ping -n -c 1 -W 30 {options}; done")
}

/// A line of the shell that waits until a condition of `test` holds, half a minute at most.
fn until(condition: &str) -> String {
    format!("for i in $(seq 600); do test {condition} && break; sleep 0.05; done")
}

/// The program with arguments as a shell would split them at spaces; the summary is not shown.
fn windfall(arguments: &str) -> Command {
    let mut command = Command::new(WINDFALL);
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// `windfall run` with options, for a command line of the shell at the near end.
fn run(options: &str, line: &str) -> Output {
    let mut command = windfall(&format!("run -q {options} --"));
    command.args(["sh", "-c", line]).output().expect("the program is there")
}

/// Returns the standard output of a program.
fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Why this machine cannot run anything in stations, if so.
fn obstacle() -> Option<&'static str> {
    static OBSTACLE: OnceLock<Option<String>> = OnceLock::new();
    let obstacle = OBSTACLE.get_or_init(|| {
        let output = run("", "true");
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    });
    obstacle.as_deref()
}

/// Tells whether a program is installed.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Skips the test where no station can be built, or where a program that it needs is missing.
macro_rules! require {
    ($($program:literal),*) => {
        if let Some(obstacle) = crate::live::obstacle() {
            windfall_testkit::skip!("{}", obstacle.trim());
        }
        for program in [$($program),*] as [&str; _] {
            if !crate::live::is_installed(program) {
                windfall_testkit::skip!("{program} is not installed");
            }
        }
    };
}
use require;
