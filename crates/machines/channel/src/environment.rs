//! The five error environments of paper 003, Table 1, as synthetic traces (S3.17).
//!
//! The authors' traces are not public. What is known of them is Table 1, so a generated trace has
//! just its totals, and the arrangement is ours: faults come in spells of random length, the
//! severity of damage drifts from frame to frame, and inverted bits cluster. With the totals fixed
//! and only the arrangement random, every seed gives a trace that matches the table.
//!
//! The columns are cumulative: *loss* is a share of all frames, *truncation* of those that were not
//! lost, *corruption* of those that were neither lost nor truncated. The bit error rate is the
//! share of inverted bits among all bits that arrived, those of truncated frames included. On that
//! reading *Adjacent* needs no frame with a thousand inverted bits: what cuts a frame short also
//! damages what arrived of it.

use windfall_base::{Rate, Seed, Stream};

use windfall_files::traces::error_trace::{ErrorTrace, Fault, TraceHeader};

/// Bytes in a frame of these traces: five blocks of 255.
pub const FRAME_LENGTH: u32 = 5 * 255;
/// Frames in a trace as it is shipped.
pub const ENVIRONMENT_FRAMES: u32 = 6_000;

/// A place where the authors took a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// A place where nothing disturbs.
    Office,
    /// A cordless phone is carried about.
    Walking,
    /// A cordless phone nearby goes on and off.
    Adjacent,
    /// A cordless phone stands on the same table.
    Table,
    /// Walls and distance weaken the signal.
    Walls,
}

/// A row of Table 1: what share of frames, cumulatively, and of bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// Lost frames among all.
    pub loss: f64,
    /// Truncated frames among those that arrived.
    pub truncation: f64,
    /// Corrupted frames among those that arrived whole.
    pub corruption: f64,
    /// Inverted bits among those that arrived.
    pub bit_error_rate: f64,
}

/// The arrangement of the totals, which Table 1 leaves open; the lengths are means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrangement {
    /// Frames in a spell of losses, of truncations, of corruption.
    pub spells: [f64; 3],
    /// Bits from the first to the last of a cluster.
    pub cluster: f64,
    /// The part of a frame's severity that is that of the frame before, 0..1.
    pub drift: f64,
    /// Inverted bits of a truncated frame for each one of a corrupted frame.
    pub in_truncated: f64,
}

impl Environment {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::Office, Self::Walking, Self::Adjacent, Self::Table, Self::Walls];

    /// The name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Office => "office",
            Self::Walking => "walking",
            Self::Adjacent => "adjacent",
            Self::Table => "table",
            Self::Walls => "walls",
        }
    }

    //= S3.17
    /// The row of Table 1; *trivial* is taken as two frames in a thousand, and where the bit error
    /// rate is zero as one inverted bit in six thousand frames.
    #[must_use]
    pub const fn totals(self) -> Totals {
        let (loss, truncation, corruption, bit_error_rate) = match self {
            Self::Office => (0.0, 0.0, 1.0 / 6e3, 1.0 / (6e3 * 10_200.0)),
            Self::Walking => (0.002, 0.002, 0.05, 1.6e-4),
            Self::Adjacent => (0.31, 0.23, 0.002, 1e-3),
            Self::Table => (0.05, 0.02, 0.94, 4.9e-3),
            Self::Walls => (0.01, 0.02, 0.27, 3.8e-4),
        };
        Totals { loss, truncation, corruption, bit_error_rate }
    }

    /// The arrangement that a trace of this place has if nothing else is said.
    #[must_use]
    pub const fn arrangement(self) -> Arrangement {
        let (spells, cluster, drift, in_truncated) = match self {
            Self::Office => ([1.0, 1.0, 1.0], 1.0, 0.0, 1.0),
            Self::Walking => ([1.5, 1.5, 6.0], 24.0, 0.7, 1.0),
            Self::Adjacent => ([4.0, 2.0, 1.0], 40.0, 0.3, 4.0),
            Self::Table => ([2.0, 1.5, 40.0], 4.0, 0.6, 1.0),
            Self::Walls => ([2.0, 2.0, 15.0], 12.0, 0.9, 1.0),
        };
        Arrangement { spells, cluster, drift, in_truncated }
    }

    /// A trace of `frames` frames of [`FRAME_LENGTH`] bytes with the totals of the table.
    ///
    /// The totals are met to the frame and to the bit; the arrangement follows from the seed.
    #[must_use]
    pub fn synthesize(self, seed: Seed, frames: u32) -> ErrorTrace {
        self.synthesize_arranged(seed, frames, &self.arrangement())
    }

    /// A trace of `frames` frames with the totals of the table in another arrangement.
    #[must_use]
    pub fn synthesize_arranged(
        self,
        seed: Seed,
        frames: u32,
        arrangement: &Arrangement,
    ) -> ErrorTrace {
        let mut random = Stream::new(seed, self.name());
        let totals = self.totals();
        let mut fates = vec![Fate::Intact; frames as usize];
        let shares = [totals.loss, totals.truncation, totals.corruption];
        for ((fate, share), spell) in FATES.into_iter().zip(shares).zip(arrangement.spells) {
            afflict(&mut fates, fate, share, spell, &mut random);
        }
        // Laid out from the first frame on, a trace would mostly begin between two spells.
        fates.rotate_left(random.below(u64::from(frames.max(1))) as usize);
        let bits = FRAME_LENGTH * 8;
        let ends: Vec<u32> = fates.iter().map(|fate| fate.arrived(bits, &mut random)).collect();
        let arrived: u64 = ends.iter().map(|&end| u64::from(end)).sum();
        let quota = (totals.bit_error_rate * arrived as f64).round() as u64;
        let counts = severities(&fates, &ends, quota, arrangement, &mut random);
        let mut trace = ErrorTrace::new(self.header(seed));
        for ((fate, end), count) in fates.into_iter().zip(ends).zip(counts) {
            match fate {
                Fate::Lost => trace.push(Fault::Lost, 1),
                Fate::Intact => trace.push_ok(1),
                Fate::Truncated | Fate::Corrupted => {
                    let truncated = (fate == Fate::Truncated).then_some(end);
                    let inverted = clusters(count, end, arrangement.cluster, &mut random);
                    trace.push(Fault::Damaged { truncated, inverted }, 1);
                }
            }
        }
        trace
    }

    fn header(self, seed: Seed) -> TraceHeader {
        TraceHeader {
            seed: Some(seed),
            rate: Rate::from_mbps(2),
            frame_length: Some(FRAME_LENGTH),
            workload: format!("synthetic environment {}, full frames back to back", self.name()),
            ..TraceHeader::default()
        }
    }
}

impl core::fmt::Display for Environment {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The effect on a frame as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Intact,
    Lost,
    Truncated,
    Corrupted,
}

/// In the order of the table's columns.
const FATES: [Fate; 3] = [Fate::Lost, Fate::Truncated, Fate::Corrupted];

impl Fate {
    /// Draws how many of `bits` arrive; whole bytes, of which a truncated frame has some.
    fn arrived(self, bits: u32, random: &mut Stream) -> u32 {
        match self {
            Self::Lost => 0,
            Self::Truncated => 8 * (1 + random.below(u64::from(bits / 8 - 1)) as u32),
            Self::Intact | Self::Corrupted => bits,
        }
    }
}

/// Gives a share of the intact frames a fate, in spells of `mean` frames at random places.
fn afflict(fates: &mut [Fate], fate: Fate, share: f64, mean: f64, random: &mut Stream) {
    let intact: Vec<usize> = (0..fates.len()).filter(|&i| fates[i] == Fate::Intact).collect();
    let total = (share * intact.len() as f64).round() as usize;
    let mut spells = Vec::new();
    let mut left = total;
    while left > 0 {
        let length = geometric(mean, random).min(left as u64) as usize;
        spells.push(length);
        left -= length;
    }
    // The rest falls between the spells: random cuts of it are the starts, in order.
    let calm = (intact.len() - total) as u64;
    let mut starts: Vec<u64> = spells.iter().map(|_| random.below(calm + 1)).collect();
    starts.sort_unstable();
    let mut before = 0;
    for (start, spell) in starts.into_iter().zip(spells) {
        let first = start as usize + before;
        for &frame in &intact[first..first + spell] {
            fates[frame] = fate;
        }
        before += spell;
    }
}

/// Draws the inverted bits of each frame; together `quota`, and at least one in a corrupted frame.
fn severities(
    fates: &[Fate],
    ends: &[u32],
    quota: u64,
    arrangement: &Arrangement,
    random: &mut Stream,
) -> Vec<u32> {
    let mut level = 1.0;
    let weights: Vec<f64> = fates
        .iter()
        .zip(ends)
        .map(|(fate, &end)| {
            // Exponential severities that lean on the one before: mean 1 whatever the drift.
            let fresh = -(1.0 - random.unit()).ln();
            level = arrangement.drift * level + (1.0 - arrangement.drift) * fresh;
            let part = f64::from(end) / f64::from(FRAME_LENGTH * 8);
            match fate {
                Fate::Corrupted => level,
                Fate::Truncated => level * part * arrangement.in_truncated,
                Fate::Lost | Fate::Intact => 0.0,
            }
        })
        .collect();
    let must: Vec<u32> = fates.iter().map(|fate| u32::from(*fate == Fate::Corrupted)).collect();
    let spare = quota.saturating_sub(must.iter().map(|&bit| u64::from(bit)).sum());
    let sum: f64 = weights.iter().sum();
    // Rounding the running sum instead of each weight meets the quota to the bit.
    let mut running = 0.0;
    let mut given = 0;
    let count = |((weight, must), &end): ((&f64, &u32), &u32)| {
        running += weight / sum.max(f64::MIN_POSITIVE) * spare as f64;
        let due = (running.round() as u64 - given).min(u64::from(end / 2)) as u32;
        given += u64::from(due);
        due + must
    };
    weights.iter().zip(&must).zip(ends).map(count).collect()
}

/// `count` different bits before `end`, ascending, in clusters of `mean` bits half of which are
/// hit.
fn clusters(count: u32, end: u32, mean: f64, random: &mut Stream) -> Box<[u32]> {
    let mut hit = std::collections::BTreeSet::new();
    while (hit.len() as u32) < count {
        let start = random.below(u64::from(end)) as u32;
        let length = geometric(mean, random).min(u64::from(end - start)) as u32;
        hit.insert(start);
        for bit in start + 1..start + length {
            if (hit.len() as u32) < count && random.bits() & 1 == 1 {
                hit.insert(bit);
            }
        }
    }
    hit.into_iter().collect()
}

/// A geometric number of at least 1 with the given mean.
fn geometric(mean: f64, random: &mut Stream) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    let stay = 1.0 - 1.0 / mean;
    1 + ((1.0 - random.unit()).ln() / stay.ln()) as u64
}

#[cfg(test)]
mod tests;
