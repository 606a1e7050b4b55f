//! SAP between simulated hosts, over every kind of link.

use std::collections::BTreeMap;

use windfall_tests::run::{Outcome, UPLINK, pair, run};

/// Links of every kind, all of which damage packets and pass them up.
const LINKS: [&str; 4] = [
    "rate = \"2Mbps\"\ndelay = \"5ms\"\nber = 1e-5\naccept-damaged = true",
    "kind = \"wavelan\"\narq = \"none\"\nber = 1e-5\naccept-damaged = true",
    "kind = \"wifi-b\"\nrate = \"11Mbps\"\nradio.distance = \"150m\"\naccept-damaged = true",
    "kind = \"wifi-g\"\nrate = \"24Mbps\"\nradio.distance = \"108m\"\naccept-damaged = true",
];

/// An approximate stream, a precise one, and two transfers, each to a port of its own.
fn apps(to: &str) -> String {
    let app = |kind: &str, keys: &str| {
        format!("[[app]]\nkind = \"{kind}\"\nstation = \"near\"\nto = \"{to}\"\n{keys}\n")
    };
    [
        app("sap-stream", "interval = \"20ms\"\nsize = 300\nprotected = 16\ncount = 500"),
        app("sap-stream", "port = 1\ninterval = \"50ms\"\nmode = \"precise\"\ncount = 200"),
        app("sap-bulk", "port = 2\nbytes = \"50kB\"\nrepeat = 2"),
        app("sap-bulk", "port = 3\nbytes = \"20kB\"\nsize = 4000\nprofile = \"standard\""),
    ]
    .concat()
}

type Report = BTreeMap<&'static str, f64>;

/// The measures of the applications of a station whose name begins so.
fn reports(outcome: &Outcome, station: usize, has: &str) -> Vec<Report> {
    let station = outcome.simulation.network().station(station).expect("it is there");
    let all = station
        .reports(outcome.simulation.now())
        .map(|report| report.into_iter().map(|(name, it)| (name, it.number())).collect::<Report>());
    all.filter(|report| report.contains_key(has)).collect()
}

/// Checks that each message of the approximate stream arrived or is known as lost, and that all
/// others arrived whole.
fn check(outcome: &Outcome, receiver: usize, what: &str) {
    let (senders, sinks) =
        (reports(outcome, 0, "transfers"), reports(outcome, receiver, "accepted"));
    assert_eq!((senders.len(), sinks.len()), (4, 4), "{what}");
    for (sender, sink) in senders.iter().zip(&sinks) {
        assert_eq!((sender["failed"], sink["failed"]), (0.0, 0.0), "{what}: {sender:?} {sink:?}");
        assert_eq!(sink["finished"], sink["accepted"], "{what}: {sink:?}");
        assert_eq!(sink["received"] + sink["lost"], sender["sent"], "{what}: {sink:?}");
        assert_eq!(sender["transfers"], sink["finished"], "{what}: {sender:?}");
    }
    for (sender, sink) in senders.iter().zip(&sinks).skip(1) {
        assert_eq!(sink["received_bytes"], sender["sent_bytes"], "{what}: {sink:?}");
        assert_eq!((sink["byte_errors"], sink["lost"]), (0.0, 0.0), "{what}: {sink:?}");
    }
    assert!(sinks[0]["age_p50_seconds"] <= sinks[0]["age_max_seconds"], "{what}");
}

//= S0.20
//= S0.22
#[test]
fn every_message_is_accounted_for_over_every_link_and_family() {
    for link in LINKS {
        for to in ["far", "fd77:696e:6400::2"] {
            let outcome = run(&pair(20, link, &apps(to)), 3);
            check(&outcome, 1, &format!("{link} to {to}"));
            let stream = &reports(&outcome, 1, "accepted")[0];
            assert!(stream["damaged"] > 0.0, "{link}: {stream:?}");
            // The first bytes are exact, so that every message states its time.
            assert!(outcome.ledger(UPLINK).balances() && stream["age_min_seconds"] > 0.0);
        }
    }
}

#[test]
fn messages_cross_chains_of_links_and_the_narrowest_is_known() {
    for (first, to) in LINKS.into_iter().zip(["far", "fd77:696e:6401::2", "far", "far"]) {
        let text = format!(
            "format = 1\nduration = \"20s\"\n[[station]]\nname = \"near\"\n\
             [[station]]\nname = \"middle\"\nforward = true\n[[station]]\nname = \"far\"\n\
             [[link]]\nname = \"air\"\nstations = [\"near\", \"middle\"]\n{first}\n\
             [[link]]\nname = \"cable\"\nstations = [\"middle\", \"far\"]\nrate = \"10Mbps\"\n\
             mtu = 1280\naccept-damaged = true\n{}",
            apps(to).replace("fd77:696e:6401", "fd77:696e:6400:1")
        );
        check(&run(&text, 5), 2, &format!("a chain of {first}"));
    }
}

#[test]
fn the_same_seed_sends_the_same() {
    let all = |seed| {
        let outcome = run(&pair(20, LINKS[0], &apps("far")), seed);
        (reports(&outcome, 0, "sent"), reports(&outcome, 1, "received"))
    };
    assert_eq!(all(4), all(4));
    assert_ne!(all(4), all(5));
}

#[test]
fn newest_first_keeps_messages_young_on_a_link_that_is_too_slow() {
    let age = |keys: &str| {
        let stream = format!(
            "[[app]]\nkind = \"sap-stream\"\nstation = \"near\"\nto = \"far\"\n\
             interval = \"20ms\"\nsize = 1000\n{keys}\n"
        );
        let link = "rate = \"200kbps\"\ndelay = \"5ms\"\nqueue = \"5\"";
        run(&pair(60, link, &stream), 1).report("sap-sink")["age_p50_seconds"]
    };
    let old = age("");
    let new = age("newest-first = true");
    assert!(new < old / 5.0, "{new} {old}");
}

//= S0.24
#[test]
fn the_papers_profile_sends_one_message_in_a_round_trip() {
    let bulk = "[[app]]\nkind = \"sap-bulk\"\nstation = \"near\"\nto = \"far\"\n\
                profile = \"paper\"\nbytes = 102400\n";
    let outcome = run(&pair(60, "rate = \"1Gbps\"\ndelay = \"10ms\"", bulk), 1);
    // The hundred messages and the end take a round trip each.
    let seconds = outcome.report("sap-bulk")["transfer_mean_seconds"];
    assert!((2.02..2.05).contains(&seconds), "{seconds}");
}

#[test]
fn a_transfer_ends_although_the_peers_end_overtakes_its_acknowledgement() {
    let link = "rate = \"5Mbps\"\ndelay = \"30ms\"\njitter = \"25ms\"\nreorder = \"0\"";
    for mode in ["precise", "approximate"] {
        let bulk = format!(
            "[[app]]\nkind = \"sap-bulk\"\nstation = \"near\"\nto = \"far\"\nmode = \"{mode}\"\n\
             size = 1\nbytes = 1\nrepeat = 20\n"
        );
        // A transfer takes a handshake, a message and an end, not the 3 s of a farewell.
        let outcome = run(&pair(9, link, &bulk), 1);
        let report = outcome.report("sap-bulk");
        assert_eq!(report["transfers"], 20.0, "{mode}");
    }
}

//= S0.45
#[test]
fn reports_that_collide_with_what_they_report_do_not_slow_a_transfer() {
    // Frames of approximate messages are sent once, and the peer's reports share the medium.
    let link = "kind = \"wifi-g\"\nrate = \"54Mbps\"\nradio.distance = \"4m\"\nqueue = 2500\n\
                accept-damaged = true";
    let seconds = |keys: &str, kind: &str, measure: &str, seed| {
        let bulk = format!("[[app]]\nstation = \"near\"\nto = \"far\"\nbytes = \"2MB\"\n{keys}");
        run(&pair(20, link, &bulk), seed).report(kind)[measure]
    };
    for seed in 1..=3 {
        let tcp = seconds("kind = \"bulk\"", "bulk-sink", "seconds", seed);
        let sap = "kind = \"sap-bulk\"\nmode = \"approximate\"\nsize = 16000\nrepeat = 10";
        let sap = seconds(sap, "sap-bulk", "transfer_mean_seconds", seed);
        assert!(sap < 1.03 * tcp, "seed {seed}: {sap} s, TCP {tcp} s");
    }
}

/// The office of paper 000 at this distance, in which the moving station sends to the fixed one.
fn office(metres: f64, app: &str) -> String {
    let text = include_str!("../../../scenarios/examples/sap-office.toml");
    let (stations, rest) = text.split_once("# The streamer").expect("there is one");
    let (_, others) = rest.split_once("# What the others send").expect("they do");
    let stations = stations
        .replace("duration = \"5s\"", "duration = \"4s\"")
        .replace("[12.2, 0.0]", &format!("[{metres:?}, 0.0]"))
        .replace("mtu = 2296", "mtu = 1500")
        .replace("queue = 64", "queue = 2500")
        .replace("\"24Mbps\"", "\"54Mbps\"");
    format!(
        "{stations}[[app]]\nstation = \"moving\"\nto = \"fixed\"\nbytes = \"4MB\"\n{app}\n#{others}"
    )
}

//= S0.45
#[test]
fn fades_do_not_make_approximate_messages_slower_than_tcp() {
    let sap = "kind = \"sap-bulk\"\nmode = \"approximate\"\nsize = 16000";
    for metres in [2.0, 10.0] {
        let mut ratios: Vec<f64> = (1..=10)
            .map(|seed| {
                let run = |app: &str| run(&office(metres, app), seed);
                let tcp = run("kind = \"bulk\"").report("bulk-sink")["seconds"];
                run(sap).report("sap-bulk")["transfer_mean_seconds"] / tcp
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        assert!(ratios[9] < 1.03 && ratios[5] < 1.0, "{metres} m: {ratios:.3?}");
    }
}

/// Returns the bytes that SAP and TCP deliver beside each other in 20 s.
fn beside(link: &str, mode: &str, seed: u64) -> [f64; 2] {
    let apps = format!(
        "[[app]]\nkind = \"bulk\"\nstation = \"near\"\nto = \"far\"\n\
         [[app]]\nkind = \"sap-bulk\"\nstation = \"near\"\nto = \"far\"\nmode = \"{mode}\"\n\
         size = 16000\nport = 2\n"
    );
    let outcome = run(&pair(20, link, &apps), seed);
    [outcome.report("sap-sink")["received_bytes"], outcome.report("bulk-sink")["received_bytes"]]
}

#[test]
fn sap_leaves_tcp_its_share_of_a_full_queue() {
    let queues = ["fifo,30", "fifo,100", "fifo,100,codel"];
    for queue in queues {
        let link = format!("rate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = \"{queue}\"");
        for mode in ["precise", "approximate"] {
            let share = |seed| {
                let [sap, tcp] = beside(&link, mode, seed);
                sap / (sap + tcp)
            };
            let shares: Vec<f64> = (1..=10).map(share).collect();
            let mean = shares.iter().sum::<f64>() / 10.0;
            assert!((0.3..0.7).contains(&mean), "{queue}, {mode}: {shares:.2?}");
        }
    }
}

/// An hour of voice in both modes over radios.
fn hour(link: &str, seconds: u64) {
    let stream = |port: u16, keys: &str| {
        format!(
            "[[app]]\nkind = \"sap-stream\"\nstation = \"near\"\nto = \"far\"\nport = {port}\n\
             interval = \"20ms\"\nsize = 160\n{keys}\n"
        )
    };
    let both = stream(1, "") + &stream(2, "mode = \"precise\"");
    let outcome = run(&pair(seconds, link, &both), 1);
    let senders = reports(&outcome, 0, "transfers");
    let sinks = reports(&outcome, 1, "accepted");
    for (sender, sink) in senders.iter().zip(&sinks) {
        assert_eq!((sender["failed"], sink["failed"]), (0.0, 0.0), "{link}: {sender:?}");
        let sent = seconds as f64 * 50.0;
        assert!((sent - 5.0..=sent).contains(&sender["sent"]), "{link}: {sender:?}");
        // What is still under way at the end is neither lost nor received.
        let open = sender["sent"] - sink["received"] - sink["lost"];
        assert!((0.0..=20.0).contains(&open), "{link}: {open} {sink:?}");
    }
    assert_eq!((sinks[1]["byte_errors"], sinks[1]["lost"]), (0.0, 0.0), "{link}");
}

#[test]
fn an_hour_of_messages_loses_none_of_them_unseen() {
    let seconds = if std::env::var_os("WINDFALL_TEST_HOUR").is_some() { 3_600 } else { 300 };
    LINKS.into_iter().skip(1).for_each(|link| hour(link, seconds));
}
