//! Measuring: a chain runs at one ratio, and its errors are described.

use windfall_base::{Seed, Stream};
use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::GapLaw;
use super::table::{RateTable, TablePoint, Tables};
use super::{events, guard, word};
use crate::{decibel, dsss, ofdm};

/// The end of a measurement at one ratio: a number of events or of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The number of events that is enough.
    pub events: usize,
    /// The number of bits that is enough.
    pub bits: u64,
    /// Events whose insides are kept.
    pub patterns: usize,
}

/// The chain of any rate.
#[derive(Clone, Debug)]
pub enum Source {
    /// The chain of 802.11a/g.
    Ofdm(Box<ofdm::Chain>),
    /// The chain of 802.11b.
    Dsss(dsss::Chain),
}

/// Data bits that a chain passes at a time; about a frame of 1500 bytes.
const BLOCK: usize = 12_000;
/// Bits that the descrambler of 802.11b carries an error further.
const CARRIED: u64 = 7;

impl Source {
    /// The chain of `rate`.
    #[must_use]
    pub fn new(rate: PhyRate) -> Self {
        match (ofdm::Chain::new(rate), dsss::Chain::new(rate)) {
            (Some(chain), _) => Self::Ofdm(Box::new(chain)),
            (None, Some(chain)) => Self::Dsss(chain),
            (None, None) => unreachable!("every rate has a chain"),
        }
    }

    /// Passes a block of random bits; appends the places of wrong ones, counted from `from`, and
    /// tells how many bits were passed.
    ///
    /// The bits after the block decide its last bits, as tail and padding do in a frame.
    pub fn pass(&mut self, snr: f64, random: &mut Stream, from: u64, wrong: &mut Vec<u64>) -> u64 {
        self.pass_over(&[1.0], snr, random, from, wrong)
    }

    /// As [`pass`](Self::pass), over carriers with these amplitudes if they are those of OFDM.
    pub fn pass_over(
        &mut self,
        gains: &[f64],
        snr: f64,
        random: &mut Stream,
        from: u64,
        wrong: &mut Vec<u64>,
    ) -> u64 {
        let mut received = Vec::with_capacity(BLOCK);
        let per_symbol = match self {
            Self::Ofdm(chain) => chain.bits_per_symbol(),
            Self::Dsss(chain) => chain.bits_per_symbol(),
        };
        let count = BLOCK.next_multiple_of(per_symbol) + per_symbol;
        let mut word = 0;
        let mut bit = |i: usize| {
            word = if i.is_multiple_of(64) { random.bits() } else { word >> 1 };
            (word & 1) as u8
        };
        let bits: Vec<u8> = (0..count).map(&mut bit).collect();
        match self {
            Self::Ofdm(chain) => chain.transmit(&bits, gains, |_| snr, random, &mut received),
            Self::Dsss(chain) => chain.transmit(&bits, |_| snr, random, &mut received),
        }
        let counted = count - per_symbol;
        let pairs = received.iter().zip(&bits).take(counted).enumerate();
        wrong.extend(pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| from + i as u64));
        counted as u64
    }
}

/// Describes the errors of `rate` at a ratio in decibels.
#[must_use]
pub fn measure(rate: PhyRate, decibels: f64, seed: Seed, effort: Effort) -> TablePoint {
    let mut source = Source::new(rate);
    let mut random = Stream::new(seed, &format!("{rate} at {decibels} dB"));
    let snr = decibel::ratio(decibels);
    let word = word(rate);
    let guard = guard(rate);
    let mut places = Vec::new();
    let mut bits = 0;
    let mut block = 1;
    // Few errors make an event: counting them saves looking for events after each block.
    while places.len() < 4 * effort.events && bits < effort.bits {
        block = source.pass(snr, &mut random, bits, &mut places);
        bits += block;
    }
    let all: Vec<&[u64]> = events(&places, word, guard).collect();
    let word_of = |place: u64| place / u64::from(word);
    let excess = |pair: &[&[u64]]| {
        let end = word_of(pair[0][pair[0].len() - 1]);
        (word_of(pair[1][0]) - end).saturating_sub(u64::from(guard) + 1)
    };
    let gaps: Vec<u64> = all.windows(2).map(excess).collect();
    let mut law = GapLaw::fit(&gaps);
    if gaps.len() < 200 {
        law.mean = (word_of(bits) as f64 / (all.len() as f64).max(0.5)) as f32;
    }
    // The descrambler would have carried the errors of an event further than its block goes.
    let cut = |event: &[u64]| event.last().is_some_and(|last| last % block + CARRIED >= block);
    let whole = all.into_iter().filter(|event| rate.is_ofdm() || !cut(event)).collect();
    TablePoint::new(law, word, &stratified(whole, word, effort.patterns))
}

/// Evenly many events of each length and place within a word, so that few of them stand for all.
fn stratified(mut events: Vec<&[u64]>, word: u32, count: usize) -> Vec<&[u64]> {
    if events.len() <= count {
        return events;
    }
    let place = |event: &[u64]| event[0] % u64::from(word);
    events.sort_by_key(|event| (event[event.len() - 1] - event[0], event.len(), place(event)));
    let step = events.len() as f64 / count as f64;
    (0..count).map(|i| events[((i as f64 + 0.5) * step) as usize]).collect()
}

/// The lowest ratio of a rate's table, in decibels: nearly half of all bits are wrong.
const fn lowest(rate: PhyRate) -> f64 {
    match rate {
        PhyRate::Dsss1 => -18.0,
        PhyRate::Dsss2 => -14.0,
        PhyRate::Cck5_5 => -9.0,
        PhyRate::Cck11 => -6.0,
        PhyRate::Ofdm6 => -4.0,
        PhyRate::Ofdm9 | PhyRate::Ofdm12 => -1.0,
        PhyRate::Ofdm18 => 2.0,
        PhyRate::Ofdm24 => 4.0,
        PhyRate::Ofdm36 => 7.0,
        PhyRate::Ofdm48 => 10.0,
        PhyRate::Ofdm54 => 12.0,
    }
}

/// The distance of neighbouring ratios in a table, in decibels.
const STEP: f64 = 0.5;
/// Tables end where events are rarer than one in this number of bits.
const RARE: f32 = 4e5;

/// Measures every rate at every ratio that matters; `progress` hears of each point.
#[must_use]
pub fn generate(
    seed: Seed,
    effort: Effort,
    mut progress: impl FnMut(PhyRate, f64, &TablePoint),
) -> Tables {
    let table = |rate: PhyRate| {
        let mut points: Vec<TablePoint> = Vec::new();
        let rare = RARE / word(rate) as f32;
        while points.last().is_none_or(|last| last.law().mean < rare) {
            let decibels = lowest(rate) + STEP * points.len() as f64;
            let point = measure(rate, decibels, seed, effort);
            progress(rate, decibels, &point);
            points.push(point);
        }
        RateTable::new(lowest(rate), STEP, points)
    };
    Tables::new(PhyRate::ALL.map(table))
}
