//! The interference that a tracker tolerates, over SAP and over TCP (S0.74).

use windfall_experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Estimate, Mark, Series, Table, statistics};

use super::cells::interval;
use super::ends::MUTATION;
use super::fig8::{OfWalk, ratio, values};
use super::office::{self, NETWORKS, Office};
use super::tracker::{Both, USEFUL, Walked, trials, walks};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.74",
    title: "A tracker among interfering networks: error and age of positions",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotReproduced, 20),
    mutation: Some(MUTATION),
    run,
};

/// The position of the sender: one attempt often fails.
const METRES: f64 = 12.2;
/// The numbers of interfering networks; those on the channels beside come first.
const NUMBERS: [usize; 5] = [0, 1, 2, 4, NETWORKS];

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let offices = NUMBERS.map(|others| Office { others, ..Office::at(METRES, 54) });
    let walks = walks(context, &offices);
    let method = format!(
        "{} walks of 945 points, as in Figure 7, at {METRES} m and 54 Mb/s, among the first of the \
         office's networks and then more of them; the sender hears few of them. Useful is what is \
         useful in Figure 8. {}",
        trials(context.extent),
        office::DESCRIPTION
    );
    Ok(Finding {
        inputs: office::inputs(),
        claims: claims(&walks),
        charts: vec![
            ("", chart("Error of the speed", error(), &walks, 1.0, |walk| Some(walk.error))),
            ("age", chart("Age of positions", age(), &walks, 1e3, Walked::age)),
        ],
        tables: vec![("", table(&walks))],
        ..figure.finding(context, method)
    })
}

//= S0.74
fn claims(walks: &[Vec<Both>]) -> Vec<Claim> {
    let borne = |walks: &Vec<Both>, protocol: usize| {
        let useful = walks.iter().take_while(|both| both[protocol].is_useful()).count();
        // Not even without any is one less than without any.
        useful.checked_sub(1).map_or(-1.0, |last| NUMBERS[last] as f64)
    };
    let more: Vec<f64> = walks.iter().map(|it| borne(it, 0) - borne(it, 1)).collect();
    let last = NUMBERS.len() - 1;
    vec![
        Claim::paper(
            "S0.74",
            "section 1: “tolerate more interference for a given output quality”",
            format!(
                "more networks are borne over SAP with the speed within {:.0} % and positions \
                 younger than {:.0} ms on average",
                100.0 * USEFUL.0,
                1e3 * USEFUL.1
            ),
        )
        .compare("networks more", Estimate::mean(&more), Band::from(0.01, "more: more than none"))
        .recorded(Verdict::NotReproduced),
        Claim::ours("S0.73", "among all networks positions are younger over SAP").compare(
            "SAP's age over TCP's",
            ratio(walks, last, Walked::age),
            Band::to(1.0, "younger over SAP"),
        ),
    ]
}

fn error() -> Axis {
    Axis::linear("error of the mean speed").from_zero()
}

fn age() -> Axis {
    Axis::log("age (ms)")
}

fn chart(title: &str, y: Axis, walks: &[Vec<Both>], scale: f64, of: OfWalk) -> Chart {
    let line = |(protocol, name): (usize, &str)| {
        let point = |(at, &number): (usize, &usize)| {
            let values = values(walks, at, protocol, of);
            interval(number as f64, &values.iter().map(|it| it * scale).collect::<Vec<_>>())
        };
        let points = NUMBERS.iter().enumerate().filter_map(point).collect();
        Series::new(name, Mark::LinePoints, points)
    };
    Chart {
        title: title.to_owned(),
        subtitle: format!("a position every 5 ms at {METRES} m; mean and 95 % interval"),
        x: Axis::linear("interfering networks").from_zero(),
        y,
        series: ["SAP, approximate", "TCP"].into_iter().enumerate().map(line).collect(),
        rules: Vec::new(),
    }
}

fn table(walks: &[Vec<Both>]) -> Table {
    let mut table = Table::new([
        "networks",
        "error SAP",
        "TCP",
        "points lost SAP",
        "TCP",
        "age SAP (ms)",
        "TCP (ms)",
        "useful SAP (%)",
        "TCP (%)",
    ]);
    let columns: [(OfWalk, f64); 4] = [
        (|walk| Some(walk.error), 1.0),
        (|walk| Some(walk.missing), 1.0),
        (Walked::age, 1e3),
        (|walk| Some(f64::from(walk.is_useful())), 100.0),
    ];
    for (at, networks) in NUMBERS.iter().enumerate() {
        let mut row = vec![networks.to_string()];
        for (of, scale) in columns {
            row.extend([0, 1].map(|protocol| {
                let mean = statistics::mean(&values(walks, at, protocol, of));
                format!("{:.4}", scale * mean.unwrap_or(f64::NAN))
            }));
        }
        table.push(row);
    }
    table
}
