//! The contents of coded pictures, as far as a receiver looks into them.

/// The type of the units of a stream of H.264.
pub(crate) fn h264_types(stream: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let starts = stream.windows(4).filter(|it| it.starts_with(&[0, 0, 1]));
    starts.map(|it| it[3] & 0x1f)
}

/// The type of the units of a stream of H.265.
pub(crate) fn h265_types(stream: &[u8]) -> impl Iterator<Item = u8> + Clone {
    let starts = stream.windows(4).filter(|it| it.starts_with(&[0, 0, 1]));
    starts.map(|it| it[3] >> 1 & 0x3f)
}

/// Slices of pictures of H.265 (H.265, table 7-1).
pub(crate) const fn is_h265_slice(kind: u8) -> bool {
    matches!(kind, 0..=9 | 16..=21)
}

/// Sequence parameter sets of H.265.
pub(crate) const fn is_h265_set(kind: u8) -> bool {
    kind == 33
}

/// Slices of pictures, whole or the first partition of them.
pub(crate) const fn is_h264_slice(kind: u8) -> bool {
    matches!(kind, 1 | 2 | 5)
}

/// Sequence parameter sets, without which nothing can be decoded.
pub(crate) const fn is_h264_set(kind: u8) -> bool {
    kind == 7
}

/// Tells whether the header of a picture of H.263 stands in it: a start code, the two bits that are
/// always 1 and 0 (H.263, section 5.1.3), and a source format that there is.
pub(crate) fn has_h263_picture(picture: &[u8]) -> bool {
    const EXTENDED: u8 = 7;
    picture.windows(6).any(|it| {
        let has_code = it[..2] == [0, 0] && it[2] & 0xfc == 0x80 && it[3] & 3 == 2;
        let format = it[4] >> 2 & 7;
        // Behind the extended type stands whether it is told in full: 0 or 1 of three bits.
        let is_extended = format == EXTENDED && it[4] & 3 == 0;
        has_code && ((1..=5).contains(&format) || is_extended)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_pictures_are_told_from_other_bytes() {
        // QCIF, an intra picture; an extended type; then a start code of a group, and other bits.
        assert!(has_h263_picture(&[9, 0, 0, 0x80, 0x02, 0x08, 1]));
        assert!(has_h263_picture(&[0, 0, 0x81, 0xfe, 0x1c, 0x40]));
        assert!(!has_h263_picture(&[0, 0, 0x84, 0x02, 0x08, 1]));
        assert!(!has_h263_picture(&[0, 0, 0x80, 0x01, 0x08, 1]));
        assert!(!has_h263_picture(&[0, 0, 0x80, 0x02, 0x00, 1]));
        assert!(!has_h263_picture(&[]));
        let kinds: Vec<_> = h264_types(&[0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x65, 0, 0, 1]).collect();
        assert_eq!(kinds, [7, 5]);
        assert!(is_h264_set(kinds[0]) && is_h264_slice(kinds[1]));
    }
}
