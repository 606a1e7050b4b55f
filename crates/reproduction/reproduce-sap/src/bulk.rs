//! The protocols of section 4.3 by their speed, and the standard profile (S0.57).

use windfall_base::Duration;
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table, statistics};

use super::ends::{Pair, ProtocolUnderTest};
use super::office::{Office, calm};

pub(crate) const FIGURE: Figure = Figure {
    name: "S0.57",
    title: "a file over SAP, approximate and precise in both profiles, and over TCP",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

const PROTOCOLS: [(ProtocolUnderTest, &str); 4] = [
    (ProtocolUnderTest::Approximate, "SAP, approximate"),
    (ProtocolUnderTest::Tcp, "TCP"),
    (ProtocolUnderTest::Precise, "SAP, precise, standard profile"),
    (ProtocolUnderTest::Paper, "SAP, precise, paper profile"),
];
const DISTANCES: [f64; 6] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.2];
/// The time limit of a transfer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The size of each message in bytes: 1 KB in the paper, otherwise what fits into a packet of 1500
/// bytes.
pub(super) const fn message(protocol: ProtocolUnderTest) -> usize {
    match protocol {
        ProtocolUnderTest::Approximate | ProtocolUnderTest::Paper => 1_024,
        ProtocolUnderTest::Precise => 1_436,
        ProtocolUnderTest::Tcp => 1_448,
    }
}

/// Returns the seconds until the receiver knows the end of a file.
fn transfer(metres: f64, protocol: ProtocolUnderTest, kilobytes: u64, seed: u64) -> Option<f64> {
    let pair = Pair::connected(Office::calm(metres, 54), protocol, message(protocol), seed)?;
    seconds(pair, protocol, kilobytes)
}

/// Transfers a file over an open connection and returns the seconds that it takes.
pub(super) fn seconds(mut pair: Pair, protocol: ProtocolUnderTest, kilobytes: u64) -> Option<f64> {
    let len = message(protocol);
    let messages = kilobytes * 1_024 / len as u64;
    // Path MTU discovery comes first and is no part of the transfer.
    pair.run(pair.now + Duration::from_millis(500));
    let began = pair.now;
    let mut sent = 0;
    while sent < messages && pair.now < began + PATIENCE {
        while sent < messages && pair.has_room() && pair.send(&vec![0x5a; len]) {
            sent += 1;
        }
        pair.run(pair.now + Duration::from_micros(100));
    }
    pair.finish();
    while !pair.is_over() && pair.now < began + PATIENCE {
        pair.run(pair.now + Duration::from_micros(100));
    }
    let complete =
        protocol == ProtocolUnderTest::Approximate || pair.received.len() as u64 == messages;
    (pair.is_over() && complete).then(|| pair.now.saturating_since(began).as_secs_f64())
}

/// Returns the kilobytes of a transfer, and the number of transfers.
fn workload(extent: Extent) -> (u64, u64) {
    match extent {
        Extent::Quick => (1_000, 3),
        Extent::Paper => (2_048, 20),
        Extent::Full => (2_048, 100),
    }
}

/// Returns the seconds of each trial, by protocol and distance.
type Times = Vec<Vec<Vec<f64>>>;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (kilobytes, trials) = workload(context.extent);
    let times: Times = PROTOCOLS
        .iter()
        .map(|(protocol, name)| {
            (context.progress)(name);
            let at = |&metres: &f64| {
                let one = |i| transfer(metres, *protocol, kilobytes, context.seed.0 + i);
                (0..trials).filter_map(one).collect()
            };
            DISTANCES.iter().map(at).collect()
        })
        .collect();
    let median =
        |protocol: usize, at: usize| statistics::median(&times[protocol][at]).unwrap_or(f64::NAN);
    let everywhere = |holds: &dyn Fn(usize) -> bool| (0..DISTANCES.len()).all(holds);
    let ratios = |a: usize, b: usize| -> String {
        let ratio = |at| format!("{:.2}", median(a, at) / median(b, at));
        (0..DISTANCES.len()).map(ratio).collect::<Vec<_>>().join(", ")
    };
    //= S0.57
    let claims = vec![
        Claim::once(
            "S0.57",
            "precise SAP of the paper is the slowest at every distance",
            format!("its time over that of TCP: {}", ratios(3, 1)),
            everywhere(&|at| median(3, at) > median(1, at) && median(3, at) > median(0, at)),
        ),
        Claim::once(
            "S0.57",
            "where the channel is poor, approximate SAP is faster than TCP",
            format!("TCP's time over that of approximate SAP, 2 to 12.2 m: {}", ratios(1, 0)),
            median(1, 5) > median(0, 5),
        ),
        Claim::once(
            "S0.24",
            "beyond the paper: the standard profile moves a file in at most 1 / 1.6 of the time of \
             the paper's on the clean link",
            format!(
                "{:.2} times as fast at 2 m; time over TCP's: {}",
                median(3, 0) / median(2, 0),
                ratios(2, 1)
            ),
            median(3, 0) >= 1.6 * median(2, 0),
        ),
    ];
    let method = format!(
        "{trials} transfers of {kilobytes} KB at each distance and 54 Mb/s, \
         from the first message to the receiver's knowledge of the end, in simulated time. \
         Approximate messages and those of the paper profile have 1 KB, without congestion \
         control, as in the paper; the others fill packets of 1500 bytes. The \
         paper says in its text that TCP took twice as long as approximate SAP and in its \
         table 1.43 times. {}",
        calm::DESCRIPTION
    );
    Ok(Finding {
        claims,
        charts: vec![("", chart(&times))],
        tables: vec![("", table(&times))],
        ..figure.finding(context, method)
    })
}

fn chart(times: &Times) -> Chart {
    let series = PROTOCOLS.iter().zip(times).map(|((_, name), places)| {
        let point = |(x, values): (&f64, &Vec<f64>)| Point::of(*x, values);
        Series::new(
            *name,
            Mark::LinePoints,
            DISTANCES.iter().zip(places).filter_map(point).collect(),
        )
    });
    Chart {
        title: "Time of a file".to_owned(),
        subtitle: "54 Mb/s in the office; mean and range".to_owned(),
        x: Axis::linear("distance (m)").from_zero(),
        y: Axis::log("time (s)"),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(times: &Times) -> Table {
    let mut table = Table::new(["protocol", "distance (m)", "transfers", "median (s)", "mean (s)"]);
    for ((_, name), places) in PROTOCOLS.iter().zip(times) {
        for (metres, values) in DISTANCES.iter().zip(places) {
            let number = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.4}"));
            table.push([
                (*name).to_owned(),
                metres.to_string(),
                values.len().to_string(),
                number(statistics::median(values)),
                number(statistics::mean(values)),
            ]);
        }
    }
    table
}
