//! What few attempts leave over, and what TCP makes of it (S3.50).

use windfall_base::{DropReason, Seed};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use crate::experiment::simulated::Transfer;
use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

use super::bursts::WITH;
use super::senders;

pub(crate) const FIGURE: Figure = Figure {
    name: "S3.50",
    title: "TCP over what 802.11's few attempts leave over",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 20),
    mutation: Some("retransmission without end in place of few attempts"),
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

/// One transfer at one loss with one number of attempts.
#[derive(Clone, Copy)]
struct Run {
    packets: u64,
    lost: u64,
    /// The throughput in KB/s; 0 if the transfer did not come to its end.
    throughput: f64,
}

/// The transfers at one loss with one number of attempts, the same seeds at each.
struct Cell(Vec<Run>);

impl Cell {
    fn mean(&self, of: impl Fn(&Run) -> f64) -> Estimate {
        Estimate::mean(&self.0.iter().map(of).collect::<Vec<_>>())
    }

    fn throughput(&self) -> f64 {
        self.mean(|run| run.throughput).value
    }

    fn lost(&self) -> Estimate {
        self.mean(|run| run.lost as f64 / run.packets.max(1) as f64)
    }
}

//= S3.50
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, bytes) = match context.extent {
        Extent::Quick => (3, 150_000),
        Extent::Paper => (20, 500_000),
        Extent::Full => (40, 1_000_000),
    };
    let mut cells = Vec::new();
    for (_, name, arq) in ATTEMPTS {
        (context.progress)(&format!("{}: {name}", figure.name));
        let arq = if context.is_mutated { "arq = \"persistent\"" } else { arq };
        for loss in LOSSES {
            let uplink = format!("burst = \"0/1\"\nloss = {loss}\n{arq}");
            let runs = context.replicate(runs, |seed| measure(figure, &uplink, seed, bytes));
            cells.push(Cell(runs.into_iter().collect::<Result<_, _>>()?));
        }
    }
    let rows: Vec<&[Cell]> = cells.chunks(LOSSES.len()).collect();
    let method = format!(
        "TCP transfers (NetBSD 1.2's TCP, {runs} of {bytes} bytes a point) over WaveLAN in \
         simulated time; frames of the data are lost independently and retransmitted until 4 or 7 \
         attempts have failed, or until they arrive. A transfer that does not end within half an \
         hour counts as nothing."
    );
    let inputs = vec![
        ExperimentInput::given(
            "attempts",
            "4 and 7",
            "IEEE 802.11: the long limit, of frames above the RTS threshold, and the short one",
        ),
        ExperimentInput::given("losses", "10, 30, 50 and 60 %", "ours: the paper gives none"),
    ];
    Ok(Finding {
        inputs,
        claims: claims(&rows),
        charts: vec![("", chart(&rows))],
        tables: vec![("", table(&rows))],
        ..figure.finding(context, method)
    })
}

fn measure(figure: &Figure, uplink: &str, seed: Seed, bytes: u64) -> Result<Run, ExperimentError> {
    let uplink = uplink.to_owned();
    let tcp = senders::TCP;
    let done = Transfer { figure: figure.name, scenario: WITH, uplink, tcp, bytes, seed }.run()?;
    let lost = done.ledger.drops.of(DropReason::RetryLimit);
    let throughput = if done.bytes >= bytes { done.throughput() } else { 0.0 };
    Ok(Run { packets: done.ledger.delivered + lost, lost, throughput })
}

/// The places of 10 % and of half among the losses.
const TENTH: usize = 0;
const HALF: usize = 2;
/// The place of the greatest among them.
const MOST: usize = 3;

fn claims(rows: &[&[Cell]]) -> Vec<Claim> {
    let share = |row: usize, loss: usize| {
        let pairs = rows[row][loss].0.iter().zip(&rows[2][loss].0);
        let shares = pairs.map(|(few, all)| few.throughput / all.throughput);
        Estimate::mean(&shares.collect::<Vec<_>>())
    };
    let disturbed = || Band::to(0.85, "a loss that can be seen: ours");
    let hardly = || Band::from(0.95, "hardly: ours");
    vec![
        Claim::paper(
            "S3.50",
            "section 8.2: “the relatively small default configuration constants may leave enough \
             residual errors to disturb TCP”",
            "what 802.11's attempts leave over disturbs TCP where half of the frames are lost",
        )
        .compare("4 attempts, of what persistence gives", share(0, HALF), disturbed())
        .compare("7 attempts", share(1, HALF), disturbed())
        .compare("7 attempts, at 60 %", share(1, MOST), disturbed())
        .recorded(Verdict::InPart)
        .because(
            "802.11's default for frames below the RTS threshold, all of them as it comes, is 7 \
             attempts: at a half lost they leave less than 1 %, which TCP hardly notices",
        ),
        Claim::ours("S3.50", "and hardly does where few are left over: at a tenth lost")
            .compare("4 attempts", share(0, TENTH), hardly())
            .compare("7 attempts", share(1, TENTH), hardly()),
        left_over(rows[0]),
    ]
}

/// Compares what four attempts leave over with the closed form, where that is more than 5 %.
fn left_over(row: &[Cell]) -> Claim {
    let claim = Claim::ours("S3.50", "four attempts leave p⁴ over");
    let telling = LOSSES.iter().zip(row).filter(|(loss, _)| loss.powi(4) > 0.05);
    telling.fold(claim, |claim, (loss, cell)| {
        let band = Band::near(loss.powi(4), 0.25, "p⁴, within a quarter");
        claim.compare(format!("at p = {loss}"), cell.lost(), band)
    })
}

fn chart(rows: &[&[Cell]]) -> Chart {
    let series = ATTEMPTS.iter().zip(rows).map(|((_, name, _), row)| {
        let points = LOSSES.iter().zip(*row);
        let points = points.map(|(loss, cell)| Point::new(100.0 * loss, cell.throughput()));
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
            let sum = |of: &dyn Fn(&Run) -> u64| cell.0.iter().map(of).sum::<u64>().to_string();
            table.push([
                (*name).to_owned(),
                format!("{loss}"),
                sum(&|run| run.packets),
                sum(&|run| run.lost),
                format!("{:.1}", cell.throughput()),
            ]);
        }
    }
    table
}
