//! Shells on a terminal: job control must work.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::require;

/// Types `keys` into a new terminal in which `line` runs, some time after each.
fn typed(line: &str, keys: &[&str]) -> Output {
    let mut script = Command::new("script")
        .args(["-q", "-e", "-c", line, "/dev/null"])
        .env("SHELL", "/bin/bash")
        .env("PS1", "$ ")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut input = script.stdin.take().expect("a pipe");
    for key in keys {
        sleep(Duration::from_millis(300));
        input.write_all(key.as_bytes()).expect("the terminal takes it");
        input.flush().expect("the terminal takes it");
    }
    let output = script.wait_with_output().expect("it ends");
    drop(input);
    output
}

#[test]
fn a_shell_on_a_terminal_has_job_control() {
    require!("script", "bash");
    let output = typed(
        &format!("{} run", crate::WINDFALL),
        &["sleep 100\n", "\x1a", "jobs\n", "kill %1\n", "sleep 100\n", "\x03", "exit 6\n"],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("no job control"), "{text}");
    assert!(text.contains("[windfall]"), "{text}");
    assert!(text.contains("Stopped"), "{text}");
    assert_eq!(output.status.code(), Some(6), "{text}");
}

#[test]
fn an_interrupt_ends_the_command_and_the_run_sums_up() {
    require!("script", "bash");
    let line = format!("{} run -- sh -c 'sleep 100; exit 3'; echo code $?", crate::WINDFALL);
    let output = typed(&line, &["\x03"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("code 130"), "{text}");
    assert!(text.contains("late deliveries"), "{text}");
}

#[test]
fn a_command_can_be_stopped_and_continued() {
    require!("script", "bash");
    let output = typed(
        "bash --norc -i",
        &[
            &format!("{} run -q -- sh -c 'sleep 1; echo con''tinued'\n", crate::WINDFALL),
            "\x1a",
            "fg\n",
            "",
            "",
            "",
            "exit 8\n",
        ],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Stopped"), "{text}");
    assert!(text.contains("continued"), "{text}");
    assert_eq!(output.status.code(), Some(8), "{text}");
}
