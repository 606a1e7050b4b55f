//! Figure 9: TCP beside UDP for every policy in every place.

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};
use windfall_scenario::{Environment, PolicyKind};

use super::coded::{self, Cell};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig9",
    title: "TCP beside UDP for every policy in every place",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let cells = coded::cells(context, figure.name)?;
    let method = "The transfers and the sprays of Figure 8, set side by side: frames are \
                  retransmitted without end and not padded. Figure 8 shows what other choices \
                  lead to; padding TCP's acknowledgements to five blocks alone costs it what its \
                  office row says.";
    Ok(Finding {
        claims: claims(&cells),
        charts: vec![("", chart(&cells))],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

fn ratio(cell: &Cell) -> Option<f64> {
    (cell.udp > 0.0).then(|| cell.mean() / cell.udp)
}

/// The cell in which the paper's TCP could not connect.
fn is_hopeless(cell: &Cell) -> bool {
    cell.place == Environment::Table && cell.policy == PolicyKind::Bold
}

fn claims(cells: &[Cell]) -> Vec<Claim> {
    let usable = cells.iter().filter(|cell| !is_hopeless(cell));
    let worst = usable
        .filter_map(|cell| Some((cell, ratio(cell)?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut claims = Vec::new();
    //= S3.23
    claims.extend(worst.map(|(cell, ratio)| {
        Claim::once(
            "S3.23",
            "TCP gets what UDP gets under every policy: at least 85 %, BOLD on table apart",
            format!("at least {:.2}, with {} in {}", ratio, cell.policy, cell.place),
            ratio >= 0.85,
        )
    }));
    claims
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new(["place", "policy", "UDP KB/s", "TCP KB/s", "TCP / UDP"]);
    for cell in cells {
        table.push([
            cell.place.to_string(),
            cell.policy.to_string(),
            format!("{:.2}", cell.udp),
            format!("{:.2}", cell.mean()),
            ratio(cell).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
        ]);
    }
    table
}

fn chart(cells: &[Cell]) -> Chart {
    let series = |policy: PolicyKind| {
        let own = cells.iter().filter(|cell| cell.policy == policy);
        let points = own.map(|cell| Point::new(cell.udp, cell.mean())).collect();
        Series::new(policy.to_string(), Mark::Points, points)
    };
    let most = cells.iter().map(|cell| cell.udp).fold(1.0, f64::max);
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
