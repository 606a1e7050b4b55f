use core::net::Ipv4Addr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const NOW: Instant = Instant::from_nanos(5);
const TIMEOUT: Duration = Duration::from_secs(60);

fn key(identification: u32) -> FragmentKey {
    let addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::BROADCAST };
    FragmentKey { addresses, protocol: Some(Protocol::UDP), identification }
}

fn piece(offset: usize, len: usize, more: bool) -> Piece {
    let data = (offset..offset + len).map(|at| at as u8).collect();
    let protocol = Protocol::UDP;
    let header = Bytes::from_static(b"header");
    Piece { offset, more, protocol, header, data, damage: Damage::default(), tag: None }
}

fn reassembler() -> Reassembler {
    Reassembler::new(TIMEOUT, 100_000)
}

#[test]
fn impossible_lengths_are_refused() {
    let mut reassembler = reassembler();
    for bad in [piece(0, 9, true), piece(0, 0, true)] {
        assert!(matches!(reassembler.insert(NOW, key(1), bad), ReassemblyOutcome::OddLength));
    }
    let long = piece(65_528, 8, false);
    assert!(matches!(reassembler.insert(NOW, key(1), long), ReassemblyOutcome::TooLong));
    assert_eq!((reassembler.held(), reassembler.deadline()), (0, None));
    // The longest there can be ends at byte 65 535.
    assert!(matches!(
        reassembler.insert(NOW, key(1), piece(65_528, 7, false)),
        ReassemblyOutcome::Held
    ));
}

#[test]
fn an_exact_repetition_is_a_duplicate_and_an_overlap_poisons_the_packet() {
    let mut reassembler = reassembler();
    let mut insert = |piece| reassembler.insert(NOW, key(1), piece);
    assert!(matches!(insert(piece(8, 16, true)), ReassemblyOutcome::Held));
    assert!(matches!(insert(piece(8, 16, true)), ReassemblyOutcome::Duplicate));
    let ReassemblyOutcome::Contradiction(gone) = insert(piece(16, 8, true)) else {
        panic!("an overlap")
    };
    assert_eq!(gone.pieces.len(), 1);
    // Even what would have completed the packet is not believed any more.
    assert!(matches!(insert(piece(0, 8, true)), ReassemblyOutcome::Contradiction(_)));
    assert_eq!(reassembler.held(), 0);
    assert!(reassembler.abandon(NOW + TIMEOUT).is_some_and(|gone| gone.pieces.is_empty()));
    assert_eq!(reassembler.used, 0);
}

#[test]
fn two_ends_contradict_each_other() {
    for (first, second) in [
        (piece(8, 8, false), piece(16, 8, false)),
        (piece(8, 8, false), piece(16, 8, true)),
        (piece(16, 8, true), piece(8, 8, false)),
    ] {
        let mut reassembler = reassembler();
        reassembler.insert(NOW, key(1), first);
        let second = reassembler.insert(NOW, key(1), second);
        assert!(matches!(second, ReassemblyOutcome::Contradiction(_)));
    }
}

#[test]
fn time_runs_from_the_first_fragment() {
    let mut reassembler = reassembler();
    reassembler.insert(NOW, key(1), piece(0, 8, true));
    let later = NOW + Duration::from_secs(30);
    reassembler.insert(later, key(1), piece(8, 8, true));
    reassembler.insert(later, key(2), piece(0, 8, true));
    assert_eq!(reassembler.deadline(), Some(NOW + TIMEOUT));
    assert!(reassembler.abandon(later).is_none());
    let gone = reassembler.abandon(NOW + TIMEOUT).expect("its time is over");
    assert_eq!(gone.pieces.len(), 2);
    assert!(reassembler.abandon(NOW + TIMEOUT).is_none());
    assert_eq!(reassembler.deadline(), Some(later + TIMEOUT));
}

#[test]
fn the_oldest_makes_room() {
    let mut reassembler = Reassembler::new(TIMEOUT, 3_000);
    for id in 0..3 {
        let now = NOW + Duration::from_secs(id.into());
        reassembler.insert(now, key(id), piece(0, 800, true));
        while let Some(gone) = reassembler.abandon(now) {
            assert_eq!((gone.pieces.len(), id), (1, 2));
        }
        assert!(reassembler.used <= 3_000);
    }
    assert_eq!(reassembler.held(), 2);
    // A second fragment of the packet given up starts anew and completes nothing.
    assert!(matches!(
        reassembler.insert(NOW, key(0), piece(800, 8, false)),
        ReassemblyOutcome::Held
    ));
}

#[test]
fn damage_keeps_its_place() {
    let mut reassembler = reassembler();
    let mut bad = piece(8, 8, true);
    (bad.damage.frame, bad.damage.corrected) = (Check::Bad, 3);
    let mut suspect = piece(16, 8, false);
    (suspect.damage.suspect, suspect.damage.corrected) = (vec![2..3, 5..99], 4);
    reassembler.insert(NOW, key(1), suspect);
    reassembler.insert(NOW, key(1), piece(0, 8, true));
    let ReassemblyOutcome::Complete(whole) = reassembler.insert(NOW, key(1), bad) else {
        panic!("all")
    };
    assert_eq!(whole.damage.suspect, [8..16, 18..19, 21..24]);
    assert_eq!((whole.damage.frame, whole.damage.corrected), (Check::Bad, 7));
}

proptest! {
    #[test]
    fn any_order_gives_the_whole(
        cuts in vec(1_usize..40, 1..20), last in 1_usize..100, order in vec(any::<u32>(), 21),
    ) {
        let mut pieces = Vec::new();
        let mut at = 0;
        for cut in cuts {
            pieces.push(piece(at, cut * 8, true));
            at += cut * 8;
        }
        pieces.push(piece(at, last, false));
        let count = pieces.len();
        let mut numbered: Vec<_> = order.into_iter().zip(pieces).collect();
        numbered.sort_by_key(|(number, _)| *number);
        let mut reassembler = reassembler();
        for (index, (_, piece)) in numbered.into_iter().enumerate() {
            match reassembler.insert(NOW, key(1), piece) {
                ReassemblyOutcome::Held => prop_assert!(index + 1 < count),
                ReassemblyOutcome::Complete(whole) => {
                    prop_assert_eq!((index + 1, whole.fragments), (count, count));
                    let expected: Vec<_> = (0..at + last).map(|at| at as u8).collect();
                    prop_assert_eq!(&whole.data[..], &expected[..]);
                    prop_assert_eq!(&whole.header[..], b"header");
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert_eq!((reassembler.held(), reassembler.used), (0, 0));
        prop_assert_eq!(reassembler.deadline(), None);
    }

    #[test]
    fn arbitrary_fragments_never_panic_and_the_account_holds(
        pieces in vec((0_u32..3, 0_usize..12, 0_usize..30, any::<bool>(), 0_u64..30), 0..60),
    ) {
        let mut reassembler = Reassembler::new(TIMEOUT, 2_000);
        let mut now = NOW;
        let mut gone = 0;
        for (before, (id, offset, len, more, pause)) in pieces.into_iter().enumerate() {
            let taken = before + 1;
            now += Duration::from_secs(pause);
            gone += match reassembler.insert(now, key(id), piece(offset * 8, len, more)) {
                ReassemblyOutcome::Held => 0,
                ReassemblyOutcome::Complete(whole) => whole.fragments,
                ReassemblyOutcome::Contradiction(abandoned) => 1 + abandoned.pieces.len(),
                _ => 1,
            };
            while let Some(abandoned) = reassembler.abandon(now) {
                gone += abandoned.pieces.len();
            }
            prop_assert_eq!(taken, gone + reassembler.held());
            prop_assert!(reassembler.used <= 2_000);
            prop_assert!(reassembler.deadline().is_none_or(|deadline| deadline > now));
        }
    }
}

#[test]
fn the_first_piece_says_what_the_packet_is_and_all_of_them_how_good_it_is() {
    let of = |offset, more, protocol, header: &'static [u8], frame| Piece {
        protocol,
        header: Bytes::from_static(header),
        damage: Damage { frame, corrected: 2, ..Damage::default() },
        ..piece(offset, 8, more)
    };
    for (second, expected) in
        [(Check::Good, Check::Good), (Check::Unchecked, Check::Unchecked), (Check::Bad, Check::Bad)]
    {
        let mut reassembler = reassembler();
        let late = of(8, false, Protocol::TCP, b"second", second);
        assert!(matches!(reassembler.insert(NOW, key(1), late), ReassemblyOutcome::Held));
        let early = of(0, true, Protocol::UDP, b"first", Check::Good);
        let ReassemblyOutcome::Complete(whole) = reassembler.insert(NOW, key(1), early) else {
            panic!("both are there")
        };
        assert_eq!((whole.protocol, &whole.header[..]), (Protocol::UDP, &b"first"[..]));
        assert_eq!((whole.damage.frame, whole.damage.corrected), (expected, 4));
    }
}

#[test]
fn an_empty_last_piece_ends_the_packet() {
    for pieces in [[(0, 8, true), (8, 0, false)], [(8, 0, false), (0, 8, true)]] {
        let mut reassembler = reassembler();
        let [first, last] = pieces.map(|(offset, len, more)| piece(offset, len, more));
        assert!(matches!(reassembler.insert(NOW, key(1), first), ReassemblyOutcome::Held));
        let ReassemblyOutcome::Complete(whole) = reassembler.insert(NOW, key(1), last) else {
            panic!("both are there")
        };
        assert_eq!(whole.data.len(), 8);
    }
}
