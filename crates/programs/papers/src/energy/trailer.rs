//! Section 3.3: a checksum behind the data instead of before them, on paper (S2.16).

use windfall_base::{Seed, Stream};
use windfall_report::{Axis, Chart, Estimate, Mark, Series, Table};
use windfall_wire_net::checksum::{Sum, checksum};

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.16",
    title: "A checksum behind the data: what it saves, and what passes it",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::NotComparable, 10),
    mutation: Some("a checksum of eight bits in place of sixteen"),
    run,
};

/// Bytes of data in a segment.
const LEN: usize = 254;
/// Rates of links in Mb/s.
const RATES: [f64; 4] = [2.0, 11.0, 54.0, 1_000.0];
/// The rate of the paper's link, and of summing on its machine as far as can be guessed, in MB/s.
const PAPERS: (f64, f64) = (11.0, 50.0);
/// Damaged segments for each one that chance lets pass.
const CHANCE: f64 = 65_536.0;
/// The number of runs that share the segments.
const RUNS: u64 = 10;

/// The place of the checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Leading,
    Trailing,
}

/// The damage to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    /// 64 bits in a row, each right or wrong by chance.
    Burst,
    /// The end is missing, and the length that the receiver knows is what has come.
    Cut,
}

impl Place {
    /// A segment of `data` with its checksum.
    fn seal(self, data: &[u8]) -> Vec<u8> {
        let sum = checksum(data).to_be_bytes();
        match self {
            Self::Leading => [&sum, data].concat(),
            Self::Trailing => [data, &sum].concat(),
        }
    }
}

/// Tells whether a segment passes: its words and the checksum add up; only their low bits of
/// `bits` are looked at.
fn passes(segment: &[u8], bits: u32) -> bool {
    let mut sum = Sum::new();
    sum.add(segment);
    sum.holds() || checksum(segment).trailing_zeros() >= bits
}

/// Returns the number of `trials` damaged segments that pass.
fn passing(place: Place, damage: Damage, trials: u64, bits: u32, seed: Seed) -> u64 {
    let mut stream = Stream::new(seed, "segments");
    let pool: Vec<u8> = (0..1 << 16).map(|_| stream.bits() as u8).collect();
    let mut count = 0;
    for _ in 0..trials {
        let at = stream.below((pool.len() - LEN) as u64) as usize;
        let mut segment = place.seal(&pool[at..at + LEN]);
        let was = segment.clone();
        match damage {
            Damage::Burst => {
                let first = stream.below((segment.len() - 8) as u64) as usize;
                let noise = stream.bits().to_be_bytes();
                let hit = &mut segment[first..first + 8];
                hit.iter_mut().zip(noise).for_each(|(byte, bits)| *byte ^= bits);
            }
            Damage::Cut => {
                // Whole words: what is cut inside one fails no less.
                let left = 2 * (1 + stream.below(LEN as u64 / 2) as usize);
                segment.truncate(left);
            }
        }
        count += u64::from(segment != was && passes(&segment, bits));
    }
    count
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let trials = match context.extent {
        Extent::Quick => 1_000_000,
        Extent::Paper => 4_000_000,
        Extent::Full => 40_000_000,
    };
    let bits = if context.is_mutated { 8 } else { 16 };
    let mut table = Table::new(["checksum", "damage", "segments", "pass", "share / 2^-16"]);
    let mut claims = vec![saving()];
    for damage in [Damage::Burst, Damage::Cut] {
        let counts = [Place::Leading, Place::Trailing].map(|place| {
            (context.progress)(&format!("{place:?}, {damage:?}"));
            let one = |seed| passing(place, damage, trials / RUNS, bits, seed);
            let count: u64 = context.replicate(RUNS as usize, one).iter().sum();
            let share = count as f64 / trials as f64 * CHANCE;
            table.push([
                format!("{place:?}").to_lowercase(),
                format!("{damage:?}").to_lowercase(),
                trials.to_string(),
                count.to_string(),
                format!("{share:.2}"),
            ]);
            count
        });
        claims.push(equal(damage, counts, trials));
    }
    let method = format!(
        "What passes is counted over {trials} damaged segments of {LEN} random bytes for each \
         place and kind of damage; chance lets one in 2^16 pass. What is saved is on paper: \
         the summing of the data that must be over before the first byte leaves, as a share \
         of the time that the segment spends on the air, rate / (8 × speed of summing): {:.1} % at \
         {} Mb/s and {} MB/s. Where the sum is taken while the data are copied (S2.15) there is no \
         such pass and nothing to save. A trailer costs the receiver what it gives the sender: \
         nothing can be believed before the last byte, and a segment cut short has lost its \
         checksum.",
        100.0 * share(PAPERS.0, PAPERS.1),
        PAPERS.0,
        PAPERS.1,
    );
    Ok(Finding {
        inputs: vec![
            ExperimentInput::given("rate of the link", "11 Mb/s", "paper 002, section 5"),
            ExperimentInput::given("speed of summing", "50 MB/s", "our guess for its machine"),
        ],
        claims,
        charts: vec![("", chart())],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

//= S2.16
/// Claims that a checksum lets pass what chance does, wherever it stands.
fn equal(damage: Damage, counts: [u64; 2], trials: u64) -> Claim {
    let kind = match damage {
        Damage::Burst => "a burst of 64 bits",
        Damage::Cut => "an end that is missing",
    };
    let claim =
        Claim::ours("S2.16", format!("a trailer protects as well as a header after {kind}"));
    let places = ["before the data", "behind them"].into_iter().zip(counts);
    places.fold(claim, |claim, (place, count)| {
        let share = Estimate::share(count, trials);
        let [value, low, high] = [share.value, share.low, share.high].map(|it| it * CHANCE);
        let band = Band::between(0.5, 2.0, "chance, give or take one bit of the sixteen");
        let label = format!("{place}: segments that pass, by what chance lets pass");
        claim.compare(label, Estimate { value, low, high, ..share }, band)
    })
}

//= S2.16
/// The advantage of a trailer that the paper names.
fn saving() -> Claim {
    Claim::paper(
        "S2.16",
        "section 3.3: “can start sending the packet before the checksum computation is finished”",
        "a trailer saves the sender the time of summing",
    )
    .not_comparable(
        "a share of the time on the air, drawn below",
        "the paper gives no number, and no machine of its time is at hand: the saving is computed \
         from a guessed speed",
    )
}

/// The time of summing the data as a share of their time on the air.
fn share(rate: f64, speed: f64) -> f64 {
    rate / (8.0 * speed)
}

fn chart() -> Chart {
    let curve = |rate: f64| {
        let name = format!("{rate} Mb/s");
        Series::curve(name, Mark::Line, (20.0, 40_000.0), 400, move |speed| {
            100.0 * share(rate, speed)
        })
    };
    Chart {
        title: "What a checksum behind the data could save".to_owned(),
        subtitle: "summing the data before the first byte leaves, on paper".to_owned(),
        x: Axis::log("speed of summing (MB/s)"),
        y: Axis::log("share of the time on the air (%)"),
        series: RATES.map(curve).into(),
        rules: Vec::new(),
    }
}
