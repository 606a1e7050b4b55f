//! `windfall sim` as a user calls it.

use std::process::{Output, Stdio};

use crate::support::Folder;

pub(crate) const SCENARIO: &str = r#"format = 1
seed = 5
duration = "500ms"

[[station]]
name = "near"

[[station]]
name = "far"

[[link]]
name = "air"
stations = ["near", "far"]
rate = "2Mbps"
ber = 1e-4
arq = 2

[[app]]
kind = "spray"
station = "near"
to = "far"
"#;

impl Folder {
    /// Runs the program in the folder, on a scenario of this text.
    fn sim(&self, text: &str, args: &[&str]) -> Output {
        self.write("a.toml", text);
        self.windfall(&[&["sim", "a.toml"], args].concat()).output().expect("the program")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The standard output of a run that must succeed.
fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_change_that_never_acts_fails_a_run_that_demands_it() {
    let folder = Folder::new("sim-must-act");
    let change = ["--change", "3s: rate 1Mbps"];
    good(&folder.sim(SCENARIO, &change));
    let refused = folder.sim(SCENARIO, &[&change[..], &["--must-act"]].concat());
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("never acted"), "{}", text(&refused.stderr));
    good(&folder.sim(SCENARIO, &["--change", "100ms: rate 1Mbps", "--must-act"]));
}

#[test]
fn an_option_may_say_what_a_setting_of_the_file_needs() {
    let folder = Folder::new("sim-needs");
    let lacking = SCENARIO.replace("rate = \"2Mbps\"", "overhead = 18");
    let refused = folder.sim(&lacking, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("a.toml:14: overhead changes nothing here without rate"), "{said}");
    let generated = good(&folder.sim(&lacking, &["--rate", "1Mbps", "--generate"]));
    assert!(generated.contains("overhead = 18") && generated.contains("1Mbps"), "{generated}");
    good(&folder.sim(&lacking, &["--rate", "1Mbps"]));
}

//= S2.27
//= S2.28
#[test]
fn a_station_with_an_energy_model_has_an_account_of_its_joules() {
    let folder = Folder::new("sim-energy");
    let wifi = SCENARIO.replace("rate = \"2Mbps\"\nber = 1e-4\narq = 2", "kind = \"wifi-g\"");
    let model = "base = \"mote\"\n[platform]\nwatts = 4.0\n[battery]\nwatt-hours = 0.01\n";
    folder.write("own.toml", model);
    let run = |energy: &str| folder.sim(&wifi, &["--json", "--energy", energy]);
    let json: serde_json::Value = serde_json::from_str(&good(&run("own.toml"))).expect("JSON");
    for station in json["stations"].as_array().expect("stations") {
        let energy = &station["energy"];
        let number = |key: &str| energy[key].as_f64().expect("a number");
        assert_eq!(energy["model"], "own.toml");
        assert!((number("platform_joules") - 2.0).abs() < 1e-9, "4 W for half a second");
        let parts = energy["part_joules"].as_object().expect("parts").values();
        let sum: f64 = parts.map(|joules| joules.as_f64().expect("a number")).sum();
        assert!((sum - number("joules")).abs() < 1e-9, "{energy}");
        let lifetime = 36.0 / (number("joules") / 0.5);
        assert!((number("lifetime_seconds") - lifetime).abs() < 1e-6, "{energy}");
    }
    let shown = good(&folder.sim(&wifi, &["--energy", "phone"]));
    assert!(shown.contains("(phone): ") && shown.contains("; the battery lasts "), "{shown}");
    // What makes no sense is refused by name, with the value and the fix.
    folder.write("negative.toml", "[radio]\nvolts = 3\ntransmit = -0.28\n");
    folder.write("empty.toml", "[battery]\nwatt-hours = 0\n");
    for (energy, message) in [
        ("brick", "no energy model \"brick\"; there are laptop-2000, wifi-chip"),
        ("negative.toml", "negative.toml: radio.transmit is -0.28"),
        ("empty.toml", "an empty battery lasts for no time"),
        ("missing.toml", "missing.toml: No such file"),
    ] {
        let output = folder.sim(&wifi, &["--energy", energy]);
        assert_eq!(output.status.code(), Some(2), "{energy}");
        let said = text(&output.stderr);
        assert!(said.contains(message), "{energy}: {said}");
    }
}

//= S2.22
#[test]
fn a_radio_says_how_long_it_did_what_and_what_that_cost() {
    let folder = Folder::new("sim-radio");
    let wifi = SCENARIO.replace("rate = \"2Mbps\"\nber = 1e-4\narq = 2", "kind = \"wifi-g\"");
    let json: serde_json::Value =
        serde_json::from_str(&good(&folder.sim(&wifi, &["--json"]))).expect("JSON");
    for link in json["links"].as_array().expect("two ends") {
        let seconds = link["radio"]["seconds"].as_object().expect("states");
        let of = |state: &str| seconds.get(state).map_or(0.0, |s| s.as_f64().expect("a number"));
        let total: f64 = seconds.keys().map(|state| of(state)).sum();
        assert!((total - 0.5).abs() < 1e-6, "{total} s of half a second");
        // 280 mA sending and 180 mA otherwise, at 5 V: no radio dozes.
        let joules = 1.4 * of("transmit") + 0.9 * (total - of("transmit"));
        let said = link["radio"]["joules"].as_f64().expect("a number");
        assert!((said - joules).abs() < 1e-9, "{said} J, not {joules} J");
    }
    // What sender and receiver spend on a byte that moved differs as their currents do, not a
    // hundredfold because one of them sends hardly anything.
    let of = |link: usize, key: &str| json["links"][link]["radio"][key].clone();
    let each = |link| of(link, "joules_per_byte").as_f64().expect("some moved");
    assert!((0.5..2.0).contains(&(each(0) / each(1))), "{} and {}", each(0), each(1));
    let all = &json["energy"];
    let number = |key: &str| all[key].as_f64().expect("a number");
    let sum = of(0, "joules").as_f64().unwrap() + of(1, "joules").as_f64().unwrap();
    assert!((number("joules") - sum).abs() < 1e-9, "{all}");
    assert!((number("joules_per_byte") - sum / number("bytes")).abs() < 1e-12, "{all}");
    let text = good(&folder.sim(&wifi, &[]));
    for part in ["µJ for each byte moved", "(sender)", "all radios: ", "of payload delivered"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new("sim-bytes");
    let args = ["--json", "--log", "log", "--pcap", "captures", "--uplink-log", "letters"];
    let files = ["log", "letters", "captures/near.pcapng", "captures/far.pcapng"];
    let run = |more: &[&str]| {
        let out = good(&folder.sim(SCENARIO, &[&args[..], more].concat()));
        (out, files.map(|name| folder.read(name)))
    };
    let first = run(&[]);
    assert!(first.0.contains("\"balances\":true"), "{}", first.0);
    assert!(files.iter().zip(&first.1).all(|(_, bytes)| bytes.len() > 100));
    assert!(run(&[]) == first);
    assert!(run(&["--seed", "6"]).1[0] != first.1[0]);
}

#[test]
fn the_generated_scenario_runs_the_same() {
    let folder = Folder::new("sim-generate");
    let options =
        ["--uplink-loss", "10%", "--queue", "10", "--delay", "3ms", "--expose", "control"];
    let generated = good(&folder.sim(SCENARIO, &[&options[..], &["--generate"]].concat()));
    let log = |scenario: &str, options: &[&str]| {
        let _ = good(&folder.sim(scenario, &[options, &["--log", "log"]].concat()));
        let log = text(&folder.read("log"));
        // The first line names the command, which differs.
        log.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let by_options = log(SCENARIO, &options);
    assert!(by_options.len() > 100);
    assert!(log(&generated, &[]) == by_options);
}

#[test]
fn bad_input_is_refused_in_one_line_with_code_2() {
    let folder = Folder::new("sim-bad");
    let cases = [
        ("rate =", "raet =", "windfall: a.toml:14: unknown key \"raet\": did you mean \"rate\"?"),
        ("1e-4", "2", "windfall: a.toml:15: \"2\" is not a probability: it must lie in 0..1"),
        ("arq = 2", "error-trace = \"no\"", "windfall: a.toml:16: cannot read no: No such file"),
    ];
    for (old, new, expected) in cases {
        let output = folder.sim(&SCENARIO.replacen(old, new, 1), &[]);
        let message = text(&output.stderr);
        assert!(message.starts_with(expected), "{message}");
        assert_eq!((message.lines().count(), output.status.code()), (1, Some(2)));
        assert!(output.stdout.is_empty());
    }
    let output = folder.sim(SCENARIO, &["--ber", "1.5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("\"1.5\" is not a probability"));
}

#[test]
fn a_radio_that_cannot_be_is_refused_in_one_line_with_code_2() {
    let folder = Folder::new("sim-bad-radio");
    let wifi = SCENARIO.replace("rate = \"2Mbps\"\nber = 1e-4\narq = 2", "kind = \"wifi-g\"");
    for (options, words) in [
        ("--rate 22", "802.11g has no rate of 22Mbps: use 1, 2, 5.5"),
        ("--rate 0", "rate"),
        ("--distance -3", "0 or more"),
        (
            "--distance 1e308",
            "'1e308' for '--distance <METRES>': use a distance from 0m to 1000000m",
        ),
        (
            "--power 1e308 --generate",
            "'1e308' for '--power <DBM>': use a power from -60dBm to 40dBm",
        ),
        (
            "--shadowing 1e308 --generate",
            "'1e308' for '--shadowing <DB>': use a number from 0 to 40",
        ),
        ("--distance 9km", "no station hears another on link \"air\""),
        ("--path-loss 140dB", "no station hears another on link \"air\""),
        (
            "--rts-threshold 3000",
            "'3000' for '--rts-threshold <BYTES>': use a whole number from 0 to 2347",
        ),
        ("--rts-threshold -1", "-1"),
        ("--fragment-threshold 100", "use a whole number from 256 to 2347"),
        ("--channel 15", "use a whole number from 1 to 14"),
        ("--power 99", "use a power from -60dBm to 40dBm"),
        ("--fading rain", "rayleigh HERTZ"),
        ("--delay-spread 50ns", "add --fading rayleigh 11"),
        ("--attempts 0", "0"),
        ("--capture -3", "use a number from 0 to 60"),
        ("--rts-threshold 9 --rts-rate 7", "802.11g has no rate of 7Mbps: use 1, 2, 5.5"),
        ("--preamble-sinr 99", "use a number from -30 to 60"),
        ("--errors guess", "possible values: events, formula"),
    ] {
        let output = folder.sim(&wifi, &options.split(' ').collect::<Vec<_>>());
        let message = text(&output.stderr);
        assert!(message.contains(words), "{options}: {message}");
        assert_eq!((message.lines().count(), output.status.code()), (1, Some(2)), "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_steps_of_tcp_are_part_of_the_account() {
    let folder = Folder::new("steps");
    let bulk = SCENARIO.replace("kind = \"spray\"", "kind = \"bulk\"\nbytes = \"100kB\"");
    let run = folder.sim(&bulk, &["--json"]);
    let account: serde_json::Value = serde_json::from_str(&good(&run)).expect("JSON");
    let steps = |station: usize, name: &str| account["stations"][station]["tcp"][name].as_u64();
    // Beside data it sends a SYN and the answer to the peer's.
    assert_eq!(steps(0, "segments_sent"), steps(0, "data_sent").map(|n| n + 2), "{account}");
    for name in ["lookups", "checksum_bytes", "paws_checks", "predicted_data", "acks_sent"] {
        assert!(steps(1, name) > Some(0), "{name}: {account}");
    }
    let shown = good(&folder.sim(&bulk, &[]));
    assert!(shown.contains("TCP at far: ACKs "), "{shown}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the program needs time to begin")]
fn an_interrupted_run_prints_what_it_has() {
    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new("sim-interrupt");
    let endless = SCENARIO.replace("500ms", "1000000s");
    folder.write("a.toml", endless);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let log = folder.path().join("log");
        let _ = std::fs::remove_file(&log);
        let mut command = folder.windfall(&["sim", "a.toml", "--json", "--log", "log"]);
        let run = command.stdout(Stdio::piped()).spawn().expect("the program");
        while std::fs::metadata(&log).map_or(0, |log| log.len()) < 100_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&run), signal).expect("it runs");
        let output = run.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["interrupted_of_seconds"], 1e6);
        let seconds = json["seconds"].as_f64().expect("a number");
        assert!(seconds > 0.0 && seconds < 1e6, "{seconds}");
        assert!(json["links"][0]["delivered"].as_u64().expect("a number") > 10);
        // The last line of the log is whole, and as late as the summary.
        let log = text(&folder.read("log"));
        assert!(log.ends_with('\n'));
        let last = log.lines().last().expect("lines");
        let _: serde_json::Value = serde_json::from_str(last).expect("a whole line");
    }
}

#[test]
fn a_scenario_in_which_time_cannot_advance_is_refused_with_its_line() {
    let folder = Folder::new("sim-timeless");
    let instant = SCENARIO.replace("rate = \"2Mbps\"\nber = 1e-4\narq = 2\n", "");
    let output = folder.sim(&instant.replace("\"spray\"", "\"bulk\""), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    let expected = "a.toml:16: a bulk without an end goes over link \"air\", which takes no time";
    assert!(said.contains(expected), "{said}");
}

/// Two flows beside a third: one to which no packet comes, and one whose packets come while the
/// last frame of the run is being sent.
const FLOWS: &str = r#"
port = 5004
[[app]]
kind = "spray"
station = "near"
to = "far"
port = 5005
size = 100
start = "499ms"
[[flow]]
name = "busy"
dst-port = 5004
[[flow]]
name = "tardy"
dst-port = 5005
[[flow]]
name = "silent"
dst-port = 5006
"#;

#[test]
fn a_flow_without_packets_and_one_that_was_never_served_have_lines_of_their_own() {
    let folder = Folder::new("sim-flows");
    let scenario = format!("{}{FLOWS}", SCENARIO.replace("2Mbps", "100kbps"));
    let text = good(&folder.sim(&scenario, &[]));
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("flow ")).collect();
    let [silent, busy, tardy] = lines[..] else { panic!("{text}") };
    assert_eq!(silent, "flow silent: no packets");
    assert!(busy.starts_with("flow busy on air/near: effort "), "{busy}");
    assert_eq!(tardy, "flow tardy on air/near: never served, 1 packet came");
    let json: serde_json::Value =
        serde_json::from_str(&good(&folder.sim(&scenario, &["--json"]))).expect("JSON");
    assert_eq!(json["unused_flows"], serde_json::json!(["silent"]));
}

#[test]
fn the_command_in_the_summary_is_one_for_a_shell() {
    let folder = Folder::new("sim-command");
    let name = "it's $HOME; `x` *.toml";
    folder.write(name, SCENARIO);
    let mut command = folder.windfall(&["sim", name, "--json", "--duration", "1ms"]);
    let output = good(&command.output().expect("the program"));
    let json: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    let line = json["command"].as_str().expect("text");
    let words =
        std::process::Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output();
    let words = text(&words.expect("a shell").stdout);
    let expected = ["windfall", "sim", name, "--json", "--duration", "1ms"];
    assert_eq!(words.lines().collect::<Vec<_>>(), expected, "{line}");
}

/// The measures of an application by its name.
fn measures<'j>(json: &'j serde_json::Value, name: &str) -> &'j serde_json::Value {
    let all = json["applications"].as_array().expect("applications");
    &all.iter().find(|it| it["name"] == name).expect("one of that name")["measures"]
}

#[test]
fn what_never_came_is_missing_at_the_sink() {
    let folder = Folder::new("sim-missing");
    let each = "kind = \"cbr\"\ninterval = \"10ms\"\ncount = 40";
    let cbr = SCENARIO.replace("ber = 1e-4\narq = 2\n", "").replace("kind = \"spray\"", each);
    let run = |args: &[&str]| -> serde_json::Value {
        let output = good(&folder.sim(&cbr, &[args, &["--json"]].concat()));
        serde_json::from_str(&output).expect("JSON")
    };
    let whole = run(&[]);
    let sink = measures(&whole, "sink at far");
    assert_eq!((&sink["sent"], &sink["missing"]), (&40.into(), &0.into()), "{sink}");
    let lost = run(&["--loss", "100%"]);
    let sink = measures(&lost, "sink at far");
    assert_eq!((&sink["sent"], &sink["missing"]), (&40.into(), &40.into()), "{sink}");
    assert_eq!((&sink["received"], &sink["goodput_bps"]), (&0.into(), &().into()), "{sink}");
    // The last of them, behind which nothing came.
    let tail = run(&["--burst", "10/40+30"]);
    let sink = measures(&tail, "sink at far");
    assert_eq!((&sink["sent"], &sink["missing"]), (&40.into(), &10.into()), "{sink}");
    let text = good(&folder.sim(&cbr, &["--loss", "100%"]));
    assert!(text.contains("sink at far: missing 40, sent 40\n"), "{text}");
}

#[test]
fn what_is_under_way_at_the_end_is_not_lost_to_ping() {
    let folder = Folder::new("sim-pending");
    let clean = SCENARIO.replace("ber = 1e-4\narq = 2", "delay = \"20ms\"");
    let ping = clean.replace("kind = \"spray\"", "kind = \"ping\"\ninterval = \"100ms\"");
    let args = ["--delay", "60ms", "--json"];
    let json: serde_json::Value =
        serde_json::from_str(&good(&folder.sim(&ping, &args))).expect("JSON");
    let ping = measures(&json, "ping at near");
    assert_eq!((&ping["lost"], &ping["loss"]), (&0.into(), &0.0.into()), "{ping}");
    let number = |name: &str| ping[name].as_u64().expect("a count");
    assert!(number("pending") > 0, "{ping}");
    assert_eq!(number("sent"), number("received") + number("pending"), "{ping}");
}

#[test]
fn a_flow_claims_no_success_that_its_link_does_not_learn() {
    let folder = Folder::new("sim-presumed");
    let flow = "[[flow]]\nname = \"v\"\ndst-port = 5001\n";
    let scenario = format!("{SCENARIO}port = 5001\n\n{flow}");
    let learned: serde_json::Value =
        serde_json::from_str(&good(&folder.sim(&scenario, &["--json"]))).expect("JSON");
    assert!(learned["flows"][0]["fidelity"].as_f64() > Some(0.0), "{learned}");
    let blind = scenario.replace("ber = 1e-4\narq = 2", "loss = \"100%\"");
    let json: serde_json::Value =
        serde_json::from_str(&good(&folder.sim(&blind, &["--json"]))).expect("JSON");
    let flow = &json["flows"][0];
    for name in ["outcome_seconds", "bytes", "error_rate", "fidelity", "region"] {
        assert!(flow[name].is_null(), "{name}: {flow}");
    }
    let text = good(&folder.sim(&blind, &[]));
    let line = text.lines().find(|line| line.starts_with("flow v on ")).expect("its line");
    assert!(line.ends_with(" s, outcome unknown"), "{line}");
}

#[test]
fn a_series_in_parquet_has_what_the_one_in_csv_has() {
    let folder = Folder::new("sim-series-parquet");
    for file in ["series.csv", "series.parquet"] {
        let output = folder.sim(SCENARIO, &["--series", file]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let script = "\
import csv, os, pyarrow.parquet as p
rows = list(csv.DictReader(open('series.csv')))
table = p.read_table('series.parquet', use_threads=False)
assert table.column_names == list(rows[0]), table.column_names
def same(name, a, b):
    if a is None or isinstance(a, str):
        return b == (a or '')
    return abs(a - float(b)) <= (0.5 if name == 'rate_bps' else 1e-6)
for name in table.column_names:
    values = table.column(name).to_pylist()
    assert len(values) == len(rows)
    for a, row in zip(values, rows):
        assert same(name, a, row[name]), (name, a, row)
print(len(rows), flush=True)
os._exit(0)";
    let prepared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/python/bin/python3");
    let python = if std::path::Path::new(prepared).exists() { prepared } else { "python3" };
    let run = |script: &str| {
        let mut command = std::process::Command::new(python);
        command.args(["-c", script]).current_dir(folder.path()).output()
    };
    if !run("import pyarrow.parquet").is_ok_and(|output| output.status.success()) {
        windfall_testkit::skip!("pyarrow is not installed");
    }
    let output = run(script).expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Five windows of two directions, and perhaps a rest at the end.
    assert!(["10\n", "12\n"].contains(&text(&output.stdout).as_str()), "{}", text(&output.stdout));
}
