//! One part: a header, what must be exact, and the rest.

use core::ops::Range;

use super::{ProtectError, ProtectedKind};

/// Bytes of the header of a part.
pub const PROTECTED_HEADER_LEN: usize = 32;
const MAGIC: u8 = 0xb7;
const VERSION: u8 = 1;

const EXACT: Range<usize> = 4..8;
const NUMBER: Range<usize> = 8..12;
const COUNT: Range<usize> = 12..16;
const PLACE: Range<usize> = 16..24;
const LENGTH: Range<usize> = 24..28;
const CHECK: Range<usize> = 28..32;

/// A part of a protected file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPart {
    /// The bytes to send.
    pub bytes: Vec<u8>,
    /// The number of bytes at the front that must arrive exactly.
    pub exact: usize,
}

/// The section of a file to which a part belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// The header of an array or the layout of a picture, without which nothing can be restored.
    Head,
    /// The numbers of an array, the data of a picture, the units of a stream.
    Body,
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartHeader {
    pub(super) kind: ProtectedKind,
    pub(super) section: Section,
    /// Of a unit of H.264: its form, and the zeros before its start code.
    pub(super) form: u8,
    /// The number of exact bytes of the part, with the header.
    pub(super) exact: usize,
    pub(super) number: u32,
    /// The number of parts of the file; 0 where the sender does not know it yet.
    pub(super) count: u32,
    /// The place in the section.
    pub(super) place: u64,
    /// The length of the unit or of the section.
    pub(super) length: u32,
    /// The CRC-32C of the bytes that need not be exact, as they were sent.
    pub(super) check: u32,
}

impl PartHeader {
    pub(super) const fn new(kind: ProtectedKind, section: Section, number: u32) -> Self {
        let exact = 0;
        let count = 0;
        let form = 0;
        let place = 0;
        let length = 0;
        let check = 0;
        Self { kind, section, form, exact, number, count, place, length, check }
    }

    /// Returns the part with this header, bytes that must be exact, and others.
    pub(super) fn part(&self, exact: &[u8], rest: &[u8]) -> ProtectedPart {
        let end = PROTECTED_HEADER_LEN + exact.len();
        let mut bytes = vec![0; PROTECTED_HEADER_LEN];
        bytes[0] = MAGIC;
        bytes[1] = VERSION << 4 | self.kind.code();
        bytes[2] = u8::from(self.section == Section::Body);
        bytes[3] = self.form;
        bytes[EXACT].copy_from_slice(&(end as u32).to_be_bytes());
        bytes[NUMBER].copy_from_slice(&self.number.to_be_bytes());
        bytes[COUNT].copy_from_slice(&self.count.to_be_bytes());
        bytes[PLACE].copy_from_slice(&self.place.to_be_bytes());
        bytes[LENGTH].copy_from_slice(&self.length.to_be_bytes());
        bytes[CHECK].copy_from_slice(&crc32c::crc32c(rest).to_be_bytes());
        bytes.extend(exact);
        bytes.extend(rest);
        ProtectedPart { bytes, exact: end }
    }

    /// Reads the header of a part.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ProtectError> {
        let header = bytes.first_chunk::<PROTECTED_HEADER_LEN>();
        let header = header.ok_or(ProtectError::Part("it is shorter than the header of a part"))?;
        if header[0] != MAGIC || header[1] >> 4 != VERSION {
            return Err(ProtectError::Part("it does not begin as a part of this version does"));
        }
        let kind = ProtectedKind::from_code(header[1] & 0xf);
        let kind = kind.ok_or(ProtectError::Part("it is of a kind that is not known"))?;
        let section = match header[2] {
            0 => Section::Head,
            1 => Section::Body,
            _ => return Err(ProtectError::Part("it is of a section that is not known")),
        };
        let number = |field: Range<usize>| {
            header[field].iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
        };
        let exact = number(EXACT) as usize;
        if !(PROTECTED_HEADER_LEN..=bytes.len()).contains(&exact) {
            return Err(ProtectError::Part("its exact bytes do not fit into it"));
        }
        Ok(Self {
            kind,
            section,
            form: header[3],
            exact,
            number: number(NUMBER) as u32,
            count: number(COUNT) as u32,
            place: number(PLACE),
            length: number(LENGTH) as u32,
            check: number(CHECK) as u32,
        })
    }
}

impl ProtectedPart {
    /// Tells whether the whole part must be exact: such parts are sent precisely, or the file
    /// cannot be restored.
    #[must_use]
    pub fn is_precise(&self) -> bool {
        self.exact == self.bytes.len()
    }

    pub(super) fn set_count(&mut self, count: u32) {
        self.bytes[COUNT].copy_from_slice(&count.to_be_bytes());
    }
}

/// A part that arrived.
#[derive(Clone, Debug)]
pub(super) struct ArrivedPart {
    pub(super) header: PartHeader,
    pub(super) bytes: Vec<u8>,
    pub(super) is_damaged: bool,
}

impl ArrivedPart {
    /// The bytes behind the header that are exact.
    pub(super) fn exact(&self) -> &[u8] {
        &self.bytes[PROTECTED_HEADER_LEN..self.header.exact]
    }

    /// All bytes behind the header.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[PROTECTED_HEADER_LEN..]
    }
}

/// Cuts what must be exact as a whole into parts of at most `longest` bytes.
pub(super) fn head_parts(kind: ProtectedKind, head: &[u8], longest: usize) -> Vec<ProtectedPart> {
    let room = longest - PROTECTED_HEADER_LEN;
    let part = |(number, piece): (usize, &[u8])| {
        let header = PartHeader {
            place: (number * room) as u64,
            length: head.len() as u32,
            ..PartHeader::new(kind, Section::Head, number as u32)
        };
        header.part(piece, &[])
    };
    head.chunks(room).enumerate().map(part).collect()
}
