//! Which model a trace looks like: the two-state chain of Gilbert and Elliott, by likelihood.
//!
//! A trace is a row of steps, right or wrong: frames or bits. The chain with all four parameters is
//! fitted by expectation and maximisation (Baum, Welch), with the stretches of equal steps taken at
//! once, so that a pass costs as much as there are bursts and not as there are bits.

mod chain;
mod interval;
mod steps;

use serde::Serialize;
use windfall_base::Probability;
use windfall_channel::GilbertElliott;
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Index};

pub use steps::{FitLevel, Steps};

use chain::{Chain, log_likelihood};
use interval::{Parameter, intervals};

/// Passes at most; each raises the likelihood.
const MAX_PASSES: usize = 500;
/// The most steps whose count a floating-point number holds exactly.
const MAX_STEPS: u64 = 1 << f64::MANTISSA_DIGITS;
/// Longest gaps that count as right steps within a burst, to find starting points.
const JOINS: [u64; 7] = [0, 1, 4, 16, 64, 256, 1024];

/// Why nothing can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// Bits can only be told apart in a trace that says where they are.
    #[error("the trace tells nothing of bits: fit it at frame level")]
    NoBits,
    /// A trace of bits knows no frames.
    #[error("the trace counts bits, not frames: fit it at bit level")]
    NoFrames,
    /// Without the length of frames the right bits cannot be counted.
    #[error("the trace gives no frame_length in its header: add it, or fit at frame level")]
    NoLength,
    /// Beyond 2^53 a count is no longer exact as a number of the likelihood.
    #[error("{0} steps are too many to count: fit a part of the trace, up to 2^53 steps")]
    TooMany(u64),
    /// There is nothing to tell the states apart by.
    #[error("all {0} steps are alike: there is nothing to fit")]
    Uniform(u64),
}

/// A model with its likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The parameters of the chain.
    pub model: GilbertElliott,
    /// The natural logarithm of the likelihood of the trace.
    pub log_likelihood: f64,
    /// The number of free parameters.
    pub parameters: u32,
    /// The 95 % intervals of p, r, the errors in the bad and in the good state; `None` for what is
    /// not free, or lies at an end of its scale.
    pub intervals: [Option<[f64; 2]>; 4],
}

/// The models that were fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The number of frames or bits.
    pub steps: u64,
    /// The number of them that are wrong.
    pub wrong: u64,
    /// Independent errors: one parameter.
    pub independent: Candidate,
    /// Gilbert's chain, all wrong in the bad state and none in the good: two parameters.
    pub simple: Candidate,
    /// The whole chain: four parameters.
    pub full: Candidate,
}

/// A fit as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// The level of the fit: `loss`, `frame` or `bit`.
    pub level: &'static str,
    /// Frames or bits.
    pub steps: u64,
    /// Frames or bits that are wrong.
    pub wrong: u64,
    /// The models, from the simplest.
    pub models: Vec<ReportedModel>,
    /// The name of the one that explains the trace best for its number of parameters.
    pub best: &'static str,
    /// The option that brings the best model into a run.
    pub option: String,
}

/// A model as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedModel {
    /// `independent`, `gilbert` or `gilbert-elliott`.
    pub name: &'static str,
    /// From good to bad.
    pub p: f64,
    /// From bad to good.
    pub r: f64,
    /// Errors in the bad state.
    pub bad: f64,
    /// Errors in the good state.
    pub good: f64,
    /// The 95 % intervals of those four.
    pub intervals: ReportedIntervals,
    /// The natural logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Schwarz's criterion; the least is best.
    pub bic: f64,
}

/// The 95 % confidence intervals of a model; absent for what the model does not choose, and where
/// the estimate lies at an end of its scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ReportedIntervals {
    /// From good to bad.
    pub p: Option<[f64; 2]>,
    /// From bad to good.
    pub r: Option<[f64; 2]>,
    /// Errors in the bad state.
    pub bad: Option<[f64; 2]>,
    /// Errors in the good state.
    pub good: Option<[f64; 2]>,
}

impl ReportedIntervals {
    /// The intervals that there are, with the names that `--gemodel` gives the parameters.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, [f64; 2])> {
        [("p", self.p), ("r", self.r), ("1-h", self.bad), ("1-k", self.good)]
            .into_iter()
            .filter_map(|(name, interval)| Some((name, interval?)))
    }
}

impl Candidate {
    fn new(model: GilbertElliott, steps: &Steps, free: &[Parameter]) -> Self {
        let chain = Chain::of(&model);
        Self {
            model,
            log_likelihood: log_likelihood(&chain, steps),
            parameters: free.len() as u32,
            intervals: intervals(chain, steps, free),
        }
    }

    /// Independent errors: the chain chooses its state anew with each step.
    fn independent(model: GilbertElliott, steps: &Steps) -> Self {
        // One parameter gives the same law: errors in the good state, which is never left.
        let chain = Chain { p: 0.0, r: 1.0, bad: 1.0, good: model.p.get() };
        let [_, _, _, interval] = intervals(chain, steps, &[Parameter::Good]);
        Self {
            parameters: 1,
            intervals: [interval, None, None, None],
            ..Self::new(model, steps, &[])
        }
    }

    /// Schwarz's criterion: parameters × ln steps − 2 ln likelihood.
    #[must_use]
    pub fn bic(&self, steps: u64) -> f64 {
        f64::from(self.parameters) * (steps.max(1) as f64).ln() - 2.0 * self.log_likelihood
    }
}

impl Fit {
    /// Fits the three models to `steps`.
    ///
    /// # Errors
    /// If all steps are alike, or there are too many of them.
    pub fn of(steps: &Steps) -> Result<Self, FitError> {
        if steps.count > MAX_STEPS {
            return Err(FitError::TooMany(steps.count));
        }
        if steps.wrong == 0 || steps.wrong == steps.count {
            return Err(FitError::Uniform(steps.count));
        }
        let rate = steps.wrong as f64 / steps.count as f64;
        let chain = |p: f64, r: f64, bad: f64, good: f64| {
            // What the fit drives towards an end of the scale has reached it.
            let clip = |x: f64| match x {
                x if x < 1e-12 => Probability::ZERO,
                x => Probability::new(x).unwrap_or(Probability::ONE),
            };
            GilbertElliott { p: clip(p), r: clip(r), bad: clip(bad), good: clip(good) }
        };
        let independent = Candidate::independent(chain(rate, 1.0 - rate, 1.0, 0.0), steps);
        const TWO: [Parameter; 2] = [Parameter::P, Parameter::R];
        let simple = Chain::of_bursts(steps, 0);
        let simple = [chain(simple.p, simple.r, 1.0, 0.0), independent.model];
        let simple = Candidate::new(highest(&simple, steps), steps, &TWO);
        // The likelihood has many hills: begin on the highest of several.
        let starts = JOINS.map(|join| Chain::of_bursts(steps, join));
        let height = |start: &Chain| log_likelihood(start, steps);
        let start = starts.iter().max_by(|a, b| height(a).total_cmp(&height(b)));
        // The chain contains the simpler models, so it explains the trace as well as they at least.
        let climbed = [start.copied().unwrap_or(starts[0]), Chain::of(&simple.model)]
            .map(|start| climb(start, steps))
            .map(|best| chain(best.p, best.r, best.bad, best.good));
        let models = [climbed[0], climbed[1], simple.model];
        let full = Candidate::new(highest(&models, steps), steps, &Parameter::ALL);
        Ok(Self { steps: steps.count, wrong: steps.wrong, independent, simple, full })
    }

    /// The fit with everything that a report needs; `level` is what was fitted.
    #[must_use]
    pub fn report(&self, level: FitLevel) -> FitReport {
        let named = [
            ("independent", self.independent),
            ("gilbert", self.simple),
            ("gilbert-elliott", self.full),
        ];
        let models = named.map(|(name, candidate)| ReportedModel {
            name,
            p: candidate.model.p.get(),
            r: candidate.model.r.get(),
            bad: candidate.model.bad.get(),
            good: candidate.model.good.get(),
            intervals: {
                let [p, r, bad, good] = candidate.intervals;
                ReportedIntervals { p, r, bad, good }
            },
            log_likelihood: candidate.log_likelihood,
            bic: candidate.bic(self.steps),
        });
        let best = (0..3).min_by(|&a, &b| models[a].bic.total_cmp(&models[b].bic)).unwrap_or(0);
        let is_bits = level == FitLevel::Bit;
        let option = if best == 0 {
            let option = if is_bits { "ber" } else { "loss" };
            format!("--{option} {:.4e}", self.wrong as f64 / self.steps as f64)
        } else {
            let ReportedModel { p, r, bad, good, .. } = &models[best];
            let option = if is_bits { "bit-gemodel" } else { "gemodel" };
            format!("--{option} \"{p:.4e} {r:.4e} {bad:.4e} {good:.4e}\"")
        };
        FitReport {
            level: match level {
                FitLevel::Loss => "loss",
                FitLevel::Frame => "frame",
                FitLevel::Bit => "bit",
            },
            steps: self.steps,
            wrong: self.wrong,
            best: models[best].name,
            models: models.into(),
            option,
        }
    }
}

impl FitReport {
    /// Returns the models as a table, their intervals, and the best of them.
    #[must_use]
    pub fn to_text(&self) -> String {
        let what = match self.level {
            "loss" => "frames lost",
            "frame" => "frames damaged or lost",
            _ => "bits inverted",
        };
        let mut text = format!(
            "{} of {} {what}\n\n{:<16} {:>10} {:>10} {:>10} {:>10} {:>16} {:>16}\n",
            self.wrong, self.steps, "model", "p", "r", "1-h", "1-k", "ln likelihood", "BIC"
        );
        for model in &self.models {
            text += &format!(
                "{:<16} {:>10.4e} {:>10.4e} {:>10.4e} {:>10.4e} {:>16.1} {:>16.1}\n",
                model.name,
                model.p,
                model.r,
                model.bad,
                model.good,
                model.log_likelihood,
                model.bic
            );
        }
        text += "\n95 % intervals\n";
        for model in &self.models {
            let named = model.intervals.named();
            let each = named.map(|(name, [low, high])| format!("{name} {low:.3e}..{high:.3e}"));
            text += &format!("{:<16} {}\n", model.name, each.collect::<Vec<_>>().join("  "));
        }
        text += &format!("\nbest: {} (least BIC); {}\n", self.best, self.option);
        text
    }
}

/// Tells whether a trace of frames also says which bits were inverted, which a fit of its losses
/// leaves out.
#[must_use]
pub fn holds_inverted_bits(trace: &ErrorTrace) -> bool {
    let is_inverted =
        |fault: &Fault| matches!(fault, Fault::Damaged { inverted, .. } if !inverted.is_empty());
    trace.header().index == Index::Frame && trace.entries().iter().any(|e| is_inverted(&e.fault))
}

/// Returns the model that makes the steps most likely, of several that do the first.
fn highest<const N: usize>(models: &[GilbertElliott; N], steps: &Steps) -> GilbertElliott {
    let height = |model: &GilbertElliott| log_likelihood(&Chain::of(model), steps);
    models[1..].iter().fold(
        models[0],
        |best, model| {
            if height(model) > height(&best) { *model } else { best }
        },
    )
}

/// Raises the likelihood from `start` until it rises no more.
fn climb(mut chain: Chain, steps: &Steps) -> Chain {
    let mut before = f64::NEG_INFINITY;
    for _ in 0..MAX_PASSES {
        let (better, likelihood) = chain.improved(steps);
        if likelihood - before < 1e-9 * likelihood.abs() {
            break;
        }
        (chain, before) = (better, likelihood);
    }
    // The states have no names of their own: bad is the worse one.
    if chain.bad < chain.good {
        chain = Chain { p: chain.r, r: chain.p, bad: chain.good, good: chain.bad };
    }
    chain
}

#[cfg(test)]
mod tests;
