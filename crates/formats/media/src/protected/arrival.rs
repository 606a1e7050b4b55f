//! Parts that arrived, and the file that they make.

use std::collections::BTreeMap;

use super::part::{ArrivedPart, PartHeader, Section};
use super::room::Room;
use super::{ProtectError, ProtectedKind, h264, npy, photo};

/// Bytes that are kept at most unless a caller says otherwise.
const MOST: usize = 1 << 30;
/// Bytes that a part costs beside its own.
const COST: usize = 128;
/// The parts of a file that have arrived, in any order.
#[derive(Clone, Debug)]
pub struct ProtectedArrival {
    parts: BTreeMap<u32, ArrivedPart>,
    kind: Option<ProtectedKind>,
    /// The number of parts of the file; 0 while it is not known.
    count: u32,
    held: usize,
    most: usize,
}

/// A file as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The number of parts that arrived.
    pub parts: usize,
    /// The number of those with damage.
    pub damaged: usize,
    /// The number of parts that did not arrive, as far as that is known.
    pub missing: usize,
}

impl Default for ProtectedArrival {
    fn default() -> Self {
        Self::within(MOST)
    }
}

impl ProtectedArrival {
    /// Begins with no part; at most `most` bytes are kept.
    #[must_use]
    pub const fn within(most: usize) -> Self {
        Self { parts: BTreeMap::new(), kind: None, count: 0, held: 0, most }
    }

    /// Takes a part. Its front must be exact, as the transport delivers it; the rest may have bit
    /// errors, or be cut off. A copy goes in place of one that arrived with damage before.
    ///
    /// # Errors
    /// If it is no part, or one of another file, or there is no room for it.
    pub fn push(&mut self, part: &[u8]) -> Result<(), ProtectError> {
        let header = PartHeader::parse(part)?;
        let is_other = self.kind.is_some_and(|kind| kind != header.kind)
            || self.count != 0 && header.count != 0 && header.count != self.count
            || header.count != 0 && header.number >= header.count;
        if is_other {
            return Err(ProtectError::Mixed);
        }
        let is_damaged = crc32c::crc32c(&part[header.exact..]) != header.check;
        if self.parts.get(&header.number).is_some_and(|known| is_damaged || !known.is_damaged) {
            return Ok(());
        }
        if self.held + part.len() + COST > self.most {
            return Err(ProtectError::Memory(self.most));
        }
        self.held += part.len() + COST;
        self.kind = Some(header.kind);
        self.count = self.count.max(header.count);
        let arrived = ArrivedPart { header, bytes: part.to_vec(), is_damaged };
        if let Some(old) = self.parts.insert(header.number, arrived) {
            self.held -= old.bytes.len() + COST;
        }
        Ok(())
    }

    /// Returns the numbers of the parts that arrived with damage.
    pub fn damaged(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().filter(|(_, part)| part.is_damaged).map(|(number, _)| *number)
    }

    /// Returns the number of parts that have not arrived: of those that the sender announced, else
    /// of those before the last that came.
    #[must_use]
    pub fn missing(&self) -> usize {
        let last = self.parts.last_key_value().map_or(0, |(number, _)| *number as usize + 1);
        last.max(self.count as usize) - self.parts.len()
    }

    /// Makes the file of the parts that arrived. What is missing of an array is zeros, of a JPEG
    /// the blocks above it, and of H.264 is left out: a decoder conceals it. The file has at most
    /// eight bytes for each that arrived.
    ///
    /// # Errors
    /// If nothing has arrived, or less than an eighth of an array or a picture, or its exact part
    /// is missing or malformed.
    pub fn restore(&self) -> Result<RestoredFile, ProtectError> {
        let bytes = match self.kind.ok_or(ProtectError::Nothing)? {
            ProtectedKind::H264 | ProtectedKind::H265 => h264::restore(self.parts.values()),
            ProtectedKind::Npy => npy::restore(&self.head()?, self.body(), self.room())?,
            ProtectedKind::Jpeg => photo::restore(&self.head()?, self.body(), self.room())?,
        };
        let parts = self.parts.len();
        let missing = self.missing();
        Ok(RestoredFile { bytes, parts, damaged: self.damaged().count(), missing })
    }

    /// The bytes that must be exact as a whole, from the parts that have the lowest numbers.
    fn head(&self) -> Result<Vec<u8>, ProtectError> {
        let mut head = Vec::new();
        for number in 0.. {
            let part = self.parts.get(&number).ok_or(ProtectError::Missing(number))?;
            let is_next =
                part.header.section == Section::Head && part.header.place == head.len() as u64;
            if !is_next || part.exact().is_empty() {
                return Err(ProtectError::Part("the head of the file makes no sense"));
            }
            head.extend(part.exact());
            if head.len() >= part.header.length as usize {
                break;
            }
        }
        Ok(head)
    }

    fn room(&self) -> Room {
        Room { arrived: self.held - COST * self.parts.len(), most: self.most }
    }

    fn body(&self) -> impl Iterator<Item = &ArrivedPart> {
        self.parts.values().filter(|part| part.header.section == Section::Body)
    }
}
