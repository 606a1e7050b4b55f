//! Repairing where the errors are, or from end to end (S3.51).

use windfall_base::{ByteCount, Duration, Seed};
use windfall_network::LinkLedger;
use windfall_report::{Estimate, Table};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Arq, Scenario, without_span};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.51",
    title: "What repairing the last of three hops costs the others",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 20),
    mutation: Some("the last link does not retransmit"),
    run,
};

const SCENARIO: &str = include_str!("../../../../../../scenarios/paper-003/three-hops.toml");
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
    let (runs, bytes) = match context.extent {
        Extent::Quick => (3, 300_000),
        Extent::Paper => (20, 1_000_000),
        Extent::Full => (20, 10_000_000),
    };
    let several = |arq: Arq| {
        let all = context.replicate(runs, |seed| transfer(figure, seed, arq, bytes));
        all.into_iter().collect::<Result<Vec<Used>, _>>()
    };
    let end_to_end = several(Arq::None)?;
    let local = several(if context.is_mutated { Arq::None } else { Arq::Persistent })?;
    let method = format!(
        "TCP transfers of {bytes} bytes over three links of 2 Mb/s, the last of which loses \
         {:.0} % of the packets, in simulated time, {runs} times: repaired by TCP alone, and by \
         the last link. Frames are those in the direction of the data.",
        100.0 * LOSS
    );
    let inputs = vec![ExperimentInput::given(
        "path",
        format!("three links of 2 Mb/s, the last loses {:.0} %", 100.0 * LOSS),
        "ours: the paper speaks of “multiple error-free links” and a bad one",
    )];
    Ok(Finding {
        inputs,
        claims: claims(&end_to_end, &local),
        tables: vec![("", table(&end_to_end, &local))],
        ..figure.finding(context, method)
    })
}

fn mean(all: &[Used], of: impl Fn(&Used) -> f64) -> Estimate {
    Estimate::mean(&all.iter().map(of).collect::<Vec<_>>())
}

fn claims(end_to_end: &[Used], local: &[Used]) -> Vec<Claim> {
    let about = || Band::between(1.0 + 0.5 * LOSS, 1.0 + 1.5 * LOSS, "what is lost, within a half");
    let gain: Vec<f64> = (local.iter().zip(end_to_end))
        .map(|(local, end_to_end)| local.throughput / end_to_end.throughput)
        .collect();
    let longer = |hop: usize| {
        let pairs = end_to_end.iter().zip(local);
        let ratios = pairs.map(|(far, near)| far.seconds[hop] / near.seconds[hop]);
        Estimate::mean(&ratios.collect::<Vec<_>>())
    };
    let uses_every = Claim::paper(
        "S3.51",
        "section 2.1: “end-to-end retransmission demands time on every link”",
        "retransmission from end to end takes time on the links without errors too, and sends \
         about what is lost",
    );
    let each = |claim: Claim, hop: usize| {
        let of = format!("time of the {} link, of that with local retransmission", HOPS[hop]);
        claim.compare(of, longer(hop), about())
    };
    vec![
        [0, 1].into_iter().fold(uses_every, each),
        Claim::paper(
            "S3.51",
            "section 2.1: “local retransmission requires extra link time only where it's truly \
             needed”",
            "local retransmission uses only the bad one: 1 and 1 / (1 − p)",
        )
        .by_construction("the other links lose nothing, and independent losses repeat 1 / (1 − p)"),
        Claim::ours("S3.51", "and TCP need not take errors for congestion").compare(
            "throughput with local retransmission to that without",
            Estimate::geometric_mean(&gain),
            Band::from(1.5, "a clear gain: ours"),
        ),
    ]
}

fn table(end_to_end: &[Used], local: &[Used]) -> Table {
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
                format!("{:.3}", mean(used, |used| used.frames[hop]).value),
                format!("{:.3}", mean(used, |used| used.seconds[hop]).value),
                format!("{:.1}", mean(used, |used| used.throughput).value),
            ]);
        }
    }
    table
}

fn transfer(figure: &Figure, seed: Seed, arq: Arq, bytes: u64) -> Result<Used, ExperimentError> {
    let name = figure.name;
    let failed = |message: String| ExperimentError::Scenario { figure: name, message };
    let mut scenario =
        Scenario::parse(name, SCENARIO).map_err(|error| failed(error.to_string()))?;
    if let Some(link) = scenario.links.last_mut() {
        link.both.arq = Some(without_span(arq));
    }
    for app in &mut scenario.apps {
        app.bytes = Some(without_span(ByteCount(bytes)));
    }
    let no_files = &mut |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology =
        scenario.topology(0, (name, SCENARIO), no_files).map_err(|e| failed(e.to_string()))?;
    let mut simulation =
        Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))?;
    let mut now = simulation.now();
    let mut received = 0.0;
    let mut throughput = 0.0;
    while received < bytes as f64 && now < simulation.end() {
        now = now.saturating_add(Duration::from_secs(1));
        // Nothing is observed that could fail.
        let _ = simulation.run(now, &mut |_| Ok(()));
        let mobile = simulation.network().station(HOPS.len());
        for (key, measured) in
            mobile.into_iter().flat_map(|m| m.reports(now).flatten().collect::<Vec<_>>())
        {
            let value = measured.number();
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
        frames: of(&|ledger| ledger.packets.frames as f64 / arrived),
        throughput,
    })
}
