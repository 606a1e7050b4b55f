//! HDLC-like framing on serial lines (RFC 1662): flags, escapes, and a check of 16 or 32 bits.
//!
//! A frame is `7e`, its content and check with escapes, `7e`. The flag that ends one frame may
//! begin the next. An escaped byte is `7d` and the byte with bit 5 inverted.

use memchr::{memchr, memchr2};

/// The byte between frames.
pub const FLAG: u8 = 0x7e;
/// The byte before an escaped one.
pub const ESCAPE: u8 = 0x7d;

const INVERTED: u8 = 0x20;

/// Which of the bytes 00 to 1f a sender escapes and a receiver ignores where they stand bare: bit
/// *n* for byte *n* (RFC 1662, 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accm(pub u32);

impl Accm {
    /// All 32 of them, as on a line of which nothing is known.
    pub const ALL: Self = Self(u32::MAX);
    /// None of them: only flag and escape are escaped.
    pub const NONE: Self = Self(0);

    /// Returns `true` if the map names `byte`.
    #[must_use]
    pub const fn names(self, byte: u8) -> bool {
        byte < 0x20 && self.0 & (1 << byte) != 0
    }
}

/// The check at the end of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HdlcCheck {
    /// 16 bits, the default of PPP.
    #[default]
    Fcs16,
    /// 32 bits, as of Ethernet.
    Fcs32,
}

impl HdlcCheck {
    /// Bytes of the check.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no check is empty")]
    pub const fn len(self) -> usize {
        match self {
            Self::Fcs16 => 2,
            Self::Fcs32 => 4,
        }
    }

    /// The check over `parts` in their order, as it is sent: as many bytes as its length says.
    fn over(self, parts: &[&[u8]]) -> [u8; 4] {
        match self {
            Self::Fcs16 => {
                let sum = parts.iter().fold(FCS16_START, |sum, part| fcs16_step(sum, part));
                u32::from(!sum).to_le_bytes()
            }
            Self::Fcs32 => crate::check::frame_check(parts),
        }
    }

    /// Returns `true` if the end of `bytes` is the check of what stands before it.
    #[must_use]
    pub fn holds(self, bytes: &[u8]) -> bool {
        let Some((content, check)) = bytes.split_at_checked(bytes.len().wrapping_sub(self.len()))
        else {
            return false;
        };
        self.over(&[content])[..self.len()] == *check
    }
}

/// The 16-bit check of RFC 1662, appendix C, of one stretch of bytes.
#[must_use]
pub fn fcs16(bytes: &[u8]) -> u16 {
    !fcs16_step(FCS16_START, bytes)
}

const FCS16_START: u16 = 0xffff;
/// Bytes that are checked in one step.
const STEP: usize = 16;

/// The share of each byte in the check, by its distance from the end of a step.
static FCS16: [[u16; 256]; STEP] = fcs16_tables();

const fn fcs16_tables() -> [[u16; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { (sum >> 1) ^ 0x8408 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut distance = 1;
    while distance < STEP {
        let mut byte = 0;
        while byte < 256 {
            let nearer = tables[distance - 1][byte];
            tables[distance][byte] = (nearer >> 8) ^ tables[0][(nearer & 0xff) as usize];
            byte += 1;
        }
        distance += 1;
    }
    tables
}

fn fcs16_step(start: u16, bytes: &[u8]) -> u16 {
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let sum = steps.iter().fold(start, |sum, step| {
        let [low, high] = sum.to_le_bytes();
        let mut step = *step;
        step[0] ^= low;
        step[1] ^= high;
        let tables = FCS16.iter().rev();
        tables.zip(step).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
    });
    rest.iter().fold(sum, |sum, byte| (sum >> 8) ^ FCS16[0][usize::from(sum as u8 ^ byte)])
}

/// Appends a frame of `parts` to `line`, without an opening flag if the flag of another is there.
///
/// Bytes that `accm` names are escaped beside flag and escape.
pub fn encode_frame(parts: &[&[u8]], check: HdlcCheck, accm: Accm, line: &mut Vec<u8>) {
    let sum = check.over(parts);
    encode_content(parts.iter().copied().chain([&sum[..check.len()]]), accm, line);
}

/// As [`encode_frame`], without a check: for frames that have their own.
pub fn encode_unchecked(parts: &[&[u8]], accm: Accm, line: &mut Vec<u8>) {
    encode_content(parts.iter().copied(), accm, line);
}

fn encode_content<'a>(parts: impl Iterator<Item = &'a [u8]>, accm: Accm, line: &mut Vec<u8>) {
    if line.last() != Some(&FLAG) {
        line.push(FLAG);
    }
    for part in parts {
        if accm == Accm::NONE {
            escape_delimiters(part, line);
        } else {
            escape_named(part, accm, line);
        }
    }
    line.push(FLAG);
}

fn escape_delimiters(mut part: &[u8], line: &mut Vec<u8>) {
    while let Some(at) = memchr2(FLAG, ESCAPE, part) {
        line.extend_from_slice(&part[..at]);
        line.extend([ESCAPE, part[at] ^ INVERTED]);
        part = &part[at + 1..];
    }
    line.extend_from_slice(part);
}

fn escape_named(part: &[u8], accm: Accm, line: &mut Vec<u8>) {
    for &byte in part {
        if byte == FLAG || byte == ESCAPE || accm.names(byte) {
            line.extend([ESCAPE, byte ^ INVERTED]);
        } else {
            line.push(byte);
        }
    }
}

/// Appends what stood between two flags to `content`, without escapes and without the bytes that
/// `accm` names; its check stays at the end.
///
/// Returns `false` if the sender has aborted the frame: its last byte is an escape.
#[must_use]
pub fn unescape(mut between: &[u8], accm: Accm, content: &mut Vec<u8>) -> bool {
    let is_kept = |byte: &&u8| !accm.names(**byte);
    while let Some(at) = memchr(ESCAPE, between) {
        let bare = &between[..at];
        if accm == Accm::NONE {
            content.extend_from_slice(bare);
        } else {
            content.extend(bare.iter().filter(is_kept));
        }
        let Some(escaped) = between.get(at + 1) else { return false };
        content.push(escaped ^ INVERTED);
        between = &between[at + 2..];
    }
    if accm == Accm::NONE {
        content.extend_from_slice(between);
    } else {
        content.extend(between.iter().filter(is_kept));
    }
    true
}

#[cfg(test)]
mod tests;
