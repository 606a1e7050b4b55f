use windfall_base::DropReason;
use windfall_network::tag_of;

use super::*;

/// A direction with two packets delivered, one of them damaged, one dropped, one in flight.
fn ledger() -> LinkLedger {
    let mut ledger = LinkLedger::default();
    let mut tags = (0..4).map(|_| tag_of(0, ledger.enter())).collect::<Vec<_>>().into_iter();
    ledger.deliver(tags.next().unwrap(), false);
    ledger.deliver(tags.next().unwrap(), true);
    ledger.discard(tags.next().unwrap(), false, DropReason::QueueFull);
    ledger.frames = 5;
    ledger.retransmissions = 2;
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
    summary.late =
        Some(LateSummary { delivered: 9, late: 1, punctual_seconds: 0.001, worst_seconds: 0.0025 });
    summary.stations.push(StationSummary {
        name: "far".into(),
        dropped: [("udp-checksum".to_owned(), 3)].into(),
        congestion: Some("reno".into()),
        tcp: [("paws_checks", 7), ("acks_sent", 2)].into(),
    });
    let text = summary.to_text();
    assert!(text.contains("late deliveries: 1 of 9 by more than 1 ms, worst 2.500 ms\n"), "{text}");
    assert!(text.contains("TCP congestion control at far: reno\n"), "{text}");
    assert!(text.contains("TCP at far: acks sent 2, paws checks 7\n"), "{text}");
    assert!(text.contains("dropped above the link at far: udp-checksum 3\n"), "{text}");
}

#[test]
fn json_has_the_same_numbers() {
    let json = summary().to_json();
    assert_eq!(json["seed"], 42);
    assert_eq!(json["links"][0]["dropped"]["queue-full"], 1);
    assert_eq!(json["links"][0]["in_flight"], 1);
    assert_eq!(json["links"][0]["busy_seconds"], 0.5);
    assert_eq!(json["late"], serde_json::Value::Null);
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
