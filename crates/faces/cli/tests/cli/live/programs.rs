//! Programs in stations: identity, environment, exit codes, signals, the far end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use crate::live::{Folder, LONG, first_line, pings, require, run, text, until, windfall};

#[test]
fn the_exit_code_is_the_commands() {
    require!();
    assert_eq!(run("", "exit 7").status.code(), Some(7));
    assert_eq!(run("", "kill -9 $$").status.code(), Some(128 + 9));
    let code = |arguments: &str| windfall(arguments).output().expect("it runs").status.code();
    assert_eq!(code("run -q -- /no/such/program"), Some(127));
    assert_eq!(code("run -q -- /etc/passwd"), Some(126));
    assert_eq!(code("run -q --loss 1.5 -- true"), Some(2));
    assert_eq!(code("run -q --sysctl net.ipv4.no_such=1 -- true"), Some(125));
    assert_eq!(code("run -q --sysctl kernel.hostname=x -- true"), Some(2));
}

#[test]
fn a_far_program_that_cannot_be_run_ends_the_run() {
    require!();
    // Whether the shell finds out before the command begins or while it runs.
    for (far, command, status) in [
        ("exec no-such-program", "true", 127),
        ("/etc/passwd --now", "sleep 100", 126),
        ("sleep 1.2; no-such-program", "sleep 100", 127),
    ] {
        let began = Instant::now();
        let output = windfall("run -q --far").args([far, "--", "sh", "-c", command]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(status), "{far}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.starts_with("windfall: ")).expect(&said);
        assert!(line.contains(&format!("\"{far}\"")) && line.contains("shell"), "{line}");
        assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    }
}

#[test]
fn failures_are_one_clear_line() {
    require!();
    let output = windfall("run --tcp-congestion no-such -- true").output().expect("it runs");
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains("congestion control \"no-such\""), "{line}");
    // What there is, and what of it stations may use.
    assert!(line.contains("the kernel has ") && line.contains("reno"), "{line}");
    assert!(line.contains("allowed"), "{line}");
    for (parameter, hint) in [
        ("net.ipv4.tcp_sak=0", "did you mean net.ipv4.tcp_sack?"),
        ("net.ipv4.tcp_sack_of_potatoes=0", "tcp_sack"),
        ("net.ipv5.tcp_sack=0", "did you mean net.ipv"),
        ("net.ipv4.tcp_sack", "write it as net.ipv4.tcp_sack=0"),
    ] {
        let output = windfall(&format!("run --sysctl {parameter} -- true")).output();
        let output = output.expect("it runs");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        // What cannot be read at all is wrong usage; what the kernel lacks fails the run.
        let code = if parameter.contains('=') { 125 } else { 2 };
        assert_eq!((output.status.code(), line.lines().count()), (Some(code), 1), "{line}");
        assert!(line.contains(hint), "{line}");
    }
}

#[test]
fn root_may_use_every_congestion_control_of_the_kernel() {
    require!();
    let list = |name: &str| {
        let path = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
    };
    let used = |name: &str| {
        let file = "cat /proc/sys/net/ipv4/tcp_congestion_control";
        run(&format!("--tcp-congestion {name}"), file)
    };
    let there = list("available");
    let allowed = list("allowed");
    if allowed.is_empty() {
        windfall_testkit::skip!("this kernel does not say what namespaces may use");
    }
    let is_root = rustix::process::geteuid().is_root();
    for name in there.split_whitespace() {
        let output = used(name);
        if output.status.success() {
            assert_eq!(text(&output).trim(), name);
            continue;
        }
        // Inside a namespace not even root may change the list.
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.contains("only ") && line.contains("are allowed"), "{line}");
        assert!(line.contains("tcp_allowed_congestion_control=\""), "{line}");
        let is_open = std::fs::OpenOptions::new()
            .write(true)
            .open("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
        assert!(!is_root || is_open.is_err(), "{line}");
    }
    let doctor = windfall("doctor").output().expect("it runs");
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let line = doctor.lines().find(|line| line.contains("tcp-congestion")).expect(&doctor);
    assert!(line.ends_with(&format!("stations may use {}", list("allowed"))), "{line}");
}

#[test]
fn the_command_keeps_identity_folder_and_environment() {
    require!();
    let output = windfall("run -q -- sh -c")
        .arg("id -u; id -g; pwd; echo $GIVEN; cat")
        .env("GIVEN", "as it was")
        .current_dir("/usr")
        .output()
        .expect("it runs");
    let own = |flag: &str| {
        let id = std::process::Command::new("id").arg(flag).output().expect("id runs");
        String::from_utf8(id.stdout).expect("a number")
    };
    assert_eq!(text(&output), format!("{}{}/usr\nas it was\n", own("-u"), own("-g")));
}

#[test]
fn both_ends_see_each_other_and_no_other_host() {
    require!("ip");
    let output = run("", "ip -o addr show; echo; ip route; echo base $WINDFALL_BASE");
    let near = text(&output);
    assert!(near.contains("10.77.0.1/30"), "{near}");
    assert!(near.contains("base 10.77.0.2\n"), "{near}");
    assert!(!near.contains("default via"), "{near}");
    let devices = near.lines().take_while(|line| !line.is_empty());
    assert!(devices.clone().all(|line| line.contains("lo") || line.contains("wf0")), "{near}");
}

#[test]
fn nothing_is_sent_that_no_program_asked_for() {
    require!();
    let output = windfall("run --json -- sleep 0.6").output().expect("it runs");
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).expect("a summary");
    let links = summary["links"].as_array().expect("a list");
    assert_eq!(links.len(), 2);
    for link in links {
        assert_eq!(link["entered"], 0, "{link}");
        assert_eq!(link["balances"], true);
    }
}

#[test]
fn packets_of_both_families_cross() {
    require!("ping");
    for family in ["-4 10.77.0.2", "-6 fd77:696e:6400::2"] {
        let output = text(&run("--delay 5ms", &pings(3, family)));
        assert_eq!(output.matches(" 1 received").count(), 3, "{output}");
    }
}

//= S0.71
#[test]
fn the_summary_adds_up_and_names_what_the_kernel_dropped() {
    require!("ping");
    // Damage to the checksum of an echo: the link hands it up, the far kernel drops it.
    let line = "ping -c 20 -i 0.01 -W 1 -s 1000 10.77.0.2 >/dev/null";
    // What comes after them, too short for much damage, is answered when nothing is on its way.
    let line = format!("{line}; {} >/dev/null", pings(1, "-s 8 10.77.0.2"));
    let output = windfall("run --json --uplink-ber 2e-4 --accept-damaged --range 20..1000 --")
        .args(["sh", "-c", &line])
        .output()
        .expect("it runs");
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).expect("a summary");
    let up = &summary["links"][0];
    assert_eq!(up["balances"], true, "{summary}");
    assert_eq!(up["entered"], up["delivered"], "{summary}");
    let damaged = up["damaged"].as_u64().expect("a number");
    // 20 packets of 7840 bits in reach: each is damaged with probability 1 - (1-2e-4)^7840 = 0.79.
    assert!((8..=20).contains(&damaged), "{summary}");
    let dropped = &summary["stations"][1]["dropped_after"];
    let of = |reason: &str| dropped[reason].as_u64().unwrap_or(0);
    // Two bits of one column of the sum may cancel out, and a type that changed is no echo.
    assert!(of("icmp-checksum") + 2 >= damaged && of("icmp-checksum") <= damaged, "{summary}");
    assert!(summary["stations"][1]["congestion"].is_string(), "{summary}");
}

#[test]
fn programs_at_the_far_end_start_first_and_end_with_the_command() {
    require!();
    let folder = Folder::new("far");
    let notes = folder.path().join("notes");
    let far = format!(
        "trap 'echo told >> {0}; exit' TERM; echo started >> {0}; sleep 100 & wait",
        notes.display()
    );
    let began = Instant::now();
    let output = windfall("run -q --far").arg(&far).args(["--", "cat"]).arg(&notes).output();
    assert_eq!(text(&output.expect("it runs")), "started\n");
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    assert_eq!(std::fs::read_to_string(&notes).expect("notes"), "started\ntold\n");
}

#[test]
fn signals_go_to_the_command() {
    require!();
    let mut child = windfall("run -q -- sh -c")
        .arg("trap 'exit 42' TERM; echo ready; while :; do sleep 0.02; done")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let _ = first_line(child.stdout.take());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(42));
}

#[test]
fn runs_nest() {
    require!("ping");
    let inner = format!(
        "{} run -q --delay 3ms -- sh -c 'echo inner $WINDFALL_BASE; \
         ping -c 1 -W 30 $WINDFALL_BASE' \
         && ping -c 1 -W 30 $WINDFALL_BASE",
        crate::live::WINDFALL
    );
    let output = text(&run("--delay 1ms", &inner));
    assert!(output.contains("inner 10.78.0.2"), "{output}");
    assert_eq!(output.matches(" 1 received").count(), 2, "{output}");
}

#[test]
fn kernel_parameters_are_set_in_every_station() {
    require!();
    let folder = Folder::new("sysctl");
    let there = folder.path().join("there");
    let file = "/proc/sys/net/ipv4/tcp_sack";
    let output = windfall("run -q --sysctl net.ipv4.tcp_sack=0 --far")
        .arg(format!("cat {file} > {}", there.display()))
        .args(["--", "sh", "-c"])
        .arg(format!("cat {file}; {}", until(&format!("-s {}", there.display()))))
        .output();
    assert_eq!(text(&output.expect("it runs")), "0\n");
    assert_eq!(std::fs::read_to_string(there).expect("a file"), "0\n");
}

#[test]
fn signals_of_users_go_to_the_command() {
    require!("bash");
    let line = "trap 'echo one' USR1; trap 'echo two; exit 5' USR2; echo ready; \
                while :; do sleep 0.02; done";
    let mut run = windfall("run -q --")
        .args(["bash", "-c", line])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program is there");
    let mut lines = BufReader::new(run.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().and_then(Result::ok);
    assert_eq!(next().as_deref(), Some("ready"));
    let process = rustix::process::Pid::from_child(&run);
    for (signal, word) in
        [(rustix::process::Signal::USR1, "one"), (rustix::process::Signal::USR2, "two")]
    {
        rustix::process::kill_process(process, signal).expect("it lives");
        assert_eq!(next().as_deref(), Some(word));
    }
    assert_eq!(run.wait().expect("it ends").code(), Some(5));
}
