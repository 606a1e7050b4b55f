//! The order in which the pictures of a stream are shown, which is not that of their decoding where
//! there are B pictures.

use super::parameters::ParameterSets;
use super::slice::SliceFront;
use super::{SLICES, TYPE, is_empty, units, without_prevention};

/// Returns for each coded picture of a stream, in the order of decoding, its place in the order of
/// output, counted from 0 (H.264, section 8.2.1). Pictures whose slices do not tell it, or cannot
/// be read, keep the places in which they come.
#[must_use]
pub fn h264_output_places<'a>(pictures: impl IntoIterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut sets = ParameterSets::default();
    let mut places = Vec::new();
    // What is decoded from one picture that needs no other up to the next is shown before that.
    let mut group = Group::default();
    for picture in pictures {
        let front = front(picture, &mut sets);
        if front.is_some_and(|it| it.is_idr) {
            group.finish(&mut places);
        }
        group.push(front.and_then(|it| Some((it.is_reference, it.output?))));
    }
    group.finish(&mut places);
    places
}

/// Reads the front of the first slice of a picture, and learns the parameter sets before it.
fn front(picture: &[u8], sets: &mut ParameterSets) -> Option<SliceFront> {
    for (_, unit) in units(picture).filter(|(_, unit)| !is_empty(unit)) {
        if SLICES.contains(&(unit[0] & TYPE)) {
            return SliceFront::parse(&without_prevention(unit), sets);
        }
        sets.learn(unit);
    }
    None
}

/// The pictures from one that needs no other on.
#[derive(Debug, Default)]
struct Group {
    /// The order count of each; `None` after one that does not tell it.
    counts: Option<Vec<i64>>,
    length: usize,
    /// The order count of the last reference picture: its high part, and the low bits.
    reference: (i64, i64),
}

impl Group {
    /// Takes the next picture: whether others refer to it, and the low bits of its order count with
    /// their number.
    fn push(&mut self, told: Option<(bool, (u32, u32))>) {
        if self.length == 0 {
            *self = Self { counts: Some(Vec::new()), ..Self::default() };
        }
        self.length += 1;
        let Some((is_reference, (low, bits))) = told else {
            self.counts = None;
            return;
        };
        let count = self.count(i64::from(low), 1 << bits);
        if is_reference {
            self.reference = (count - i64::from(low), i64::from(low));
        }
        if let Some(counts) = &mut self.counts {
            counts.push(count);
        }
    }

    /// Returns the order count by its low bits, which begin anew at `range` (section 8.2.1.1).
    fn count(&self, low: i64, range: i64) -> i64 {
        let (high, last) = self.reference;
        if low < last && last - low >= range / 2 {
            high + range + low
        } else if low > last && low - last > range / 2 {
            high - range + low
        } else {
            high + low
        }
    }

    /// Appends the places of its pictures.
    fn finish(&mut self, places: &mut Vec<usize>) {
        let first = places.len();
        let group = core::mem::take(self);
        let counts = group.counts.unwrap_or_default();
        let mut order: Vec<usize> = (0..group.length).collect();
        if counts.len() == group.length {
            order.sort_by_key(|at| counts[*at]);
        }
        places.resize(first + group.length, 0);
        for (place, at) in order.into_iter().enumerate() {
            places[first + at] = first + place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(group: &[Option<(bool, (u32, u32))>]) -> Vec<usize> {
        let mut state = Group::default();
        group.iter().for_each(|it| state.push(*it));
        let mut places = vec![0, 1];
        state.finish(&mut places);
        places
    }

    #[test]
    fn pictures_are_shown_by_their_order_counts_whose_low_bits_begin_anew() {
        let reference = |low| Some((true, (low, 4)));
        let other = |low| Some((false, (low, 4)));
        let group = [reference(0), reference(6), other(2), other(4), reference(12), other(8)];
        assert_eq!(places(&group), [0, 1, 2, 5, 3, 4, 7, 6]);
        // 18 and 14 of four bits.
        let longer = [&group[..], &[reference(2), other(14)]].concat();
        assert_eq!(places(&longer), [0, 1, 2, 5, 3, 4, 7, 6, 9, 8]);
        let unread = [&group[..], &[None]].concat();
        assert_eq!(places(&unread), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn what_is_no_stream_keeps_its_order() {
        assert_eq!(h264_output_places([&b"x"[..], &[], &[0, 0, 1, 0x65]]), [0, 1, 2]);
        assert!(h264_output_places([]).is_empty());
    }
}
