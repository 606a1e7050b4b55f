//! Whole simulations against closed forms.

use windfall_base::DropReason;
use windfall_tests::run::{UPLINK, pair, run};

const SPRAY: &str = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";

/// Packets every millisecond, `count` of them.
fn cbr(count: u64) -> String {
    format!(
        "[[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\n\
         interval = \"1ms\"\nsize = 100\ncount = {count}\n"
    )
}

/// The bits of payload that arrive each second.
fn throughput(seconds: u64, link: &str) -> f64 {
    let outcome = run(&pair(seconds, link, SPRAY), 1);
    outcome.report("sink")["received_bytes"] * 8.0 / seconds as f64
}

#[test]
fn a_saturated_pipe_carries_its_rate() {
    // Without jitter: the second datagram may be a little later than the first has left.
    let spray = format!("{SPRAY}jitter = \"0s\"\n");
    let outcome = run(&pair(2, "rate = \"10Mbps\"\nqueue = 10", &spray), 1);
    let ledger = outcome.ledger(UPLINK);
    // Every nanosecond of the two seconds, but for the last frame, which has not arrived.
    let busy = ledger.busy.as_secs_f64();
    let air_time = busy / ledger.packets.frames.saturating_sub(1) as f64;
    assert!((2.0 - air_time..=2.0).contains(&busy), "{busy}");
    // Arrivals follow each other at the time that one frame takes.
    let sink = outcome.report("sink");
    assert!((sink["gap_min_seconds"] - air_time).abs() < 1e-9, "{air_time} {sink:?}");
    assert!((sink["gap_max_seconds"] - air_time).abs() < 1e-9, "{air_time} {sink:?}");
}

#[test]
fn the_delay_is_exact_to_the_nanosecond() {
    let ping = "[[app]]\nkind = \"ping\"\nstation = \"near\"\nto = \"far\"\ncount = 5\n\
                interval = \"100ms\"\n";
    let link = "rate = \"8Mbps\"\ndelay = \"10ms\"\ndownlink.delay = \"3ms\"";
    let outcome = run(&pair(1, link, ping), 1);
    let ledger = outcome.ledger(UPLINK);
    let air_time = ledger.busy.as_secs_f64() / ledger.packets.frames as f64;
    let report = outcome.report("ping");
    for key in ["rtt_min_seconds", "rtt_max_seconds"] {
        assert!((report[key] - 0.013 - 2.0 * air_time).abs() < 1e-9, "{report:?}");
    }
}

//= S3.12
#[test]
fn after_n_repetitions_the_loss_is_p_to_the_n_plus_1() {
    for (p, n) in [(0.1_f64, 0), (0.1, 1), (0.5, 1), (0.5, 3), (0.5, 6), (0.8, 4), (0.9, 10)] {
        let count = 4_000;
        // At most one packet is under way at a time, and acknowledgements are not lost.
        let link = format!("rate = \"100Mbps\"\narq = {n}\nuplink.loss = {p}");
        let outcome = run(&pair(6, &link, &cbr(count)), 7);
        let ledger = outcome.ledger(UPLINK);
        assert_eq!((ledger.entered, ledger.in_flight()), (count, 0), "p = {p}, n = {n}");
        let expected = p.powi(n + 1);
        let measured = ledger.drops.total() as f64 / count as f64;
        // Five times the standard deviation of the mean of that number of independent packets.
        let tolerance = 5.0 * (expected * (1.0 - expected) / count as f64).sqrt();
        assert!((measured - expected).abs() < tolerance, "p = {p}, n = {n}: {measured}");
        let reason = if n == 0 { DropReason::Lost } else { DropReason::RetryLimit };
        assert_eq!(ledger.drops.of(reason), ledger.drops.total());
    }
}

#[test]
fn without_repetition_every_inverted_bit_costs_its_packet() {
    let count = 4_000;
    let outcome = run(&pair(6, "rate = \"100Mbps\"\nuplink.ber = 1e-4", &cbr(count)), 3);
    let ledger = outcome.ledger(UPLINK);
    // A packet has 100 bytes of data and 28 of headers.
    let expected = 1.0 - (1.0 - 1e-4_f64).powi(128 * 8);
    let measured = ledger.drops.of(DropReason::FrameCheck) as f64 / count as f64;
    let tolerance = 5.0 * (expected * (1.0 - expected) / count as f64).sqrt();
    assert!((measured - expected).abs() < tolerance, "{measured} {expected}");
    let bits = (count * 128 * 8) as f64 * 1e-4;
    assert!((ledger.bits_inverted as f64 - bits).abs() < 5.0 * bits.sqrt());
}

/// Chance gave each of them a place among the others for good, and with it a share of the room in
/// the queue.
#[test]
fn senders_of_one_pace_share_a_full_queue_alike() {
    let spray = |port: u32| format!("{SPRAY}port = {port}\n");
    let sprays: String = (9_001..9_006).map(spray).collect();
    let text = pair(10, "rate = \"5Mbps\"\nqueue = 50", &sprays);
    for seed in 1..=10 {
        let outcome = run(&text, seed);
        let far = outcome.simulation.network().station(1).expect("simulated");
        let received = far.reports(outcome.simulation.now()).map(|report| {
            let (_, count) = report.into_iter().find(|(name, _)| *name == "received").expect("it");
            count.number()
        });
        let received: Vec<f64> = received.collect();
        let (sum, squares) =
            (received.iter().sum::<f64>(), received.iter().map(|n| n * n).sum::<f64>());
        // Their delays take every place within some hundred datagrams, ten times in this time.
        let jain = sum * sum / (5.0 * squares);
        assert!(jain > 0.97, "seed {seed}: {jain} {received:?}");
    }
}

//= S0.5
#[test]
fn known_damage_stays_known_over_a_chain_and_a_base() {
    let chain = |second: &str| {
        format!(
            "format = 1\nduration = \"5s\"\n[[station]]\nname = \"near\"\n\
             [[station]]\nname = \"relay\"\nforward = true\n[[station]]\nname = \"far\"\n\
             [[link]]\nname = \"first\"\nstations = [\"near\", \"relay\"]\nrate = \"10Mbps\"\n\
             ber = 1e-4\naccept-damaged = true\n\
             [[link]]\nname = \"second\"\nstations = [\"relay\", \"far\"]\n{second}\n\
             [[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\ntransport = \"udplite\"\n\
             coverage = 8\nsize = 500\ninterval = \"10ms\"\n"
        )
    };
    for second in ["", "arq = \"persistent\"", "policy = \"robust\"", "kind = \"wavelan\""] {
        let rate = if second.contains("wavelan") { "" } else { "rate = \"10Mbps\"" };
        let second = format!("{second}\n{rate}");
        let sink = run(&chain(&format!("{second}\naccept-damaged = true")), 1).report("sink");
        assert!(sink["damaged"] > 100.0, "{second}: {sink:?}");
        assert_eq!(sink["marked_damaged"], sink["damaged"], "{second}");
        // Whoever does not accept damage gets none.
        let outcome = run(&chain(&second), 1);
        let sink = outcome.report("sink");
        assert_eq!((sink["damaged"], sink["marked_damaged"]), (0.0, 0.0), "{second}");
        assert!(sink["received"] > 200.0, "{second}: {sink:?}");
    }
}

//= S3.2
#[test]
fn an_error_free_radio_carries_800_kilobits() {
    let payload = throughput(30, "kind = \"wavelan\"");
    // A packet of 1500 bytes carries 1472 bytes of data.
    let packets = payload * 1500.0 / 1472.0;
    assert!((packets - 800_000.0).abs() < 800.0, "{packets}");
}

//= S3.8
#[test]
fn with_persistent_repetition_throughput_falls_linearly_with_loss() {
    let clean = throughput(30, "kind = \"wavelan\"");
    for every in [6, 12, 25, 50, 100] {
        let link =
            format!("kind = \"wavelan\"\narq = \"persistent\"\nuplink.burst = \"5/{every}\"");
        let good = 1.0 - 5.0 / f64::from(every);
        let relative = throughput(30, &link) / clean;
        assert!(relative >= 0.9 * good, "5 of {every}: {relative}");
        // A frame that is lost has no acknowledgement, and so costs less than one that arrives.
        assert!(relative <= 1.1 * good, "5 of {every}: {relative}");
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let text = pair(1, "rate = \"10Mbps\"\nber = 1e-4\narq = 3", SPRAY);
    let events = |seed| {
        let topology = windfall_tests::run::topology(&text);
        let mut simulation =
            windfall_scenario::sim::Simulation::new(&topology, windfall_base::Seed(seed))
                .expect("legal");
        simulation
            .network_mut()
            .record(windfall_network::Recording { events: true, packets: true });
        let mut lines = String::new();
        let end = simulation.end();
        let noted = simulation.run(end, &mut |event| {
            lines.push_str(&format!("{event:?}\n"));
            Ok(())
        });
        noted.expect("nothing can fail");
        lines
    };
    assert!(events(1) == events(1));
    assert!(events(1) != events(2));
}
