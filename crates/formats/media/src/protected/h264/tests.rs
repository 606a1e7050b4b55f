use proptest::prelude::*;

use super::super::{ProtectedArrival, ProtectedKind};
use super::*;

/// A stream as x264 writes it: a sequence set of baseline profile (176 × 144), a picture set, an
/// IDR slice and a P slice whose data hold what looks like start codes.
fn stream() -> Vec<u8> {
    let mut stream = vec![0, 0, 0, 1, 0x67, 66, 0xc0, 0x0a, 0xd9, 0x0b, 0x13, 0x20];
    stream.extend([0, 0, 0, 1, 0x68, 0xcb, 0x83, 0xcb, 0x20]);
    stream.extend([0, 0, 1, 0x65, 0x88, 0x84, 0x0a]);
    stream.extend((0..600_u32).map(|at| (at * 7 % 251) as u8 | 1));
    stream.extend([0, 0, 3, 1, 0x80]);
    stream.extend([0, 0, 0, 1, 0x41, 0x9a, 0x02, 0xa0, 0, 0, 3, 0, 0, 3, 3, 9, 0x80]);
    stream
}

fn restored(parts: &[ProtectedPart]) -> Vec<u8> {
    let mut arrival = ProtectedArrival::default();
    for part in parts.iter().rev() {
        arrival.push(&part.bytes).expect("a part");
    }
    arrival.restore().expect("units").bytes
}

//= S1.55
#[test]
fn a_stream_comes_back_bit_for_bit_and_only_slices_are_inexact() {
    let stream = stream();
    for longest in [128, 300, 2_000] {
        let parts = protect(ProtectedKind::H264, &stream, longest).expect("units");
        assert!(parts.iter().all(|part| part.bytes.len() <= longest));
        assert_eq!(restored(&parts), stream);
    }
    let parts = protect(ProtectedKind::H264, &stream, 2_000).expect("units");
    let exact: Vec<_> = parts.iter().map(|it| (it.is_precise(), it.exact - 32)).collect();
    assert_eq!(exact[..2], [(true, 8), (true, 5)]);
    assert!(!exact[2].0 && !exact[3].0, "{exact:?}");
    assert!((3..8).contains(&exact[2].1) && (3..8).contains(&exact[3].1), "{exact:?}");
}

#[test]
fn damage_makes_no_start_code_and_shifts_nothing() {
    let mut parts = protect(ProtectedKind::H264, &stream(), 2_000).expect("units");
    let part = &mut parts[2];
    let at = part.exact + 100;
    part.bytes[at..at + 3].copy_from_slice(&[0, 0, 1]);
    let stream = restored(&parts);
    assert_eq!(units(&stream).count(), 4);
    let unit = units(&stream).nth(2).expect("the slice").1;
    assert_eq!(without_prevention(unit), parts[2].bytes[PROTECTED_HEADER_LEN..]);
}

#[test]
fn a_slice_ends_before_what_is_missing_and_a_set_is_whole_or_not_there() {
    let parts = protect(ProtectedKind::H264, &stream(), 128).expect("units");
    let of_unit =
        |unit: u64| parts.iter().position(|part| part.bytes[16..20] == (unit as u32).to_be_bytes());
    let first = of_unit(2).expect("the slice");
    let mut few = parts.clone();
    few.remove(first + 2);
    let stream = restored(&few);
    let lengths: Vec<_> = units(&stream).map(|(_, unit)| unit.len()).collect();
    assert_eq!(lengths[2], 2 * 96);
    few.retain(|part| part.bytes[16..20] != [0, 0, 0, 0]);
    assert_eq!(units(&restored(&few)).count(), 3);
    few.remove(first - 1);
    assert_eq!(units(&restored(&few)).map(|(_, unit)| unit[0]).collect::<Vec<_>>(), [0x68, 0x41]);
}

proptest! {
    #[test]
    fn units_come_back_whatever_they_hold(
        body in proptest::collection::vec(
            prop_oneof![Just(0_u8), Just(1), Just(3), any::<u8>()], 0..400),
        longest in 128_usize..700,
    ) {
        let stream = [&[0, 0, 0, 1, 0x65, 1][..], &body, &[1]].concat();
        let parts = protect(ProtectedKind::H264, &stream, longest).expect("a unit");
        // Units of zeros alone are none.
        let units_of = |it: &[u8]| units(it).map(|(_, unit)| unit.to_vec()).collect::<Vec<_>>();
        prop_assert_eq!(units_of(&restored(&parts)), units_of(&stream));
    }

    #[test]
    fn any_bytes_are_taken_as_parameter_sets_and_slices(
        bytes in proptest::collection::vec(any::<u8>(), 1..60),
    ) {
        let mut protector = H264Protector::new(200).expect("a length");
        for kind in [0x67, 0x68, 0x65, 0x41] {
            let unit = [&[0, 0, 1, kind][..], &bytes].concat();
            for part in protector.push(&unit) {
                prop_assert!(part.exact <= part.bytes.len());
                let header = PartHeader::parse(&part.bytes).expect("a part");
                prop_assert_eq!(header.kind, ProtectedKind::H264);
            }
        }
    }
}
