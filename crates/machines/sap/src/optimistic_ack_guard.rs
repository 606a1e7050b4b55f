//! Skipped packet numbers, a defence against optimistic acknowledgements (RFC 9000, section 21.4).
//!
//! A receiver that acknowledges packets it has not received would disable congestion control
//! (Savage and others 1999). Such a receiver cannot distinguish lost numbers from skipped ones, so
//! it will acknowledge a number that was never sent.

use std::collections::VecDeque;

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// The longest run of numbers without a gap.
const LONGEST: u64 = 1024;
/// The longest run at the beginning, when the window is small.
const FIRST: u64 = 128;
/// The number of remembered skipped packet numbers.
const REMEMBERED: usize = 32;

/// The numbers to skip, unpredictable without the key.
#[derive(Clone, Debug)]
pub(crate) struct Skips {
    key: [u8; 16],
    drawn: u64,
    /// The next number to skip.
    next: u64,
    skipped: VecDeque<u64>,
}

impl Skips {
    pub(crate) fn new(key: [u8; 16]) -> Self {
        let mut skips = Self { key, drawn: 0, next: 0, skipped: VecDeque::new() };
        skips.next = 1 + skips.draw(FIRST);
        skips
    }

    /// Returns the next number of a draw below `limit`.
    fn draw(&mut self, limit: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write_u64(self.drawn);
        self.drawn += 1;
        hasher.finish() % limit
    }

    /// Returns whether `number`, the next one, is skipped, and remembers that.
    pub(crate) fn skip(&mut self, number: u64) -> bool {
        if number < self.next {
            return false;
        }
        if self.skipped.len() == REMEMBERED {
            self.skipped.pop_front();
        }
        self.skipped.push_back(number);
        self.next = number + 2 + self.draw(LONGEST);
        true
    }

    /// Returns whether a number from `first` to `last` was skipped.
    pub(crate) fn touches(&self, first: u64, last: u64) -> bool {
        self.skipped.iter().rev().any(|number| (first..=last).contains(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_differ_from_key_to_key_and_come_often_enough() {
        let skipped = |key: u8| {
            let mut skips = Skips::new([key; 16]);
            let skipped: Vec<u64> = (0..20_000).filter(|number| skips.skip(*number)).collect();
            assert!(skipped[0] <= FIRST && skips.touches(19_000, 20_000));
            assert!(
                skipped.windows(2).all(|pair| (2..=LONGEST + 1).contains(&(pair[1] - pair[0])))
            );
            skipped
        };
        let [one, two] = [1, 2].map(skipped);
        assert!(one.len() > 20 && one != two);
    }

    #[test]
    fn a_skipped_number_and_the_last_ones_are_remembered() {
        let mut skips = Skips::new([9; 16]);
        let skipped: Vec<u64> = (0..60_000).filter(|number| skips.skip(*number)).collect();
        assert!(skipped.len() > REMEMBERED && skips.skipped.len() == REMEMBERED);
        let (forgotten, known) = skipped.split_at(skipped.len() - REMEMBERED);
        for number in known {
            assert!(skips.touches(*number, *number));
            assert!(
                !skips.touches(number - 1, number - 1) && !skips.touches(number + 1, number + 1)
            );
            assert!(skips.touches(number - 1, number + 1));
        }
        assert!(forgotten.iter().all(|number| !skips.touches(*number, *number)));
    }
}
