//! Figures 2 to 4 over the system's sockets: `windfall stream` between two namespaces.

use std::process::{Command, Stdio};

use serde_json::Value;
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_live::end_with_this_process;
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.sockets",
    title: "retransmissions, bit errors and frame loss over the system's sockets, in real time",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The distances in metres, and the transmit power in dBm: so low that the furthest position is
/// poor.
const DISTANCES: [u32; 3] = [4, 11, 12];
const POWER: f64 = -4.5;
/// The rates in Mb/s.
const RATES: [u32; 3] = [24, 36, 54];
/// The modes of the streamer, with the option of the link for each.
const WAYS: [(&str, &str); 2] = [("sap-precise", ""), ("sap", "--accept-damaged")];
/// The number of trials of a run whose ends fail to connect on a busy machine.
const TRIALS: u64 = 3;

/// The measurements at one position and rate.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    metres: u32,
    mbps: u32,
    /// Retransmissions of the link per packet, all precise.
    retransmitted: f64,
    /// The bit error rate in damaged datagrams, and the fraction of intact bits in all.
    wrong: f64,
    right: f64,
    /// The losses of a stock receiver, and those of SAP.
    flr: f64,
    flr_but_damaged: f64,
}

/// Runs the streamer once; returns the report of its receiver and that of the run.
fn stream(
    context: &Context<'_>,
    (metres, mbps): (u32, u32),
    (over, accept): (&str, &str),
) -> Result<[Value; 2], ExperimentError> {
    let datagrams = match context.extent {
        Extent::Quick => 300,
        Extent::Paper => 2_000,
        Extent::Full => 10_240,
    };
    let program = context.program.display();
    let mut last = None;
    for trial in 0..TRIALS {
        let mut command = Command::new(&context.program);
        command.args(["run", "--json", "--link", "wifi-g", "--distance", &metres.to_string()]);
        command.args(["--rate", &mbps.to_string(), &format!("--power={POWER}")]);
        command.args(["--seed", &(context.seed.0 + trial).to_string()]);
        command.args(Some(accept).filter(|accept| !accept.is_empty()));
        // The sender may start first.
        command.arg("--far").arg(format!(
            "for i in 1 2 3 4 5 6 7 8; do sleep 0.3; {program} stream send $WINDFALL_BASE \
             --over {over} --datagrams {datagrams} --interval 1ms && exit; done"
        ));
        command.arg("--").arg(&context.program).args(["stream", "receive", "--json"]);
        command.args(["--over", over]);
        let shown = format!("{command:?}").replace('"', "");
        let output = end_with_this_process(&mut command).stdin(Stdio::null()).output();
        let output =
            output.map_err(|source| ExperimentError::Start { command: shown.clone(), source })?;
        // The receiver reports on its standard output, the run on the standard error.
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let said = |key: &str| {
            let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            values.into_iter().find(|value| value.get(key).is_some())
        };
        if let Some((stream, run)) = said("bit_errors").zip(said("links")) {
            return Ok([stream, run]);
        }
        let message = text.lines().last().unwrap_or("it said nothing").to_owned();
        last = Some(ExperimentError::Run { command: shown, message });
    }
    Err(last.expect("there was a trial"))
}

fn measure(context: &Context<'_>, metres: u32, mbps: u32) -> Result<Cell, ExperimentError> {
    (context.progress)(&format!("{metres} m, {mbps} Mb/s"));
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let [_, run] = stream(context, (metres, mbps), WAYS[0])?;
    // The sender is the far station.
    let link = &run["links"][1];
    let [report, _] = stream(context, (metres, mbps), WAYS[1])?;
    Ok(Cell {
        metres,
        mbps,
        retransmitted: number(&link["retransmitted"]) / number(&link["entered"]),
        wrong: number(&report["bit_error_rate_damaged"]),
        right: number(&report["correct_bits"]),
        flr: number(&report["loss_or_damage"]),
        flr_but_damaged: number(&report["loss"]),
    })
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let mut cells = Vec::new();
    for metres in DISTANCES {
        for mbps in RATES {
            cells.push(measure(context, metres, mbps)?);
        }
    }
    let method = format!(
        "windfall stream between two network namespaces over windfall run --link wifi-g, real \
         sockets and the kernel's IP at both ends, a datagram of 1024 bytes each millisecond, \
         once as precise messages and once as approximate ones with damage passed up. Steady \
         paths and {POWER} dBm, so that the furthest place is poor at the highest rate; \
         nothing else was chosen."
    );
    Ok(Finding {
        claims: claims(&cells),
        charts: vec![("", chart(&cells))],
        tables: vec![("", table(&cells))],
        ..figure.finding(context, method)
    })
}

fn claims(cells: &[Cell]) -> Vec<Claim> {
    let at = |metres: u32, mbps: u32| {
        let found = cells.iter().find(|cell| (cell.metres, cell.mbps) == (metres, mbps));
        found.copied().unwrap_or_default()
    };
    let poor = at(12, 54);
    let slow = at(12, 24);
    let near = at(4, 54);
    let gap = |cell: &Cell| cell.flr - cell.flr_but_damaged;
    let percent = |value: f64| format!("{:.2} %", 100.0 * value);
    //= S0.34
    //= S0.35
    //= S0.36
    //= S0.37
    vec![
        Claim::once(
            "S0.34",
            "frames are retransmitted more often further away and at higher rates",
            format!(
                "{} at 54 Mb/s and 12 m, {} at 24 Mb/s there, {} at 54 Mb/s and 4 m",
                percent(poor.retransmitted),
                percent(slow.retransmitted),
                percent(near.retransmitted)
            ),
            poor.retransmitted > 0.1 + slow.retransmitted.max(near.retransmitted),
        ),
        Claim::once(
            "S0.35",
            "in damaged frames far fewer than 5 % of the bits are wrong",
            percent(poor.wrong),
            poor.wrong > 0.0 && poor.wrong < 0.05,
        ),
        Claim::once(
            "S0.36",
            "99.6 % of all bits are right at the highest rate, give or take 0.3",
            percent(poor.right),
            poor.right >= 0.993,
        ),
        Claim::once(
            "S0.37",
            "SAP loses less than a stock receiver, and the gap grows with distance and rate",
            format!(
                "{} and {} at 54 Mb/s and 12 m",
                percent(poor.flr_but_damaged),
                percent(poor.flr)
            ),
            cells.iter().all(|cell| gap(cell) >= 0.0)
                && gap(&poor) > 0.1 + gap(&slow).max(gap(&near)),
        ),
    ]
}

fn chart(cells: &[Cell]) -> Chart {
    let line = |name: String, mbps: u32, of: fn(&Cell) -> f64| {
        let there = cells.iter().filter(|cell| cell.mbps == mbps);
        let point =
            |cell: &Cell| Point { x: cell.metres.into(), y: 100.0 * of(cell), spread: None };
        Series::new(name, Mark::LinePoints, there.map(point).collect())
    };
    let both = RATES.iter().flat_map(|&mbps| {
        [
            line(format!("FLR, {mbps} Mb/s"), mbps, |cell| cell.flr),
            line(format!("FLR/B, {mbps} Mb/s"), mbps, |cell| cell.flr_but_damaged),
        ]
    });
    Chart {
        title: "Frame loss with and without damaged frames".to_owned(),
        subtitle: "windfall stream over windfall run, in real time".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::linear("lost (%)").from_zero(),
        series: both.collect(),
        rules: Vec::new(),
    }
}

fn table(cells: &[Cell]) -> Table {
    let mut table = Table::new([
        "distance (m)",
        "rate (Mb/s)",
        "retransmitted (%)",
        "bit errors in damaged (%)",
        "intact bits (%)",
        "FLR (%)",
        "FLR/B (%)",
    ]);
    for cell in cells {
        let shares = [cell.retransmitted, cell.wrong, cell.right, cell.flr, cell.flr_but_damaged];
        let mut row = vec![cell.metres.to_string(), cell.mbps.to_string()];
        row.extend(shares.map(|share| format!("{:.3}", 100.0 * share)));
        table.push(row);
    }
    table
}
