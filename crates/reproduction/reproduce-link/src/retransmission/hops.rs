//! Repairing where the errors are, or from end to end (S3.51).

use windfall_base::{ByteCount, Duration};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_network::LinkLedger;
use windfall_report::Table;
use windfall_scenario::{Arq, Scenario, unplaced};
use windfall_sim::Simulation;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.51",
    title: "What repairing the last of three hops costs the others",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

const SCENARIO: &str = include_str!("../../../../../scenarios/paper-003/three-hops.toml");
/// The loss on the last hop.
const LOSS: f64 = 0.1;
/// The links, in order.
const HOPS: [&str; 3] = ["first", "second", "last"];

/// The use of each link by a transfer.
struct Used {
    /// Seconds of link time for each megabyte that arrived.
    seconds: [f64; 3],
    /// Frames for each packet that arrived at the far end.
    frames: [f64; 3],
    /// The throughput in KB/s.
    throughput: f64,
}

//= S3.51
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let bytes = match context.extent {
        Extent::Quick => 300_000,
        Extent::Paper => 1_000_000,
        Extent::Full => 10_000_000,
    };
    let end_to_end = transfer(figure, context, Arq::None, bytes)?;
    let local = transfer(figure, context, Arq::Persistent, bytes)?;
    let shown = |used: &Used| {
        let each = used.frames.map(|frames| format!("{frames:.3}"));
        format!("{} frames per packet on the three links", each.join(", "))
    };
    let expected = 1.0 / (1.0 - LOSS);
    // Five standard deviations of what that many packets come to.
    let packets = bytes as f64 / 1_460.0;
    let tolerance = 5.0 * (LOSS / packets).sqrt() * expected;
    let near = |frames: f64, expected: f64| (frames - expected).abs() < tolerance;
    let method = format!(
        "One TCP transfer of {bytes} bytes over three links of 2 Mb/s, the last of which loses \
         {:.0} % of the packets, in simulated time: once repaired by TCP alone, once by the \
         last link. Frames are those in the direction of the data.",
        100.0 * LOSS
    );
    Ok(Finding {
        claims: vec![
            Claim::once(
                "S3.51",
                "retransmission from end to end uses every link of the path",
                shown(&end_to_end),
                end_to_end.frames[..2].iter().all(|frames| *frames > 1.0 + 0.5 * LOSS),
            ),
            Claim::once(
                "S3.51",
                "local retransmission uses only the bad one: 1 and 1 / (1 − p)",
                shown(&local),
                local.frames[..2].iter().all(|frames| near(*frames, 1.0))
                    && near(local.frames[2], expected),
            ),
            Claim::once(
                "S3.51",
                "and TCP need not take errors for congestion",
                format!("{:.0} KB/s, {:.0} without", local.throughput, end_to_end.throughput),
                local.throughput > 1.5 * end_to_end.throughput,
            ),
        ],
        tables: vec![("", table(&end_to_end, &local))],
        ..figure.finding(context, method)
    })
}

fn table(end_to_end: &Used, local: &Used) -> Table {
    let mut table = Table::new([
        "repair",
        "link",
        "frames per packet",
        "link time (s/MB)",
        "throughput (KB/s)",
    ]);
    for (name, used) in [("end to end", end_to_end), ("local", local)] {
        for (hop, link) in HOPS.iter().enumerate() {
            table.push([
                name.to_owned(),
                (*link).to_owned(),
                format!("{:.3}", used.frames[hop]),
                format!("{:.3}", used.seconds[hop]),
                format!("{:.1}", used.throughput),
            ]);
        }
    }
    table
}

fn transfer(
    figure: &Figure,
    context: &Context<'_>,
    arq: Arq,
    bytes: u64,
) -> Result<Used, ExperimentError> {
    let name = figure.name;
    let failed = |message: String| ExperimentError::Scenario { figure: name, message };
    let mut scenario =
        Scenario::parse(name, SCENARIO).map_err(|error| failed(error.to_string()))?;
    if let Some(link) = scenario.links.last_mut() {
        link.both.arq = Some(unplaced(arq));
    }
    for app in &mut scenario.apps {
        app.bytes = Some(unplaced(ByteCount(bytes)));
    }
    let no_files = &mut |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology =
        scenario.topology(0, (name, SCENARIO), no_files).map_err(|e| failed(e.to_string()))?;
    let mut simulation =
        Simulation::new(&topology, context.seed).map_err(|error| failed(error.to_string()))?;
    let mut now = simulation.now();
    let mut received = 0.0;
    let mut throughput = 0.0;
    while received < bytes as f64 && now < simulation.end() {
        now = now.saturating_add(Duration::from_secs(1));
        // Nothing is observed that could fail.
        let _ = simulation.run(now, &mut |_| Ok(()));
        let mobile = simulation.network().station(HOPS.len());
        for (key, value) in
            mobile.into_iter().flat_map(|m| m.reports().flatten().collect::<Vec<_>>())
        {
            match key {
                "received_bytes" => received = value,
                "goodput_bps" => throughput = value / 8e3,
                _ => {}
            }
        }
    }
    let network = simulation.network();
    // Two interfaces a link, the first of which sends the data.
    let ledgers: Vec<&LinkLedger> =
        network.interfaces().step_by(2).map(|interface| network.ledger(interface)).collect();
    let arrived = ledgers.last().map_or(1.0, |last| last.delivered.max(1) as f64);
    let of = |value: &dyn Fn(&LinkLedger) -> f64| {
        [0, 1, 2].map(|hop| ledgers.get(hop).map_or(0.0, |ledger| value(ledger)))
    };
    Ok(Used {
        seconds: of(&|ledger| ledger.busy.as_secs_f64() / (received / 1e6)),
        frames: of(&|ledger| ledger.frames as f64 / arrived),
        throughput,
    })
}
