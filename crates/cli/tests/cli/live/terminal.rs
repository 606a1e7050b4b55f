//! Shells on a terminal: job control must work.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::live::require;
use crate::live::screen::Screen;

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
        &format!("{} run", crate::live::WINDFALL),
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
    let line = format!("{} run -- sh -c 'sleep 100; exit 3'; echo code $?", crate::live::WINDFALL);
    let output = typed(&line, &["\x03"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("code 130"), "{text}");
    assert!(text.contains("late deliveries"), "{text}");
}

#[test]
fn flows_are_shown_while_a_run_goes_on() {
    require!("script", "ping");
    let ping = "ping -q -c 15 -i 0.1 -s 500 10.77.0.2";
    let flow = "--flow 'probes: to 10.77.0.2/32, weight 2, power-factor 1.5'";
    let options = "--rate 1Mbps --arq persistent --uplink-burst 1/2";
    let line =
        format!("stty rows 24 cols 120; {} run {options} {flow} -- {ping}", crate::live::WINDFALL);
    let output = typed(&line, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.split('\x1b').find(|line| line.contains("probes near-far/near"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("Mbps, effort") && line.contains("region"), "{line}");
    // Half of the frames are lost, which is more than the power factor makes up for.
    let is_limited = |line: &str| line.contains("probes near") && line.contains("effort region");
    assert!(text.split('\x1b').any(is_limited), "{text}");
    // Without a terminal there is the account at the end and nothing else.
    let mut command = crate::live::windfall("run --rate 1Mbps --flow probes: --");
    let output = command.args(["sh", "-c", ping]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("flow probes on near-far/near") && !text.contains('\x1b'), "{text}");
}

#[test]
fn the_status_line_leaves_nothing_between_the_programs_lines() {
    require!("script", "stty");
    const ROWS: usize = 10;
    // Lines before and after the first status line, one of them in two parts, more than fit.
    let program = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo before \\$i; done; \
                   printf 'half '; sleep 1.2; echo whole; \
                   for i in 1 2 3 4 5 6 7 8 9; do echo after \\$i; done; sleep 0.6; echo last";
    let line = format!(
        "stty rows {ROWS} cols 60; {} run --summary /dev/null -- sh -c \"{program}\"; \
         echo back",
        crate::live::WINDFALL
    );
    let output = typed(&line, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    let mut screen = Screen::new(ROWS);
    screen.show(&text);
    let mut expected: Vec<_> = (1..=12).map(|i| format!("before {i}")).collect();
    expected.push("half whole".into());
    expected.extend((1..=9).map(|i| format!("after {i}")));
    expected.extend(["last".into(), "back".into()]);
    assert_eq!(screen.lines(), expected, "{text:?}");
    // It was there meanwhile, and in the last row only.
    assert!(screen.bottoms.iter().any(|line| line.contains("Mbps")), "{:?}", screen.bottoms);
    assert!(screen.bottoms.iter().all(|line| line.chars().count() < 60), "{:?}", screen.bottoms);
}

#[test]
fn a_command_can_be_stopped_and_continued() {
    require!("script", "bash");
    let output = typed(
        "bash --norc -i",
        &[
            &format!("{} run -q -- sh -c 'sleep 1; echo con''tinued'\n", crate::live::WINDFALL),
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
