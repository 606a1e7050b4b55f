use windfall_base::Seed;

use crate::flags::without_span;
use crate::wifi::{Radio, StationRadio};
use crate::{
    App, Direction, Flow, Link, LinkKind, PolicyKind, Scenario, ScenarioOptions, Settings,
};
use windfall_link::Arq;

const GOOD: &str = r#"
format = 1
seed = 42
duration = "2s"

[[station]]
name = "near"

[[station]]
name = "far"

[[link]]
name = "air"
stations = ["near", "far"]
rate = "10Mbps"
delay = 5
ber = 1e-5
burst = "5/100"
gemodel = "1% 10%"
arq = 7
queue = "100,64kB"

[link.downlink]
arq = "persistent"
range = "28..1500"
expose = ["header", "control"]

[[app]]
kind = "cbr"
station = "near"
to = "far"
rate = "64kbps"
"#;

fn complaint(text: &str) -> String {
    Scenario::parse("a.toml", text).expect_err("must be refused").to_string()
}

/// The complaint about `GOOD` with one piece of it replaced.
fn complaint_with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old));
    complaint(&GOOD.replacen(old, new, 1))
}

/// Checks that each change of a piece of `GOOD` is refused, in one line that has the third text.
fn check_complaints(cases: &[(&str, &str, &str)]) {
    for (old, new, expected) in cases {
        let message = complaint_with(old, new);
        assert!(message.contains(expected), "{new}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_file_reads_back_as_it_was_written() {
    let scenario = Scenario::parse("a.toml", GOOD).expect("good");
    let text = scenario.to_toml();
    let again = Scenario::parse("b.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again, scenario);
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_key() {
    assert_eq!(
        complaint_with("rate =", "ratte ="),
        "a.toml:15: unknown key \"ratte\": did you mean \"rate\"?"
    );
    let far_off = complaint_with("name = \"air\"", "colour = \"air\"");
    assert!(far_off.starts_with("a.toml:13: unknown key \"colour\": the keys"), "{far_off}");
}

/// The keys that an unknown one is told of are all those, and no others, that a change takes.
#[test]
fn an_unknown_key_of_a_change_names_the_keys_of_a_change() {
    for (table, prefix) in [
        ("[[change]]\nat = \"1s\"\n", ""),
        ("[[change]]\nat = \"1s\"\n[change.uplink]\n", "uplink."),
    ] {
        let message = complaint(&format!("{GOOD}{table}colour = 3\n"));
        let listed = message.split_once("the keys allowed here are ").expect("a list").1;
        let listed: Vec<&str> = listed.split(", ").collect();
        for setting in Direction::TABLE {
            let name = setting.name;
            // Whatever else is wrong with it, the key itself is not.
            let text = format!("{GOOD}[[change]]\nat = \"1s\"\n{prefix}{name} = {{}}\n");
            let value = match setting.example {
                "true" | "false" | "on" | "off" => "true".to_owned(),
                example => format!("{example:?}"),
            };
            let complaint = Scenario::parse("a.toml", &text.replace("{}", &value)).err();
            let words = format!("a change says what the wire and the air do: set {name} on");
            let is_foreign = complaint.is_some_and(|it| it.to_string().contains(&words));
            assert_eq!(listed.contains(&name), !is_foreign, "{prefix}{name}");
        }
        assert_eq!(listed.contains(&"link"), prefix.is_empty());
        assert!(listed.contains(&"loss") && !listed.contains(&"fec"), "{listed:?}");
    }
}

#[test]
fn impossible_values_name_their_line_the_value_and_the_fix() {
    let cases = [
        ("\"10Mbps\"", "\"0.2bps\"", "a.toml:15: \"0.2bps\" is not a rate: a rate is"),
        ("\"10Mbps\"", "\"10Mbqs\"", "a.toml:15: \"10Mbqs\" is not a rate: use one of the units"),
        ("1e-5", "1.5", "a.toml:17: \"1.5\" is not a probability: it must lie in 0..1"),
        ("delay = 5", "delay = \"-5ms\"", "a.toml:16: \"-5ms\" is not a time"),
        ("5/100", "101/100", "a.toml:18: \"101/100\" is not a burst pattern"),
        ("arq = 7", "arq = 300", "a.toml:20: \"300\" is not a retransmission policy: use none"),
        (
            "\"far\"]",
            "\"farr\"]",
            "a.toml:14: no station is called \"farr\": did you mean \"far\"?",
        ),
        (
            "name = \"far\"",
            "name = \"Near\"",
            "another station is called \"near\", whatever the case",
        ),
        ("format = 1", "format = 2", "a.toml:2: format 2 is unknown"),
        ("format = 1", "format = \"1\"", "\"1\" is not allowed here: write 1, without quotes"),
        ("name = \"air\"", "kind = \"wifi\"", "a.toml:13: unknown word \"wifi\" for kind: "),
        ("\"cbr\"", "\"ping\"", "a.toml:32: ping has no key \"rate\": remove it"),
        (
            "\"cbr\"",
            "\"pign\"",
            "a.toml:29: unknown word \"pign\" for kind: did you mean \"ping\"?",
        ),
        ("\"persistent\"", "true", "a.toml:24: true is not allowed here: write text in quotes"),
        ("rate = \"64kbps\"", "", "a.toml:29: cbr takes either a rate or an interval"),
        (
            "rate = \"64kbps\"",
            "rate = \"64kbps\"\narrivals = \"on-off\"\non = \"1s\"",
            "a.toml:33: cbr on and off needs both times: add off = \"100ms\"",
        ),
        (
            "rate = \"64kbps\"",
            "rate = \"64kbps\"\noff = \"1s\"",
            "a.toml:33: off belongs to on-off arrivals: add arrivals = \"on-off\"",
        ),
        (
            "duration = \"2s\"",
            "duration = \"0s\"",
            "a.toml:4: duration of 0s is out of range: use a time from 1ns to 1000000000s",
        ),
        (
            "seed = 42",
            "sysctl = [\"net.ipv4.tcp_sack=0\", \"kernel.hostname=x\"]",
            "a.toml:3: \"kernel.hostname=x\" is not a kernel parameter of a station: a station has",
        ),
        ("seed = 42", "sysctl = [\"net=1\"]", "\"net=1\" is not a kernel parameter of a station"),
        ("seed = 42", "sysctl = [\"net..x=1\"]", "only under net., such as net.ipv4.tcp_sack=0"),
        ("seed = 42", "sysctl = [\"net/../x=1\"]", "only under net., such as net.ipv4"),
        ("format = 1", "", "the key \"format\" is missing: write `format = 1` first"),
        ("delay = 5", "rate = 5", "a.toml:16: the key rate is given twice: remove one"),
        (
            "delay = 5",
            "accept-damaged = on",
            "a.toml:16: on is not allowed here: write true or false",
        ),
        ("\"64kbps\"", "64kbps", "a.toml:32: 64kbps is not allowed here: write \"64kbps\""),
        ("delay = 5", "delay = 1e308", "a.toml:16: \"1e308\" is not a time"),
        ("queue = \"100,64kB\"", "queue = 1e308", "a.toml:21: \"1e308\" is not a queue"),
        ("queue = \"100,64kB\"", "queue = 0", "packets from 1 to 4294967295"),
        ("queue = \"100,64kB\"", "queue = \"mark:0\"", "a.toml:21: \"mark:0\" is not a queue"),
        ("delay = 5", "error-trace = \"\"", "a.toml:16: error-trace is empty: name a file"),
    ];
    check_complaints(&cases);
}

#[test]
fn what_is_generated_says_how_frames_are_repeated() {
    let arq = |flags: ScenarioOptions| {
        let scenario = flags.scenario().spelled_out();
        scenario.links[0].both.arq.as_ref().map(|arq| arq.get_ref().to_string())
    };
    let with = |link: Link| ScenarioOptions { link, ..ScenarioOptions::default() };
    let kind = |kind| with(Link { kind: Some(without_span(kind)), ..Link::unset() });
    let policy = Some(without_span(Some(PolicyKind::Flex.into())));
    let coded = Direction { policy, ..Direction::default() };
    let said = Direction { arq: Some(without_span(Arq::after(3))), ..Direction::default() };
    assert_eq!(arq(ScenarioOptions::default()).as_deref(), Some("none"));
    assert_eq!(arq(kind(LinkKind::Wavelan)).as_deref(), Some("persistent"));
    assert_eq!(arq(with(Link { downlink: coded, ..Link::unset() })).as_deref(), Some("persistent"));
    assert_eq!(arq(with(Link { both: said, ..Link::unset() })).as_deref(), Some("3"));
    assert_eq!(arq(kind(LinkKind::WifiG)), None);
}

#[test]
fn a_seed_beyond_the_numbers_of_toml_survives() {
    let text = GOOD.replacen("seed = 42", "seed = \"18446744073709551615\"", 1);
    let scenario = Scenario::parse("a.toml", &text).expect("good");
    assert_eq!(scenario.seed(), Seed(u64::MAX));
    assert_eq!(Scenario::parse("b.toml", &scenario.to_toml()), Ok(scenario));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = Scenario::parse("a.toml", &text);
    }

    #[test]
    fn no_damage_to_a_good_file_panics(at in 0..GOOD.len(), byte in 0u8..128) {
        let mut bytes = GOOD.as_bytes().to_vec();
        bytes[at] = byte;
        let _ = Scenario::parse("a.toml", &String::from_utf8(bytes).unwrap_or_default());
    }
}

#[test]
fn values_of_a_wrong_kind_are_refused_in_words_of_the_scenario() {
    let cases = [
        ("format = 1", "format = \"x\"", "write 1, without quotes"),
        (
            "delay = 5",
            "mtu = 70000",
            "70000 is not allowed here: write a whole number from 68 to 65535",
        ),
        ("delay = 5", "mtu = \"x\"", "write a whole number from 68 to 65535"),
        ("delay = 5", "accept-damaged = 3", "3 is not allowed here: write true or false"),
        ("delay = 5", "uplink = 3", "3 is not allowed here: write a table"),
        ("[\"near\", \"far\"]", "5", "5 is not allowed here: write a list in brackets"),
        ("[[link]]", "[link]", "there may be several: write [[link]]"),
    ];
    check_complaints(&cases);
}

/// The complaint about a whole number that no type of an integer takes, of each key with a range.
fn check_ranges<T: Settings>(table: &str) -> usize {
    let rows = T::TABLE.iter().filter(|it| it.range().is_some() && it.kind == "whole number");
    rows.map(|setting| {
        let text = format!("format = 1\n{table}\n{} = -1\n", setting.name);
        let range = setting.range().unwrap_or_default();
        let message = complaint(&text);
        let said = format!("-1 is not allowed here: write a whole number from {range}");
        assert!(message.contains(&said), "{text}: {message}");
    })
    .count()
}

#[test]
fn a_whole_number_that_cannot_be_is_told_the_range_of_its_key() {
    let of_links =
        check_ranges::<Link>("[[link]]") + check_ranges::<Radio>("[[link]]\n[link.radio]");
    let of_stations = check_ranges::<StationRadio>("[[station]]\n[station.radio]");
    let others = check_ranges::<Flow>("[[flow]]") + check_ranges::<App>("[[app]]");
    assert_eq!(of_links + of_stations + others, 20);
    let message = complaint("format = 1\n[[link]]\nradio = { channel = 500 }\n");
    assert!(message.contains("write a whole number from 1 to 14"), "{message}");
}

#[test]
fn a_word_that_is_like_no_other_is_told_those_that_there_are() {
    let flow = "format = 1\n[[flow]]\nname = \"v\"\nprotocol = ";
    let message = complaint(&format!("{flow}\"icmp\"\n"));
    assert!(message.ends_with("the words allowed here are tcp, udp, udplite"), "{message}");
    let message = complaint(&format!("{flow}\"udb\"\n"));
    assert!(message.ends_with("did you mean \"udp\"?"), "{message}");
}
