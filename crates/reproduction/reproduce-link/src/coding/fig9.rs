//! Figure 9: TCP beside UDP for every policy in every place.

use windfall_experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};
use windfall_scenario::{Arq, Direction, PolicyKind, unplaced};

use super::coded::{self, Cell};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig9",
    title: "TCP beside UDP for every policy in every place",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 20),
    mutation: Some("a frame is retransmitted once at most"),
    run,
};

/// TCP's share of what UDP gets (S3.23), and as much more.
const SIMILAR: [f64; 2] = [0.85, 1.15];

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let settings = |policy| {
        let both = coded::settings(policy);
        let once = Direction { arq: Some(unplaced(Arq::after(1))), ..both.clone() };
        if context.is_mutated { once } else { both }
    };
    let cells = coded::cells(context, figure.name, settings)?;
    let method = "The transfers and the sprays of Figure 8, set side by side: one configuration \
                  for both figures, with frames retransmitted without end.";
    Ok(Finding {
        inputs: coded::inputs(),
        claims: claims(&cells),
        charts: vec![("", chart(&cells))],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

/// The throughput of TCP to that of UDP, trace by trace.
fn ratio(cell: &Cell) -> Estimate {
    let ratios = cell.tcp.iter().zip(&cell.udp).map(|(tcp, udp)| tcp / udp);
    Estimate::mean(&ratios.collect::<Vec<_>>())
}

//= S3.23
fn claims(cells: &[Cell]) -> Vec<Claim> {
    let [low, high] = SIMILAR;
    let compare = |claim: Claim, cell: &Cell| {
        let band = Band::between(low, high, "S3.23: 0.85 at least; as much more would not be like");
        claim.compare(format!("{} in {}", cell.policy, cell.place), ratio(cell), band)
    };
    let (ours, papers): (Vec<&Cell>, Vec<&Cell>) =
        cells.iter().partition(|cell| cell.policy == PolicyKind::Best);
    let paper = Claim::paper(
        "S3.23",
        "section 4: the throughput “measured by UDP, is fully usable by off-the-shelf TCP under \
         every combination of error environment and adaptation policy”",
        "TCP gets what UDP gets under every policy in every place",
    );
    let own = Claim::ours("S3.23", "so it does under the policy that estimates");
    vec![papers.into_iter().fold(paper, compare), ours.into_iter().fold(own, compare)]
}

fn mean(rates: &[f64]) -> f64 {
    statistics::mean(rates).unwrap_or(f64::NAN)
}

fn table(cells: &[Cell]) -> Table {
    let names = ["place", "policy", "UDP KB/s", "TCP KB/s", "TCP / UDP", "from", "to"];
    let mut table = Table::new(names);
    for cell in cells {
        let Estimate { value, low, high, .. } = ratio(cell);
        let values = [mean(&cell.udp), mean(&cell.tcp), value, low, high];
        let values = values.map(|value| format!("{value:.2}"));
        table.push([cell.place.to_string(), cell.policy.to_string()].into_iter().chain(values));
    }
    table
}

fn chart(cells: &[Cell]) -> Chart {
    let series = |policy: PolicyKind| {
        let own = cells.iter().filter(|cell| cell.policy == policy);
        let points = own.map(|cell| Point::new(mean(&cell.udp), mean(&cell.tcp))).collect();
        Series::new(policy.to_string(), Mark::Points, points)
    };
    let most = cells.iter().map(|cell| mean(&cell.udp)).fold(1.0, f64::max);
    let mut all = vec![Series::curve("TCP = UDP", Mark::Dashed, (0.0, most), 1, |x| x)];
    all.extend(PolicyKind::ALL.map(series));
    Chart {
        title: "TCP beside UDP".to_owned(),
        subtitle: "each point one policy in one place, simulated time".to_owned(),
        x: Axis::linear("UDP (KB/s)").from_zero(),
        y: Axis::linear("TCP (KB/s)").from_zero(),
        series: all,
        rules: Vec::new(),
    }
}
