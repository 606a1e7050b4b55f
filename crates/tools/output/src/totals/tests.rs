use windfall_base::Node;
use windfall_network::Recording;
use windfall_scenario::Scenario;

use super::*;
use crate::log::EventLog;

/// A sender of datagrams and its receiver, on a pipe or on a radio.
fn scenario(kind: &str) -> String {
    // What arrives over a radio, the radio decides.
    let loss = if kind == "pipe" { "loss = \"20%\"" } else { "" };
    format!(
        r#"
        format = 1
        duration = "500ms"
        station = [{{ name = "near" }}, {{ name = "far" }}]

        [[link]]
        name = "air"
        kind = "{kind}"
        stations = ["near", "far"]
        rate = "2Mbps"
        {loss}

        [[app]]
        kind = "cbr"
        station = "near"
        to = "far"
        size = 100
        interval = "10ms"
        "#
    )
}

/// Runs a scenario to its end, and sums it up.
fn run(text: &str, seed: Seed) -> Summary {
    let (network, topology) = ran(text, seed);
    let end = Instant::START + topology.duration;
    of_simulation(&network, &topology, seed, "windfall sim test.toml", end)
}

/// Runs a scenario to its end.
fn ran(text: &str, seed: Seed) -> (Network, Topology) {
    let (network, topology, _) = logged(text, seed);
    (network, topology)
}

/// Runs a scenario to its end, and returns the lines of its event log behind the head.
fn logged(text: &str, seed: Seed) -> (Network, Topology, Vec<String>) {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let no_files = &mut |name: &str| Err(std::io::Error::other(name.to_owned()));
    let topology = scenario.topology(0, ("test.toml", text), no_files).expect("it makes sense");
    let mut network = Network::build(&topology.with_hosts(), seed).expect("it can be built");
    network.record(Recording { events: true, packets: false });
    let names = network.elements().map(|it| network.name(it).to_owned()).collect();
    let mut log = EventLog::new(Vec::new(), seed, "", names).expect("a log in memory");
    let end = Instant::START + topology.duration;
    while let Some(at) = network.next_event().filter(|at| *at <= end) {
        network.handle_timeout(at);
        while let Some(event) = network.poll_event() {
            log.record(&event).expect("room for a line");
        }
    }
    let text = String::from_utf8(log.into_inner()).expect("text");
    (network, topology, text.lines().skip(1).map(str::to_owned).collect())
}

#[test]
fn a_run_is_summed_up_link_by_link_and_host_by_host() {
    let summary = run(&scenario("pipe"), Seed(7));
    assert!(summary.balances());
    assert_eq!((summary.seed, summary.seconds), (7, 0.5));
    assert_eq!(summary.command, "windfall sim test.toml");
    let links: Vec<_> = summary.links.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(links, ["air/near", "air/far"]);
    let stations: Vec<_> = summary.stations.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(stations, ["near", "far"]);
    assert_eq!(summary.energy, None, "a pipe has no radio");
}

#[test]
fn a_sink_is_told_what_was_sent_to_it() {
    let summary = run(&scenario("pipe"), Seed(7));
    let of = |name: &str| {
        let found = summary.applications.iter().find(|it| it.name.starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}: {summary:?}")).measures.clone()
    };
    let sent = of("cbr at near")["sent"];
    let sink = of("sink at far");
    assert!(sent.number() > 40.0, "{sent:?}");
    assert_eq!(sink["sent"], sent);
    let lost = sink["sent"].number() - sink["received"].number();
    assert!(lost > 0.0, "a fifth is lost");
    assert_eq!(sink["missing"].number(), lost);
}

//= S2.22
#[test]
fn the_radios_account_for_the_whole_run_and_add_up() {
    let summary = run(&scenario("wifi-b"), Seed(7));
    let radios: Vec<_> = summary.links.iter().filter_map(|it| it.radio.as_ref()).collect();
    assert_eq!(radios.len(), 2);
    for radio in &radios {
        assert!((radio.seconds.values().sum::<f64>() - 0.5).abs() < 1e-9, "{radio:?}");
    }
    assert_eq!((&*radios[0].role, &*radios[1].role), ("sender", "receiver"));
    let energy = summary.energy.expect("the energy of the radios");
    assert_eq!(energy.joules, radios.iter().map(|it| it.joules).sum::<f64>());
    assert!(energy.is_payload && energy.bytes > 0);
}

//= S2.28
#[test]
fn a_station_with_a_model_has_an_energy_of_its_own() {
    let scenario = scenario("wifi-b");
    let text = scenario.replace("name = \"near\" }", "name = \"near\", energy = \"mote\" }");
    let summary = run(&text, Seed(7));
    let energy = summary.stations[0].energy.clone().expect("near has a model");
    assert_eq!(summary.stations[1].energy, None);
    assert_eq!(energy.model, "mote");
    assert_eq!(energy.tcp_joules, 0.0, "it sends datagrams");
    let radio = summary.links[0].radio.as_ref().expect("a radio");
    assert!((radio.joules - energy.radio_joules).abs() < 1e-9, "the card of the model");
    assert!((energy.platform_joules - 0.5 * 0.0054).abs() < 1e-9);
    let parts = energy.part_joules.values().sum::<f64>();
    assert!((parts - energy.joules).abs() < 1e-9);
    // 7.5 Wh, of which four fifths are used, at the mean power of half a second.
    let expected = 7.5 * 3_600.0 * 0.8 / (energy.joules / 0.5);
    assert!((energy.lifetime_seconds.unwrap() - expected).abs() < 1e-3);
    assert_eq!(energy.bytes, radio.bytes_moved);
    // On a wire there is no radio, and the platform draws its power nevertheless.
    let wire = text.replace("wifi-b", "pipe");
    let of_radio = energy;
    let energy = run(&wire, Seed(7)).stations[0].energy.clone().expect("near has a model");
    assert_eq!((energy.radio_joules, energy.joules), (0.0, energy.platform_joules));
    assert_eq!((energy.radios, of_radio.radios), (0, 1));
}

//= S2.45
#[test]
fn each_hop_of_a_path_has_an_account_of_its_energy() {
    let text = r#"
        format = 1
        duration = "2s"
        energy = "laptop-2000"
        station = [{ name = "near" }, { name = "relay", forward = true }, { name = "far" }]

        [[link]]
        name = "first"
        kind = "wifi-b"
        stations = ["near", "relay"]
        radio.channel = 1

        [[link]]
        name = "second"
        kind = "wifi-b"
        stations = ["relay", "far"]
        radio.channel = 11

        [[app]]
        kind = "bulk"
        station = "near"
        to = "far"
    "#;
    let summary = run(text, Seed(3));
    let of = |name: &str| {
        let own = summary.stations.iter().find(|it| it.name == name).expect("a station");
        own.energy.clone().expect("an account")
    };
    let near = of("near");
    let relay = of("relay");
    let far = of("far");
    // Two radios draw about twice what one draws; what is only forwarded costs no TCP.
    for end in [&near, &far] {
        let ratio = relay.radio_joules / end.radio_joules;
        assert!((1.7..2.3).contains(&ratio), "{ratio}");
        assert!(end.tcp_joules > 1.0 && end.bytes > 100_000, "{end:?}");
        assert!((relay.platform_joules - end.platform_joules).abs() < 1e-9);
    }
    assert_eq!(relay.tcp_joules, 0.0);
    assert!(relay.bytes >= near.bytes + far.bytes - 100_000, "{} {}", relay.bytes, near.bytes);
}

/// The number of ways to choose `k` of `n`.
fn choices(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product()
}

/// Of a block of *n* frames with *k* packets, what is lost stays lost where it is more than the
/// repairs: the packets among them.
#[test]
fn a_code_across_packets_leaves_what_the_binomial_distribution_says() {
    const SEEDS: u64 = 10;
    const PACKETS: f64 = 1_000.0;
    for (k, n, p) in [(8_u32, 12_u32, 0.2), (4, 6, 0.2), (8, 12, 0.3)] {
        let text = scenario("pipe")
            .replace("duration = \"500ms\"", "duration = \"2s\"")
            .replace("loss = \"20%\"", &format!("loss = \"{p}\"\nfec = \"{k}/{n}\""))
            .replace("interval = \"10ms\"", "interval = \"2ms\"");
        let lost = (1..=SEEDS).map(|seed| {
            let summary = run(&text, Seed(seed));
            let sink = summary.applications.iter().find(|it| it.name.starts_with("sink"));
            sink.expect("there is one").measures["missing"].number()
        });
        let share = lost.sum::<f64>() / (SEEDS as f64 * PACKETS);
        // Lost packets of a block, their mean and their mean square: of l lost frames, l k / n.
        let moment = |power: i32| -> f64 {
            let lost = (n - k + 1..=n).map(|l| {
                let chance = choices(n, l) * f64::powi(p, l as i32);
                chance * f64::powi(1.0 - p, (n - l) as i32) * f64::from(l).powi(power)
            });
            lost.sum::<f64>() * (f64::from(k) / f64::from(n)).powi(power)
        };
        let mean = moment(1);
        let blocks = SEEDS as f64 * PACKETS / f64::from(k);
        let error = ((moment(2) - mean * mean) / blocks).sqrt() / f64::from(k);
        let expected = mean / f64::from(k);
        assert!((share - expected).abs() < 4.0 * error, "{k}/{n}: {share} for {expected}");
    }
}

/// A code of long blocks whose end comes after that of the run: what is lost of the last one is not
/// lost for good.
#[test]
fn what_a_decoder_waits_for_is_in_flight_by_name() {
    let text = scenario("pipe")
        .replace("rate = \"2Mbps\"", "rate = \"2Mbps\"\nfec = \"window:64:10%:9s\"");
    let summary = run(&text, Seed(7));
    let link = &summary.links[0];
    let waiting = link.awaiting_repair;
    assert!(waiting > 0 && link.in_flight > waiting, "{link:?}");
    assert!(summary.balances());
    let dropped: u64 = link.dropped.values().sum();
    assert_eq!(link.entered, link.delivered + dropped + link.in_flight);
    // Of 50 packets some ten are lost; no station can know of those behind the last repair.
    assert!(dropped < waiting, "{link:?}");
    assert!(summary.to_text().contains("await repair"), "{}", summary.to_text());
    assert_eq!(run(&scenario("pipe"), Seed(7)).links[0].awaiting_repair, 0);
}

#[test]
fn a_change_that_only_the_end_of_the_run_meets_never_acts() {
    let idle = |change: &str| {
        let text = format!("{}\n[[change]]\n{change}\n", scenario("pipe"));
        let (network, topology) = ran(&text, Seed(7));
        let scenario = Scenario::parse("test.toml", &text).expect("it was read before");
        let ended = Instant::START + topology.duration;
        let mut summary = of_simulation(&network, &topology, Seed(7), "", ended);
        add_idle_changes(&mut summary, &scenario, Duration::ZERO, ended, &network, &topology);
        summary.never_acted.len()
    };
    assert_eq!(idle("at = \"490ms\"\nloss = \"5%\""), 0);
    assert_eq!(idle("at = \"500ms\"\nloss = \"5%\""), 1);
    // The first step of a ramp comes 100 ms after its time.
    assert_eq!(idle("at = \"390ms\"\nrate = \"1Mbps\"\nover = \"1s\""), 0);
    assert_eq!(idle("at = \"400ms\"\nrate = \"1Mbps\"\nover = \"1s\""), 1);
    assert_eq!(idle("at = \"100ms\"\nrate = \"2Mbps\""), 1, "it has this rate already");
}

#[test]
fn a_change_that_never_acted_is_named_as_it_was_written() {
    let named = |at: &str, began: u64| {
        let change: Change = format!("{at}: loss 3%").parse().expect("a change");
        named_change(&change, Duration::from_nanos(began))
    };
    assert_eq!(named("30001175382ns", 0), "change 30001ms: loss 0.03");
    // A command began 8 ms after the start of the run.
    assert_eq!(named("50008175382ns", 8_175_382), "change 50s: loss 0.03");
    assert_eq!(named("8675382ns", 8_175_382), "change 500us: loss 0.03");
    assert_eq!(named("3ms", 8_175_382), "change 3ms: loss 0.03");
}

/// Two streams of datagrams over one link, by turns to port 5000 and to port 5001, and the settings
/// of a flow for the first one, if there are any.
fn streams(of_link: &str, of_flow: &str) -> String {
    let stream = |port: u16, start: u16| {
        format!(
            r#"
            [[app]]
            kind = "cbr"
            station = "near"
            to = "far"
            port = {port}
            size = 200
            interval = "20ms"
            start = "{start}ms"
            stop = "155ms"
            "#
        )
    };
    let flow = format!("[[flow]]\nname = \"voice\"\ndst-port = 5000\n{of_flow}");
    format!(
        r#"
        format = 1
        duration = "300ms"
        station = [{{ name = "near" }}, {{ name = "far" }}]
        [[link]]
        name = "air"
        stations = ["near", "far"]
        rate = "2Mbps"
        delay = "5ms"
        {of_link}
        {}
        {}
        {}
        "#,
        stream(5000, 0),
        stream(5001, 10),
        if of_flow.is_empty() { String::new() } else { flow }
    )
}

/// The events of the packets of the second stream, which have the odd numbers.
fn of_second_stream(lines: &[String]) -> Vec<&String> {
    let tag = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        event["tag"].as_u64()
    };
    lines.iter().filter(|line| tag(line).is_some_and(|tag| tag % 2 == 1)).collect()
}

#[test]
fn one_flow_is_impaired_and_others_fare_as_without_it() {
    let impairments = "accept-damaged = true\ndelay = \"30ms\"\nlose = \"2\"\ndamage = \"3..4\"\n\
                       copy = \"6\"";
    let (network, topology, with) = logged(&streams("", impairments), Seed(7));
    windfall_testkit::assert_golden!("impaired-flow", with.join("\n") + "\n");
    let end = Instant::START + topology.duration;
    let summary = of_simulation(&network, &topology, Seed(7), "windfall sim test.toml", end);
    let lines: Vec<_> = summary.flows.iter().map(|flow| (&flow.name, &flow.packets)).collect();
    let outcome = "7 delivered (2 damaged), 1 dropped (lost 1)";
    let [(name, Some(packets))] = lines[..] else { panic!("{lines:?}") };
    assert_eq!((name.as_str(), packets.to_string().as_str()), ("voice", outcome));
    assert!(summary.balances());
}

#[test]
fn the_same_seed_hits_the_same_packets_of_other_flows_with_and_without_impairments_of_one() {
    let of_link = "loss = 0.3\nber = 1e-4\naccept-damaged = true\njitter = \"2ms\"";
    let of_flow = "loss = 0.3\nber = 1e-3\ncorrupt = 0.2\nduplicate = 0.2\njitter = \"9ms\"\n\
                   delay = \"20ms\"\ngemodel = \"10% 50%\"";
    for seed in 1..9 {
        let (.., without) = logged(&streams(of_link, ""), Seed(seed));
        let (.., with) = logged(&streams(of_link, of_flow), Seed(seed));
        assert_ne!(with, without);
        assert_eq!(of_second_stream(&with), of_second_stream(&without));
        assert!(of_second_stream(&with).len() > 16);
    }
}

#[test]
fn a_link_repairs_what_one_flow_loses_and_others_do_not_wait_for_it() {
    let (network, ..) = logged(&streams("arq = \"persistent\"", "loss = 0.4"), Seed(3));
    let interface = network.interfaces().next().expect("an interface");
    let flow = network.ledger(interface).flow(windfall_base::FlowId(1)).expect("a ledger");
    assert_eq!((flow.entered, flow.delivered, flow.drops.total()), (8, 8, 0));
    assert!(network.ledger(interface).packets.retransmissions > 0);
}

#[test]
fn the_ledger_of_a_flow_has_what_a_full_queue_refuses() {
    let of_link = "queue = \"1\"";
    let slow = streams(of_link, "loss = 0").replace("2Mbps", "40kbps");
    let (network, _) = ran(&slow, Seed(3));
    let interface = network.interfaces().next().expect("an interface");
    let flow = network.ledger(interface).flow(windfall_base::FlowId(1)).expect("a ledger");
    assert_eq!(flow.entered, 8);
    assert!(flow.drops.of(windfall_base::DropReason::QueueFull) > 0, "{flow:?}");
}
