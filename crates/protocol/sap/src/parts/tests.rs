use proptest::prelude::*;

use super::*;
use crate::message::MessageKind;

fn part(data: &[u8], exact: &[Range<usize>], integrity: Integrity) -> Received {
    Received {
        stream: 1,
        kind: MessageKind::Approximate,
        number: 2,
        data: data.to_vec().into(),
        exact: exact.to_vec(),
        integrity,
        missing: Vec::new(),
    }
}

#[test]
fn the_parts_of_a_message_tell_what_is_known_of_it() {
    let mut assembly = Assembly::new(40, Instant::START);
    let suspect = Integrity::Suspect(vec![4..8, 8..9]);
    for (offset, received) in [
        (30, part(&[3; 10], &[], Integrity::Unknown)),
        (0, part(&[1; 10], &[0..4, 4..10], Integrity::Intact)),
        (10, part(&[2; 10], &[0..3, 9..10], suspect)),
    ] {
        assert!(assembly.add(Instant::START, offset, &received, |len| len + 1));
    }
    assert!(!assembly.is_complete() && assembly.bytes == 33);
    assert!(assembly.overlaps(19, 5) && !assembly.overlaps(20, 10));
    let message = assembly.finish().expect("something arrived");
    let hole = 20..30;
    assert_eq!(message.data, [&[1; 10][..], &[2; 10], &[0; 10], &[3; 10]].concat());
    assert_eq!((&message.exact[..], &message.missing[..]), (&[0..13, 19..20][..], &[hole][..]));
    assert_eq!(message.integrity, Integrity::Suspect(vec![14..19, 30..40]));
}

#[test]
fn a_part_belongs_to_one_message_and_lies_within_it() {
    let assembly = Assembly::new(100, Instant::START);
    let admits = |offset, total, len| assembly.admits(Part { offset, total }, len);
    assert!(admits(0, 100, 100) && admits(99, 100, 1));
    assert!(!admits(99, 100, 2) && !admits(0, 101, 5) && !admits(100, 100, 0));
}

proptest! {
    #[test]
    fn overlapping_parts_of_a_precise_message_make_it_up(
        cuts in prop::collection::vec((0_usize..300, 1_usize..200), 1..40),
    ) {
        let whole: Vec<u8> = (0..300_u32).map(|byte| byte as u8).collect();
        let mut assembly = Assembly::new(300, Instant::START);
        for (at, len) in cuts.into_iter().chain([(0, 150), (150, 150)]) {
            let end = 300.min(at + len);
            let all = 0..end - at;
            let received = part(&whole[at..end], &[all], Integrity::Intact);
            assembly.add(Instant::START, at, &received, |len| len);
        }
        prop_assert!(assembly.is_complete());
        prop_assert_eq!(assembly.bytes, 300);
        let message = assembly.finish().expect("it is complete");
        prop_assert_eq!(&message.data[..], &whole[..]);
        let all = 0..300;
        prop_assert_eq!(&message.exact[..], &[all]);
    }
}
