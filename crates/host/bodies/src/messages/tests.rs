use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;

/// A list of one range.
fn only(range: Range<u32>) -> Vec<Range<u32>> {
    core::iter::once(range).collect()
}

fn plan(exact: Vec<Range<u32>>) -> BodyPlan {
    BodyPlan { token: [7; 16], piece: 10, length: 100, exact }
}

/// The bytes of a plan without exact bytes.
fn bare(plan: BodyPlan) -> Bytes {
    Control::Plan(plan, Bytes::new()).encode(1)
}

/// A plan of any form that may be sent, and as many of its exact bytes as may come with it.
fn any_plan() -> impl Strategy<Value = Control> {
    let bounds = btree_set(0_u32..LONGEST_BODY as u32, 0..40);
    (any::<TransferToken>(), 1..=LONGEST_PIECE, bounds, vec(any::<u8>(), 0..300)).prop_map(
        |(token, piece, bounds, mut bytes)| {
            let bounds: Vec<u32> = bounds.into_iter().collect();
            let exact: Vec<_> = bounds.chunks_exact(2).map(|it| it[0]..it[1]).collect();
            let length = bounds.last().map_or(0, |last| last + 1);
            let all: u32 = exact.iter().map(|range| range.end - range.start).sum();
            bytes.truncate(all as usize);
            Control::Plan(BodyPlan { token, piece, length, exact }, bytes.into())
        },
    )
}

fn any_control() -> impl Strategy<Value = Control> {
    prop_oneof![
        any::<TransferToken>().prop_map(Control::Ask),
        Just(Control::Unknown),
        Just(Control::End),
        vec(any::<u8>(), 0..300).prop_map(|bytes| Control::Exact(bytes.into())),
        any_plan(),
    ]
}

proptest! {
    #[test]
    fn messages_are_read_as_they_were_written(control in any_control(), transfer: u16) {
        let bytes = control.encode(transfer);
        prop_assert_eq!(Control::transfer_of(&bytes), Some(transfer));
        prop_assert_eq!(Control::decode(bytes), Ok((transfer, control)));
    }

    #[test]
    fn what_is_read_is_written_the_same_whatever_came(
        kind in 0_u8..8,
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let bytes: Bytes = core::iter::once(kind).chain(bytes).collect();
        if let Ok((transfer, control)) = Control::decode(bytes.clone()) {
            prop_assert_eq!(control.encode(transfer), bytes);
        }
    }

    #[test]
    fn a_message_with_damage_is_refused_or_is_another_sound_one(
        control in any_control(),
        at: proptest::sample::Index,
        bit in 0_u8..8,
    ) {
        let mut bytes = control.encode(3).to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 0x80 >> bit;
        if let Ok((_, Control::Plan(plan, first))) = Control::decode(bytes.into()) {
            prop_assert!((1..=LONGEST_PIECE).contains(&plan.piece));
            prop_assert!(u64::from(plan.length) <= LONGEST_BODY);
            let gaps: u32 = plan.gaps().iter().map(|gap| gap.end - gap.start).sum();
            let exact: u32 = plan.exact.iter().map(|range| range.end - range.start).sum();
            prop_assert_eq!(gaps + exact, plan.length);
            prop_assert!(first.len() <= exact as usize);
            prop_assert!(plan.pieces() <= plan.length);
        }
    }
}

#[test]
fn a_plan_in_one_message_has_room_for_what_it_says() {
    let exact = Control::Exact(Bytes::from_static(b"abc"));
    assert_eq!(exact.encode(515)[..EXACT_HEADER], exact_header(515));
    assert_eq!(exact.encode(1).len(), 3 + EXACT_HEADER);
    let described = Control::Plan(plan(vec![0..5, 7..100]), Bytes::from_static(b"abcd"));
    let len = described.encode(1).len();
    assert_eq!((ranges_of_plan(len - 4), bytes_of_plan(len, 2)), (2, 4));
    assert_eq!((ranges_of_plan(3), bytes_of_plan(3, 0)), (0, 0));
    // The number of ranges has two bytes.
    assert_eq!(ranges_of_plan(1 << 20), usize::from(u16::MAX));
}

#[test]
fn malformed_messages_are_refused_with_what_is_wrong() {
    let decode = |bytes: Bytes| Control::decode(bytes).map(|_| "sound");
    let whole = bare(plan(vec![0..5, 7..100]));
    assert_eq!(decode(whole.clone()), Ok("sound"));
    for end in 0..whole.len() {
        assert_eq!(decode(whole.slice(..end)), Err(BodyMessageError::Short(end)));
    }
    let backwards = Range { start: 9, end: 3 };
    for (exact, wrong) in [
        (vec![0..5, 5..9], 5..9),
        (vec![7..9, 0..5], 0..5),
        (only(5..5), 5..5),
        (only(0..101), 0..101),
        (only(backwards.clone()), backwards),
    ] {
        let found = decode(bare(plan(exact)));
        assert_eq!(found, Err(BodyMessageError::Range(wrong.start, wrong.end)));
    }
    for piece in [0, LONGEST_PIECE + 1] {
        let found = decode(bare(BodyPlan { piece, ..plan(Vec::new()) }));
        assert_eq!(found, Err(BodyMessageError::Piece(piece)));
    }
    let length = LONGEST_BODY as u32 + 1;
    let found = decode(bare(BodyPlan { length, ..plan(Vec::new()) }));
    assert_eq!(found, Err(BodyMessageError::Length(length)));
    let more = Control::Plan(plan(vec![0..1, 3..4]), Bytes::from_static(b"abc")).encode(1);
    let found = decode(more).expect_err("one byte too many");
    assert_eq!(found, BodyMessageError::Exact(3, 2));
    assert_eq!(found.to_string(), "3 exact bytes come with it, but its ranges have 2");
    assert_eq!(decode(Bytes::from_static(&[9, 0, 1])), Err(BodyMessageError::Kind(9)));
    assert_eq!(decode(Bytes::from_static(&[ASK, 0, 1, 5])), Err(BodyMessageError::Short(4)));
    for kind in [UNKNOWN, END] {
        let bytes = Bytes::copy_from_slice(&[kind, 0, 1, 5]);
        assert_eq!(decode(bytes), Err(BodyMessageError::Excess(1)));
    }
}

#[test]
fn gaps_are_what_is_between_exact_ranges() {
    assert_eq!(plan(vec![0..5, 7..100]).gaps(), only(5..7));
    assert_eq!(plan(only(3..5)).gaps(), [0..3, 5..100]);
    assert_eq!(plan(only(3..5)).pieces(), 10);
    assert_eq!(plan(Vec::new()).pieces(), 10);
    assert_eq!(plan(only(0..100)).pieces(), 0);
}
