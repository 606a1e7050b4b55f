//! Frames that overtake those before them.

use core::fmt;
use core::str::FromStr;

use windfall_base::Stream;

use crate::air::{Chance, Chances, ParseModelError};

/// Which frames take no delay, and so overtake those that do.
///
/// The text form is that of netem: `P [CORRELATION] [gap N]`, such as `25% 50% gap 5`. Of the
/// frames from each *N*-th behind the last one that overtook on, each overtakes with the
/// probability. Frames keep no order then: one whose jitter is less may also overtake others, so
/// `0` lets jitter alone reorder them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// The probability of a frame that may overtake, and the correlation of successive ones.
    pub chance: Chance,
    /// The number of frames from one that overtakes to the first that may; at least 1.
    pub gap: u32,
}

impl fmt::Display for Reorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.chance)?;
        if self.gap == 1 { Ok(()) } else { write!(f, " gap {}", self.gap) }
    }
}

impl FromStr for Reorder {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<Self, ParseModelError> {
        let fail = |why: &str| {
            let fix = format!(
                "{why}write a probability and perhaps a correlation and a gap, such as \
                               25% or 25% 50% gap 5"
            );
            ParseModelError::new("reordering", text, fix)
        };
        let (chance, gap) = match text.split_once("gap") {
            Some((chance, gap)) => {
                let gap = gap.trim().parse::<u32>().ok().filter(|gap| *gap > 0);
                (chance, gap.ok_or_else(|| fail("a gap is a whole number from 1 on; "))?)
            }
            None => (text, 1),
        };
        let chance =
            chance.parse().map_err(|error: ParseModelError| fail(&format!("{error}; ")))?;
        Ok(Self { chance, gap })
    }
}

/// Reordering at work.
#[derive(Clone, Debug)]
pub(super) struct Overtaking {
    chances: Chances,
    stream: Stream,
    gap: u32,
    /// The number of frames since one that overtook.
    since: u32,
}

impl Overtaking {
    pub(super) fn new(reorder: Reorder, stream: Stream) -> Self {
        Self { chances: Chances::new(reorder.chance), stream, gap: reorder.gap, since: 0 }
    }

    /// Returns whether the frame of this number takes no delay.
    pub(super) fn next(&mut self, number: u64) -> bool {
        let may = self.since + 1 >= self.gap;
        let overtakes = may && self.chances.next(&self.stream, number);
        self.since = if overtakes { 0 } else { self.since.saturating_add(1) };
        overtakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windfall_base::Seed;

    fn overtaking(text: &str) -> Vec<bool> {
        let reorder = text.parse().expect("a reordering");
        let mut overtaking = Overtaking::new(reorder, Stream::new(Seed(2), "reorder"));
        (0..100_000).map(|number| overtaking.next(number)).collect()
    }

    #[test]
    fn the_gap_is_the_least_distance_of_two_that_overtake() {
        let certain = overtaking("1 gap 5");
        assert_eq!(
            certain[..11],
            [4, 9].into_iter().fold([false; 11], |mut all, at| {
                all[at] = true;
                all
            })
        );
        // One overtakes in 4 + 1/p frames.
        let share = overtaking("25% gap 5").into_iter().filter(|it| *it).count() as f64 / 1e5;
        assert!((share - 1.0 / 8.0).abs() < 0.003, "{share}");
        let share = overtaking("25%").into_iter().filter(|it| *it).count() as f64 / 1e5;
        assert!((share - 0.25).abs() < 0.006, "{share}");
    }

    #[test]
    fn its_text_reads_back_and_others_are_refused() {
        for text in ["0", "0.25", "0.25 0.5", "0.25 0.5 gap 5", "1 gap 2"] {
            assert_eq!(text.parse::<Reorder>().expect("a reordering").to_string(), text);
        }
        for text in ["", "2", "25% gap", "25% gap 0", "25% gap x", "gap 5"] {
            let error = text.parse::<Reorder>().expect_err(text).to_string();
            assert!(error.contains("such as"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~]{0,40}") {
            let _ = text.parse::<Reorder>();
        }
    }
}
