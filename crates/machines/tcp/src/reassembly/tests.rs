use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn byte(position: u64) -> u8 {
    (position ^ (position >> 7)) as u8
}

fn piece(range: Range<u64>) -> Bytes {
    range.map(byte).collect::<Vec<_>>().into()
}

proptest! {
    #[test]
    fn any_order_of_pieces_gives_the_stream(
        pieces in vec((0_u64..5_000, 1_u64..1_600), 0..60), capacity in 1_usize..6_000
    ) {
        let mut buffer = Reassembly::new(capacity);
        let mut read = Vec::new();
        for (start, len) in pieces {
            let before = buffer.next();
            let placed = buffer.insert(start, &piece(start..start + len));
            prop_assert_eq!(buffer.next(), before + placed.advanced);
            prop_assert!(buffer.held() <= capacity);
            while let Some(data) = buffer.read(700) {
                read.extend_from_slice(&data);
            }
        }
        prop_assert_eq!(read.len() as u64, buffer.next());
        let right = read.iter().enumerate().all(|(i, found)| *found == byte(i as u64));
        prop_assert!(right);
        // What fills the holes makes everything readable.
        buffer.insert(buffer.next(), &piece(buffer.next()..buffer.next() + capacity as u64));
        prop_assert!(!buffer.has_holes());
    }
}

#[test]
fn the_latest_range_comes_first() {
    //= S2.5
    let mut buffer = Reassembly::new(10_000);
    for start in [1_000, 3_000, 5_000, 7_000, 9_000] {
        buffer.insert(start, &piece(start..start + 600));
    }
    buffer.insert(3_600, &piece(3_600..3_700));
    let ranges = buffer.sack_ranges(3);
    assert_eq!(ranges[..], [3_000..3_700, 9_000..9_600, 7_000..7_600]);
}

#[test]
fn what_arrives_twice_is_named_and_the_first_copy_stays() {
    let mut buffer = Reassembly::new(10_000);
    buffer.insert(1_000, &piece(1_000..2_000));
    let contradiction = buffer.insert(1_500, &Bytes::from(vec![0xff; 1_000]));
    assert_eq!(contradiction.duplicate, Some(1_500..2_000));
    assert_eq!(contradiction.kept, 500);
    let placed = buffer.insert(0, &piece(0..1_000));
    assert_eq!(placed.advanced, 2_500);
    let mut read = Vec::new();
    while let Some(data) = buffer.read(usize::MAX) {
        read.extend_from_slice(&data);
    }
    assert_eq!(&read[..2_000], &piece(0..2_000)[..]);
    assert_eq!(buffer.insert(0, &piece(0..600)).duplicate, Some(0..600));
}

#[test]
fn single_bytes_beyond_holes_stay_bounded() {
    let mut buffer = Reassembly::new(1 << 16);
    for n in 0..30_000 {
        buffer.insert(1 + 2 * n, &piece(1 + 2 * n..2 + 2 * n));
    }
    assert!(buffer.later.len() <= (1 << 16) / SMALL + 16);
}

#[test]
fn what_happened_to_each_byte_is_told() {
    let none = Placed::default();
    let mut buffer = Reassembly::new(2_000);
    let placed = buffer.insert(0, &piece(0..100));
    assert_eq!(placed, Placed { advanced: 100, copied: 100, ..none.clone() });
    // What is long enough is shared, not copied.
    let placed = buffer.insert(100, &piece(100..700));
    assert_eq!(placed, Placed { advanced: 600, ..none.clone() });
    let placed = buffer.insert(900, &piece(900..1_000));
    assert_eq!(placed, Placed { kept: 100, copied: 100, ..none.clone() });
    assert_eq!((buffer.held(), buffer.readable(), buffer.window()), (800, 700, 1_300));
    // The first half came before; the last 100 bytes lie beyond the window.
    let placed = buffer.insert(1_300, &piece(1_300..2_100));
    assert_eq!(placed, Placed { kept: 700, refused: 100, ..none.clone() });
    let placed = buffer.insert(2_000, &piece(2_000..2_050));
    assert_eq!(placed, Placed { refused: 50, ..none.clone() });
    let placed = buffer.insert(600, &piece(600..1_350));
    // Each hole is filled by a piece of its own, and what waited behind it follows.
    let told = Placed { advanced: 1_300, duplicate: Some(600..700), kept: 300, ..none };
    assert_eq!((placed.advanced, placed.duplicate), (told.advanced, told.duplicate));
    assert_eq!((buffer.next(), buffer.window()), (2_000, 0));
}

#[test]
fn a_piece_between_others_is_no_duplicate() {
    let mut buffer = Reassembly::new(10_000);
    buffer.insert(2_000, &piece(2_000..3_000));
    let placed = buffer.insert(500, &piece(500..600));
    assert_eq!(placed, Placed { kept: 100, copied: 100, ..Placed::default() });
}

#[test]
fn more_pieces_beyond_holes_than_are_kept_are_refused() {
    let mut buffer = Reassembly::new(2 * SMALL);
    let placed: Vec<Placed> = (0..19).map(|n| buffer.insert(1 + 2 * n, &piece(0..1))).collect();
    assert!(placed[..18].iter().all(|placed| placed.kept == 1));
    assert_eq!(placed[18], Placed { refused: 1, ..Placed::default() });
}

#[test]
fn pieces_below_the_limit_alone_are_copied_and_gathered() {
    let len = SMALL as u64;
    let mut buffer = Reassembly::new(100_000);
    assert_eq!(buffer.insert(5_000, &piece(0..len)).copied, 0);
    assert_eq!(buffer.insert(7_000, &piece(0..len - 1)).copied, len - 1);
    let mut buffer = Reassembly::new(100_000);
    assert_eq!(buffer.append(piece(0..len)), 0);
    // Eight times the limit of small ones make one piece to read.
    let mut pieces = Vec::new();
    for _ in 0..9 {
        assert_eq!(buffer.append(piece(0..len - 1)), len - 1);
        pieces.push(buffer.ready.len());
    }
    assert_eq!(pieces, [1, 1, 1, 1, 1, 1, 1, 1, 2]);
}

#[test]
fn what_was_discarded_is_not_read() {
    let mut buffer = Reassembly::new(10_000);
    buffer.insert(0, &piece(0..100));
    buffer.insert(1_000, &piece(1_000..2_000));
    buffer.discard();
    assert_eq!((buffer.held(), buffer.readable(), buffer.has_holes()), (0, 0, false));
    assert_eq!(buffer.read(usize::MAX), None);
    assert!(buffer.sack_ranges(4).is_empty());
}
