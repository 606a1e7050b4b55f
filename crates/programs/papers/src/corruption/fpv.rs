//! The question of the FPV world: what one-way video loses by four ways to treat damaged frames.

mod air;
mod blocks;
mod ours;
mod outcome;
mod results;

use windfall_base::{Duration, Seed, Stream};
use windfall_wire_link::repair::TRAILER_LEN;

use air::{Air, Spread};
use ours::Code;
use outcome::Outcome;

use crate::experiment::{
    Basis, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding, Verdict,
    VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "ours.fpv",
    title: "One-way video over damaged frames: wfb-ng, RubyFPV, devourer and this program",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 10),
    mutation: Some("damaged frames are dropped by our codes too"),
    run,
};

/// The shares of damaged frames.
const DAMAGED: [f64; 5] = [0.05, 0.1, 0.2, 0.3, 0.5];
/// The place of 30 % among them.
const THIRTY: usize = 3;
/// The longest that a packet waits for a repair of the window.
const DELAY: Duration = Duration::from_millis(40);

/// A way to send, at both budgets.
#[derive(Clone, Copy, Debug)]
struct Scheme {
    name: &'static str,
    way: Way,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Dropping(blocks::Code),
    Trusting(blocks::Code),
    SubBlocks(blocks::Code),
    Ours(Code),
}

/// The bytes on the air beside those of the video, as a share of them.
const BUDGETS: [&str; 2] = ["25 %", "50 %"];
const DROPPING: usize = 0;
const TRUSTING: usize = 1;
const SUB_BLOCKS: usize = 2;
const BLOCK: usize = 3;
const WINDOW: usize = 4;
/// devourer's own comparison: the same code with and without sub-blocks, their checks on top.
const ON_TOP: usize = 5;

/// The ways at a budget.
const fn schemes(budget: usize) -> [Scheme; 6] {
    let (plain, rows, block, share) = match budget {
        0 => ((8, 10), (17, 20), Code::Block(9, 2), 0.225),
        _ => ((8, 12), (12, 17), Code::Block(15, 7), 0.47),
    };
    [
        Scheme { name: "wfb-ng: bad frames dropped", way: Way::Dropping(plain) },
        Scheme { name: "RubyFPV: header checked alone", way: Way::Trusting(plain) },
        Scheme { name: "devourer: sub-blocks", way: Way::SubBlocks(rows) },
        Scheme { name: "ours: blocks, damaged frames used", way: Way::Ours(block) },
        Scheme {
            name: "ours: window, damaged frames used",
            way: Way::Ours(Code::Window(32, share, DELAY)),
        },
        Scheme { name: "devourer: sub-blocks, checks on top", way: Way::SubBlocks(plain) },
    ]
}

impl Scheme {
    fn send(&self, air: &Air, packets: usize, is_mutated: bool) -> Outcome {
        match self.way {
            Way::Dropping((k, n)) => blocks::dropping(air, k, n, packets / k),
            Way::Trusting((k, n)) => blocks::trusting(air, k, n, packets / k),
            Way::SubBlocks((k, n)) => blocks::sub_blocks(air, k, n, packets / k),
            Way::Ours(code) => ours::code_across(air, code, packets, !is_mutated),
        }
    }
}

/// A point of a chart: what all seeds saw of a scheme.
struct Cell {
    spread: Spread,
    budget: usize,
    damaged: usize,
    scheme: usize,
    runs: Vec<Outcome>,
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let (runs, packets) = match context.extent {
        Extent::Quick => (3, 360),
        Extent::Paper => (10, 3_600),
        Extent::Full => (40, 3_600),
    };
    let mut cells = Vec::new();
    for spread in Spread::ALL {
        (context.progress)(spread.name());
        for budget in 0..BUDGETS.len() {
            for (damaged, share) in DAMAGED.iter().enumerate() {
                for (scheme, way) in schemes(budget).iter().enumerate() {
                    let one = |seed: Seed| {
                        let stream = Stream::new(seed, spread.name());
                        let air = Air { spread, damaged: *share, stream };
                        way.send(&air, packets, context.is_mutated)
                    };
                    let runs = context.replicate(runs, one);
                    cells.push(Cell { spread, budget, damaged, scheme, runs });
                }
            }
        }
    }
    let usable = |spread| results::usable(&cells, spread);
    Ok(Finding {
        inputs: inputs(),
        claims: results::claims(&cells),
        charts: vec![
            ("", usable(Spread::Bursts)),
            ("all-over", usable(Spread::AllOver)),
            ("poisoned", results::poisoned(&cells)),
        ],
        tables: vec![("", results::table(&cells))],
        ..figure.finding(context, method(runs, packets))
    })
}

fn inputs() -> Vec<ExperimentInput> {
    let inputs = [
        ("packets", "1024 bytes every 2 ms", "4 Mb/s of video"),
        ("lost frames", "a fifth as many as damaged ones", "fitted to devourer's .26 at 30 %"),
        ("bursts", "up to two thirds of a frame, half of the bytes wrong", "devourer: .80"),
        ("all over", "1.26 % of the bytes wrong", "as many sub-blocks survive as in bursts"),
        ("sub-blocks", "32 bytes and a CRC-16", "devourer's knee"),
        ("window", "of 32 packets, 40 ms", "as long as docs/reference/link-behaviour.md has it"),
    ];
    inputs.map(|(name, value, source)| ExperimentInput::given(name, value, source)).into()
}

fn method(runs: usize, packets: usize) -> String {
    format!(
        "{runs} streams of {packets} packets over the same air for every way. Models of the peers \
         decode byte by byte what a code of any n frames of which k suffice decodes: wfb-ng has \
         what passes the check of a frame, RubyFPV takes a frame whose first {} bytes are right \
         for whole, devourer decodes the sub-blocks of one place of all frames by themselves and \
         is taken to know which frame they are of. Ours is the decoder of --fec itself with its \
         {} bytes behind each packet. All have the same bytes on the air: 8/10, 17/20 with checks \
         of sub-blocks, 9/11, and a window at 22.5 %; or 8/12, 12/17, 15/22 and 47 %. Usable are \
         bytes of video that are passed up right, in marked packets too.",
        air::HEADER,
        TRAILER_LEN,
    )
}

#[cfg(test)]
mod tests;
