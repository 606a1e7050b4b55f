use windfall_base::{Check, Damage, DropReason, PacketDrop, PacketEventKind};
use windfall_network::tag_of;

use windfall_network::FlowLedger;

use super::*;

/// A direction with two packets delivered, one of them damaged, one dropped, one in flight.
fn ledger() -> LinkLedger {
    let mut ledger = LinkLedger::default();
    let mut tags = (0..4).map(|_| tag_of(0, ledger.enter())).collect::<Vec<_>>().into_iter();
    let damage = Damage { frame: Check::Bad, ..Damage::NONE };
    let drop = PacketDrop::at_sender(DropReason::QueueFull, 100);
    for event in [
        PacketEventKind::Delivered { len: 100, damage: None },
        PacketEventKind::Delivered { len: 100, damage: Some(Box::new(damage)) },
        PacketEventKind::Dropped(drop),
    ] {
        ledger.record(1, tags.next().unwrap(), &event);
    }
    ledger.packets.marked = 1;
    ledger.packets.combined = 1;
    ledger.packets.repaired = 2;
    ledger.packets.frames = 5;
    ledger.packets.retransmissions = 2;
    ledger.bits_inverted = 17;
    ledger.busy = Duration::from_millis(500);
    ledger
}

fn summary() -> Summary {
    let mut summary = Summary::new(Seed(42), "windfall run -- true", Duration::from_secs(2));
    summary.links.push(LinkSummary::new("near→far", &ledger()));
    summary.links.push(LinkSummary::new("far→near", &LinkLedger::default()));
    summary
}

//= S0.5
#[test]
fn text_shows_each_direction_and_each_reason() {
    let expected = [
        "                   near→far    far→near",
        "packets                   4           0",
        "  delivered               2           0",
        "    damaged               1           0",
        "  marked (ECN)            1           0",
        "  combined                1           0",
        "  repaired                2           0",
        "  dropped                 1           0",
        "    queue-full            1           0",
        "  in flight               1           0",
        "frames                    5           0",
        "  retransmitted           2           0",
        "bits inverted            17           0",
        "link busy            25.0 %       0.0 %",
        "2.000 s, seed 42",
    ];
    let text = summary().to_text();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn what_only_real_time_has_is_added() {
    let mut summary = summary();
    let late = LatenessSummary {
        delivered: 9,
        late_deliveries: 1,
        threshold_seconds: 0.001,
        worst_seconds: 0.0025,
        ..LatenessSummary::default()
    };
    summary.lateness = Some(late);
    summary.stations.push(StationSummary {
        name: "far".into(),
        dropped_before: [("device", 4)].into(),
        dropped_after: [("kernel", 1), ("udp-checksum", 3)].into(),
        waiting: 0,
        congestion: Some("reno".into()),
        tcp: [("paws_checks", 7), ("acks_sent", 2)].into(),
        energy: Some(StationEnergySummary { model: "mote".into(), ..Default::default() }),
    });
    let setting = |name: &str, how: Option<&str>, cannot: Option<&str>| AppliedSetting {
        setting: name.into(),
        value: "off".into(),
        how: how.map(str::to_owned),
        cannot: cannot.map(str::to_owned),
    };
    summary.applied.push(setting("sack", Some("net.ipv4.tcp_sack=0"), None));
    summary.applied.push(setting("nagle", None, Some("programs decide")));
    let text = summary.to_text();
    assert!(text.contains("applied: sack=off, as net.ipv4.tcp_sack=0\n"), "{text}");
    assert!(text.contains("not applied: nagle=off: programs decide\n"), "{text}");
    assert!(text.contains("late by more than 1 ms: 1 of 9 deliveries; worst 2.500 ms\n"), "{text}");
    assert!(text.contains("TCP congestion control at far: reno\n"), "{text}");
    assert!(text.contains("TCP at far: ACKs sent 2, timestamp checks (PAWS) 7\n"), "{text}");
    assert!(text.contains("energy of far (mote): 0 J, of which"), "{text}");
    assert!(text.contains("dropped before the link at far: device 4\n"), "{text}");
    assert!(text.contains("dropped after the link at far: kernel 1, udp-checksum 3\n"), "{text}");
}

#[test]
fn a_disturbed_run_is_marked() {
    let mut summary = summary();
    let late = LatenessSummary {
        delivered: 9,
        reads: 5,
        late_reads: 2,
        threshold_seconds: 0.001,
        worst_seconds: 5.0,
        disturbed: true,
        pauses: 2,
        paused_seconds: 5.012,
        longest_pause_seconds: 5.0,
        ..LatenessSummary::default()
    };
    summary.lateness = Some(late);
    let text = summary.to_text();
    let once = LatenessSummary { pauses: 1, ..late };
    assert!(once.disturbance().is_some_and(|it| it.contains("stood still once, 5.012 s in all")));
    let line = "late by more than 1 ms: 0 of 9 deliveries, 2 of 5 reads from devices; \
                worst 5000.000 ms\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("disturbed: the run stood still 2 times, 5.012 s in all"), "{text}");
    assert_eq!(summary.to_json()["lateness"]["disturbed"], true);
}

#[test]
fn json_has_the_same_numbers() {
    let json = summary().to_json();
    assert_eq!(json["seed"], 42);
    assert_eq!(json["links"][0]["dropped"]["queue-full"], 1);
    assert_eq!(json["links"][0]["in_flight"], 1);
    assert_eq!(json["links"][0]["busy_seconds"], 0.5);
    assert_eq!(json["lateness"], serde_json::Value::Null);
}

#[test]
fn an_account_that_does_not_add_up_is_said() {
    let mut summary = summary();
    assert!(summary.balances());
    summary.links[0].balances = false;
    assert!(summary.to_text().contains("does not add up"));
}

#[test]
fn measures_are_brief() {
    let cases = [
        (0.0, "0"),
        (593.0, "593"),
        (0.016_844_635_412_162_19, "0.0168446"),
        (699_094.976_6, "699095"),
        (0.5, "0.5"),
        (-2.5, "-2.5"),
        (1e-20, "0"),
    ];
    for (value, text) in cases {
        assert_eq!(brief(value), text);
    }
}

/// A run with `links` directions, of which every second one carried a packet.
fn many(links: usize) -> Summary {
    let mut summary = Summary::new(Seed(1), "windfall", Duration::from_secs(1));
    summary.links = (0..links)
        .map(|number| {
            let mut link =
                LinkSummary::new(format!("cell/contender{number}"), &LinkLedger::default());
            link.frames = (number % 2) as u64;
            link
        })
        .collect();
    summary
}

#[test]
fn tables_are_no_wider_than_the_page() {
    for (width, lines) in [(200, 1), (80, 2), (60, 2), (40, 4), (10, 4)] {
        let text = many(4).to_text_within(width);
        let table: Vec<_> = text.lines().filter(|line| line.starts_with([' ', 'p', 'f'])).collect();
        let widest = table.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width.max(40), "{width}: {text}");
        assert_eq!(text.matches("\npackets ").count(), lines, "{width}: {text}");
    }
}

#[test]
fn directions_that_did_nothing_share_a_line_where_there_are_many() {
    let text = many(20).to_text();
    assert!(text.contains("nothing was sent on cell/contender0, cell/contender2, "), "{text}");
    assert!(!many(4).to_text().contains("nothing was sent"));
    let idle = many(1);
    let mut idle = Summary { links: vec![idle.links[0].clone(); 24], ..idle };
    for (number, link) in idle.links.iter_mut().enumerate() {
        link.name = format!("cell/contender{number}");
    }
    assert!(idle.to_text().lines().count() <= 3, "{}", idle.to_text());
}

#[test]
fn flows_that_had_nothing_say_why() {
    let mut summary = Summary { unused_flows: vec!["silent".into()], ..summary() };
    for (name, offered) in [("late", 1), ("starved", 20)] {
        let name = name.to_owned();
        let link = "near→far".to_owned();
        let effort_seconds = Some(0.0);
        summary.flows.push(FlowSummary {
            name,
            link,
            offered,
            effort_seconds,
            ..FlowSummary::default()
        });
    }
    let text = summary.to_text();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("flow ")).collect();
    let expected = [
        "flow silent: no packets",
        "flow late on near→far: never served, 1 packet came",
        "flow starved on near→far: never served, 20 packets came",
    ];
    assert_eq!(lines, expected);
}

/// The summary of a flow with impairments, to which this many packets came.
fn impaired(entered: u64) -> FlowSummary {
    let mut ledger = FlowLedger { entered, delivered: 190, damaged: 12, ..FlowLedger::default() };
    ledger.drops.count_many(DropReason::Lost, 8);
    ledger.drops.count(DropReason::QueueFull);
    FlowSummary::new("voice", "near→far", None, Some(&ledger)).expect("packets came")
}

#[test]
fn a_flow_with_impairments_tells_the_outcome_of_its_packets() {
    let summary = Summary { flows: vec![impaired(200)], ..summary() };
    let text = summary.to_text();
    let line = text.lines().find(|line| line.starts_with("flow ")).expect("a line");
    let outcome = "190 delivered (12 damaged), 9 dropped (lost 8, queue-full 1), 1 in flight";
    assert_eq!(line, format!("flow voice on near→far: 200 packets, {outcome}"));
    let flow = &summary.to_json()["flows"][0];
    assert_eq!(flow["dropped"], serde_json::json!({ "lost": 8, "queue-full": 1 }));
    assert_eq!(flow["offered"], 200);
    assert_eq!(flow["delivered"], 190);
    assert!(flow["effort_seconds"].is_null());
}

fn reads_back<T>(value: &T)
where
    T: Serialize + serde::de::DeserializeOwned + PartialEq + fmt::Debug,
{
    let text = serde_json::to_string(value).expect("JSON");
    assert_eq!(&serde_json::from_str::<T>(&text).expect("the same"), value, "{text}");
}

#[test]
fn what_a_run_says_of_itself_reads_back() {
    let radio = RadioSummary {
        seconds: BTreeMap::from([("idle".into(), 0.5), ("transmit".into(), 0.25)]),
        joules: 1.5,
        role: "sender".into(),
        bytes_moved: 9,
        joules_per_byte: None,
    };
    let plain = LinkSummary::new("near→far", &ledger());
    reads_back(&LinkSummary { radio: Some(radio), ..plain.clone() });
    reads_back(&plain);
    reads_back(&LinkSummary::default());
    reads_back(&FlowSummary::default());
    reads_back(&FlowSummary {
        name: "web".to_owned(),
        link: "near→far".to_owned(),
        effort_seconds: Some(1.5),
        outcome_seconds: Some(0.5),
        offered: 3,
        bytes: Some(100),
        error_rate: Some(0.25),
        fidelity: Some(0.75),
        region: Some("effort".into()),
        packets: None,
    });
    reads_back(&impaired(200));
    reads_back(&LatenessSummary {
        delivered: 9,
        late_deliveries: 1,
        disturbed: true,
        worst_seconds: 0.0025,
        ..LatenessSummary::default()
    });
}
