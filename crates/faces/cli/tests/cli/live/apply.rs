//! Settings that `windfall tune` prints, used on the TCP of the stations' kernels.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::live::{Folder, WINDFALL, require, text, windfall};
use crate::support::scenario;

/// Settings for which a kernel has a metric of routes or a parameter.
const ALL: &str = "mss=2256, delayed-ack=off, receive-buffer=32KiB, initial-window=3\n\
                   min-rto=300ms, congestion=reno, sack=off, timestamps=off\n\
                   window-scale=off, ecn=off, syn-retries=2 # all that is told\n";

/// A run whose kernels have these settings, with a line of the shell at the near end.
fn applied(settings: &str, options: &str, line: &str) -> Output {
    let mut run = windfall("run");
    run.args(["--apply", "-"]).args(options.split_whitespace()).args(["--", "sh", "-c", line]);
    run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().expect("the program is there");
    // A run that refuses its options reads nothing.
    let _ = run.stdin.take().expect("a pipe").write_all(settings.as_bytes());
    run.wait_with_output().expect("it ends")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn settings_are_seen_in_the_routes_and_the_parameters_of_both_stations() {
    require!("ip", "python3");
    let show = "ip route; ip -6 route; cat /proc/sys/net/ipv4/tcp_timestamps \
                /proc/sys/net/ipv4/tcp_syn_retries; ip -o link show wf0";
    let mut run = windfall("run -q --link wifi-b --wait-port 9 --far-may-fail");
    let folder = Folder::new("apply-routes");
    std::fs::write(folder.path().join("settings"), ALL).expect("a file");
    let both = format!("{show}; echo end");
    run.args(["--far-output", "far"]).current_dir(folder.path());
    let listen = format!(
        "({both}) 2>&1; exec python3 -c 'import socket, time; s = socket.socket(); \
         s.bind((\"\", 9)); s.listen(); time.sleep(100)'"
    );
    run.args(["--apply", "settings", "--far", &listen, "--", "sh", "-c", &both]);
    let near = text(&run.output().expect("the program is there"));
    let far = std::fs::read_to_string(folder.path().join("far")).expect("a file");
    for said in [near, far] {
        let four = said.lines().find(|line| line.starts_with("10.77.0.0/30")).expect(&said);
        for metric in [
            "proto kernel",
            "src 10.77.0.",
            "window 32768",
            "advmss 2256",
            "rto_min lock 300ms",
            "initcwnd 3",
            "quickack 1",
            "congctl reno",
        ] {
            assert!(four.contains(metric), "{metric}: {four}");
        }
        // The route to the engine at the other station has them too.
        let engine = said.lines().find(|line| line.starts_with("10.177.0.")).expect(&said);
        assert!(engine.contains("advmss 2256"), "{engine}");
        let rest: Vec<_> = said.lines().rev().take(4).collect();
        assert!(rest[1].contains(" mtu 2296 "), "{said}");
        assert_eq!([rest[0], rest[2], rest[3]], ["end", "2", "0"], "{said}");
    }
}

#[test]
fn segments_over_ipv6_leave_room_for_its_longer_header() {
    require!("ip");
    let folder = Folder::new("apply-six");
    let interface = |host: u8| {
        format!("[[station.interface]]\nlink = \"air\"\naddresses = [\"fd00:1::{host}/64\"]")
    };
    let link = "[[link]]\nname = \"air\"\nkind = \"wifi-b\"\nstations = [\"near\", \"far\"]";
    let content = scenario("", &[("near", &interface(1)), ("far", &interface(2))], link);
    std::fs::write(folder.path().join("six.toml"), content).expect("a file");
    std::fs::write(folder.path().join("settings"), "mss=2256").expect("a file");
    let run = windfall("run -q --scenario six.toml --apply settings -- ip -6 route")
        .current_dir(folder.path())
        .output();
    let said = text(&run.expect("it runs"));
    let six = said.lines().find(|line| line.starts_with("fd00:1::/64")).expect(&said);
    assert!(six.contains("proto kernel metric 256 advmss 2236"), "{said}");
    let mut up = windfall("up --detach --apply - six.toml");
    let error = errors(&up.current_dir(folder.path()).output().expect("it runs"));
    assert!(error.contains("a detached run cannot read its settings"), "{error}");
}

#[test]
fn settings_are_seen_on_the_wire() {
    require!("tshark");
    let syns = |settings: &str| {
        let folder = Folder::new("apply-wire");
        std::fs::write(folder.path().join("settings"), settings).expect("a file");
        let output = windfall("run -q --link wifi-b --pcap pcap --apply settings --wait-port 5001")
            .current_dir(folder.path())
            .args(["--far", &format!("exec {WINDFALL} tcp receive --kernel -q")])
            .args(["--", "sh", "-c"])
            .arg(format!("exec {WINDFALL} tcp send --kernel -q --bytes 20kB $WINDFALL_BASE:5001"))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", errors(&output));
        let captures = std::fs::read_dir(folder.path().join("pcap")).expect("a folder");
        let captures = captures.map(|entry| entry.expect("an entry").path());
        let is_of_dropped = |path: &PathBuf| path.to_string_lossy().contains(".dropped.");
        let capture = captures.filter(|path| !is_of_dropped(path)).min().expect("a capture");
        let fields = "tcp.options.mss_val tcp.options.sack_perm tcp.options.timestamp.tsval \
                      tcp.options.wscale.shift tcp.window_size_value";
        let read = std::process::Command::new("tshark")
            .args(["-r", &capture.display().to_string(), "-Y", "tcp.flags.syn==1", "-T", "fields"])
            .args(fields.split_whitespace().flat_map(|field| ["-e", field]))
            .output()
            .expect("it runs");
        let syns = String::from_utf8_lossy(&read.stdout).into_owned();
        let syns: Vec<Vec<String>> =
            syns.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
        assert_eq!(syns.len(), 2, "{}", errors(&read));
        syns
    };
    for syn in syns("ecn=off") {
        assert_eq!(syn[0], "1460");
        assert!(syn[1..4].iter().all(|option| !option.is_empty()), "{syn:?}");
    }
    for syn in syns(ALL) {
        assert_eq!(syn[..4], ["2256", "", "", ""], "{syn:?}");
        assert!(syn[4].parse::<u32>().expect("a number") <= 32_768, "{syn:?}");
    }
}

#[test]
fn what_a_kernel_cannot_do_is_said_and_the_run_goes_on() {
    require!();
    let cannot = "delayed-ack=time:500ms: the kernel acknowledges every second full segment";
    let output = applied("sack=off, delayed-ack=time:500ms", "", "echo went on");
    let said = errors(&output);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"went on\n"[..]), "{said}");
    assert!(said.contains(&format!("windfall: --apply: not applied: {cannot}")), "{said}");
    assert!(said.contains("\napplied: sack=off, as net.ipv4.tcp_sack=0\n"), "{said}");
    let output = applied("delayed-ack=time:500ms, mss=536", "--json", "true");
    let summary: Value = serde_json::from_str(&errors(&output)).expect("JSON and nothing else");
    assert_eq!(summary["applied"][0]["how"], Value::Null);
    assert_eq!(summary["applied"][1]["how"], "advmss 536");
    assert_eq!(summary["applied"][1]["cannot"], Value::Null);
}

#[test]
fn wrong_settings_end_the_run_before_it_begins() {
    require!();
    for (settings, options, said) in [
        ("sck=off", "", "--apply -: there is no setting \"sck\": did you mean sack?"),
        ("sack=perhaps", "", "\"perhaps\" is no value of the TCP setting sack: write on or off"),
        ("sack=off, sack=on", "", "the setting sack is given twice"),
        ("power=5dBm", "", "power=5dBm: no link of 802.11 has it: add --link wifi-b"),
        ("rate=7", "--link wifi-g", "802.11g has no rate of 7Mbps"),
        ("{\"format\":\"windfall-tune/1\"}", "", "no advice of windfall tune --for GOAL --json"),
        ("\n", "", "it has no setting: write NAME=VALUE"),
    ] {
        let output = applied(settings, options, "echo began");
        let error = errors(&output);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{error}");
        assert!(error.contains(said), "{settings}: {error}");
    }
}

#[test]
fn longer_segments_without_timestamps_save_packets_acknowledgments_and_air_time() {
    require!();
    let measured = |settings: &str| {
        let folder = Folder::new("apply-saving");
        std::fs::write(folder.path().join("settings"), settings).expect("a file");
        let file = folder.path().join("summary.json");
        let output = windfall("run --link wifi-b --json --wait-port 5001 --apply")
            .arg(folder.path().join("settings"))
            .arg("--summary")
            .arg(&file)
            .args(["--far", &format!("exec {WINDFALL} tcp receive --kernel -q")])
            .args(["--", "sh", "-c"])
            .arg(format!("exec {WINDFALL} tcp send --kernel -q --bytes 1MB $WINDFALL_BASE:5001"))
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", errors(&output));
        let summary = std::fs::read(file).expect("a file");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        let links = summary["links"].as_array().expect("a list");
        let all = |member: &str| links.iter().filter_map(|it| it[member].as_f64()).sum::<f64>();
        let first = |member: &str| links[0][member].as_f64().expect("a number");
        [first("entered"), all("entered"), all("busy_seconds")]
    };
    let before = measured("mss=1460, timestamps=on");
    let after = measured("mss=2256, timestamps=off");
    let ratios: Vec<f64> = after.iter().zip(before).map(|(after, before)| after / before).collect();
    // 444 full segments in place of 691, and as many acknowledgments fewer; how many segments each
    // of them covers depends on when they arrive.
    assert!(ratios[0] < 0.75 && ratios[1] < 0.85 && ratios[2] < 0.95, "{ratios:?}");
}
