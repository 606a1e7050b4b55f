use proptest::prelude::*;

use super::*;

#[test]
fn the_random_bits_are_even() {
    let pattern = Pattern::new(Seed(5));
    let ones: u32 = pattern.random[..PERIOD].iter().map(|byte| byte.count_ones()).sum();
    // 32 768 fair bits: a standard deviation of √32768 / 2 ≈ 90.5.
    assert!((f64::from(ones) - 16_384.0).abs() < 4.0 * 90.5, "{ones}");
}

#[test]
fn a_datagram_follows_from_seed_and_number_alone() {
    let one = Pattern::new(Seed(1));
    let two = Pattern::new(Seed(2));
    assert_eq!(one.datagram(7, 100), Pattern::new(Seed(1)).datagram(7, 100));
    assert_ne!(one.datagram(7, 100), one.datagram(8, 100));
    assert_ne!(one.datagram(7, 100), two.datagram(7, 100));
    assert_eq!(one.datagram(0x2_0000_0007, 8)[..], [0, 0, 0, 7, 255, 255, 255, 248]);
    assert_eq!(one.datagram(0x1_0203, 2)[..], [2, 3]);
}

#[test]
fn a_burst_over_the_beginning_hides_no_number() {
    let pattern = Pattern::new(Seed(1));
    let mut data = pattern.datagram(70, 1000).to_vec();
    data[..200].fill(0);
    assert_eq!(pattern.number_of(60, &data), Some(70));
}

#[test]
fn a_stranger_has_no_number() {
    let ours = Pattern::new(Seed(1));
    let theirs = Pattern::new(Seed(2));
    assert_eq!(ours.number_of(7, &theirs.datagram(7, 500)), None);
}

proptest! {
    #[test]
    fn every_flipped_bit_is_counted(
        number: u64,
        len in 1_usize..9000,
        flips in prop::collection::btree_set(any::<u32>(), 0..40),
    ) {
        let pattern = Pattern::new(Seed(3));
        let mut data = pattern.datagram(number, len).to_vec();
        prop_assert_eq!(data.len(), len);
        prop_assert_eq!(pattern.check(number, &data), Wrong::default());
        let flips: std::collections::BTreeSet<_> =
            flips.into_iter().map(|flip| flip as usize % (len * 8)).collect();
        for flip in &flips {
            data[flip / 8] ^= 0x80 >> (flip % 8);
        }
        let bytes: std::collections::BTreeSet<_> = flips.iter().map(|flip| flip / 8).collect();
        let expected = Wrong { bits: flips.len() as u64, bytes: bytes.len() as u64 };
        prop_assert_eq!(pattern.check(number, &data), expected);
    }

    #[test]
    fn the_number_is_found_however_its_bytes_are_damaged(
        number in 0_u64..1 << 40, len in 64_usize..2000, mask: u64, behind in 0_u64..60,
    ) {
        let pattern = Pattern::new(Seed(3));
        let mut data = pattern.datagram(number, len).to_vec();
        for (byte, damage) in data.iter_mut().zip(mask.to_be_bytes()) {
            *byte ^= damage;
        }
        let expected = number.saturating_sub(behind);
        prop_assert_eq!(pattern.number_of(expected, &data), Some(number));
        prop_assert_eq!(pattern.check(number, &data).bits, u64::from(mask.count_ones()));
    }

    #[test]
    fn short_datagrams_are_numbered_too(
        number in 0_u64..1 << 40, len in 1_usize..8, off in -9_i64..9,
    ) {
        let pattern = Pattern::new(Seed(3));
        let expected = number.saturating_add_signed(off);
        let data = pattern.datagram(number, len);
        prop_assert_eq!(pattern.number_of(expected, &data), Some(number));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        data in prop::collection::vec(any::<u8>(), 0..300), number: u64, expected: u64,
    ) {
        let pattern = Pattern::new(Seed(3));
        let _ = (pattern.check(number, &data), pattern.number_of(expected, &data));
    }
}
