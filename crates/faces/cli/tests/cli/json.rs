//! What `--json` prints is what `docs/reference/json.md` says, member by member and in both
//! directions.
#![expect(clippy::disallowed_methods, reason = "a program needs time to begin")]

use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value;
use windfall_base::DropReason;

use crate::support::{Folder, exchange, first_line, scenario};

mod page;

pub(crate) use page::Page;

/// Every application that speaks in datagrams; a flow that takes more than the link can keep, one
/// without packets; a queue that fills; damage that checksums find.
const FLOWS: &str = r#"
[[link]]
name = "air"
stations = ["near", "far"]
rate = "1Mbps"
ber = 1e-4
queue = "5"
accept-damaged = true
[[app]]
kind = "spray"
station = "near"
to = "far"
port = 5004
[[app]]
kind = "cbr"
station = "near"
to = "far"
rate = "10kbps"
port = 5005
[[app]]
kind = "ping"
station = "near"
to = "far"
[[app]]
kind = "sap-bulk"
station = "near"
to = "far"
bytes = "2kB"
port = 5007
[[app]]
kind = "sap-stream"
station = "near"
to = "far"
interval = "20ms"
size = 40
port = 5008
[[flow]]
name = "busy"
dst-port = 5004
reserve = "900kbps"
[[flow]]
name = "silent"
dst-port = 5006
[[flow]]
name = "lossy"
dst-port = 5005
lose = 1
"#;

/// Radios with energy, and TCP; a packet arrives damaged and then whole.
const RADIO: &str = r#"
[[link]]
stations = ["near", "far"]
kind = "wifi-g"
accept-damaged = true
[link.radio]
distance = "50m"
[[app]]
kind = "bulk"
station = "near"
to = "far"
bytes = "20kB"
"#;

/// Returns a scenario with two stations and the rest.
fn near_and_far(keys: &str, rest: &str) -> String {
    scenario(keys, &[("near", ""), ("far", "")], rest)
}

impl Folder {
    /// The one line that a command prints, whatever its verdict is.
    fn json(&self, line: &str) -> Value {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = self.windfall(&words).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.lines().count(), 1, "{line}: {text}{error}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The account of a simulation that is told to end.
    fn interrupted(&self) -> Value {
        use rustix::process::{Pid, Signal, kill_process};
        let keys = "duration = \"1000000s\"\novercommit = true";
        self.write("endless.toml", near_and_far(keys, FLOWS));
        let mut command = self.windfall(&["sim", "endless.toml", "--json", "--log", "log"]);
        let run = command.stdout(Stdio::piped()).spawn().expect("it runs");
        while std::fs::metadata(self.path().join("log")).map_or(0, |log| log.len()) < 10_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&run), Signal::INT).expect("it lives");
        let output = run.wait_with_output().expect("it ends");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The reports of a file over TCP, over SAP, of one that came over TCP instead, and of one from
    /// another address.
    fn fetched(&self) -> Vec<Value> {
        self.write("a.jpg", "a picture");
        assert!(
            self.windfall(&["sap", "keygen", "key"]).output().expect("it runs").status.success()
        );
        std::fs::create_dir_all(self.path().join("folder")).expect("a folder");
        // The address of a folder without its slash is redirected to the one with it.
        let lines = ["PLACEa.jpg", "--approx */* PLACEa.jpg", "PLACEfolder"];
        let mut reports = self.fetched_from("none", &lines);
        // A client without a key takes in the clear what a server with one would not send it.
        let line = "--approx */* --client-opens PLACEa.jpg";
        reports.extend(self.fetched_from("key", &[line]));
        assert_eq!(reports[1]["over"], "sap", "{}", reports[1]);
        assert!(reports[3]["fallback"].is_string(), "{}", reports[3]);
        reports
    }

    /// The reports of a client without a key, of a server that has this one.
    fn fetched_from(&self, key: &str, lines: &[&str]) -> Vec<Value> {
        let mut server = self.windfall(&["serve", ".", "--on", "127.0.0.1", "--port", "0", "-q"]);
        let mut server = server.args(["--key", key]).stderr(Stdio::piped()).spawn();
        let server = server.as_mut().expect("it runs");
        let (line, _errors) = first_line(server.stderr.take());
        let at = line.trim().rsplit(' ').next().expect("an address");
        let get = "get --json --key none -o got";
        let reports =
            lines.iter().map(|it| self.json(&format!("{get} {}", it.replace("PLACE", at))));
        let reports = reports.collect();
        server.kill().expect("it runs");
        server.wait().expect("it ends");
        reports
    }

    /// The report on two pictures that went over loopback; no decoder needs to understand them.
    fn video(&self) -> Value {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
        // An even one, as RTP has it, whose successor is RTCP's.
        let port = (free.local_addr().expect("bound").port() & !1).to_string();
        drop(free);
        let mut receiver = self.windfall(&["video", "receive", "--on", "127.0.0.1", "--json"]);
        receiver.args(["--port", &port, "--idle", "30s"]).stdout(Stdio::piped());
        let receiver = receiver.spawn().expect("it runs");
        let bound = || std::fs::read_to_string("/proc/net/udp").expect("the table of sockets");
        let number = format!("0100007F:{:04X}", port.parse::<u16>().expect("a port"));
        while !bound().contains(&number) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let line = ["video", "send", "clip.h263", "127.0.0.1", "--port", &port];
        let sender = self.windfall(&line).output().expect("it runs");
        assert!(sender.status.success(), "{}", String::from_utf8_lossy(&sender.stderr));
        let output = receiver.wait_with_output().expect("it ends");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// The record of a connection of the kernel's TCP over loopback.
    fn connection(&self) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = listener.local_addr().expect("bound");
        let receiver = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            std::io::copy(&mut stream, &mut std::io::sink()).expect("all of it")
        });
        let record = self.json(&format!("tcp send --kernel --bytes 9kB --json {at}"));
        assert_eq!(receiver.join().expect("it ends"), 9_000);
        record
    }

    /// The outcomes of scripts that pass, that fail, and that cannot run.
    fn scripts(&self) -> Vec<Value> {
        self.write("passed.pkt", "0 < S 0:0(0)\n+0 > R. 0:0(0) ack 1\n");
        self.write("failed.pkt", "0 < S 0:0(0)\n+0 > R. 0:0(0) ack 2\n");
        self.write("foreign.pkt", "0 < udp (9)\n");
        self.write("unreadable.pkt", "0 <\n");
        self.write("empty.pkt", "// Nothing happens.\n");
        let output = self.windfall(&["tcp", "script", "--json", "."]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines: Vec<Value> =
            lines.map(|line| serde_json::from_slice(line).expect("a line of JSON")).collect();
        for line in &lines {
            let is_empty = line["file"].as_str().is_some_and(|file| file.ends_with("empty.pkt"));
            assert!(!is_empty || line["outcome"] == "not_readable", "{line}");
        }
        lines
    }
}

/// Commands that print what they find in error traces, and in bytes.
const OF_TRACES: [&str; 4] = [
    "trace show frames.trace --json",
    "trace show bits.trace --json",
    "trace fit frames.trace --json",
    "trace compare frames.trace bits.trace --json",
];

//= S1.36
#[test]
fn every_member_is_on_the_page_and_every_member_of_the_page_in_an_output() {
    let folder = Folder::new("json");
    folder.write("flows.toml", near_and_far("duration = \"500ms\"\novercommit = true", FLOWS));
    let keys = "duration = \"100ms\"\nenergy = \"laptop-2000\"";
    folder.write("radio.toml", near_and_far(keys, RADIO));
    folder.write("bulk.toml", include_str!("../../../../../scenarios/paper-002/laptops.toml"));
    folder
        .write("marks.toml", include_str!("../../../../../scenarios/examples/marking-queue.toml"));
    let code = include_str!("../../../../../scenarios/examples/code-across-packets.toml");
    folder.write("code.toml", code);
    let waits = code.replace("fec = \"8/12\"", "fec = \"window:64:10%:5s\"");
    folder.write("waits.toml", waits.replace("ber = 1.4e-4", "ber = 0").replace("2%", "20%"));
    folder.write("copies.toml", code.replace("fec = \"8/12\"", "arq = \"9\"\ncombine = true"));
    for made in [
        "trace synth --gemodel 2% --ber 1e-4 -o frames.trace",
        "trace synth --bits 50000 --bit-gemodel 0.001 -o bits.trace",
    ] {
        let words: Vec<&str> = made.split_whitespace().collect();
        assert!(folder.windfall(&words).status().expect("it runs").success());
    }
    let mut page = Page::read();
    page.assert_spelt_with_underscores();
    page.assert_units();
    for line in [
        "sim flows.toml --json",
        "sim radio.toml --json",
        "sim marks.toml --duration 2s --json",
        "sim code.toml --duration 1s --json",
        "sim copies.toml --duration 1s --json",
        "sim waits.toml --duration 1s --json",
        "sweep radio.toml --vary rate=6,54 --seeds 2 --json",
        "sweep radio.toml --seeds 1 --json",
        "tcp settings --json",
        "reproduce S3.table2 --quick --json",
        "reproduce --list --json",
        "reproduce S3.table2 --quick --unseen 2 --json",
        "doctor --json",
        "links --json",
        "tune bulk.toml --for joules --setting mss --duration 1s --seeds 2 --json",
    ]
    .into_iter()
    .chain(OF_TRACES)
    {
        page.check(&folder.json(line));
    }
    for line in folder.scripts() {
        page.check(&line);
    }
    // A stream of two pictures that no decoder needs to understand.
    std::fs::write(folder.path().join("clip.h263"), [[0, 0, 0x80, 2, 0x1c, 0xa8]; 2].concat())
        .expect("a file");
    folder.write("blocks.losses", "0\n1\n0\n");
    page.check(&folder.json("wsim clip.h263 blocks.losses --json"));
    page.check(&folder.json("tune blocks.losses --rate 1kbps --size 100 --json"));
    page.check(&folder.json("tune frames.trace --link pipe --rate 100kbps --size 100 --json"));
    page.check(&folder.video());
    page.check(&folder.interrupted());
    page.check(&folder.connection());
    for command in ["stream", "track", "image"] {
        page.check(&exchange(&[], command, "sap", &["--interval", "100us"]));
    }
    for over in ["udp", "udplite", "sap"] {
        page.check(&exchange(&[], "camera", over, &["--time", "200ms", "--bit-rate", "500kbps"]));
    }
    for line in folder.fetched() {
        page.check(&line);
    }
    page.assert_all_seen(false);
}

#[test]
fn every_reason_of_a_drop_is_on_the_page() {
    let text = include_str!("../../../../../docs/reference/json.md");
    let (_, reasons) = text.split_once("## Reasons of drops").expect("a section");
    let rows = reasons.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let names = DropReason::ALL.map(DropReason::name);
    assert_eq!(rows.collect::<Vec<_>>(), names);
}
