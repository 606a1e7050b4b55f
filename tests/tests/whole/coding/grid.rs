//! The adaptive policies beside the static ones, over a grid of channels.
//!
//! Every run takes a sample of the grid. `WINDFALL_TEST_GRID=full` takes all of it with ten seeds,
//! and compares `docs/measurements/coding.md` with what comes out; with `WINDFALL_BLESS=1` it
//! writes the table there.

use std::fmt::Write as _;
use std::thread;

use windfall_base::{Seed, Stream};
use windfall_report::Estimate;
use windfall_tests::run::{pair, run};

use super::document::{FULL, hold_table};

/// The policies: three that never change, and two that adapt.
pub(super) const POLICIES: [&str; 5] = ["bold", "light", "robust", "flex", "best"];
/// The least shares of the best static policy that FLEX and BEST must reach.
const WITHIN: [f64; 2] = [0.90, 0.95];
/// The marks around the table of the whole grid in the document.
const BEGIN: &str = "<!-- grid -->\n";
const END: &str = "<!-- end of grid -->\n";

/// A medium: its name, what a scenario says of it, and how long a run is in seconds.
type Medium = (&'static str, &'static str, u64);

const WAVELAN: Medium = ("wavelan", "kind = \"wavelan\"", 20);
const PIPE: Medium = ("pipe", "rate = \"10Mbps\"\ndelay = \"5ms\"", 4);

/// The errors of frames on the way, and whether every run tries them.
const CHANNELS: [(&str, bool); 40] = [
    ("", false),
    ("ber = 1e-6", false),
    ("ber = 1e-5", false),
    ("ber = 3e-5", true),
    ("ber = 1e-4", false),
    ("ber = 3e-4", false),
    ("ber = 1e-3", false),
    ("ber = 3e-3", false),
    ("ber = 1e-2", true),
    ("loss = \"10%\"", false),
    ("loss = \"30%\"", false),
    ("gemodel = \"5% 30%\"", false),
    ("bit-gemodel = \"2e-5 0.0005 0.3 0\"", true),
    ("bit-gemodel = \"1e-5 0.001 0.5 0\"", false),
    ("bit-gemodel = \"1e-4 0.001 0.1 1e-5\"", false),
    ("bit-gemodel = \"1e-5 1e-4 0.02 0\"", true),
    ("bit-gemodel = \"1e-6 1e-5 0.01 0\"", false),
    ("bit-gemodel = \"1e-3 0.1 0.5 0\"", false),
    ("window = \"30% 2000 50%\"", true),
    ("window = \"10% 256 5%\"", false),
    ("window = \"100% 128 50%\"", true),
    ("window = \"80% 4000 2%\"", false),
    ("truncate = \"10%\"", false),
    ("truncate = \"30%\"", false),
    ("truncate = \"50%\"", true),
    ("truncate = \"80%\"", true),
    ("truncate = \"95%\"", true),
    ("loss = \"20%\"\nber = 1e-4", false),
    // Whole frames that strong parity mends, or that are sent again.
    ("window = \"30% 12000 2%\"", false),
    ("window = \"50% 12000 3%\"", false),
    ("window = \"49% 8095 3.58%\"", false),
    ("window = \"50% 12000 4%\"", false),
    ("window = \"85% 12000 6%\"", false),
    // Much of the damage is beyond any code.
    ("window = \"60% 12000 50%\"\nber = 1e-4", false),
    ("window = \"40% 12000 50%\"\nber = 1e-4", false),
    ("window = \"40% 12000 50%\"\nber = 1e-3", true),
    ("window = \"40% 12000 30%\"\nber = 5e-4", true),
    ("bit-gemodel = \"1e-5 1e-5 0.3 0\"", false),
    ("bit-gemodel = \"3e-6 3e-6 0.5 1e-4\"", false),
    ("bit-gemodel = \"4e-7 4e-7 0.4 1e-4\"", false),
];

/// Channels with spells so long that few of them fit into a run as long as the others.
const SPELLS: [&str; 3] = [
    "bit-gemodel = \"1e-5 1e-5 0.3 0\"",
    "bit-gemodel = \"3e-6 3e-6 0.5 1e-4\"",
    "bit-gemodel = \"4e-7 4e-7 0.4 1e-4\"",
];
/// The factor by which runs over them are longer.
const LONGER: u64 = 5;

/// The kb/s of datagrams that fill the link from near to far.
fn throughput(medium: Medium, channel: &str, policy: &str, seed: u64) -> f64 {
    let (_, link, mut seconds) = medium;
    if SPELLS.contains(&channel) {
        seconds *= LONGER;
    }
    let link = format!("{link}\npolicy = \"{policy}\"\n[link.uplink]\n{channel}");
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let report = run(&pair(seconds, &link, spray), seed).report("sink");
    report["received_bytes"] * 8.0 / seconds as f64 / 1e3
}

/// One cell of the grid: the kb/s of each policy, by seeds that have nothing in common and are the
/// same for all policies.
pub(super) type Cell = [Vec<f64>; 5];

fn cell(medium: Medium, channel: &str, seeds: u64) -> Cell {
    let rates = |policy| {
        let seed = |n| Stream::new(Seed(n), channel).bits();
        (0..seeds).map(|n| throughput(medium, channel, policy, seed(n))).collect()
    };
    thread::scope(|scope| {
        let runs = POLICIES.map(|policy| scope.spawn(move || rates(policy)));
        runs.map(|run| run.join().expect("a run that ends"))
    })
}

pub(super) fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// Returns the rates of the best static policy.
fn best(cell: &Cell) -> &[f64] {
    let best = cell[..3].iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    best.map_or(&[], |rates| rates)
}

/// Returns the shares of the best static policy that FLEX and BEST reach.
pub(super) fn shares(cell: &Cell) -> [f64; 2] {
    [3, 4].map(|policy| mean(&cell[policy]) / mean(best(cell)).max(f64::MIN_POSITIVE))
}

/// Returns the same with the intervals of the ratios over the same seeds.
fn estimated(cell: &Cell) -> [Estimate; 2] {
    [3, 4].map(|policy| {
        let pairs = cell[policy].iter().zip(best(cell));
        let ratios: Vec<f64> = pairs.map(|(rate, best)| rate / best).collect();
        Estimate::mean(&ratios)
    })
}

/// Fails where an adaptive policy is too far behind the best static one.
fn hold(medium: Medium, channel: &str, cell: &Cell) {
    let (name, ..) = medium;
    for ((share, least), policy) in shares(cell).into_iter().zip(WITHIN).zip(["flex", "best"]) {
        assert!(share >= least, "{policy} on {name}, {channel}: {share:.3} of {cell:.0?} kb/s");
    }
}

//= S3.21
//= S3.22
#[test]
fn adaptive_policies_stay_with_the_best_static_one() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for (place, (channel, _)) in CHANNELS.into_iter().filter(|(_, always)| *always).enumerate() {
        // Each on one of the media, in turn.
        let medium = [WAVELAN, PIPE][place % 2];
        hold(medium, channel, &cell(medium, channel, 1));
    }
}

/// Runs the whole grid and compares the document with it.
fn whole() {
    let mut table = String::from(
        "| medium | channel | bold | light | robust | flex | best | flex of the best static | best \
         of the best static |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut cells = Vec::new();
    for medium in [WAVELAN, PIPE] {
        for (channel, _) in CHANNELS {
            let cell = cell(medium, channel, 10);
            let what = if channel.is_empty() { "clean" } else { channel };
            let _ = write!(
                table,
                "| {} | {} |",
                medium.0,
                what.replace(['"', '`'], "").replace('\n', ", ")
            );
            let columns = cell.iter().map(|rates| {
                let mean = Estimate::mean(rates);
                format!(" {:.0} ± {:.0} |", mean.value, mean.high - mean.value)
            });
            let shares = estimated(&cell);
            let shares = shares
                .iter()
                .map(|it| format!(" {:.2} ({:.2} to {:.2}) |", it.value, it.low, it.high));
            table.extend(columns.chain(shares));
            table.push('\n');
            cells.push((medium, channel, cell));
        }
    }
    hold_table(BEGIN, END, &table);
    cells.iter().for_each(|(medium, channel, cell)| hold(*medium, channel, cell));
}
