//! The portable bitmaps, graymaps and pixmaps (PBM, PGM, PPM, PAM): a header in text, and samples,
//! as bytes or as text. In text every byte counts: a wrong one makes a number another, or none.

use core::ops::Range;

/// The line that ends the header of a PAM.
const PAM_END: &[u8] = b"ENDHDR\n";

/// Returns the header, or all of a file in text.
pub(super) fn exact(bytes: &[u8]) -> Vec<Range<usize>> {
    let is_text = matches!(bytes, [b'P', b'1'..=b'3', ..]);
    let end = header(bytes).map(|end| if is_text { bytes.len() } else { end });
    end.map(|end| 0..end).into_iter().collect()
}

/// Tells whether a file is one: `P1` to `P6` and two or three numbers, or a header of PAM.
pub(super) fn is_pnm(bytes: &[u8]) -> bool {
    header(bytes).is_some()
}

/// Returns the length of the header: numbers apart by white space and comments from `#` to the
/// end of the line, and one more white space.
fn header(bytes: &[u8]) -> Option<usize> {
    // Width and height, and unless samples are bits the greatest sample.
    let numbers = match bytes {
        [b'P', b'1' | b'4', ..] => 2,
        [b'P', b'2' | b'3' | b'5' | b'6', ..] => 3,
        [b'P', b'7', b'\n', ..] => {
            let at = bytes.windows(PAM_END.len()).position(|it| it == PAM_END);
            return at.map(|at| at + PAM_END.len());
        }
        _ => return None,
    };
    let mut at = 2;
    for _ in 0..numbers {
        let after = space(bytes, at)?;
        at = after + bytes[after..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (at > after).then_some(())?;
    }
    bytes.get(at).filter(|byte| byte.is_ascii_whitespace()).map(|_| at + 1)
}

/// Returns the place behind white space and comments, of which there is some.
fn space(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'#' => at += bytes[at..].iter().position(|byte| *byte == b'\n')?,
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return (at > from).then_some(at),
        }
    }
}
