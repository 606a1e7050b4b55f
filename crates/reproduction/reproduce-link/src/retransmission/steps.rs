//! Section 3.2.2: a link that degrades and improves, and what TCP makes of it (S3.11).

use std::fmt::Write as _;
use std::fs;

use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Scratch, Sequence, Verdict,
    VerdictRecord,
};
use windfall_report::{Mark, Point, Series};

use windfall_experiment::kernel::{self, Transfer};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.steps",
    title: "TCP over a link that degrades to a quarter and improves again",
    basis: Basis::RealTime,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

const SCENARIO: &str = include_str!("../../../../../scenarios/paper-003/tcp-over-steps.toml");
/// The rate before and after, and between, in kilobytes a second.
const RATES: [f64; 3] = [100.0, 25.0, 100.0];
/// Bytes that leave at one moment of the trace.
const OPPORTUNITY: f64 = 1_500.0;
/// The share of a rate that TCP must reach, TCP and IP headers included in the rest.
const ENOUGH: f64 = 0.85;

//= S3.11
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    // How long each rate lasts; TCP gets the first part of it to find its place.
    let step = if context.extent == Extent::Quick { 6.0 } else { 10.0 };
    let scratch = Scratch::new()?;
    let path = scratch.0.join("steps.trace");
    let written = fs::write(&path, trace(step));
    written.map_err(|source| ExperimentError::File { path: path.clone(), source })?;
    let done = kernel::all(
        context,
        &[Transfer {
            figure: figure.name,
            scenario: SCENARIO,
            uplink: format!("rate-trace = {:?}", path.display().to_string()),
            // Nearly as much as the three steps can carry.
            bytes: (RATES.iter().sum::<f64>() * step * 0.9 * 1e3) as u64,
            buffer: None,
            seed: context.seed,
            capture: true,
        }],
    )?;
    let nothing =
        || ExperimentError::Scenario { figure: figure.name, message: "nothing was run".into() };
    let sequence = Sequence::of_transfer(figure.name, done.first().ok_or_else(nothing)?)?;
    let shares = [0, 1, 2].map(|i| {
        let from = (i as f64 + 0.3) * step;
        let to = (i as f64 + 0.9) * step;
        sequence.rate(from, to.min(sequence.end())) / RATES[i]
    });
    let retransmitted = sequence.between(step, 2.0 * step).retransmitted.len();
    let mut chart = sequence.chart(
        "TCP over a link that degrades and improves",
        "kernel TCP, Reno without SACK; 0.8, 0.2 and again 0.8 Mb/s, a queue of 10 packets",
    );
    chart.series.insert(0, capacity(step));
    let method = format!(
        "One TCP connection. {} Here the link is a pipe whose rate follows a trace, with the \
         kernel's own socket buffers, so that its queue can overflow. Throughput is measured \
         after the first third of each step.",
        kernel::method()
    );
    Ok(Finding {
        claims: vec![
            Claim::once(
                "S3.11",
                "when the link degrades its queue overflows, and TCP backs off",
                format!(
                    "{retransmitted} segments sent again, {:.0} % of the lower rate used",
                    100.0 * shares[1]
                ),
                retransmitted > 0 && shares[1] >= ENOUGH,
            ),
            Claim::once(
                "S3.11",
                "when it improves TCP discovers and uses the excess",
                format!(
                    "{:.0} % of the rate used afterwards, {:.0} % before",
                    100.0 * shares[2],
                    100.0 * shares[0]
                ),
                shares[2] >= ENOUGH,
            ),
        ],
        charts: vec![("", chart)],
        tables: vec![("", sequence.table())],
        ..figure.finding(context, method)
    })
}

/// A trace of mahimahi with three steps of `step` seconds each.
fn trace(step: f64) -> String {
    let mut text = String::new();
    for (i, rate) in RATES.iter().enumerate() {
        let mut at = i as f64 * step;
        let end = (i as f64 + 1.0) * step;
        let gap = OPPORTUNITY / (rate * 1e3);
        while at + gap <= end {
            at += gap;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", (at * 1e3).round() as u64);
        }
    }
    text
}

/// The capacity of the link.
fn capacity(step: f64) -> Series {
    let mut points = vec![Point::new(0.0, 0.0)];
    let mut carried = 0.0;
    for (i, rate) in RATES.iter().enumerate() {
        carried += rate * step;
        points.push(Point::new((i as f64 + 1.0) * step, carried));
    }
    Series::new("what the link carries", Mark::Dashed, points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_has_the_rates_of_its_steps() {
        let text = trace(10.0);
        let times: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(times.is_sorted());
        let bytes = |from, to| {
            let inside = times.iter().filter(|at| (from..to).contains(*at)).count();
            inside as f64 * OPPORTUNITY / 1e3
        };
        for (i, rate) in RATES.iter().enumerate() {
            let from = i as u64 * 10_000;
            let found = bytes(from, from + 10_000) / 10.0;
            assert!((found - rate).abs() < 1.0, "{found} KB/s");
        }
    }
}
