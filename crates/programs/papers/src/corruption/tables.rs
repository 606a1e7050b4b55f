//! Tables I and II and Figures 6 to 14: eight transfers of twenty minutes between two notebooks
//! (S4.15–S4.23, S4.25, S4.29, S4.30).

mod claims;
pub(crate) mod frontier;

use windfall_base::{Duration, Seed};
use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, number};

use crate::corruption::walks::{INDOOR, OUTDOORS, Walk, Walked};
use crate::experiment::{
    Basis, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S4.tables",
    title: "Packets lost and corrupt over 802.11b without retransmission, with and without CNO",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 12),
    mutation: Some("the link drops damaged frames"),
    run,
};

/// The two set-ups: name, scenario, and the numbers of the paper's figures of the four transfers.
const SETUPS: [(&str, &str, [&str; 4]); 2] = [
    ("indoor", INDOOR, ["fig6", "fig7", "fig8", "fig9"]),
    ("indoor to outdoor", OUTDOORS, ["fig11", "fig12", "fig13", "fig14"]),
];

/// The transfers of a set-up in the order of the tables: name and settings of the TCP.
const SENDERS: [(&str, &str); 4] = [
    ("NewReno, CNO", "new-reno, corruption=draft-safe, reaction=ignore"),
    ("SACK, CNO", "sack, corruption=draft-safe, reaction=ignore"),
    ("NewReno", "new-reno"),
    ("SACK", "sack"),
];

/// A column of Table I or II as the paper has it.
pub(crate) struct PaperColumn {
    /// Tx, Rx, lost and corrupt packets, and corrupt ones whose payload alone is.
    pub(crate) counts: [u64; 5],
}

/// Tables I and II (S4.17, S4.18); lost packets are as printed.
pub(crate) const PAPER: [[PaperColumn; 4]; 2] = [
    [
        PaperColumn { counts: [448_318, 430_254, 18_064, 632, 16] },
        PaperColumn { counts: [497_769, 478_987, 18_782, 178, 14] },
        PaperColumn { counts: [336_058, 228_324, 107_734, 1_435, 0] },
        PaperColumn { counts: [254_395, 171_933, 82_462, 722, 0] },
    ],
    [
        PaperColumn { counts: [258_324, 174_651, 83_673, 1_475, 109] },
        PaperColumn { counts: [246_158, 135_941, 110_217, 2_081, 93] },
        PaperColumn { counts: [263_442, 175_170, 88_252, 1_277, 0] },
        PaperColumn { counts: [253_713, 169_781, 83_932, 1_479, 0] },
    ],
];

/// The eight transfers of one seed: by set-up and sender.
pub(crate) type Eight = [[Walked; 4]; 2];

/// The part of a transfer that a quick run has.
const QUICK: Duration = Duration::from_secs(400);

/// Signal strength at which a card shows none, and at which it shows all of it, in dBm.
const SIGNAL: (f64, f64) = (-95.0, -35.0);

//= S4.15
//= S4.16
fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let seeds = match context.extent {
        Extent::Quick => 2,
        Extent::Paper => 12,
        Extent::Full => 40,
    };
    (context.progress)("transfers of twenty minutes");
    let duration = (context.extent == Extent::Quick).then_some(QUICK);
    let eight = |seed: Seed| eight(figure.name, seed, duration, context.is_mutated);
    let runs = context.replicate(seeds, eight).into_iter().collect::<Result<Vec<_>, _>>()?;
    (context.progress)("steady distances");
    let steady = frontier::measure(figure.name, context)?;
    let method = format!(
        "The scenarios corruption-indoor.toml and corruption-outdoors.toml: 802.11b at 11 Mb/s \
         between two notebooks, no retransmission, damaged frames passed up; one bulk transfer of \
         20 minutes by each of four TCPs. CNO is the draft-safe mode with a window that does not \
         react, as the paper's. {seeds} seeds; the four TCPs of a seed have the same air. Tx, Rx \
         and corrupt packets are frames with data, corrupt payload only are the segments that TCP \
         could use. Signal strength is shown from 0 at {} dBm to 1 at {} dBm.",
        SIGNAL.0, SIGNAL.1
    );
    let mut charts = vec![("", frontier::chart(&steady))];
    let mut tables = vec![("", counts_table(&runs)), ("steady", frontier::table(&steady))];
    for (setup, (_, _, figures)) in SETUPS.iter().enumerate() {
        for (sender, name) in figures.iter().enumerate() {
            charts.push((name, chart(&runs[0][setup][sender], setup, sender)));
        }
    }
    tables.push(("seconds", seconds_table(&runs[0])));
    Ok(Finding {
        inputs: inputs(),
        claims: claims::all(&runs, &steady),
        charts,
        tables,
        ..figure.finding(context, method)
    })
}

/// Simulates the eight transfers of a seed.
fn eight(
    figure: &'static str,
    seed: Seed,
    duration: Option<Duration>,
    is_mutated: bool,
) -> Result<Eight, ExperimentError> {
    let one = |setup: usize, sender: usize| {
        let (_, scenario, _) = SETUPS[setup];
        let (_, tcp) = SENDERS[sender];
        let accepts_damaged = !is_mutated;
        Walk { figure, scenario, tcp, accepts_damaged, seed, duration }.run()
    };
    let four = |setup| Ok([one(setup, 0)?, one(setup, 1)?, one(setup, 2)?, one(setup, 3)?]);
    Ok([four(0)?, four(1)?])
}

/// The conditions that the paper leaves out, and what was chosen for them.
fn inputs() -> Vec<ExperimentInput> {
    let fitted = "S4.30: the paper prints no distances; a stream at a constant rate loses 4 to \
                  32 % indoors and 32 to 45 % on the way outdoors";
    vec![
        ExperimentInput::fitted("distances and walls", "in the scenarios", fitted),
        ExperimentInput::fitted("weakest preamble that is noticed", "-84 dBm", fitted),
        ExperimentInput::given(
            "fading, shadowing, noise figure, distortion",
            "Rician K = 3 at 5 Hz, 3 dB, 12.5 dB, -20 dB",
            "general measurements of cards of the time",
        ),
        ExperimentInput::given(
            "the gap of the signal outdoors",
            "between 550 and 620 s",
            "section IV-B: Figure 13 shows one",
        ),
    ]
}

/// A column of our tables: counts of a run in the order of the paper's.
pub(crate) fn counts_of(walked: &Walked) -> [f64; 5] {
    let counts = walked.counts;
    [counts.sent, counts.received, counts.lost(), counts.corrupt, walked.usable].map(|it| it as f64)
}

/// A measure of a transfer.
type Measure = fn(&Walked) -> f64;

//= S4.17
//= S4.18
//= S4.23
fn counts_table(runs: &[Eight]) -> Table {
    let mut table = Table::new(["set-up", "TCP", "measure", "paper", "mean", "low", "high"]);
    let names =
        ["Tx packets", "Rx packets", "Lost packets", "Corrupt packets", "Corrupt payload only"];
    let others: [(&str, Measure); 5] = [
        ("Rate (Mb/s)", Walked::rate),
        ("Oscillation of the rate, over its mean", Walked::oscillation),
        ("Changes of the rate in a minute", Walked::changes),
        ("Seconds without data", Walked::silent),
        ("Rank correlation of rate and signal", Walked::follows),
    ];
    for (setup, (setup_name, _, _)) in SETUPS.iter().enumerate() {
        for (sender, (sender_name, _)) in SENDERS.iter().enumerate() {
            let mut row = |measure: &str, paper: String, values: Vec<f64>| {
                let it = Estimate::mean(&values);
                let numbers = [it.value, it.low, it.high].map(number);
                let head = [setup_name, sender_name, measure].map(str::to_owned);
                table.push(head.into_iter().chain([paper]).chain(numbers));
            };
            for (place, name) in names.iter().enumerate() {
                let paper = PAPER[setup][sender].counts[place].to_string();
                let values = runs.iter().map(|eight| counts_of(&eight[setup][sender])[place]);
                row(name, paper, values.collect());
            }
            for (name, of) in others {
                row(name, String::new(), runs.iter().map(|it| of(&it[setup][sender])).collect());
            }
        }
    }
    table
}

//= S4.15
/// Returns the rate and the signal of each second of the eight transfers.
fn seconds_table(eight: &Eight) -> Table {
    let columns = SETUPS.iter().flat_map(|(setup, _, _)| {
        SENDERS.iter().flat_map(move |(sender, _)| {
            ["rate (Mb/s)", "signal (dBm)"].map(|what| format!("{setup}, {sender}: {what}"))
        })
    });
    let mut table = Table::new(["second".to_owned()].into_iter().chain(columns));
    let length = eight.iter().flatten().map(|it| it.seconds.len()).min().unwrap_or(0);
    for second in 0..length {
        let cells = eight.iter().flatten().flat_map(|walked| {
            let it = walked.seconds[second];
            [number(it.rate), it.strength.map(number).unwrap_or_default()]
        });
        table.push([second.to_string()].into_iter().chain(cells));
    }
    table
}

/// Draws the rate each second with the signal strength beneath, as Figures 6 to 14.
fn chart(walked: &Walked, setup: usize, sender: usize) -> Chart {
    let points = |of: fn(&crate::corruption::walks::Second) -> Option<f64>| {
        let all = walked.seconds.iter().enumerate();
        all.filter_map(|(at, second)| Some(Point::new(at as f64, of(second)?))).collect()
    };
    let strength = |second: &crate::corruption::walks::Second| {
        let (none, all) = SIGNAL;
        second.strength.map(|it| ((it - none) / (all - none)).clamp(0.0, 1.0))
    };
    Chart {
        title: format!("{}: {}", SETUPS[setup].0, SENDERS[sender].0),
        subtitle: "each second; the first seed".to_owned(),
        x: Axis::linear("time (s)").from_zero(),
        y: Axis::linear("rate (Mb/s), signal (0 to 1)").from_zero(),
        series: vec![
            Series::new("rate", Mark::Line, points(|second| Some(second.rate))),
            Series::new("signal", Mark::Line, points(strength)),
        ],
        rules: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
