//! The receiver of a line of TRAU frames: finds their beginning and keeps it.

use windfall_wire_link::trau::{TRAU_BITS, TrauFrame, find_trau, octets_at};

/// Frames in a row without synchronisation after which it is searched again.
const MISSED: u8 = 3;
/// The most bits kept while nothing is found: the last frame may have begun in them.
const KEPT: usize = TRAU_BITS + 8;

/// The receiver of one timeslot of an E1 line that carries TRAU frames (S1.24).
///
/// Once it has found a frame it expects the next ones 320 bits apart, and takes those whose
/// pattern is damaged for lost; after three such it searches bit by bit.
#[derive(Clone, Debug, Default)]
pub struct TrauReceiver {
    line: Vec<u8>,
    /// The first bit of `line` that is not used.
    start: usize,
    is_synchronised: bool,
    missed: u8,
    lost: u64,
}

impl TrauReceiver {
    /// A receiver that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` if it knows where the frames begin.
    #[must_use]
    pub fn is_synchronised(&self) -> bool {
        self.is_synchronised
    }

    /// Frames whose pattern was damaged while it was synchronised.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes bytes of the line, most significant bit first.
    pub fn take(&mut self, bytes: &[u8]) {
        self.line.extend_from_slice(bytes);
    }

    //= S1.23
    /// Yields the next frame, or `None` in the place of one that is damaged; call until it is
    /// exhausted.
    pub fn poll_frame(&mut self) -> Option<Option<TrauFrame>> {
        if !self.is_synchronised {
            let Some(found) = find_trau(&self.line, self.start) else {
                let end = 8 * self.line.len();
                self.start = self.start.max(end.saturating_sub(KEPT));
                self.forget();
                return None;
            };
            (self.start, self.is_synchronised, self.missed) = (found, true, 0);
        }
        let octets = octets_at(&self.line, self.start)?;
        self.start += TRAU_BITS;
        self.forget();
        let frame = TrauFrame::parse(&octets).ok();
        self.missed = if frame.is_some() { 0 } else { self.missed + 1 };
        self.lost += u64::from(frame.is_none());
        self.is_synchronised = self.missed < MISSED;
        Some(frame)
    }

    /// Frees the bytes before the first bit that is not used.
    fn forget(&mut self) {
        self.line.drain(..self.start / 8);
        self.start %= 8;
    }
}

#[cfg(test)]
mod tests;
