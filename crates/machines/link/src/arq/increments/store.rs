//! Damaged packets for which parity may arrive.

use std::collections::BTreeMap;

use windfall_base::seq::Seq32;
use windfall_base::{Check, Frame, PacketEventKind};
use windfall_wire_link::pipe::IncrementPart;

use super::{PARITY, blocks, decode, enough_alone};
use crate::output::Output;

/// A packet of which only damaged copies were received.
#[derive(Debug)]
struct Begun {
    /// The newest copy.
    frame: Frame,
    /// The copy before it.
    earlier: Option<Vec<u8>>,
    /// The received parity; empty before the first increment.
    parity: Vec<Option<u8>>,
    /// The number of frames received.
    frames: u32,
}

impl Begun {
    fn bytes(&self) -> usize {
        self.frame.payload.len()
            + self.earlier.as_ref().map_or(0, Vec::len)
            + self.parity.len() * size_of::<Option<u8>>()
    }

    /// Returns the packet if the received symbols suffice to restore it.
    fn made(&self) -> Option<Frame> {
        if self.parity.is_empty() {
            return None;
        }
        let copy = self.frame.payload.to_bytes();
        let made = decode(&copy, self.earlier.as_deref(), &self.parity)?;
        let mut frame = self.frame.clone();
        frame.damage.corrected = copy.iter().zip(&made).filter(|(a, b)| a != b).count() as u32;
        frame.damage.frame = Check::Good;
        frame.payload = made.into();
        Some(frame)
    }
}

/// The result of a frame for a packet that was not received undamaged yet.
#[derive(Debug)]
pub(crate) enum Increment {
    /// The frame restores the packet.
    Made(Frame),
    /// The frame is kept.
    Kept,
    /// The frame is dropped: the store has no copy of its packet, or no room.
    Useless,
}

/// The damaged packets of a window, by packet number.
#[derive(Debug)]
pub(crate) struct IncrementStore {
    begun: BTreeMap<u32, Begun>,
    bytes: usize,
    /// The maximum number of bytes of all packets.
    room: usize,
}

impl IncrementStore {
    /// Creates an empty store for up to `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { begun: BTreeMap::new(), bytes: 0, room }
    }

    /// Takes a damaged copy of a packet, which has its full length.
    pub(crate) fn take_copy(
        &mut self,
        seq: Seq32,
        frame: &Frame,
        out: &mut Output<'_>,
    ) -> Increment {
        self.change(seq, frame.payload.len(), out, |old| {
            let mut frame = frame.clone();
            frame.kept = false;
            match old.filter(|old| old.frame.payload.len() == frame.payload.len()) {
                None => Some(Begun { frame, earlier: None, parity: Vec::new(), frames: 1 }),
                Some(old) => {
                    let earlier = Some(old.frame.payload.to_bytes().to_vec());
                    Some(Begun { frame, earlier, frames: old.frames + 1, ..old })
                }
            }
        })
    }

    /// Takes parity of a packet; the parity may be damaged itself.
    pub(crate) fn take_parity(
        &mut self,
        seq: Seq32,
        part: IncrementPart,
        frame: &Frame,
        out: &mut Output<'_>,
    ) -> Increment {
        let len = usize::from(part.packet);
        let blocks = blocks(len);
        let first = usize::from(part.first);
        let count = usize::from(part.count);
        if first + count > PARITY || frame.payload.len() != count * blocks {
            return Increment::Useless;
        }
        // Parity that restores the packet without the copy needs no room.
        let is_enough = frame.damage.frame == Check::Good && count >= enough_alone(len);
        let more = if is_enough { 0 } else { 2 * blocks * PARITY };
        self.change(seq, more, out, |old| {
            let mut begun = old.filter(|old| old.frame.payload.len() == len)?;
            begun.parity.resize(blocks * PARITY, None);
            if is_enough {
                // Earlier parity may be damaged and is not needed.
                begun.parity.fill(None);
            }
            let places = &mut begun.parity[first * blocks..][..count * blocks];
            let symbols = frame.payload.to_bytes();
            places.iter_mut().zip(&symbols[..]).for_each(|(it, symbol)| *it = Some(*symbol));
            begun.frames += 1;
            Some(begun)
        })
    }

    /// Drops the packets before `next`.
    pub(crate) fn forget_before(&mut self, next: Seq32) {
        while let Some(first) = self.begun.first_entry()
            && Seq32(*first.key()).is_before(next)
        {
            self.bytes -= first.remove().bytes();
        }
    }

    /// Drops the state of a packet that was received undamaged.
    pub(crate) fn forget(&mut self, seq: Seq32) {
        if let Some(begun) = self.begun.remove(&seq.0) {
            self.bytes -= begun.bytes();
        }
    }

    /// Updates the state of a packet by `change`, and restores the packet if possible. The state
    /// may grow by up to `more` bytes.
    fn change(
        &mut self,
        seq: Seq32,
        more: usize,
        out: &mut Output<'_>,
        change: impl FnOnce(Option<Begun>) -> Option<Begun>,
    ) -> Increment {
        if self.bytes.saturating_add(more) > self.room {
            return Increment::Useless;
        }
        let old = self.begun.remove(&seq.0);
        self.bytes -= old.as_ref().map_or(0, Begun::bytes);
        let Some(begun) = change(old) else { return Increment::Useless };
        if let Some(frame) = begun.made() {
            let combined = PacketEventKind::Combined { copies: begun.frames };
            out.events.push_back(combined.of_packet(frame.tag));
            return Increment::Made(frame);
        }
        self.bytes += begun.bytes();
        self.begun.insert(seq.0, begun);
        Increment::Kept
    }
}
