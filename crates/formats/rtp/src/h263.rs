//! H.263 and H.263+: where pictures and slices begin, and the payload headers of RFC 4629 and 2190.

use windfall_base::Bits;

use crate::error::RtpError;
use crate::payload::VideoPayload;

/// Bytes of the payload header without extra picture header.
const HEADER_LEN: usize = 2;
/// The longest extra picture header that the six bits of its length can hold.
const MAX_PICTURE_HEADER: usize = 63;
/// Bytes of the header of a slice or GOB that a receiver needs exactly, without two null bytes.
const SLICE_HEADER_LEN: usize = 4;
/// The source format that says that PLUSPTYPE follows.
const EXTENDED: u32 = 0b111;

/// The positions of byte-aligned start codes: 16 bits 0 and one bit 1.
pub(crate) fn start_codes(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_start = |at: &usize| matches!(bytes[*at..*at + 3], [0, 0, 0x80..=0xff]);
    (0..bytes.len().saturating_sub(2)).filter(is_start)
}

fn is_picture_start(bytes: &[u8]) -> bool {
    matches!(bytes, [0, 0, 0x80..=0x83, ..])
}

/// Cuts an elementary stream into pictures; what stands before the first is left out.
pub fn pictures(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts: Vec<usize> =
        start_codes(stream).filter(|at| is_picture_start(&stream[*at..])).collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([stream.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &stream[start..end])
}

/// Returns the length of the header of a picture in bits; `None` if it is cut off, is none, or
/// uses options with headers of their own (reference picture selection, resampling).
#[must_use]
pub fn picture_header_bits(picture: &[u8]) -> Option<usize> {
    if !is_picture_start(picture) {
        return None;
    }
    let mut bits = Bits::new(picture);
    // The start code, the temporal reference, and the first five bits of PTYPE.
    bits.take(22)?;
    bits.take(8)?;
    bits.take(5)?;
    let mut has_second_picture = false;
    if bits.take(3)? == EXTENDED {
        has_second_picture = skip_plus_type(&mut bits)?;
        bits.take(5)?;
    } else {
        bits.take(4)?;
        has_second_picture |= bits.flag()?;
        bits.take(5)?;
        if bits.flag()? {
            bits.take(2)?;
        }
    }
    if has_second_picture {
        bits.take(5)?;
    }
    while bits.flag()? {
        bits.take(8)?;
    }
    Some(bits.position())
}

/// Skips PLUSPTYPE and what depends on it; `true` for improved PB frames.
fn skip_plus_type(bits: &mut Bits<'_>) -> Option<bool> {
    let is_full = bits.take(3)? == 1;
    let (mut is_custom, mut has_clock, mut is_unrestricted, mut is_sliced) =
        (false, false, false, false);
    if is_full {
        is_custom = bits.take(3)? == 0b110;
        has_clock = bits.flag()?;
        is_unrestricted = bits.flag()?;
        bits.take(4)?;
        is_sliced = bits.flag()?;
        let has_selection = bits.flag()?;
        bits.take(7)?;
        if has_selection {
            return None;
        }
    }
    let kind = bits.take(3)?;
    let is_resampled = bits.flag()?;
    bits.take(5)?;
    if bits.flag()? {
        bits.take(2)?;
    }
    if is_custom {
        let is_extended = bits.take(4)? == 0b1111;
        bits.take(19)?;
        bits.take(if is_extended { 16 } else { 0 })?;
    }
    if has_clock {
        bits.take(10)?;
    }
    if is_unrestricted && !bits.flag()? {
        bits.flag()?;
    }
    bits.take(if is_sliced { 2 } else { 0 })?;
    if (3..=5).contains(&kind) {
        bits.take(if is_full { 8 } else { 4 })?;
    }
    if is_resampled { None } else { Some(kind == 2) }
}

/// The payload header of RFC 4629.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H263PlusHeader<'a> {
    /// The payload begins with a start code whose two null bytes are left out.
    pub is_start: bool,
    /// The byte of video redundancy coding, if there is one.
    pub redundancy: Option<u8>,
    /// The extra picture header, without its first two null bytes; empty if there is none.
    pub picture_header: &'a [u8],
    /// The bits of its last byte that are to be ignored.
    pub ignored_bits: u8,
}

impl<'a> H263PlusHeader<'a> {
    /// Splits a payload into its header and the coded bytes.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn parse(payload: &'a [u8]) -> Result<(Self, &'a [u8]), RtpError> {
        let (head, mut rest) = payload.split_first_chunk::<2>().ok_or(RtpError::Short)?;
        let head = u16::from_be_bytes(*head);
        let mut redundancy = None;
        if head & 0x0200 != 0 {
            let (byte, after) = rest.split_first().ok_or(RtpError::Short)?;
            (redundancy, rest) = (Some(*byte), after);
        }
        let length = usize::from(head >> 3 & 0x3f);
        let (picture_header, rest) = rest.split_at_checked(length).ok_or(RtpError::Short)?;
        let is_start = head & 0x0400 != 0;
        let ignored_bits = (head & 7) as u8;
        Ok((Self { is_start, redundancy, picture_header, ignored_bits }, rest))
    }

    /// Encodes the header.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let extra = &self.picture_header[..self.picture_header.len().min(MAX_PICTURE_HEADER)];
        let head = u16::from(self.is_start) << 10
            | u16::from(self.redundancy.is_some()) << 9
            | (extra.len() as u16) << 3
            | u16::from(self.ignored_bits & 7);
        let mut out = head.to_be_bytes().to_vec();
        out.extend(self.redundancy);
        out.extend(extra);
        out
    }

    /// The picture header with its null bytes, and without the bits to be ignored.
    pub(crate) fn restored(&self) -> Vec<u8> {
        let mut out = vec![0; 2];
        out.extend(self.picture_header);
        if let Some(last) = out.last_mut() {
            *last &= 0xff << self.ignored_bits;
        }
        out
    }
}

/// The mode of a payload of RFC 2190.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum H263Mode {
    /// It begins at a picture or GOB: four bytes of header.
    A,
    /// It begins at a macroblock: eight bytes.
    B,
    /// It begins at a macroblock of a picture with PB frames: twelve bytes.
    C,
}

/// The fields of a payload header of RFC 2190 that a receiver needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rfc2190Header {
    /// The mode, which decides the length of the header.
    pub mode: H263Mode,
    /// The bits of the first byte that are to be ignored.
    pub start_bits: u8,
    /// The bits of the last byte that are to be ignored.
    pub end_bits: u8,
    /// The source format: 1 for sub-QCIF, 2 for QCIF, 3 for CIF.
    pub source_format: u8,
    /// The picture is coded with prediction from another.
    pub is_inter: bool,
}

impl Rfc2190Header {
    /// Splits a payload into its header and the coded bytes.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn parse(payload: &[u8]) -> Result<(Self, &[u8]), RtpError> {
        let first = *payload.first().ok_or(RtpError::Short)?;
        let (mode, length) = match first >> 6 {
            0 | 1 => (H263Mode::A, 4),
            2 => (H263Mode::B, 8),
            _ => (H263Mode::C, 12),
        };
        let (head, rest) = payload.split_at_checked(length).ok_or(RtpError::Short)?;
        let is_inter = if mode == H263Mode::A { head[1] & 0x10 } else { head[4] & 0x80 } != 0;
        let this = Self {
            mode,
            start_bits: first >> 3 & 7,
            end_bits: first & 7,
            source_format: head[1] >> 5,
            is_inter,
        };
        Ok((this, rest))
    }
}

/// Packs a picture into payloads of at most `longest` bytes, cut at slices and GOBs where they fit
/// (RFC 4629, section 6). With `repeat`, each payload behind the first that begins at one of them
/// has the header of the picture.
pub(crate) fn packetize(picture: &[u8], longest: usize, repeat: bool) -> Vec<VideoPayload> {
    // The shortest that makes sense: both headers and some data.
    let longest = longest.max(HEADER_LEN + MAX_PICTURE_HEADER + 16);
    let (extra, ignored_bits) = if repeat { extra_header(picture) } else { (&[][..], 0) };
    let starts: Vec<usize> = start_codes(picture).collect();
    let mut payloads = Vec::new();
    let mut at = 0;
    while at < picture.len() {
        let is_start = starts.binary_search(&at).is_ok();
        let is_later = is_start && at > 0;
        let header = H263PlusHeader {
            is_start,
            redundancy: None,
            picture_header: if is_later { extra } else { &[] },
            ignored_bits: if is_later { ignored_bits } else { 0 },
        };
        let mut bytes = header.encode();
        let head = bytes.len();
        let from = if is_start { at + 2 } else { at };
        let end = end_of(picture, &starts, at, from + longest - head);
        // What begins inside of a follow-on payload would be lost with the payload before it.
        let end =
            if is_start { end } else { first_start(&starts, at).map_or(end, |it| it.min(end)) };
        bytes.extend(&picture[from..end]);
        let exact = match (is_start, at) {
            (false, _) => head,
            (true, 0) => head + picture_header_len(picture),
            (true, _) => head + SLICE_HEADER_LEN,
        };
        payloads.push(VideoPayload { exact: exact.min(bytes.len()), bytes, is_last: false });
        at = end;
    }
    payloads
}

/// The end of a payload from `at` that reaches to `most`: a start code if there is one behind `at`.
fn end_of(picture: &[u8], starts: &[usize], at: usize, most: usize) -> usize {
    if picture.len() <= most {
        return picture.len();
    }
    let last = starts.iter().rev().find(|start| **start > at && **start <= most);
    last.copied().unwrap_or(most)
}

/// The first start code behind `at`.
fn first_start(starts: &[usize], at: usize) -> Option<usize> {
    starts.get(starts.partition_point(|start| *start <= at)).copied()
}

/// Bytes of the header of a picture without its null bytes; an estimate if it cannot be read.
fn picture_header_len(picture: &[u8]) -> usize {
    picture_header_bits(picture).map_or(14, |bits| bits.div_ceil(8) - 2)
}

/// The header of a picture without its null bytes, and the bits of its last byte to be ignored.
fn extra_header(picture: &[u8]) -> (&[u8], u8) {
    let Some(bits) = picture_header_bits(picture) else { return (&[], 0) };
    let extra = &picture[2..bits.div_ceil(8)];
    if extra.len() > MAX_PICTURE_HEADER {
        return (&[], 0);
    }
    (extra, (bits.next_multiple_of(8) - bits) as u8)
}

#[cfg(test)]
mod tests;
