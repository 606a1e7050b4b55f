use windfall_base::{Seed, Stream};
use windfall_wire_net::checksum::checksum;

use super::*;

//= S2.15
#[test]
fn every_word_size_and_byte_order_gives_the_same_checksum() {
    let mut stream = Stream::new(Seed(1), "checksums");
    for len in 0..300 {
        let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
        let expected = in_network_order(&bytes);
        let mut copy = vec![0; len];
        assert_eq!(checksum(&bytes), expected);
        for sum in [of_16, of_32, of_64] {
            assert_eq!(sum(&bytes), expected, "{len} bytes");
        }
        for sum in [copy_of_16, copy_of_32, copy_of_64] {
            copy.fill(0);
            assert_eq!((sum(&mut copy, &bytes), &copy), (expected, &bytes), "{len} bytes");
        }
    }
}

/// The benchmark measures factors of six and four, in processor time of this thread; a machine that
/// is busy with other things slows both sides.
//= S2.15
#[test]
fn wide_words_take_less_processor_time_than_narrow_ones() {
    let bytes: Vec<u8> = (0..1_500_usize).map(|i| (i * 7 + 3) as u8).collect();
    let bytes = || core::hint::black_box(bytes.as_slice());
    let ratio = crate::compare(|| of_64(bytes()), || in_network_order(bytes()));
    assert!(ratio.median > 1.5, "{ratio:?}");
    let ratio = crate::compare(|| of_64(bytes()), || of_16(bytes()));
    assert!(ratio.median > 1.5, "{ratio:?}");
}

//= S2.48
#[test]
fn the_sums_of_the_papers_example_are_swapped_and_not_what_it_prints() {
    // It prints 0x575a and 0x5a57, which nothing adds up to.
    let bytes = [0x50, 0x51, 0x52, 0x53, 0x54, 0x55];
    let swapped = [0x51, 0x50, 0x53, 0x52, 0x55, 0x54];
    for sum in [in_network_order, of_16, of_32, of_64, checksum] {
        assert_eq!((!sum(&bytes), !sum(&swapped)), (0xf6f9, 0xf9f6));
    }
}
