//! The contents of messages: the time at which they were due, and bits that follow from a number.

use core::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};
use windfall_base::{Instant, Seed};

use crate::pattern::{Pattern, Wrong};

/// Bytes of the time of a message and of its complement; shorter messages have none.
const STAMP: usize = 16;

/// The contents of all messages of one seed.
#[derive(Clone, Debug)]
pub(super) struct Contents(Pattern);

/// The differences between a message as sent and as received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// The time at which it was due; `None` if it states none, or a damaged one.
    pub(super) due: Option<Instant>,
    /// The bytes that arrived and are wrong.
    pub(super) wrong: Wrong,
    /// Bytes that did not arrive.
    pub(super) missing: u64,
}

impl Contents {
    /// The contents for a seed, the same for every sender and receiver of a run.
    pub(super) fn new(seed: Seed) -> Self {
        Self(Pattern::new(seed))
    }

    /// Returns message `number` of `len` bytes, due at `due`.
    pub(super) fn message(&self, number: u64, len: usize, due: Instant) -> Bytes {
        let mut bytes = BytesMut::with_capacity(len);
        let rest = len.checked_sub(STAMP);
        if rest.is_some() {
            bytes.put_u64(due.as_nanos());
            bytes.put_u64(!due.as_nanos());
        }
        self.0.append(number, rest.unwrap_or(len), &mut bytes);
        bytes.freeze()
    }

    /// Compares the bytes that arrived as message `number` with the sent ones; the ranges `missing`
    /// of it did not arrive.
    pub(super) fn check(&self, number: u64, data: &[u8], missing: &[Range<usize>]) -> Checked {
        let due = stamp(data).filter(|_| missing.first().is_none_or(|it| it.start >= STAMP));
        // Of a damaged stamp neither half is believed: what differs counts once.
        let stated = due.unwrap_or_else(|| first_half(data));
        let sent = self.message(number, data.len(), stated);
        let mut checked = Checked { due, ..Checked::default() };
        // The part after the last hole ends with the message.
        let mut from = 0;
        let end = data.len()..data.len();
        for hole in missing.iter().cloned().chain(core::iter::once(end)) {
            let arrived = from..hole.start.max(from).min(data.len());
            for (here, there) in data[arrived.clone()].iter().zip(&sent[arrived]) {
                checked.wrong.bits += u64::from((here ^ there).count_ones());
                checked.wrong.bytes += u64::from(here != there);
            }
            checked.missing += hole.len() as u64;
            from = hole.end.clamp(from, data.len());
        }
        checked
    }
}

/// The time that the first half of a stamp states.
fn first_half(data: &[u8]) -> Instant {
    let half = data.get(..STAMP / 2).unwrap_or_default();
    Instant::from_nanos(half.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

/// The time that a message states, if both halves of its stamp agree.
fn stamp(data: &[u8]) -> Option<Instant> {
    let stamp = data.get(..STAMP)?;
    let at = first_half(stamp);
    let complement = first_half(&stamp[STAMP / 2..]);
    (at.as_nanos() == !complement.as_nanos()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed(3);

    #[test]
    fn an_intact_message_states_its_time() {
        let contents = Contents::new(SEED);
        let due = Instant::from_nanos(123_456_789);
        for len in [16, 17, 100, 65_000] {
            let message = contents.message(7, len, due);
            assert_eq!(message.len(), len);
            let expected = Checked { due: Some(due), ..Checked::default() };
            assert_eq!(contents.check(7, &message, &[]), expected);
            assert!(len < 40 || contents.check(8, &message, &[]).wrong.bits > 0);
        }
        for len in [0, 1, 15] {
            let message = contents.message(7, len, due);
            assert_eq!(contents.check(7, &message, &[]), Checked::default(), "{len}");
        }
    }

    #[test]
    fn every_inverted_bit_is_counted_once_and_holes_apart() {
        let contents = Contents::new(SEED);
        let due = Instant::from_nanos(5_000);
        let sent = contents.message(7, 200, due);
        for (byte, states_time) in [(0, false), (9, false), (16, true), (199, true)] {
            let mut data = sent.to_vec();
            data[byte] ^= 0x81;
            let Checked { due, wrong, missing } = contents.check(7, &data, &[]);
            assert_eq!((due.is_some(), missing), (states_time, 0), "{byte}");
            assert_eq!(wrong, Wrong { bits: 2, bytes: 1 }, "{byte}");
        }
        let mut data = sent.to_vec();
        data[50..80].fill(0);
        data[120..200].fill(0);
        data[90] ^= 1;
        let checked = contents.check(7, &data, &[50..80, 120..200]);
        let wrong = Wrong { bits: 1, bytes: 1 };
        assert_eq!(checked, Checked { due: Some(due), wrong, missing: 110 });
        data[..20].fill(0);
        let checked = contents.check(7, &data, &[0..20, 50..80, 120..200]);
        assert_eq!(checked, Checked { due: None, wrong, missing: 130 });
    }
}
