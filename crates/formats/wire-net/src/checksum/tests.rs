use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Returns the definition, word by word.
fn by_definition(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])));
    let sum = words.fold(0_u32, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}

#[test]
fn the_example_of_rfc_1071() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(&bytes), !0xddf2);
}

//= S2.15
//= S2.48
#[test]
fn bytes_swapped_in_each_word_give_the_sum_swapped() {
    // The sums that paper 002 prints for its example are wrong; the property holds.
    assert_eq!(checksum(&[0x50, 0x51, 0x52, 0x53, 0x54, 0x55]), !0xf6f9);
    assert_eq!(checksum(&[0x51, 0x50, 0x53, 0x52, 0x55, 0x54]), !0xf9f6);
}

/// Two inverted bits are taken for none if they stand in the same column of the words and one is
/// set and the other not: one pair in 16, and of these one in two.
#[test]
fn one_pair_of_inverted_bits_in_32_is_not_found() {
    const BITS: usize = 800;
    let mut pairs = 0_u32;
    let mut missed = 0_u32;
    for seed in 0..10_u32 {
        let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 11) as u8
        };
        let mut bytes: Vec<u8> = (0..BITS / 8).map(|_| next()).collect();
        let sum = checksum(&bytes);
        let is_set = |bytes: &[u8], bit: usize| bytes[bit / 8] & 0x80 >> (bit % 8) != 0;
        let invert = |bytes: &mut [u8], bit: usize| bytes[bit / 8] ^= 0x80 >> (bit % 8);
        for first in 0..BITS {
            for second in first + 1..BITS {
                let differ = is_set(&bytes, first) != is_set(&bytes, second);
                invert(&mut bytes, first);
                invert(&mut bytes, second);
                let is_missed = checksum(&bytes) == sum;
                invert(&mut bytes, first);
                invert(&mut bytes, second);
                assert_eq!(is_missed, differ && first % 16 == second % 16, "{first}, {second}");
                pairs += 1;
                missed += u32::from(is_missed);
            }
        }
    }
    let share = f64::from(missed) / f64::from(pairs);
    assert!((share * 32.0 - 1.0).abs() < 0.05, "{missed} of {pairs}");
}

#[test]
fn a_sum_longer_than_a_round_of_the_lanes_does_not_overflow() {
    let bytes = vec![0xff; BLOCK * (ROUNDS + 3) + 5];
    assert_eq!(checksum(&bytes), by_definition(&bytes));
    let mut copy = vec![0; bytes.len()];
    let mut sum = Sum::new();
    sum.copy(&mut copy, &bytes);
    assert_eq!((sum.checksum(), copy), (by_definition(&bytes), bytes));
}

#[test]
fn the_correction_of_rfc_1624_holds_where_rfc_1141_failed() {
    assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

/// Returns the sum over words of `N` bytes as one end of memory or the other reads them, folded to
/// 16 bits.
fn by_words<const N: usize>(bytes: &[u8], little: bool) -> u16 {
    let sum = bytes.chunks(N).fold(0_u128, |sum, chunk| {
        let word = chunk.iter().chain(core::iter::repeat(&0)).take(N);
        let value = |word: u128, byte: &u8| word << 8 | u128::from(*byte);
        let word = if little {
            word.collect::<Vec<_>>().into_iter().rev().fold(0, value)
        } else {
            word.fold(0, value)
        };
        let (sum, carry) = sum.overflowing_add(word);
        sum + u128::from(carry)
    });
    let fold = |sum: u128, _| (sum & 0xffff) + (sum >> 16);
    let folded = (0..12).fold(sum, fold) as u16;
    if little { !folded.swap_bytes() } else { !folded }
}

proptest! {
    //= S2.15
    #[test]
    fn words_of_any_size_and_byte_order_give_the_same_sum(bytes in vec(any::<u8>(), 0..400)) {
        for little in [false, true] {
            let found = [
                by_words::<2>(&bytes, little),
                by_words::<4>(&bytes, little),
                by_words::<8>(&bytes, little),
                by_words::<16>(&bytes, little),
            ];
            prop_assert_eq!(found, [checksum(&bytes); 4]);
        }
    }

    #[test]
    fn equals_the_definition(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(checksum(&bytes), by_definition(&bytes));
    }

    #[test]
    fn seams_at_any_byte_change_nothing(bytes in vec(any::<u8>(), 0..400), a: usize, b: usize) {
        let a = a % (bytes.len() + 1);
        let b = b % (bytes.len() + 1);
        let (a, b) = (a.min(b), a.max(b));
        prop_assert_eq!(checksum_of([&bytes[..a], &bytes[a..]]), by_definition(&bytes));
        let mut sum = Sum::new();
        sum.add(&bytes[..a]);
        let mut copied = vec![0; b - a];
        sum.copy(&mut copied, &bytes[a..b]);
        sum.add(&bytes[b..]);
        prop_assert_eq!(sum.checksum(), by_definition(&bytes));
        prop_assert_eq!(copied, &bytes[a..b]);
    }

    #[test]
    fn a_written_checksum_holds_and_a_flipped_bit_breaks_it(
        mut bytes in vec(any::<u8>(), 2..200),
        bit: usize,
    ) {
        let at = (bytes.len() / 2 - 1) & !1;
        bytes[at..at + 2].fill(0);
        let check = checksum(&bytes);
        bytes[at..at + 2].copy_from_slice(&check.to_be_bytes());
        let mut sum = Sum::new();
        sum.add(&bytes);
        prop_assert!(sum.holds() && checksum(&bytes) == 0);
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 0x80 >> (bit % 8);
        prop_assert_ne!(checksum(&bytes), 0);
    }

    #[test]
    fn an_update_equals_a_new_sum(mut bytes in vec(any::<u8>(), 4..64), word: usize, new: u16) {
        let at = word % (bytes.len() / 2) * 2;
        let check = checksum(&bytes);
        let old = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
        // One's complement has two zeros; a sum over anything but zeros never gives the negative
        // one.
        prop_assume!(bytes.iter().any(|&byte| byte != 0));
        prop_assert_eq!(update(check, old, new), checksum(&bytes));
    }
}
