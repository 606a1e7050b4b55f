//! Simulated TCP over 802.11g at 54 Mb/s, with real bytes, checks and error patterns.
//!
//! Items are frames on the air, acknowledgements included. First one saturated pair, and five that
//! hear each other, run in turn with the same pairs in ns-3; the goal is 50 times its frames for
//! the same processor time. `make -C bench/peers` builds the peer, as the benchmark does itself;
//! without Debian's `libns3-dev` the comparison is skipped. 200 and 1 000 stations that hear
//! all others, half of them saturated, show how the cost of a frame grows with its hearers; of as
//! many half idle ones, half send some packets a second and the others only hear them. A run
//! of 1 000 stations prints how much memory the process has used at most; the goal is 1 GB.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use divan::Bencher;
use divan::counter::ItemsCount;
use windfall_bench::{alternate, frames, is_listed, is_wanted, simulation, thread_time};
use windfall_scenario::sim::Simulation;

/// Frames for the same processor time, as a multiple of ns-3's.
const GOAL: f64 = 50.0;
/// Runs of each side.
const ROUNDS: usize = 9;

fn main() {
    if !is_listed() && is_wanted("ns3") {
        compare_with_ns3();
    }
    if !is_listed() && is_wanted("memory") {
        let mut crowd = stations(500, 1);
        crowd.finish();
        let frames = frames(&crowd);
        let used = peak_memory();
        println!("1 000 stations, 500 of them saturated: {frames} frames, {used} MB at most");
    }
    divan::main();
}

fn compare_with_ns3() {
    match built_peer() {
        Ok(peer) => {
            compare_with(&peer, "ns-3, one saturated pair", 1, 8);
            compare_with(&peer, "ns-3, five saturated pairs", 5, 4);
        }
        Err(reason) => println!("ns-3: skipped: {reason}"),
    }
}

/// The outcome of one run, of either side.
struct Run {
    frames: u64,
    /// Payload that arrived.
    bytes: u64,
    /// Processor time without what it took to set the stations up.
    seconds: f64,
}

impl Run {
    /// Returns the frames, in thousands, for each second of processor time.
    fn rate(&self) -> f64 {
        self.frames as f64 / self.seconds / 1e3
    }
}

/// Builds the peer and returns its path, or why there is none.
fn built_peer() -> Result<PathBuf, String> {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    let make = Command::new("make").args(["-s", "-C"]).arg(bench.join("peers")).output();
    let make = make.map_err(|error| format!("make: {error}"))?;
    if make.status.success() {
        Ok(bench.join("../target/peers/wifi"))
    } else {
        let said = String::from_utf8_lossy(&make.stderr);
        Err(said.lines().next().unwrap_or("make failed").to_owned())
    }
}

/// Runs both sides in turn and prints their frames for each second of processor time, and what
/// they delivered.
fn compare_with(peer: &Path, name: &str, pairs: u32, seconds: u64) {
    let mut our_bytes = 0;
    let mut peer_bytes = 0;
    let ours = || {
        let run = run_once(stations(pairs, seconds));
        our_bytes = run.bytes;
        Some(run.rate())
    };
    let peer = || {
        let run = run_peer(peer, pairs, seconds);
        peer_bytes = run.bytes;
        Some(run.rate())
    };
    let Some(ratio) = alternate(ROUNDS, ours, peer) else { return };
    ratio.print_figures(name, "kframes/s", GOAL);
    let goodput = |bytes: u64| bytes as f64 * 8e-6 / seconds as f64;
    let ours = goodput(our_bytes);
    let peer = goodput(peer_bytes);
    println!("{:<38} {ours:.2} Mb/s, peer {peer:.2} Mb/s", "    goodput");
}

fn run_once(mut simulation: Simulation) -> Run {
    let start = thread_time();
    simulation.finish();
    let seconds = (thread_time() - start).as_secs_f64();
    let stations = (0..).map_while(|number| simulation.network().station(number));
    let measures = stations.flat_map(|station| station.reports(simulation.now())).flatten();
    let received =
        measures.filter(|(name, _)| *name == "received_bytes").map(|(_, it)| it.number());
    Run { frames: frames(&simulation), bytes: received.sum::<f64>() as u64, seconds }
}

/// Runs the peer, which prints its frames, bytes and seconds.
fn run_peer(peer: &Path, pairs: u32, seconds: u64) -> Run {
    let mut command = Command::new(peer);
    command.args([pairs.to_string(), seconds.to_string(), "1".to_owned()]).stderr(Stdio::inherit());
    let output = command.output().expect("the peer that was built can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[frames, bytes, seconds] = &numbers[..] else { panic!("the peer printed {text:?}") };
    Run { frames: frames as u64, bytes: bytes as u64, seconds }
}

/// The most memory that this process has used, in MB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    digits.and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(0) / 1_000
}

/// A simulation of `seconds` seconds of `pairs` pairs, each of which carries TCP one way.
fn stations(pairs: u32, seconds: u64) -> Simulation {
    pairs_with(pairs, seconds, |pair| {
        format!("[[app]]\nkind = \"bulk\"\nstation = \"a{pair}\"\nto = \"b{pair}\"\n")
    })
}

/// A simulation of `pairs` pairs, of which one station each sends its part of 800 packets a second.
fn half_idle(pairs: u32, seconds: u64) -> Simulation {
    pairs_with(pairs, seconds, |pair| {
        // Unlike intervals, so that stations do not stay in step.
        let interval = f64::from(pairs) / 800.0 * (0.7 + 0.6 * f64::from(pair) / f64::from(pairs));
        format!(
            "[[app]]\nkind = \"cbr\"\nstation = \"a{pair}\"\nto = \"b{pair}\"\n\
             size = 300\ninterval = \"{:.3}ms\"\n",
            interval * 1e3
        )
    })
}

/// A simulation of `seconds` seconds of `pairs` pairs with an application for each.
fn pairs_with(pairs: u32, seconds: u64, app: impl Fn(u32) -> String) -> Simulation {
    let mut text = format!("format = 1\nduration = \"{seconds}s\"\n");
    let mut names = Vec::new();
    let mut apps = String::new();
    for pair in 0..pairs {
        for (end, y) in [("a", 0.0), ("b", 8.0)] {
            let x = f64::from(pair) / f64::from(pairs);
            text += &format!(
                "[[station]]\nname = \"{end}{pair}\"\nradio.position = [{x:.4}, {y:.1}]\n"
            );
            names.push(format!("\"{end}{pair}\""));
        }
        apps += &app(pair);
    }
    text += &format!(
        "[[link]]\nname = \"air\"\nkind = \"wifi-g\"\nstations = [{}]\n{apps}",
        names.join(", ")
    );
    simulation(&text)
}

fn run(bencher: Bencher<'_, '_>, simulation: impl Fn() -> Simulation) {
    let mut once = simulation();
    once.finish();
    bencher.counter(ItemsCount::new(frames(&once))).with_inputs(simulation).bench_local_values(
        |mut simulation| {
            simulation.finish();
            simulation
        },
    );
}

#[divan::bench(sample_count = 7)]
fn one_pair(bencher: Bencher) {
    run(bencher, || stations(1, 20));
}

#[divan::bench(sample_count = 5)]
fn two_hundred_stations(bencher: Bencher) {
    run(bencher, || stations(100, 1));
}

#[divan::bench(sample_count = 3)]
fn a_thousand_stations(bencher: Bencher) {
    run(bencher, || stations(500, 1));
}

#[divan::bench(sample_count = 5)]
fn two_hundred_stations_half_idle(bencher: Bencher) {
    run(bencher, || half_idle(100, 2));
}

#[divan::bench(sample_count = 3)]
fn a_thousand_stations_half_idle(bencher: Bencher) {
    run(bencher, || half_idle(500, 2));
}

#[divan::bench(sample_count = 7)]
fn five_pairs(bencher: Bencher) {
    run(bencher, || stations(5, 10));
}
