//! Texts: playlists, subtitles and others that are served under the types of sound and films.

/// The first bytes that tell a text.
const LOOK: usize = 4_096;
/// The marks at the beginning of a text in UTF-16.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// Tells whether the first bytes are those of a text, whatever its encoding: no sound and no film
/// goes without control characters for long.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let look = &bytes[..bytes.len().min(LOOK)];
    if let Some((mark, rest)) = look.split_first_chunk()
        && let Some(first) = UTF_16.iter().position(|it| it == mark)
    {
        // Of most characters that a text begins with one byte is zero, and the other is plain.
        let characters = rest.chunks_exact(2).take(16).map(|it| (it[1 - first], it[first]));
        return characters.into_iter().all(|(high, low)| high == 0 && !is_control(low));
    }
    !look.is_empty() && !look.iter().any(|byte| is_control(*byte))
}

/// Tells whether a byte is a control character that stands in no text.
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=8 | 11 | 14..=26 | 28..=31 | 127)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_encoding_are_told_from_sound() {
        let utf_16 = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            core::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
        };
        let playlist = "#EXTM3U\r\n#EXTINF:10,été\nfirst.ts\n";
        for text in [
            playlist.as_bytes().to_vec(),
            b"caf\xe9.mp3\n\t".to_vec(),
            b"WEBVTT".to_vec(),
            utf_16("1\r\n00:00:01,000", u16::to_le_bytes),
            utf_16("1\r\n00:00:01,000", u16::to_be_bytes),
        ] {
            assert!(is_text(&text), "{text:?}");
        }
        for other in [&b""[..], b"ID3\x04\0\0", b"\xff\xfb\x90\0", b"\xff\xfe\x90\xc4\x01\x02"] {
            assert!(!is_text(other), "{other:?}");
        }
    }

    #[test]
    fn a_text_is_exact_as_a_whole_however_long() {
        let long = "#EXTINF:10,\nsegment.ts\n".repeat(10_000).into_bytes();
        let exact = super::super::exact_ranges(&long, 10);
        assert_eq!(exact, Vec::from_iter(Some(0..long.len())));
    }
}
