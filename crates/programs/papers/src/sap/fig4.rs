//! Figure 4: the frame loss rate with and without accepting damage.

use windfall_report::{Axis, Chart, Mark, Series, Table, statistics};

use super::cells::{self, Sweep, interval, sweeps, total};
use super::fig2::{positive, trends};
use super::fig3::mode;
use super::office::{self, DISTANCES, RATES};
use super::streamer::Outcome;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig4",
    title: "Frames lost, with damaged ones dropped (FLR) and accepted (FLR/B)",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 40),
    mutation: Some("damaged frames are dropped"),
    run,
};

/// The indexes of the furthest place, and of the others.
const FURTHEST: usize = 6;
const NEARER: [usize; FURTHEST] = [0, 1, 2, 3, 4, 5];

/// The share of frames that accepting damage saves.
fn gap(outcome: &Outcome) -> Option<f64> {
    Some(outcome.frames.flr()? - outcome.frames.flr_but_damaged()?)
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let sweeps = sweeps(context, mode(context));
    let places: Vec<f64> = DISTANCES.to_vec();
    let rates: Vec<f64> = RATES.iter().map(|&mbps| mbps as f64).collect();
    let charts = vec![
        ("", chart(&sweeps, "distance (m)", &places, |at, place, _| at == place)),
        ("by-rate", chart(&sweeps, "rate (Mb/s)", &rates, |at, _, rate| at == rate)),
    ];
    let method = cells::method(context.extent);
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&sweeps),
        charts,
        tables: vec![("", table(&sweeps))],
        ..figure.finding(context, method)
    })
}

//= S0.37
fn claims(sweeps: &[Sweep]) -> Vec<Claim> {
    let [by_place, _] = trends(sweeps, &gap);
    let furthest = |sweep: &Sweep| {
        let at = |place: usize, mbps| gap(&sweep[place][cells::rate(mbps)]).unwrap_or(0.0);
        let far = FURTHEST;
        let next = FURTHEST - 1;
        [at(far, 54) - at(next, 54), at(far, 54) - at(far, 36)]
    };
    let mean = |sweep: &Sweep, places: &[usize], rates: &[usize]| {
        let cells = places.iter().flat_map(|&at| rates.iter().map(move |&rate| &sweep[at][rate]));
        statistics::mean(&cells.filter_map(gap).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let fast: Vec<usize> = [36, 48, 54].map(cells::rate).to_vec();
    let all: Vec<usize> = (0..RATES.len()).collect();
    let frame = || Band::from(0.001, "one frame in a thousand: FLR/B cannot exceed FLR");
    vec![
        Claim::paper(
            "S0.37",
            "caption of Figure 4: “Accepting damaged frames … allows a receiver to decrease the \
             effective frame loss rate”; section 4.2: “over all bitrates and distances”",
            "the loss without damaged frames (FLR/B) is below that with them (FLR)",
        )
        .compare(
            "difference at 12.2 m from 36 Mb/s on",
            cells::each(sweeps, |sweep| mean(sweep, &[FURTHEST], &fast)),
            frame(),
        )
        .compare(
            "difference at all nearer places, all rates",
            cells::each(sweeps, |sweep| mean(sweep, &NEARER, &all)),
            frame(),
        )
        .recorded(Verdict::InPart)
        .because("up to 10 m hardly a frame of this office arrives damaged"),
        Claim::ours("S0.37", "the gap between the two grows with the distance").compare(
            "rank correlation",
            by_place,
            positive(),
        ),
        Claim::ours("S0.37", "it is largest at the furthest place and the highest rate")
            .compare(
                "12.2 against 10 m at 54 Mb/s",
                cells::each(sweeps, |sweep| furthest(sweep)[0]),
                positive(),
            )
            .compare(
                "54 against 36 Mb/s at 12.2 m",
                cells::each(sweeps, |sweep| furthest(sweep)[1]),
                positive(),
            ),
    ]
}

fn chart(
    sweeps: &[Sweep],
    axis: &str,
    at: &[f64],
    chosen: impl Fn(usize, usize, usize) -> bool,
) -> Chart {
    let series = |name: &str, of: fn(&Outcome) -> Option<f64>| {
        let mean = |sweep: &Sweep, x: usize| {
            let cells = sweep.iter().enumerate().flat_map(|(place, rates)| {
                rates.iter().enumerate().map(move |(rate, outcome)| (place, rate, outcome))
            });
            let chosen = cells.filter(|(place, rate, _)| chosen(x, *place, *rate));
            statistics::mean(&chosen.filter_map(|(.., it)| of(it)).collect::<Vec<_>>())
        };
        let point = |(x, &value): (usize, &f64)| {
            interval(value, &sweeps.iter().filter_map(|it| mean(it, x)).collect::<Vec<_>>())
        };
        Series::new(name, Mark::LinePoints, at.iter().enumerate().filter_map(point).collect())
    };
    Chart {
        title: "Frame loss rate".to_owned(),
        subtitle: "SAP's office: mean over the other variable, 95 % intervals".to_owned(),
        x: Axis::linear(axis).from_zero(),
        y: Axis::linear("share of frames lost").from_zero(),
        series: vec![
            series("FLR", |it| it.frames.flr()),
            series("FLR/B", |it| it.frames.flr_but_damaged()),
        ],
        rules: Vec::new(),
    }
}

fn table(sweeps: &[Sweep]) -> Table {
    let mut table = Table::new([
        "distance (m)",
        "rate (Mb/s)",
        "frames FLR",
        "frames FLR/B",
        "datagrams FLR",
        "datagrams FLR/B",
    ]);
    for (place, metres) in DISTANCES.iter().enumerate() {
        for (rate, mbps) in RATES.iter().enumerate() {
            let Outcome { frames, datagrams, .. } = total(sweeps, place, rate);
            let mut row = vec![metres.to_string(), mbps.to_string()];
            for damage in [frames, datagrams] {
                let shares = [damage.flr(), damage.flr_but_damaged()];
                row.extend(shares.map(|it| it.map_or(String::new(), |it| format!("{it:.4}"))));
            }
            table.push(row);
        }
    }
    table
}
