use proptest::collection::vec;
use proptest::prelude::*;
use windfall_base::{Duration, MemoryBudget, OverBudget, Seed};
use windfall_channel::{AirConfig, Model};

use super::*;
use crate::synthesize_frames;

const TIMING: LossTiming = LossTiming { interval: Duration::from_millis(1), seed: Seed(7) };

/// The default budget.
fn all() -> MemoryBudget {
    MemoryBudget::default()
}

#[test]
fn loss_lists_go_both_ways() {
    let trace = from_loss_list("# a comment\n0\n1\n1\n0\n", &mut all()).expect("a list");
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n1\n1\n0\n");
    let error = from_loss_list("0\n2\n", &mut all()).expect_err("2 is wrong").to_string();
    assert_eq!(error, "line 2: \"2\" is neither 0 (arrived) nor 1 (lost)");
    assert!(from_loss_list("", &mut all()).is_err());
}

#[test]
fn devourers_log_goes_both_ways() {
    let log = concat!(
        "{\"ev\":\"rx.frame\",\"len\":64,\"rssi\":[1,2]}\n\n",
        "{\"ev\":\"rx.corrupt\",\"len\":64,\"crc\":1,\"icv\":0}\n",
        "{\"ev\":\"tx.status\"}\n{\"ev\":\"rx.frame\",\"len\":64}\n",
    );
    let trace = from_devourer(log, &mut all()).expect("a log");
    assert_eq!(trace.header().frame_length, Some(64));
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n1\n0\n");
    let mut damaged = ErrorTrace::new(trace.header().clone());
    damaged.push_ok(1);
    damaged.push(Fault::Damaged { truncated: Some(83), inverted: [3].into() }, 1);
    damaged.push(Fault::Lost, 5);
    let log = "{\"ev\":\"rx.frame\",\"len\":64}\n{\"ev\":\"rx.corrupt\",\"len\":10,\"crc\":1}\n";
    assert_eq!(to_devourer(&damaged, &all()).expect("frames"), log);
    assert!(from_devourer("{\"ev\":\"other\"}\n", &mut all()).is_err());
    let error = from_devourer("hello", &mut all()).expect_err("no JSON").to_string();
    assert!(error.starts_with("line 1: \"hello\" is no JSON object"), "{error}");
}

#[test]
fn netems_loss_pattern_is_drawn_and_found_again() {
    let text = r#"{"RepeatedLossPatternConfig":{"count":0,"pattern":[
        {"StaticLossConfig":{"loss":[0.1,0.5,0.2],"duration":"60s"}},
        {"StaticLossConfig":{"loss":[0.1,0.5,0.2],"duration":{"secs":40,"nanos":0}}}]}}"#;
    let trace = from_netem(text, TIMING, &mut all()).expect("a pattern");
    assert_eq!((trace.len(), trace.header().seed), (100_000, Some(Seed(7))));
    let back: serde_json::Value =
        serde_json::from_str(&to_netem(&trace, TIMING.interval).expect("frames")).expect("JSON");
    let config = &back["StaticLossConfig"];
    assert_eq!(config["duration"]["secs"], 100);
    // About 83 000 frames after none, 8 600 after one, 4 300 after two: within 4.5 sigma.
    for (i, p, n) in [(0, 0.1, 83e3), (1, 0.5, 8.6e3), (2, 0.2, 4.3e3)] {
        let found = config["loss"][i].as_f64().expect("a number");
        let sigma = f64::sqrt(p * (1.0 - p) / n);
        assert!((found - p).abs() < 4.5 * sigma, "{i}: {found}");
    }
    for wrong in [
        r#"{"StaticLossConfig":{"loss":[1.5]}}"#,
        r#"{"StaticBwConfig":{}}"#,
        r#"{"StaticLossConfig":{"duration":"500us"}}"#,
        r#"{"StaticLossConfig":{"duration":"9999h"}}"#,
    ] {
        assert!(from_netem(wrong, TIMING, &mut all()).is_err(), "{wrong}");
    }
}

#[test]
fn traces_of_any_length_end() {
    let mut trace = from_loss_list("0\n", &mut all()).expect("a list");
    trace.push(Fault::Lost, 1 << 60);
    trace.push_ok(1 << 60);
    assert_eq!(to_loss_list(&trace, &all()), Err(ConvertError::TooLong(trace.len())));
    assert_eq!(to_devourer(&trace, &all()), Err(ConvertError::TooLong(trace.len())));
    let pattern = to_netem(&trace, Duration::from_millis(1)).expect("frames");
    assert!(pattern.contains("\"loss\":["), "{pattern}");
}

#[test]
fn converting_takes_bounded_memory() {
    let limit = 1_000_000;
    let refused = ConvertError::TooMuchMemory(OverBudget { limit });
    let small = || MemoryBudget::new(limit);
    let list = "0\n1\n".repeat(40_000);
    assert_eq!(from_loss_list(&list, &mut small()), Err(refused.clone()));
    let log = "{\"ev\":\"rx.frame\"}\n{\"ev\":\"rx.corrupt\"}\n".repeat(40_000);
    assert_eq!(from_devourer(&log, &mut small()), Err(refused.clone()));
    // A pattern of a few bytes that has a million bursts, and a trace of a few that has a million
    // frames.
    let pattern = r#"{"StaticLossConfig":{"loss":[0.9,0],"duration":"1000s"}}"#;
    assert_eq!(from_netem(pattern, TIMING, &mut small()), Err(refused.clone()));
    assert!(from_netem(pattern, TIMING, &mut all()).is_ok());
    let mut long = from_loss_list("0\n", &mut all()).expect("a list");
    long.push_ok(1_000_000);
    assert_eq!(to_loss_list(&long, &small()), Err(refused.clone()));
    assert_eq!(to_devourer(&long, &small()), Err(refused));
    assert_eq!(to_loss_list(&long, &all()).map(|text| text.len()), Ok(2_000_002));
}

proptest! {
    #[test]
    fn what_tells_only_of_losses_survives_a_loss_list(fates in vec(any::<bool>(), 1..200)) {
        let text: String = fates.iter().map(|lost| if *lost { "1\n" } else { "0\n" }).collect();
        let trace = from_loss_list(&text, &mut all()).expect("a list");
        prop_assert_eq!(to_loss_list(&trace, &all()), Ok(text));
        to_netem(&trace, Duration::from_millis(1)).expect("frames");
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,100}") {
        let _ = from_loss_list(&text, &mut all());
        let _ = from_devourer(&text, &mut all());
        let _ = from_netem(&text, TIMING, &mut all());
    }

    #[test]
    fn damage_counts_as_loss_where_only_losses_are_known(seed: u64) {
        let config = AirConfig::of(Model::BitErrors("0.1%".parse().expect("a probability")));
        let trace = synthesize_frames(&config, Seed(seed), 50, 100, "");
        let list = to_loss_list(&trace, &all()).expect("frames");
        let lost = list.lines().filter(|line| *line == "1").count();
        prop_assert_eq!(lost, trace.entries().len());
    }
}

/// Column 1, with a sequence that may start over.
fn first(modulo: Option<u64>) -> SequenceColumn {
    let of = |number: u64| core::num::NonZeroU64::new(number).expect("above 0");
    SequenceColumn { column: of(1), modulo: modulo.map(of) }
}

#[test]
fn numbers_that_are_missing_in_a_table_are_lost_frames() {
    let table = "# seq rssi\n7 -60\n8, -61\n8;-61\n\n 12\t-70\n";
    let trace = from_sequence(table, first(None), &mut all()).expect("a table");
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n0\n1\n1\n1\n0\n");
    let second = SequenceColumn { column: core::num::NonZeroU64::new(2).unwrap(), modulo: None };
    let trace = from_sequence("a 1\nb 3\n", second, &mut all()).expect("a table");
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n1\n0\n");
    let trace = from_sequence("4094\n1\n", first(Some(4096)), &mut all()).expect("it wraps");
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n1\n1\n0\n");
    for (table, modulo, part) in [
        ("10\n12\n11\n13\n", Some(4_096), "a number before that above it"),
        ("5\n4\n", None, "line 2: \"4\" has a number before that above it"),
        ("5\n4096\n", Some(4096), "line 2: \"4096\" has a number that is not below"),
        ("1 2\nx 3\n", None, "line 2: \"x 3\" has no whole number in its column"),
        (",\n", None, "line 1: \",\" has no such column"),
        ("0\n18446744073709551615\n", None, "and a line for each is too much"),
        ("# nothing\n", None, "the file tells of no frames"),
    ] {
        let error = from_sequence(table, first(modulo), &mut all()).expect_err(table).to_string();
        assert!(error.contains(part), "{table}: {error}");
    }
}

#[test]
fn tables_of_frames_have_the_forms_of_other_tables() {
    let lost = |table: &str, column: &str| {
        let rate = "54Mbps".parse().expect("a rate");
        let noise = Some("-95dBm".parse().expect("a power"));
        let column = column.to_owned();
        let frames = SignalFrames { column, noise, length: 1500, rate, seed: Seed(1) };
        let text = text(table.as_bytes()).expect("text");
        let trace = from_signal(text, &frames, &mut all()).expect(table);
        to_loss_list(&trace, &all()).expect("frames").replace('\n', "")
    };
    for (table, column) in [
        ("\u{feff}rssi\n-50\n-94\n-\n", "rssi"),
        ("t;rssi\n0,5;-50,5\n1;-94,5\n2;nan\n", "rssi"),
        ("t;rssi\n0,5;-50,5\n1;-94,5\n2;nan\n", "2"),
        ("0,-50\n1,-94\n2,-\n", "2"),
        ("2020-02-27 17:30:15,-50\n2020-02-27 17:30:16,-94\n2020-02-27 17:30:17,\n", "2"),
        ("% t RSSI\n0 -50\n1 -94\n2 -\n", "rssi"),
    ] {
        assert_eq!(lost(table, column), "011", "{table}");
    }
    let table = "seq,rssi\n1,-50\n2,-50\n4,-50\n";
    let trace = from_sequence(table, first(None), &mut all()).expect("a table");
    assert_eq!(to_loss_list(&trace, &all()).expect("frames"), "0\n0\n1\n0\n");
    assert!(from_sequence("1\nseq\n", first(None), &mut all()).is_err(), "names come first");
}

/// Frames between two stations of a configuration of wmediumd.
fn between(from: &str, to: &str) -> MediumFrames {
    let rate = "54Mbps".parse().expect("a rate");
    let path = (from.to_owned(), to.to_owned());
    MediumFrames { path, count: 20_000, length: 1500, rate, seed: Seed(3) }
}

const PROBABILITIES: &str = "\
ifaces : { /* three */
  ids = [\"02:00:00:00:00:00\", \"02:00:00:00:01:00\", \"02:00:00:00:0A:00\"]; };
model : { type = \"prob\"; // of an error
  default_prob = 1.0;
  links = ( (0, 1, 0.25), (1, 0, 0.0), # asymmetric
            (0, 2, 0.5) ); };
";

#[test]
fn the_matrix_of_wmediumd_is_drawn_path_by_path() {
    let lost = |text: &str, from: &str, to: &str| {
        let trace = from_wmediumd(text, &between(from, to), &mut all()).expect(text);
        let lost: u64 = trace.entries().iter().map(|it| it.count).sum();
        assert_eq!(trace.len(), 20_000);
        lost as f64 / 20_000.0
    };
    // Four standard deviations of 20 000 draws.
    let near = |found: f64, p: f64| {
        let sigma = f64::sqrt(p * (1.0 - p) / 20e3);
        assert!((found - p).abs() <= 4.0 * sigma, "{found} for {p}");
    };
    near(lost(PROBABILITIES, "0", "1"), 0.25);
    near(lost(PROBABILITIES, "1", "0"), 0.0);
    // One direction alone counts for both; what is not listed has the default.
    near(lost(PROBABILITIES, "02:00:00:00:0a:00", "0"), 0.5);
    near(lost(PROBABILITIES, "1", "2"), 1.0);
    let snr = |links: &str| format!("ifaces = {{ ids = (\"a\", \"b\"); links = ({links}); }}");
    near(lost(&snr("(0, 1, 40)"), "a", "b"), 0.0);
    near(lost(&(snr("(0, 1, 40)") + " model : { fading_coefficient = 0; };"), "a", "b"), 0.0);
    near(lost(&snr("(0, 1, -10)"), "b", "a"), 1.0);
    let rate = windfall_wire_link::ieee80211::PhyRate::Ofdm54;
    let loss =
        |snr: f64| 1.0 - windfall_phy::formula::success(rate, 10_f64.powf(snr / 10.0), 12_000.0);
    let mut ratios = (150..400).map(|tenths| f64::from(tenths) / 10.0);
    let ratio = ratios.find(|snr| (0.2..0.8).contains(&loss(*snr))).expect("a slope");
    near(lost(&snr(&format!("(0, 1, {ratio})")), "a", "b"), loss(ratio));
}

#[test]
fn whole_numbers_and_texts_are_written_in_all_ways_of_libconfig() {
    let of = |text: &str| from_wmediumd(text, &between("0", "1"), &mut all());
    let plain = "ifaces : { ids = [\"a1\", \"b\", \"c\"]; };\
                 model : { type = \"prob\"; links = ((0, 1, 0.25), (0, 2, 1)); };";
    let expected = of(plain).expect(plain);
    for (from, to) in [
        ("(0, 1,", "(0L, 0x1,"),
        ("(0, 1,", "(0x0LL, 1LL,"),
        ("(0, 1,", "(0b0, 0o1,"),
        ("(0, 2, 1)", "(0, 0X2L, 0x1)"),
        ("0.25", "2.5E-1"),
        ("\"a1\"", "\"a\" \"1\""),
        ("\"a1\"", "\"a\" /* and */\n \"\" # then\n\"1\""),
        ("\"prob\"", "\"pr\"\"ob\""),
    ] {
        let text = plain.replacen(from, to, 1);
        assert_ne!(text, plain);
        let trace = of(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(trace.entries(), expected.entries(), "{text}");
    }
    for wrong in ["0x", "0xg", "0x-1", "1LLL", "0.5L", "L", "0b2"] {
        let text = plain.replacen("(0, 1,", &format!("(0, {wrong},"), 1);
        assert!(of(&text).is_err(), "{text}");
    }
}

#[test]
fn what_wmediumd_would_refuse_is_named() {
    let known = "ifaces : { ids = [\"a\", \"b\"];";
    for (text, part) in [
        ("model : { type = \"prob\"; };".to_owned(), "the file has no ifaces.ids"),
        (format!("{known} links = ((0, 2, 3)); }};"), "is no link of 2 stations"),
        (format!("{known} count = 3; }};"), "ifaces.count is 3, and ifaces.ids has 2"),
        (format!("{known} }}; model : {{ type = \"path_loss\"; }};"), "from positions"),
        (format!("{known} }}; model : {{ type = \"other\"; }};"), "is neither snr nor prob"),
        (
            format!("{known} }}; model : {{ type = \"prob\"; links = ((0, 1, 2.0)); }};"),
            "(0, 1, 2) is no link of 2 stations: write (FROM, TO, VALUE), numbers from 0 and a \
             probability 0..1",
        ),
        (
            format!("{known} }}; model : {{ type = \"snr\"; fading_coefficient = 6; }};"),
            "model.fading_coefficient is not used here",
        ),
        (format!("{known} enable_interference = true; }};"), "ifaces.enable_interference is not"),
        (format!("{known} }}; foo = 3;"), "foo is not used here"),
        (format!("{known}\n links = ((0, 1 3)); }};"), "line 2: \"links = ((0, 1 3)); };\" lacks"),
        (known.to_owned(), "ends within a group"),
        ("/* ifaces".to_owned(), "begins a comment without an end"),
        ("a = \"b".to_owned(), "begins a text without an end"),
        ("}".to_owned(), "closes what was never opened"),
        (format!("a = {}", "(".repeat(100)), "too deeply"),
        ("a = b;".to_owned(), "has no number, text or list here"),
    ] {
        let error = from_wmediumd(&text, &between("a", "b"), &mut all()).expect_err(&text);
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    let odd = MediumFrames { rate: "7Mbps".parse().expect("a rate"), ..between("a", "b") };
    let error = from_wmediumd(&format!("{known} }};"), &odd, &mut all()).expect_err("7 Mb/s");
    assert!(error.to_string().contains("802.11b/g has no rate of 7Mbps: use one of"), "{error}");
    for (from, to, part) in [("a", "c", "no station is called \"c\""), ("1", "b", "name two")] {
        let text = format!("{known} }};");
        let error = from_wmediumd(&text, &between(from, to), &mut all()).expect_err(&text);
        assert!(error.to_string().contains(part), "{error}");
    }
}

proptest! {
    #[test]
    fn any_sequence_is_found_again(steps in vec(0_u64..20, 1..200), start in 0_u64..4096) {
        let numbers = steps.iter().scan(start, |at, step| { *at += step; Some(*at) });
        let numbers: Vec<u64> = numbers.collect();
        let table = |modulo: u64| -> String {
            numbers.iter().map(|it| format!("{} -60\n", it % modulo)).collect()
        };
        let plain = from_sequence(&table(u64::MAX), first(None), &mut all()).expect("ascending");
        let wrapped = from_sequence(&table(4096), first(Some(4096)), &mut all()).expect("wraps");
        prop_assert_eq!(&plain, &wrapped);
        prop_assert_eq!(plain.len(), 1 + steps[1..].iter().sum::<u64>());
        let lost: u64 = plain.entries().iter().map(|it| it.count).sum();
        let gaps: u64 = steps[1..].iter().map(|step| step.saturating_sub(1)).sum();
        prop_assert_eq!(lost, gaps);
    }

    #[test]
    fn no_configuration_of_wmediumd_panics(text in "[a-z0-9 ={}()\\[\\];:,\"#/*\\n.-]{0,80}") {
        let _ = from_wmediumd(&text, &between("0", "1"), &mut all());
        let _ = from_sequence(&text, first(None), &mut all());
    }

    #[test]
    fn the_matrix_has_what_is_listed(p in 0.0..1.0_f64, from in 0_usize..3, to in 0_usize..3) {
        prop_assume!(from != to);
        let ids = "\"a\", \"b\", \"c\"";
        let text = format!(
            "ifaces = {{ ids = [{ids}] }} model = {{ type = \"prob\" links = (({from},{to},{p})) }}"
        );
        let frames = MediumFrames { count: 1, ..between(&from.to_string(), &to.to_string()) };
        let trace = from_wmediumd(&text, &frames, &mut all()).expect("a configuration");
        let workload = &trace.header().workload;
        let expected = windfall_base::Probability::new(p).expect("0..1").to_string();
        prop_assert!(workload.ends_with(&format!("probability {expected}")), "{}", workload);
    }
}
