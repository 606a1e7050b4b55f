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
