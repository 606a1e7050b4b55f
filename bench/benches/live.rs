//! Real time: programs on the kernel's TCP through stations, against the least that there is.
//!
//! - An idle pipe against a bare loop: two TUN devices, and each packet copied to the other one.
//! - Coded frames (FLEX) that repair bit errors against plain frames on a pipe without any.
//! - Round trips on an idle pipe against the bare loop.
//!
//! Both sides of each run in turn; the median of the ratios and its range are printed. Needs
//! namespaces, iperf3, ping and ethtool; without them it says so and ends.

use std::fs;
use std::io::IoSlice;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use windfall_base::{Duration, Instant, Seed};
use windfall_bench::{alternate, is_listed, is_wanted};
use windfall_live::{
    LivePlan, Observer, Program, ProgramOutput, RunEnd, Signals, Stations, session,
};
use windfall_network::Network;
use windfall_scenario::{PolicyKind, ScenarioOptions, Topology, without_span};

/// Rounds of each kind.
const ROUNDS: usize = 7;

/// Looks at nothing.
struct Blind;

impl Observer<Network> for Blind {
    fn observe(&mut self, _: Instant, _: &mut Network) {}
}

/// The carrier of the packets.
#[derive(Clone, Copy, PartialEq)]
enum Carrier {
    /// The bare loop; with whole segments if true, packet by packet if not.
    Bare(bool),
    /// Ours, with this delay.
    Ours(Duration),
    /// Ours, with bit errors at 1e-4 and coded frames that repair them.
    Coded,
}

fn main() {
    if is_listed() {
        return;
    }
    let signals = match Signals::take_over() {
        Ok(signals) => signals,
        Err(error) => return println!("skipped: {error}"),
    };
    if let Err(error) = Stations::build(plan(&topology(Duration::ZERO)), None, Vec::new()) {
        return println!("skipped: {error}");
    }
    let idle = Carrier::Ours(Duration::ZERO);
    let by_packets = Carrier::Bare(false);
    let by_segments = Carrier::Bare(true);
    let tcp = |carrier| throughput(carrier, &signals);
    let echo = |carrier| round_trips(carrier, &signals);
    compare("pipe", idle, by_packets, "Gbit/s", 2.5, tcp);
    compare("segments", idle, by_segments, "Gbit/s", 0.5, tcp);
    compare("flex", Carrier::Coded, idle, "Gbit/s", 0.35, tcp);
    // A round trip may take 1.2 times as long.
    compare("echo", idle, by_segments, "per second", 1.0 / 1.2, echo);
    let delayed = Carrier::Ours(Duration::from_millis(10));
    if is_wanted("delay")
        && let (Some(delayed), Some(bare)) = (echo(delayed), echo(by_segments))
    {
        let late = (1e3 / delayed - 20.0 - 1e3 / bare) / 2.0;
        println!("error of a 10 ms delay at p50, ms: {late:.4}");
    }
}

/// Measures both carriers in turn and prints the ratio, if it is asked for.
fn compare(
    name: &str,
    ours: Carrier,
    peer: Carrier,
    unit: &str,
    goal: f64,
    measure: impl Fn(Carrier) -> Option<f64>,
) {
    if !is_wanted(name) {
        return;
    }
    match alternate(ROUNDS, || measure(ours), || measure(peer)) {
        Some(ratio) => ratio.print(name, unit, goal),
        None => println!("{name}: skipped, iperf3 or ping reported nothing"),
    }
}

fn topology(delay: Duration) -> Topology {
    let mut flags = ScenarioOptions::default();
    flags.link.both.delay = Some(without_span(delay));
    describe(&flags)
}

/// Bit errors, and blocks that survive them.
fn coded() -> Topology {
    let mut flags = ScenarioOptions::default();
    flags.link.both.ber = Some(without_span("1e-4".parse().expect("a probability")));
    flags.link.both.policy = Some(without_span(Some(PolicyKind::Flex.into())));
    describe(&flags)
}

fn describe(flags: &ScenarioOptions) -> Topology {
    let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let mut flags = flags.clone();
    flags.run.tcp_congestion = Some(without_span("reno".into()));
    flags.scenario().topology(0, ("", ""), &mut nothing).expect("two stations and a link")
}

fn plan(topology: &Topology) -> LivePlan {
    windfall_control::live_plan(topology)
}

/// Returns the Gbit/s of one TCP connection in 1 s.
fn throughput(carrier: Carrier, signals: &Signals) -> Option<f64> {
    let line = "iperf3 -J -t 1 -c 10.77.0.2";
    let report = run(carrier, line, "exec iperf3 -s >/dev/null 2>&1", signals);
    // The receiver's figure is the last of its kind in the report.
    let end = report.split("\"sum_received\"").nth(1)?;
    let end = end.split("\"cpu_utilization_percent\"").next()?;
    let value = end.rsplit("\"bits_per_second\":").next()?;
    let bits: f64 = value.split([',', '\n', '}']).next()?.trim().parse().ok()?;
    Some(bits / 1e9)
}

/// Returns the round trips in a second, from the median time of a few hundred echoes.
fn round_trips(carrier: Carrier, signals: &Signals) -> Option<f64> {
    let report = run(carrier, "ping -c 300 -i 0.003 10.77.0.2", "", signals);
    let times = report.lines().filter_map(|line| line.split("time=").nth(1));
    let mut times: Vec<f64> =
        times.filter_map(|time| time.split(' ').next()?.parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).map(|millis| 1e3 / millis)
}

/// Runs a command line at the near end, another at the far end, and returns what the first said.
fn run(carrier: Carrier, line: &str, far: &str, signals: &Signals) -> String {
    let file: PathBuf = std::env::temp_dir().join(format!("windfall-bench-{}", std::process::id()));
    let off = match carrier {
        Carrier::Bare(false) => "ethtool -K wf0 tso off gso off tx off >/dev/null 2>&1; ",
        _ => "",
    };
    let shell = |station: usize, line: String| Program {
        station,
        arguments: vec!["/bin/sh".into(), "-c".into(), line.into()],
        environment: Vec::new(),
        interactive: false,
        output: ProgramOutput::Inherit,
    };
    let command = shell(0, format!("{off}{line} > {} 2>&1", file.display()));
    let others = if far.is_empty() { Vec::new() } else { vec![shell(1, format!("{off}{far}"))] };
    let topology = match carrier {
        Carrier::Ours(delay) => topology(delay),
        Carrier::Bare(_) => topology(Duration::ZERO),
        Carrier::Coded => coded(),
    };
    let stage = Stations::build(plan(&topology), Some(command), others).expect("it worked before");
    match carrier {
        Carrier::Bare(_) => copy_packets(stage),
        Carrier::Ours(_) | Carrier::Coded => {
            let network = Network::build(&topology.network, Seed(1)).expect("a network");
            let ending = RunEnd::WithCommand;
            session::run(stage, signals, None, ending, network, &mut Blind).expect("a run");
        }
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    text
}

/// The bare loop: what one device has goes to the other, until the command ends.
fn copy_packets(mut stage: Stations) {
    let devices = stage.take_devices();
    let mut buffer = vec![0; 70_000];
    let _ = rustix::process::setpriority_process(None, session::PRIORITY);
    stage.begin().expect("the stations are there");
    loop {
        let mut ready = [
            PollFd::new(&devices[0], PollFlags::IN),
            PollFd::new(&devices[1], PollFlags::IN),
            PollFd::new(&stage, PollFlags::IN),
        ];
        poll(&mut ready, None).expect("the system can wait");
        // The first word from the stations is that the command has ended.
        if !ready[2].revents().is_empty() {
            let _ = rustix::process::setpriority_process(None, 0);
            return;
        }
        for (from, to) in [(0, 1), (1, 0)] {
            while let Ok(len) = rustix::io::read(&devices[from], &mut buffer[..]) {
                let _ = rustix::io::writev(&devices[to], &[IoSlice::new(&buffer[..len])]);
            }
        }
    }
}
