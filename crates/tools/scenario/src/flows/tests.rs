use super::*;
use crate::flags::without_span;
use crate::{
    Direction, Environment, Link, LinkKind, PolicyKind, RunSettings, Scenario, ScenarioOptions,
    Surroundings,
};

fn flow(text: &str) -> Flow {
    text.parse().unwrap()
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        text in "[a-z]{0,4}:?( ?(dst|src|port|reserve|weight|from|dscp|[0-9./-]{0,9}|kbps|,))*",
    ) {
        let _ = text.parse::<Flow>();
    }
}

/// Admits flows on a link of 800 kb/s.
fn admit(
    flows: &[Flow],
    overcommit: bool,
) -> Result<(Vec<Rule>, Vec<ScheduledFlow>), SettingFault> {
    let of_packets = |_| Rate::from_bps(800_000);
    super::admit(flows, &Capacity { mtu: 1_500, of_packets: &of_packets, taken: 0.0 }, overcommit)
}

#[test]
fn a_flow_is_read_from_one_line() {
    let video = flow("video: dst port 5004, udp, reserve 350kbps, power-factor 2.23");
    assert_eq!(video.name.get_ref(), "video");
    assert_eq!(video.dst_port.value(), Some(5004));
    assert_eq!(video.protocol.value(), Some(FlowProtocol::Udp));
    assert_eq!(video.reserve.value(), Rate::from_bps(350_000));
    assert_eq!(video.power_factor.value(), Some(2.23));
    assert_eq!(flow("rest:").weight, None);
    for wrong in [
        "video",
        "video: dst",
        "video: reserve much",
        "v: dscp 64",
        "v: port 5",
        "v: packet-size 0",
    ] {
        assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
    }
    let spelled = flow("v: src  port 7, udplite, accept-damaged, dscp 63");
    assert_eq!((spelled.src_port.value(), spelled.dscp.value()), (Some(7), Some(63)));
    assert_eq!(spelled.protocol.value(), Some(FlowProtocol::Udplite));
    assert_eq!(spelled.accept_damaged.value(), Some(true));
    let wrong = "v: dst port 5, reserve much".parse::<Flow>().unwrap_err().to_string();
    assert!(wrong.contains("\"reserve much\" is not a clause"), "{wrong}");
}

//= S3.33
#[test]
fn reservations_beyond_the_link_are_refused_with_the_numbers() {
    let flows = [
        flow("audio: dst port 1, reserve 8kbps, power-factor 3"),
        flow("video: dst port 2, reserve 352kbps, power-factor 2.23"),
    ];
    let refused = admit(&flows, false).unwrap_err().message;
    assert!(refused.contains("video") && refused.contains("101.12 %"), "{refused}");
    let (rules, shares) = admit(&flows, true).unwrap();
    assert_eq!((rules.len(), shares.len()), (2, 2));
    assert!((shares[1].share.weight - 0.44).abs() < 1e-9 && shares[1].share.reserved);
    assert_eq!(rules[1].class.flow, FlowId(2));
}

#[test]
fn a_reservation_costs_what_its_packets_cost() {
    // Half of the link is lost where packets are small.
    let of_packets = |bytes| Rate::from_bps(if bytes < 500 { 400_000 } else { 800_000 });
    let capacity = Capacity { mtu: 1_500, of_packets: &of_packets, taken: 0.0 };
    let flows = [flow("a: reserve 80kbps"), flow("b: reserve 80kbps, packet-size 200")];
    let (_, shares) = super::admit(&flows, &capacity, false).unwrap();
    let weights: Vec<f64> = shares.iter().map(|flow| flow.share.weight).collect();
    assert_eq!(weights, [0.1, 0.2]);
    assert_eq!(overcommitment(&shares, 0.0), None);
}

#[test]
fn a_link_of_no_known_rate_has_weights_and_no_reservations() {
    let capacity = Capacity { mtu: 1_500, of_packets: &|_| None, taken: 0.0 };
    assert!(super::admit(&[flow("a: weight 3")], &capacity, false).is_ok());
    let refused = super::admit(&[flow("a: reserve 1kbps")], &capacity, true).unwrap_err();
    let refused = refused.message;
    assert!(refused.contains("give the link a rate, or the flow a weight"), "{refused}");
}

//= S3.46
#[test]
fn overcommitment_is_known_by_its_size() {
    let flows =
        [flow("a: reserve 8kbps, power-factor 3"), flow("b: reserve 352kbps, power-factor 2.23")];
    let (_, shares) = admit(&flows, true).unwrap();
    assert!((overcommitment(&shares, 0.0).unwrap() - 1.0112).abs() < 1e-9);
}

#[test]
fn weights_of_zero_and_power_factors_below_one_are_refused() {
    for (wrong, range) in [
        ("a: weight 0", "use a number from 0.000001 to 1000000"),
        ("a: weight 1e308", "use a number from 0.000001 to 1000000"),
        ("a: weight 1, power-factor 0.9", "use a number from 1 to 1000000"),
    ] {
        let refused = wrong.parse::<Flow>().unwrap_err().to_string();
        assert!(refused.contains(range), "{wrong}: {refused}");
    }
    let both = windfall_settings::table::check(&flow("a: weight 2, reserve 8kbps")).unwrap_err();
    assert_eq!(both.message, "weight and reserve exclude each other: remove one");
}

#[test]
fn more_flows_than_can_be_numbered_are_refused() {
    let flows = vec![Flow::named("one of many"); 65_536];
    let refused = admit(&flows, false).unwrap_err().message;
    assert!(refused.contains("65536 flows: no more than 65535"), "{refused}");
    assert_eq!(admit(&flows[1..], false).unwrap().1.len(), 65_535);
}

//= S3.35
#[test]
fn a_flow_that_says_no_power_factor_gets_that_of_its_class() {
    let flows = [flow("a: reserve 8kbps"), flow("b: reserve 200kbps"), flow("c: weight 2")];
    let (_, shares) = admit(&flows, false).unwrap();
    let powers: Vec<f64> = shares.iter().map(|flow| flow.share.power_factor).collect();
    assert_eq!(powers, [3.0, 1.5, 1.2]);
}

#[test]
fn flows_coding_and_places_survive_as_text() {
    let both = Direction {
        policy: Some(without_span(Some(PolicyKind::Flex.into()))),
        environment: Some(without_span(Surroundings::Radio(Environment::Table))),
        padded: Some(without_span(true)),
        ..Direction::default()
    };
    let flows = vec![
        flow("video: to 10.77.0.2/32, dst port 5004, udp, reserve 350kbps, packet-size 900"),
        flow("bulk: from 10.77.0.1/32, src port 80, tcp, dscp 8, weight 2, attempts 3"),
        flow("sketch: udplite, lifetime 20ms, accept-damaged"),
    ];
    let kind = Some(without_span(LinkKind::Wavelan));
    let link = Link { kind, both, ..Link::unset() };
    let run = RunSettings { overcommit: Some(without_span(true)), ..RunSettings::unset() };
    let flags = ScenarioOptions { link, flows, run, ..ScenarioOptions::default() };
    let scenario = flags.scenario();
    let text = scenario.to_toml();
    assert_eq!(Scenario::parse("generated.toml", &text), Ok(scenario), "{text}");
}

#[test]
fn an_unknown_place_or_policy_is_refused_and_padding_without_one() {
    for (key, value, expected) in [
        ("environment", "\"cellar\"", "x.toml:9: environment \"cellar\": write office, "),
        ("policy", "\"brave\"", "x.toml:9: policy \"brave\": write bold, "),
        ("padded", "true", "x.toml:8: padded says how coded frames are filled"),
    ] {
        let text = format!(
            "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\n\
             kind = \"wavelan\"\nstations = [\"a\", \"b\"]\n{key} = {value}\n"
        );
        let message = Scenario::parse("x.toml", &text).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_number_of_a_flow_out_of_range_is_refused_with_the_range() {
    for (clause, range) in [("packet-size 0", "1 to 65535"), ("attempts 0", "1 to 255")] {
        let error = format!("a: {clause}").parse::<Flow>().expect_err(clause).to_string();
        assert!(error.ends_with(&format!("use a whole number from {range}")), "{error}");
    }
}
