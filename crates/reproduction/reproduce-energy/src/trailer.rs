//! Section 3.3: a checksum behind the data instead of before them, on paper (S2.16).

use windfall_base::{Seed, Stream};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Series, Table};
use windfall_wire_net::checksum::{Sum, checksum};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.16",
    title: "A checksum behind the data: what it saves, and what passes it",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// Bytes of data in a segment.
const LEN: usize = 254;
/// Rates of links in Mb/s.
const RATES: [f64; 4] = [2.0, 11.0, 54.0, 1_000.0];
/// The rate of the paper's link, and of summing on its machine as far as can be guessed, in MB/s.
const PAPERS: (f64, f64) = (11.0, 50.0);
/// The share of the time on the air that is not worth a change of the format.
const LITTLE: f64 = 0.05;

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

/// Tells whether a segment passes: its words and the checksum add up.
fn passes(segment: &[u8]) -> bool {
    let mut sum = Sum::new();
    sum.add(segment);
    sum.holds()
}

/// Returns the number of `trials` damaged segments that pass.
fn passing(place: Place, damage: Damage, trials: u64, seed: Seed) -> u64 {
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
        count += u64::from(segment != was && passes(&segment));
    }
    count
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let trials = match context.extent {
        Extent::Quick => 1_000_000,
        Extent::Paper => 4_000_000,
        Extent::Full => 40_000_000,
    };
    let mut table = Table::new(["checksum", "damage", "segments", "pass", "share / 2^-16"]);
    let mut claims = Vec::new();
    for damage in [Damage::Burst, Damage::Cut] {
        let counts = [Place::Leading, Place::Trailing].map(|place| {
            (context.progress)(&format!("{place:?}, {damage:?}"));
            let count = passing(place, damage, trials, context.seed);
            let share = count as f64 / trials as f64 * 65_536.0;
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
    claims.push(saving());
    let method = format!(
        "What passes is counted over {trials} damaged segments of {LEN} random bytes for each \
         place and kind of damage; chance lets one in 2^16 pass. What is saved is on paper: \
         the summing of the data that must be over before the first byte leaves, as a share \
         of the time that the segment spends on the air, rate / (8 × speed of summing). \
         {} MB/s is our guess for the paper's machine; where the sum is taken while the \
         data are copied (S2.15) there is no such pass and nothing to save. A trailer costs \
         the receiver what it gives the sender: nothing can be believed before the last byte, \
         and a segment cut short has lost its checksum.",
        PAPERS.1
    );
    Ok(Finding {
        claims,
        charts: vec![("", chart())],
        tables: vec![("", table)],
        ..figure.finding(context, method)
    })
}

/// Claims that both places let pass what chance does, within five standard deviations.
//= S2.16
fn equal(damage: Damage, [leading, trailing]: [u64; 2], trials: u64) -> Claim {
    let expected = trials as f64 / 65_536.0;
    let by_chance = |count: u64| (count as f64 - expected).abs() <= 5.0 * expected.sqrt();
    let kind = match damage {
        Damage::Burst => "a burst of 64 bits",
        Damage::Cut => "an end that is missing",
    };
    Claim::once(
        "S2.16",
        format!("a trailer protects no less: one in 2^16 passes after {kind}"),
        format!("{leading} before the data, {trailing} behind them, {expected:.1} by chance"),
        by_chance(leading) && by_chance(trailing),
    )
}

/// Claims what a trailer would save on the paper's link.
//= S2.16
fn saving() -> Claim {
    let (rate, speed) = PAPERS;
    let share = share(rate, speed);
    Claim::once(
        "S2.16",
        format!(
            "sending can begin before the sum is finished: worth at most {:.0} % on the paper's \
             link",
            100.0 * LITTLE
        ),
        format!(
            "{:.1} % of the time on the air at {rate} Mb/s and {speed} MB/s of summing",
            100.0 * share
        ),
        share <= LITTLE,
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
