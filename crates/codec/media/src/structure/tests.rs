use proptest::prelude::*;

use super::*;
use crate::{Jpeg, landscape};

/// A list of one range.
fn only(range: Range<usize>) -> Vec<Range<usize>> {
    core::iter::once(range).collect()
}

fn covers(ranges: &[Range<usize>], at: usize) -> bool {
    ranges.iter().any(|range| range.contains(&at))
}

/// A picture with a restart marker after every few blocks.
fn picture() -> Vec<u8> {
    Jpeg::encode(&landscape(), 85).expect("it encodes").to_bytes()
}

/// The positions of 0xff before any of `codes`.
fn markers(bytes: &[u8], codes: Range<u8>) -> Vec<usize> {
    let pairs = bytes.windows(2).enumerate();
    pairs.filter(|(_, it)| it[0] == 0xff && codes.contains(&it[1])).map(|(at, _)| at).collect()
}

//= S0.27
#[test]
fn the_head_and_the_markers_of_a_jpeg_are_exact() {
    let bytes = picture();
    let restarts = markers(&bytes, 0xd0..0xd8);
    assert!(restarts.len() > 100, "{}", restarts.len());
    let exact = exact_ranges(&bytes, 10_000);
    assert_eq!(exact.len(), restarts.len() + 2);
    assert!(restarts.iter().all(|at| covers(&exact, *at) && covers(&exact, at + 1)));
    assert!(covers(&exact, bytes.len() - 1) && covers(&exact, 0));
    let scan = *markers(&bytes, 0xda..0xdb).first().expect("a scan");
    assert!(exact[0] == (0..scan + 14), "{:?}, scan at {scan}", exact[0]);
    let body: usize = exact.iter().map(Range::len).sum();
    assert!(body < bytes.len() / 5, "{body} of {}", bytes.len());
    // Too many to be named: the head and the end alone.
    assert_eq!(exact_ranges(&bytes, 20).len(), 2);
}

#[test]
fn a_false_marker_is_intolerable_and_an_inverted_bit_is_not() {
    let mut bytes = picture();
    let restarts = markers(&bytes, 0xd0..0xd8);
    let between = |number: usize| restarts[number] + 2..restarts[number + 1];
    let damaged = [between(10), between(20), between(30)];
    assert_eq!(intolerable(&bytes, &damaged), []);
    let at = damaged[1].start + 2;
    bytes[at..at + 2].copy_from_slice(&[0xff, 0xd9]);
    assert_eq!(intolerable(&bytes, &damaged), [damaged[1].clone()]);
    // A restart marker that is missing.
    let mut bytes = picture();
    let at = restarts[30];
    bytes[at] = 0x12;
    let damaged = [between(10), at - 1..at + 3, between(50)];
    assert_eq!(intolerable(&bytes, &damaged), [damaged[1].clone()]);
}

#[test]
fn the_samples_of_a_wav_file_are_not_exact() {
    let mut bytes = b"RIFF\x00\x00\x00\x00WAVEfmt \x03\x00\x00\x00abc\x00data".to_vec();
    bytes.extend(100_u32.to_le_bytes());
    let samples = bytes.len()..bytes.len() + 100;
    bytes.extend([7; 100]);
    bytes.extend(b"LIST\x02\x00\x00\x00ab");
    assert_eq!(exact_ranges(&bytes, 9), [0..samples.start, samples.end..bytes.len()]);
}

#[test]
fn the_header_of_an_array_is_exact() {
    let mut bytes = b"\x93NUMPY\x01\x00\x06\x00{'a'}\n".to_vec();
    let end = bytes.len();
    bytes.extend([0xff; 64]);
    assert_eq!(exact_ranges(&bytes, 9), only(0..end));
    bytes[6] = 2;
    bytes.splice(10..10, [0, 0]);
    assert_eq!(exact_ranges(&bytes, 9), only(0..end + 2));
}

#[test]
fn what_stands_before_the_pixels_of_a_bitmap_is_exact() {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0".to_vec();
    bytes.resize(400, 0xff);
    assert_eq!(exact_ranges(&bytes, 9), only(0..62));
    bytes[10] = 20;
    assert_eq!(exact_ranges(&bytes, 9), only(0..54), "pixels within the headers");
    bytes[14] = 41;
    assert_eq!(exact_ranges(&bytes, 9), [], "a text that begins with BM");
}

#[test]
fn the_header_of_a_pixmap_is_exact() {
    for (head, is_one) in [
        ("P6 3 2 255\n", true),
        ("P5\n# 1 2\n3\n#\n 2\t65535 ", true),
        ("P6 3 2 255", false),
        ("P6 3 2\n", false),
        ("P63 2 255\n", false),
        ("P6 3 -2 255\n", false),
        ("P4 3 2\n", true),
        ("P4 3\n", false),
        ("P7\nWIDTH 3\nHEIGHT 2\nDEPTH 3\nMAXVAL 255\nENDHDR\n", true),
        ("P7\nWIDTH 3\n", false),
    ] {
        let bytes = [head.as_bytes(), &[1; 64]].concat();
        let exact = if is_one { only(0..head.len()).to_vec() } else { Vec::new() };
        assert_eq!(exact_ranges(&bytes, 9), exact, "{head:?}");
    }
    // Samples in text are exact too: a wrong digit is another number, or none.
    for text in ["P1\n3 2\n1 0 1 0 1 0\n", "P2 # a\n3 1 255\n7 8 9\n", "P3 1 1 255\n1 2 3 "] {
        assert_eq!(exact_ranges(text.as_bytes(), 9), only(0..text.len()), "{text:?}");
    }
    assert_eq!(exact_ranges(b"P3 is a text", 9), only(0..12), "as any other text");
}

#[test]
fn the_boxes_of_a_film_are_exact_but_for_its_samples() {
    let mut bytes = b"\0\0\0\x0cftypisom\0\0\0\x0amoovab\0\0\0\x28mdat".to_vec();
    let samples = bytes.len()..bytes.len() + 32;
    bytes.extend([0; 32]);
    bytes.extend(b"\0\0\0\x09freex");
    assert_eq!(exact_ranges(&bytes, 9), [0..samples.start, samples.end..bytes.len()]);
}

fn page(number: u8, body: &[u8]) -> Vec<u8> {
    let mut page = b"OggS\0\0".to_vec();
    page.extend([0; 12]);
    page.extend([number, 0, 0, 0, 0, 0, 0, 0, 1, body.len() as u8]);
    page.extend(body);
    let check = ogg::checksum(&page);
    page[22..26].copy_from_slice(&check.to_le_bytes());
    page
}

#[test]
fn pages_of_ogg_keep_their_headers_and_get_their_checks_back() {
    let mut bytes: Vec<u8> = (0..6).flat_map(|number| page(number, &[number; 200])).collect();
    let length = bytes.len() / 6;
    let exact = exact_ranges(&bytes, 100);
    let headers = (3..6).map(|number| number * length..number * length + 28);
    let first = core::iter::once(0..3 * length + 28);
    assert_eq!(exact, first.chain(headers.skip(1)).collect::<Vec<_>>());
    bytes[4 * length + 50] ^= 4;
    let before = bytes.clone();
    restore_checks(&mut bytes, &only(4 * length + 40..4 * length + 60));
    let page = &mut bytes[4 * length..5 * length];
    let written = u32::from_le_bytes([page[22], page[23], page[24], page[25]]);
    page[22..26].fill(0);
    assert_eq!(ogg::checksum(page), written);
    assert_eq!(before[..4 * length], bytes[..4 * length]);
}

#[test]
fn the_checksum_of_ogg_is_that_of_its_reference() {
    // CRC-32 with these parameters and without inversions: the check value of CRC-32/MPEG-2 less
    // its initial value is known as 0x89a1897f.
    assert_eq!(ogg::checksum(b"123456789"), 0x89a1_897f);
}

#[test]
fn too_many_ranges_are_joined_where_they_are_closest() {
    let ranges = vec![0..2, 10..12, 13..15, 15..15, 40..42];
    assert_eq!(join_closest(ranges.clone(), 9), [0..2, 10..12, 13..15, 40..42]);
    assert_eq!(join_closest(ranges.clone(), 2), [0..15, 40..42]);
    assert_eq!(join_closest(ranges, 0), only(0..42));
}

#[test]
fn no_bytes_make_the_structure_panic() {
    cut_everywhere(&[b"RIFF\0\0\0\0WAVEdata\xff\xff\xff\xff", b"OggS", b"\x93NUMPY"]);
    cut_everywhere(&[
        b"BM\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x28\0\0\0",
        b"P6 # a\n1 1 255\n",
        b"P5#",
    ]);
    let film = [b"\0\0\0\x01ftyp".as_slice(), &[0xff; 8]].concat();
    cut_everywhere(&[&film, &[0xff, 0xd8, 0xff], &[0xff, 0xd8, 0xff, 0xda, 0xff, 0xff]]);
}

/// Cuts each file everywhere, and asks for its structure.
fn cut_everywhere(files: &[&[u8]]) {
    for file in files {
        for end in 0..=file.len() {
            let mut bytes = file[..end].to_vec();
            let exact = exact_ranges(&bytes, 4);
            assert!(exact.iter().all(|range| range.end <= end), "{bytes:?}: {exact:?}");
            let whole = 0..end;
            let _ = intolerable(&bytes, core::slice::from_ref(&whole));
            restore_checks(&mut bytes, core::slice::from_ref(&whole));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_have_a_structure(
        magic in prop::sample::select(vec![
            &b"\xff\xd8\xff"[..], b"\0\0\0\x10ftyp", b"\x93NUMPY\x02\0", b"OggS", b"RIFFxxxxWAVE",
            b"P6 ", b"BM\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x28\0\0\0",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
        cut in 0..200_usize,
    ) {
        let mut bytes = [magic, &rest].concat();
        let end = bytes.len();
        let exact = exact_ranges(&bytes, 5);
        prop_assert!(exact.len() <= 5 && exact.iter().all(|it| it.start < it.end && it.end <= end));
        prop_assert!(exact.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", exact);
        let damaged = only(cut.min(end)..end);
        let _ = intolerable(&bytes, &damaged);
        restore_checks(&mut bytes, &damaged);
    }
}
