use proptest::prelude::*;

use super::*;

fn any_v110() -> impl Strategy<Value = V110Frame> {
    prop::collection::vec(0..2_u8, V110_BARE_BITS)
        .prop_map(|bits| V110Frame::from_bare(&bits.try_into().expect("63 bits")))
}

/// A frame in which each bit tells its name: only the position matters.
fn marked() -> [u8; V110_BARE_BITS] {
    core::array::from_fn(|i| i as u8)
}

//= S1.23
#[test]
fn every_bit_stands_where_the_table_says() {
    let bare = marked();
    let place = |bits: [u8; V110_BARE_BITS]| V110Frame::from_bare(&bits);
    let only = |at: usize| place(core::array::from_fn(|i| u8::from(bare[i] == at as u8)));
    let one = |frame: V110Frame| frame.data.iter().position(|bit| *bit == 1);
    assert_eq!(one(only(0)), Some(0));
    assert_eq!(one(only(7)), Some(6));
    assert_eq!(one(only(35)), Some(24));
    assert_eq!(one(only(61)), Some(47));
    assert_eq!(only(6).s, [1, 0, 0, 0, 0, 0]);
    assert_eq!(only(13).x, [1, 0]);
    assert_eq!(only(20).s, [0, 1, 0, 0, 0, 0]);
    assert_eq!(only(28).e, [1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(only(48).x, [0, 1]);
    assert_eq!(only(62).s, [0, 0, 0, 0, 0, 1]);
    let bits = V110Frame { data: [0; 48], e: [0, 1, 1, 0, 0, 0, 0], s: [0; 6], x: [0; 2] }.encode();
    let ones: Vec<usize> = (0..V110_BITS).filter(|&i| bits[i] == 1).collect();
    assert_eq!(ones, [8, 16, 24, 32, 40, 42, 43, 48, 56, 64, 72]);
}

//= S1.23
#[test]
fn the_radio_leaves_out_synchronisation_and_the_rate() {
    let frame = V110Frame { e: [0, 1, 1, 0, 1, 0, 1], ..V110Frame::default() };
    let radio = frame.to_radio();
    assert_eq!(radio[28..32], [0, 1, 0, 1]);
    assert_eq!(V110Frame::from_radio(&radio, [0, 1, 1]), frame);
}

#[test]
fn a_stream_that_begins_inside_a_frame_is_synchronised() {
    let frames: Vec<u8> = (0..4).flat_map(|_| V110Frame::default().encode()).collect();
    for cut in 0..V110_BITS {
        let found = find_v110(&frames[cut..], 2);
        assert_eq!(found, Some((V110_BITS - cut) % V110_BITS), "{cut}");
    }
    assert_eq!(find_v110(&frames[..100], 2), None);
}

proptest! {
    #[test]
    fn frames_survive(frame in any_v110()) {
        prop_assert_eq!(V110Frame::parse(&frame.encode()), Some(frame));
        let rate = [frame.e[0], frame.e[1], frame.e[2]];
        prop_assert_eq!(V110Frame::from_radio(&frame.to_radio(), rate), frame);
    }

    #[test]
    fn any_bits_are_searched_without_panic(
        bits in prop::collection::vec(any::<u8>(), 0..300),
        frames in 0..4_usize,
    ) {
        if let Some(at) = find_v110(&bits, frames) {
            prop_assert!(at + V110_BITS <= bits.len());
        }
    }
}
