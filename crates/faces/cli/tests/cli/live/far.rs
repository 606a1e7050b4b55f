//! Programs at the far end: when the command may start, where they write, and how they fail.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

use crate::live::{Folder, LONG, WINDFALL, first_line, require, text, until, windfall};

/// A run with a program at the far end, and a command line of the shell at the near end.
fn beside(options: &str, far: &str, near: &str) -> Output {
    let mut command = windfall(&format!("run {options}"));
    command.args(["--far", far, "--", "sh", "-c", near]).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_command_waits_for_the_port_that_it_needs() {
    require!();
    // Longer than the command waits for anything that listens.
    let far = format!("sleep 1.3; exec {WINDFALL} bulk receive --port 5001");
    let near = format!("exec {WINDFALL} bulk send $WINDFALL_BASE --port 5001 --bytes 1000");
    let output = beside("-q --wait-port 5001", &far, &near);
    assert!(output.status.success(), "{}", said(&output));
    assert!(text(&output).contains("seconds"), "{}", text(&output));
}

#[test]
fn a_port_on_which_nothing_will_listen_is_not_awaited() {
    require!();
    let began = Instant::now();
    let output = beside("-q --wait-port 5001", "exit 0", "echo started");
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty());
    let expected = "nothing listens on port 5001 of station far: its programs have ended";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    // Nothing runs there without a program.
    let output = windfall("run --wait-port 80 -- true").output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--far"), "{}", said(&output));
}

#[test]
fn a_run_that_waits_for_a_port_can_be_ended() {
    require!();
    let mut child = windfall("run -q --wait-port 9 --far")
        .args(["echo waiting; sleep 60", "--", "true"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let (line, _errors) = first_line(child.stderr.take());
    assert_eq!(line, "far: waiting\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
}

#[test]
fn a_program_that_fails_is_named_and_counts() {
    require!();
    let folder = Folder::new("fails");
    let process = folder.path().join("process");
    let process = process.display();
    let fails = format!("echo $$ >{process}; exit 3");
    let line = format!("failed at far: \"{fails}\" ended with 3");
    // The run buries its programs, so that it has noticed the end of one that is no more.
    let near = format!(
        "{}; while kill -0 $(cat {process}) 2>/dev/null; do sleep 0.02; done; rm {process}",
        until(&format!("-s {process}"))
    );
    let fails = fails.as_str();
    let output = beside("-q", fails, &near);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(said(&output), format!("windfall: {line}\n"));
    // The command's own status comes first.
    let output = beside("", fails, &format!("{near}; exit 5"));
    assert_eq!(output.status.code(), Some(5));
    assert!(said(&output).lines().any(|it| it == line), "{}", said(&output));
    let output = beside("--json --far-may-fail", fails, &near);
    assert_eq!(output.status.code(), Some(0));
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).expect("a summary");
    assert_eq!(summary["failed"][0]["program"], fails, "{summary}");
    assert_eq!(
        (&summary["failed"][0]["status"], &summary["failed"][0]["station"]),
        (&3.into(), &"far".into())
    );
}

#[test]
fn what_is_typed_is_for_the_command() {
    require!();
    let mut command = windfall("run -q --far-output - --far");
    let mut run = command
        .args(["cat; echo nothing", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    // The far end reads to the end of nothing before the near end begins.
    let mut input = run.stdin.take().expect("a pipe");
    input.write_all(b"typed\n").expect("room");
    drop(input);
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "nothing\ntyped\n");
}

#[test]
fn a_program_that_was_told_to_end_has_not_failed() {
    require!();
    let output = beside("-q", "trap 'exit 9' TERM; sleep 30 & wait", "true");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = beside("-q", "exec sleep 30", "true");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(said(&output), "");
}

/// A line of the shell that writes its process into a file and lasts; it ends with 7 by SIGTERM.
fn lasting_far(process: &Path) -> String {
    // Of a program in the background the shell does not say that it was ended.
    format!("trap 'exit 7' TERM; echo $$ >{}; sleep 100 & wait", process.display())
}

/// A line of the shell that waits until the run has buried the process in this file.
fn buried(process: &Path) -> String {
    format!("while kill -0 $(cat {}) 2>/dev/null; do sleep 0.02; done", process.display())
}

/// `timeout` ends a run so: its signal goes to each process of the group.
#[test]
fn what_ends_the_process_group_is_no_failure_of_the_far_end() {
    require!();
    let folder = Folder::new("far-group");
    let process = folder.path().join("process");
    let far = lasting_far(&process);
    let near = format!(
        "trap '{}; exit 5' TERM; {}; echo begun; sleep 100 & wait",
        buried(&process),
        until(&format!("-s {}", process.display()))
    );
    for (far, near, code) in [
        (far.as_str(), near.as_str(), 5),
        ("exec sleep 100", "echo begun; exec sleep 100", 128 + 15),
    ] {
        let mut run = windfall("run -q --far")
            .args([far, "--", "sh", "-c", near])
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let (line, _output) = first_line(run.stdout.take());
        assert_eq!(line, "begun\n");
        let group = rustix::process::Pid::from_child(&run);
        rustix::process::kill_process_group(group, rustix::process::Signal::TERM)
            .expect("it lives");
        let output = run.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(code), ""));
    }
}

#[test]
fn a_program_that_ends_its_own_process_group_is_no_interrupt() {
    require!();
    let folder = Folder::new("far-own-group");
    let process = folder.path().join("process");
    let far = lasting_far(&process);
    let near = format!(
        "trap '' TERM; {}; kill 0; {}",
        until(&format!("-s {}", process.display())),
        buried(&process)
    );
    let mut run = windfall("run -q --far");
    let run = run.args([&far, "--", "sh", "-c", &near]).process_group(0);
    let output = run.output().expect("it runs");
    let far = far.replace('\'', "\\'");
    let failure = format!("windfall: failed at far: \"{far}\" ended with 7\n");
    assert_eq!((output.status.code(), said(&output)), (Some(7), failure));
}

#[test]
fn what_programs_print_leaves_the_commands_output_alone() {
    require!();
    let folder = Folder::new("far-output");
    let done = folder.path().join("done");
    // The far end has said everything before the near end says something.
    let far = format!("echo one; echo two; printf three; : >{}", done.display());
    let near = format!("{}; echo near", until(&format!("-e {}", done.display())));
    let far = far.as_str();
    let near = near.as_str();
    let output = beside("-q", far, near);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "near\n");
    assert_eq!(said(&output), "far: one\nfar: two\nfar: three\n");
    let file = folder.path().join("said");
    let output = beside(&format!("-q --far-output {}", file.display()), far, near);
    assert_eq!(text(&output), "near\n");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "one\ntwo\nthree");
    let output = beside("-q --far-output -", far, near);
    assert_eq!(text(&output), "one\ntwo\nthreenear\n");
    let output = beside("-q --far-output /no/such/folder", far, "true");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("/no/such/folder"), "{}", said(&output));
}

#[test]
fn what_programs_complain_about_goes_where_they_print() {
    require!();
    let folder = Folder::new("far-errors");
    let done = folder.path().join("done");
    let far = format!("echo one; echo two >&2; echo three; : >{}", done.display());
    let near = until(&format!("-e {}", done.display()));
    let output = beside("-q", &far, &near);
    assert_eq!(said(&output), "far: one\nfar: two\nfar: three\n");
    let file = folder.path().join("said");
    let output = beside(&format!("-q --far-output {}", file.display()), &far, &near);
    assert_eq!(said(&output), "");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "one\ntwo\nthree\n");
    let output = beside("-q --far-output -", &far, &near);
    assert_eq!((said(&output).as_str(), &output.stdout[..]), ("two\n", &b"one\nthree\n"[..]));
}

/// A reader that writes down what it has read ends a moment after its writer.
#[test]
fn a_program_may_end_by_itself_after_the_command() {
    require!();
    let folder = Folder::new("far-grace");
    let go = folder.path().join("go");
    let far = format!("read line <{}; echo wrote $line; exit 4", go.display());
    let made = std::process::Command::new("mkfifo").arg(&go).status().expect("it runs");
    assert!(made.success());
    let output = beside("-q", &far, &format!("echo it >{}", go.display()));
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).starts_with("far: wrote it\n"), "{}", said(&output));
}
