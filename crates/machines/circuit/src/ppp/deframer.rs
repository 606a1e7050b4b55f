//! Frames in the bytes of a line.

use memchr::memchr;
use windfall_wire_link::hdlc::{Accm, FLAG, HdlcCheck, unescape};
use windfall_wire_link::ppp::{self, ADDRESS_CONTROL};

use crate::ppp::config::FrameMode;

/// A frame without its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deframed<'a> {
    /// The protocol field.
    pub protocol: u16,
    /// The bytes behind it.
    pub packet: &'a [u8],
    /// The frame check failed, and was overlooked.
    pub damaged: bool,
}

/// The counts of a deframer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeframerCounts {
    /// Frames that were passed on.
    pub frames: u64,
    /// Frames among them whose check failed.
    pub damaged: u64,
    /// Frames that were dropped because their check failed.
    pub frame_check: u64,
    /// Frames that were dropped for another reason: aborted, too short, too long, no protocol.
    pub malformed: u64,
}

/// The receiver of frames: takes the bytes of a line in any pieces.
#[derive(Clone, Debug)]
pub struct Deframer {
    mode: FrameMode,
    check: HdlcCheck,
    accm: Accm,
    /// The most bytes between two flags.
    longest: usize,
    /// The bytes since the last flag.
    begun: Vec<u8>,
    content: Vec<u8>,
    counts: DeframerCounts,
}

impl Deframer {
    /// A deframer for packets of up to `mru` bytes.
    #[must_use]
    pub fn new(mode: FrameMode, check: HdlcCheck, accm: Accm, mru: u16) -> Self {
        // Each byte may be escaped; some more for peers that send more than they may.
        let longest = 2 * (usize::from(mru) + 64);
        let begun = Vec::new();
        let content = Vec::new();
        Self { mode, check, accm, longest, begun, content, counts: DeframerCounts::default() }
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> DeframerCounts {
        self.counts
    }

    /// Tells whether bytes have come since the last flag.
    #[must_use]
    pub fn is_within_frame(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Sets the bytes that the peer escapes, so that bare ones were inserted by the line.
    pub fn set_accm(&mut self, accm: Accm) {
        self.accm = accm;
    }

    /// Takes bytes of the line and gives `deliver` each frame that they complete.
    pub fn take(&mut self, mut bytes: &[u8], mut deliver: impl FnMut(Deframed<'_>)) {
        while let Some(at) = memchr(FLAG, bytes) {
            let between = &bytes[..at];
            let rest = &bytes[at + 1..];
            if self.begun.is_empty() {
                self.finish(between, &mut deliver);
            } else {
                let mut begun = core::mem::take(&mut self.begun);
                begun.extend_from_slice(between);
                self.finish(&begun, &mut deliver);
                begun.clear();
                self.begun = begun;
            }
            bytes = rest;
        }
        // One byte beyond the longest frame is kept, so that it is known to be too long.
        let room = (self.longest + 1).saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    //= S1.11
    //= S1.12
    /// Takes the bytes between two flags.
    fn finish(&mut self, between: &[u8], deliver: &mut impl FnMut(Deframed<'_>)) {
        if between.is_empty() {
            return;
        }
        self.content.clear();
        let is_whole =
            between.len() <= self.longest && unescape(between, self.accm, &mut self.content);
        let parsed = ppp::parse_protocol(&self.content);
        let (Ok((protocol, start)), true) = (parsed, is_whole) else {
            self.counts.malformed += 1;
            return;
        };
        // Protocols from 0x8000 on control the link: they use the default check, and need it.
        let is_control = protocol >= 0x8000;
        let check = if is_control { HdlcCheck::Fcs16 } else { self.check };
        let Some(end) = self.content.len().checked_sub(check.len()).filter(|end| *end >= start)
        else {
            self.counts.malformed += 1;
            return;
        };
        let damaged = !check.holds(&self.content);
        let is_expected = self.content.starts_with(&ADDRESS_CONTROL) || start < 3;
        if damaged && (is_control || self.mode == FrameMode::Strict || !is_expected) {
            self.counts.frame_check += 1;
            return;
        }
        self.counts.frames += 1;
        self.counts.damaged += u64::from(damaged);
        deliver(Deframed { protocol, packet: &self.content[start..end], damaged });
    }
}

#[cfg(test)]
mod tests;
