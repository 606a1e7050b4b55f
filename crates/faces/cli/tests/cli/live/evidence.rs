//! What a run writes as it goes on: others can follow it, and what fails in it costs no result.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::live::{Folder, pings, require, run, text, windfall};

#[test]
fn a_full_disk_costs_neither_the_exit_code_nor_the_summary() {
    require!("ping");
    let folder = Folder::new("full-disk");
    let path = |name: &str| folder.path().join(name);
    // Everything that is written to this device fails as a full disk does.
    symlink("/dev/full", path("near.pcapng")).expect("a link");
    symlink("/dev/full", path("events")).expect("a link");
    let mut command = windfall("run --json");
    command.arg("--log").arg(path("events")).arg("--pcap").arg(folder.path());
    command.arg("--summary").arg(path("summary")).arg("--record-errors").arg(folder.path());
    let line = format!("{}; exit 7", pings(2, "-q $WINDFALL_BASE"));
    let output = command.args(["--", "sh", "-c", &line]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(7));
    let errors = String::from_utf8_lossy(&output.stderr);
    for name in ["events", "near.pcapng"] {
        let line = format!("cannot write {}: No space left on device", path(name).display());
        assert_eq!(errors.matches(&line).count(), 1, "{errors}");
    }
    let summary = std::fs::read(path("summary")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_slice(&summary).expect("a summary");
    assert_eq!(summary["links"][0]["delivered"], 2, "{summary}");
    // The other files are whole.
    assert!(std::fs::metadata(path("far.pcapng")).is_ok_and(|far| far.len() > 300));
    assert!(path("near-to-far.trace").exists());
}

#[test]
fn the_limit_of_a_files_size_ends_programs_and_not_the_run() {
    require!("ping");
    let folder = Folder::new("file-limit");
    let log = folder.path().join("events");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; ulimit -f 1; exec \"$@\"", "sh", crate::live::WINDFALL]);
    command.args(["run", "--log"]).arg(&log).current_dir(folder.path());
    // What it writes itself ends the program by the signal, as anywhere else: 128 + 25.
    let program = "head -c 100000 /dev/zero >large; test $? = 153 && exit 7";
    let line = format!("{}; {program}", pings(5, "-q $WINDFALL_BASE"));
    let output = command.args(["--", "sh", "-c", &line]).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{errors}");
    let line = format!("cannot write {}: File too large", log.display());
    assert_eq!(errors.matches(&line).count(), 1, "{errors}");
    assert!(errors.contains("late by more than 1 ms: "), "{errors}");
}

#[test]
fn a_summary_that_cannot_be_written_goes_to_the_standard_error() {
    require!();
    let output = windfall("run --summary /dev/full -- sh -c").arg("exit 7").output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(7));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("cannot write /dev/full: No space left on device"), "{errors}");
    assert!(errors.contains("late by more than 1 ms: "), "{errors}");
}

#[test]
fn files_can_be_followed_while_the_run_goes_on() {
    require!("ping");
    let folder = Folder::new("followed");
    let [log, near] = ["events", "near.pcapng"].map(|name| folder.path().join(name));
    // Both packets, not the head of the file alone.
    const PACKETS: u64 = 2 * 84 + 200;
    let options = format!("--log {} --pcap {}", log.display(), folder.path().display());
    let line = format!(
        "ping -q -c 1 -W 30 $WINDFALL_BASE >/dev/null; \
         for i in $(seq 600); do test $(grep -c '^{{.ev.:.packet.delivered' {}) = 2 && \
         test $(wc -c < {}) -gt {PACKETS} && break; sleep 0.05; done; \
         grep -c '^{{.ev.:.packet.delivered' {}; tail -c 4 {} | wc -c; wc -c < {}",
        log.display(),
        near.display(),
        log.display(),
        near.display(),
        near.display()
    );
    let output = text(&run(&options, &line));
    let numbers: Vec<u64> = output.lines().map(|line| line.trim().parse().unwrap_or(0)).collect();
    assert_eq!(numbers[..2], [2, 4], "{output}");
    assert!(numbers[2] > PACKETS, "{output}");
}

#[test]
fn a_reader_that_stalls_does_not_stop_the_run() {
    require!("ping", "python3", "mkfifo");
    let folder = Folder::new("stalled");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    // Opened for both, so that neither end waits for the other, and never read.
    let reader = std::fs::File::options().read(true).write(true).open(&pipe).expect("a pipe");
    let flood = "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                 [s.sendto(b'x', (os.environ['WINDFALL_BASE'], 5001)) for _ in range(8000)]";
    let line = format!("python3 -c \"{flood}\"; {}", pings(1, "-q 10.77.0.2"));
    let mut command = windfall("run --summary /dev/null --log");
    let output = command.arg(&pipe).args(["--", "sh", "-c", &line]).output().expect("it runs");
    let out = &output.stdout;
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(String::from_utf8_lossy(out).contains(" 1 received"), "{error}");
    let complaint = format!("cannot write {}: its reader does not take", pipe.display());
    assert_eq!(error.matches(&complaint).count(), 1, "{error}");
    drop(reader);
}

#[test]
fn a_run_that_cannot_start_takes_no_file_away() {
    require!();
    let folder = Folder::new("no-start");
    let [log, new] = ["events", "new"].map(|name| folder.path().join(name));
    std::fs::write(&log, "of the last run").expect("a file");
    for option in ["--log", "--far true --far-output"] {
        for path in [&log, &new] {
            let mut command = windfall(&format!("run -q --sysctl net.ipv4.no_such=1 {option}"));
            let output = command.arg(path).args(["--", "true"]).output().expect("it runs");
            assert_eq!(output.status.code(), Some(125));
            assert!(!new.exists(), "{option}");
        }
    }
    assert_eq!(std::fs::read_to_string(&log).expect("a file"), "of the last run");
    let output = windfall("run -q --log").arg(&log).args(["--", "true"]).output();
    assert!(output.expect("it runs").status.success());
    let text = std::fs::read_to_string(&log).expect("a file");
    assert!(text.starts_with('{') && !text.contains("of the last run"), "{text}");
}
