//! The map of channels on which reports of corruption pay (S4.5, S4.22, S4.24, S4.26–S4.28, S4.32).

mod claims;
mod drawn;
mod places;
mod sharing;

use windfall_base::{Duration, Seed};
use windfall_report::statistics;
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, without_span};

use crate::corruption::walks::operations;
use places::{Channel, Place, WAYS};
use sharing::{Crowds, Flows};

use crate::experiment::{
    Basis, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "ours.cno",
    title: "On which channels reports of corruption make TCP faster: the usable share decides",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("the link drops damaged frames"),
    run,
};

/// The measurements of one seed at one place.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The rate of TCP in each of [`WAYS`], in Mb/s.
    rates: [f64; WAYS.len()],
    /// The share of datagrams that do not arrive as they were sent.
    bad: f64,
    /// Of these, the share that arrives damaged under UDP-Lite with whole headers.
    usable: f64,
}

/// The measurements of one seed.
struct Seeded {
    /// One cell for each place.
    cells: Vec<Cell>,
    flows: Flows,
    crowds: Crowds,
}

/// All that was measured.
struct Map {
    places: Vec<Place>,
    seeds: Vec<Seeded>,
}

/// The number of seeds, and the length of a run.
const fn workload(extent: Extent) -> (usize, Duration) {
    match extent {
        Extent::Quick => (2, Duration::from_secs(4)),
        Extent::Paper => (10, Duration::from_secs(30)),
        Extent::Full => (30, Duration::from_secs(60)),
    }
}

//= S4.24
//= S4.26
//= S4.32
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (count, duration) = workload(context.extent);
    let places = places::all(context.is_mutated);
    (context.progress)("the same air with and without reports");
    let one = |seed: Seed| {
        let cell = |place: &Place| measure(figure.name, place, seed, duration);
        let cells = places.iter().map(cell).collect::<Result<_, _>>()?;
        let flows = sharing::flows(figure.name, seed, duration)?;
        Ok(Seeded { cells, flows, crowds: sharing::crowds(figure.name, seed, duration)? })
    };
    let seeds = context.replicate(count, one).into_iter().collect::<Result<_, _>>()?;
    let map = Map { places, seeds };
    let method = format!(
        "Scenarios map-pipe.toml, map-wifi.toml and map-gsm.toml: one bulk transfer of {} s (on \
         GSM twenty times that) between two of Windfall's TCPs with SACK over a link that sends \
         each frame once and passes damage up, in each of {} ways; {count} seeds. The ways of a \
         seed have the same air. The gain is the rate with reports over that without. The usable \
         share is measured with UDP-Lite that covers its header alone, on the same channel: of \
         the datagrams that do not arrive as they were sent, those that arrive with whole \
         headers. two-flows.toml: a flow with reports and one without behind one queue of 25 \
         packets that damages packets; contention.toml: stations 5 m from the base that collide.",
        duration.as_secs_f64(),
        WAYS.len(),
    );
    Ok(Finding {
        inputs: inputs(),
        claims: claims::all(&map),
        charts: drawn::charts(&map),
        tables: drawn::tables(&map),
        ..figure.finding(context, method)
    })
}

fn inputs() -> Vec<ExperimentInput> {
    let ours = "our choice";
    vec![
        ExperimentInput::given("pipe", "10 Mb/s, 10 ms each way", ours),
        ExperimentInput::given("polled radio", "2 Mb/s", "paper 003's WaveLAN"),
        ExperimentInput::given(
            "radios",
            "path loss exponent 3.3, Rician K = 3 at 100 Hz, noise figure 12.5 dB, distortion \
             -20 dB",
            "as S4.tables, but for the speed of the fading",
        ),
        ExperimentInput::given(
            "weakest preamble that is noticed",
            "-84 dBm for the paper's cards, -95 dBm for the others",
            "fitted in S4.tables; the default of the radio",
        ),
        ExperimentInput::given("damage of a pipe's packet", "half of the bits of a window", ours),
    ]
}

/// Measures one place with one seed.
fn measure(
    figure: &'static str,
    place: &Place,
    seed: Seed,
    duration: Duration,
) -> Result<Cell, ExperimentError> {
    let duration = Duration::from_nanos(duration.as_nanos() * place.channel.stretch());
    let mut cell = Cell::default();
    for (way, rate) in cell.rates.iter_mut().enumerate() {
        *rate = delivered(&simulate(figure, &place.with_tcp(way), seed, duration)?, 1);
    }
    let datagrams = simulate(figure, &place.with_datagrams(), seed, duration)?;
    let sent = report(&datagrams, 0, "sent");
    let damaged = report(&datagrams, 1, "marked_damaged");
    let bad = sent - (report(&datagrams, 1, "received") - damaged);
    cell.bad = bad / sent.max(1.0);
    cell.usable = damaged / bad.max(1.0);
    Ok(cell)
}

/// Runs a scenario for a time.
fn simulate(
    figure: &'static str,
    text: &str,
    seed: Seed,
    duration: Duration,
) -> Result<Simulation, ExperimentError> {
    let failed = |error: &dyn core::fmt::Display| ExperimentError::Scenario {
        figure,
        message: error.to_string(),
    };
    let mut scenario = Scenario::parse(figure, text).map_err(|error| failed(&error))?;
    scenario.run.duration = Some(without_span(duration));
    let no_files = &mut |name: &str| {
        Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
    };
    let topology = scenario.topology(0, (figure, text), no_files);
    let topology = topology.map_err(|error| failed(&error))?;
    let mut simulation = Simulation::new(&topology, seed).map_err(|error| failed(&error))?;
    let end = simulation.end();
    simulation.run(end, &mut |_| Ok(())).map_err(|error| failed(&error))?;
    Ok(simulation)
}

/// Returns the sum of what the applications of a station report under a name.
fn report(simulation: &Simulation, station: usize, name: &str) -> f64 {
    let station = simulation.network().station(station);
    let all = station.into_iter().flat_map(|it| it.reports(simulation.now())).flatten();
    all.filter(|(own, _)| *own == name).map(|(_, value)| value.number()).sum()
}

/// Returns what the streams to a station delivered, in Mb/s.
fn delivered(simulation: &Simulation, station: usize) -> f64 {
    let seconds = simulation.end().saturating_since(windfall_base::Instant::START).as_secs_f64();
    8e-6 * report(simulation, station, "received_bytes") / seconds
}

impl Map {
    /// The mean over the seeds of a value of a place.
    fn mean(&self, place: usize, of: impl Fn(&Cell) -> f64) -> f64 {
        let values: Vec<f64> = self.seeds.iter().map(|it| of(&it.cells[place])).collect();
        statistics::mean(&values).unwrap_or(f64::NAN)
    }

    /// The mean usable share of a place.
    fn usable(&self, place: usize) -> f64 {
        self.mean(place, |cell| cell.usable)
    }

    /// The places of a kind of channel.
    fn of(&self, channel: Channel) -> Vec<usize> {
        let all = self.places.iter().enumerate();
        all.filter(|(_, place)| place.channel == channel).map(|(at, _)| at).collect()
    }
}

impl Cell {
    /// The rate in a way over that in another; `None` if either delivers nothing.
    fn gain(&self, way: usize, over: usize) -> Option<f64> {
        let gain = self.rates[way] / self.rates[over];
        (gain.is_finite() && gain > 0.0).then_some(gain)
    }
}

#[cfg(test)]
mod tests;
