//! Figure 5: the time of a file by distance, with its spread (S0.47, S0.57).

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};

use super::super::bulk::{APPROXIMATE, DISTANCES, NEAR, TABLE, TCP, of_figure_5, point};
use super::super::office;
use super::requests::{Fetch, Way};
use super::table1::{method, plan};
use super::{MUTATION, Measured, WAYS};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig5",
    title: "The time of a file from a web server over SAP and over TCP, and its spread",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some(MUTATION),
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let measured = Measured::of(context, &plan(context.extent))?;
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&measured),
        charts: vec![("", chart(&measured))],
        tables: vec![("", table(&measured))],
        ..figure.finding(context, method(context.extent))
    })
}

//= S0.47
//= S0.57
fn claims(measured: &Measured) -> Vec<Claim> {
    let [third, increasingly, second, twice, outliers] = of_figure_5(&measured.times());
    let slow = |claim: Claim| claim.recorded(Verdict::NotReproduced).because(NEAR);
    vec![
        third,
        slow(increasingly),
        second.recorded(Verdict::InPart).because(
            "precise SAP is the slowest; approximate SAP takes as long as TCP, within 2 %: its \
             packets hold 1024 bytes and TCP's 1448, and the server calls first",
        ),
        slow(twice),
        slow(outliers),
        energy(measured),
    ]
}

//= S0.67
/// Judges what a file costs the radios.
fn energy(measured: &Measured) -> Claim {
    let claim = Claim::ours(
        "S0.67",
        "where frames arrive damaged a file costs the radios less energy over approximate SAP than \
         over TCP, and elsewhere as much",
    );
    (0..DISTANCES.len()).fold(claim, |claim, at| {
        let [tcp, sap] = [TCP, APPROXIMATE].map(|way| joules(&measured.at(way, at)));
        let band = if at < TABLE.len() {
            Band::near(1.0, 0.1, "as much, within a tenth")
        } else {
            Band::above(1.0, "less")
        };
        let of = format!("energy over TCP by that over SAP, {} m", DISTANCES[at]);
        claim.compare(of, Estimate::ratio_of_medians(&tcp, &sap), band)
    })
}

fn seconds(measured: &Measured, way: usize, at: usize) -> Vec<f64> {
    measured.at(way, at).iter().map(|fetch| fetch.seconds).collect()
}

fn chart(measured: &Measured) -> Chart {
    let means = WAYS.iter().enumerate().map(|(way, Way { name, .. })| {
        let places = DISTANCES.iter().enumerate();
        let means = places.filter_map(|(at, &x)| point(x, &seconds(measured, way, at)));
        Series::new(*name, Mark::LinePoints, means.collect()).with_color(way)
    });
    let medians = WAYS.iter().enumerate().map(|(way, Way { name, .. })| {
        let of = |(at, &x): (usize, &f64)| {
            Some(Point::new(x, statistics::median(&seconds(measured, way, at))?))
        };
        let points = DISTANCES.iter().enumerate().filter_map(of).filter(|it| it.y.is_finite());
        Series::new(format!("{name}, median"), Mark::Points, points.collect()).with_color(way)
    });
    Chart {
        title: "Time of a file from a web server".to_owned(),
        subtitle: "54 Mb/s in the office, in real time; mean and standard error".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::log("time (s)"),
        series: means.chain(medians).collect(),
        rules: Vec::new(),
    }
}

/// Returns the number of requests, those without an end, the median, the mean of the others, its
/// standard error, the longest over the median, the damaged share, and the energy.
fn measures(fetches: &[Fetch]) -> [String; 8] {
    let all: Vec<f64> = fetches.iter().map(|fetch| fetch.seconds).collect();
    let whole: Vec<Fetch> = fetches.iter().copied().filter(|it| it.seconds.is_finite()).collect();
    let seconds: Vec<f64> = whole.iter().map(|fetch| fetch.seconds).collect();
    let damaged: Vec<f64> = whole.iter().map(|fetch| 100.0 * fetch.damaged).collect();
    let median = statistics::median(&all).unwrap_or(f64::NAN);
    let longest = all.iter().copied().fold(0.0, f64::max) / median;
    let of = |value: Option<f64>| format!("{:.4}", value.unwrap_or(f64::NAN));
    [
        all.len().to_string(),
        (all.len() - whole.len()).to_string(),
        of(Some(median)),
        of(statistics::mean(&seconds)),
        of(statistics::standard_error(&seconds)),
        format!("{longest:.2}"),
        format!("{:.2}", statistics::mean(&damaged).unwrap_or(f64::NAN)),
        format!("{:.3}", statistics::median(&joules(&whole)).unwrap_or(f64::NAN)),
    ]
}

fn joules(fetches: &[Fetch]) -> Vec<f64> {
    fetches.iter().map(|fetch| fetch.joules).collect()
}

fn table(measured: &Measured) -> Table {
    let columns = [
        "way",
        "distance (m)",
        "requests",
        "without an end",
        "median (s)",
        "mean (s)",
        "standard error (s)",
        "longest over median",
        "damaged (%)",
        "energy of both radios (J)",
    ];
    let mut table = Table::new(columns);
    for (way, Way { name, .. }) in WAYS.iter().enumerate() {
        for (at, metres) in DISTANCES.iter().enumerate() {
            let mut row = vec![(*name).to_owned(), metres.to_string()];
            row.extend(measures(&measured.at(way, at)));
            table.push(row);
        }
    }
    table
}
