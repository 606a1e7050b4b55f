use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The coded bits of a block as a decoder gets them where nothing disturbs.
fn clean(block: &[u8; BLOCK_BITS]) -> [i8; CODED_BITS] {
    encode_block(block).map(|bit| if bit == 1 { 127 } else { -127 })
}

#[test]
fn one_bit_meets_the_generators_and_the_punctured_places() {
    let mut block = [0; BLOCK_BITS];
    block[3] = 1;
    let coded = encode_block(&block);
    // G0 = 1 + D³ + D⁴ and G1 = 1 + D + D³ + D⁴ from bit 6 on; bit 11 is not sent.
    let ones: Vec<usize> = (0..CODED_BITS).filter(|&i| coded[i] == 1).collect();
    assert_eq!(ones, [6, 7, 9, 11, 12, 13, 14]);
    assert_eq!((0..UNPUNCTURED).filter(|&i| is_punctured(i)).count(), UNPUNCTURED - CODED_BITS);
    assert!(is_punctured(11) && is_punctured(476) && !is_punctured(0));
    assert_eq!(runs().sum::<usize>(), CODED_BITS);
}

#[test]
fn the_blocks_of_a_stream_fill_each_burst_exactly() {
    // Burst 21 has the last bit of block 0 and bits of every later block that began before it.
    let burst = 100;
    let mut filled = BTreeSet::new();
    for block in 0..40 {
        for bit in 0..CODED_BITS {
            let (offset, position) = place(bit);
            assert!(offset < BLOCK_BURSTS && position < BURST_BITS);
            if BURSTS_PER_BLOCK * block + offset == burst {
                assert!(filled.insert(position), "bit {position} twice");
            }
        }
    }
    assert_eq!(filled.len(), BURST_BITS);
}

#[test]
fn a_lost_burst_costs_a_block_nothing() {
    let block = core::array::from_fn(|i| (i * i / 7 % 2) as u8);
    let mut decoder = BlockDecoder::default();
    for lost in 0..BLOCK_BURSTS {
        let mut soft = clean(&block);
        (0..CODED_BITS).filter(|&bit| place(bit).0 == lost).for_each(|bit| soft[bit] = 0);
        assert_eq!(decoder.decode(&soft), block, "burst {lost}");
    }
}

proptest! {
    #[test]
    fn blocks_survive_two_errors(
        bits in prop::collection::vec(0..2_u8, BLOCK_BITS),
        errors in prop::collection::btree_set(0..CODED_BITS, 0..=2),
    ) {
        let block: [u8; BLOCK_BITS] = bits.try_into().expect("240 bits");
        let mut soft = clean(&block);
        errors.into_iter().for_each(|bit| soft[bit] = -soft[bit]);
        let mut decoder = BlockDecoder::default();
        prop_assert_eq!(decoder.decode(&soft), block);
    }

    #[test]
    fn any_soft_bits_decode(soft in prop::collection::vec(any::<i8>(), CODED_BITS)) {
        let soft = soft.try_into().expect("as many");
        let mut decoder = BlockDecoder::default();
        prop_assert!(decoder.decode(&soft).iter().all(|bit| *bit < 2));
    }
}
