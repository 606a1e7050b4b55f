//! Rate, size, code and attempts chosen together, beside Minstrel and every fixed pair of rate and
//! code.

mod paths;
mod results;

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_network::ElementId;
use windfall_report::statistics;
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, without_span};
use windfall_stack::LinkLayerConfig;

use paths::{Control, PATHS, Pair, Path};

use crate::experiment::{
    Basis, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "ours.joint",
    title: "Rate, size, code and attempts by air time: beside Minstrel and every fixed pair",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("stations have neither codes nor reports"),
    run,
};

/// The pairs that are measured with all seeds, of those that carried most in the trials.
const FINALISTS: usize = 3;

/// The seeds, lengths, paths and pairs of a run.
struct Workload {
    seeds: usize,
    /// Runs of each pair by which the finalists are chosen, and their length.
    trials: usize,
    trial: Duration,
    /// The length of a run. On the walk both are that of the walk.
    duration: Duration,
    paths: &'static [usize],
    /// The pairs of each path.
    pairs: Vec<Vec<Pair>>,
    /// The pairs are all that there are.
    is_whole: bool,
}

impl Workload {
    fn new(extent: Extent) -> Self {
        let all = |seeds, trials| Self {
            seeds,
            trials,
            trial: Duration::from_secs(3),
            duration: Duration::from_secs(10),
            paths: &paths::ALL,
            pairs: vec![Pair::all().collect(); PATHS.len()],
            is_whole: true,
        };
        match extent {
            Extent::Quick => Self {
                seeds: 2,
                trials: 1,
                trial: Duration::from_secs(1),
                duration: Duration::from_secs(3),
                paths: &paths::QUICK,
                pairs: paths::BEST_OF_QUICK.map(|pair| pair.and_beside().collect()).to_vec(),
                is_whole: false,
            },
            Extent::Paper => all(10, 1),
            Extent::Full => all(40, 4),
        }
    }

    /// The name of the pair that carried most, which tells of how many.
    fn best(&self) -> String {
        let tried = self.pairs.iter().map(Vec::len).max().unwrap_or(0);
        if self.is_whole {
            "best fixed pair".to_owned()
        } else {
            format!("best of the {tried} pairs tried")
        }
    }

    /// The name of the pair in a claim that another path carries more than each fixed pair.
    fn any(&self) -> String {
        if self.is_whole { "any fixed pair".to_owned() } else { self.best() }
    }
}

/// The megabits a second that a path carried: one value for each seed.
struct Row {
    path: &'static Path,
    joint: Vec<f64>,
    minstrel: Vec<f64>,
    /// The finalist of the greatest mean.
    fixed: Vec<f64>,
    pair: Pair,
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let load = Workload::new(context.extent);
    let rows = load.paths.iter().zip(&load.pairs).map(|(path, pairs)| {
        let path = &PATHS[*path];
        (context.progress)(path.name);
        row(figure.name, context, &load, path, pairs)
    });
    let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
    let best = load.best();
    Ok(Finding {
        inputs: inputs(),
        claims: results::claims(&rows, &best, &load.any()),
        charts: vec![("", results::chart(&rows, &best))],
        tables: vec![("", results::table(&rows, &best))],
        ..figure.finding(context, method(&load))
    })
}

/// Measures a path.
fn row(
    figure: &'static str,
    context: &Context<'_>,
    load: &Workload,
    path: &'static Path,
    pairs: &[Pair],
) -> Result<Row, ExperimentError> {
    let all = |control, count, duration| -> Result<Vec<f64>, ExperimentError> {
        let is_broken = context.is_mutated && matches!(control, Control::Joint);
        let one = |seed| carried(figure, path, control, duration, is_broken, seed);
        context.replicate(count, one).into_iter().collect()
    };
    let mean = |values: &[f64]| statistics::mean(values).unwrap_or(0.0);
    let tried = pairs.iter().map(|pair| {
        let carried = all(Control::Fixed(*pair), load.trials, load.trial)?;
        Ok((mean(&carried), *pair))
    });
    let mut tried: Vec<(f64, Pair)> = tried.collect::<Result<_, ExperimentError>>()?;
    tried.sort_by(|a, b| b.0.total_cmp(&a.0));
    tried.truncate(FINALISTS);
    let mut best: Option<(Vec<f64>, Pair)> = None;
    for (_, pair) in tried {
        let carried = all(Control::Fixed(pair), load.seeds, load.duration)?;
        if best.as_ref().is_none_or(|(best, _)| mean(best) < mean(&carried)) {
            best = Some((carried, pair));
        }
    }
    let (fixed, pair) = best.unwrap_or((Vec::new(), Pair(0, 0)));
    let joint = all(Control::Joint, load.seeds, load.duration)?;
    let minstrel = all(Control::Minstrel, load.seeds, load.duration)?;
    Ok(Row { path, joint, minstrel, fixed, pair })
}

/// Megabits a second that a saturated sender delivers; if `is_broken`, without codes and reports.
fn carried(
    figure: &'static str,
    path: &Path,
    control: Control,
    duration: Duration,
    is_broken: bool,
    seed: Seed,
) -> Result<f64, ExperimentError> {
    let failed = |error: &dyn core::fmt::Display| ExperimentError::Scenario {
        figure,
        message: error.to_string(),
    };
    let text = path.scenario(control);
    let mut scenario = Scenario::parse(figure, &text).map_err(|error| failed(&error))?;
    if !path.moves() {
        scenario.run.duration = Some(without_span(duration));
    }
    let no_files = &mut |name: &str| {
        Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
    };
    let topology = scenario.topology(0, (figure, &text), no_files);
    let mut topology = topology.map_err(|error| failed(&error))?;
    if is_broken {
        let ends = topology.network.links.iter_mut().flat_map(|link| &mut link.ends);
        for end in ends {
            if let LinkLayerConfig::Wifi(wifi) = &mut end.interface.link {
                wifi.mac.coding = None;
            }
        }
    }
    let seed = Seed(Stream::new(seed, path.name).bits());
    let mut simulation = Simulation::new(&topology, seed).map_err(|error| failed(&error))?;
    let end = simulation.end();
    simulation.run(end, &mut |_| Ok(())).map_err(|error| failed(&error))?;
    let seconds = end.saturating_since(Instant::START).as_secs_f64();
    // Each station has one interface.
    let interfaces = (0..=path.senders as u32).map(ElementId);
    let delivered = interfaces.map(|it| simulation.network().ledger(it).delivered_bytes);
    Ok(8e-6 * delivered.sum::<u64>() as f64 / seconds)
}

fn inputs() -> Vec<ExperimentInput> {
    let ours = "our choice";
    vec![
        ExperimentInput::given("sender", "802.11g, 15 dBm, always with a packet to send", ours),
        ExperimentInput::given("packets", "1500 bytes, seven attempts", "802.11's short limit"),
        ExperimentInput::given("small packets", "200 bytes on one path", ours),
        ExperimentInput::given(
            "crowds",
            "two, five and ten such senders, who hear each other",
            ours,
        ),
        ExperimentInput::given("paths", "path losses from 80 to 108.5 dB", "beyond them: silence"),
        ExperimentInput::given("fading", "Rayleigh of 2 and 10 Hz, Rician on the walk", ours),
        ExperimentInput::given("walk", "5 m to 120 m and back in 20 s", ours),
    ]
}

fn method(load: &Workload) -> String {
    format!(
        "Scenarios joint-edge.toml, with each path's loss and fading, for {} s, and \
         joint-walk.toml for 20 s; {} seeds, the same for all controls. Joint and Minstrel begin \
         without knowledge. The fixed pair is chosen for each path with hindsight: of {} of rate \
         and parity the {FINALISTS} that carry most in {} of {} s (on the walk a whole \
         one), and of these, with all seeds and the whole length, the one of the greatest mean. \
         Ratios are means of the ratios of each seed.",
        load.duration.as_secs_f64(),
        load.seeds,
        if load.is_whole {
            format!("all {} pairs", Pair::all().count())
        } else {
            "the pair that carried most of all in a full run and those with the next rate or code"
                .to_owned()
        },
        if load.trials == 1 { "one run".to_owned() } else { format!("{} runs", load.trials) },
        load.trial.as_secs_f64(),
    )
}

#[cfg(test)]
mod tests;
