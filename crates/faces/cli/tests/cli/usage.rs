//! What people type wrong, and what the program says to it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::sim::SCENARIO;
use crate::support::{Folder, WINDFALL, pair, permit};

fn windfall(arguments: &[&str]) -> Output {
    let mut command = Command::new(WINDFALL);
    command.args(arguments).stdin(Stdio::null()).output().expect("it runs")
}

/// The exit code, and the one line that the program wrote to the standard error.
fn complaint(arguments: &[&str]) -> (i32, String) {
    let output = windfall(arguments);
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    (output.status.code().expect("it ended"), text.trim_end().to_owned())
}

/// Wrong arguments, and what is said of them.
const WRONG: &[(&[&str], &str)] = &[
    (&["run", "--delay", "-5ms", "--", "true"], "\"-5ms\" is not a time: use a time of 0 or more"),
    (&["run", "--jitter", "99999999h", "--", "true"], "the longest time is 5124095h"),
    (&["run", "--loss", "-1%", "--", "true"], "\"-1%\" is not a probability"),
    (&["run", "--rate", "-1", "--", "true"], "\"-1\" is not a rate"),
    (
        &["run", "--loss", "2%", "ping", "-c", "3", "x"],
        "write -- before the command to run: windfall run --loss 2% -- ping -c 3 x",
    ),
    (&["run", "-q", "ping", "x"], "windfall run -q -- ping x"),
    (&["run", "sh", "-c", "echo 'hi'; exit 3"], r"windfall run -- sh -c 'echo '\''hi'\''; exit 3'"),
    (&["run", "--far", "ping", "ping", "x"], "windfall run --far ping -- ping x"),
    (&["run", "ping", "--", "true"], "'ping' before --: the command to run comes after it"),
    (
        &["run", "--gemodel", "1%", "10%", "70%", "--", "true"],
        "'10%': quote a value that has spaces: --gemodel \"1% 10% 70%\"",
    ),
    (
        &["run", "--uplink-gemodel=1%", "10%", "true"],
        "'10%': quote a value that has spaces: --uplink-gemodel \"1% 10%\"",
    ),
    (&["run", "--loss", "5%", "25%", "--", "true"], "'25%': --loss takes one value, and has 5%"),
    (&["run", "--accept-damaged", "off", "--", "true"], "'off': write --accept-damaged=off"),
    (&["run", "—rate", "5", "--", "true"], "options begin with two plain hyphens: --rate"),
    (&["sim", "x.toml", "—seed", "5"], "options begin with two plain hyphens: --seed"),
    (&["run", "--latency", "5ms", "--", "true"], "tip: write --delay"),
    (&["run", "--long-slot", "--", "true"], "tip: write --slot long"),
    (&["run", "--uplink-limit", "9", "--", "true"], "tip: write --uplink-queue"),
    (&["run", "--bandwidth=9", "--", "true"], "tip: write --rate"),
    (&["run", "--trace", "x", "--", "true"], "tip: write --rate-trace"),
    (
        &["run", "--link", "wifi-g", "--observe", "--", "true"],
        "--observe writes into the event log alone: add --log FILE",
    ),
    (
        &["run", "--ber", "1e-5", "--checksums", "mend", "--", "true"],
        "no packet is delivered damaged: add --accept-damaged",
    ),
    (
        &["run", "--link", "gsm", "--accept-damaged", "--checksums", "mend", "--", "true"],
        "use --checksums clear",
    ),
    (
        &["run", "--ber", "1e-5", "--range", "payload 5", "--", "true"],
        "such as 28..1500 or 28.., or payload",
    ),
    (&["run", "--range", "28..99", "--", "true"], "add --ber 1e-5 or another model of bit errors"),
    (
        &["link", "--over", "udp:127.0.0.1:9", "--framing", "link", "--peer", "10.0.0.1"],
        "--framing link negotiates no addresses: give both --address and --peer",
    ),
    (&["run", "--sysctl=", "--", "true"], "write it as net.ipv4.tcp_sack=0"),
    (&["tune", "office", "--seeds", "3"], "--for <GOAL>"),
    (&["tune", "a.toml", "--for", "joules", "--setting", "mms"], "did you mean mss?"),
    (&["tune", "a.toml", "--for", "joules", "--setting", "sack="], "sack= has no value"),
    (&["tune", "a.toml", "--for", "joules", "--deadline", "1s"], "cannot be used with"),
    (&["run", "--error-trace=", "--", "true"], "'--error-trace <FILE>': name a file"),
    (&["trace", "synth", "--range", "0..9"], "there are none: add --ber 1e-5"),
    (
        &["trace", "synth", "--ber", "1e-4", "--length", "60", "--range", "60..99"],
        "range 60..99 is beyond every packet: the longest has 60 bytes",
    ),
    (&["reproduce", "--unseen", "0"], "use a whole number from 1 to 1000000"),
    (&["stream", "send", "no.such.host.invalid"], "write an address such as 10.77.0.2"),
    (&["run", "--padded", "on", "--", "true"], "'on': write --padded=on"),
    (&["run", "--window", "10% 0 5%", "--", "true"], "no bit lies in a window of 0 bits"),
    (&["run", "--loss", "1e-400", "--", "true"], "\"1e-400\""),
    (&["run", "--jitter", "odd", "--", "true"], "such as 10ms or 10ms 25% normal"),
    (&["run", "--jitter-table", "x", "--", "true"], "jitter"),
    (&["run", "--duplicate", "1% 2% 3%", "--", "true"], "such as 1% or 1% 25%"),
    (&["run", "--reorder", "25% gap 0", "--delay", "1ms", "--", "true"], "a gap is a whole number"),
    (&["run", "--reorder", "25%", "--", "true"], "reorder changes nothing here"),
    (&["run", "--overhead", "18", "--", "true"], "overhead changes nothing here"),
    (&["run", "--cell", "48", "--rate", "1", "--", "true"], "such as 48+5"),
    (&["run", "--loss-state", "60% 10% 0 1 50%", "--", "true"], "p13 + p14 is 1.1"),
    (&["run", "--link", "wifi-g", "--jitter", "5ms", "--", "true"], "a wifi link has no jitter"),
    (
        &["run", "--link", "gsm", "--duplicate", "1%", "--", "true"],
        "a gsm circuit has no duplicate",
    ),
    (
        &["stream", "send", "127.0.0.1", "--size", "10", "--protected", "11", "--key", "none"],
        "--protected 11 is more than the 10 bytes of each",
    ),
    (&["track", "send", "127.0.0.1", "--protected", "17"], "more than the 16 bytes of each"),
    (&["sap", "keygen", "none"], "means no key"),
    (&["tcp", "settings", "keepalive=1ns"], "times from 1ms on"),
    (
        &["run", "--rate", "10MBps", "--", "true"],
        "a capital B is for bytes, and rates are in bits: write 80Mbps",
    ),
    (&["run", "--loss", "0,05", "--", "true"], "write a point for the comma: 0.05"),
    (
        &["run", "--far", "x", "--wait-port", "99999", "--", "true"],
        "use a whole number from 1 to 65535",
    ),
    (&["tcp", "forward", "8080", "10.77.0.2", "--", "true"], "it has no host or no port"),
    (&["tcp", "forward", "99999", "10.77.0.2:80", "--", "true"], "port 99999 is above 65535"),
    (
        &["tcp", "forward", "engine:99999", "10.77.0.2:80", "--", "true"],
        "port 99999 is above 65535",
    ),
    (&["tcp", "forward", "8080", "10.77.0.2:x", "--", "true"], "is no address"),
    (&["tcp", "forward", "--tcp", "vegas", "1", "10.77.0.2:80", "--", "true"], "vegas"),
    (&["tcp", "forward", "--tcp", "mss=0", "1", "10.77.0.2:80", "--", "true"], "mss"),
    (&["up", "--name", "", "x.toml"], "use up to 60 letters without /"),
    (&["track", "receive", "--bound", "-1"], "use a speed above 0"),
    (&["image", "receive", "--out", "x.png"], "end it in .jpg or .ppm"),
    (&["stream", "send", "127.0.0.1", "--key", "nofile"], "No such file or directory"),
    (&["exec", "near", "ping"], "windfall exec near -- ping"),
    (&["exec", "near", "ping", "-c", "3", "far"], "windfall exec near -- ping -c 3 far"),
    (
        &["run", "--duration", "5", "--", "true"],
        "a run lasts as long as its command: write -- timeout 5 COMMAND",
    ),
    (&["run", "--bandwith", "3", "--", "true"], "tip: write --rate"),
    (&["run", "--corrupt-range", "1..2", "--", "true"], "tip: write --range"),
    (&["run", "--mtu", "70000", "--", "true"], "use a whole number from 68 to 65535"),
    (&["run", "--mtu", "abc", "--", "true"], "use a whole number from 68 to 65535"),
    (&["run", "--channel", "300", "--", "true"], "use a whole number from 1 to 14"),
    (&["run", "--attempts", "0", "--", "true"], "use a whole number from 1 to 255"),
    (&["run", "--shadowing", "x", "--", "true"], "use a number from 0 to 40"),
    (
        &["run", "--distance", "5", "--", "true"],
        "only wifi links have a distance and a radio: add --link wifi-g",
    ),
    (
        &["run", "--sysctl", "kernel.hostname=x", "--", "true"],
        "a station has parameters only under net., such as net.ipv4.tcp_sack=0",
    ),
    (&["run", "--stations", "5", "--", "true"], "add --link wifi-b or --link wifi-g"),
    (&["run", "--link", "wifi-g", "--delay", "5ms", "--", "true"], "or use --link pipe"),
    (
        &["run", "--link", "wifi-g", "--policy", "flex", "--", "true"],
        "on wifi use joint or parity-16",
    ),
    (&["run", "--policy", "joint", "--", "true"], "joint is a policy of 802.11: use "),
    (&["run", "--policy", "brave", "--", "true"], "on wifi joint or parity-N"),
    (&["exec"], "STATION>"),
    (&["exec", "office", "near", "--run", "office"], "write windfall exec RUN STATION"),
    (&["exec", "nosuch", "near", "--", "true"], "no run"),
    (&["video", "receive", "--idle", "2"], "write its unit: 2s or 2ms"),
    (&["get", "--timeout", "5", "http://127.0.0.1:1/a"], "write its unit: 5s or 5ms"),
    (&["get", "--max-time", "0.5", "http://127.0.0.1:1/a"], "write its unit: 0.5s or 0.5ms"),
    (&["tcp", "send", "127.0.0.1:1", "--time", "10"], "write its unit: 10s or 10ms"),
    (&["stream", "send", "127.0.0.1", "--interval", "1"], "write its unit: 1s or 1ms"),
    (&["camera", "send", "127.0.0.1", "--time", "5"], "write its unit: 5s or 5ms"),
    (&["run", "--delay", "20", "--", "true"], "write its unit: 20s or 20ms"),
    (&["run", "--uplink-delay", "20", "--", "true"], "write its unit: 20s or 20ms"),
    (&["run", "--change", "10: rate 1Mbps", "--", "true"], "write its unit: 10s or 10ms"),
    (&["run", "--change", "10s: rate 1Mbps, over 2", "--", "true"], "write its unit: 2s or 2ms"),
    (&["run", "--change", "10s: delay 5", "--", "true"], "write its unit: 5s or 5ms"),
    (&["run", "--change", "1s: uplink jitter 5 9%", "--", "true"], "write its unit: 5s or 5ms"),
    (&["run", "--jitter", "5 25%", "--", "true"], "write its unit: 5s or 5ms"),
    (&["run", "--onoff", "5s 500", "--", "true"], "write its unit: 500s or 500ms"),
    (&["run", "--slots", "20 40ms", "--", "true"], "write its unit: 20s or 20ms"),
    (&["run", "--flow", "v: lifetime 20", "--", "true"], "write its unit: 20s or 20ms"),
    (&["set", "jitter=5"], "write its unit: 5s or 5ms"),
    (&["sim", "--duration", "30", "x.toml"], "write its unit: 30s or 30ms"),
    (&["set", "delay=20"], "write its unit: 20s or 20ms"),
    (&["sim"], "<SCENARIO>"),
    (&["tcp", "send"], "<TARGET>"),
    (&["tcp", "forward", "80"], "2 values required by"),
    (&["trace", "synth", "--frames", "0"], "use a whole number from 1 to 100000000"),
    (&["reproduce", "nosuch"], "is no figure"),
    (&["nosuch"], "unrecognized subcommand 'nosuch'"),
];

#[test]
fn wrong_arguments_are_named_with_the_fix_and_end_with_2() {
    for (arguments, expected) in WRONG {
        let (code, message) = complaint(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!message.contains("os error"), "{message}");
        assert!(message.starts_with("windfall: ") && !message.ends_with([';', ' ']), "{message}");
        assert_eq!(code, 2, "{arguments:?}: {message}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named_once() {
    let folder = Folder::new("usage-files");
    let bytes = [0x7f, b'E', b'L', b'F', 0, 1, 0xff, b'=', 0xfe, b'\n'];
    let garbage = &*folder.write("garbage", bytes);
    let text = &*folder.write("text", "no key = 1\n");
    let header = "{\"format\":\"windfall-error-trace\",\"version\":1}\nend 0\n";
    let error_trace = &*folder.write("error.trace", header);
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
            2,
            "windfall: cannot read nosuch: No such file or directory",
        ),
        (&["run", "--pcap", garbage, "--", "true"], 2, "garbage: it is not a directory"),
        (&["run", "--record-errors", garbage, "--", "true"], 2, "garbage: it is not a directory"),
        (&["reproduce", "S3.table1", "--out", garbage], 2, "garbage: it is not a directory"),
        (&["completions", "--man", garbage], 2, "garbage: it is not a directory"),
        (
            &["trace", "record", "--sent", "/dev/null", "--received", "/dev/null"],
            2,
            "/dev/null: this is no pcapng or pcap file: it is empty",
        ),
        (
            &["trace", "record", "--sent", garbage, "--received", garbage],
            2,
            "this is no pcapng or pcap file; write one with --pcap DIR",
        ),
        (&["image", "send", "127.0.0.1", "--file", garbage], 2, "it is not a picture that"),
        (&["image", "send", "127.0.0.1", "--file", "/dev/null"], 2, "it is not a picture that"),
        (&["track", "send", "127.0.0.1", "--gpx", text], 2, "it is no GPX: no XML from line 1"),
        (&["run", "--rate-trace", error_trace, "--", "true"], 2, "give it by --error-trace"),
        (&["run", "--scenario", text, "--", "true"], 2, "text:1: "),
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
    let folder = Folder::new("usage-full");
    let scenario = folder.write("spray.toml", SCENARIO);
    let output = windfall(&["sim", &scenario, "--log", "/dev/full"]);
    // As with `run`, the evidence may fail and the result counts.
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("/dev/full: No space left on device"), "{message}");
    assert!(!message.contains("os error"), "{message}");
}

#[test]
fn a_full_disk_under_the_standard_output_is_named() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        windfall_testkit::skip!("there is no /dev/full");
    };
    for arguments in [&["--help"][..], &["run", "-h"], &["doctor", "--json"], &["--version"]] {
        let mut command = Command::new(WINDFALL);
        let output = full.try_clone().expect("a copy");
        let output = command.args(arguments).stdout(output).output().expect("it runs");
        let message = String::from_utf8(output.stderr).expect("text");
        let expected = "windfall: cannot write the standard output: No space left on device\n";
        assert_eq!(message, expected, "{arguments:?}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_file_that_reaches_the_limit_of_its_size_does_not_end_a_simulation() {
    let folder = Folder::new("usage-limit");
    let scenario = folder.write("spray.toml", SCENARIO);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh", WINDFALL]);
    command.arg("sim").arg(&scenario).arg("--log").arg(folder.path().join("log"));
    let output = command.output().expect("a shell");
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("log: File too large; the run goes on without it"), "{message}");
    assert_eq!(output.status.code(), Some(0), "{message}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("delivered"));
}

#[test]
fn a_scenario_without_stations_is_refused() {
    let folder = Folder::new("usage-empty");
    let file = folder.write("empty.toml", "format = 1\n");
    let output = Command::new(WINDFALL).arg("sim").arg(&file).output().expect("it runs");
    let message = String::from_utf8(output.stderr).expect("text");
    let expected =
        "empty.toml:1: the scenario has no station: add one by [[station]], with its name\n";
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn a_simulation_in_which_nothing_is_sent_says_so() {
    let folder = Folder::new("usage-silent");
    let file = folder.write("silent.toml", pair(""));
    let mut command = Command::new(WINDFALL);
    // The name of the standard input.
    command.args(["sim", "-"]).stdin(std::fs::File::open(&file).expect("a file"));
    let output = command.output().expect("it runs");
    let message = String::from_utf8(output.stderr).expect("text");
    let expected = "windfall: no application sends anything in this scenario: add one by [[app]]\n";
    assert_eq!((output.status.code(), &*message), (Some(0), expected));
}

#[test]
fn a_peer_that_is_not_there_is_a_failure_at_work() {
    // A port that the system never assigns by itself.
    let port = "1";
    for program in ["stream", "track", "image"] {
        let arguments = [program, "send", "127.0.0.1", "--over", "tcp", "--port", port];
        let (code, message) = complaint(&arguments);
        assert!(message.ends_with("Connection refused; is its receiver there?"), "{message}");
        assert_eq!(code, 1, "{program}");
    }
    let output = windfall(&["tcp", "send", "--kernel", &format!("127.0.0.1:{port}")]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("Connection refused") && !text.contains("os error"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_complain() {
    for arguments in ["completions bash", "tcp settings", "reproduce --list", "doctor"] {
        let line = format!("{WINDFALL} {arguments} | true");
        let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    }
}

#[test]
fn man_pages_go_into_a_folder_that_is_made() {
    let folder = Folder::new("usage-man");
    let man = folder.path().join("share/man/man1");
    let output = windfall(&["completions", "--man", man.to_str().expect("text")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(man.join("windfall-run.1").exists());
}

#[test]
fn the_version_names_the_commit() {
    let output = windfall(&["--version"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with(concat!("windfall ", env!("CARGO_PKG_VERSION"))), "{text}");
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."));
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

#[test]
fn no_file_is_written_that_has_another_use() {
    let folder = Folder::new("usage-twice");
    let text = format!("{SCENARIO}\n");
    folder.write("a.toml", &text);
    let cases: [(&[&str], &str); 4] = [
        (&["--log", "./a.toml"], "--log ./a.toml: this is the file of the scenario"),
        (
            &["--log", "b.log", "--uplink-log", "./b.log"],
            "--uplink-log ./b.log: this is the file of --log",
        ),
        (
            &["--uplink-log", "b.log", "--downlink-log", "b.log"],
            "--downlink-log b.log: this is the file of --uplink-log",
        ),
        (&["--log", "-"], "--log - names no file"),
    ];
    for (options, expected) in cases {
        let arguments = [&["sim", "a.toml"], options].concat();
        let output = folder.windfall(&arguments).output().expect("it runs");
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {message}");
        assert!(message.contains(expected), "{options:?}: {message}");
    }
    folder.write("c.changes", "10s: rate 1Mbps\n");
    folder.write("d.trace", "1\n");
    for (options, expected) in [
        (&["--changes", "c.changes", "--summary", "c.changes"][..], "the file of --changes"),
        (&["--rate-trace", "d.trace", "--log", "./d.trace"], "the file of rate-trace"),
        (&["--log", "b.log", "--summary", "b.log"], "--summary b.log: this is the file of --log"),
        (
            &["--summary", "b.log", "--far", "true", "--far-output", "b.log"],
            "--far-output b.log: this is the file of --summary",
        ),
        (
            &["--fault", "far:80 down", "--fault", "far:80 reset"],
            "separate several faults by commas",
        ),
        (&["--reach", "far:80:1", "--reach", "far:80:2"], "port 80 of far leads out already"),
    ] {
        let arguments = [&["run"], options, &["--", "true"]].concat();
        let output = folder.windfall(&arguments).output().expect("it runs");
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {message}");
        assert!(message.contains(expected), "{options:?}: {message}");
    }
    let kept = std::fs::read_to_string(folder.path().join("c.changes")).expect("it is there");
    assert_eq!(kept, "10s: rate 1Mbps\n");
    let kept = std::fs::read_to_string(folder.path().join("a.toml")).expect("it is there");
    assert_eq!(kept, text);
    assert!(!folder.path().join("b.log").exists() && !folder.path().join("-").exists());
    // What keeps nothing may take several.
    let arguments = ["sim", "a.toml", "--log", "/dev/null", "--uplink-log", "/dev/null"];
    assert!(folder.windfall(&arguments).output().expect("it runs").status.success());
}

#[test]
fn tcp_refuses_the_options_of_sap() {
    let folder = Folder::new("usage-sap");
    let key = folder.write("key", "0".repeat(64));
    permit(&key, 0o600);
    let mut cases = Vec::new();
    for (option, value) in [("--key", &*key), ("--carrier", "udp"), ("--profile", "paper")] {
        cases.push(vec!["stream", "send", "127.0.0.1", option, value]);
        cases.push(vec!["image", "receive", option, value]);
        cases.push(vec!["track", "receive", option, value]);
    }
    for command in ["stream", "track"] {
        cases.push(vec![command, "send", "127.0.0.1", "--protected", "28"]);
    }
    for case in cases {
        let (code, message) = complaint(&[&case, &["--over", "tcp"][..]].concat());
        let option = case[case.len() - 2];
        assert!(message.contains(&format!("{option} is an option of SAP")), "{case:?}: {message}");
        assert_eq!(code, 2, "{case:?}");
    }
}

#[test]
fn values_that_would_have_no_effect_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--flow", "v: dst port 0"], "use a whole number from 1 to 65535"),
        (&["--flow", "v: lifetime 0s"], "use a time from 1ns"),
        (&["--sysctl="], "write it as net.ipv4.tcp_sack=0"),
        (&["--link", "wifi-g", "--stations", "4998"], "use a whole number from 0 to 4997"),
    ];
    for (options, expected) in cases {
        let (code, message) = complaint(&[&["run", "--generate"], options].concat());
        assert!(message.contains(expected), "{options:?}: {message}");
        assert_eq!(code, 2, "{options:?}");
    }
    let output = windfall(&["run", "--generate", "--link=wifi-g", "--stations=4997"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
