//! Windfall's congestion controls in simulated time beside the kernel's of the same names in real
//! time, over the same emulated path and the same losses.
//!
//! Every run compares ours with means of the kernel's on record. `WINDFALL_TEST_KERNEL=full`
//! measures the kernel anew, ten seeds for each loss, which takes nine minutes on two cores.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::live::{WINDFALL, require, windfall};
use crate::support::scenario;

const NAMES: [&str; 3] = ["reno", "cubic", "bbr"];
/// 167 packets under way, and a queue that holds somewhat more.
const LOSSES: [f64; 3] = [0.0, 0.005, 0.02];
const SEEDS: u64 = 10;
/// A run in which the emulator stood still for longer is made again: two round trips.
const STALL: f64 = 0.08;
/// The packets of the queue that may be lost more or less by chance: less than one overshoot.
const FEW: f64 = 100.0;

/// Goodput in Mb/s and packets that the queue dropped.
#[derive(Clone, Copy, Debug)]
struct Mean {
    goodput: f64,
    drops: f64,
}

/// Linux 6.18, means of the seeds 1 to 10; its BBR is version 1.
const KERNEL: [[(f64, f64); 3]; 3] = [
    [(46.96, 386.8), (5.11, 31.9), (2.39, 0.0)],
    [(46.70, 212.2), (5.34, 35.7), (2.23, 0.0)],
    [(46.01, 865.8), (45.59, 421.5), (44.37, 518.8)],
];

fn json(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let object = text.lines().find(|line| line.starts_with('{'));
    serde_json::from_str(object.unwrap_or_else(|| panic!("no JSON in {text}"))).expect("JSON")
}

fn outcome(goodput: &Value, summary: &Value) -> Mean {
    let dropped = &summary["links"][0]["dropped"];
    let drops = dropped.get("queue-full").and_then(Value::as_f64).unwrap_or(0.0);
    Mean { goodput: goodput.as_f64().expect("a goodput") / 1e6, drops }
}

fn ours(name: &str, loss: f64, seed: u64) -> Mean {
    let tcp = format!("tcp = \"cubic, congestion={name}\"");
    let rest = format!(
        "[[link]]\nstations = [\"near\", \"far\"]\nrate = \"50Mbps\"\ndelay = \"20ms\"\n\
         queue = 200\nuplink.loss = {loss}\n\
         [[app]]\nkind = \"bulk\"\nstation = \"near\"\nto = \"far\"\nstop = \"10s\""
    );
    let text = scenario("duration = \"12s\"", &[("near", &tcp), ("far", "")], &rest);
    let mut command = windfall(&format!("sim --json --seed {seed} -"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program is there");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let summary = json(&output.stdout);
    outcome(&summary["applications"][1]["measures"]["goodput_bps"], &summary)
}

/// The kernel's, from a run in which the emulator kept its time.
fn kernels(name: &str, loss: f64, seed: u64) -> Mean {
    let far = format!("exec {WINDFALL} tcp receive --kernel -q 5001");
    let near = format!("exec {WINDFALL} tcp send --kernel --json --time 10s 10.77.0.2:5001");
    for _ in 0..5 {
        let output = windfall("run --json --rate 50Mbps --delay 20ms --queue 200 --far-may-fail")
            .args(["--wait-port", "5001", "--tcp-congestion", name])
            .args(["--uplink-loss", &loss.to_string(), "--seed", &seed.to_string()])
            .args(["--far", &far, "--", "sh", "-c", &near])
            .output()
            .expect("it runs");
        let summary = json(&output.stderr);
        if summary["lateness"]["longest_pause_seconds"].as_f64().expect("a number") < STALL {
            return outcome(&json(&output.stdout)["goodput_bps"], &summary);
        }
    }
    panic!("the machine is too busy: the emulator stood still in five runs of {name}, {loss}");
}

/// The mean over the seeds, two at a time.
fn mean(seeds: u64, one: impl Fn(u64) -> Mean + Sync) -> Mean {
    let next = AtomicU64::new(1);
    let work = || {
        let numbers = core::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.take_while(|seed| *seed <= seeds).map(&one).collect::<Vec<_>>()
    };
    let all: Vec<Mean> = std::thread::scope(|scope| {
        let workers = [(); 2].map(|()| scope.spawn(work));
        workers.into_iter().flat_map(|it| it.join().expect("no panic")).collect()
    });
    let mean = |value: fn(&Mean) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    Mean { goodput: mean(|it| it.goodput), drops: mean(|it| it.drops) }
}

/// Describes a difference of more than a tenth in goodput, or of a factor of two in drops, unless
/// its cause is known.
fn difference(name: &str, loss: f64, ours: Mean, kernel: Mean) -> Option<String> {
    let ratio = ours.goodput / kernel.goodput;
    let goodput = match name {
        // Version 3 bounds itself from 2 % of losses on, version 1 does not look at them.
        "bbr" if loss >= 0.02 => 0.5..1.1,
        // It carries 9 % less over forty seeds, and the mean of ten varies by 1.8 %.
        "bbr" if loss > 0.0 => 0.85..1.1,
        _ => 0.9..1.1,
    };
    // Fewer are no fault of BBR, whose version 1 fills the queue.
    let fewer = if name == "bbr" { 0.0 } else { kernel.drops / 2.0 };
    let drops = fewer..=2.0 * kernel.drops;
    let is_few = ours.drops.max(kernel.drops) < FEW;
    let is_alike = goodput.contains(&ratio) && (is_few || drops.contains(&ours.drops));
    (!is_alike).then(|| format!("{name}, {loss}: {ours:?} beside the kernel's {kernel:?}"))
}

#[test]
fn congestion_controls_carry_what_their_namesakes_in_the_kernel_do() {
    let is_full = std::env::var("WINDFALL_TEST_KERNEL").is_ok_and(|value| value == "full");
    if is_full {
        require!();
    }
    let mut differences = Vec::new();
    for (name, record) in NAMES.into_iter().zip(KERNEL) {
        for (loss, (goodput, drops)) in LOSSES.into_iter().zip(record) {
            // Without loss nothing is random; BBR carries ten times as much where there is some.
            let seeds = if loss == 0.0 || (name == "bbr" && !is_full) { 1 } else { SEEDS };
            let ours = mean(seeds, |seed| ours(name, loss, seed));
            let kernel = if is_full {
                mean(SEEDS, |seed| kernels(name, loss, seed))
            } else {
                Mean { goodput, drops }
            };
            println!("{name}, {loss} lost: {ours:.2?} beside the kernel's {kernel:.2?}");
            differences.extend(difference(name, loss, ours, kernel));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}
