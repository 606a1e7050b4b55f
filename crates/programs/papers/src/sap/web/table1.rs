//! Table 1: what approximate SAP saves of TCP's time, with a web server (S0.44 to S0.46).

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};

use super::super::bulk::{
    APPROXIMATE, DISTANCES, NEAR, PRECISE, TABLE, TCP, Times, mean_factor, of_table_1, ratio,
    seconds_at,
};
use super::super::office;
use super::requests::Fetch;
use super::{MUTATION, Measured, Place, Plan, WAYS};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.table1",
    title: "A file from a web server: what approximate SAP saves of TCP's time",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::NotReproduced, 20),
    mutation: Some(MUTATION),
    run,
};

/// The indexes of the ways, after those of the protocols.
const STANDARD: usize = 3;
const STANDARD_PRECISE: usize = 4;

/// The file of Table 1 and Figure 5 at their distances, and beyond.
pub(super) fn plan(extent: Extent) -> Plan {
    let (bytes, runs, [paper, beyond], pause) = match extent {
        Extent::Quick => (200_000, 1, [1; 2], 0.0),
        Extent::Paper => (2_000_000, 20, [5, 1], 1.0),
        Extent::Full => (2_000_000, 30, [5, 1], 1.0),
    };
    let place = |(at, &metres): (usize, &f64)| {
        let requests = if at < TABLE.len() { paper } else { beyond };
        Place { metres, mbps: 54, requests }
    };
    let places = DISTANCES.iter().enumerate().map(place).collect();
    Plan { name: "distances", places, ways: WAYS.len(), bytes, runs, pause }
}

/// The conditions that Table 1 and Figure 5 have in common.
pub(super) fn method(extent: Extent) -> String {
    let plan = plan(extent);
    let [paper, beyond] = [&plan.places[0], &plan.places[TABLE.len()]].map(|it| it.requests);
    format!(
        "{} At each distance up to 10 m {paper} requests of each run by each way, {beyond} at \
         12.2 m, first over TCP, then for precise SAP, then for approximate SAP in the paper's \
         profile, then for both in the standard one, at 54 Mb/s. {}",
        plan.method(),
        office::DESCRIPTION
    )
}

//= S0.68
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let measured = Measured::of(context, &plan(context.extent))?;
    let note = "\
        The geometric mean of the paper's printed speed-ups is 1.434, that of the ratios of its \
        times 1.438, which saves 30.4 % of the time; at 4 m it prints 1.11 where its times give \
        1.12 (S0.68).";
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&measured),
        charts: vec![("", chart(&measured))],
        tables: vec![("", table(&measured))],
        ..figure.finding(context, format!("{} {note}", method(context.extent)))
    })
}

//= S0.44
//= S0.45
//= S0.46
fn claims(measured: &Measured) -> Vec<Claim> {
    let times = measured.times();
    let [shortest, beyond, table, mean, saved] = of_table_1(&times);
    let slow = |claim: Claim| claim.recorded(Verdict::NotReproduced).because(NEAR);
    let mut claims =
        vec![slow(shortest), beyond, slow(table), slow(mean), slow(saved), ways(measured)];
    claims.extend(standard(&times));
    claims
}

/// Judges what the standard profile is worth beside TCP.
fn standard(times: &[Times]) -> [Claim; 2] {
    let level = Claim::ours(
        "S0.45",
        "in the standard profile approximate and precise SAP take no longer than TCP from 2 to \
         10 m",
    );
    let level = [STANDARD, STANDARD_PRECISE].into_iter().fold(level, |claim, way| {
        (0..TABLE.len()).fold(claim, |claim, at| {
            let band = Band::from(0.97, "at most 3 % longer");
            claim.compare(
                format!("{}, {} m", WAYS[way].name, DISTANCES[at]),
                ratio(times, TCP, way, at),
                band,
            )
        })
    });
    let ahead = Claim::ours(
        "S0.45",
        "in the standard profile approximate SAP takes less time than TCP at 12.2 m, where frames \
         arrive damaged",
    );
    let ahead = ahead.compare(
        format!("{}, 12.2 m", WAYS[STANDARD].name),
        ratio(times, TCP, STANDARD, TABLE.len()),
        Band::above(1.0, "less"),
    );
    [level, ahead]
}

/// Judges whether each body came by the way that was asked for.
fn ways(measured: &Measured) -> Claim {
    let of = |way: usize| (0..TABLE.len()).flat_map(move |at| measured.at(way, at));
    let whole = |fetch: &Fetch| fetch.seconds.is_finite();
    let by_sap = [APPROXIMATE, PRECISE, STANDARD, STANDARD_PRECISE];
    let over_sap = by_sap.into_iter().flat_map(of).filter(whole);
    let fallen = over_sap.filter(|fetch| !fetch.is_over_sap).count();
    let precise = [TCP, PRECISE, STANDARD_PRECISE].into_iter().flat_map(of).filter(whole);
    let damaged = precise.filter(|fetch| fetch.damaged > 0.0).count();
    let over_tcp = of(TCP).filter(|fetch| fetch.is_over_sap).count();
    Claim::ours("S0.44", "bodies come by the way that is asked for, and precise ones are whole")
        .fact(
            format!("{fallen} over TCP in place of SAP, {over_tcp} the reverse, {damaged} damaged"),
            fallen + over_tcp + damaged == 0,
        )
}

fn chart(measured: &Measured) -> Chart {
    let times = measured.times();
    let point = |way: usize, (at, &x): (usize, &f64)| {
        let Estimate { value, low, high, .. } = ratio(&times, TCP, way, at);
        let spread = (low.is_finite() && high.is_finite()).then_some((low, high));
        value.is_finite().then_some(Point { x, y: value, spread })
    };
    let gain = |way: usize| {
        let points = DISTANCES.iter().enumerate().filter_map(|it| point(way, it)).collect();
        Series::new(WAYS[way].name, Mark::LinePoints, points)
    };
    let paper = DISTANCES.iter().zip(TABLE).map(|(&x, y)| Point::new(x, y)).collect();
    let paper = Series::new("the paper's Table 1", Mark::Dashed, paper);
    Chart {
        title: "Gain of approximate SAP over TCP, with a web server".to_owned(),
        subtitle: "ratio of the medians and its 95 % interval".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::log("time over TCP / time over SAP"),
        series: vec![gain(APPROXIMATE), gain(STANDARD), paper],
        rules: Vec::new(),
    }
}

fn table(measured: &Measured) -> Table {
    let times = measured.times();
    let columns = [
        "distance (m)",
        "TCP (s)",
        "SAP approximate (s)",
        "speed-up",
        "low",
        "high",
        "of means",
        "paper's speed-up",
    ];
    let mut table = Table::new(columns);
    let of = |values: &[f64]| format!("{:.4}", statistics::median(values).unwrap_or(f64::NAN));
    let finite_mean = |way: usize, at: usize| {
        let seconds = seconds_at(&times, way, at);
        let finite: Vec<f64> = seconds.into_iter().filter(|it| it.is_finite()).collect();
        statistics::mean(&finite).unwrap_or(f64::NAN)
    };
    for (at, metres) in DISTANCES.iter().enumerate() {
        let Estimate { value, low, high, .. } = ratio(&times, TCP, APPROXIMATE, at);
        let mut row = vec![metres.to_string()];
        row.extend([TCP, APPROXIMATE].map(|way| of(&seconds_at(&times, way, at))));
        row.extend([value, low, high].map(|it| format!("{it:.3}")));
        row.push(format!("{:.3}", finite_mean(TCP, at) / finite_mean(APPROXIMATE, at)));
        row.push(TABLE.get(at).map_or(String::new(), ToString::to_string));
        table.push(row);
    }
    let mean = mean_factor(&times);
    let mut row = vec!["geometric mean to 10 m".to_owned()];
    row.extend([String::new(), String::new()]);
    row.extend([mean.value, mean.low, mean.high].map(|it| format!("{it:.3}")));
    row.extend([String::new(), "1.43".to_owned()]);
    row.resize(columns.len(), String::new());
    table.push(row);
    table
}
