use super::*;

fn frame() -> Frame {
    let payload = Payload::new(Bytes::from_static(&[1, 2, 3]), Bytes::from_static(&[4, 5, 6, 7]));
    Frame {
        header: [0xAA, 0xBB].into_iter().collect(),
        payload,
        trailer: [0xCC].into_iter().collect(),
        ..Frame::default()
    }
}

#[test]
fn inverting_one_bit_changes_that_bit_alone() {
    let before = frame().to_vec();
    for bit in 0..before.len() * 8 {
        let mut damaged = frame();
        damaged.invert(&[bit as u32]);
        let mut expected = before.clone();
        expected[bit / 8] ^= 0x80 >> (bit % 8);
        assert_eq!(damaged.to_vec(), expected, "bit {bit}");
    }
}

#[test]
fn many_bits_are_inverted_in_any_order_across_all_seams() {
    let part = |len: usize| Bytes::from(vec![0x5a; len]);
    let whole = Frame {
        header: [1; 33].into_iter().collect(),
        payload: Payload::new(part(41), part(100)),
        trailer: [2; 4].into_iter().collect(),
        ..Frame::default()
    };
    let bits = whole.len() as u32 * 8;
    let scattered: Vec<u32> = (0..bits).map(|i| i * 677 % bits).filter(|i| i % 3 > 0).collect();
    let ascending: Vec<u32> = (0..bits + 99).filter(|i| i % 5 < 3).collect();
    for places in [scattered, ascending] {
        let mut expected = whole.to_vec();
        for place in places.iter().filter(|place| **place < bits) {
            expected[*place as usize / 8] ^= 0x80 >> (place % 8);
        }
        let mut damaged = whole.clone();
        damaged.invert(&places);
        assert_eq!(damaged.to_vec(), expected);
    }
}

#[test]
fn inverting_beyond_the_end_changes_nothing() {
    let mut same = frame();
    same.invert(&[80, 81, u32::MAX]);
    assert_eq!(same, frame());
}

#[test]
fn damage_does_not_reach_other_holders_of_the_bytes() {
    let original = frame();
    let mut copy = original.clone();
    copy.invert(&[16, 40]);
    assert_eq!(original, frame());
    assert_ne!(copy, original);
}

#[test]
fn truncation_cuts_at_every_length() {
    let before = frame().to_vec();
    for len in 0..=before.len() + 2 {
        let mut cut = frame();
        cut.truncate(len);
        assert_eq!(cut.to_vec(), before[..len.min(before.len())], "length {len}");
    }
}

#[test]
fn slices_cross_the_seam() {
    let payload = frame().payload;
    for start in 0..=payload.len() {
        for end in start..=payload.len() {
            assert_eq!(payload.slice(start..end), payload.to_bytes()[start..end]);
        }
        assert_eq!(payload.prefix(start), payload.to_bytes()[..start]);
    }
    assert_eq!(payload.prefix(99).len(), payload.len());
}
