//! The send buffer: data that the application has written and the peer has not acknowledged, in
//! shared slices.

use std::collections::VecDeque;

use core::ops::Range;

use bytes::{Bytes, BytesMut};

/// The length from which a written slice is kept as it is; shorter ones are gathered.
const WHOLE: usize = 4096;

/// The stream between the oldest unacknowledged byte and the last written one.
///
/// Positions count bytes of the stream from 0. Written slices are shared, not copied; small ones
/// are gathered, so that a program that writes byte by byte costs no more than its bytes.
#[derive(Debug, Default)]
pub(crate) struct SendBuffer {
    chunks: VecDeque<(u64, Bytes)>,
    small: BytesMut,
    start: u64,
    end: u64,
}

impl SendBuffer {
    /// Appends `data` to the buffer.
    pub(crate) fn push(&mut self, data: Bytes) {
        if data.len() < WHOLE {
            self.push_slice(&data);
            return;
        }
        self.freeze();
        let len = data.len() as u64;
        self.chunks.push_back((self.end, data));
        self.end += len;
    }

    /// Appends a copy of `data`.
    pub(crate) fn push_slice(&mut self, data: &[u8]) {
        for piece in data.chunks(WHOLE * 4) {
            self.small.extend_from_slice(piece);
            self.end += piece.len() as u64;
            if self.small.len() >= WHOLE * 4 {
                self.freeze();
            }
        }
    }

    fn freeze(&mut self) {
        if !self.small.is_empty() {
            let start = self.end - self.small.len() as u64;
            self.chunks.push_back((start, self.small.split().freeze()));
        }
    }

    /// Forgets everything below `position`.
    pub(crate) fn release(&mut self, position: u64) {
        self.start = self.start.max(position.min(self.end));
        while let Some((start, chunk)) = self.chunks.front() {
            if start + chunk.len() as u64 > self.start {
                break;
            }
            self.chunks.pop_front();
        }
        if self.start == self.end {
            self.small.clear();
        }
    }

    /// Returns the bytes of `range`, and whether they had to be copied together.
    ///
    /// # Panics
    /// If the range reaches beyond what is held.
    pub(crate) fn slice(&mut self, range: Range<u64>) -> (Bytes, bool) {
        assert!(self.start <= range.start && range.end <= self.end, "a range of what is held");
        let small = self.end - self.small.len() as u64;
        if range.end > small {
            self.freeze();
        }
        let len = (range.end - range.start) as usize;
        let first = self.chunks.partition_point(|(start, _)| *start <= range.start).max(1) - 1;
        let Some((start, chunk)) = self.chunks.get(first) else {
            return (Bytes::new(), false);
        };
        let skip = (range.start - start) as usize;
        if skip + len <= chunk.len() {
            return (chunk.slice(skip..skip + len), false);
        }
        let mut joined = BytesMut::with_capacity(len);
        joined.extend_from_slice(&chunk[skip..]);
        for (_, chunk) in self.chunks.range(first + 1..) {
            let rest = len - joined.len();
            joined.extend_from_slice(&chunk[..rest.min(chunk.len())]);
            if joined.len() == len {
                break;
            }
        }
        (joined.freeze(), true)
    }

    /// Returns the position after the last byte written.
    #[must_use]
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of bytes held.
    #[must_use]
    pub(crate) const fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns the number of pieces that it consists of.
    #[must_use]
    pub(crate) fn pieces(&self) -> usize {
        self.chunks.len() + usize::from(!self.small.is_empty())
    }

    /// Returns whether the buffer is empty.
    #[must_use]
    pub(crate) const fn is_empty(&self) -> bool {
        self.end == self.start
    }
}

#[cfg(test)]
mod tests;
