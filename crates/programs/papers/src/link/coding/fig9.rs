//! Figure 9: TCP beside UDP for every policy in every place.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, statistics};
use windfall_scenario::{Arq, Direction, Environment, PolicyKind, without_span};

use super::coded::{self, Cell};
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, Figure, Finding, Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.fig9",
    title: "TCP beside UDP for every policy in every place",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("a frame is retransmitted once at most"),
    run,
};

/// TCP's share of what UDP gets, of that in the office, where nothing could trigger congestion
/// avoidance falsely: less would be a loss, and more is none.
const USABLE: f64 = 0.95;
/// The least share of what UDP has that is much alike (S3.23).
const SIMILAR: f64 = 0.85;
/// Timeouts in a transfer that are none: one in ten of them.
const NONE: f64 = 0.1;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let settings = |policy| {
        let both = coded::settings(policy);
        let once = Direction { arq: Some(without_span(Arq::after(1))), ..both.clone() };
        if context.is_mutated { once } else { both }
    };
    let cells = coded::cells(context, figure.name, &PolicyKind::ALL, settings)?;
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

/// The throughput of TCP as a share of that of UDP, in a place relative to the office, trace by
/// trace. The cost of headers, acknowledgments and slow start is in both.
fn relative(cells: &[Cell], cell: &Cell) -> Estimate {
    let Some(office) = coded::of(cells, Environment::Office, cell.policy) else {
        return Estimate::exact(f64::NAN);
    };
    let ratios = |cell: &Cell| -> Vec<f64> {
        cell.tcp.iter().zip(&cell.udp).map(|(tcp, udp)| tcp / udp).collect()
    };
    let pairs = ratios(cell).into_iter().zip(ratios(office));
    Estimate::mean(&pairs.map(|(there, office)| there / office).collect::<Vec<_>>())
}

/// The throughput of TCP to that of UDP, trace by trace.
fn ratio(cell: &Cell) -> Estimate {
    let ratios = cell.tcp.iter().zip(&cell.udp).map(|(tcp, udp)| tcp / udp);
    Estimate::mean(&ratios.collect::<Vec<_>>())
}

//= S3.23
fn claims(cells: &[Cell]) -> Vec<Claim> {
    let of = |cell: &Cell| format!("{} in {}", cell.policy, cell.place);
    let direct = |claim: Claim, cell: &Cell| {
        claim.compare(of(cell), ratio(cell), Band::from(SIMILAR, "the requirement's 0.85"))
    };
    let compare = |claim: Claim, cell: &Cell| {
        let band = Band::from(USABLE, "as without errors, within 5 %");
        claim.compare(of(cell), relative(cells, cell), band)
    };
    let untriggered = |claim: Claim, cell: &Cell| {
        let of = format!("timeouts in a transfer, {} in {}", cell.policy, cell.place);
        claim.compare(of, Estimate::mean(&cell.timeouts), Band::to(NONE, "none in nine of ten"))
    };
    let office = |cell: &&Cell| cell.place == Environment::Office;
    let (ours, papers): (Vec<&Cell>, Vec<&Cell>) =
        cells.iter().partition(|cell| cell.policy == PolicyKind::Best);
    let paper = Claim::paper(
        "S3.23",
        "section 4: the throughput “measured by UDP, is fully usable by off-the-shelf TCP under \
         every combination of error environment and adaptation policy”",
        "TCP has nearly what UDP has, under every policy in every place",
    );
    let triggering = Claim::paper(
        "S3.23",
        "section 4: “none of the error control strategies is causing TCP to lose performance due \
         to false triggering of its congestion avoidance mechanism”",
        "TCP's timer does not fire under any policy in any place",
    )
    .recorded(Verdict::InPart)
    .because(
        "under BOLD it does on *table*, where the paper's TCP did not connect, and that it never \
         does behind walls and in *adjacent* is not shown; under the others it does not fire",
    );
    let alike = Claim::ours(
        "S3.23",
        "errors cost TCP nothing: it has no less of what UDP has than in the office",
    );
    let own = Claim::ours("S3.23", "so it does under the policy that estimates");
    let there = |cell: &&Cell| !office(cell);
    vec![
        papers.iter().copied().fold(paper, direct),
        papers.iter().copied().fold(triggering, untriggered),
        papers.iter().copied().filter(there).fold(alike, compare),
        ours.into_iter().filter(there).fold(own, compare),
    ]
}

fn mean(rates: &[f64]) -> f64 {
    statistics::mean(rates).unwrap_or(f64::NAN)
}

fn table(cells: &[Cell]) -> Table {
    let names = ["place", "policy", "UDP KB/s", "TCP KB/s", "TCP / UDP", "from", "to", "timeouts"];
    let mut table = Table::new(names);
    for cell in cells {
        let Estimate { value, low, high, .. } = ratio(cell);
        let values = [mean(&cell.udp), mean(&cell.tcp), value, low, high, mean(&cell.timeouts)];
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
