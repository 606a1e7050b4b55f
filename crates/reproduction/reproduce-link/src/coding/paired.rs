//! The policy that estimates beside FLEX, in the same traces, and beside what could be reached.

use windfall_base::{Duration, Seed};
use windfall_experiment::{Claim, Context, ExperimentError, Extent};
use windfall_report::Table;
use windfall_scenario::{ENVIRONMENT_FRAMES, Environment, PolicyKind};
use windfall_trace::best_rate;

use super::coded::{self, Air};

/// Bytes of a sprayed packet with its frame check.
const STREAM: usize = 1_200;
/// The duration of each spray.
const LENGTH: Duration = Duration::from_secs(60);
/// The least ratio of the mean of the estimating policy to that of FLEX.
const CLEARLY: f64 = 1.02;
/// A difference in standard errors of its mean that counts as noise.
const NOISE: f64 = 2.0;

/// The throughput of both in one place, in KB/s: means over traces.
pub(super) struct Pair {
    place: Environment,
    flex: f64,
    best: f64,
    /// The standard error of the mean difference.
    error: f64,
    /// The bound of every policy.
    bound: f64,
}

/// Sprays under both policies in several traces of each place.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn pairs(
    context: &Context<'_>,
    figure: &'static str,
) -> Result<Vec<Pair>, ExperimentError> {
    let traces = match context.extent {
        Extent::Quick => 3,
        Extent::Paper => 8,
        Extent::Full => 20,
    };
    let mut pairs = Vec::new();
    for place in Environment::ALL {
        (context.progress)(&format!("flex and best in {traces} traces of {place}"));
        let mut runs = Vec::new();
        let mut bound = 0.0;
        for number in 0..traces {
            // Beyond those of the environment itself.
            let seed = Seed(context.seed.0.wrapping_add(100 + number));
            let air = Air { place, trace: Some(seed) };
            let run = |policy| coded::spray(context, figure, air, policy, LENGTH);
            runs.push((run(PolicyKind::Flex)?, run(PolicyKind::Best)?));
            bound += limit(place, seed) / traces as f64;
        }
        pairs.push(Pair::new(place, &runs, bound));
    }
    // What the model of a frame's cost leaves out is the same everywhere: where nothing is damaged,
    // the bound is what full frames carry.
    let scale = pairs.first().map_or(1.0, |office| office.best / office.bound);
    pairs.iter_mut().for_each(|pair| pair.bound *= scale);
    Ok(pairs)
}

/// Returns the bound of every policy in one trace, up to a factor that is the same for all.
fn limit(place: Environment, seed: Seed) -> f64 {
    let cost = windfall_scenario::wavelan_cost();
    let trace = place.synthesize(seed, ENVIRONMENT_FRAMES);
    best_rate(&trace, STREAM, |bytes| cost.of(bytes).as_secs_f64())
}

impl Pair {
    fn new(place: Environment, runs: &[(f64, f64)], bound: f64) -> Self {
        let count = runs.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / count;
        let flex = mean(&|run| run.0);
        let best = mean(&|run| run.1);
        let spread = mean(&|run| (run.1 - run.0 - (best - flex)).powi(2));
        Self { place, flex, best, error: (spread / (count - 1.0)).sqrt(), bound }
    }
}

//= S3.16
//= S3.45
/// That estimating beats FLEX on average, and nowhere loses more than noise.
pub(super) fn claims(pairs: &[Pair]) -> Vec<Claim> {
    let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let flex = mean(|pair| pair.flex);
    let best = mean(|pair| pair.best);
    let lag = |pair: &Pair| (pair.flex - pair.best) / pair.error.max(1e-9);
    let loses: Vec<String> = pairs
        .iter()
        .filter(|pair| lag(pair) > NOISE)
        .map(|pair| format!("{} ({:.1} against {:.1})", pair.place, pair.best, pair.flex))
        .collect();
    vec![
        Claim::once(
            "S3.45",
            "beyond the paper: a policy that estimates the air clearly beats FLEX on average",
            format!("{best:.1} against {flex:.1} KB/s in the same traces"),
            best >= CLEARLY * flex,
        ),
        Claim::once(
            "S3.45",
            "and it loses nowhere by more than two standard errors",
            if loses.is_empty() { "nowhere".to_owned() } else { loses.join(", ") },
            loses.is_empty(),
        ),
    ]
}

/// Both policies, their difference, and the bound.
pub(super) fn table(pairs: &[Pair]) -> Table {
    let names = ["place", "flex KB/s", "best KB/s", "difference", "± standard error", "bound KB/s"];
    let mut table = Table::new(names);
    for Pair { place, flex, best, error, bound } in pairs {
        let values = [*flex, *best, best - flex, *error, *bound].map(|value| format!("{value:.2}"));
        table.push(core::iter::once(place.to_string()).chain(values));
    }
    table
}
