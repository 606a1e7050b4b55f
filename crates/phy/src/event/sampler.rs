//! Drawing errors: one draw for each event, none for right bits.

use windfall_base::Stream;
use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::{exponential, scale};
use super::guard;
use super::table::{Place, RateTable, Tables};

/// Places of a table that are remembered; a power of two.
const REMEMBERED: usize = 64;

/// Draws the wrong bits of frames at one rate.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    table: &'a RateTable,
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
        Self { table, guard: guard(rate), known }
    }

    /// What the table says of a ratio.
    fn at(&mut self, sinr: f64) -> Place<'a> {
        let hash = sinr.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let known = &mut self.known[hash as usize % REMEMBERED];
        if known.0.to_bits() != sinr.to_bits() {
            *known = (sinr, self.table.at(sinr));
        }
        known.1
    }

    /// Calls `hit` with each wrong bit of consecutive stretches, ascending, until it returns false.
    ///
    /// A stretch is the number of its bits and its ratio of powers, not in decibels.
    pub fn strike(
        &mut self,
        stretches: impl IntoIterator<Item = (u32, f64)>,
        stream: &mut Stream,
        mut hit: impl FnMut(u32) -> bool,
    ) {
        self.strike_events(stretches, stream, |first, event| {
            event.iter().all(|offset| hit(first + u32::from(*offset)))
        });
    }

    /// As [`strike`](Self::strike), event by event: `hit` gets the first wrong bit of each, and how
    /// far behind it its wrong bits lie, the first at 0.
    pub fn strike_events(
        &mut self,
        stretches: impl IntoIterator<Item = (u32, f64)>,
        stream: &mut Stream,
        mut hit: impl FnMut(u32, &[u16]) -> bool,
    ) {
        let mut stretches = stretches.into_iter();
        let Some((mut end, sinr)) = stretches.next() else { return };
        let mut place = self.at(sinr);
        let (mut position, mut within) = (0, true);
        // A gap is an exponential deviate, used up as fast as the stretch says.
        let mut gap = exponential(stream);
        let mut bits_per_unit = scale(place.law.kind(within, stream));
        loop {
            let reach = gap * bits_per_unit;
            let left = end - position;
            if reach >= f64::from(left) {
                gap -= f64::from(left) / bits_per_unit;
                position = end;
                let Some((bits, sinr)) = stretches.next() else { return };
                end += bits;
                place = self.at(sinr);
                bits_per_unit = scale(place.law.kind(within, stream));
                continue;
            }
            position += reach as u32;
            let event = place.point(stream).draw(stream);
            if !hit(position, event) {
                return;
            }
            // The event and its guard may reach into the stretches behind.
            position += u32::from(*event.last().unwrap_or(&0)) + 1 + self.guard;
            while position >= end {
                let Some((bits, sinr)) = stretches.next() else { return };
                end += bits;
                place = self.at(sinr);
            }
            within = false;
            gap = exponential(stream);
            bits_per_unit = scale(place.law.kind(within, stream));
        }
    }
}
