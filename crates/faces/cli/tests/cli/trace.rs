//! `windfall trace` as a user calls it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, WINDFALL, scenario};

fn windfall(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(WINDFALL)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// The output of a command that must succeed.
fn said(args: &[&str], input: &[u8]) -> String {
    let output = windfall(args, input);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_same_seed_gives_the_same_trace_compressed_or_not() {
    let folder = Folder::new("trace-synth");
    let plain = folder.file("a.trace");
    let packed = folder.file("a.gz");
    for file in [&plain, &packed] {
        said(
            &["trace", "synth", "--frames", "50", "--ber", "1e-4", "--seed", "7", "-o", file],
            b"",
        );
    }
    let header = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let unpacked = said(&["trace", "convert", &packed], b"");
    let text = std::fs::read_to_string(&plain).expect("the trace");
    assert_eq!(header(&text), header(&unpacked));
    assert!(std::fs::read(&packed).expect("the trace").starts_with(&[0x1f, 0x8b]));
}

#[test]
fn a_trace_is_shown_fitted_and_converted() {
    let folder = Folder::new("trace-show");
    let svg = folder.file("a.svg");
    let trace = said(&["trace", "synth", "--frames", "20000", "--gemodel", "2% 25%"], b"");
    let shown = said(&["trace", "show", "-", "--json", "--svg", &svg], trace.as_bytes());
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["statistics"]["frames"]["count"], 20_000);
    assert!(std::fs::read_to_string(&svg).expect("a picture").starts_with("<svg"));
    let fitted = said(&["trace", "fit", "-", "--json"], trace.as_bytes());
    let fitted: serde_json::Value = serde_json::from_str(&fitted).expect("JSON");
    assert_eq!(fitted["best"], "gilbert");
    let list = said(&["trace", "convert", "-", "--to", "loss-list"], trace.as_bytes());
    assert_eq!(list.lines().count(), 20_000);
    let back = said(&["trace", "convert", "-"], list.as_bytes());
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&back), body(&trace));
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let broken = "{\"format\":\"windfall-error-trace\",\"version\":1}\n5\nb 1 0\nend 6\n";
    let cases: [(&[&str], &[u8], &str); 6] = [
        (&["trace", "show", "-"], broken.as_bytes(), "-: line 3: \"b 1 0\" names a bit twice"),
        (&["trace", "show", "-"], b"hello", "-: line 1: no error trace begins like this"),
        (&["trace", "show", "/nonexistent"], b"", "cannot read /nonexistent"),
        (
            &["trace", "synth", "--frames", "0"],
            b"",
            "'0' for '--frames <N>': use a whole number from 1 to 1",
        ),
        (&["trace", "synth", "--bits", "9", "--loss", "1%"], b"", "index it by frames"),
        (
            &["trace", "convert", "-", "--from", "loss-list"],
            b"0\nx\n",
            "-: line 2: \"x\" is neither",
        ),
    ];
    for (args, input, message) in cases {
        let output = windfall(args, input);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(error.contains(message) && error.lines().count() == 1, "{error}");
    }
    let usage = windfall(&["trace", "synth", "--loss", "120%"], b"");
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("0%..100%"));
}

/// A link of any kind and damage, and applications in both directions.
const APPLICATIONS: &str = r#"
[[link]]
stations = ["near", "far"]
kind = "KIND"
arq = "persistent"
DAMAGE

[[app]]
kind = "sink"
station = "far"
port = 5001

[[app]]
kind = "cbr"
station = "near"
to = "far"
port = 5001
rate = "200kbps"

[[app]]
kind = "ping"
station = "far"
to = "near"
count = 20
interval = "50ms"
"#;

const DAMAGE: &str = r#"
loss = "5%"
gemodel = "2% 30%"
ber = 1e-5
bit-gemodel = "0.01% 5% 30%"
window = "10% 300 10%"
truncate = "2%"
"#;

/// Everything that happened in a run, and the packets at both devices.
fn simulate(folder: &Folder, name: &str, kind: &str, damage: &str, args: &[&str]) -> Vec<String> {
    let rest = APPLICATIONS.replace("KIND", kind).replace("DAMAGE", damage);
    let text = scenario("seed = 42\nduration = \"2s\"", &[("near", ""), ("far", "")], &rest);
    let file = folder.write(&format!("{name}.toml"), text);
    let log = folder.file(name);
    said(&[&["sim", &file, "--log", &log], args].concat(), b"");
    let log = std::fs::read_to_string(log).expect("a log");
    log.lines().skip(1).map(str::to_owned).collect()
}

//= S3.3
//= S1.33
#[test]
fn what_the_air_did_in_a_run_is_recorded_and_replayed_exactly() {
    for (kind, expose) in [("pipe", ""), ("wavelan", ""), ("wavelan", "expose = [\"control\"]")] {
        let folder = Folder::new(&format!("trace-replay-{kind}-{}", expose.len()));
        let errors = folder.file("errors");
        let damage = format!("{DAMAGE}{expose}");
        let run = simulate(&folder, "run", kind, &damage, &["--record-errors", &errors]);
        assert!(run.len() > 100, "{} lines", run.len());
        let (up, down) =
            (format!("{errors}/near-to-far.trace"), format!("{errors}/far-to-near.trace"));
        let args = ["--uplink-error-trace", &up, "--downlink-error-trace", &down];
        let replay = simulate(&folder, "replay", kind, "", &args);
        let differs = run.iter().zip(&replay).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{kind}");
        assert_eq!(run.len(), replay.len());
    }
}

/// A station at the edge of 11 Mb/s, where CCK damages every other frame.
const WIFI: &str = r#"
[[link]]
name = "air"
kind = "wifi-b"
stations = ["near", "far"]
rate = "11Mbps"
radio.path-loss = "free-space"

[[app]]
kind = "spray"
station = "near"
to = "far"
rate = "4Mbps"
start = "100ms"
"#;

#[test]
fn traces_of_wifi_say_in_which_order_their_bits_were_sent_and_how_long_their_frames_are() {
    let folder = Folder::new("trace-wifi");
    let stations = [("near", ""), ("far", "radio.position = [1800.0, 0.0]")];
    let file = folder.write("wifi.toml", scenario("seed = 3", &stations, WIFI));
    let errors = folder.file("errors");
    said(&["sim", &file, "--duration", "2s", "--record-errors", &errors], b"");
    let trace = std::fs::read_to_string(format!("{errors}/near-to-far.trace")).expect("a trace");
    let (head, events) = trace.split_once('\n').expect("a header");
    let head: serde_json::Value = serde_json::from_str(head).expect("a header");
    assert_eq!((&head["version"], &head["bit_order"]), (&2.into(), &"lsb".into()), "{head}");
    assert_eq!((&head["origin"], &head["frames"]), (&"frame".into(), &"packets".into()), "{head}");
    let bits = head["frame_length"].as_u64().expect("frames of one length") * 8;
    let damaged: Vec<&str> = events.lines().filter(|line| line.starts_with('b')).collect();
    assert!(damaged.len() > 30, "{} damaged frames", damaged.len());
    let last = |line: &str| line[2..].split(' ').map(|gap| gap.parse::<u64>().unwrap()).sum();
    let furthest: u64 = damaged.iter().map(|line| last(line)).max().unwrap_or(0);
    assert!(furthest < bits && furthest > bits / 2, "bit {furthest} of {bits}");
    // An event of CCK at the edge hits a code word of eight bits, and what the descrambler carries
    // into the next: two bytes, seldom more.
    let mut events = 0;
    let mut bytes = 0;
    let mut next = 0;
    for line in damaged {
        let mut bit = 0;
        let mut end = None::<u64>;
        for gap in line[2..].split(' ') {
            bit += gap.parse::<u64>().unwrap();
            if end.is_none_or(|end| bit > end + 15) {
                events += 1;
                next = 0;
            }
            bytes += u64::from(bit / 8 >= next);
            next = bit / 8 + 1;
            end = Some(bit);
        }
    }
    let each = bytes as f64 / f64::from(events);
    assert!((2.0..2.45).contains(&each), "{bytes} bytes in {events} events");
}

#[test]
fn a_trace_that_finds_no_room_leaves_what_stood_there() {
    let folder = Folder::new("trace-room");
    let file = folder.write("a.trace", "what stood there");
    // No file may have more than 8 blocks, as if the disk were full.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" trace synth --ber 1e-3 -o \"$1\"";
    let output =
        Command::new("sh").args(["-c", script, WINDFALL, &file]).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("it stands"), "what stood there");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing beside it");
    said_to(&file);
}

/// Writes a trace through a link, which stays one.
fn said_to(file: &str) {
    let link = format!("{file}.link");
    std::os::unix::fs::symlink(file, &link).expect("a link");
    said(&["trace", "synth", "--frames", "5", "-o", &link], b"");
    assert!(std::fs::symlink_metadata(&link).expect("it stands").is_symlink());
    assert!(std::fs::read_to_string(file).expect("a trace").starts_with('{'));
}

#[test]
fn measured_tables_become_changes_that_a_link_takes() {
    let folder = Folder::new("trace-changes");
    let table = "time,operator,rate,rtt\n100,a,1200,40\n100.5,b,1,1\n101,a,800,80\n";
    std::fs::write(folder.path().join("measured.csv"), table).expect("a file");
    let from = ["trace", "changes", "measured.csv", "--time", "time", "--where", "operator=a"];
    let to = ["--set", "rate=rate:kbps", "--set", "delay=rtt*0.5:ms", "-o", "changes"];
    let command = [&from[..], &to[..]].concat();
    let output = folder.windfall(&command).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let changes = std::fs::read_to_string(folder.path().join("changes")).expect("it is there");
    assert_eq!(changes, "0s: rate 1200kbps, delay 20ms\n1s: rate 800kbps, delay 40ms\n");
    // An editor may put the mark of its byte order before a text.
    let marked = format!("\u{feff}{changes}");
    std::fs::write(folder.path().join("changes"), marked).expect("a file");
    let run = ["run", "--rate", "1Mbps", "--changes", "changes", "--generate"];
    let output = folder.windfall(&run).output().expect("it runs");
    let scenario = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && scenario.matches("[[change]]").count() == 2, "{scenario}");
    let wrong = ["trace", "changes", "measured.csv", "--time", "time", "--set", "speed=rate"];
    let output = folder.windfall(&wrong).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("speed 1200"), "{said}");
}

#[test]
fn rate_traces_are_written_for_mahimahi() {
    let folder = Folder::new("trace-rates");
    std::fs::write(
        folder.path().join("rates.json"),
        r#"{"StaticBwConfig":{"bw":"6Mbps","duration":"9ms"}}"#,
    )
    .expect("a file");
    let output = folder.windfall(&["trace", "rates", "rates.json"]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n4\n6\n8\n");
    let longer = ["trace", "rates", "rates.json", "--for", "13ms"];
    let output = folder.windfall(&longer).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n4\n6\n8\n10\n12\n");
}

#[test]
fn the_signal_of_measured_frames_becomes_losses() {
    let convert = |table: &str, options: &str| {
        let words = ["trace", "convert", "-", "--from", "signal", "--to", "loss-list"];
        windfall(&[&words[..], &options.split(' ').collect::<Vec<_>>()].concat(), table.as_bytes())
    };
    let lost = |table: &str, options: &str| {
        let output = convert(table, options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).replace('\n', "")
    };
    // Far above and far below what a rate needs there is nothing to draw; no value is no frame.
    let table = "time,seq,RSSI\n0.1,1,-50\n0.2,2,-94\n0.3,3,\n0.4,4,-60\n";
    assert_eq!(lost(table, "--signal rssi"), "0110");
    assert_eq!(lost(table, "--signal rssi --noise -140dBm"), "0010");
    let table = "# seq snr\n# measured\n1 40\n2 nan\n3 -10\n";
    assert_eq!(lost(table, "--snr snr --rate 11Mbps"), "011");
    // Where the ratio is just enough, some arrive: the same ones with the same seed.
    let table = format!("snr\n{}", "22\n".repeat(2000));
    let drawn = lost(&table, "--snr snr --seed 3");
    let share = drawn.matches('1').count();
    assert!((1..1999).contains(&share), "{share}");
    assert_eq!(drawn, lost(&table, "--snr snr --seed 3"));
    assert_ne!(drawn, lost(&table, "--snr snr --seed 4"));
    for (table, options, why) in [
        ("a,b\n1,2\n", "--snr c", "no column is called \"c\": there are a, b"),
        ("a,b\n1,x\n", "--snr b", "has no number in its column"),
        ("a,b\n1\n", "--snr b", "has no such column"),
        ("a,b\n1,2\n", "--snr b --rate 7Mbps", "802.11b/g has no rate of 7Mbps"),
        ("a,b\n", "--seed 1", "add --signal COLUMN (dBm) or --snr COLUMN (dB)"),
    ] {
        let output = convert(table, options);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{options}: {said}");
    }
}
