//! A lower rate over TCP, or the same rate over approximate SAP (S0.49).

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};

use super::super::bulk::{APPROXIMATE, MEASURES, TCP, measures};
use super::super::{office, rates};
use super::fig6::{FAR, HIGH_RATES, plan};
use super::requests::Fetch;
use super::{MUTATION, Measured, WAYS};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.49",
    title: "Where the channel is bad: a lower rate over TCP, or the same rate over approximate SAP",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some(MUTATION),
    run,
};

/// The seconds of all requests.
struct Seconds<'a>(&'a Measured);

impl Seconds<'_> {
    fn fetches(&self, way: usize, far: usize, rate: usize) -> Vec<Fetch> {
        self.0.at(way, rates::places().count() + far * HIGH_RATES.len() + rate)
    }

    /// Returns those by a way at a far distance and a high rate, by their indexes.
    fn at(&self, way: usize, far: usize, rate: usize) -> Vec<f64> {
        self.fetches(way, far, rate).iter().map(|fetch| fetch.seconds).collect()
    }

    /// Returns the mean share of bytes that were suspect or missing, in percent.
    fn damaged(&self, way: usize, far: usize, rate: usize) -> f64 {
        let fetches = self.fetches(way, far, rate);
        let ended = fetches.iter().filter(|fetch| fetch.seconds.is_finite());
        let shares: Vec<f64> = ended.map(|fetch| 100.0 * fetch.damaged).collect();
        statistics::mean(&shares).unwrap_or(f64::NAN)
    }

    /// Returns the rate at which TCP is fastest at a far distance, by its index.
    fn best(&self, far: usize) -> usize {
        let median =
            |rate: &usize| statistics::median(&self.at(TCP, far, *rate)).unwrap_or(f64::INFINITY);
        let rates = 0..HIGH_RATES.len();
        rates.min_by(|a, b| median(a).total_cmp(&median(b))).expect("there are rates")
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let plan = plan(context.extent);
    let measured = Measured::of(context, &plan)?;
    let seconds = Seconds(&measured);
    let method = format!(
        "{} The requests of S0.fig6 at 10 and 12.2 m and the four highest rates. The best rate of \
         TCP is that with its least median here, the choice of a rate control that errs never. {}",
        plan.method(),
        office::DESCRIPTION
    );
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&seconds),
        charts: vec![("", chart(&seconds))],
        tables: vec![("", table(&seconds))],
        ..figure.finding(context, method)
    })
}

//= S0.49
fn claims(seconds: &Seconds<'_>) -> Vec<Claim> {
    const PAPER: &str = "section 4.3: “An application using SAP can respond in another way, by \
        decreasing the amount of protection applied to payloads. … this alternative approach \
        should allow the application to retain reasonable throughput despite channel degradation”";
    let top = HIGH_RATES.len() - 1;
    let [near, far] = [0, 1].map(|at| {
        Estimate::ratio_of_medians(
            &seconds.at(TCP, at, seconds.best(at)),
            &seconds.at(APPROXIMATE, at, top),
        )
    });
    let kept = Claim::paper(
        "S0.49",
        PAPER,
        "approximate SAP at 54 Mb/s is at least as fast as TCP at the best rate for it",
    );
    let band = || Band::from(0.95, "as fast, within a twentieth");
    let kept = kept.compare("10 m", near, band()).compare("12.2 m", far, band());
    let lower = Claim::ours(
        "S0.49",
        "at 12.2 m approximate SAP at a rate takes less time than TCP at the next lower one",
    );
    let lower = (1..HIGH_RATES.len()).fold(lower, |claim, rate| {
        let [tcp, sap] = [seconds.at(TCP, 1, rate - 1), seconds.at(APPROXIMATE, 1, rate)];
        let of = format!("{} Mb/s by {} Mb/s", HIGH_RATES[rate - 1], HIGH_RATES[rate]);
        claim.compare(of, Estimate::ratio_of_medians(&tcp, &sap), Band::above(1.0, "less time"))
    });
    vec![
        kept.recorded(Verdict::InPart).because(
            "at 10 m both are as fast at 54 Mb/s, and at 12.2 m 36 Mb/s are better for both: \
             nearly all arrives there, over TCP in three quarters of the time of approximate SAP \
             at 54 Mb/s, of whose bytes more than 40 % are damaged or missing",
        ),
        lower.recorded(Verdict::InPart).because(
            "36 Mb/s by approximate SAP against 24 over TCP: a quarter less time for 3 % of \
             damage; above, damage costs what TCP loses by repeating",
        ),
    ]
}

fn chart(seconds: &Seconds<'_>) -> Chart {
    let series = (0..FAR.len()).flat_map(|far| {
        [APPROXIMATE, TCP].map(|way| {
            let point = |(rate, &mbps): (usize, &u64)| {
                let Estimate { value, low, high, .. } =
                    Estimate::median(&seconds.at(way, far, rate));
                let spread = (low.is_finite() && high.is_finite()).then_some((low, high));
                value.is_finite().then_some(Point { x: mbps as f64, y: value, spread })
            };
            let points = HIGH_RATES.iter().enumerate().filter_map(point).collect();
            let name = format!("{}, {} m", WAYS[way].name, FAR[far]);
            Series::new(name, Mark::LinePoints, points)
        })
    });
    Chart {
        title: "Time of a file by rate, far away".to_owned(),
        subtitle: "median and its 95 % interval".to_owned(),
        x: Axis::linear("rate (Mb/s)").from_zero(),
        y: Axis::log("time (s)"),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(seconds: &Seconds<'_>) -> Table {
    let columns = ["way", "distance (m)", "rate (Mb/s)"].into_iter();
    let columns = columns.chain(MEASURES).chain(["damaged (%)"]);
    let mut table = Table::new(columns);
    for way in [APPROXIMATE, TCP] {
        for (far, metres) in FAR.iter().enumerate() {
            for (rate, mbps) in HIGH_RATES.iter().enumerate() {
                let mut row = vec![WAYS[way].name.to_owned(), metres.to_string(), mbps.to_string()];
                row.extend(measures(&seconds.at(way, far, rate)));
                row.push(format!("{:.2}", seconds.damaged(way, far, rate)));
                table.push(row);
            }
        }
    }
    table
}
