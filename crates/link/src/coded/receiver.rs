//! The receiving side: keeps the good blocks of a packet until all of it is there.

use arrayvec::ArrayVec;
use windfall_base::seq::Seq16;
use windfall_base::{Check, Damage, DropReason, Frame, Tag};
use windfall_wire_link::check::{FCS_LEN, frame_check};
use windfall_wire_link::coded::{Fate, Head, MAX_BLOCKS, Progress, Report};

use super::blocks::{self, Block};
use super::dropped;
use super::ranges::Ranges;
use crate::event::Arrival;
use crate::output::Output;

/// A packet of which blocks have arrived.
#[derive(Debug)]
struct Begun {
    seq: Seq16,
    length: u16,
    stream: Vec<u8>,
    missing: Ranges,
    /// Taken although their checks rejected them.
    suspect: Ranges,
    corrected: u32,
    tag: Option<Tag>,
}

#[derive(Debug)]
pub(super) struct Receiver {
    accept_damaged: bool,
    begun: Option<Begun>,
    /// The last packet that was handed up.
    received: Option<Seq16>,
}

impl Receiver {
    pub(super) fn new(accept_damaged: bool) -> Self {
        Self { accept_damaged, begun: None, received: None }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.begun.is_some()
    }

    /// Takes the blocks of a frame with this header; the report goes back at once.
    pub(super) fn take(
        &mut self,
        head: &Head,
        unit: &Frame,
        out: &mut Output<'_>,
    ) -> (Arrival, Option<Report>) {
        if self.received == Some(head.seq) {
            out.discard(unit, DropReason::Duplicate);
            let report = report(Progress::Complete, head.seq, ArrayVec::new());
            return (Arrival::Packet, Some(report));
        }
        let arrival = match &self.begun {
            Some(begun) if begun.seq == head.seq && begun.length == head.length => Arrival::More,
            Some(begun) if begun.seq == head.seq => {
                out.discard(unit, DropReason::Malformed);
                return (Arrival::Packet, None);
            }
            _ => {
                self.abandon(out);
                Arrival::Packet
            }
        };
        let begun = self.begun.get_or_insert_with(|| Begun::new(head, unit.tag));
        let welcome = head.wish.last && head.wish.accept_damaged.unwrap_or(self.accept_damaged);
        let fates = begun.take(head, unit, welcome);
        if !begun.missing.is_empty() {
            return (arrival, Some(report(Progress::Partial, head.seq, fates)));
        }
        if !begun.is_consistent() {
            begun.restart();
            return (arrival, Some(report(Progress::Again, head.seq, fates)));
        }
        if let Some(begun) = self.begun.take() {
            self.received = Some(head.seq);
            out.deliver(begun.into_frame());
        }
        (arrival, Some(report(Progress::Complete, head.seq, fates)))
    }

    /// Forgets a packet that its sender has given up.
    fn abandon(&mut self, out: &mut Output<'_>) {
        if let Some(begun) = self.begun.take() {
            let mut frame = begun.into_frame();
            // Its sender has reported the packet's end; this is but the end of the pieces.
            frame.kept = true;
            out.events.push_back(dropped(&frame, DropReason::Uncorrectable));
        }
    }
}

fn report(progress: Progress, seq: Seq16, fates: ArrayVec<Fate, MAX_BLOCKS>) -> Report {
    Report { progress, seq, fates }
}

impl Begun {
    fn new(head: &Head, tag: Option<Tag>) -> Self {
        Self {
            seq: head.seq,
            length: head.length,
            stream: vec![0; head.stream()],
            missing: Ranges::until(head.stream()),
            suspect: Ranges::default(),
            corrected: 0,
            tag,
        }
    }

    /// Takes what is good of a frame, and what is not if damage is `welcome`.
    fn take(&mut self, head: &Head, unit: &Frame, welcome: bool) -> ArrayVec<Fate, MAX_BLOCKS> {
        let mut start = 0;
        let mut read: ArrayVec<Block, MAX_BLOCKS> = ArrayVec::new();
        for index in 0..head.stretches.len() {
            read.push(blocks::read(head, index, &unit.payload, start));
            start += head.block_len(index);
        }
        let all_good = read.iter().all(|block| matches!(block.fate, Fate::Good(_)));
        let mut fates = ArrayVec::new();
        for (index, block) in read.iter().enumerate() {
            let range = head.stretches[index].range();
            let data = block.data(range.len());
            fates.push(match block.fate {
                // Who repeats whole frames has no use for parts of them.
                Fate::Good(corrected) if all_good || !head.whole => {
                    self.stream[range.clone()].copy_from_slice(data);
                    self.missing.remove(&range);
                    self.suspect.remove(&range);
                    self.corrected += u32::from(corrected);
                    block.fate
                }
                //= S0.63
                _ if welcome => {
                    for gap in self.missing.within(&range) {
                        let inside = gap.start - range.start..gap.end - range.start;
                        self.stream[gap.clone()].copy_from_slice(&data[inside]);
                        self.suspect.insert(gap);
                    }
                    self.missing.remove(&range);
                    if matches!(block.fate, Fate::Good(_)) { block.fate } else { Fate::Damaged }
                }
                fate => fate,
            });
        }
        fates
    }

    /// Whether the frame check holds, or need not.
    fn is_consistent(&self) -> bool {
        let (packet, check) = self.stream.split_at(usize::from(self.length));
        !self.suspect.is_empty() || frame_check(&[packet]) == check
    }

    fn restart(&mut self) {
        self.missing = Ranges::until(self.stream.len());
        self.corrected = 0;
    }

    fn into_frame(self) -> Frame {
        let Self { mut stream, length, suspect, corrected, tag, .. } = self;
        stream.truncate(stream.len() - FCS_LEN);
        // Suspect bytes of the frame check alone leave the packet unchecked, not damaged.
        let inside = suspect.within(&(0..usize::from(length)));
        let suspect: Vec<_> =
            inside.into_iter().map(|range| range.start as u32..range.end as u32).collect();
        let frame = if suspect.is_empty() { Check::Good } else { Check::Bad };
        let damage = Damage { frame, header: Check::Good, missing: 0, corrected, suspect };
        Frame { tag, damage, ..Frame::packet(stream) }
    }
}
