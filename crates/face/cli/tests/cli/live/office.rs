//! Table 1 and Figures 5 and 6 of paper 000 with `windfall serve` and `windfall get`, in real time
//! in its office: TCP, then precise messages, then approximate ones.
//!
//! They are measured on request only: `WINDFALL_TEST_OFFICE=10 cargo test --release -p windfall-cli
//! --test cli office -- --nocapture` makes ten trials of each. From 100 on, as in the paper, there
//! is a pause of a second between two of them.

use std::path::Path;

use serde_json::Value;

use crate::live::{Folder, WINDFALL, require, windfall};

const OFFICE: &str = include_str!("../../../../../../scenarios/examples/sap-office.toml");
/// The protocols in the order of the trials.
const PROTOCOLS: [(&str, &str); 3] =
    [("TCP", ""), ("precise", "--force-precise"), ("approximate", "--approx */*")];

/// Fetches `$4` `$3` times by each way after two requests that warm the server's cache.
const TRIALS: &str = "u=http://10.77.0.1:8080/$4; set -ef
    for way in '' \"--force-precise --profile $2\"; do $1 get $way -o warm $u >warm.log; done
    for way in '' \"--force-precise --profile $2\" \"--approx */* --profile $2\"; do
        for i in $(seq $3); do $1 get --json $way -o arrived $u; sleep $5; done
    done";

/// The office of the figures, with the server where its moving station is, and without the cable
/// and the traffic between its two.
pub(crate) fn office(metres: f64, rate: u32) -> String {
    let (stations, rest) = OFFICE.split_once("# The cable").expect("a cable");
    let (_, others) = rest.split_once("# What the others send").expect("others");
    let at = format!("radio.position = [{metres:.1}, 0.0]");
    let text = format!("{stations}#{others}")
        .replace("duration = \"5s\"\n", "")
        // A program that sends from a station waits for its radio, and loses nothing before it.
        .replace("queue = 64", "queue = 2500")
        .replace("\"moving\"", "\"far\"")
        .replace("\"fixed\"", "\"near\"")
        .replace("radio.position = [12.2, 0.0]", &at)
        .replace("downlink.rate = \"54Mbps\"", &format!("downlink.rate = \"{rate}Mbps\""));
    assert!(text.contains(&at) && text.contains(&format!("\"{rate}Mbps\"")), "{text}");
    text
}

/// Returns the reports of the trials, for each protocol.
fn measure(
    folder: &Path,
    cell: (f64, u32),
    (profile, file): (&str, &str),
    trials: usize,
) -> Vec<Vec<Value>> {
    let scenario = folder.join("office.toml");
    std::fs::write(&scenario, office(cell.0, cell.1)).expect("a file");
    let pause = if trials < 100 { "0.1" } else { "1" };
    let output = windfall("run -q --wait-port 8080 --scenario office.toml")
        .args(["--far", &format!("exec {WINDFALL} serve -q --profile {profile} site")])
        .args(["--", "sh", "-c", TRIALS, "sh", WINDFALL, profile, &trials.to_string(), file, pause])
        .current_dir(folder)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let reports: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(reports.len(), PROTOCOLS.len() * trials, "{said}");
    reports.chunks(trials).map(<[Value]>::to_vec).collect()
}

/// Returns the median, the mean and its standard error, in seconds, and the damaged share.
fn statistics(reports: &[Value]) -> [f64; 4] {
    let number = |report: &Value, name: &str| report[name].as_f64().unwrap_or_default();
    let mut times: Vec<f64> = reports.iter().map(|report| number(report, "seconds")).collect();
    times.sort_by(f64::total_cmp);
    let count = times.len() as f64;
    let middle = times.len() / 2;
    let median = (times[middle] + times[(times.len() - 1) / 2]) / 2.0;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let sum = |name: &str| reports.iter().map(|report| number(report, name)).sum::<f64>();
    let damaged = (sum("suspect") + sum("missing")) / sum("bytes");
    [median, mean, (squares / (count - 1.0).max(1.0) / count).sqrt(), damaged]
}

/// Prints a row for each protocol; returns how many times as long as the last the first takes.
fn show(cell: (f64, u32), profile: &str, reports: &[Vec<Value>]) -> f64 {
    let of: Vec<[f64; 4]> = reports.iter().map(|reports| statistics(reports)).collect();
    for ((name, _), [median, mean, error, damaged]) in PROTOCOLS.iter().zip(&of) {
        let (metres, rate, damaged) = (cell.0, cell.1, 100.0 * damaged);
        print!("{profile:8} {metres:5.1} m {rate:3} Mb/s {name:11} {median:7.3} {mean:7.3} ");
        println!("± {error:5.3} s, {damaged:5.2} % damaged");
    }
    of[0][1] / of[2][1]
}

fn trials() -> Option<usize> {
    std::env::var("WINDFALL_TEST_OFFICE").ok()?.parse().ok()
}

fn site(name: &str, length: usize) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.path().join("site")).expect("a folder");
    let mut state = 1_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
    std::fs::write(folder.path().join("site/random"), bytes).expect("a file");
    folder
}

//= S0.44
//= S0.45
//= S0.46
//= S0.47
#[test]
fn office_times_by_distance() {
    let Some(trials) = trials() else { return };
    require!();
    let folder = site("office-distance", 2_000_000);
    for profile in ["standard", "paper"] {
        let mut gains = Vec::new();
        for metres in [2.0, 4.0, 6.0, 8.0, 10.0, 12.2] {
            let cell = (metres, 54);
            let reports = measure(folder.path(), cell, (profile, "random"), trials);
            let gain = show(cell, profile, &reports);
            if metres <= 10.0 {
                gains.push(gain.ln());
            }
            let over = |reports: &[Value], way: &str| reports.iter().all(|it| it["over"] == way);
            assert!(over(&reports[0], "tcp") && over(&reports[1], "sap"), "{metres} m");
            assert!(statistics(&reports[1])[3] == 0.0, "precise messages arrive whole");
        }
        let gain = (gains.iter().sum::<f64>() / gains.len() as f64).exp();
        let saved = 100.0 * (1.0 - 1.0 / gain);
        println!(
            "{profile}: {gain:.2} times as fast as TCP to 10 m, {saved:.0} % of the time saved"
        );
    }
}

//= S0.48
//= S0.49
#[test]
fn office_times_by_rate() {
    let Some(trials) = trials() else { return };
    require!();
    let folder = site("office-rate", 1_000_000);
    for metres in [4.0, 6.0, 8.0] {
        for rate in [1, 2, 6, 9, 12, 18, 24, 36, 48, 54] {
            let cell = (metres, rate);
            show(cell, "standard", &measure(folder.path(), cell, ("standard", "random"), trials));
        }
    }
}
