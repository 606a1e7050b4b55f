//! Descriptions of errors for every rate and ratio.

use std::sync::OnceLock;

use windfall_base::Stream;
use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::GapLaw;
use crate::decibel;

/// The errors of one rate at one ratio: the law of the gaps, and events as they were seen.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePoint {
    law: GapLaw,
    /// Offsets of bit errors from the word in which their event begins, event after event.
    offsets: Vec<u16>,
    /// The ends of each event's offsets.
    ends: Vec<u32>,
    /// The means over events, once they are asked for.
    means: OnceLock<Means>,
}

/// The means over the events of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    /// Damaged bytes of an event.
    pub(super) bytes: f64,
    /// Bits from the word in which an event begins to its last wrong one.
    pub(super) bits: f64,
}

impl TablePoint {
    /// A description from a law, the bits of a word, and the places of bit errors of each event,
    /// counted from the beginning of a word.
    #[must_use]
    pub fn new(law: GapLaw, word: u32, events: &[&[u64]]) -> Self {
        let word = u64::from(word.max(1));
        let mut offsets = Vec::new();
        let mut ends = Vec::new();
        for event in events.iter().filter(|event| !event.is_empty()) {
            let begin = event[0] / word * word;
            offsets.extend(event.iter().map(|place| (place - begin) as u16));
            ends.push(offsets.len() as u32);
        }
        if ends.is_empty() {
            (offsets, ends) = (vec![0], vec![1]);
        }
        Self { law, offsets, ends, means: OnceLock::new() }
    }

    /// The law of the gaps.
    #[must_use]
    pub const fn law(&self) -> GapLaw {
        self.law
    }

    /// The events as offsets of bit errors from the beginning of the word that holds the first.
    pub fn events(&self) -> impl Iterator<Item = &[u16]> {
        (0..self.ends.len()).map(|i| self.event(i))
    }

    fn event(&self, index: usize) -> &[u16] {
        let from = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.offsets[from as usize..self.ends[index] as usize]
    }

    /// The means over its events, which begin at any bit of a byte alike.
    fn means(&self) -> Means {
        *self.means.get_or_init(|| {
            let bytes_of = |event: &[u16]| {
                let at = |phase: u16| {
                    let byte = |offset: &u16| offset.saturating_add(phase) / 8;
                    1 + event.windows(2).filter(|it| byte(&it[0]) != byte(&it[1])).count()
                };
                (0..8).map(at).sum::<usize>() as f64 / 8.0
            };
            let bits_of = |event: &[u16]| f64::from(*event.last().unwrap_or(&0)) + 1.0;
            let count = self.ends.len().max(1) as f64;
            Means {
                bytes: self.events().map(bytes_of).sum::<f64>() / count,
                bits: self.events().map(bits_of).sum::<f64>() / count,
            }
        })
    }

    /// One of its events.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> &[u16] {
        self.event(stream.below(self.ends.len() as u64) as usize)
    }
}

/// The errors of one rate at evenly spaced ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct RateTable {
    pub(super) first: f64,
    pub(super) step: f64,
    pub(super) points: Vec<TablePoint>,
    /// The logarithm of the mean gap at each point.
    logs: Vec<f64>,
    /// The last ratio, not in decibels, and how fast that logarithm grows with it beyond.
    beyond: (f64, f64),
}

/// Between two points of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    lower: &'a TablePoint,
    upper: &'a TablePoint,
    /// The distance from the lower towards the upper, 0..=1.
    share: f64,
    pub(super) law: GapLaw,
}

impl<'a> Place<'a> {
    /// The means over the events of this place.
    pub(super) fn means(&self) -> Means {
        let lower = self.lower.means();
        let upper = self.upper.means();
        let between = |low: f64, high: f64| low + self.share * (high - low);
        Means { bytes: between(lower.bytes, upper.bytes), bits: between(lower.bits, upper.bits) }
    }

    /// The point that stands for this place, drawn by nearness.
    #[inline]
    pub(super) fn point(&self, stream: &mut Stream) -> &'a TablePoint {
        if self.share > 0.0 && stream.unit() < self.share { self.upper } else { self.lower }
    }
}

impl RateTable {
    /// A table from its lowest ratio, the step between ratios, both in decibels, and its points.
    ///
    /// # Panics
    /// Without points.
    #[must_use]
    pub fn new(first: f64, step: f64, points: Vec<TablePoint>) -> Self {
        assert!(!points.is_empty(), "a table has points");
        let logs = points.iter().map(|point| f64::from(point.law.mean).max(0.1).ln()).collect();
        let mut table = Self { first, step, points, logs, beyond: (0.0, 0.0) };
        table.beyond = table.slope();
        table
    }

    /// The ratios of the points, in decibels, and the points.
    pub fn points(&self) -> impl Iterator<Item = (f64, &TablePoint)> {
        self.points.iter().enumerate().map(|(i, point)| (self.first + self.step * i as f64, point))
    }

    /// The errors at a ratio of powers.
    ///
    /// Between points the logarithm of the mean gap is interpolated. Below the first one nothing
    /// grows worse. Beyond the last one the logarithm goes on in proportion to the ratio itself,
    /// as the exponent of an error probability does.
    pub(super) fn at(&self, sinr: f64) -> Place<'_> {
        let place = (decibel::decibels(sinr) - self.first) / self.step;
        let last = self.points.len() - 1;
        if place.is_nan() || place <= 0.0 {
            return self.on(0, self.points[0].law.mean);
        }
        if place >= last as f64 {
            return self.on(last, self.beyond(sinr));
        }
        let index = place as usize;
        let share = place.fract();
        let lower = &self.points[index];
        let upper = &self.points[index + 1];
        let near = if share < 0.5 { lower } else { upper };
        let low = self.logs[index];
        let high = self.logs[index + 1];
        let mean = (low + share * (high - low)).exp() as f32;
        Place { lower, upper, share, law: GapLaw { mean, ..near.law } }
    }

    fn on(&self, index: usize, mean: f32) -> Place<'_> {
        let point = &self.points[index];
        Place { lower: point, upper: point, share: 0.0, law: GapLaw { mean, ..point.law } }
    }

    /// The mean gap at a ratio above those of the table.
    fn beyond(&self, sinr: f64) -> f32 {
        let (last, slope) = self.beyond;
        let mean = f64::from(self.points[self.points.len() - 1].law.mean);
        (mean * (slope * (sinr - last)).exp()).min(1e30) as f32
    }

    /// The ratio of the last point, and the slope of the logarithm there.
    fn slope(&self) -> (f64, f64) {
        let last = self.points.len() - 1;
        let mean = |i: usize| f64::from(self.points[i].law.mean);
        let ratio = |i: usize| decibel::ratio(self.first + self.step * i as f64);
        // Two decibels further down, where there were events enough to trust the slope.
        let before = last.saturating_sub(2);
        if before == last {
            return (ratio(last), 0.0);
        }
        let rise = (mean(last) / mean(before)).ln().max(0.0);
        (ratio(last), rise / (ratio(last) - ratio(before)))
    }
}

/// The tables of all rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    pub(super) rates: [RateTable; 12],
}

impl Tables {
    /// Tables in the order of [`PhyRate::ALL`].
    #[must_use]
    pub const fn new(rates: [RateTable; 12]) -> Self {
        Self { rates }
    }

    /// The table of a rate.
    #[must_use]
    pub fn of(&self, rate: PhyRate) -> &RateTable {
        &self.rates[rate as usize]
    }
}
