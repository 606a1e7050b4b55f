use proptest::prelude::*;

use super::*;

const SCENARIO: &str = r#"
format = 1
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
stations = ["near", "far"]
"#;

fn parse(text: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::parse("test.toml", SCENARIO).expect("a scenario");
    Variation::parse(&scenario, text).map(|it| it.values).map_err(|error| error.to_string())
}

#[test]
fn values_are_a_list_or_a_range() {
    for (text, values) in [
        ("policy=bold,flex", "bold flex"),
        ("policy = bold , flex", "bold flex"),
        ("ber=1e-6..1e-3:log4", "1e-6 1e-5 1e-4 0.001"),
        ("rate=1Mbps..10Mbps:lin4", "1Mbps 4Mbps 7Mbps 10Mbps"),
        ("rate=1..10Mbps:lin4", "1Mbps 4Mbps 7Mbps 10Mbps"),
        ("delay=40ms..10ms:lin3", "40ms 25ms 10ms"),
        ("loss=0%..10%:lin3", "0% 5% 10%"),
        ("mtu=256..1500:log4", "256 462 832 1500"),
        ("mtu=1000..1001:lin5", "1000 1001"),
        ("mtu=500,500,900", "500 900"),
        ("tcp=new-reno, mss=500; cubic", "new-reno, mss=500|cubic"),
        ("tcp=new-reno, mss=500;", "new-reno, mss=500|"),
    ] {
        let separator = if values.contains('|') { '|' } else { ' ' };
        let expected = values.split(separator).filter(|it| !it.is_empty());
        let expected: Vec<&str> = expected.collect();
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
    assert_eq!(parse("ber=1e-6..1e-3:log7").unwrap()[1], "3.16228e-6");
}

#[test]
fn what_makes_no_values_is_refused_with_the_fix() {
    for (text, said) in [
        ("ber", "write KEY=VALUES"),
        ("ber=", "a value is empty"),
        ("ber=1e-5,,1e-4", "a value is empty"),
        ("ber=1e-6..1e-3:log1", "write logN with N from 2"),
        ("ber=1e-6..1e-3:log", "write logN with N from 2"),
        ("ber=0..1e-3:log3", "use lin"),
        ("rate=1kbps..1Mbps:lin3", "different units: write both in Mbps"),
        ("rate=1Mbps..10:lin3", "different units: write both in Mbps"),
        ("tcp=sack;;", "a value is empty"),
        ("ber=low..high:lin3", "\"low\" is no number"),
        ("ber=1e-6,much", "\"much\" is no value of ber"),
        ("mtu=10..1500:lin3", "68 to 65535"),
        ("mtu=68..1500:lin99999", "10000"),
        ("bre=1", "did you mean \"ber\"?"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn a_number_ends_where_its_unit_begins() {
    for (text, value, unit) in [
        ("1e-6", 1e-6, ""),
        ("10Mbps", 10.0, "Mbps"),
        ("5e", 5.0, "e"),
        ("-3dBm", -3.0, "dBm"),
        ("4 %", 4.0, "%"),
    ] {
        assert_eq!(number(text), Ok((value, unit)));
    }
    assert!(number("").is_err() && number("inf").is_err() && number("é").is_err());
}

/// Texts that look like ranges.
const RANGES: &str =
    "(ber|mtu|rate|x)=[0-9e.+-]{0,8}\\.\\.[0-9e.+-]{0,8}[a-zA-Z%]{0,4}:l(og|in)[0-9]{0,3}";

proptest! {
    #[test]
    fn any_text_is_values_or_an_error(text in "\\PC{0,30}", range in RANGES) {
        let _ = parse(&text);
        let _ = parse(&range);
    }

    #[test]
    fn a_range_begins_and_ends_at_its_ends(
        from in 1u32..1000,
        to in 1001u32..100_000,
        count in 2u32..50,
    ) {
        for scale in ["lin", "log"] {
            let values = values_of(&format!("{from}..{to}:{scale}{count}"), false).unwrap();
            prop_assert_eq!(values.len(), count as usize);
            prop_assert_eq!(&values[0], &from.to_string());
            prop_assert_eq!(values.last().unwrap(), &to.to_string());
        }
    }
}
