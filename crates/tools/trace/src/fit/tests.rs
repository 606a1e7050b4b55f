use windfall_base::Seed;
use windfall_channel::{AirConfig, Model};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Index, TraceHeader};

use super::*;
use crate::{synthesize_bits, synthesize_frames};

/// Tells whether `found` is within `share` of `truth`.
fn is_near(found: Probability, truth: Probability, share: f64) -> bool {
    (found.get() - truth.get()).abs() <= share * truth.get()
}

fn fit(trace: &ErrorTrace, level: FitLevel) -> Fit {
    Fit::of(&Steps::of(trace, level).expect("steps")).expect("a fit")
}

/// About 2 000 bursts of 5: the parameters have standard errors of 2 to 4 per cent.
#[test]
fn a_chain_of_frames_is_found_again() {
    let truth: GilbertElliott = "2% 20% 80% 0.5%".parse().expect("a model");
    let config = AirConfig::of(Model::FrameBursts(truth));
    let trace = synthesize_frames(&config, Seed(3), 100_000, 100, "");
    let fit = fit(&trace, FitLevel::Loss);
    let Candidate { model, log_likelihood, .. } = fit.full;
    assert!(is_near(model.p, truth.p, 0.15), "{model}");
    assert!(is_near(model.r, truth.r, 0.15), "{model}");
    assert!(is_near(model.bad, truth.bad, 0.1), "{model}");
    assert!(is_near(model.good, truth.good, 0.2), "{model}");
    assert!(log_likelihood >= super::log_likelihood(&Chain::of(&truth), &steps(&trace)));
    let report = fit.report(FitLevel::Loss);
    assert_eq!(report.best, "gilbert-elliott");
    assert!(report.option.starts_with("--gemodel \""), "{}", report.option);
    let levels =
        [FitLevel::Loss, FitLevel::Frame, FitLevel::Bit].map(|level| fit.report(level).level);
    assert_eq!(levels, ["loss", "frame", "bit"]);
}

fn steps(trace: &ErrorTrace) -> Steps {
    Steps::of(trace, FitLevel::Loss).expect("steps")
}

/// About 5 000 bursts of 50 bits in 5 million bits, in frames and as a stream.
#[test]
fn a_chain_of_bits_is_found_again() {
    let truth: GilbertElliott = "0.1% 2% 30% 0.001%".parse().expect("a model");
    let config = AirConfig::of(Model::BitBursts(truth));
    let frames = synthesize_frames(&config, Seed(4), 420, 1500, "");
    let stream = synthesize_bits(&config, Seed(4), 5_000_000, "").expect("a model of bits");
    for trace in [frames, stream] {
        let fit = fit(&trace, FitLevel::Bit);
        let model = fit.full.model;
        assert!(is_near(model.p, truth.p, 0.1), "{model}");
        assert!(is_near(model.r, truth.r, 0.1), "{model}");
        assert!(is_near(model.bad, truth.bad, 0.05), "{model}");
        // Some 50 errors fall into good stretches.
        assert!(is_near(model.good, truth.good, 0.8), "{model}");
        assert!(fit.report(FitLevel::Bit).option.starts_with("--bit-gemodel"));
    }
}

#[test]
fn simpler_models_win_where_they_suffice() {
    let loss = AirConfig::of(Model::Loss("10%".parse().expect("a probability")));
    let report = fit(&synthesize_frames(&loss, Seed(1), 50_000, 9, ""), FitLevel::Loss);
    assert_eq!(report.report(FitLevel::Loss).best, "independent");
    assert!(
        report.report(FitLevel::Loss).option.starts_with("--loss 9.")
            || report.report(FitLevel::Loss).option.starts_with("--loss 1.0")
    );
    let gilbert = AirConfig::of(Model::FrameBursts("1% 25%".parse().expect("a model")));
    let found = fit(&synthesize_frames(&gilbert, Seed(1), 50_000, 9, ""), FitLevel::Loss);
    assert_eq!(found.report(FitLevel::Loss).best, "gilbert");
}

/// The matrix powers give what single steps give.
#[test]
fn stretches_count_as_their_steps() {
    let steps = Steps { runs: vec![(3, 2), (11, 1), (5, 0)], count: 22, wrong: 3 };
    let chain = Chain { p: 0.1, r: 0.3, bad: 0.7, good: 0.02 };
    let single =
        [vec![(1, 0); 3], vec![(0, 1); 2], vec![(1, 0); 11], vec![(0, 1)], vec![(1, 0); 5]];
    let singles = Steps { runs: single.concat(), ..steps.clone() };
    let (one, likelihood) = chain.improved(&steps);
    let (other, same) = chain.improved(&singles);
    assert!((likelihood - same).abs() < 1e-12);
    for (a, b) in [(one.p, other.p), (one.r, other.r), (one.bad, other.bad), (one.good, other.good)]
    {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    // By hand: in one step of a chain that is wrong in the bad state alone, wrong means bad.
    let gilbert = Chain { p: 0.25, r: 0.5, bad: 1.0, good: 0.0 };
    let wrong = Steps { runs: vec![(0, 1)], count: 1, wrong: 1 };
    assert!((log_likelihood(&gilbert, &wrong) - (1.0_f64 / 3.0).ln()).abs() < 1e-12);
}

#[test]
fn what_cannot_be_fitted_says_why() {
    let mut trace = ErrorTrace::new(TraceHeader::default());
    trace.push_ok(9);
    assert_eq!(Fit::of(&steps(&trace)), Err(FitError::Uniform(9)));
    trace.push(Fault::Lost, 1);
    assert_eq!(Steps::of(&trace, FitLevel::Bit), Err(FitError::NoLength));
    let bits = ErrorTrace::new(TraceHeader { index: Index::Bit, ..TraceHeader::default() });
    assert_eq!(Steps::of(&bits, FitLevel::Frame), Err(FitError::NoFrames));
}

/// Counts the intervals of a fit that hold the parameters that they are of.
fn held(fit: &Candidate, truth: &GilbertElliott, free: usize) -> usize {
    let values = [truth.p, truth.r, truth.bad, truth.good].map(Probability::get);
    let pairs = fit.intervals.iter().zip(values).take(free);
    pairs.filter(|(interval, x)| interval.is_some_and(|[low, high]| low < *x && *x < high)).count()
}

#[test]
fn intervals_of_95_per_cent_hold_the_truth_that_often() {
    let independent: GilbertElliott = "2% 98% 100% 0%".parse().expect("a model");
    let simple: GilbertElliott = "2% 25% 100% 0%".parse().expect("a model");
    let full: GilbertElliott = "2% 20% 80% 0.5%".parse().expect("a model");
    let mut alone = 0;
    let mut two = 0;
    let mut four = 0;
    for seed in 0..40 {
        let steps = |model: &GilbertElliott, frames| {
            let config = AirConfig::of(Model::FrameBursts(*model));
            steps(&synthesize_frames(&config, Seed(seed), frames, 100, ""))
        };
        alone += held(
            &Fit::of(&steps(&independent, 3_000)).expect("a fit").independent,
            &independent,
            1,
        );
        two += held(&Fit::of(&steps(&simple, 3_000)).expect("a fit").simple, &simple, 2);
        if seed < 10 {
            four += held(&Fit::of(&steps(&full, 30_000)).expect("a fit").full, &full, 4);
        }
    }
    println!("{alone} of 40, {two} of 80, {four} of 40");
    // 95 % of 40 and of 80, less three standard deviations; those of one fit hang together.
    assert!(alone >= 33 && two >= 70 && four >= 33, "{alone} of 40, {two} of 80, {four} of 40");
    // Not so wide that they say nothing.
    let config = AirConfig::of(Model::FrameBursts(full));
    let trace = synthesize_frames(&config, Seed(3), 100_000, 100, "");
    for [low, high] in fit(&trace, FitLevel::Loss).full.intervals.into_iter().flatten() {
        assert!(high / low < 1.5, "{low}..{high}");
    }
}

#[test]
fn a_parameter_at_the_end_of_its_scale_has_no_interval() {
    let truth: GilbertElliott = "2% 25% 100% 0%".parse().expect("a model");
    let config = AirConfig::of(Model::FrameBursts(truth));
    let report = fit(&synthesize_frames(&config, Seed(1), 3_000, 100, ""), FitLevel::Loss)
        .report(FitLevel::Loss);
    let names = |i: usize| -> Vec<&str> {
        report.models[i].intervals.named().map(|(name, _)| name).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["p"], vec!["p", "r"]));
}

#[test]
fn more_steps_than_can_be_counted_exactly_are_refused() {
    for (more, is_fitted) in [(0, true), (1, false)] {
        let count = (1 << 53) + more;
        let steps = Steps { runs: vec![(count - 1, 1)], count, wrong: 1 };
        let fit = Fit::of(&steps);
        assert_eq!(fit.is_ok(), is_fitted, "{fit:?}");
        assert_eq!(fit.err(), (!is_fitted).then_some(FitError::TooMany(count)));
    }
}

/// A model that contains another explains every trace as well at least, short ones too.
#[test]
fn no_model_falls_behind_one_that_it_contains() {
    let truth: GilbertElliott = "20% 40% 80% 5%".parse().expect("a model");
    let config = AirConfig::of(Model::FrameBursts(truth));
    let mut fitted = 0;
    for seed in 0..200 {
        let trace = synthesize_frames(&config, Seed(seed), 15 + seed % 40, 100, "");
        let Ok(fit) = Fit::of(&steps(&trace)) else { continue };
        let [one, two, four] =
            [fit.independent, fit.simple, fit.full].map(|candidate| candidate.log_likelihood);
        assert!(one <= two + 1e-9 && two <= four + 1e-9, "seed {seed}: {one} {two} {four}");
        fitted += 1;
    }
    assert!(fitted > 150, "{fitted}");
}
