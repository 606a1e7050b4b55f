//! What an interface does for the TCP that crosses it, in whole simulations.

use windfall_base::DropReason;
use windfall_network::ElementId;
use windfall_tests::run::{Outcome, UPLINK, run};

/// A bulk transfer over a link that damages one segment in twenty and hands it up.
fn damaging(mode: &str, filter: bool) -> Outcome {
    let station =
        |name: &str| format!("[[station]]\nname = \"{name}\"\ntcp = \"sack, corruption={mode}\"\n");
    let text = format!(
        "format = 1\nduration = \"20s\"\n{}{}\
         [[station.interface]]\nlink = \"air\"\ncorruption-filter = {filter}\n\
         [[link]]\nname = \"air\"\nstations = [\"near\", \"far\"]\nrate = \"10Mbps\"\n\
         delay = \"10ms\"\nber = 5e-6\naccept-damaged = true\n\
         [[app]]\nkind = \"bulk\"\nstation = \"near\"\nto = \"far\"\nbytes = \"3MB\"\n",
        station("near"),
        station("far")
    );
    run(&text, 5)
}

#[test]
fn the_driver_s_filter_and_the_engine_come_to_the_same_verdicts() {
    //= S4.11
    for mode in ["draft-safe", "paper", "extended"] {
        let [without, with] = [false, true].map(|filter| damaging(mode, filter));
        assert_eq!(without.report("bulk"), with.report("bulk"), "{mode}");
        assert_eq!(without.report("bulk-sink"), with.report("bulk-sink"), "{mode}");
        assert_eq!(with.report("bulk-sink")["received_bytes"], 3e6);
        let dropped = |outcome: &Outcome, reason| {
            let host = outcome.simulation.network().station(1).unwrap().ledger().drops.of(reason);
            (outcome.ledger(UPLINK).drops.of(reason), host)
        };
        // Hopeless segments fall a layer lower; those that can be named reach TCP either way.
        let (none, all) = dropped(&without, DropReason::TcpChecksum);
        assert_eq!((none, dropped(&with, DropReason::TcpChecksum)), (0, (all, 0)), "{mode}");
        assert!(all > 0, "{mode}: no header was hit");
        let named = dropped(&without, DropReason::TcpDamaged);
        assert_eq!(named, dropped(&with, DropReason::TcpDamaged));
        assert!(named.1 > 20, "{mode}: {named:?}");
    }
}

/// A server behind a wire of 40 ms sends to a mobile station over a last hop that is lossy.
fn last_hop(snoop: bool, loss: f64, link: &str, tcp: &str, seed: u64) -> Outcome {
    let text = format!(
        "format = 1\nduration = \"60s\"\n\
         [[station]]\nname = \"server\"\ntcp = \"{tcp}\"\n\
         [[station]]\nname = \"base\"\nforward = true\n\
         [[station.interface]]\nlink = \"air\"\nsnoop = {snoop}\n\
         [[station]]\nname = \"mobile\"\ntcp = \"{tcp}\"\n\
         [[link]]\nname = \"wire\"\nstations = [\"server\", \"base\"]\nrate = \"10Mbps\"\n\
         delay = \"40ms\"\n\
         [[link]]\nname = \"air\"\nstations = [\"base\", \"mobile\"]\nrate = \"5Mbps\"\n\
         delay = \"2ms\"\n{link}\nuplink.loss = {loss}\n\
         [[app]]\nkind = \"bulk\"\nstation = \"server\"\nto = \"mobile\"\nbytes = \"8MB\"\n"
    );
    run(&text, seed)
}

/// Interfaces in the order of the links: server and base on the wire, base and mobile on the air.
const SERVER: ElementId = ElementId(0);
const BASE: ElementId = ElementId(2);
const MOBILE: ElementId = ElementId(3);

fn throughput(outcome: &Outcome) -> f64 {
    assert_eq!(outcome.report("bulk-sink")["byte_errors"], 0.0);
    outcome.report("bulk-sink")["goodput_bps"]
}

/// Returns the share of the mean window that remains where reductions round down.
///
/// A round trip of n segments grows the window by α = 0.53 of one and meets p n losses, each of
/// which takes 0.3 n. Rounding takes 0.95 more on average: half a segment of the window, and 0.45
/// of seven tenths of a whole number: α = p n (0.3 n + 0.95).
fn whole_windows(loss: f64) -> f64 {
    let square = 0.9 / 1.7 / loss / 0.3;
    let half = 0.95 / 0.3 / 2.0;
    ((half * half + square).sqrt() - half) / square.sqrt()
}

#[test]
fn a_snoop_cache_hides_the_losses_of_the_last_hop_from_the_sender() {
    //= S2.18
    //= S2.46
    const LOSS: f64 = 0.03;
    const SEEDS: core::ops::Range<u64> = 1..5;
    // What Reno's law makes of losses that are all heard of (Mathis et al. 1997): one ACK for two
    // segments, 1448 bytes in each, both hops and 1500 bytes at both rates for the round trip.
    let round_trip = 0.084 + 1500.0 * 8.0 * (1.0 / 10e6 + 1.0 / 5e6);
    let law = 1448.0 * 8.0 / round_trip * (3.0 / (2.0 * 2.0 * LOSS)).sqrt();
    for tcp in ["new-reno", "sack", "cubic"] {
        let clean = throughput(&last_hop(false, 0.0, "queue = 250", tcp, 1));
        let run = |snoop| SEEDS.map(move |seed| last_hop(snoop, LOSS, "queue = 250", tcp, seed));
        let [without, with]: [Vec<_>; 2] = [false, true].map(|snoop| run(snoop).collect());
        let mean = |runs: &[Outcome]| runs.iter().map(throughput).sum::<f64>() / runs.len() as f64;
        // CUBIC grows by the segments that are acknowledged, not by the ACKs that come (RFC 9438,
        // 4.3): one ACK for two segments costs it nothing. Its windows are whole after a reduction.
        let law = if tcp == "cubic" { law * 2_f64.sqrt() * whole_windows(LOSS) } else { law };
        let ratio = mean(&without) / law;
        assert!((0.7..2.0).contains(&ratio), "{tcp}: {ratio} of the law");
        // With the losses hidden, the link is again what limits the sender.
        assert!(mean(&with) > 0.6 * clean, "{tcp}: {} of {clean}", mean(&with));
        assert!(with.iter().all(|run| throughput(run) <= 1.01 * clean), "{tcp}");
        // Each segment that the air takes from the sender itself is a loss that it hears of.
        let heard = |runs: &[Outcome]| {
            let each = runs.iter().map(|run| {
                let heard = run.ledger(BASE).drops.of(DropReason::Lost) as f64;
                heard / run.ledger(SERVER).entered as f64
            });
            each.sum::<f64>() / runs.len() as f64
        };
        assert!((heard(&without) / LOSS - 1.0).abs() < 0.2, "{tcp}: {}", heard(&without));
        // CUBIC overruns the queue; behind a hole of the queue's making the cache does nothing.
        let most = if tcp == "cubic" { 0.75 } else { 0.25 };
        assert!(heard(&with) < most * heard(&without), "{tcp}: {}", heard(&with));
        let suppressed = |run: &Outcome| run.ledger(MOBILE).drops.of(DropReason::TcpSuppressed);
        assert!(with.iter().all(|run| suppressed(run) > 100), "{tcp}");
        assert!(without.iter().all(|run| suppressed(run) == 0), "{tcp}");
    }
}

#[test]
fn a_snoop_cache_does_not_hide_congestion() {
    for tcp in ["new-reno", "sack", "cubic"] {
        let [without, with] = [false, true].map(|on| last_hop(on, 0.0, "queue = 60", tcp, 3));
        let full = |outcome: &Outcome| outcome.ledger(BASE).drops.of(DropReason::QueueFull);
        let (fewer, all) =
            (full(&without).saturating_sub(full(&with)), full(&with) + full(&without));
        // Three standard errors of a difference between two counts.
        assert!(full(&with) > 50 && (fewer as f64) < 3.0 * (all as f64).sqrt(), "{tcp}: {fewer}");
        let ratio = throughput(&with) / throughput(&without);
        assert!((0.9..1.05).contains(&ratio), "{tcp}: {ratio}");
    }
}

#[test]
fn where_the_link_repeats_a_snoop_cache_only_repeats_what_is_on_its_way() {
    //= S2.46
    let [without, with] =
        [false, true].map(|on| last_hop(on, 0.03, "arq = \"persistent\"", "new-reno", 3));
    let ratio = throughput(&with) / throughput(&without);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
    // What both repeat costs air time and brings nothing.
    let frames = |outcome: &Outcome| outcome.ledger(BASE).packets.frames;
    assert!(frames(&with) >= frames(&without), "{} {}", frames(&with), frames(&without));
}
