//! Parts of protected files.

use windfall_media::{ProtectedArrival, protect};

/// The bytes that an arrival may keep here.
const ROOM: usize = 1 << 18;

/// Parts, each behind its length of two bytes, and the same bytes as a file to protect, which comes
/// back if it is no picture.
pub fn protected(bytes: &[u8]) {
    let mut arrival = ProtectedArrival::within(ROOM);
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(behind.len());
        let (part, next) = behind.split_at(length);
        let _ = arrival.push(part);
        rest = next;
    }
    if let Ok(file) = arrival.restore() {
        assert!(file.bytes.len() <= 2 * ROOM);
    }
    let Ok(parts) = protect(bytes, 128) else { return };
    let mut arrival = ProtectedArrival::default();
    for part in &parts {
        assert!(part.exact <= part.bytes.len() && part.bytes.len() <= 128);
        arrival.push(&part.bytes).expect("a part of our own");
    }
    assert_eq!((arrival.missing(), arrival.damaged().count()), (0, 0));
    let file = arrival.restore().expect("nothing is missing");
    if bytes.starts_with(b"\x93NUMPY") {
        assert_eq!(file.bytes, bytes);
    }
}
