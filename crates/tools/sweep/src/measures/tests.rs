use windfall_base::{Duration, Seed};
use windfall_output::summary::{ApplicationSummary, LinkSummary};
use windfall_stack::socket_api::Measured;

use super::*;

fn summary() -> Summary {
    let mut summary = Summary::new(Seed(3), "windfall sim x", Duration::from_secs(2));
    let dropped = [("frame-check".into(), 4)].into();
    let link =
        LinkSummary { name: "air/near".to_owned(), entered: 9, dropped, ..LinkSummary::default() };
    summary.links.push(link);
    let measures =
        [("throughput_bps", Measured::Value(1.5)), ("rtt_seconds", Measured::Absent)].into();
    summary.applications.push(ApplicationSummary { name: "bulk at near".to_owned(), measures });
    summary
}

#[test]
fn every_number_of_a_summary_has_a_name() {
    let measures = measures_of(&summary());
    for (name, value) in [
        ("seconds", 2.0),
        ("links.air/near.entered", 9.0),
        ("links.air/near.dropped.frame-check", 4.0),
        ("links.air/near.balances", 0.0),
        ("applications.bulk at near.throughput_bps", 1.5),
    ] {
        assert_eq!(measures.get(name), Some(&value), "{name} of {measures:?}");
    }
    assert!(!measures.contains_key("seed"));
    assert!(!measures.keys().any(|name| name.contains("rtt_seconds")), "{measures:?}");
}

#[test]
fn a_count_that_a_run_does_not_name_is_zero_and_a_measure_is_not() {
    for (name, is_zero) in [
        ("links.air/near.dropped.frame-check", true),
        ("links.air/near.radio.seconds.transmit", true),
        ("links.air/near.copies", true),
        ("stations.near.tcp.retransmissions", true),
        ("applications.bulk at near.rtt_seconds", false),
        ("seconds", false),
    ] {
        assert_eq!(is_zero_where_absent(name), is_zero, "{name}");
    }
}
