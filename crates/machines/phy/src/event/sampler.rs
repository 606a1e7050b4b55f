//! Drawing errors: one draw for each event, none for right bits.

use windfall_base::Stream;
use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::{exponential, scale};
use super::table::{Place, RateTable, Tables};
use super::{guard, word};

/// Places of a table that are remembered; a power of two.
const REMEMBERED: usize = 64;

/// Draws the bit errors of frames at one rate.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    table: &'a RateTable,
    word: u32,
    guard: u32,
    /// Ratios and what the table says of them: stations that stand still meet few of them.
    known: Vec<(f64, Place<'a>)>,
}

impl<'a> Sampler<'a> {
    /// The sampler of a rate.
    #[must_use]
    pub fn new(tables: &'a Tables, rate: PhyRate) -> Self {
        let table = tables.of(rate);
        let known = vec![(0.0, table.at(0.0)); REMEMBERED];
        Self { table, word: word(rate), guard: guard(rate), known }
    }

    /// Looks up a ratio in the table.
    fn at(&mut self, sinr: f64) -> Place<'a> {
        let hash = sinr.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let known = &mut self.known[hash as usize % REMEMBERED];
        if known.0.to_bits() != sinr.to_bits() {
            *known = (sinr, self.table.at(sinr));
        }
        known.1
    }

    /// Returns the ratio from which on no frame is ever hit: the shortest gap that can be drawn,
    /// 2⁻⁶³ of the mean, is longer than every frame. Infinite if there is none.
    #[must_use]
    pub fn flawless_from(&self) -> f64 {
        const MEAN: f64 = 1e24;
        let flawless = |sinr: f64| self.table.at(sinr).law.shortest() >= MEAN;
        let mut high = 1.0;
        while !flawless(high) {
            high *= 2.0;
            if high > 1e12 {
                return f64::INFINITY;
            }
        }
        let mut low = high / 2.0;
        for _ in 0..20 {
            let middle = f64::midpoint(low, high);
            if flawless(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// Returns the mean share of the bytes of consecutive stretches that are wrong, of those frames
    /// in which any is.
    pub fn wrong_bytes(&mut self, stretches: impl IntoIterator<Item = (u32, f64)>) -> f64 {
        let mut all = 0.0;
        let mut wrong = 0.0;
        let mut events = 0.0;
        let word = f64::from(self.word);
        for (bits, sinr) in stretches {
            let place = self.at(sinr);
            let means = place.means();
            let gap = f64::from(place.law.mean);
            // A gap and the event behind it with its guard, over and over.
            let period = (gap + f64::from(self.guard)) * word + means.bits;
            all += f64::from(bits);
            wrong += f64::from(bits) / period * means.bytes;
            events += f64::from(bits) / (gap.max(1e-3) * word);
        }
        let damaged = 1.0 - (-events).exp();
        if damaged > 1e-9 { (8.0 * wrong / all / damaged).min(0.5) } else { 0.0 }
    }

    /// Calls `hit` with each bit error of consecutive stretches, ascending, until it returns false.
    ///
    /// A stretch is the number of its bits and its ratio of powers, not in decibels. The first
    /// begins with a code word; a word that lies in two stretches belongs to the first of them.
    pub fn sample_hits(
        &mut self,
        stretches: impl IntoIterator<Item = (u32, f64)>,
        stream: &mut Stream,
        mut hit: impl FnMut(u32) -> bool,
    ) {
        self.strike_events(stretches, stream, |first, event| {
            event.iter().all(|offset| hit(first + u32::from(*offset)))
        });
    }

    /// As [`sample_hits`](Self::sample_hits), event by event: `hit` gets the first bit of the word
    /// in which each begins, and how far behind it its bit errors lie.
    pub fn strike_events(
        &mut self,
        stretches: impl IntoIterator<Item = (u32, f64)>,
        stream: &mut Stream,
        mut hit: impl FnMut(u32, &[u16]) -> bool,
    ) {
        let mut stretches = stretches.into_iter();
        let Some((mut bits, sinr)) = stretches.next() else { return };
        // Positions count words from here on.
        let mut end = bits.div_ceil(self.word);
        let mut place = self.at(sinr);
        let mut position = 0;
        let mut within = true;
        // A gap is an exponential deviate, used up as fast as the stretch says.
        let mut gap = exponential(stream);
        let mut words_per_unit = scale(place.law.kind(within, stream));
        loop {
            let reach = gap * words_per_unit;
            let left = end - position;
            if reach >= f64::from(left) {
                gap -= f64::from(left) / words_per_unit;
                position = end;
                let Some((more, sinr)) = stretches.next() else { return };
                bits += more;
                end = bits.div_ceil(self.word);
                place = self.at(sinr);
                words_per_unit = scale(place.law.kind(within, stream));
                continue;
            }
            position += reach as u32;
            let event = place.point(stream).draw(stream);
            if !hit(position * self.word, event) {
                return;
            }
            // The event and its guard may reach into the stretches behind.
            let last = u32::from(*event.last().unwrap_or(&0));
            position += last / self.word + 1 + self.guard;
            while position >= end {
                let Some((more, sinr)) = stretches.next() else { return };
                bits += more;
                end = bits.div_ceil(self.word);
                place = self.at(sinr);
            }
            within = false;
            gap = exponential(stream);
            words_per_unit = scale(place.law.kind(within, stream));
        }
    }
}
