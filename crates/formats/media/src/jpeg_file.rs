//! JPEG files as cameras and programs write them: what no decoder here reads is told by its name,
//! and a file that ends too early is called cut off (ITU-T T.81, annex B).

mod scan;

use image::ImageDecoder;
use image::metadata::Orientation;

use crate::error::PictureError;
pub(crate) use scan::lacks_blocks;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const SOS: u8 = 0xda;
const DAC: u8 = 0xcc;
/// The number of lines, behind the scan of a frame that does not tell it (B.2.5).
const DNL: u8 = 0xdc;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
/// Markers without a segment: TEM, RST0 to RST7.
const ALONE: [u8; 9] = [0x01, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7];
/// The tag of the orientation in EXIF.
const ORIENTATION: u32 = 0x0112;
/// The longest segment without its length field, in bytes.
const LONGEST: usize = u16::MAX as usize - 2;
/// The words that begin the segments of an ICC profile.
const PROFILE: &[u8] = b"ICC_PROFILE\0";

/// The facts that a viewer must know besides the colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Viewing {
    /// The turn with which the picture is viewed.
    pub(crate) orientation: Orientation,
    /// The ICC profile of the colours, if they have one.
    pub(crate) profile: Option<Vec<u8>>,
}

impl Viewing {
    /// Returns what the `file` of a decoder tells. Of several EXIF headers the first counts, as for
    /// viewers; the decoder has the last one.
    pub(crate) fn of(decoder: &mut impl ImageDecoder, file: &[u8]) -> Self {
        // The colours become red, green and blue: a profile of other colours holds no longer.
        let profile = decoder.icc_profile().ok().flatten();
        let profile = profile.filter(|it| it.get(PROFILE_SPACE) == Some(RGB_SPACE));
        let orientation = first_exif(file).and_then(orientation);
        Self { orientation: orientation.unwrap_or(Orientation::NoTransforms), profile }
    }
}

impl Default for Viewing {
    fn default() -> Self {
        Self { orientation: Orientation::NoTransforms, profile: None }
    }
}

/// Returns the first EXIF header of a JPEG file, without the words before it.
fn first_exif(file: &[u8]) -> Option<&[u8]> {
    let mut at = 2;
    loop {
        while file.get(at..)?.starts_with(&[0xff, 0xff]) {
            at += 1;
        }
        let [0xff, marker] = *file.get(at..)?.first_chunk()? else { return None };
        at += 2;
        if marker == SOI || ALONE.contains(&marker) {
            continue;
        }
        if marker == SOS || marker == EOI {
            return None;
        }
        let length = usize::from(u16::from_be_bytes(*file.get(at..)?.first_chunk()?)).max(2);
        let body = file.get(at + 2..at + length)?;
        if marker == APP1
            && let Some(exif) = body.strip_prefix(b"Exif\0\0")
        {
            return Some(exif);
        }
        at += length;
    }
}

/// Returns the orientation in the first directory of an EXIF header, whose number may be of any
/// type of whole numbers, though it is to be one of 16 bits (TIFF 6.0, section 2).
fn orientation(exif: &[u8]) -> Option<Orientation> {
    let is_big = match exif.first_chunk()? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let number = |at: usize, length: usize| {
        let bytes = exif.get(at..)?.get(..length)?;
        Some(if is_big {
            bytes.iter().fold(0, append_byte)
        } else {
            bytes.iter().rev().fold(0, append_byte)
        })
    };
    let begin = number(4, 4)? as usize;
    for entry in 0..number(begin, 2)? as usize {
        let at = begin.checked_add(2 + 12 * entry)?;
        if number(at, 2)? != ORIENTATION || number(at + 4, 4)? != 1 {
            continue;
        }
        let length = match number(at + 2, 2)? {
            1 | 6 => 1,
            3 | 8 => 2,
            4 | 9 => 4,
            _ => continue,
        };
        return Orientation::from_exif(u8::try_from(number(at + 8, length)?).ok()?);
    }
    None
}

/// Appends a byte to a number.
fn append_byte(value: u32, byte: &u8) -> u32 {
    value << 8 | u32::from(*byte)
}

/// The place of the colour space in an ICC profile, and that of pictures in red, green and blue.
const PROFILE_SPACE: core::ops::Range<usize> = 16..20;
const RGB_SPACE: &[u8] = b"RGB ";

/// Checks that the picture is whole, and of a kind that can be decoded.
///
/// # Errors
/// If it is cut off, or of another process of the standard.
pub(crate) fn check(bytes: &[u8]) -> Result<(), PictureError> {
    let cut = || PictureError::Cut(bytes.len());
    let mut at = 2;
    let mut lines = None;
    loop {
        // Fill bytes may stand before a marker.
        while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (before, marker) = bytes.get(at).zip(bytes.get(at + 1)).ok_or_else(cut)?;
        if *before != 0xff {
            // Not a marker: the decoder says what it makes of it.
            return Ok(());
        }
        at += 2;
        match *marker {
            EOI => return Ok(()),
            SOI => continue,
            marker if ALONE.contains(&marker) => continue,
            _ => {}
        }
        let length = bytes.get(at..).and_then(|it| it.first_chunk::<2>()).ok_or_else(cut)?;
        let end = at + usize::from(u16::from_be_bytes(*length));
        let body = bytes.get(at + 2..end.max(at + 2)).ok_or_else(cut)?;
        if let Some(what) = unreadable(*marker, body) {
            return Err(PictureError::Process(what));
        }
        match *marker {
            0xc0..=0xc2 => lines = body.get(1..3),
            DNL if body.get(..2) != lines => return Err(PictureError::Process(LINES_LATER)),
            _ => {}
        }
        at = end.max(at + 2);
        if *marker == SOS {
            at += entropy_coded(&bytes[at..]).ok_or_else(cut)?;
        }
    }
}

/// The name of pictures whose height is told behind the first scan.
const LINES_LATER: &str = "DNL (height after the scan)";

/// Returns the name of the process of a frame that cannot be decoded (table B.1).
fn unreadable(marker: u8, frame: &[u8]) -> Option<&'static str> {
    match marker {
        0xc9..=0xcb | 0xcd..=0xcf | DAC => Some("arithmetic-coded"),
        // The second is JPEG-LS (ITU-T T.87).
        0xc3 | 0xf7 => Some("lossless"),
        // Frames that build on others, the segment that announces them, and one that enlarges.
        0xc5..=0xc7 | 0xde | 0xdf => Some("hierarchical"),
        0xc0..=0xc2 if frame.first() == Some(&12) => Some("12-bit"),
        0xc0..=0xc2 if frame.get(1..3) == Some(&[0, 0]) => Some(LINES_LATER),
        _ => None,
    }
}

/// Returns the length of entropy-coded data, which end before a marker that is no restart.
fn entropy_coded(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).position(|pair| {
        pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xff) && !ALONE.contains(&pair[1])
    })
}

/// Returns the segments that tell a viewer what it must know: an EXIF header with the orientation,
/// and the colour profile.
pub(crate) fn segments(viewing: &Viewing) -> Vec<u8> {
    let mut out = Vec::new();
    let orientation = viewing.orientation.to_exif();
    if orientation != 1 {
        let mut exif = b"Exif\0\0".to_vec();
        // TIFF, most significant byte first; a directory at 8 with one entry: tag 0x0112, a number
        // of 16 bits, one of them; no further directory.
        exif.extend(b"MM\0\x2a\0\0\0\x08\0\x01");
        exif.extend(b"\x01\x12\0\x03\0\0\0\x01\0");
        exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
        segment(APP1, &[&exif], &mut out);
    }
    let profile = viewing.profile.as_deref().unwrap_or_default();
    let pieces: Vec<&[u8]> = profile.chunks(LONGEST - PROFILE.len() - 2).collect();
    // A profile of more pieces than the field counts is none that a decoder could have read.
    if let Ok(count) = u8::try_from(pieces.len()) {
        for (number, piece) in (1..=count).zip(pieces) {
            segment(APP2, &[PROFILE, &[number, count], piece], &mut out);
        }
    }
    out
}

fn segment(marker: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend([0xff, marker]);
    out.extend((length as u16 + 2).to_be_bytes());
    parts.iter().for_each(|part| out.extend(*part));
}

#[cfg(test)]
mod tests;
