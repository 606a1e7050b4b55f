use proptest::prelude::*;

use super::part::{PartHeader, Section, head_parts};
use super::*;
use crate::{Jpeg, Picture, landscape};

/// A `.npy` of `count` numbers of a type, each of `size` bytes.
fn array(kind: &str, size: usize, count: usize) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({count},), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.bytes());
    file.extend((0..count * size).map(|at| (at * 31 % 253) as u8));
    file
}

fn floats(values: &[f32]) -> Vec<u8> {
    let mut file = array("<f4", 4, values.len());
    let begin = file.len() - 4 * values.len();
    for (at, value) in values.iter().enumerate() {
        file[begin + 4 * at..][..4].copy_from_slice(&value.to_le_bytes());
    }
    file
}

fn restored<'a>(parts: impl IntoIterator<Item = &'a ProtectedPart>) -> RestoredFile {
    let mut arrival = ProtectedArrival::default();
    parts.into_iter().for_each(|part| arrival.push(&part.bytes).expect("a part"));
    arrival.restore().expect("a file")
}

#[test]
fn arrays_of_every_type_come_back_bit_for_bit() {
    let types = [("<f8", 8), (">f4", 4), ("<f2", 2), ("<c16", 16), ("|u1", 1), (">i8", 8)];
    for (kind, size) in types.into_iter().chain([("|b1", 1), ("<U3", 12), ("<f16", 16)]) {
        for count in [0, 1, 700] {
            let file = array(kind, size, count);
            for data in [&file[..], &file[..file.len() - usize::from(count > 0)]] {
                let parts = protect(data, 300).expect("an array");
                assert!(parts.iter().all(|part| part.bytes.len() <= 300));
                assert_eq!(restored(&parts).bytes, data, "{kind}");
            }
        }
    }
    let whole = protect(&array("|b1", 1, 900), 300).expect("an array");
    assert!(whole.iter().all(ProtectedPart::is_precise));
    let whole = protect(&array("|u1", 1, 900), 300).expect("an array");
    assert_eq!(whole.last().expect("numbers").exact, PROTECTED_HEADER_LEN);
}

/// Numbers of a type with `exponent` bits behind the sign, which end in infinities, zeros and what
/// is no number, each as its bytes from the most significant on.
fn specials(size: usize, exponent: u32) -> Vec<Vec<u8>> {
    let fraction = 8 * size as u32 - 1 - exponent;
    let top = |sign: u64, exponent_bits: u64, rest: u64| {
        let bits = sign << (8 * size - 1) | exponent_bits << fraction | rest;
        bits.to_be_bytes()[8 - size..].to_vec()
    };
    let all = (1 << exponent) - 1;
    let mut values = Vec::new();
    for sign in [0, 1] {
        // An infinity, a zero, a quiet NaN, one told by its last bit only, and one.
        values.push(top(sign, all, 0));
        values.push(top(sign, 0, 0));
        values.push(top(sign, all, 1 << (fraction - 1)));
        values.push(top(sign, all, 1));
        values.push(top(sign, all >> 1, 0));
    }
    values
}

#[test]
fn infinities_zeros_and_nans_stay_what_they_are_whatever_is_damaged() {
    for (kind, size, exponent, each) in
        [("f2", 2, 5, 1), ("f4", 4, 8, 1), ("f8", 8, 11, 1), ("c8", 4, 8, 2), ("c16", 8, 11, 2)]
    {
        for order in ["<", ">"] {
            for has_hidden_nan in [false, true] {
                let mut values = specials(size, exponent);
                if !has_hidden_nan {
                    values.remove(8);
                    values.remove(3);
                }
                let mut file = array(&format!("{order}{kind}"), size * each, values.len() / each);
                let begin = file.len() - size * values.len();
                for (at, value) in values.iter().enumerate() {
                    let mut bytes = value.clone();
                    if order == "<" {
                        bytes.reverse();
                    }
                    file[begin + size * at..][..size].copy_from_slice(&bytes);
                }
                let mut parts = protect(&file, 1_000).expect("an array");
                assert_eq!(restored(&parts).bytes, file, "{order}{kind}");
                for part in &mut parts {
                    part.bytes[part.exact..].iter_mut().for_each(|byte| *byte ^= 0xff);
                }
                let got = restored(&parts).bytes;
                for (at, value) in values.iter().enumerate() {
                    let mut bytes = got[begin + size * at..][..size].to_vec();
                    if order == "<" {
                        bytes.reverse();
                    }
                    assert_eq!(class(&bytes, exponent), class(value, exponent), "{order}{kind}");
                }
            }
        }
    }
}

/// Returns the sign of a number, and its kind.
fn class(bytes: &[u8], exponent: u32) -> (bool, &'static str) {
    let fraction = 8 * bytes.len() as u32 - 1 - exponent;
    let bits = bytes.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let all = (1_u64 << exponent) - 1;
    let own = bits >> fraction & ((1 << exponent) - 1);
    let kind = match (own == 0, own == all, bits & ((1 << fraction) - 1) == 0) {
        (true, _, true) => "zero",
        (_, true, true) => "infinity",
        (_, true, false) => "none",
        _ => "number",
    };
    (bytes[0] & 0x80 != 0, kind)
}

//= S0.27
#[test]
fn every_damaged_number_keeps_its_sign_and_its_size() {
    let values: Vec<f32> = (0..5_000).map(|at| (at as f32 - 2_500.0) * 1.7e-3 + 1e-4).collect();
    let mut parts = protect(&floats(&values), 1_000).expect("an array");
    for part in &mut parts {
        part.bytes[part.exact..].iter_mut().for_each(|byte| *byte ^= 0xff);
    }
    let file = restored(&parts);
    assert_eq!((file.missing, file.damaged, file.parts), (0, parts.len() - 1, parts.len()));
    let begin = file.bytes.len() - 4 * values.len();
    for (value, bytes) in values.iter().zip(file.bytes[begin..].chunks_exact(4)) {
        let arrived = f32::from_le_bytes(bytes.try_into().expect("four"));
        assert!(arrived != *value && (arrived - value).abs() < value.abs() / 128.0);
    }
}

#[test]
fn numbers_that_are_missing_are_zeros() {
    let values: Vec<f32> = (1..=1_000).map(|at| at as f32).collect();
    let mut parts = protect(&floats(&values), 400).expect("an array");
    parts.remove(2);
    let file = restored(&parts);
    assert_eq!(file.missing, 1);
    let begin = file.bytes.len() - 4 * values.len();
    let zeros = file.bytes[begin..].chunks_exact(4).filter(|bytes| **bytes == [0; 4]).count();
    assert_eq!(zeros, (400 - 32) / 4);
}

#[test]
fn a_picture_is_the_one_that_windfall_image_sends() {
    let picture = landscape();
    let file = picture.to_jpeg(95).expect("a JPEG");
    let mut parts = protect(&file, 1_000).expect("a JPEG");
    let decoded = Picture::read(&restored(&parts).bytes).expect("a JPEG");
    let psnr = decoded.psnr(&picture).expect("of one size");
    assert!(psnr > 33.0, "{psnr} dB");
    // One bit of each part is inverted.
    for part in parts.iter_mut().filter(|part| !part.is_precise()) {
        part.bytes[part.exact + 200] ^= 0x10;
    }
    let damaged = Picture::read(&restored(&parts).bytes).expect("a JPEG");
    assert!(damaged.psnr(&picture).expect("of one size") > 22.0);
}

/// The parts of a head alone that promises `length` bytes of an array.
fn promised_array(length: u64) -> Vec<ProtectedPart> {
    let mut head = vec![8, 3, 0, 11];
    head.extend(length.to_be_bytes());
    head.extend(array("<f8", 8, 0));
    head_parts(ProtectedKind::Npy, &head, LONGEST_PART)
}

/// The parts of a layout alone that promises 65535 bytes for each segment of a picture.
fn promised_picture() -> Vec<ProtectedPart> {
    let jpeg = Jpeg::encode(&landscape(), 90).expect("a picture");
    let mut layout = jpeg.layout().to_bytes();
    let lengths = layout.len() - 2 * jpeg.layout().segments();
    layout[lengths..].fill(0xff);
    head_parts(ProtectedKind::Jpeg, &layout, LONGEST_PART)
}

fn arrived<'a>(parts: impl IntoIterator<Item = &'a ProtectedPart>) -> (usize, ProtectedArrival) {
    let mut bytes = 0;
    let mut arrival = ProtectedArrival::default();
    for part in parts {
        bytes += part.bytes.len();
        arrival.push(&part.bytes).expect("a part");
    }
    (bytes, arrival)
}

#[test]
fn a_head_that_promises_more_than_eight_times_what_arrived_makes_no_file() {
    for length in [2_000, 400_000_000, 1 << 40, u64::MAX] {
        let (bytes, arrival) = arrived(&promised_array(length));
        let error =
            arrival.restore().map(|it| it.bytes.len()).expect_err("numbers that did not arrive");
        assert!(matches!(error, ProtectError::Incomplete { arrived, .. } if arrived == bytes));
        assert!(error.to_string().contains("less than an eighth"), "{error}");
    }
    let (_, arrival) = arrived(&promised_picture());
    assert!(matches!(arrival.restore(), Err(ProtectError::Incomplete { .. })));
}

#[test]
fn a_file_is_made_as_soon_as_an_eighth_of_it_has_arrived_and_not_before() {
    let photo = landscape().to_jpeg(95).expect("a JPEG");
    for (file, whole) in [(array("<f8", 8, 20_000), Some(20_000 * 8)), (photo, None)] {
        let parts = protect(&file, 400).expect("a file");
        let mut arrival = ProtectedArrival::default();
        let mut bytes = 0;
        let mut made = 0;
        let whole = whole.unwrap_or_else(|| parts.iter().map(|it| it.bytes.len()).sum());
        for part in &parts {
            arrival.push(&part.bytes).expect("a part");
            bytes += part.bytes.len();
            match arrival.restore() {
                Ok(file) => {
                    made += 1;
                    assert!(file.bytes.len() <= 8 * bytes, "{} of {bytes}", file.bytes.len());
                }
                Err(error) => {
                    assert!(made == 0 && bytes * 15 / 2 < whole, "{bytes}: {error}");
                }
            }
        }
        assert!(made > parts.len() / 2 && arrival.restore().expect("it is whole").missing == 0);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is of the time that it takes")]
fn many_damaged_parts_that_say_to_be_the_whole_array_are_read_in_a_moment() {
    let mut parts = promised_array(1 << 20);
    for number in 1..20_000 {
        let new = PartHeader::new(ProtectedKind::Npy, Section::Body, number);
        let mut part = PartHeader { length: 1 << 20, ..new }.part(&[0x7f], &[1]);
        *part.bytes.last_mut().expect("a byte") = 9;
        parts.push(part);
    }
    let begin = std::time::Instant::now();
    let (_, arrival) = arrived(&parts);
    assert_eq!(arrival.restore().expect("a file").damaged, parts.len() - 1);
    // All numbers were looked at for each part, which took a minute.
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}

#[test]
fn the_head_is_needed_and_its_absence_is_told() {
    let parts = protect(&array("<f4", 4, 500), 300).expect("an array");
    let mut arrival = ProtectedArrival::default();
    assert!(matches!(arrival.restore(), Err(ProtectError::Nothing)));
    parts[1..].iter().for_each(|part| arrival.push(&part.bytes).expect("a part"));
    assert!(matches!(arrival.restore(), Err(ProtectError::Missing(0))));
    assert_eq!(arrival.missing(), 1);
}

#[test]
fn a_copy_without_damage_goes_in_place_of_one_with_damage() {
    let data = array("<f4", 4, 500);
    let parts = protect(&data, 300).expect("an array");
    let mut damaged = parts[1].bytes.clone();
    *damaged.last_mut().expect("bytes") ^= 1;
    let mut arrival = ProtectedArrival::default();
    for part in [&damaged[..]].into_iter().chain(parts.iter().map(|part| &part.bytes[..])) {
        arrival.push(part).expect("a part");
    }
    arrival.push(&damaged).expect("a copy");
    assert_eq!((arrival.damaged().count(), arrival.restore().expect("a file").bytes), (0, data));
}

#[test]
fn what_is_no_part_or_of_another_file_is_refused() {
    let mut arrival = ProtectedArrival::within(2_000);
    assert!(matches!(arrival.push(b"nothing"), Err(ProtectError::Part(_))));
    assert!(matches!(arrival.push(&[0; 40]), Err(ProtectError::Part(_))));
    let parts = protect(&array("<f4", 4, 500), 300).expect("an array");
    arrival.push(&parts[0].bytes).expect("a part");
    let other = protect(&landscape().to_jpeg(50).expect("a JPEG"), 300).expect("a JPEG");
    assert!(matches!(arrival.push(&other[0].bytes), Err(ProtectError::Mixed)));
    let shorter = protect(&array("<f4", 4, 100), 300).expect("an array");
    assert!(matches!(arrival.push(&shorter[0].bytes), Err(ProtectError::Mixed)));
    let too_many = parts.iter().try_for_each(|part| arrival.push(&part.bytes));
    assert!(matches!(too_many, Err(ProtectError::Memory(2_000))));
    assert!(matches!(protect(b"text", 300), Err(ProtectError::Foreign)));
    assert!(matches!(protect(b"\x93NUMPY\x01\x00", 300), Err(ProtectError::Array)));
    assert!(matches!(protect(&[0, 0, 1], 300), Err(ProtectError::Empty)));
    assert!(matches!(protect(b"text", 30), Err(ProtectError::Length(30))));
}

#[test]
fn zeros_before_the_first_start_code_are_part_of_a_stream() {
    for zeros in [0, 1, 2, 5, 100] {
        for (stream, kind) in [
            (h265_stream(), ProtectedKind::H265),
            (
                [&[0, 0, 1, 0x67, 0x42, 0, 10, 0, 0, 1, 0x65][..], &[0x88; 400]].concat(),
                ProtectedKind::H264,
            ),
        ] {
            let stream = [&vec![0; zeros][..], &stream].concat();
            assert_eq!(ProtectedKind::of(&stream), Some(kind), "{zeros}");
            assert_eq!(restored(&protect(&stream, 300).expect("a stream")).bytes, stream);
        }
    }
    // More zeros than a part can tell keep a byte each.
    let many = [&[0; 1_000][..], &h265_stream(), &[0; 500], &h265_stream()].concat();
    assert_eq!(restored(&protect(&many, 300).expect("a stream")).bytes, many);
    for other in [&[0; 8][..], &[0, 1, 0x67], &[0, 0, 2], &[]] {
        assert_eq!(ProtectedKind::of(other), None, "{other:?}");
    }
}

#[test]
fn empty_units_of_a_stream_come_back_too() {
    let stream = h265_stream();
    let code = &[0, 0, 1][..];
    let long = &[0, 0, 0, 1][..];
    for empty in [
        code.to_vec(),
        long.to_vec(),
        [code, code].concat(),
        [long, code, long].concat(),
        [code, &[0; 5]].concat(),
        [code, &[0; 900], code].concat(),
    ] {
        for whole in [
            [&empty[..], &stream].concat(),
            [&stream[..], &empty].concat(),
            [&stream[..], &empty, &stream].concat(),
            [&stream[..], &empty, &[0; 700]].concat(),
        ] {
            let parts = protect(&whole, 300).expect("a stream");
            assert_eq!(restored(&parts).bytes, whole, "{empty:?}");
        }
    }
}

#[test]
fn the_headers_of_all_arrays_of_a_file_are_exact() {
    let same = array("<f8", 8, 300);
    let other = array("<u2", 2, 301);
    let odd = array("|S3", 3, 5);
    for files in [[&same, &same, &same], [&same, &odd, &same], [&other, &odd, &same]] {
        for rest in [&b""[..], b"\x80\x04what is no array"] {
            let mut file = files.map(|it| &it[..]).concat();
            file.extend(rest);
            let mut parts = protect(&file, 300).expect("arrays");
            assert_eq!(restored(&parts).bytes, file);
            for part in &mut parts {
                part.bytes[part.exact..].iter_mut().for_each(|byte| *byte ^= 0xff);
            }
            let damaged = restored(&parts).bytes;
            let (found, end) = crate::numpy::arrays(&file);
            assert_eq!((found.len(), &damaged[end..]), (3, rest));
            assert!(found.iter().all(|it| damaged[it.header.clone()] == file[it.header.clone()]));
            let of_first = |it: &&crate::numpy::NumpyArray| it.kind == found[0].kind;
            for array in &found {
                let is_damaged = damaged[array.numbers.clone()] != file[array.numbers.clone()];
                assert_eq!(is_damaged, of_first(&array), "numbers of another type are exact");
            }
        }
    }
}

#[test]
fn arrays_with_headers_in_any_spelling_of_python_come_back_bit_for_bit() {
    for text in [
        "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (40,)}",
        "{u'shape': (40L,), u'fortran_order': False,\n u'descr' : u'<f8',}\n",
        "{'descr': [('h\u{f6}he', '<f8')], 'fortran_order': False, 'shape': (40,), }\n",
        "{'descr': [('h\u{f6}he', '<f8')], 'fortran_order': False, 'shape': (40,), }\n\u{f6}",
        "nonsense",
    ] {
        let latin: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
        for (version, text) in [(1, &latin[..]), (3, text.as_bytes())] {
            let mut file = vec![0x93];
            file.extend(b"NUMPY");
            file.extend([version, 0]);
            let length = (text.len() as u32).to_le_bytes();
            file.extend(&length[..if version == 1 { 2 } else { 4 }]);
            file.extend(text);
            file.extend([7; 320]);
            let parts = protect(&file, 300).expect("an array");
            assert_eq!(restored(&parts).bytes, file);
            let is_exact = parts.iter().all(ProtectedPart::is_precise);
            assert_eq!(is_exact, !text.windows(5).any(|it| it == b"shape") || text.contains(&b'['));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_may_arrive(
        parts in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..80), 1_u8..4, any::<bool>()), 0..12),
    ) {
        let mut arrival = ProtectedArrival::within(1 << 16);
        for (number, (bytes, kind, is_body)) in parts.into_iter().enumerate() {
            let mut part = vec![0xb7, 0x10 | kind, u8::from(is_body), 0];
            part.extend([0, 0, 0, 32, 0, 0, 0, number as u8]);
            part.extend([0; 4]);
            part.extend(&bytes);
            let _ = arrival.push(&part);
            let _ = arrival.push(&bytes);
        }
        if let Ok(file) = arrival.restore() {
            prop_assert!(file.bytes.len() <= 1 << 17);
        }
    }

    #[test]
    fn no_file_is_longer_than_eight_times_what_arrived(
        kind in 0_usize..4,
        promise in 0_u64..5_000,
        pieces in proptest::collection::vec(
            (any::<u8>(), 0_u64..700, 0_u32..2_000, 0_usize..40, any::<u8>()), 0..20),
    ) {
        let kind = ProtectedKind::ALL[kind];
        let mut parts = match kind {
            ProtectedKind::Npy => promised_array(promise),
            ProtectedKind::Jpeg => promised_picture(),
            _ => Vec::new(),
        };
        for (form, place, length, bytes, value) in pieces {
            let new = PartHeader::new(kind, Section::Body, parts.len() as u32);
            let place = if parts.is_empty() { place << 32 } else { place };
            let header = PartHeader { form, place, length, ..new };
            parts.push(header.part(&vec![value; bytes], &[value]));
        }
        let (bytes, arrival) = arrived(&parts);
        if let Ok(file) = arrival.restore() {
            prop_assert!(file.bytes.len() <= 8 * bytes, "{} of {}", file.bytes.len(), bytes);
        }
    }

    #[test]
    fn damaged_parts_of_an_array_make_a_file_as_long(
        inverted in proptest::collection::vec((any::<usize>(), 0_u8..8), 0..50),
    ) {
        let data = array("<f8", 8, 300);
        let mut parts = protect(&data, 500).expect("an array");
        for (at, bit) in inverted {
            let count = parts.len() - 1;
            let part = &mut parts[1 + at % count];
            let room = part.bytes.len() - part.exact;
            let place = part.exact + at / count % room;
            part.bytes[place] ^= 1 << bit;
        }
        prop_assert_eq!(restored(&parts).bytes.len(), data.len());
    }
}

/// A stream of H.265: parameter sets, and slices whose data look like start codes here and there.
fn h265_stream() -> Vec<u8> {
    let mut stream = Vec::new();
    for (kind, length) in [(32, 24), (33, 40), (34, 9), (19, 900), (39, 30), (1, 300), (1, 2)] {
        stream.extend([0, 0, 0, 1, kind << 1, 1]);
        stream.extend((0..length).map(|at| (at * 7 % 251) as u8 | 1));
        if length > 100 {
            stream.extend([0, 0, 3, 1, 7]);
        }
    }
    stream
}

#[test]
fn a_stream_of_h265_keeps_its_sets_and_the_headers_of_its_slices() {
    let stream = h265_stream();
    assert_eq!(ProtectedKind::of(&stream), Some(ProtectedKind::H265));
    let mut parts = protect(&stream, 300).expect("a stream");
    assert_eq!(restored(&parts).bytes, stream);
    // The three sets and the supplemental information are exact as a whole.
    assert!(parts[..3].iter().all(ProtectedPart::is_precise));
    assert_eq!(parts[3].exact, PROTECTED_HEADER_LEN + 64);
    for part in &mut parts {
        part.bytes[part.exact..].iter_mut().for_each(|byte| *byte = 0);
    }
    let damaged = restored(&parts).bytes;
    let starts = |bytes: &[u8]| bytes.windows(4).filter(|it| it.starts_with(&[0, 0, 1])).count();
    assert_eq!(starts(&damaged), starts(&stream), "damage makes no start code");
    // What begins as streams of H.264 do is one.
    for unit in [[0x67, 0x42], [0x09, 0x10], [0x06, 0x05], [0x27, 0x01], [0x41, 0x9a]] {
        let begin = [&[0, 0, 0, 1][..], &unit, &[1, 2]].concat();
        assert_eq!(ProtectedKind::of(&begin), Some(ProtectedKind::H264), "{unit:?}");
    }
}
