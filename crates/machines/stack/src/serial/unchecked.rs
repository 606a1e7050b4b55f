//! Frames between flags, without an FCS.

use memchr::memchr;
use windfall_wire_link::hdlc::{Accm, FLAG, unescape};

/// Extracts the frames from the bytes of a line, which arrive in pieces of any length.
#[derive(Debug)]
pub(super) struct UncheckedDeframer {
    /// The most bytes between two flags.
    longest: usize,
    /// The bytes since the last flag.
    begun: Vec<u8>,
}

impl UncheckedDeframer {
    /// A deframer for frames of up to `longest` bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest: 2 * longest, begun: Vec::new() }
    }

    /// Takes bytes of the line, and returns the frames that they complete.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while let Some(at) = memchr(FLAG, bytes) {
            self.keep(&bytes[..at]);
            bytes = &bytes[at + 1..];
            let begun = core::mem::take(&mut self.begun);
            let mut frame = Vec::with_capacity(begun.len());
            let is_whole = begun.len() <= self.longest && unescape(&begun, Accm::NONE, &mut frame);
            if is_whole && !frame.is_empty() {
                frames.push(frame);
            }
        }
        self.keep(bytes);
        frames
    }

    /// Keeps bytes up to one beyond the longest frame, so that it is known to be too long.
    fn keep(&mut self, bytes: &[u8]) {
        let room = (self.longest + 1).saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
