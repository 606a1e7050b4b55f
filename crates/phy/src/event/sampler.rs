//! Drawing errors: one draw for each event, none for right bits.

use windfall_base::Stream;
use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::{exponential, scale};
use super::guard;
use super::table::{Place, RateTable, Tables};

/// Draws the wrong bits of frames at one rate.
#[derive(Clone, Copy, Debug)]
pub struct Sampler<'a> {
    table: &'a RateTable,
    guard: u32,
}

impl<'a> Sampler<'a> {
    /// The sampler of a rate.
    #[must_use]
    pub fn new(tables: &'a Tables, rate: PhyRate) -> Self {
        Self { table: tables.of(rate), guard: guard(rate) }
    }

    /// Calls `hit` with each wrong bit of consecutive stretches, ascending, until it returns false.
    ///
    /// A stretch is the number of its bits and its ratio of powers, not in decibels.
    pub fn strike(
        &self,
        stretches: impl IntoIterator<Item = (u32, f64)>,
        stream: &mut Stream,
        mut hit: impl FnMut(u32) -> bool,
    ) {
        let mut stretches = stretches.into_iter();
        let Some((mut end, sinr)) = stretches.next() else { return };
        let mut place = self.table.at(sinr);
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
                place = self.table.at(sinr);
                bits_per_unit = scale(place.law.kind(within, stream));
                continue;
            }
            position += reach as u32;
            let Some(last) = strike_event(&place, position, stream, &mut hit) else { return };
            // The event and its guard may reach into the stretches behind.
            position = last + 1 + self.guard;
            while position >= end {
                let Some((bits, sinr)) = stretches.next() else { return };
                end += bits;
                place = self.table.at(sinr);
            }
            within = false;
            gap = exponential(stream);
            bits_per_unit = scale(place.law.kind(within, stream));
        }
    }
}

/// Puts an event at `start`; its last bit, or `None` if nobody wants more.
fn strike_event(
    place: &Place<'_>,
    start: u32,
    stream: &mut Stream,
    hit: &mut impl FnMut(u32) -> bool,
) -> Option<u32> {
    let event = place.point(stream).draw(stream);
    let mut last = start;
    for offset in event {
        last = start + u32::from(*offset);
        if !hit(last) {
            return None;
        }
    }
    Some(last)
}
