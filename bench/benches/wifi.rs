//! Simulated TCP over 802.11g at 54 Mb/s, with real bytes, checks and error patterns.
//!
//! Items are frames on the air, acknowledgements included. Goals: 650 000 a second for one
//! saturated pair, 300 000 for five pairs that hear each other. 200 and 1 000 stations that hear
//! all others, half of them saturated, show how the cost of a frame grows with its hearers; of as
//! many half idle ones, half send some packets a second and the others only hear them. A run
//! of 1 000 stations prints how much memory the process has used at most; the goal is 1 GB.

use divan::Bencher;
use divan::counter::ItemsCount;
use windfall_base::Seed;
use windfall_scenario::Scenario;
use windfall_sim::Simulation;

fn main() {
    let mut crowd = stations(500, 1);
    crowd.finish();
    let used = peak_memory();
    println!("1 000 stations, 500 of them saturated: {} frames, {used} MB at most", frames(&crowd));
    drop(crowd);
    divan::main();
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

/// The same pairs, of which one station each sends its part of 800 packets a second.
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
    let scenario = Scenario::parse("wifi.toml", &text).expect("a legal scenario");
    let mut read = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology = scenario.topology(0, ("", ""), &mut read).expect("nothing to read");
    Simulation::new(&topology, Seed(1)).expect("a legal topology")
}

fn frames(simulation: &Simulation) -> u64 {
    let network = simulation.network();
    let ledgers = network.interfaces().map(|interface| network.ledger(interface));
    ledgers.map(|ledger| ledger.frames + ledger.control_frames).sum()
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
