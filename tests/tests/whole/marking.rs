//! A queue that marks (ECN), and what each congestion control makes of it.

use windfall_base::DropReason;
use windfall_network::SimulatedStation;
use windfall_tests::run::{UPLINK, run};

/// One stream of TCP, random cross traffic and pings, through a queue of 200 that marks at 20.
const SCENARIO: &str = include_str!("../../../scenarios/examples/marking-queue.toml");
/// The round trip of a ping through an empty queue: twice 20 ms, and the time of a frame or two.
const EMPTY: f64 = 0.0401;

#[derive(Debug)]
struct Measured {
    /// Goodput in Mb/s.
    goodput: f64,
    drops: u64,
    marks: u64,
    retransmissions: u64,
    /// The mean time that pings wait in the queue, in milliseconds.
    wait: f64,
}

fn measure(queue: &str, tcp: &str, ecn: &str, seed: u64) -> Measured {
    let text = SCENARIO
        .replace("queue = \"200,mark:20\"", &format!("queue = \"{queue}\""))
        .replace("\"cubic, accurate-ecn=on\"", &format!("\"{tcp}, {ecn}\""))
        .replace("\"accurate-ecn=on\"", &format!("\"{ecn}\""));
    let outcome = run(&text, seed);
    let ledger = outcome.ledger(UPLINK);
    let near = outcome.simulation.network().station(0);
    let operations = near.map(SimulatedStation::tcp_operations).unwrap_or_default();
    Measured {
        goodput: outcome.report("bulk-sink")["goodput_bps"] / 1e6,
        drops: ledger.drops.of(DropReason::QueueFull),
        marks: ledger.packets.marked,
        retransmissions: operations.retransmissions,
        wait: (outcome.report("ping")["rtt_mean_seconds"] - EMPTY) * 1e3,
    }
}

/// The mean of a measurement over several runs.
fn mean(runs: &[Measured], of: impl Fn(&Measured) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// Runs one configuration, and prints its means as docs/measurements/tcp.md has them.
fn measure_all(tcp: &str, ecn: &str, mark: u32) -> Vec<Measured> {
    let is_full = std::env::var("WINDFALL_TEST_ECN").as_deref() == Ok("full");
    let seeds = if is_full { 1..=10 } else { 1..=1 };
    let run = |seed| measure(&format!("200,mark:{mark}"), tcp, ecn, seed);
    let runs: Vec<_> = seeds.map(run).collect();
    println!(
        "| `{tcp}` | `{ecn}` | {mark} | {:.1} | {:.0} | {:.0} | {:.0} | {:.1} |",
        mean(&runs, |it| it.goodput),
        mean(&runs, |it| it.drops as f64),
        mean(&runs, |it| it.retransmissions as f64),
        mean(&runs, |it| it.marks as f64),
        mean(&runs, |it| it.wait),
    );
    runs
}

/// `WINDFALL_TEST_ECN=full` takes ten seeds in place of one.
#[test]
fn marks_take_the_place_of_drops_and_keep_the_queue_short() {
    for tcp in ["cubic", "cubic, congestion=reno", "cubic, congestion=bbr"] {
        let without = measure_all(tcp, "ecn=off", 20);
        assert!(without.iter().all(|it| it.marks == 0), "{tcp}: {without:?}");
        assert!(mean(&without, |it| it.drops as f64) > 10.0, "{tcp}: {without:?}");
        for (mark, most) in [(20, 0.1), (80, 0.7)] {
            for ecn in ["ecn=on", "accurate-ecn=on"] {
                for (on, off) in measure_all(tcp, ecn, mark).iter().zip(&without) {
                    let said = format!("{tcp}, {ecn}: {on:?}, and without {off:?}");
                    assert!(on.marks > 0, "{said}");
                    // A mark comes a round trip late: slow start has doubled the window meanwhile,
                    // from 187 packets to what the queue holds, from 247 to more.
                    assert!(mark > 20 || (on.drops, on.retransmissions) == (0, 0), "{said}");
                    assert!(on.wait < most * off.wait, "{said}");
                    // Reno halves the 187 packets at which it is marked; the path holds 167.
                    assert!(on.goodput > 0.56 * off.goodput, "{said}");
                }
            }
        }
    }
}

#[test]
fn a_queue_that_does_not_mark_is_the_same_to_who_understands_marks() {
    let [off, on] = ["ecn=off", "accurate-ecn=on"].map(|ecn| measure("200", "cubic", ecn, 1));
    assert_eq!((off.marks, on.marks), (0, 0));
    assert!(on.drops > 0 && (on.wait / off.wait - 1.0).abs() < 0.1, "{off:?} {on:?}");
}

/// One stream of TCP across a link that loses packets, or marks them, on its way up.
const LOSSES: &str = r#"
format = 1
seed = 1
duration = "6s"
[[station]]
name = "near"
tcp = "cubic, ecn=on"
[[station]]
name = "far"
tcp = "ecn=on"
[[link]]
stations = ["near", "far"]
rate = "20Mbps"
delay = "10ms"
uplink.loss = 0.005
uplink.loss-ecn = true
[[app]]
kind = "bulk"
station = "near"
to = "far"
start = "100ms"
stop = "5s"
"#;

#[test]
fn a_link_marks_what_it_would_lose_where_the_sender_understands_it() {
    for seed in 1..=10 {
        let measure = |text: &str| {
            let outcome = run(text, seed);
            let ledger = outcome.ledger(UPLINK);
            let near = outcome.simulation.network().station(0);
            let operations = near.map(SimulatedStation::tcp_operations).unwrap_or_default();
            (ledger.packets.marked, ledger.drops.of(DropReason::Lost), operations.retransmissions)
        };
        let (marked, lost, again) = measure(LOSSES);
        assert!(marked > 5, "seed {seed}: {marked}");
        // Only what opens and closes the connection cannot be marked.
        assert!(lost <= 2 && again <= lost, "seed {seed}: {lost} lost, {again} repeated");
        let (marked, lost, again) = measure(&LOSSES.replace("ecn=on", "ecn=off"));
        assert!(marked == 0 && lost > 5 && again >= lost / 2, "seed {seed}: {lost}, {again}");
        let plain = measure(&LOSSES.replace("uplink.loss-ecn = true", ""));
        assert!(plain.0 == 0 && plain.1 > 5, "seed {seed}: {plain:?}");
    }
}
