//! The receive buffer: data in order that are not read yet, and data beyond holes.

use std::collections::{BTreeMap, VecDeque};

use core::ops::Range;

use arrayvec::ArrayVec;
use bytes::{Bytes, BytesMut};
use windfall_base::RangeSet;

/// The length below which a piece is copied, so that it does not keep a whole frame in memory.
const SMALL: usize = 512;
/// Ranges that a SACK option can be made of; the fifth and later are never sent.
const REMEMBERED: usize = 4;

/// The receive buffer: bounded in bytes and in pieces.
///
/// Positions count bytes of the stream from 0. Whatever arrives first for a position stays; a
/// later, contradictory copy of it is ignored.
#[derive(Debug)]
pub(crate) struct Reassembly {
    capacity: usize,
    /// The position of the next byte expected.
    next: u64,
    ready: VecDeque<Bytes>,
    small: BytesMut,
    ready_len: usize,
    later: BTreeMap<u64, Bytes>,
    arrived: RangeSet,
    /// The places in `arrived` of the latest segments, latest first (RFC 2018, section 4).
    recent: ArrayVec<u64, REMEMBERED>,
}

/// The outcome of placing the data of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Bytes that can now be read.
    pub advanced: u64,
    /// Bytes that had arrived before, as the first range of them.
    pub duplicate: Option<Range<u64>>,
    /// Bytes kept beyond a hole.
    pub kept: u64,
    /// Bytes for which there was no room.
    pub refused: u64,
    /// The number of bytes copied.
    pub copied: u64,
}

impl Reassembly {
    /// Creates a buffer for `capacity` bytes.
    #[must_use]
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            next: 0,
            ready: VecDeque::new(),
            small: BytesMut::new(),
            ready_len: 0,
            later: BTreeMap::new(),
            arrived: RangeSet::default(),
            recent: ArrayVec::new(),
        }
    }

    /// Returns the position of the next byte expected.
    #[must_use]
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Lets it hold `capacity` bytes from here on.
    pub(crate) const fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Returns the number of bytes that may arrive beyond the next expected one.
    #[must_use]
    pub(crate) const fn window(&self) -> usize {
        self.capacity.saturating_sub(self.ready_len)
    }

    /// Returns the most bytes it holds.
    #[must_use]
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of bytes that can be read.
    #[must_use]
    pub(crate) const fn readable(&self) -> usize {
        self.ready_len
    }

    /// Returns whether data wait beyond a hole.
    #[must_use]
    pub(crate) fn has_holes(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Returns the end of what has arrived right before `position`, where a hole there begins.
    #[must_use]
    pub(crate) fn end_before(&self, position: u64) -> u64 {
        let ends = self.arrived.iter().map(|range| range.end);
        ends.take_while(|end| *end <= position).last().unwrap_or(self.next)
    }

    /// Bytes held, read or not.
    #[must_use]
    pub(crate) fn held(&self) -> usize {
        self.ready_len + self.arrived.total() as usize
    }

    /// Returns the bytes held beyond holes.
    #[must_use]
    pub(crate) fn beyond_holes(&self) -> usize {
        self.arrived.total() as usize
    }

    /// Returns the number of pieces that it consists of, and of those beyond holes.
    #[must_use]
    pub(crate) fn pieces(&self) -> [usize; 2] {
        [self.ready.len() + self.later.len(), self.later.len()]
    }

    /// Discards the data beyond holes, which the peer must retransmit (RFC 2018, section 8).
    pub(crate) fn forget_islands(&mut self) {
        self.later.clear();
        self.arrived.clear();
        self.recent.clear();
    }

    /// Appends data that begin at RCV.NXT while no data wait beyond a hole.
    pub(crate) fn append(&mut self, data: Bytes) -> u64 {
        debug_assert!(self.arrived.is_empty(), "nothing waits beyond a hole");
        self.next += data.len() as u64;
        self.make_ready(data)
    }

    /// Inserts the data that begin at `position`; data outside the window are refused.
    pub(crate) fn insert(&mut self, position: u64, data: &Bytes) -> Placed {
        let mut placed = Placed::default();
        let end = position + data.len() as u64;
        let limit = self.next + self.window() as u64;
        if position < self.next {
            placed.duplicate = Some(position..end.min(self.next));
        }
        placed.refused = end.saturating_sub(limit.max(position));
        let within = position.max(self.next)..end.min(limit);
        if within.is_empty() {
            return placed;
        }
        let mut gaps: ArrayVec<Range<u64>, 8> = ArrayVec::new();
        for gap in self.arrived.gaps(within.clone()) {
            // More holes than that within one segment are filled when it is retransmitted.
            if gaps.try_push(gap).is_err() {
                break;
            }
        }
        let fresh: u64 = gaps.iter().map(|gap| gap.end - gap.start).sum();
        if fresh < within.end - within.start && placed.duplicate.is_none() {
            placed.duplicate = self.overlap(&within);
        }
        for gap in gaps {
            let from = (gap.start - position) as usize;
            self.place(
                gap.start,
                data.slice(from..from + (gap.end - gap.start) as usize),
                &mut placed,
            );
        }
        self.remember(within.start);
        placed
    }

    /// Returns the first part of `range` that is already there.
    fn overlap(&self, range: &Range<u64>) -> Option<Range<u64>> {
        let first = self.arrived.containing(range.start);
        let known = first.or_else(|| self.arrived.following(range.start))?;
        Some(known.start.max(range.start)..known.end.min(range.end))
    }

    fn place(&mut self, position: u64, piece: Bytes, placed: &mut Placed) {
        let len = piece.len() as u64;
        if position > self.next {
            // A hole for each piece at worst, so the number of pieces is bounded too.
            if self.later.len() >= self.capacity / SMALL + 16 {
                placed.refused += len;
                return;
            }
            let small = piece.len() < SMALL;
            placed.copied += if small { len } else { 0 };
            let piece = if small { Bytes::copy_from_slice(&piece) } else { piece };
            self.later.insert(position, piece);
            self.arrived.insert(position..position + len);
            placed.kept += len;
            return;
        }
        self.next += len;
        placed.copied += self.make_ready(piece);
        placed.advanced += len;
        while let Some(entry) = self.later.first_entry() {
            if *entry.key() != self.next {
                break;
            }
            let piece = entry.remove();
            self.next += piece.len() as u64;
            placed.advanced += piece.len() as u64;
            placed.copied += self.make_ready(piece);
        }
        self.arrived.remove(0..self.next);
    }

    /// Passes `piece` to the reader; returns the number of bytes copied.
    fn make_ready(&mut self, piece: Bytes) -> u64 {
        let len = piece.len();
        self.ready_len += len;
        if len < SMALL {
            self.small.extend_from_slice(&piece);
            if self.small.len() >= SMALL * 8 {
                self.ready.push_back(self.small.split().freeze());
            }
            return len as u64;
        }
        if !self.small.is_empty() {
            self.ready.push_back(self.small.split().freeze());
        }
        self.ready.push_back(piece);
        0
    }

    fn remember(&mut self, position: u64) {
        if let Some(range) = self.arrived.containing(position) {
            self.recent.retain(|other| !range.contains(other));
            self.recent.truncate(REMEMBERED - 1);
            self.recent.insert(0, position);
        }
    }

    /// Takes the next bytes out, `most` of them at most, without a copy.
    pub(crate) fn read(&mut self, most: usize) -> Option<Bytes> {
        if self.ready.is_empty() && !self.small.is_empty() {
            self.ready.push_back(self.small.split().freeze());
        }
        let first = self.ready.front_mut()?;
        let read = if first.len() <= most { self.ready.pop_front()? } else { first.split_to(most) };
        self.ready_len -= read.len();
        Some(read)
    }

    /// Ranges beyond the next expected byte, that of the latest segment first (RFC 2018, section
    /// 4).
    pub(crate) fn sack_ranges(&self, most: usize) -> ArrayVec<Range<u64>, REMEMBERED> {
        let mut ranges: ArrayVec<Range<u64>, REMEMBERED> = ArrayVec::new();
        for position in &self.recent {
            if let Some(range) = self.arrived.containing(*position)
                && ranges.len() < most
                && !ranges.contains(&range)
            {
                ranges.push(range);
            }
        }
        ranges
    }

    /// Forgets everything, once the application will not read any more.
    pub(crate) fn discard(&mut self) {
        self.ready.clear();
        self.small = BytesMut::new();
        self.ready_len = 0;
        self.later.clear();
        self.arrived.clear();
        self.recent.clear();
    }
}

#[cfg(test)]
mod tests;
