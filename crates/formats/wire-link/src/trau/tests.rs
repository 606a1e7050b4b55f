use proptest::prelude::*;

use super::*;

fn any_trau() -> impl Strategy<Value = TrauFrame> {
    let bits = prop::collection::vec(0..2_u8, TRAU_CONTROL_BITS + TRAU_DATA_BITS);
    bits.prop_map(|bits| {
        let (control, data) = bits.split_at(TRAU_CONTROL_BITS);
        let all = "as many bits";
        TrauFrame { control: control.try_into().expect(all), data: data.try_into().expect(all) }
    })
}

//= S1.23
#[test]
fn every_octet_is_that_of_the_table() {
    let mut frame = TrauFrame::new(DATA_UP, [0; TRAU_DATA_BITS]);
    let bytes = frame.encode();
    assert_eq!(bytes[..4], [0, 0, 0b1010_0011, 0xff]);
    assert_eq!(bytes[4..], [0x80; 36]);
    // The quadrants begin at the octets 4, 13, 22 and 31.
    for (quadrant, octet) in [4, 13, 22, 31].into_iter().enumerate() {
        frame.data = [0; TRAU_DATA_BITS];
        frame.data[63 * quadrant] = 1;
        assert_eq!(frame.encode()[octet], 0xc0);
        frame.data = [0; TRAU_DATA_BITS];
        frame.data[63 * quadrant + 62] = 1;
        assert_eq!(frame.encode()[octet + 8], 0x81);
    }
    assert_eq!(frame.kind(), DATA_UP);
}

//= S1.23
#[test]
fn a_bit_of_the_synchronisation_that_differs_is_named() {
    let whole = TrauFrame::new(IDLE_DOWN, [0; TRAU_DATA_BITS]).encode();
    for at in (0..17).chain((32..TRAU_BITS).step_by(8)) {
        let mut bytes = whole;
        bytes[at / 8] ^= 0x80 >> (at % 8);
        assert_eq!(TrauFrame::parse(&bytes), Err(TrauSyncError(at)));
    }
}

proptest! {
    #[test]
    fn frames_survive(frame in any_trau()) {
        prop_assert_eq!(TrauFrame::parse(&frame.encode()), Ok(frame));
    }

    //= S1.24
    #[test]
    fn blocks_survive(block in any::<[u8; RLP_FRAME_LEN]>()) {
        let frame = TrauFrame::of_block(DATA_DOWN, &block);
        prop_assert_eq!(frame.kind(), DATA_DOWN);
        let frame = TrauFrame::parse(&frame.encode()).expect("it was written here");
        prop_assert_eq!(frame.block(), block);
    }

    //= S1.23
    #[test]
    fn no_frames_look_like_one_at_another_place(
        frames in prop::collection::vec(any_trau(), 2..4),
        shift in 0..TRAU_BITS,
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(TrauFrame::encode).collect();
        // The line is cut at any bit; what is left of the first frame is no frame.
        let bit = |i: usize| bytes[i / 8] >> (7 - i % 8) & 1;
        let bits: Vec<u8> = (shift..8 * bytes.len()).map(bit).collect();
        let line: Vec<u8> = bits
            .chunks(8)
            .map(|octet| octet.iter().enumerate().fold(0, |sum, (i, bit)| sum | bit << (7 - i)))
            .collect();
        let expected = (TRAU_BITS - shift) % TRAU_BITS;
        prop_assert_eq!(find_trau(&line, 0), Some(expected));
        let octets = octets_at(&line, expected).expect("a whole frame");
        let which = usize::from(shift > 0);
        prop_assert_eq!(TrauFrame::parse(&octets), Ok(frames[which].clone()));
    }

    #[test]
    fn any_line_is_searched_without_panic(
        line in prop::collection::vec(any::<u8>(), 0..120),
        from in 0..1_000_usize,
    ) {
        if let Some(at) = find_trau(&line, from) {
            prop_assert!(at >= from && at + TRAU_BITS <= 8 * line.len());
        }
    }
}
