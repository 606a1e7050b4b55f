use super::*;

fn frame() -> Frame {
    let payload = Payload::new(Bytes::from_static(&[1, 2, 3]), Bytes::from_static(&[4, 5, 6, 7]));
    let header = [0xAA, 0xBB].into_iter().collect();
    let trailer = [0xCC].into_iter().collect();
    Frame { payload, ..Frame::control(header, trailer) }
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
    let header = [1; 33].into_iter().collect();
    let trailer = [2; 4].into_iter().collect();
    let payload = Payload::new(part(41), part(100));
    let whole = Frame { payload, ..Frame::control(header, trailer) };
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

#[test]
fn only_fields_that_are_set_take_memory_and_those_at_their_defaults_are_equal() {
    let mut frame = Frame::packet(vec![1, 2, 3]);
    assert_eq!((frame.len(), frame.header.len(), frame.class), (3, 0, Class::default()));
    frame.set_class(Class::NONE);
    assert!(frame.parts.is_none(), "the defaults need no place");
    let bare = frame.clone();
    frame.header.clear();
    assert!(frame.parts.is_some());
    assert_eq!(frame, bare);
    frame.class.flow = FlowId(1);
    assert_ne!(frame, bare);
}

#[test]
fn advancing_removes_the_beginning_whoever_else_holds_it() {
    let all: Vec<u8> = (0..20).collect();
    for cut in [0, 7, 20] {
        let payload = Payload::new(all[..cut].to_vec().into(), all[cut..].to_vec().into());
        for len in 0..=22 {
            let mut shared = payload.clone();
            shared.advance(len);
            assert_eq!(shared.to_bytes(), all[len.min(20)..], "{len} of {cut}");
            let mut own = Payload::new(all[..cut].to_vec().into(), all[cut..].to_vec().into());
            own.advance(len);
            assert_eq!(own, shared);
        }
        assert_eq!(payload.to_bytes(), all);
    }
}
