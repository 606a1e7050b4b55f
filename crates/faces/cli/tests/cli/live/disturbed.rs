//! What a run says of itself when the machine, or a user, keeps it from running.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::live::{require, windfall};

/// The time for which a run is stopped.
const STOPPED: Duration = Duration::from_millis(1000);

/// A run whose command sends pings until it is interrupted, and says when each was answered.
fn pinging() -> Child {
    windfall("run --json --")
        .args(["sh", "-c", "exec ping -i 0.1 $WINDFALL_BASE"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there")
}

/// The next round trip that the command's ping saw, in seconds.
fn next(answers: &mut impl BufRead) -> f64 {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(answers.read_line(&mut line).expect("text") > 0, "it ended");
        let time = line.split_once("time=").and_then(|(_, rest)| rest.split_once(' '));
        if let Some(Ok(milliseconds)) = time.map(|(time, _)| time.parse::<f64>()) {
            return milliseconds / 1e3;
        }
    }
}

#[test]
fn a_run_that_was_stopped_says_so() {
    require!("ping");
    let mut run = pinging();
    let mut answers = BufReader::new(run.stdout.take().expect("a pipe"));
    let process = Pid::from_child(&run);
    // On a busy machine ping itself may be what stands still: until its requests meet a stop.
    let mut longest = 0.0_f64;
    for _ in 0..20 {
        next(&mut answers);
        kill_process(process, Signal::STOP).expect("it lives");
        sleep(STOPPED);
        kill_process(process, Signal::CONT).expect("it lives");
        longest = (0..10).map(|_| next(&mut answers)).fold(longest, f64::max);
        if longest >= 0.5 * STOPPED.as_secs_f64() {
            break;
        }
    }
    kill_process(process, Signal::INT).expect("it lives");
    let output = run.wait_with_output().expect("it ends");
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).expect("a summary");
    let late = &summary["lateness"];
    let seconds = |name: &str| late[name].as_f64().unwrap_or(0.0);
    assert!(longest >= 0.5 * STOPPED.as_secs_f64(), "{longest}: {summary}");
    // A round trip is two deliveries, and what ping and its kernel take.
    assert!(seconds("worst_seconds") >= 0.45 * longest, "{longest}: {late}");
    // How long is known to within a tenth of a second.
    assert!(seconds("longest_pause_seconds") >= STOPPED.as_secs_f64() - 0.11, "{late}");
    assert_eq!(late["disturbed"], true, "{late}");
    assert!(late["late_reads"].as_u64() > Some(0), "{late}");
}

#[test]
fn a_device_that_a_program_deletes_costs_nothing_else() {
    require!("ip");
    if !rustix::process::geteuid().is_root() {
        windfall_testkit::skip!("only root has TUN devices");
    }
    let line = "ip link del wf0 && exit 7";
    let output = windfall("run --").args(["sh", "-c", line]).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{error}");
    assert!(error.contains("the device wf0 of station near is gone"), "{error}");
    assert!(error.contains("packets"), "{error}");
}
