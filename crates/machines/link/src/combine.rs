//! Damaged copies of packets, from which the receiver restores a packet.

use std::collections::BTreeMap;

use windfall_base::seq::Seq32;
use windfall_base::{Check, Frame, PacketEventKind};
use windfall_fec::copies::{Copies, MOST_PIECES};
use windfall_wire_link::check::frame_check;

use crate::framing::Mismatch;
use crate::output::Output;

/// Restores a damaged packet from its copies and reports that, or else stores the packet as another
/// copy. All copies may have up to `room` bytes.
pub(crate) fn mend(
    copies: &mut Copies,
    frame: &mut Frame,
    mismatch: Mismatch,
    room: usize,
    out: &mut Output<'_>,
) {
    let Some(mismatch) = mismatch else { return };
    let new = frame.payload.to_bytes();
    let check = |bytes: &[u8]| u32::from_le_bytes(frame_check(&[bytes]));
    let base = check(&new) ^ mismatch;
    let Some(made) = copies.combine(&new, MOST_PIECES, |bytes| check(bytes) ^ base) else {
        if copies.bytes() + new.len() <= room {
            copies.keep(new.into());
        }
        return;
    };
    frame.damage.corrected = new.iter().zip(&made).filter(|(new, made)| new != made).count() as u32;
    frame.damage.frame = Check::Good;
    frame.payload = made.into();
    let combined = PacketEventKind::Combined { copies: copies.len() as u32 + 1 };
    out.events.push_back(combined.of_packet(frame.tag));
}

/// The damaged copies of the packets of a window, by packet number.
#[derive(Debug)]
pub(crate) struct CopyStore {
    copies: BTreeMap<u32, Copies>,
    bytes: usize,
    /// The maximum number of bytes of all copies.
    room: usize,
}

impl CopyStore {
    /// Creates an empty store for up to `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { copies: BTreeMap::new(), bytes: 0, room }
    }

    /// Restores a damaged packet from its copies, or else stores it as another copy.
    pub(crate) fn take(
        &mut self,
        seq: Seq32,
        frame: &mut Frame,
        mismatch: Mismatch,
        out: &mut Output<'_>,
    ) {
        let mut own = self.copies.remove(&seq.0).unwrap_or_default();
        self.bytes -= own.bytes();
        if frame.damage.frame == Check::Good {
            return;
        }
        mend(&mut own, frame, mismatch, self.room - self.bytes, out);
        if frame.damage.frame != Check::Good {
            self.bytes += own.bytes();
            self.copies.insert(seq.0, own);
        }
    }

    /// Drops the copies of packets before `next`.
    pub(crate) fn forget_before(&mut self, next: Seq32) {
        while let Some(first) = self.copies.first_entry()
            && Seq32(*first.key()).is_before(next)
        {
            self.bytes -= first.remove().bytes();
        }
    }
}

#[cfg(test)]
mod tests;
