use windfall_base::{Probability, Seed};
use windfall_channel::{AirConfig, BurstWindow, Model, Truncation};
use windfall_files::traces::error_trace::TraceHeader;

use super::*;
use crate::{synthesize_bits, synthesize_frames};

fn p(value: f64) -> Probability {
    Probability::new(value).expect("a probability")
}

/// Tells whether `share` of `n` trials lies within 4.5 standard errors of `p`.
fn is_near(share: f64, p: f64, n: f64) -> bool {
    (share - p).abs() < 4.5 * (p * (1.0 - p) / n).sqrt()
}

#[test]
fn counts_are_exact() {
    let header = TraceHeader { frame_length: Some(10), ..TraceHeader::default() };
    let mut trace = ErrorTrace::new(header);
    trace.push_ok(3);
    trace.push(Fault::Lost, 2);
    trace.push(Fault::Damaged { truncated: Some(40), inverted: [1, 2, 9].into() }, 1);
    trace.push_ok(3);
    trace.push(Fault::Lost, 1);
    let statistics = Statistics::of(&trace);
    let frames = statistics.frames.expect("it counts frames");
    assert_eq!((frames.count, frames.lost, frames.truncated, frames.corrupted), (10, 3, 1, 0));
    assert_eq!((frames.whole, frames.loss_bursts.sum, frames.loss_bursts.count), (6, 3, 2));
    assert_eq!((frames.fault_bursts.longest, frames.gaps.sum, frames.gaps.count), (3, 3, 1));
    let bits = statistics.bits;
    assert_eq!((bits.inverted, bits.arrived), (3, Some(6 * 80 + 40)));
    assert_eq!((bits.bursts.count, bits.bursts.longest, bits.gaps.sum), (2, 2, 6));
    assert_eq!(bits.rate_in_damaged, Some(3.0 / 40.0));
    assert_eq!(bits.span, Some(9.0 / 80.0));
    assert_eq!(bits.surviving_blocks, Some(0.0));
    assert_eq!(bits.places.iter().sum::<u64>(), 3);
    let shares: f64 = frames.loss_course.iter().sum();
    assert!(shares > 0.0 && frames.loss_course.len() == 64);
}

#[test]
fn frames_are_counted_as_in_table_1_and_a_byte_that_is_cut_is_missing_whole() {
    let header = TraceHeader { frame_length: Some(10), ..TraceHeader::default() };
    let mut trace = ErrorTrace::new(header);
    trace.push(Fault::Lost, 2);
    trace.push(Fault::Damaged { truncated: Some(43), inverted: [1, 2, 41].into() }, 1);
    trace.push(Fault::Damaged { truncated: None, inverted: [5].into() }, 1);
    trace.push_ok(4);
    let statistics = Statistics::of(&trace);
    let frames = statistics.frames.as_ref().expect("it counts frames");
    assert_eq!((frames.lost, frames.truncated, frames.corrupted, frames.whole), (2, 1, 1, 4));
    let bits = &statistics.bits;
    assert_eq!((bits.inverted, bits.arrived), (3, Some(5 * 80 + 40)), "{bits:?}");
    let text = statistics.to_text();
    for line in [
        "  lost                   2  25.0000 %",
        "  truncated              1  16.6667 % of those not lost",
        "  corrupted              1  20.0000 % of those neither lost nor truncated",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_trace_in_which_all_is_lost_has_its_frame_length() {
    let header = TraceHeader { frame_length: Some(10), ..TraceHeader::default() };
    let mut trace = ErrorTrace::new(header);
    trace.push(Fault::Lost, 5);
    let statistics = Statistics::of(&trace);
    assert_eq!((statistics.bits.arrived, statistics.bits.rate), (Some(0), None));
    let text = statistics.to_text();
    assert!(text.contains("  of arrived             0  no bit arrived"), "{text}");
    assert!(!text.contains("no frame length"), "{text}");
}

#[test]
fn the_numbers_are_those_of_the_model() {
    let models = vec![
        Model::Loss(p(0.1)),
        Model::BitErrors(p(1e-4)),
        Model::Truncation(Truncation { probability: p(0.05), least: 0 }),
    ];
    let config = AirConfig { models, ..AirConfig::default() };
    let trace = synthesize_frames(&config, Seed(5), 20_000, 1500, "test");
    let statistics = Statistics::of(&trace);
    let frames = statistics.frames.expect("it counts frames");
    assert!(is_near(frames.lost as f64 / 20_000.0, 0.1, 20_000.0));
    let arrived = 20_000.0 - frames.lost as f64;
    assert!(is_near(frames.truncated as f64 / arrived, 0.05, arrived));
    // The bursts of independent losses are geometric: 1 / (1 - p), deviation sqrt(p) / (1 - p).
    let deviation = 0.1_f64.sqrt() / 0.9 / (frames.loss_bursts.count as f64).sqrt();
    assert!((frames.loss_bursts.mean() - 1.0 / 0.9).abs() < 4.5 * deviation);
    let bits = statistics.bits.arrived;
    let rate = statistics.bits.rate;
    assert!(is_near(rate.expect("a length"), 1e-4, bits.expect("a length") as f64));
}

#[test]
fn localised_and_frame_wide_damage_are_told_apart() {
    let window = BurstWindow { probability: p(1.0), bits: 256, rate: p(0.1) };
    let local = Statistics::of(&synthesize_frames(
        &AirConfig::of(Model::BurstWindow(window)),
        Seed(1),
        500,
        1500,
        "",
    ));
    assert!(local.bits.span < Some(0.03) && local.bits.surviving_blocks > Some(0.94));
    assert!(local.to_text().contains("localised"));
    let wide = AirConfig::of(Model::BitErrors(p(0.01)));
    let wide = Statistics::of(&synthesize_frames(&wide, Seed(1), 500, 1500, ""));
    assert!(wide.bits.span > Some(0.9) && wide.bits.surviving_blocks < Some(0.2));
    assert!(wide.to_text().contains("frame-wide"));
}

#[test]
fn few_independent_errors_are_not_localised() {
    for (seed, rate) in [(1, 1e-5), (2, 1e-5), (3, 1e-4), (4, 3e-4)] {
        let independent = AirConfig::of(Model::BitErrors(p(rate)));
        let trace = synthesize_frames(&independent, Seed(seed), 4000, 1500, "");
        let bits = Statistics::of(&trace).bits;
        let span = bits.span.expect("damage");
        let expected = bits.independent_span.expect("damage");
        assert!((span / expected - 1.0).abs() < 0.25, "{rate}: {span} {expected}");
        assert!(Statistics::of(&trace).to_text().contains("frame-wide"), "{rate}");
    }
}

#[test]
fn bit_traces_have_no_frames() {
    let config = AirConfig::of(Model::BitErrors(p(0.01)));
    let trace = synthesize_bits(&config, Seed(1), 1_000_000, "").expect("a model of bits");
    assert_eq!(trace.len(), 1_000_000);
    let statistics = Statistics::of(&trace);
    assert_eq!(statistics.frames, None);
    assert!(is_near(statistics.bits.rate.expect("bits"), 0.01, 1e6));
    let lossy = AirConfig::of(Model::Loss(p(0.1)));
    assert!(synthesize_bits(&lossy, Seed(1), 10, "").is_err());
}

#[test]
fn a_trace_without_length_says_so() {
    let mut trace = ErrorTrace::new(TraceHeader::default());
    trace.push_ok(1);
    assert!(Statistics::of(&trace).to_text().contains("no frame length"));
}
