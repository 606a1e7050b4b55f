//! What few attempts leave over, and what TCP makes of it (S3.50).

use windfall_base::{DropReason, Seed};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

use super::bursts::WITH;
use windfall_experiment::simulated::Transfer;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.50",
    title: "TCP over what 802.11's few attempts leave over",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The losses of frames.
const LOSSES: [f64; 4] = [0.1, 0.3, 0.5, 0.6];
/// Attempts in all: 802.11's for long frames, its for short ones, and as many as it takes.
const ATTEMPTS: [(u32, &str, &str); 3] = [
    (4, "4 attempts", "arq = 3"),
    (7, "7 attempts", "arq = 6"),
    (0, "persistent", "arq = \"persistent\""),
];

/// The measurements at one loss with one number of attempts.
#[derive(Clone, Copy)]
struct Cell {
    packets: u64,
    lost: u64,
    /// The throughput in KB/s.
    throughput: f64,
}

//= S3.50
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, bytes) = match context.extent {
        Extent::Quick => (2, 150_000),
        Extent::Paper => (5, 500_000),
        Extent::Full => (20, 1_000_000),
    };
    let mut cells = Vec::new();
    for (_, name, arq) in ATTEMPTS {
        (context.progress)(&format!("{}: {name}", figure.name));
        for loss in LOSSES {
            let uplink = format!("burst = \"0/1\"\nloss = {loss}\n{arq}");
            cells.push(measure(figure, context, &uplink, runs, bytes)?);
        }
    }
    let rows: Vec<&[Cell]> = cells.chunks(LOSSES.len()).collect();
    let method = format!(
        "TCP transfers (NetBSD 1.2's TCP, {runs} of {bytes} bytes a point) over WaveLAN in \
         simulated time; frames of the data are lost independently and retransmitted until 4 or 7 \
         attempts have failed, or until they arrive."
    );
    Ok(Finding {
        claims: claims(&rows),
        charts: vec![("", chart(&rows))],
        tables: vec![("", table(&rows))],
        ..figure.finding(context, method)
    })
}

fn measure(
    figure: &Figure,
    context: &Context<'_>,
    uplink: &str,
    runs: u64,
    bytes: u64,
) -> Result<Cell, ExperimentError> {
    let mut cell = Cell { packets: 0, lost: 0, throughput: 0.0 };
    for run in 0..runs {
        let done = Transfer {
            figure: figure.name,
            scenario: WITH,
            uplink: uplink.to_owned(),
            tcp: "net3-reno",
            bytes,
            seed: Seed(context.seed.0.wrapping_add(run)),
        }
        .run()?;
        let lost = done.ledger.drops.of(DropReason::RetryLimit);
        cell.lost += lost;
        cell.packets += done.ledger.delivered + lost;
        cell.throughput += done.throughput() / runs as f64;
    }
    Ok(cell)
}

fn claims(rows: &[&[Cell]]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for ((attempts, name, _), row) in ATTEMPTS.iter().zip(rows).take(2) {
        let pairs: Vec<(f64, f64, f64)> = (LOSSES.iter().zip(*row))
            .map(|(loss, cell)| {
                let expected = loss.powi(*attempts as i32);
                let packets = cell.packets.max(1) as f64;
                // Five standard deviations, and one packet where none is to be expected.
                let tolerance = 5.0 * (expected / packets).sqrt() + 1.0 / packets;
                (cell.lost as f64 / packets, expected, tolerance)
            })
            .collect();
        let shown = |pick: fn(&(f64, f64, f64)) -> f64| {
            let all: Vec<_> =
                pairs.iter().map(|pair| format!("{:.2} %", 100.0 * pick(pair))).collect();
            all.join(", ")
        };
        claims.push(Claim::once(
            "S3.50",
            format!("p^{attempts} is left over: {}", shown(|pair| pair.1)),
            format!("{name}: {}", shown(|pair| pair.0)),
            pairs.iter().all(|(got, p, tolerance)| (got - p).abs() < *tolerance),
        ));
    }
    let share = |row: usize, loss: usize| rows[row][loss].throughput / rows[2][loss].throughput;
    claims.push(Claim::once(
        "S3.50",
        "residual errors may disturb TCP: with 4 attempts at half the frames lost",
        format!(
            "{:.0} % of what persistence gives; {:.0} % with 7 attempts",
            100.0 * share(0, 2),
            100.0 * share(1, 2)
        ),
        share(0, 2) < 0.85 && share(0, 2) < share(1, 2),
    ));
    claims.push(Claim::once(
        "S3.50",
        "and hardly do where few are left over: at a tenth lost",
        format!("{:.0} %, {:.0} %", 100.0 * share(0, 0), 100.0 * share(1, 0)),
        share(0, 0) > 0.95 && share(1, 0) > 0.95,
    ));
    claims
}

fn chart(rows: &[&[Cell]]) -> Chart {
    let series = ATTEMPTS.iter().zip(rows).map(|((_, name, _), row)| {
        let points =
            LOSSES.iter().zip(*row).map(|(loss, c)| Point::new(100.0 * loss, c.throughput));
        Series::new(*name, Mark::Line, points.collect())
    });
    Chart {
        title: "TCP over few attempts".to_owned(),
        subtitle: "NetBSD 1.2's TCP over WaveLAN".to_owned(),
        x: Axis::linear("frames lost (%)"),
        y: Axis::linear("throughput (KB/s)").from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(rows: &[&[Cell]]) -> Table {
    let mut table =
        Table::new(["attempts", "frames lost", "packets", "packets lost", "throughput (KB/s)"]);
    for ((_, name, _), row) in ATTEMPTS.iter().zip(rows) {
        for (loss, cell) in LOSSES.iter().zip(*row) {
            table.push([
                (*name).to_owned(),
                format!("{loss}"),
                cell.packets.to_string(),
                cell.lost.to_string(),
                format!("{:.1}", cell.throughput),
            ]);
        }
    }
    table
}
