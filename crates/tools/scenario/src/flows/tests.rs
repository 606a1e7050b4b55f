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

#[test]
fn a_flow_has_the_impairments_of_a_direction_of_a_link() {
    let text = "voice: protocol udp, dst port 5000, loss 5% 25%, delay 30ms, jitter 5ms 25% \
                normal, ber 1e-5, corrupt 1%, duplicate 1%, gemodel 1% 10%, range payload 0..40";
    let voice = flow(text);
    let Direction { loss, delay, jitter, ber, corrupt, duplicate, gemodel, range, .. } =
        &voice.impairments.0;
    assert_eq!(loss.value(), "5% 25%".parse().ok());
    assert_eq!((delay.value(), ber.value()), ("30ms".parse().ok(), "1e-5".parse().ok()));
    assert!(jitter.is_some() && corrupt.is_some() && duplicate.is_some() && gemodel.is_some());
    assert_eq!(range.value(), "payload 0..40".parse().ok());
    for wrong in ["v: loss", "v: loss 2", "v: delay 5", "v: rate 1Mbps", "v: gemodel much"] {
        assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
    }
}

#[test]
fn every_impairment_is_a_key_and_a_clause_with_its_example() {
    for row in <Impairments as windfall_settings::table::Listed<Flow>>::ROWS {
        let by_option = flow(&format!("v: delay 1ms, ber 1e-6, {} {}", row.option(), row.example));
        let scenario =
            Scenario { flows: vec![by_option.clone()], ..ScenarioOptions::default().scenario() };
        let text = scenario.to_toml();
        let read = Scenario::parse("t.toml", &text).unwrap();
        let again = |flow: &Flow| (row.name, row.text(flow));
        assert_eq!(again(&read.flows[0]), again(&by_option));
        assert!(row.is_set(&by_option), "{}", row.name);
    }
}

#[test]
fn only_settings_of_the_wire_that_no_other_flow_meets_are_those_of_a_flow() {
    let names: Vec<_> = <Impairments as windfall_settings::table::Listed<Flow>>::ROWS
        .iter()
        .map(|row| row.name)
        .collect();
    for name in ["delay", "jitter", "loss", "loss-state", "gemodel", "ber", "corrupt", "range"] {
        assert!(names.contains(&name), "{name}");
    }
    for name in ["rate", "queue", "arq", "accept-damaged", "environment", "expose", "slots"] {
        assert!(!names.contains(&name), "{name}");
    }
}

#[test]
fn a_flow_that_is_only_impaired_has_no_queue_of_its_own() {
    let flows = [
        flow("voice: dst port 1, loss 5%"),
        flow("video: dst port 2, weight 2, loss 5%"),
        flow("tardy: dst port 3, lifetime 50ms"),
        flow("noisy: dst port 4, accept-damaged, ber 1e-5"),
    ];
    let (rules, shares) = admit(&flows, false).unwrap();
    let classes: Vec<_> = rules.iter().map(|rule| rule.class.flow.0).collect();
    let queues: Vec<_> = shares.iter().map(|share| share.flow.0).collect();
    assert_eq!((classes, queues), (vec![1, 2, 3, 4, 0], vec![2, 3]));
    assert!(rules.iter().all(|rule| rule.class.own_order), "none waits for another flow");
    assert_eq!(counted(&flows), [FlowId(1), FlowId(2), FlowId(4)]);
}

/// The paths of both directions of a pipe with these settings and this flow.
fn paths(link: &str, flow_text: &str) -> [windfall_channel::PathConfig; 2] {
    let mut scenario = ScenarioOptions::default().scenario();
    scenario.links[0].both.overlay(&Direction::parse(link).unwrap());
    scenario.flows.push(flow(flow_text));
    let topology = scenario
        .topology(0, ("", ""), &mut |_: &str| Err(std::io::Error::other("no file")))
        .unwrap();
    match &topology.network.links[0].medium {
        windfall_channel::MediumConfig::Pipe(pipe) => [pipe.forward.clone(), pipe.backward.clone()],
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_path_of_a_flow_spares_the_bytes_that_the_link_spares() {
    let of = |link: &str, text: &str| {
        let [forward, backward] = paths(link, text);
        assert_eq!(forward.flows, backward.flows);
        let way = forward.flows[0].way.clone();
        (way.delay.as_millis(), way.air.models.len(), way.air.range.map(|it| it.to_string()))
    };
    let voice = "voice: protocol udp, delay 30ms, loss 1%, ber 1e-5, accept-damaged";
    assert_eq!(of("", voice), (30, 2, None));
    assert_eq!(of("range = \"28..100\"", voice), (30, 2, Some("28..100".to_owned())));
    let mending = "accept-damaged = true\nchecksums = \"mend\"";
    assert_eq!(of(mending, voice), (30, 2, Some("payload".to_owned())));
    let own = format!("{voice}, range payload 12..");
    assert_eq!(of(mending, &own), (30, 2, Some("payload 12..".to_owned())));
}

#[test]
fn packets_are_picked_by_lists_in_quotes() {
    let picked =
        flow("v: protocol tcp, lose \"packet 3, 7..9, syn\", damage 4, copy packets 1..2, loss 1%");
    let texts = ["lose", "damage", "copy", "loss"].map(|name| {
        Flow::TABLE.iter().find(|row| row.name == name).and_then(|row| row.text(&picked))
    });
    let expected = ["3, 7..9, syn", "4", "1..2", "0.01"];
    assert_eq!(texts, expected.map(|text| Some(text.to_owned())));
    let (rules, _) = admit(&[picked], false).unwrap();
    assert_eq!(rules[0].picks.lose, "3, 7..9, syn".parse().ok());
    let apart = "v: lose 3, 7..9".parse::<Flow>().unwrap_err().to_string();
    assert!(apart.contains("\"7..9\" is not a clause"), "{apart}");
}
