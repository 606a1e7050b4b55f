//! Figure 6 with a web server: throughput by rate at three distances, and the advice to lower the
//! protection in place of the rate (S0.48, S0.49).

use windfall_experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Estimate, Mark, Table, statistics};

use super::super::bulk::point;
use super::super::fig6::{self, DISTANCES, NAMES, Times, Transfers};
use super::super::office::{self, RATES};
use super::{Fetch, MUTATION, ORDER, Series, WAYS, fetch};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.fig6-web",
    title: "The throughput of a file from a web server by the radio's rate, at three distances",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::InPart, 2),
    mutation: Some(MUTATION),
    run,
};

/// The place of the advice: its distance in metres, and the rates in Mb/s.
const POOR: f64 = 12.2;
const LOWER: [u64; 4] = [24, 36, 48, 54];
/// The indexes of the ways.
const APPROXIMATE: usize = 0;
const TCP: usize = 1;

/// Returns the number of runs, and of requests in each of them.
const fn workload(extent: Extent) -> (usize, Series) {
    match extent {
        Extent::Quick => (1, Series { bytes: 50_000, count: 1, pause: 0.0 }),
        Extent::Paper => (2, Series { bytes: 1_000_000, count: 5, pause: 0.2 }),
        Extent::Full => (4, Series { bytes: 1_000_000, count: 10, pause: 1.0 }),
    }
}

/// The rates of the advice, by TCP and by approximate SAP.
type Advice = [[Vec<Fetch>; LOWER.len()]; 2];

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, series) = workload(context.extent);
    let measured = context.replicate(runs, |seed| -> Result<_, ExperimentError> {
        let mut times: Vec<Times> = vec![vec![Vec::new(); 3]; series.count];
        for &metres in &DISTANCES {
            times.iter_mut().flatten().for_each(|way| way.push(Vec::new()));
            for &mbps in &RATES {
                for way in &ORDER {
                    let fetches = fetch(context, *way, (metres, mbps), series, seed)?;
                    for (times, fetch) in times.iter_mut().zip(fetches) {
                        times[*way].last_mut().expect("it was added").push(fetch.seconds);
                    }
                }
            }
        }
        let mut advice = Advice::default();
        for (at, &mbps) in LOWER.iter().enumerate() {
            for (place, way) in [TCP, APPROXIMATE].into_iter().enumerate() {
                advice[place][at] = fetch(context, way, (POOR, mbps), series, seed)?;
            }
        }
        Ok((times, advice))
    });
    let mut transfers = Transfers { bytes: series.bytes as u64, times: Vec::new() };
    let mut advice = Advice::default();
    for run in measured {
        let (times, more) = run?;
        transfers.times.extend(times);
        let all = advice.iter_mut().flatten().zip(more.into_iter().flatten());
        all.for_each(|(all, more)| all.extend(more));
    }
    let mut charts: Vec<_> =
        NAMES.iter().enumerate().map(|(at, name)| (*name, fig6::chart(&transfers, at))).collect();
    charts.push(("advice", chart(&advice)));
    let mut claims = judged(fig6::claims(&transfers));
    claims.push(lower(&advice));
    Ok(Finding {
        inputs: office::inputs(),
        claims,
        charts,
        tables: vec![("", fig6::table(&transfers)), ("advice", table(&advice))],
        ..figure.finding(context, method(context.extent))
    })
}

fn method(extent: Extent) -> String {
    let (runs, Series { bytes, count, pause }) = workload(extent);
    format!(
        "A file of {:.2} MB from windfall serve to windfall get as in S0.table1, in real time: \
         {runs} runs of {count} requests over TCP, precise and approximate SAP in the paper's \
         profile, at every rate and distance, {pause} s after each; two requests by the cable come \
         first. The advice is tried at {POOR} m.",
        bytes as f64 / 1e6
    )
}

/// Adds the record to the claims that the simulated figure makes as well.
fn judged(claims: Vec<Claim>) -> Vec<Claim> {
    claims
}

//= S0.49
/// Compares TCP at lower rates with approximate SAP at the highest one.
fn lower(advice: &Advice) -> Claim {
    let [tcp, sap] = advice;
    let claim = Claim::paper(
        "S0.49",
        "section 4.3: “An application using SAP can respond in another way, by decreasing the \
         amount of protection applied to payloads”",
        "at 12.2 m approximate SAP at 54 Mb/s is faster than TCP at a lower rate",
    );
    let highest = LOWER.len() - 1;
    (0..highest).rev().fold(claim, |claim, at| {
        let ratio = Estimate::ratio_of_medians(&seconds(&tcp[at]), &seconds(&sap[highest]));
        claim.compare(format!("TCP at {} Mb/s", LOWER[at]), ratio, Band::above(1.0, "faster"))
    })
}

fn seconds(fetches: &[Fetch]) -> Vec<f64> {
    fetches.iter().map(|fetch| fetch.seconds).collect()
}

fn chart(advice: &Advice) -> Chart {
    let series = advice.iter().zip([TCP, APPROXIMATE]).map(|(fetches, way)| {
        let points = LOWER.iter().zip(fetches);
        let points = points.filter_map(|(&mbps, it)| point(mbps as f64, &seconds(it)));
        windfall_report::Series::new(WAYS[way].name, Mark::LinePoints, points.collect())
    });
    Chart {
        title: "A lower rate, or less protection".to_owned(),
        subtitle: format!("a file at {POOR} m; mean and standard error"),
        x: Axis::linear("rate (Mb/s)").from_zero(),
        y: Axis::log("time (s)"),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(advice: &Advice) -> Table {
    let columns =
        ["way", "rate (Mb/s)", "requests", "median (s)", "low (s)", "high (s)", "damaged (%)"];
    let mut table = Table::new(columns);
    for (fetches, way) in advice.iter().zip([TCP, APPROXIMATE]) {
        for (mbps, fetches) in LOWER.iter().zip(fetches) {
            let Estimate { value, low, high, runs } = Estimate::median(&seconds(fetches));
            let damaged: Vec<f64> = fetches.iter().map(|it| 100.0 * it.damaged).collect();
            let damaged = damaged.into_iter().filter(|it| it.is_finite()).collect::<Vec<_>>();
            let mut row = vec![WAYS[way].name.to_owned(), mbps.to_string(), runs.to_string()];
            row.extend([value, low, high].map(|it| format!("{it:.4}")));
            row.push(format!("{:.2}", statistics::mean(&damaged).unwrap_or(f64::NAN)));
            table.push(row);
        }
    }
    table
}
