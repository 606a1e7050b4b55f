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

/// The ranges that overlap a place where something is wrong, found by comparing all pairs.
fn intolerable_by_pairs(bytes: &[u8], damaged: &[Range<usize>]) -> Vec<Range<usize>> {
    let overlap = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
    let mut wrong = Vec::new();
    // One scan, whose data begin after its header.
    let mut at = 6;
    let mut good = 6;
    let mut expected = 0xd0;
    loop {
        let here = (at..bytes.len() - 1).find(|at| bytes[*at] == 0xff && bytes[at + 1] != 0xff);
        let Some(here) = here else {
            wrong.push(good..bytes.len());
            break;
        };
        at = here + 2;
        let place = here..here + 2;
        let code = bytes[here + 1];
        let is_restart = (0xd0..0xd8).contains(&code);
        if code == 0 {
            continue;
        } else if is_restart && code == expected {
            (good, expected) = (at, 0xd0 + (code - 0xd0 + 1) % 8);
        } else if damaged.iter().any(|it| overlap(it, &place)) {
            wrong.push(place);
        } else if is_restart {
            wrong.push(good..here);
            (good, expected) = (at, 0xd0 + (code - 0xd0 + 1) % 8);
        } else {
            break;
        }
    }
    if damaged.iter().any(|it| it.start < 2) {
        wrong.push(0..2);
    }
    let is_wrong = |it: &&Range<usize>| wrong.iter().any(|place| overlap(it, place));
    damaged.iter().filter(is_wrong).cloned().collect()
}

/// The beginning of a JPEG with nothing before its scan, whose data follow.
const SCAN: [u8; 6] = [0xff, 0xd8, 0xff, 0xda, 0, 2];

proptest! {
    #[test]
    fn the_intolerable_ranges_are_those_that_overlap_something_wrong(
        data in prop::collection::vec(
            prop::sample::select(vec![0xff_u8, 0, 1, 0xd0, 0xd1, 0xd2, 0xd7, 0xd9]), 1..60),
        damaged in prop::collection::vec((0_usize..66, 1_usize..9), 0..9),
    ) {
        let bytes = [&SCAN[..], &data].concat();
        let damaged: Vec<_> = damaged.into_iter().map(|(at, len)| at..at + len).collect();
        let expected = intolerable_by_pairs(&bytes, &damaged);
        prop_assert_eq!(intolerable(&bytes, &damaged), expected, "{:?}", bytes);
    }
}

#[test]
fn many_markers_and_many_damaged_ranges_are_judged_at_once() {
    const COUNT: usize = 100_000;
    // A restart that is not due, in each piece, whose damage lies within the marker or beside it:
    // all pairs would be ten thousand million.
    let mut bytes = SCAN.to_vec();
    (0..COUNT).for_each(|_| bytes.extend([0xff, 0xd5, 1, 1]));
    let pieces = |shift: usize| {
        (0..COUNT)
            .map(move |piece| SCAN.len() + 4 * piece + shift..SCAN.len() + 4 * piece + shift + 1)
    };
    let within: Vec<_> = pieces(1).collect();
    assert_eq!(intolerable(&bytes, &within), within);
    let beside: Vec<_> = pieces(3).collect();
    assert_eq!(intolerable(&bytes, &beside), beside);
    let backwards: Vec<_> = pieces(1).rev().collect();
    assert_eq!(intolerable(&bytes, &backwards), backwards);
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

/// A chunk with its length in four bytes.
fn chunk(name: &[u8; 4], body: &[u8], is_big: bool) -> Vec<u8> {
    let length = body.len() as u32;
    let length = if is_big { length.to_be_bytes() } else { length.to_le_bytes() };
    let padding = &[0][..body.len() % 2];
    [name, &length[..], body, padding].concat()
}

/// The ranges of a file of which `samples` bytes of 7 are not exact.
fn all_but_sevens(bytes: &[u8], samples: usize) -> Vec<Range<usize>> {
    let start = bytes.iter().position(|byte| *byte == 7).expect("samples");
    [0..start, start + samples..bytes.len()].into_iter().filter(|it| !it.is_empty()).collect()
}

#[test]
fn the_samples_alone_are_not_exact_in_the_relatives_of_wav() {
    let samples = [7; 101];
    let mut files = Vec::new();
    for (name, form) in [(b"RF64", b"WAVE"), (b"BW64", b"WAVE")] {
        // The lengths of samples and of another chunk are in the first one.
        let mut long = [500_u64, 101, 50].map(u64::to_le_bytes).concat();
        long.extend([1, 0, 0, 0]);
        long.extend(b"LONG");
        long.extend(11_u64.to_le_bytes());
        let mut elsewhere = chunk(b"LONG", b"eleven\0\0\0\0\0", false);
        elsewhere[4..8].fill(0xff);
        let mut data = chunk(b"data", &samples, false);
        data[4..8].fill(0xff);
        let begin = [name, &[0xff; 4][..], form, &chunk(b"ds64", &long, false)].concat();
        files.push([&begin[..], &elsewhere, &data, &chunk(b"LIST", b"ab", false)].concat());
        // A short file of the kind has its lengths where WAV has them.
        let short = chunk(b"data", &samples, false);
        files.push([&begin[..], &short, &chunk(b"LIST", b"ab", false)].concat());
    }
    let format = chunk(b"fmt ", b"abc", true);
    files.push(
        [b"RIFX\0\0\0\0WAVE", &format[..], &chunk(b"data", &samples, true), b"abcd"].concat(),
    );
    let sound = [&[0; 8][..], &samples].concat();
    for form in [b"AIFF", b"AIFC"] {
        let sound = chunk(b"SSND", &sound, true);
        files.push([b"FORM\0\0\0\0", &form[..], &chunk(b"COMM", b"abc", true), &sound].concat());
    }
    let core = |name: &[u8], length: i64| [name, &length.to_be_bytes()].concat();
    let begin = [b"caff\0\x01\0\0", &core(b"desc", 3)[..], b"abc"].concat();
    files.push([&begin[..], &core(b"data", 105), &[0; 4], &samples, &core(b"free", 0)].concat());
    files.push([&begin[..], &core(b"data", -1), &[0; 4], &samples].concat());
    files.push([b".snd\0\0\0\x1c\0\0\0\x65", &[0; 16][..], &samples, b"more"].concat());
    files.push([b".snd\0\0\0\x1c\xff\xff\xff\xff", &[0; 16][..], &samples].concat());
    files.push([b"fLaC\0\0\0\x02ab\x84\0\0\x03abc", &samples[..]].concat());
    let riff = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00";
    let wave = b"wave\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a";
    let data = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a";
    let list = |name: &[u8], body: &[u8]| {
        let length = 24 + body.len() as u64;
        let padding = &[0; 8][..body.len().next_multiple_of(8) - body.len()];
        [name, &length.to_le_bytes(), body, padding].concat()
    };
    let chunks = [
        list(b"fmt 567890123456", b"an odd length"),
        list(data, &samples),
        list(b"levl567890123456", b"ab"),
    ]
    .concat();
    files.push([riff, &[0; 8][..], wave, &chunks].concat());
    for file in files {
        let name = String::from_utf8_lossy(&file[..12]).into_owned();
        assert_eq!(exact_ranges(&file, 9), all_but_sevens(&file, 101), "{name:?}");
        for end in 0..file.len() {
            let exact = exact_ranges(&file[..end], 9);
            let is_first = exact.first().is_none_or(|it| it.start == 0);
            assert!(is_first && exact.iter().all(|it| it.end <= end), "{name:?} {end}");
        }
    }
}

#[test]
fn chunks_that_are_not_understood_are_exact_as_a_whole() {
    for file in [
        &b"RF64\xff\xff\xff\xffWAVEdata\xff\xff\xff\xff\x01\x02\x03\x04"[..],
        b"RF64\xff\xff\xff\xffWAVEds64\x04\0\0\0\0\0\0\0data\xff\xff\xff\xff",
        b"RIFX\0\0\0\x08AVI \x01\x02\x03\x04",
        b"FORM\0\0\0\x088SVX\x01\x02\x03\x04",
        b"caff\0\x01\0\0data\x80\0\0\0",
        b"fLaC\0\0\0\x02ab\x04\0",
        b".snd\0\0\0\x01\0\0\0\x01\0\0\0\x01",
    ] {
        assert_eq!(exact_ranges(file, 9), only(0..file.len()), "{file:?}");
    }
}

#[test]
fn the_headers_of_several_arrays_in_a_file_are_exact() {
    let array = |kind: &str, shape: &str, numbers: usize| {
        let text = format!("{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.bytes());
        let header = file.len();
        file.resize(header + numbers, 0xff);
        (file, header)
    };
    let (first, end) = array("'<f8'", "(3, 2)", 48);
    let (second, second_end) = array("[('a', '<i4'), ('b', '|S3', (2,))]", "()", 10);
    let file = [&first[..], &second, &first].concat();
    let at = first.len() + second.len();
    let headers = [0..end, first.len()..first.len() + second_end, at..at + end];
    assert_eq!(exact_ranges(&file, 9), headers);
    // Something else behind an array, and objects, whose length no header tells.
    let file = [&first[..], b"\x80\x04K\x01."].concat();
    assert_eq!(exact_ranges(&file, 9), [0..end, first.len()..file.len()]);
    let (objects, _) = array("'|O'", "(2,)", 30);
    assert_eq!(exact_ranges(&objects, 9), only(0..objects.len()));
}

#[test]
fn the_headers_of_several_pictures_in_a_file_are_exact() {
    let pictures = [
        ("P6\n3 2\n255\n", 18),
        ("P6 3 2 1023\n", 36),
        ("P5 3 2 255\n", 6),
        ("P4 9 2\n", 4),
        ("P7\nWIDTH 3\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n", 24),
    ];
    for between in ["", "\n", " \r\n"] {
        let mut file = Vec::new();
        let mut headers = Vec::new();
        for (header, samples) in pictures {
            let start = if file.is_empty() { 0 } else { file.len() - between.len() };
            headers.push(start..file.len() + header.len());
            file.extend(header.as_bytes());
            file.extend(vec![0x80; samples]);
            file.extend(between.as_bytes());
        }
        assert_eq!(exact_ranges(&file, 9), headers, "{between:?}");
    }
    let text = b"P5 3 2 255\n\x80\x80\x80\x80\x80\x80P2 1 1 255\n12\n";
    assert_eq!(exact_ranges(text, 9), [0..11, 17..text.len()], "a picture in text");
    for huge in ["P6 99999999999999999999999 9 255\n", "P5 18446744073709551615 2 255\n"] {
        let file = [huge.as_bytes(), &[0x80; 64]].concat();
        assert_eq!(exact_ranges(&file, 9), only(0..file.len()), "{huge}");
    }
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

/// A bitmap of version 5 whose colour profile of `profile` bytes stands at `place` from the second
/// header on, behind 300 bytes of pixels.
fn bitmap_with_profile(space: &[u8; 4], place: u32, profile: u32) -> Vec<u8> {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x8a\0\0\0\x7c\0\0\0".to_vec();
    bytes.resize(14 + 124, 0);
    bytes[14 + 56..][..4].copy_from_slice(space);
    bytes[14 + 112..][..4].copy_from_slice(&place.to_le_bytes());
    bytes[14 + 116..][..4].copy_from_slice(&profile.to_le_bytes());
    bytes.resize(14 + 124 + 300 + 100, 7);
    bytes
}

#[test]
fn the_colour_profile_behind_the_pixels_of_a_bitmap_is_exact() {
    let behind = 14 + 124 + 300;
    for space in [b"DEBM", b"KNIL"] {
        let bytes = bitmap_with_profile(space, 124 + 300, 100);
        assert_eq!(exact_ranges(&bytes, 9), [0..138, behind..behind + 100]);
        let bytes = bitmap_with_profile(space, 124 + 300 + 10, 50);
        assert_eq!(exact_ranges(&bytes, 9), [0..138, behind + 10..behind + 60]);
        for length in [101, u32::MAX] {
            let bytes = bitmap_with_profile(space, 124 + 300, length);
            assert_eq!(exact_ranges(&bytes, 9), [0..138, behind..behind + 100], "cut off");
        }
        for (place, length) in [(124, 0), (0, 124), (u32::MAX, u32::MAX), (424, 0)] {
            let bytes = bitmap_with_profile(space, place, length);
            assert_eq!(exact_ranges(&bytes, 9), only(0..138), "{place} {length}");
        }
    }
    // A space of colours by its name has no profile, and older headers have no place for one.
    assert_eq!(exact_ranges(&bitmap_with_profile(b"BGRs", 424, 100), 9), only(0..138));
    let mut older = bitmap_with_profile(b"DEBM", 424, 100);
    older[14] = 108;
    assert_eq!(exact_ranges(&older, 9), only(0..138));
}

#[test]
fn comments_right_behind_the_last_number_belong_to_the_header_of_a_pixmap() {
    for head in [
        "P6\n3 2\n255#c\n\n",
        "P6\n3 2\n255#c\n",
        "P6\n3 2\n255# a\n# b\n\t",
        "P6#a\n3#b\n2#c\n255#d\r\n\n",
        "P6\n3 2\n255#c\r\r",
        "P6\r# a\r3 2\r255\r",
        "P6\n3 2\n255#\n ",
    ] {
        let bytes = [head.as_bytes(), &[7; 18]].concat();
        assert_eq!(exact_ranges(&bytes, 9), only(0..head.len()), "{head:?}");
    }
    let bits = [&b"P4 9 1#c\n\n"[..], &[0xf0; 2]].concat();
    assert_eq!(exact_ranges(&bits, 9), only(0..10));
    assert_eq!(exact_ranges(b"P6 3 2 255#a comment without an end", 9), only(0..35), "a text");
    let two = [&b"P5 3 1 255#c\n\nabcP5 2 1 9 "[..], b"xy"].concat();
    assert_eq!(exact_ranges(&two, 9), [0..14, 17..26]);
}

#[test]
fn the_line_that_ends_a_header_of_pam_is_a_line_of_its_own() {
    for end in
        ["#ENDHDR\nENDHDR\n", "# ENDHDR\nENDHDR \n", "TUPLTYPE ENDHDR\n ENDHDR\t\n", "ENDHDR\r\n"]
    {
        let head = format!("P7\nWIDTH 3\nHEIGHT 2\nDEPTH 3\nMAXVAL 255\n{end}");
        let bytes = [head.as_bytes(), &[7; 18]].concat();
        assert_eq!(exact_ranges(&bytes, 9), only(0..head.len()), "{end:?}");
    }
}

#[test]
fn the_header_of_a_pixmap_is_exact() {
    for (head, samples) in [
        ("P6 3 2 255\n", Some(18)),
        ("P5\n# 1 2\n3\n#\n 2\t65535 ", Some(12)),
        ("P6 3 2 255", None),
        ("P6 3 2\n", None),
        ("P63 2 255\n", None),
        ("P6 3 -2 255\n", None),
        ("P4 3 2\n", Some(2)),
        ("P4 3\n", None),
        ("P7\nWIDTH 3\nHEIGHT 2\nDEPTH 3\nMAXVAL 255\nENDHDR\n", Some(18)),
        ("P7\nWIDTH 3\n", None),
    ] {
        let bytes = [head.as_bytes(), &[1; 64]].concat();
        // What is behind the samples and no picture is exact too.
        let exact = samples.map(|it| [0..head.len(), head.len() + it..bytes.len()]);
        let exact = exact.map(Vec::from).unwrap_or_default();
        assert_eq!(exact_ranges(&bytes, 9), exact, "{head:?}");
    }
    // Samples in text are exact too: a wrong digit is another number, or none.
    for text in ["P1\n3 2\n1 0 1 0 1 0\n", "P2 # a\n3 1 255\n7 8 9\n", "P3 1 1 255\n1 2 3 "] {
        assert_eq!(exact_ranges(text.as_bytes(), 9), only(0..text.len()), "{text:?}");
    }
    assert_eq!(exact_ranges(b"P3 is a text", 9), only(0..12), "as any other text");
}

#[test]
fn nothing_but_white_space_is_passed_between_pictures() {
    let picture = b"P5 2 1 255\n\x80\x80";
    // Each of these was read to the end of the file from each of its letters on.
    for foreign in ["P", "P7\n", "P5#", "P6 1 1 1#", "xP5 2 1 255\n", "P5 2 \x0b"] {
        for space in ["", "\n", " \r\n\t"] {
            let rest = [space, &foreign.repeat(60_000)].concat();
            let file = [&picture[..], rest.as_bytes(), picture].concat();
            assert_eq!(exact_ranges(&file, 9), [0..11, 13..file.len()], "{foreign:?}");
        }
    }
}

#[test]
fn a_header_in_text_is_looked_for_in_64_kib() {
    let header = |comment: usize| format!("P5 #{}\n2 1 255\n", "c".repeat(comment));
    let pam = |comment: usize| {
        let comment = "c".repeat(comment);
        format!("P7\n#{comment}\nWIDTH 2\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\n")
    };
    for header in [&header as &dyn Fn(usize) -> String, &pam] {
        let most = (1 << 16) - header(0).len();
        for (comment, is_one) in [(most, true), (most + 1, false), (1 << 20, false)] {
            let bytes = [header(comment).as_bytes(), &[1; 2]].concat();
            assert_eq!(pnm::is_pnm(&bytes), is_one, "{comment}");
            let bytes = [b"P4 1 1\n\x80", &bytes[..]].concat();
            let exact = bytes.len() - if is_one { 2 } else { 0 };
            assert_eq!(exact_ranges(&bytes, 9), [0..7, 8..exact], "{comment}");
        }
    }
}

#[test]
fn behind_4096_pictures_or_arrays_everything_is_exact() {
    let array = b"\x93NUMPY\x01\x00\x1d\x00{'descr': '|u1', 'shape': ()}\x80";
    for (one, header) in [(&b"P4 1 1\n\x80"[..], 7), (array, array.len() - 1)] {
        let file = one.repeat(6_000);
        let exact = exact_ranges(&file, 10_000);
        assert_eq!((exact.len(), exact[1].len()), (4_097, header));
        assert_eq!(exact[4_096], 4_096 * one.len()..file.len());
    }
    // Headers that touch are one range.
    for one in [&b"P4 0 0\n"[..], b"\x93NUMPY\x01\x00\x00\x00"] {
        let file = one.repeat(100_000);
        assert_eq!(exact_ranges(&file, 10_000), only(0..file.len()));
    }
}

#[test]
fn a_file_of_many_short_samples_has_as_many_ranges_as_were_asked_for() {
    let pages = page(1, b"a").repeat(200_000);
    let boxes = [&b"\0\0\0\x08ftyp"[..], &b"\0\0\0\x09mdata".repeat(200_000)].concat();
    let chunks = [&b"FORM\0\0\0\0AIFF"[..], &b"SSND\0\0\0\x0912345678a\0".repeat(200_000)];
    let scans = [&b"\xff\xd8"[..], &b"\xff\xda\0\x02a".repeat(200_000)].concat();
    let restarts = [&b"\xff\xd8\xff\xda\0\x02"[..], &b"a\xff\xd0".repeat(200_000)].concat();
    for file in [pages, boxes, chunks.concat(), scans, restarts] {
        let exact = exact_ranges(&file, 100);
        assert!(!exact.is_empty() && exact.len() <= 100, "{}", exact.len());
    }
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
fn damage_in_any_order_is_found_in_as_many_pages_as_a_file_may_have() {
    let pages = 300_000;
    let one = page(3, b"");
    let wrong = [&one[..22], &[0; 4], &one[26..]].concat();
    let mut bytes = wrong.repeat(pages);
    // Every second page, which were all held against all ranges.
    let damaged = (0..pages).rev().step_by(2).map(|at| at * one.len() + 5..at * one.len() + 9);
    restore_checks(&mut bytes, &damaged.collect::<Vec<_>>());
    for (at, page) in bytes.chunks(one.len()).enumerate() {
        assert_eq!(page == one, at % 2 == 1, "page {at}");
    }
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
    cut_everywhere(&[
        b"caff\0\x01\0\0data\x7f\xff\xff\xff\xff\xff\xff\xff",
        b"fLaC\x80\xff\xff\xff",
    ]);
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
            b"RF64\xff\xff\xff\xffWAVEds64",
            b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00",
            b"FORM\0\0\0\0AIFFSSND", b"caff\0\x01\0\0data", b".snd", b"fLaC",
            b"P5 2 1 255\n\x80\x80P", b"P6 ", b"P5#", b"P7\n", b"P4 0 0\nP4 0 0\nP4 1 1\n\x80",
            b"\x93NUMPY\x01\0\0\0\x93NUMPY\x01\0", b"\x93NUMPY\x02\0\x08\0\0\0{[([{[([",
            b"RF64\xff\xff\xff\xffWAVEds64\x28\0\0\0",
            b"BM\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x28\0\0\0",
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
