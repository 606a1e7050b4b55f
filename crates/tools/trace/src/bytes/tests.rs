use proptest::prelude::*;
use windfall_base::{Seed, Stream};

use super::*;

fn random(length: usize) -> Vec<u8> {
    let mut stream = Stream::new(Seed(7), "bytes");
    (0..length).map(|_| stream.below(256) as u8).collect()
}

//= S1.33
#[test]
fn bit_errors_are_counted_one_by_one() {
    let sent = random(20_000);
    let mut received = sent.clone();
    let mut stream = Stream::new(Seed(1), "errors");
    let mut errors = 0;
    for byte in &mut received {
        if stream.unit() < 0.01 {
            *byte ^= 1 << stream.below(8);
            errors += 1;
        }
    }
    let found = ByteComparison::of(&sent, &received);
    assert_eq!((found.damaged, found.bit_errors), (errors, errors), "{found:?}");
    assert_eq!((found.intact, found.missing, found.inserted), (20_000 - errors, 0, 0));
    assert_eq!(found.bit_error_rate(), errors as f64 / 160_000.0);
}

#[test]
fn bytes_that_are_missing_or_inserted_shift_nothing_behind_them() {
    let sent = random(20_000);
    let mut received = sent[..5_000].to_vec();
    // One byte, a few, and more than a place of damage has; a byte of the line's own.
    received.extend(&sent[5_001..9_000]);
    received.extend(&sent[9_007..12_000]);
    received.push(!sent[12_000]);
    received.extend(&sent[12_000..13_000]);
    received.extend(&sent[13_900..]);
    let found = ByteComparison::of(&sent, &received);
    assert_eq!((found.missing, found.gaps, found.inserted), (908, 3, 1), "{found:?}");
    assert_eq!((found.intact, found.damaged), (20_000 - 908, 0));
    assert_eq!(found.longest_intact, 6_100);
}

#[test]
fn sides_that_have_nothing_in_common_are_missing_and_inserted() {
    let found = ByteComparison::of(&[1; 300], &[2; 500]);
    assert_eq!((found.intact, found.missing + found.damaged, found.received), (0, 300, 500));
    assert_eq!(ByteComparison::of(&[], &[]), ByteComparison::default());
    assert_eq!(ByteComparison::of(&[1, 2], &[]).missing, 2);
    assert_eq!(ByteComparison::of(&[], &[1, 2]).inserted, 2);
    assert!(ByteComparison::of(&[], &[]).to_text().starts_with("0 bytes sent, 0 received\n"));
}

proptest! {
    #[test]
    fn every_byte_of_either_side_is_counted_once(
        sent in proptest::collection::vec(0_u8..4, 0..300),
        received in proptest::collection::vec(0_u8..4, 0..300),
    ) {
        let found = ByteComparison::of(&sent, &received);
        prop_assert_eq!(found.intact + found.damaged + found.missing, sent.len());
        prop_assert_eq!(found.intact + found.damaged + found.inserted, received.len());
        prop_assert!(found.bit_errors >= found.damaged && found.longest_intact <= found.intact);
    }
}
