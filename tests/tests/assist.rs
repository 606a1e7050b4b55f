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
        assert_eq!(with.report("bulk-sink")["received-bytes"], 3e6);
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
fn last_hop(snoop: bool, loss: f64, link: &str, tcp: &str) -> Outcome {
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
    run(&text, 3)
}

/// Interfaces in the order of the links: server and base on the wire, base and mobile on the air.
const SERVER: ElementId = ElementId(0);
const BASE: ElementId = ElementId(2);
const MOBILE: ElementId = ElementId(3);

fn throughput(outcome: &Outcome) -> f64 {
    assert_eq!(outcome.report("bulk-sink")["wrong-bytes"], 0.0);
    outcome.report("bulk-sink")["throughput-bps"]
}

#[test]
fn a_snoop_cache_hides_the_losses_of_the_last_hop_from_the_sender() {
    //= S2.18
    //= S2.46
    for tcp in ["new-reno", "sack", "cubic"] {
        let run = |snoop, loss| last_hop(snoop, loss, "queue = 250", tcp);
        let (clean, without, with) = (run(false, 0.0), run(false, 0.03), run(true, 0.03));
        let gain = throughput(&with) / throughput(&without);
        assert!(gain > 2.5, "{tcp}: {gain}");
        // Each segment that the air takes from the sender itself is a loss that it hears of.
        let heard = |outcome: &Outcome| outcome.ledger(BASE).drops.of(DropReason::AirLost);
        assert!(heard(&without) > 100, "{tcp}: {}", heard(&without));
        let share =
            |outcome: &Outcome| heard(outcome) as f64 / outcome.ledger(SERVER).entered as f64;
        assert!(share(&with) < share(&without) / 2.0, "{tcp}: {}", share(&with));
        assert!(throughput(&with) <= throughput(&clean));
        let suppressed =
            |outcome: &Outcome| outcome.ledger(MOBILE).drops.of(DropReason::TcpSuppressed);
        assert!(suppressed(&with) > 300, "{tcp}: {}", suppressed(&with));
        assert_eq!(suppressed(&without) + suppressed(&clean), 0, "{tcp}");
    }
}

#[test]
fn a_snoop_cache_does_not_hide_congestion() {
    for tcp in ["new-reno", "sack", "cubic"] {
        let [without, with] = [false, true].map(|on| last_hop(on, 0.0, "queue = 60", tcp));
        let full = |outcome: &Outcome| outcome.ledger(BASE).drops.of(DropReason::QueueFull);
        assert!(full(&with) > 50 && full(&with) * 5 >= full(&without) * 4, "{tcp}");
        let ratio = throughput(&with) / throughput(&without);
        assert!((0.9..1.05).contains(&ratio), "{tcp}: {ratio}");
    }
}

#[test]
fn where_the_link_repeats_a_snoop_cache_only_repeats_what_is_on_its_way() {
    //= S2.46
    let [without, with] =
        [false, true].map(|on| last_hop(on, 0.03, "arq = \"persistent\"", "new-reno"));
    let ratio = throughput(&with) / throughput(&without);
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
    // What both repeat costs air time and brings nothing.
    let frames = |outcome: &Outcome| outcome.ledger(BASE).frames;
    assert!(frames(&with) >= frames(&without), "{} {}", frames(&with), frames(&without));
}
