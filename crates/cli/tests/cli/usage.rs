//! What people type wrong, and what the program says to it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn windfall(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windfall"));
    command.args(arguments).stdin(Stdio::null()).output().expect("it runs")
}

/// The exit code, and the one line that the program wrote to the standard error.
fn complaint(arguments: &[&str]) -> (i32, String) {
    let output = windfall(arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    (output.status.code().expect("it ended"), text.trim_end().to_owned())
}

#[test]
fn wrong_arguments_are_named_with_the_fix_and_end_with_2() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", "--delay", "-5ms", "--", "true"],
            "\"-5ms\" is not a time: use a time of 0 or more",
        ),
        (&["run", "--loss", "-1%", "--", "true"], "\"-1%\" is not a probability"),
        (&["run", "--rate", "-1", "--", "true"], "\"-1\" is not a rate"),
        (
            &["run", "--loss", "2%", "ping", "-c", "3", "x"],
            "write -- before the command to run: windfall run --loss 2% -- ping -c 3 x",
        ),
        (&["run", "-q", "ping", "x"], "windfall run -q -- ping x"),
        (&["exec", "near", "ping"], "windfall exec near -- ping"),
        (
            &["run", "--duration", "5", "--", "true"],
            "a run lasts as long as its command: write -- timeout 5 COMMAND",
        ),
        (&["run", "--bandwith", "3", "--", "true"], "a similar argument exists: '--rate'"),
        (&["run", "--corrupt-rang", "1..2", "--", "true"], "a similar argument exists: '--range'"),
        (&["run", "--mtu", "70000", "--", "true"], "use a whole number from 68 to 65535"),
        (&["run", "--mtu", "abc", "--", "true"], "use a whole number from 68 to 65535"),
        (&["run", "--channel", "300", "--", "true"], "use a whole number from 1 to 14"),
        (&["run", "--attempts", "0", "--", "true"], "use a whole number from 1 to 255"),
        (&["run", "--shadowing", "x", "--", "true"], "use a number, such as 3 or 0.5"),
        (
            &["run", "--distance", "5", "--", "true"],
            "only wifi links have a distance and a radio: add --link wifi-g",
        ),
        (
            &["run", "--sysctl", "kernel.hostname=x", "--", "true"],
            "a station has parameters only under net., such as net.ipv4.tcp_sack=0",
        ),
        (&["run", "--stations", "5", "--", "true"], "add --link wifi-b or --link wifi-g"),
        (&["run", "--link", "wifi-g", "--policy", "flex", "--", "true"], "or use --link pipe"),
        (&["exec"], "<STATION>"),
        (&["sim"], "<SCENARIO>"),
        (&["tcp", "send"], "<TARGET>"),
        (&["tcp", "forward", "80"], "2 values required by"),
        (&["trace", "synth", "--frames", "0"], "use a whole number from 1 to 100000000"),
        (&["reproduce", "nosuch"], "is no figure"),
        (&["nosuch"], "unrecognized subcommand 'nosuch'"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = complaint(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(message.starts_with("windfall: ") && !message.ends_with([';', ' ']), "{message}");
        assert_eq!(code, 2, "{arguments:?}: {message}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named_once() {
    let folder = crate::sim::Scratch::new("usage-files");
    let garbage = folder.0.join("garbage");
    std::fs::write(&garbage, [0x7f, b'E', b'L', b'F', 0, 1, 0xff, b'=', 0xfe, b'\n'])
        .expect("written");
    let garbage = garbage.to_str().expect("text");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["sim", "nosuch"], 2, "windfall: cannot read nosuch: No such file or directory"),
        (
            &["trace", "show", "nosuch"],
            2,
            "windfall: cannot read nosuch: No such file or directory",
        ),
        (
            &["run", "--error-trace", "nosuch", "--", "true"],
            2,
            "cannot read nosuch: No such file or directory",
        ),
        (
            &["run", "--scenario", "nosuch", "--", "true"],
            125,
            "windfall: cannot read nosuch: No such file or directory",
        ),
        (&["sim", garbage], 2, "is no scenario: not text"),
        (&["run", "--rate-trace", garbage, "--", "true"], 2, "this is not a rate trace"),
    ];
    for (arguments, code, expected) in cases {
        let (ended, message) = complaint(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!message.contains("os error"), "{message}");
        assert_eq!(ended, *code, "{message}");
    }
}

#[test]
fn a_full_disk_is_told_with_the_name_of_the_file() {
    if !Path::new("/dev/full").exists() {
        windfall_testkit::skip!("there is no /dev/full");
    }
    let folder = crate::sim::Scratch::new("usage-full");
    let scenario = folder.0.join("spray.toml");
    std::fs::write(&scenario, crate::sim::SCENARIO).expect("written");
    let scenario = scenario.to_str().expect("text");
    let output = windfall(&["sim", scenario, "--log", "/dev/full"]);
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("/dev/full: No space left on device"), "{message}");
    assert!(!message.contains("os error"), "{message}");
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_complain() {
    for arguments in ["completions bash", "tcp settings", "reproduce --list", "doctor"] {
        let line = format!("{} {arguments} | true", env!("CARGO_BIN_EXE_windfall"));
        let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    }
}

#[test]
fn man_pages_go_into_a_folder_that_is_made() {
    let folder = crate::sim::Scratch::new("usage-man");
    let man = folder.0.join("share/man/man1");
    let output = windfall(&["completions", "--man", man.to_str().expect("text")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(man.join("windfall-run.1").exists());
}

#[test]
fn the_version_names_the_commit() {
    let output = windfall(&["--version"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with(concat!("windfall ", env!("CARGO_PKG_VERSION"))), "{text}");
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let git = Command::new("git").arg("-C").arg(root).args(["log", "-1"]).output();
    // An archive may be unpacked inside a repository that is not its own.
    if !root.join(".git").exists() || !git.is_ok_and(|output| output.status.success()) {
        windfall_testkit::skip!("the sources are no repository");
    }
    let commit = text
        .split(['(', ' '])
        .find(|word| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit()));
    assert!(commit.is_some(), "{text}");
}
