//! Texts: playlists, subtitles and others that are served under the types of sound and films.

/// The first bytes that tell a text.
const LOOK: usize = 4_096;
/// The character that ends a text of DOS (Ctrl-Z).
const END: u8 = 0x1a;
/// The marks at the beginning of a text in UTF-16.
const UTF_16: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// Tells whether the first bytes are those of a text, whatever its encoding: no sound and no film
/// goes without control characters for long.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let bytes = without_end(bytes);
    let look = &bytes[..bytes.len().min(LOOK)];
    if let Some((mark, rest)) = look.split_first_chunk()
        && let Some(first) = UTF_16.iter().position(|it| it == mark)
    {
        // Of most characters that a text begins with one byte is zero, and the other is plain.
        let rest = rest.strip_suffix(&[END, 0]).unwrap_or(rest);
        let characters = rest.chunks_exact(2).take(16).map(|it| (it[1 - first], it[first]));
        return characters.into_iter().all(|(high, low)| high == 0 && !is_control(low));
    }
    !look.is_empty() && !look.iter().any(|byte| is_control(*byte))
}

/// Returns a text without the characters that end those of DOS and fill up their last block.
fn without_end(bytes: &[u8]) -> &[u8] {
    let length = bytes
        .iter()
        .rposition(|byte| *byte != END && !byte.is_ascii_whitespace())
        .map_or(0, |last| last + 1);
    if bytes[length..].contains(&END) { &bytes[..length] } else { bytes }
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
    fn a_text_that_ends_as_those_of_dos_do_is_one() {
        let short = b"#EXTM3U\r\na.mp3\r\n".to_vec();
        let long = [&short[..], &b"a.mp3\r\n".repeat(1_000)].concat();
        for text in [&short, &long] {
            for end in [&b"\x1a"[..], &[0x1a; 127], b"\x1a\r\n", b"\x1a\n\x1a"] {
                let text = [&text[..], end].concat();
                let exact = super::super::exact_ranges(&text, 10);
                assert_eq!(exact, Vec::from_iter(Some(0..text.len())), "{end:?}");
            }
        }
        // Padding that begins before the bytes that are looked at end.
        let padded = [&b"a".repeat(LOOK - 10)[..], &[0x1a; 128]].concat();
        assert!(is_text(&padded));
        for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            let text: Vec<u8> = [0xfeff, 0x61, 0x1a].into_iter().flat_map(order).collect();
            assert!(is_text(&text));
        }
        for other in
            [&b"a\x1ab"[..], b"\x1a", b"\x1a\x1a\r\n", b"\x1aabc", b"a\0\x1a", b"\xff\xfe\x1a\0a\0"]
        {
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
