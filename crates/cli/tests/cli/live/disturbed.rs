//! What a run says of itself when the machine, or a user, keeps it from running.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::live::{require, windfall};

/// A run whose command prints a line, waits for another, and sends pings before and after.
fn pinging() -> Child {
    let line = "ping -q -c 2 -i 0.02 $WINDFALL_BASE >/dev/null; echo ready; \
                ping -c 8 -i 0.1 $WINDFALL_BASE";
    windfall("run --json --")
        .args(["sh", "-c", line])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there")
}

/// The longest round trip that the command's ping saw, in seconds, and the summary of the run.
fn end(run: Child, rest: impl BufRead) -> (f64, serde_json::Value) {
    let times = rest.lines().map_while(Result::ok).filter_map(|line| {
        let time = line.split_once("time=")?.1.split_once(' ')?.0.parse::<f64>();
        time.ok()
    });
    let longest = times.fold(0.0, f64::max) / 1e3;
    let output = run.wait_with_output().expect("it ends");
    let summary = serde_json::from_slice(&output.stderr).expect("a summary");
    (longest, summary)
}

#[test]
fn a_run_that_was_stopped_says_so() {
    require!("ping");
    let mut run = pinging();
    let mut output = BufReader::new(run.stdout.take().expect("a pipe"));
    output.read_line(&mut String::new()).expect("a line");
    sleep(Duration::from_millis(150));
    let process = Pid::from_child(&run);
    kill_process(process, Signal::STOP).expect("it lives");
    sleep(Duration::from_millis(600));
    kill_process(process, Signal::CONT).expect("it lives");
    let (longest, summary) = end(run, output);
    let late = &summary["late"];
    let seconds = |name: &str| late[name].as_f64().unwrap_or(0.0);
    assert!(longest >= 0.3, "{longest}: {summary}");
    // What ping saw beyond the worst that the run admits is its own and its kernel's.
    assert!(seconds("worst_seconds") >= 0.9 * longest, "{longest}: {late}");
    assert!(seconds("longest_pause_seconds") >= 0.55, "{late}");
    assert_eq!(late["disturbed"], true, "{late}");
    assert!(late["read_late"].as_u64() > Some(0), "{late}");
}
