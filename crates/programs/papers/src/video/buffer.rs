//! Section 2.2: the socket buffer before a line that empties more slowly than it is filled.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};
use crate::video::runs::mean;
use crate::video::simulated::simulate;

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.buffer",
    title: "The socket buffer: loss against delay",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 5),
    mutation: Some("the buffer has no limit"),
    run,
};

const SCENARIO: &str = include_str!("../../../../../scenarios/paper-001/socket-buffer.toml");
/// The buffers of the sweep in bytes, and the paper's among them.
const BUFFERS: [u32; 6] = [2_048, 4_096, 8_192, 16_384, 32_768, 65_536];
const PAPERS: usize = 2;
/// The two services, and the bytes that each empties in a second.
const SERVICES: [(&str, f64); 2] = [("RLP", 1_200.0), ("non-RLP", 960.0)];
/// Bytes of a packet in the buffer, and on the line.
const PACKET: (f64, f64) = (159.0, 167.0);

/// One run: the share of packets that the buffer refused, and the delays of the others.
#[derive(Clone, Copy, Debug)]
struct Run {
    loss: f64,
    mean: f64,
    longest: f64,
}

/// The runs of one seed: of each service, all buffers, and the paper's at half as much again of
/// the rate.
type SeedRuns = [([Run; 6], Run); 2];

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (count, seconds) = match context.extent {
        Extent::Quick => (2, 60),
        Extent::Paper => (5, 240),
        Extent::Full => (20, 240),
    };
    (context.progress)("buffers");
    let one = |seed| -> Result<SeedRuns, ExperimentError> {
        let service = |service: usize| {
            let at = |buffer: u32, interval: &str| {
                let text = scenario(context, service, buffer, seconds, interval);
                let outcome = simulate(figure.name, &text, seed)?;
                let loss = outcome.dropped as f64 / outcome.report("sent");
                let longest = outcome.delays.iter().copied().fold(0.0, f64::max);
                Ok(Run { loss, mean: mean(&outcome.delays), longest })
            };
            let mut all = Vec::new();
            for buffer in BUFFERS {
                all.push(at(buffer, "100ms")?);
            }
            let all = core::array::from_fn(|buffer| all[buffer]);
            Ok((all, at(BUFFERS[PAPERS], "66ms")?))
        };
        Ok([service(0)?, service(1)?])
    };
    let runs = context.replicate(count, one);
    let runs: Vec<SeedRuns> = runs.into_iter().collect::<Result<_, _>>()?;
    let method = format!(
        "{count} runs of {seconds} s over an undamaged circuit: ten packets a second of 125 bytes \
         and the paper's 42 bytes of headers, 1670 bytes a second into a line that empties 1200 \
         with RLP and 960 without. The queue before the link is the socket buffer. Every packet \
         beyond what the line takes is lost in the end, whatever the buffer; a larger one loses \
         them later.",
    );
    Ok(Finding {
        inputs: vec![ExperimentInput::given(
            "offered load",
            "13.4 kb/s",
            "paper 001, sections 3 and 5.1: 10 pictures/s of 10 kb/s, 42 bytes of headers",
        )],
        claims: claims(&runs),
        charts: vec![("", chart(&runs))],
        tables: vec![("", table(&runs))],
        ..figure.finding(context, method)
    })
}

fn scenario(
    context: &Context<'_>,
    service: usize,
    buffer: u32,
    seconds: u32,
    interval: &str,
) -> String {
    let arq = if SERVICES[service].0 == "RLP" { "6" } else { "none" };
    let queue =
        if context.is_mutated { "fifo,infinite".to_owned() } else { format!("fifo,{buffer}B") };
    SCENARIO
        .replace("fifo,8192B\"", &format!("{queue}\"\narq = \"{arq}\""))
        .replace("240s", &format!("{seconds}s"))
        .replace("100ms", interval)
}

fn each(runs: &[SeedRuns], of: impl Fn(&SeedRuns) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

//= S1.9
//= S1.66
fn claims(runs: &[SeedRuns]) -> Vec<Claim> {
    let mut trade = Claim::paper(
        "S1.9",
        "section 2.2: “increasing the kernel's buffer resulted in fewer dropped packets but \
         worsened the end-to-end delay”",
        "a larger buffer loses less and delays more",
    );
    let mut faster = Claim::paper(
        "S1.9",
        "section 2.2: “increasing the rate at which packets were sent resulted in less end-to-end \
         delay but higher packet loss rates”",
        "a higher rate loses more and delays less",
    );
    let mut knee = Claim::paper(
        "S1.9",
        "section 2.2: “we determined the balance point of the socket buffer to be 8192 B”",
        "loss against delay has a knee at 8192 bytes",
    );
    let mut backlog =
        Claim::ours("S1.66", "a packet waits as long as the line takes for what is before it");
    for (service, (name, rate)) in SERVICES.into_iter().enumerate() {
        let change = |of: fn(&Run) -> f64| {
            Estimate::mean(&each(runs, |run| of(&run[service].0[5]) - of(&run[service].0[0])))
        };
        let quicker = |of: fn(&Run) -> f64| {
            let of = |run: &SeedRuns| of(&run[service].1) - of(&run[service].0[PAPERS]);
            Estimate::mean(&each(runs, of))
        };
        let label = |what: &str, of: &str| format!("{name}: {what}, {of}");
        trade = trade
            .compare(label("loss", "65536 less 2048 B"), change(|it| it.loss), less())
            .compare(label("mean delay, s", "65536 less 2048 B"), change(|it| it.mean), more());
        faster = faster
            .compare(label("loss", "15 less 10 packets/s"), quicker(|it| it.loss), more())
            .compare(label("mean delay, s", "15 less 10 packets/s"), quicker(|it| it.mean), less());
        knee = knee.compare(
            label("8192 B", "below the line from 2048 to 65536 B, share of the range"),
            Estimate::mean(&each(runs, |run| bend(&run[service].0))),
            Band::from(0.25, "a bend that can be seen"),
        );
        let due = f64::from(BUFFERS[PAPERS]) * PACKET.1 / PACKET.0 / rate;
        backlog = backlog.compare(
            label("8192 B", "longest delay by backlog / rate"),
            Estimate::mean(&each(runs, |run| run[service].0[PAPERS].longest / due)),
            Band::between(0.95, 1.1, "and the packet's own time on the line"),
        );
    }
    vec![
        trade,
        faster.recorded(Verdict::InPart).because(
            "a buffer that is full delays by its length over the line's rate, whatever is refused",
        ),
        knee.recorded(Verdict::NotReproduced).because(
            "a buffer takes its length once: loss falls and delay grows in proportion to it. The \
             paper does not say by which calculation it found its point",
        ),
        backlog,
    ]
}

/// The distance of the paper's buffer below the straight line through the ends of the sweep, loss
/// against delay, both as shares of their range.
fn bend(runs: &[Run; 6]) -> f64 {
    let share = |of: fn(&Run) -> f64| {
        let first = of(&runs[0]);
        let last = of(&runs[5]);
        (of(&runs[PAPERS]) - first) / (last - first)
    };
    // Along the line both shares are equal.
    share(|it| it.loss) - share(|it| it.mean)
}

fn less() -> Band {
    Band::below(0.0, "an ordering")
}

fn more() -> Band {
    Band::above(0.0, "an ordering")
}

/// The mean over the seeds of a measure of one buffer.
fn over(runs: &[SeedRuns], service: usize, buffer: usize, of: fn(&Run) -> f64) -> f64 {
    mean(&each(runs, |run| of(&run[service].0[buffer])))
}

fn chart(runs: &[SeedRuns]) -> Chart {
    let series = SERVICES.iter().enumerate().map(|(service, (name, _))| {
        let point = |buffer| {
            let loss = 100.0 * over(runs, service, buffer, |it| it.loss);
            Point::new(over(runs, service, buffer, |it| it.mean), loss)
        };
        Series::new(*name, Mark::LinePoints, (0..BUFFERS.len()).map(point).collect())
    });
    Chart {
        title: "Loss against delay, by the length of the socket buffer".to_owned(),
        subtitle: "2048, 4096, 8192, 16384, 32768 and 65536 bytes from left to right".to_owned(),
        x: Axis::log("mean delay (s)"),
        y: Axis::linear("packets lost (%)").from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn table(runs: &[SeedRuns]) -> Table {
    let mut table =
        Table::new(["service", "buffer (B)", "loss (%)", "mean delay (s)", "longest delay (s)"]);
    for (service, (name, _)) in SERVICES.iter().enumerate() {
        for (at, buffer) in BUFFERS.iter().enumerate() {
            let loss = 100.0 * over(runs, service, at, |it| it.loss);
            let delays = [|it: &Run| it.mean, |it: &Run| it.longest];
            let mut row = vec![(*name).to_owned(), buffer.to_string(), format!("{loss:.2}")];
            row.extend(delays.map(|of| format!("{:.3}", over(runs, service, at, of))));
            table.push(row);
        }
    }
    table
}
