//! `windfall stream`, `track` and `image` over plain loopback, without privileges.
#![expect(clippy::disallowed_methods, reason = "real programs take real time")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, Receiver, WINDFALL, exchange, permit};

/// Runs the program with arguments.
fn windfall(arguments: &[&str]) -> Output {
    Command::new(WINDFALL).args(arguments).output().expect("it runs")
}

//= S0.32
#[test]
fn a_stream_over_loopback_arrives_whole() {
    for over in ["sap", "sap-precise", "tcp"] {
        let report = exchange(&[], "stream", over, &["--datagrams", "150", "--interval", "100us"]);
        assert_eq!((&report["sent"], &report["bit_errors"]), (&150.into(), &0.into()), "{report}");
        // As many as the kernel keeps while the receiver has no processor.
        assert_eq!(report["arrived"], 150, "{over}: {report}");
    }
}

//= S0.50
//= S0.53
#[test]
fn a_walk_over_loopback_has_its_true_speed() {
    for over in ["sap", "sap-precise", "tcp"] {
        let report = exchange(&[], "track", over, &["--interval", "100us"]);
        assert_eq!(report["points"], 945, "{report}");
        let mean = report["mean_speed_mps"].as_f64().expect("a speed");
        assert!((mean - 1.56).abs() < 0.02, "{over}: {report}");
    }
}

//= S0.27
//= S0.38
#[test]
fn a_picture_over_loopback_arrives_as_it_was_encoded() {
    for over in ["sap", "sap-precise", "tcp"] {
        let report = exchange(&[], "image", over, &["--interval", "100us"]);
        assert_eq!(report["arrived"], report["datagrams"], "{over}: {report}");
        assert_eq!(report["unreadable"], 0, "{over}: {report}");
        assert!(report["psnr_db"].as_f64() > Some(30.0), "{over}: {report}");
        assert!(report["ssim"].as_f64() > Some(0.9), "{over}: {report}");
    }
}

/// The signals that a process handles itself, as a set of bits.
fn handled(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

#[test]
fn a_receiver_that_is_told_to_end_sums_up() {
    use rustix::process::{Pid, Signal, kill_process};
    for (command, over, signal) in [
        ("stream", "sap", Signal::TERM),
        ("track", "tcp", Signal::HUP),
        ("image", "sap-precise", Signal::INT),
    ] {
        let receiver = Receiver::start(command, &["--json", "--over", over]);
        let mut sender = Command::new(WINDFALL)
            .args([command, "send", "127.0.0.1", "--port", receiver.port(), "--over", over])
            .args(["--interval", "10s"])
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // It sums up from the moment at which it knows what it is going to receive.
        let bit = 1 << (signal.as_raw() - 1);
        let waiting = std::time::Instant::now();
        while handled(receiver.child.id()) & bit == 0 {
            assert!(waiting.elapsed().as_secs() < 60, "{command} has no plan");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&receiver.child), signal).expect("it lives");
        let (code, report, errors) = receiver.end();
        sender.kill().expect("it lives");
        sender.wait().expect("it ends");
        assert_eq!(code, Some(128 + signal.as_raw()), "{command}: {errors}");
        let report: serde_json::Value = serde_json::from_str(&report).expect("a report");
        assert_eq!(report["format"], format!("windfall-{command}/1"));
        // One record at most has arrived: what cannot be measured is no zero.
        if command != "image" {
            assert!(report["gap_mean_seconds"].is_null(), "{report}");
        }
        if command == "stream" {
            let arrived = report["arrived"] != 0;
            assert_eq!(report["bit_error_rate"].is_number(), arrived, "{report}");
            assert!(report["bit_error_rate_damaged"].is_null(), "{report}");
        }
    }
}

#[test]
fn a_file_that_is_no_picture_is_named() {
    let output = windfall(&["image", "send", "127.0.0.1", "--file", "/proc/self/cmdline"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("cannot read /proc/self/cmdline: it is not a picture that Windfall reads"),
        "{said}"
    );
}

#[test]
fn a_sender_without_a_receiver_fails() {
    let quiet = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = quiet.local_addr().expect("bound").port().to_string();
    let output = windfall(&["stream", "send", "127.0.0.1", "--port", &port]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("does not answer; is its receiver there?"), "{said}");
}

#[test]
fn the_key_of_the_user_encrypts_unless_it_is_declined() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = Folder::new("config");
    let config = folder.path().join("home");
    let of_user = |words: &[&str]| {
        let mut command = Command::new(WINDFALL);
        command.args(words).env("XDG_CONFIG_HOME", &config);
        command
    };
    let made = of_user(&["sap", "keygen"]).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let key = std::path::Path::new(&config).join("windfall/sap.key");
    let digits = std::fs::read_to_string(&key).expect("it was written");
    assert!(digits.trim().len() == 64 && u128::from_str_radix(&digits[..32], 16).is_ok());
    assert_eq!(key.metadata().expect("it is there").mode() & 0o777, 0o600);
    let again = of_user(&["sap", "keygen"]).output().expect("it runs");
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&key).ok(), Some(digits));
    // A relative folder would be another in every place: it is ignored.
    let home = std::path::absolute(folder.path()).expect("there is a current folder");
    let made = of_user(&["sap", "keygen"]).env("XDG_CONFIG_HOME", "x").env("HOME", &home).output();
    assert!(made.expect("it runs").status.success());
    assert!(home.join(".config/windfall/sap.key").exists());

    let mut receive = of_user(&["stream", "receive", "--on", "127.0.0.1", "--port", "0", "--json"]);
    let receiver = Receiver::spawn(&mut receive);
    let port = receiver.port().to_owned();
    let words = ["stream", "send", "127.0.0.1", "--port", &port, "--datagrams", "20"];
    // Without the key a sender is refused, and the receiver waits for another.
    let plain = of_user(&words).args(["--key", "none"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&plain.stderr);
    assert_eq!(plain.status.code(), Some(1), "{said}");
    assert!(said.contains("keys do not agree") && said.contains("--key none"), "{said}");
    let sent = of_user(&words).output().expect("it runs");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let (code, report, errors) = receiver.end();
    assert_eq!(code, Some(0), "{errors}");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["arrived"], 20, "{report}");
    permit(&key.to_string_lossy(), 0o644);
    let refused = of_user(&words).output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("others can read it") && said.contains("sap.key"), "{said}");
}

#[test]
fn a_sealed_stream_arrives_whole_and_a_faulty_key_is_named() {
    let folder = Folder::new("key");
    let name = &*folder.write("key", format!("{}\n", "0a".repeat(32)));
    // Others could read it.
    permit(name, 0o640);
    let output = windfall(&["stream", "send", "127.0.0.1", "--key", name]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("others can read it (mode 640)") && said.contains("chmod 600"), "{said}");
    permit(name, 0o600);
    let words = ["--datagrams", "150", "--interval", "100us"];
    let report = exchange(&["--key", name], "stream", "sap", &words);
    assert_eq!((&report["arrived"], &report["bit_errors"]), (&150.into(), &0.into()), "{report}");
    folder.write("key", "secret");
    let output = windfall(&["stream", "send", "127.0.0.1", "--key", name]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it holds 6 characters, not 64 hexadecimal digits"), "{said}");
}

#[test]
fn a_file_that_cannot_be_written_is_named_before_a_receiver_waits() {
    for words in [["image", "--out"], ["stream", "--error-trace"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_windfall"))
            .args([words[0], "receive", "--port", "0", words[1], "/no/such/folder/file"])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("windfall: cannot write /no/such/folder/file: "), "{said}");
    }
}

#[test]
fn a_receiver_that_cannot_listen_leaves_no_file() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").port().to_string();
    let folder = Folder::new("no-listener");
    for words in [["image", "--out"], ["stream", "--error-trace"]] {
        let new = folder.file("new");
        let old = folder.write("old", "old");
        for file in [&new, &old] {
            let options = ["receive", "--on", "127.0.0.1", "--over", "tcp", "--port", &port];
            let output = windfall(&[&words[..1], &options, &[words[1], file]].concat());
            assert_eq!(output.status.code(), Some(1), "{output:?}");
        }
        assert!(!std::path::Path::new(&new).exists(), "{words:?}");
        assert_eq!(folder.read("old"), b"old");
    }
}

#[test]
fn a_sender_that_speaks_otherwise_is_refused() {
    let large = [[0, 0, 0, 1], [0xff; 4], [0, 0, 4, 0]].concat();
    for (command, bytes) in [
        ("stream", &large[..]),
        ("stream", &[0; 4096]),
        ("track", &[0; 4096]),
        ("track", b"GET / HTTP/1.1\r\nHost: me\r\n"),
        ("image", b"GET / HTTP/1.1\r\nHost: me\r\n"),
    ] {
        let receiver = Receiver::start(command, &["--over", "tcp"]);
        let mut stream = std::net::TcpStream::connect(&receiver.address).expect("it waits");
        stream.write_all(bytes).expect("it takes a few");
        let (code, _, said) = receiver.end();
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("the sender is not `windfall {command} send`")), "{said}");
    }
}
