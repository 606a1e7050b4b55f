//! Queues that keep themselves short, under TCP.

use windfall_base::DropReason;
use windfall_tests::run::{UPLINK, run};

/// Two streams of TCP, random cross traffic and pings across a queue of 500 packets.
const SCENARIO: &str = include_str!("../../../scenarios/examples/managed-queue.toml");
/// The round trip of a ping through an empty queue, in milliseconds: twice 20 ms, and frames.
const EMPTY: f64 = 40.1;
/// The rate of the bottleneck, in Mb/s.
const RATE: f64 = 20.0;
/// The time for which applications send, in seconds.
const SENDING: f64 = 20.0;

#[derive(Debug)]
struct Measured {
    /// Packets that the link delivered, in Mb/s.
    carried: f64,
    full: u64,
    managed: u64,
    marks: u64,
    /// The mean time that pings wait, in milliseconds.
    wait: f64,
}

fn measure(queue: &str, tcp: &str, seed: u64) -> Measured {
    let text = SCENARIO
        .replace("\"fq-codel,500\"", &format!("\"{queue}\""))
        .replace("tcp = \"cubic\"", &format!("tcp = \"{tcp}\""))
        .replace("name = \"far\"\n", "name = \"far\"\ntcp = \"ecn=on\"\n");
    let outcome = run(&text, seed);
    let ledger = outcome.ledger(UPLINK);
    let measured = Measured {
        carried: ledger.delivered_bytes as f64 * 8e-6 / SENDING,
        full: ledger.drops.of(DropReason::QueueFull),
        managed: ledger.drops.of(DropReason::Aqm),
        marks: ledger.packets.marked,
        wait: outcome.report("ping")["rtt_mean_seconds"] * 1e3 - EMPTY,
    };
    println!("| `{queue}` | `{tcp}` | {seed} | {measured:.1?} |");
    measured
}

/// Ten seeds of one configuration.
fn measure_all(queue: &str, tcp: &str) -> Vec<Measured> {
    (1..=10).map(|seed| measure(queue, tcp, seed)).collect()
}

//= S2.46
#[test]
fn control_keeps_the_delay_near_its_target_and_the_link_busy() {
    let tail = measure_all("droptail,500", "cubic");
    assert!(tail.iter().all(|it| it.wait > 50.0 && it.full > 0 && it.managed == 0), "{tail:?}");
    for (queue, most_wait) in [("codel,500", 20.0), ("pie,500", 30.0), ("fq-codel,500", 5.0)] {
        for run in measure_all(queue, "cubic") {
            assert!(run.wait < most_wait, "{queue}: {run:?}");
            assert!(run.managed > 0 && run.full == 0 && run.marks == 0, "{queue}: {run:?}");
            assert!(run.carried > 0.85 * RATE, "{queue}: {run:?}");
        }
    }
}

//= S2.46
#[test]
fn marks_take_the_place_of_drops_unless_they_are_turned_off() {
    for queue in ["codel,500", "pie,500", "fq-codel,500"] {
        let run = measure(queue, "cubic, ecn=on", 1);
        assert!(run.marks > 0 && run.full == 0, "{queue}: {run:?}");
        let without = measure(&format!("{queue},noecn"), "cubic, ecn=on", 1);
        assert!(without.marks == 0 && without.managed > 0, "{queue}: {without:?}");
        assert!(run.managed < without.managed, "{queue}: {run:?} {without:?}");
    }
}

#[test]
fn drops_at_the_head_tell_the_sender_a_queue_earlier() {
    let [tail, head] = ["droptail,200", "drophead,200"].map(|it| measure(it, "cubic", 1));
    assert!(tail.full > 0 && head.full > 0 && head.managed == 0, "{tail:?} {head:?}");
    assert!(head.carried > 0.9 * tail.carried, "{tail:?} {head:?}");
}
