//! The memory that a restorer takes for each byte that arrived, whatever the parts promise.

use windfall_media::{PROTECTED_HEADER_LEN, Picture, ProtectedArrival, protect};

/// The most bytes of memory for a byte that arrived: what is made of it, and the shortest parts.
const HELD: usize = 32;
const SPARE: usize = 1 << 20;

/// Returns a number that the system tells of this process, in bytes, if it does.
fn status(field: &str) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

/// Restores a file of parts, and holds the memory against the bytes that arrived.
fn holds(name: &str, parts: &[Vec<u8>], is_made: bool) {
    // The peak begins anew.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let Some(before) = status("VmHWM") else { return };
    let mut arrival = ProtectedArrival::default();
    let mut arrived = 0;
    for part in parts {
        arrival.push(part).expect("a part");
        arrived += part.len();
    }
    let made = arrival.restore().map(|file| file.bytes.len());
    let held = status("VmHWM").map_or(0, |peak| peak.saturating_sub(before));
    assert!(held <= HELD * arrived + SPARE, "{name}: {held} bytes are held for {arrived}");
    assert_eq!(made.is_ok(), is_made, "{name}: {made:?} of {arrived}");
    assert!(made.unwrap_or_default() <= 8 * arrived, "{name}");
}

/// The parts of a file, of which those of the head are told first and hold what `promise` makes.
fn parts(file: &[u8], promise: impl FnOnce(&mut Vec<u8>, usize)) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let all = protect(file, 400).expect("a file").into_iter().map(|part| part.bytes);
    let (mut heads, body): (Vec<_>, Vec<_>) = all.partition(|part: &Vec<u8>| part[2] == 0);
    let arrived = heads.iter().chain(&body).map(Vec::len).sum();
    let mut head = heads.iter().flat_map(|it| it[PROTECTED_HEADER_LEN..].to_vec()).collect();
    promise(&mut head, arrived);
    let mut head = &head[..];
    for part in &mut heads {
        let (front, rest) = head.split_at(part.len() - PROTECTED_HEADER_LEN);
        part[PROTECTED_HEADER_LEN..].copy_from_slice(front);
        head = rest;
    }
    (heads, body)
}

#[test]
fn memory_grows_with_what_arrived_and_not_with_what_is_promised() {
    let count = 200_000;
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}\n");
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((text.len() as u16).to_le_bytes());
    array.extend(text.bytes());
    array.extend((0..count * 8).map(|at| (at * 31 % 253) as u8));
    let picture = Picture::draw(1024, 1024, |x, y| {
        let noise = x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(2_246_822_519);
        [(noise >> 9) as u8, (noise >> 14) as u8, (noise >> 19) as u8]
    });
    let picture = picture.and_then(|it| it.to_jpeg(80)).expect("a picture");
    // As much as may be made, and more.
    for (times, is_made) in [(7, true), (9, false), (1_000, false)] {
        let numbers = |head: &mut Vec<u8>, arrived: usize| {
            head[4..12].copy_from_slice(&(times as u64 * arrived as u64).to_be_bytes());
        };
        let (head, body) = parts(&array, numbers);
        holds("an array", &[&head[..], &body].concat(), is_made);
        holds("the head of an array", &head, false);
        let segments = |head: &mut Vec<u8>, arrived: usize| {
            let begin = 4 + u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let lengths = &mut head[begin..];
            let each = (times * arrived / (lengths.len() / 2)).min(65_535) as u16;
            lengths.chunks_exact_mut(2).for_each(|it| it.copy_from_slice(&each.to_be_bytes()));
        };
        let (head, body) = parts(&picture, segments);
        holds("a picture", &[&head[..], &body].concat(), is_made);
        holds("the layout of a picture", &head, false);
    }
    // Units of one byte, with as many zeros before each as a part can tell.
    for kind in [1, 4] {
        let unit = |number: u32| {
            let mut part = vec![0; PROTECTED_HEADER_LEN + 1];
            part[..4].copy_from_slice(&[0xb7, 0x10 | kind, 1, 0x7f]);
            part[7] = PROTECTED_HEADER_LEN as u8 + 1;
            part[8..12].copy_from_slice(&number.to_be_bytes());
            part[16..20].copy_from_slice(&number.to_be_bytes());
            part[27] = 1;
            part[PROTECTED_HEADER_LEN] = 0x65;
            part
        };
        holds("units", &(0..40_000).map(unit).collect::<Vec<_>>(), true);
    }
}
