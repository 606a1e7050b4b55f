//! The pictures of which nothing came.

/// The packets of a stream that did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Those between the first and the last that came.
    pub(crate) inside: u32,
    /// Those before the first or after the last, as far as the sender has told.
    pub(crate) outside: u32,
    /// All from the first to the last that came, missing ones included.
    pub(crate) expected: u32,
}

impl Missing {
    /// Returns the number of pictures of which nothing came, by the timestamps of those of which
    /// something did. A stretch of time without pictures counts as far as packets are missing: the
    /// encoder may have left pictures out.
    pub(crate) fn pictures(self, timestamps: impl Iterator<Item = u32>) -> usize {
        let mut first = None;
        // Of the first one, as far as the half of the numbers goes.
        let mut times: Vec<i32> =
            timestamps.map(|it| it.wrapping_sub(*first.get_or_insert(it)) as i32).collect();
        times.sort_unstable();
        times.dedup();
        let came = times.len();
        if came == 0 {
            return 0;
        }
        let gaps: Vec<i64> =
            times.windows(2).map(|it| i64::from(it[1]) - i64::from(it[0])).collect();
        let mut sorted = gaps.clone();
        sorted.sort_unstable();
        // Most pictures follow the one before, or nothing can be told of the others.
        let usual = sorted.get(sorted.len().saturating_sub(1) / 2).map_or(1, |it| *it);
        let lost: i64 = gaps.iter().map(|gap| ((gap + usual / 2) / usual - 1).max(0)).sum();
        let inside = (lost as u64).min(self.inside.into());
        let shown = came as f64 + inside as f64;
        let packets_each = (f64::from(self.expected) / shown).max(1.0);
        inside as usize + (f64::from(self.outside) / packets_each).round() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKS: u32 = 18_000;

    fn lost(missing: (u32, u32, u32), numbers: &[u32]) -> usize {
        let (inside, outside, expected) = missing;
        let begin = u32::MAX - 2 * TICKS;
        let times = numbers.iter().map(|it| begin.wrapping_add(it * TICKS));
        Missing { inside, outside, expected }.pictures(times)
    }

    #[test]
    fn gaps_of_the_timestamps_are_lost_pictures_as_far_as_packets_are_missing() {
        assert_eq!(lost((0, 0, 5), &[0, 1, 2, 3, 4]), 0);
        assert_eq!(lost((3, 0, 8), &[0, 1, 4, 5, 7]), 3);
        // The encoder has left out two of them.
        assert_eq!(lost((1, 0, 6), &[0, 1, 4, 5, 7]), 1);
        // In the order of decoding, where the third was lost.
        assert_eq!(lost((1, 0, 7), &[0, 3, 1, 6, 4, 5]), 1);
        assert_eq!(lost((0, 0, 0), &[]), 0);
        assert_eq!(lost((2, 0, 3), &[7]), 0);
    }

    #[test]
    fn packets_at_the_ends_are_as_many_pictures_as_others_of_the_stream() {
        assert_eq!(lost((0, 3, 5), &[0, 1, 2, 3, 4]), 3);
        assert_eq!(lost((2, 4, 10), &[0, 1, 2, 4]), 3);
        assert_eq!(lost((0, 0, 1), &[9]), 0);
    }
}
