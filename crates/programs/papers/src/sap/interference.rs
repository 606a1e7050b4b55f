//! The interference that a tracker tolerates, over SAP and over TCP (S0.74).

use windfall_report::{Axis, Chart, Estimate, Mark, Series, Table, statistics};

use super::cells::interval;
use super::ends::MUTATION;
use super::fig8::{OfWalk, ratio, values};
use super::office::{self, NETWORKS, Office};
use super::tracker::{Both, USEFUL, Walked, trials, walks};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

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
/// The loads of the interfering networks, over those of the office.
const LOADS: [f64; 6] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0];
/// The index of the load of the office.
const OFFICE: usize = 1;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let offices = LOADS.map(|load| Office { load: [load; 2], ..Office::at(METRES, 54) });
    let walks = walks(context, &offices);
    let method = format!(
        "{} walks of 945 points, as in Figure 7, at {METRES} m and 54 Mb/s, among the office's \
         {NETWORKS} networks, whose load grows; the sender hears few of them. Useful is what is \
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
    let more_borne = |is_good: fn(&Walked) -> bool| {
        let borne = |walks: &Vec<Both>, protocol: usize| {
            let good = walks.iter().take_while(|both| is_good(&both[protocol])).count();
            // Not even without any is one less than without any.
            good.checked_sub(1).map_or(-1.0, |last| LOADS[last])
        };
        let more: Vec<f64> = walks.iter().map(|it| borne(it, 0) - borne(it, 1)).collect();
        Estimate::mean(&more)
    };
    let band = || Band::from(0.01, "more: more than none");
    vec![
        Claim::paper(
            "S0.74",
            "section 1: “tolerate more interference for a given output quality”",
            "the paper's tracker errs by less than 10 % under more load of other networks over SAP \
             than over TCP",
        )
        .compare("times the office's load more", more_borne(Walked::is_accurate), band())
        .recorded(Verdict::NotReproduced)
        .because(
            "as in Figure 8: what SAP loses makes one longer step for the paper's tracker; TCP's \
             positions are late but right",
        ),
        Claim::ours(
            "S0.74",
            format!(
                "with numbered messages more load is borne over SAP: the speed within {:.0} %, and \
                 positions younger than {:.0} ms on average",
                100.0 * USEFUL.0,
                1e3 * USEFUL.1
            ),
        )
        .compare("times the office's load more", more_borne(Walked::is_useful), band()),
        Claim::ours("S0.73", "among the office's networks positions are younger over SAP").compare(
            "SAP's age over TCP's",
            ratio(walks, OFFICE, Walked::age),
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
        let point = |(at, &load): (usize, &f64)| {
            let values = values(walks, at, protocol, of);
            interval(load, &values.iter().map(|it| it * scale).collect::<Vec<_>>())
        };
        let points = LOADS.iter().enumerate().filter_map(point).collect();
        Series::new(name, Mark::LinePoints, points)
    };
    Chart {
        title: title.to_owned(),
        subtitle: format!("a position every 5 ms at {METRES} m; mean and 95 % interval"),
        x: Axis::linear("load of other networks, over the office's").from_zero(),
        y,
        series: ["SAP, approximate", "TCP"].into_iter().enumerate().map(line).collect(),
        rules: Vec::new(),
    }
}

fn table(walks: &[Vec<Both>]) -> Table {
    let mut table = Table::new([
        "load",
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
    for (at, load) in LOADS.iter().enumerate() {
        let mut row = vec![load.to_string()];
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
