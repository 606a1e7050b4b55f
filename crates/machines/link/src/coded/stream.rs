//! The byte stream that blocks carry: a packet and its frame check.
//!
//! If the sender knows that a packet is damaged, it inverts the frame check: a right one would
//! vouch for the damaged packet.

use core::ops::Range;

use windfall_base::Payload;
use windfall_wire_link::check::{FCS_LEN, frame_check};

/// A packet followed by its frame check.
#[derive(Debug)]
pub(super) struct PacketStream {
    pub(super) packet: Payload,
    pub(super) check: [u8; FCS_LEN],
}

impl PacketStream {
    pub(super) fn new(packet: Payload, is_damaged: bool) -> Self {
        let right = frame_check(&packet.slices());
        let check = if is_damaged { inverted(right) } else { right };
        Self { packet, check }
    }

    /// Returns the length of the packet with its check.
    pub(super) fn len(&self) -> usize {
        self.packet.len() + FCS_LEN
    }

    /// Appends the bytes of `range` that exist to `bytes`.
    pub(super) fn copy(&self, range: Range<usize>, bytes: &mut Vec<u8>) {
        let [head, body] = self.packet.slices();
        let mut start = 0;
        for piece in [head, body, &self.check] {
            let from = range.start.saturating_sub(start).min(piece.len());
            let to = range.end.saturating_sub(start).min(piece.len());
            bytes.extend_from_slice(&piece[from..to]);
            start += piece.len();
        }
    }
}

/// Returns the frame check of a packet that is known to be damaged; `right` is its computed check.
pub(super) fn inverted(right: [u8; FCS_LEN]) -> [u8; FCS_LEN] {
    right.map(|byte| !byte)
}
