use crate::Scenario;

/// The refusal of a scenario of two stations, a link of these keys, and a flow of those after `+`.
fn refusal(keys: &[&str]) -> Option<String> {
    let of_flow = keys.iter().filter_map(|key| key.strip_prefix('+'));
    let of_link = keys.iter().copied().filter(|key| !key.starts_with('+'));
    let [of_flow, of_link] =
        [of_flow.collect::<Vec<_>>(), of_link.collect()].map(|keys| keys.join("\n"));
    let text = format!(
        "format = 1\n[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n[[link]]\nname = \
         \"air\"\nstations = [\"a\", \"b\"]\n{of_link}\n[[flow]]\nname = \"voice\"\n{of_flow}\n"
    );
    Scenario::parse("t.toml", &text).err().map(|error| error.to_string())
}

#[test]
fn only_a_pipe_whose_frames_carry_one_packet_impairs_a_flow() {
    for (key, why) in [
        ("kind = \"wifi-g\"", "the air of a radio does not know flows: use kind = \"pipe\""),
        ("kind = \"wavelan\"", "the air of a radio does not know flows: use kind = \"pipe\""),
        ("kind = \"gsm\"", "blocks of a gsm circuit carry parts of packets: use kind = \"pipe\""),
        ("policy = \"flex\"", "coded frames carry parts of packets: remove policy"),
    ] {
        let refused = refusal(&[key, "+loss = 0.1"]).expect(key);
        let expected = format!(
            "t.toml:11: flow \"voice\" cannot have loss on link \"air\", since {why}, or give loss \
             to the whole link"
        );
        assert_eq!(refused, expected);
        assert_eq!(refusal(&[key, "+weight = 2"]), None);
    }
    assert_eq!(refusal(&["arq = \"3\"", "+loss = 0.1", "+ber = 1e-5"]), None);
}

#[test]
fn a_flow_is_not_delayed_where_others_would_wait_for_its_packets() {
    for impairment in ["delay = \"5ms\"", "jitter = \"5ms\""] {
        let impairment = format!("+{impairment}");
        let refused = refusal(&["arq = \"3\"", &impairment]).expect("a refusal");
        assert!(refused.contains("all others: remove arq, or give"), "{refused}");
        // A code across packets has a stream for each flow.
        assert_eq!(refusal(&["fec = \"8/12\"\nmtu = 1400", &impairment]), None);
    }
    assert_eq!(refusal(&["arq = \"3\"", "+loss = 0.1", "+lose = 3"]), None);
    let refused = refusal(&["+delay = \"5ms\"", "+attempts = 2"]).expect("a refusal");
    assert!(refused.contains("remove the attempts of flows"), "{refused}");
    assert_eq!(refusal(&["+delay = \"5ms\"", "+attempts = 1"]), None);
    assert_eq!(refusal(&["arq = \"none\"", "+delay = \"5ms\""]), None);
}
