use proptest::prelude::*;
use windfall_scenario::Scenario;

use super::*;

const TWO_LINKS: &str = r#"
format = 1
[[station]]
name = "a"
tcp = "new-reno, mss=1000"
[[station]]
name = "b"
[[station]]
name = "c"
[[link]]
name = "first"
stations = ["a", "b"]
uplink.ber = 1e-3
[[link]]
name = "second"
stations = ["b", "c"]
[[app]]
kind = "bulk"
station = "a"
to = "b"
[[app]]
kind = "ping"
station = "a"
to = "c"
[[flow]]
name = "echo"
weight = 2
"#;

const ONE_LINK: &str = r#"
format = 1
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
stations = ["near", "far"]
kind = "wifi-b"
[[app]]
kind = "cbr"
rate = "1Mbps"
station = "near"
to = "far"
"#;

fn read(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).expect("a scenario")
}

fn set(text: &str, key: &str, value: &str) -> Scenario {
    let mut scenario = read(text);
    let key = ScenarioKey::find(&scenario, key).unwrap_or_else(|error| panic!("{key}: {error}"));
    key.set(&mut scenario, value).unwrap_or_else(|error| panic!("{error}"));
    scenario
}

fn refusal(text: &str, key: &str) -> String {
    ScenarioKey::find(&read(text), key).expect_err(key).to_string()
}

#[test]
fn a_key_is_found_by_its_place_and_in_short() {
    let spellings = ["ber", "link.ber", "link.near-far.ber", "link.*.ber"]
        .map(|key| set(ONE_LINK, key, "1e-5"));
    for scenario in &spellings {
        assert_eq!(scenario.to_toml(), spellings[0].to_toml());
        assert!(scenario.to_toml().contains("ber = \"1e-5\""), "{}", scenario.to_toml());
    }
    for (key, value, found) in [
        ("link", "wifi-g", "kind = \"wifi-g\""),
        ("duration", "3s", "duration = \"3s\""),
        ("distance", "9m", "distance = \"9m\""),
        ("link.radio.distance", "9m", "distance = \"9m\""),
        ("link.uplink.ber", "1e-5", "[link.uplink]"),
        ("uplink.ber", "1e-5", "[link.uplink]"),
        ("app.rate", "2Mbps", "rate = \"2Mbps\""),
        ("app.1.rate", "2Mbps", "rate = \"2Mbps\""),
        ("app.cbr.rate", "2Mbps", "rate = \"2Mbps\""),
        ("tcp.mss", "500", "mss=500"),
        ("station.near.tcp", "new-reno", "tcp = \"new-reno"),
        ("station.near.radio.power", "3dBm", "power = \"3dBm\""),
    ] {
        let text = set(ONE_LINK, key, value).to_toml();
        assert!(text.contains(found), "{key}: {text}");
    }
}

#[test]
fn a_key_of_one_of_several_changes_that_one() {
    let scenario = set(TWO_LINKS, "link.second.loss", "5%");
    assert!(scenario.links[0].both.loss.is_none());
    assert!(scenario.links[1].both.loss.is_some());
    let scenario = set(TWO_LINKS, "app.ping.interval", "50ms");
    assert!(scenario.apps[0].interval.is_none());
    assert!(scenario.apps[1].interval.is_some());
    let scenario = set(TWO_LINKS, "flow.echo.weight", "3");
    assert!(scenario.to_toml().contains("weight = 3"), "{}", scenario.to_toml());
}

#[test]
fn a_setting_of_tcp_leaves_the_others() {
    let scenario = set(TWO_LINKS, "station.a.tcp.sack", "on");
    let text = scenario.to_toml();
    assert!(
        text.contains("new-reno") && text.contains("mss=1000") && text.contains("sack=on"),
        "{text}"
    );
}

#[test]
fn a_value_for_both_directions_wins_over_one_of_them() {
    let scenario = set(TWO_LINKS, "link.first.ber", "1e-6");
    assert!(scenario.links[0].uplink.ber.is_none());
}

#[test]
fn an_unknown_key_is_named_with_the_nearest() {
    for (text, key, said) in [
        (ONE_LINK, "link.bre", "unknown key \"link.bre\": did you mean \"link.ber\"?"),
        (ONE_LINK, "los", "did you mean \"loss\"?"),
        (ONE_LINK, "lnik.ber", "did you mean \"link.ber\"?"),
        (ONE_LINK, "stations.near.mss", "did you mean \"station.near.tcp.mss\"?"),
        (ONE_LINK, "station.near.mss", "did you mean \"station.near.tcp.mss\"?"),
        (ONE_LINK, "mss", "did you mean \"tcp.mss\"?"),
        (ONE_LINK, "station", "write one such as tcp.mss"),
        (TWO_LINKS, "bre", "did you mean \"ber\"? name one of first, second"),
        (ONE_LINK, "link.near-fra.ber", "there is no link \"near-fra\", but \"near-far\""),
        (ONE_LINK, "station.near.tcp.msss", "did you mean \"station.near.tcp.mss\"?"),
        (ONE_LINK, "seed", "--seeds"),
        (ONE_LINK, "flow.video.weight", "the scenario has no flow"),
        (TWO_LINKS, "link.ber", "name one of first, second, or * for all"),
        (TWO_LINKS, "rate", "name one of first, second, or * for all"),
        (TWO_LINKS, "app.size", "write app.N.size"),
        (TWO_LINKS, "app.3.size", "there is no app \"3\""),
        (TWO_LINKS, "", "known are"),
    ] {
        let refusal = refusal(text, key);
        assert!(refusal.contains(said), "{key}: {refusal}");
    }
}

#[test]
fn a_value_that_cannot_be_is_named_with_the_key() {
    let mut scenario = read(ONE_LINK);
    let key = ScenarioKey::find(&scenario, "link.ber").unwrap();
    let error = key.set(&mut scenario, "much").unwrap_err().to_string();
    assert!(error.starts_with("\"much\" is no value of link.ber: "), "{error}");
    let key = ScenarioKey::find(&scenario, "tcp.mss").unwrap();
    let error = key.set(&mut scenario, "7").unwrap_err().to_string();
    assert!(error.contains("88 to 65535"), "{error}");
}

#[test]
fn a_time_needs_its_unit_as_in_an_option() {
    let mut scenario = read(ONE_LINK);
    let key = ScenarioKey::find(&scenario, "lifetime").unwrap();
    let error = key.set(&mut scenario, "5").unwrap_err().to_string();
    assert!(error.ends_with("write its unit: 5s or 5ms"), "{error}");
    assert!(key.set(&mut scenario, "5ms").is_ok());
}

proptest! {
    #[test]
    fn any_key_and_value_are_taken_or_refused(key in "[a-z.*-]{0,24}", value in ".{0,12}") {
        for text in [ONE_LINK, TWO_LINKS] {
            let mut scenario = read(text);
            if let Ok(key) = ScenarioKey::find(&scenario, &key) {
                let _ = key.set(&mut scenario, &value);
            }
        }
    }
}
