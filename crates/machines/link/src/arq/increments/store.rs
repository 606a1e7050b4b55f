//! Damaged packets whose parity may come.

use std::collections::BTreeMap;

use windfall_base::seq::Seq32;
use windfall_base::{Check, Frame, PacketEventKind};
use windfall_wire_link::pipe::IncrementPart;

use super::{PARITY, blocks, decode, enough_alone};
use crate::output::Output;

/// A packet that came damaged.
#[derive(Debug)]
struct Begun {
    /// The last copy.
    frame: Frame,
    /// The copy before it.
    earlier: Option<Vec<u8>>,
    /// The received parity; empty before the first.
    parity: Vec<Option<u8>>,
    /// Frames received, all of them damaged.
    frames: u32,
}

impl Begun {
    fn bytes(&self) -> usize {
        self.frame.payload.len()
            + self.earlier.as_ref().map_or(0, Vec::len)
            + self.parity.len() * size_of::<Option<u8>>()
    }

    /// The packet, if the received symbols suffice to restore it.
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

/// The outcome of a frame for a packet that has not come whole.
#[derive(Debug)]
pub(crate) enum Increment {
    /// It makes the packet whole.
    Made(Frame),
    /// It is kept.
    Kept,
    /// It is useless: its packet is not there, or there is no room.
    Useless,
}

/// Damaged packets of a window, by their number.
#[derive(Debug)]
pub(crate) struct IncrementStore {
    begun: BTreeMap<u32, Begun>,
    bytes: usize,
    /// Bytes of all of them at most.
    room: usize,
}

impl IncrementStore {
    /// An empty store for up to `room` bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { begun: BTreeMap::new(), bytes: 0, room }
    }

    /// Takes a damaged copy of a packet, of which no byte is missing.
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

    /// Takes parity of a packet, damaged or not.
    pub(crate) fn take_parity(
        &mut self,
        seq: Seq32,
        part: IncrementPart,
        frame: &Frame,
        out: &mut Output<'_>,
    ) -> Increment {
        let len = usize::from(part.packet);
        let blocks = blocks(len);
        let (first, count) = (usize::from(part.first), usize::from(part.count));
        if first + count > PARITY || frame.payload.len() != count * blocks {
            return Increment::Useless;
        }
        // Parity that yields the packet by itself needs no room.
        let is_enough = frame.damage.frame == Check::Good && count >= enough_alone(len);
        let more = if is_enough { 0 } else { 2 * blocks * PARITY };
        self.change(seq, more, out, |old| {
            let mut begun = old.filter(|old| old.frame.payload.len() == len)?;
            begun.parity.resize(blocks * PARITY, None);
            if is_enough {
                // Wrong symbols of earlier parity would only do harm.
                begun.parity.fill(None);
            }
            let places = &mut begun.parity[first * blocks..][..count * blocks];
            let symbols = frame.payload.to_bytes();
            places.iter_mut().zip(&symbols[..]).for_each(|(it, symbol)| *it = Some(*symbol));
            begun.frames += 1;
            Some(begun)
        })
    }

    /// Forgets the packets before `next`.
    pub(crate) fn forget_before(&mut self, next: Seq32) {
        while let Some(first) = self.begun.first_entry()
            && Seq32(*first.key()).is_before(next)
        {
            self.bytes -= first.remove().bytes();
        }
    }

    /// Drops the symbols of a packet that has arrived.
    pub(crate) fn forget(&mut self, seq: Seq32) {
        if let Some(begun) = self.begun.remove(&seq.0) {
            self.bytes -= begun.bytes();
        }
    }

    /// Puts what `change` makes of a packet in its place, unless it is whole then; `more` is what
    /// it may grow by.
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
