//! The bytes of a body as far as they have arrived.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::memory::{HeldMemory, MemorySpent};

/// The bytes that a part takes besides its own.
const PART: usize = 128;
/// The most bytes by which the memory of a part exceeds what it holds.
const SPARE: usize = 1 << 20;
/// A body is put together in memory if it takes at most this number of bytes for each one that has
/// arrived, or only this number of bytes at all.
const EXPANSION: usize = 4;
const SMALL: usize = 64 << 10;
/// The zeros that stand for what is missing, as long as a chunk of them.
static ZEROS: [u8; SMALL] = [0; SMALL];

/// The parts of a body that are there, by their positions; what is missing takes no memory.
#[derive(Debug)]
pub(crate) struct SparseBytes {
    length: usize,
    parts: BTreeMap<usize, Vec<u8>>,
    /// The bytes in all parts.
    held: usize,
    memory: HeldMemory,
    /// The bytes that a reader has taken.
    read: usize,
}

impl SparseBytes {
    /// Makes a body of this length of which nothing is there.
    pub(crate) fn new(length: usize, memory: HeldMemory) -> Self {
        Self { length, parts: BTreeMap::new(), held: 0, memory, read: 0 }
    }

    /// Makes a body that is there as a whole, in memory that is charged already.
    pub(crate) fn whole(bytes: Vec<u8>, memory: HeldMemory) -> Self {
        let length = bytes.len();
        let held = bytes.len();
        Self { length, parts: BTreeMap::from([(0, bytes)]), held, memory, read: 0 }
    }

    /// Returns the length of the whole body.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Returns the memory of the body, for what is known of it.
    pub(crate) fn memory(&mut self) -> &mut HeldMemory {
        &mut self.memory
    }

    /// Writes bytes from a position on, over those that are there; what exceeds the body is left
    /// out.
    ///
    /// # Errors
    /// If there is no memory left; a part of them may be there then.
    pub(crate) fn write(&mut self, mut at: usize, bytes: &[u8]) -> Result<(), MemorySpent> {
        let mut rest = &bytes[..bytes.len().min(self.length.saturating_sub(at))];
        while !rest.is_empty() {
            let next = self.parts.range(at + 1..).next().map(|(start, _)| *start);
            let room = next.map_or(rest.len(), |next| rest.len().min(next - at));
            let before = self.parts.range_mut(..=at).next_back();
            let done = match before.filter(|(start, part)| *start + part.len() >= at) {
                Some((start, part)) if start + part.len() > at => {
                    let from = at - start;
                    let count = rest.len().min(part.len() - from);
                    part[from..from + count].copy_from_slice(&rest[..count]);
                    count
                }
                Some((start, part)) => {
                    grow(part, room, &mut self.memory)?;
                    part.extend_from_slice(&rest[..room]);
                    self.held += room;
                    let start = *start;
                    self.join(start)?;
                    room
                }
                None => {
                    self.memory.take(PART)?;
                    let mut part = Vec::new();
                    grow(&mut part, room, &mut self.memory)?;
                    part.extend_from_slice(&rest[..room]);
                    self.held += room;
                    self.parts.insert(at, part);
                    self.join(at)?;
                    room
                }
            };
            (at, rest) = (at + done, &rest[done..]);
        }
        Ok(())
    }

    /// Joins a part with those that begin where it ends, as long as they are no longer, so that
    /// each byte is moved a few times at most.
    fn join(&mut self, start: usize) -> Result<(), MemorySpent> {
        loop {
            let Some(length) = self.parts.get(&start).map(Vec::len) else { return Ok(()) };
            let next = self.parts.get(&(start + length)).map(Vec::len);
            let Some(more) = next.filter(|next| *next <= length) else { return Ok(()) };
            let Some(part) = self.parts.get_mut(&start) else { return Ok(()) };
            grow(part, more, &mut self.memory)?;
            let Some(next) = self.parts.remove(&(start + length)) else { return Ok(()) };
            self.memory.give_back(PART + next.capacity());
            self.parts.entry(start).or_default().extend_from_slice(&next);
        }
    }

    /// Tells whether so little of the body has arrived that its zeros would take much more memory.
    pub(crate) fn is_mostly_missing(&self) -> bool {
        self.length > self.held.saturating_mul(EXPANSION).max(SMALL)
    }

    /// Returns the body with zeros for what is missing; `None` if so little of it has arrived that
    /// it would take much more memory, or if there is none left.
    pub(crate) fn contiguous(&mut self) -> Option<&mut Vec<u8>> {
        let first = self.parts.get(&0).map_or(0, Vec::len);
        if first < self.length {
            if self.is_mostly_missing() {
                return None;
            }
            let mut whole = self.parts.remove(&0).unwrap_or_default();
            if grow(&mut whole, self.length - first, &mut self.memory).is_err() {
                self.parts.extend(Some(whole).filter(|it| !it.is_empty()).map(|it| (0, it)));
                return None;
            }
            for (start, part) in core::mem::take(&mut self.parts) {
                whole.resize(start, 0);
                whole.extend_from_slice(&part);
                self.memory.give_back(PART + part.capacity());
            }
            whole.resize(self.length, 0);
            self.held = self.length;
            self.parts.insert(0, whole);
        }
        Some(self.parts.entry(0).or_default())
    }

    /// Returns the whole body, as [`contiguous`](Self::contiguous) makes it.
    pub(crate) fn into_whole(mut self) -> Option<Bytes> {
        self.contiguous()?;
        let bytes = self.parts.remove(&0).unwrap_or_default();
        Some(self.memory.bind(bytes))
    }

    /// Returns the next bytes, a part of them at once; `None` at the end. What was returned is held
    /// no longer.
    pub(crate) fn next_chunk(&mut self) -> Option<Bytes> {
        let at = self.read;
        let next = self.parts.first_entry();
        let chunk = match next {
            Some(entry) if *entry.key() <= at => {
                let part = entry.remove();
                let mut memory = self.memory.another();
                // What one share gives back another can take, unless others are quicker.
                self.memory.give_back(PART + part.capacity());
                let _ = memory.take(part.capacity());
                memory.bind(part)
            }
            entry => {
                let end = entry.map_or(self.length, |entry| *entry.key());
                Bytes::from_static(&ZEROS[..SMALL.min(end.saturating_sub(at))])
            }
        };
        self.read += chunk.len();
        Some(chunk).filter(|chunk| !chunk.is_empty())
    }
}

/// Makes room for more bytes in a part, and some for those that may follow.
pub(crate) fn grow(
    part: &mut Vec<u8>,
    more: usize,
    memory: &mut HeldMemory,
) -> Result<(), MemorySpent> {
    let before = part.capacity();
    let need = part.len() + more;
    if need <= before {
        return Ok(());
    }
    let room = need + part.len().min(SPARE);
    let (room, taken) = match memory.take(room - before) {
        Ok(()) => (room, Ok(())),
        Err(_) => (need, memory.take(need - before)),
    };
    taken?;
    if part.try_reserve_exact(room - part.len()).is_err() {
        // The system has less than the limit permits.
        memory.give_back(room - before);
        return Err(memory.spent());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
