use crate::Scenario;

/// The refusal of a code on a link with a flow of this lifetime, if there is one.
fn refusal(fec: &str, lifetime: &str) -> Option<String> {
    let stations = "[[station]]\nname = \"a\"\n[[station]]\nname = \"b\"\n";
    let text = format!(
        "format = 1\n{stations}[[link]]\nstations = [\"a\", \"b\"]\n{fec}\n\
         [[flow]]\nname = \"file\"\n[[flow]]\nname = \"voice\"\nlifetime = \"{lifetime}\"\n"
    );
    Scenario::parse("t.toml", &text).err().map(|error| error.to_string())
}

#[test]
fn no_code_waits_longer_than_the_shortest_lifetime() {
    for (fec, lifetime, fix) in [
        ("fec = \"8/12\"", "20ms", "\"8/12:20ms\""),
        ("downlink.fec = \"8/12\"", "20ms", "waits 40ms"),
        ("fec = \"8/12,interleave:4\"", "100ms", "\"8/12:100ms,interleave:4\""),
        ("fec = \"window:32:25%:41ms\"", "40ms", "\"window:32:25%:40ms\""),
        ("fec = \"8/12:5ms\"", "2ns", "write \"8/12:2ns\" or less"),
        (
            "fec = \"8/12:5ms\"",
            "1ns",
            "1ns: no code is that fast, so give the flow more, such as 5ms",
        ),
    ] {
        let said = refusal(fec, lifetime).unwrap_or_default();
        assert!(said.contains(fix) && said.contains("of flow \"voice\""), "{fec}: {said}");
    }
    for (fec, lifetime) in [
        ("fec = \"8/12:20ms\"", "20ms"),
        ("fec = \"8/12,interleave:4\"", "160ms"),
        ("fec = \"window:32:25%:40ms\"", "40ms"),
        ("loss = 0.1", "20ms"),
    ] {
        assert_eq!(refusal(fec, lifetime), None, "{fec}");
    }
}
