//! A modem of MNP below PPP, and the packets that are on its line.

use std::collections::VecDeque;

use windfall_base::{DropReason, Instant, PacketDrop, PacketEvent, PacketEventKind, Tag};
use windfall_circuit::rlp::MnpLink;
use windfall_wire_link::l2r::L2R_CHARACTERS;
use windfall_wire_link::rlp::RLP_FRAME_LEN;

use super::Announced;

/// The number of the peer's last packets that are remembered: blocks name them until the
/// acknowledgement arrives.
const REMEMBERED: usize = 64;

/// A packet on the line.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    tag: Option<Tag>,
    len: usize,
    /// The position of its end, in characters that the modem has accepted.
    end: u64,
    began: Instant,
    /// A block has carried its tag.
    is_told: bool,
}

/// A modem. Blocks carry the tags of the packets in transmission in rotation, and a new one first.
/// So the peer knows the tag of a packet before the packet can end.
#[derive(Debug)]
pub(super) struct Modem {
    link: MnpLink,
    under_way: VecDeque<UnderWay>,
    /// The index of the packet whose tag is sent next, if no tag is new.
    turn: usize,
    /// The tag that the last block repeated.
    told_again: Option<Tag>,
    /// The peer's packets that have not ended, in the order in which they end.
    announced: VecDeque<Announced>,
    /// The peer's last packets that have ended.
    ended: VecDeque<Tag>,
    events: Vec<PacketEvent>,
}

impl Modem {
    pub(super) fn new(compresses: bool) -> Self {
        Self {
            link: MnpLink::new(compresses),
            under_way: VecDeque::new(),
            turn: 0,
            told_again: None,
            announced: VecDeque::new(),
            ended: VecDeque::new(),
            events: Vec::new(),
        }
    }

    /// Returns whether there is room for another packet. A modem that has hung up accepts and drops
    /// all packets.
    pub(super) fn is_hungry(&self) -> bool {
        self.link.is_down() || self.link.waiting() < L2R_CHARACTERS
    }

    /// Returns the number of characters that wait for their first transmission.
    pub(super) fn waiting(&self) -> usize {
        self.link.waiting()
    }

    pub(super) fn held(&self) -> usize {
        self.under_way.len()
    }

    pub(super) fn write(&mut self, now: Instant, tag: Option<Tag>, characters: &[u8]) {
        if !self.link.is_down() {
            self.link.write(characters);
        }
        let end = self.link.taken();
        let len = characters.len();
        self.under_way.push_back(UnderWay { tag, len, end, began: now, is_told: false });
    }

    /// Returns the events of packets.
    pub(super) fn poll_events(&mut self) -> Vec<PacketEvent> {
        core::mem::take(&mut self.events)
    }

    /// Returns the tag that the last block repeats.
    pub(super) const fn told_again(&self) -> Option<Tag> {
        self.told_again
    }

    /// The next block, and the packet that begins in it with the time when it did.
    pub(super) fn next_block(&mut self) -> ([u8; RLP_FRAME_LEN], Option<(Instant, PacketEvent)>) {
        let block = self.link.next_block();
        if self.link.is_down() {
            self.told_again = None;
            let reason = DropReason::RetryLimit;
            let lost = self.under_way.drain(..);
            self.events.extend(
                lost.map(|it| PacketEvent::dropped(it.tag, PacketDrop::at_sender(reason, it.len))),
            );
            return (block, None);
        }
        self.told_again = None;
        match self.under_way.back_mut() {
            Some(it) if !it.is_told => {
                it.is_told = true;
                let sent = PacketEventKind::Sent { attempt: 1, len: it.len, kept: true };
                (block, Some((it.began, sent.of_packet(it.tag))))
            }
            _ => {
                self.turn = if self.turn + 1 < self.under_way.len() { self.turn + 1 } else { 0 };
                self.told_again = self.under_way.get(self.turn).and_then(|it| it.tag);
                (block, None)
            }
        }
    }

    /// Processes a received block and returns its characters. It names a packet in transmission.
    pub(super) fn handle_block(
        &mut self,
        block: &[u8; RLP_FRAME_LEN],
        announced: Option<Announced>,
    ) -> Vec<u8> {
        if let Some(announced) = announced {
            self.note_announced(announced);
        }
        self.link.handle_block(block);
        let there = self.link.acknowledged();
        while self.under_way.front().is_some_and(|it| it.end <= there)
            && let Some(it) = self.under_way.pop_front()
        {
            self.turn = self.turn.saturating_sub(1);
            self.events.push(PacketEventKind::Acknowledged.of_packet(it.tag));
        }
        self.link.read()
    }

    /// Adds a packet of the peer in the order of transmission.
    fn note_announced(&mut self, announced: Announced) {
        let tag = announced.tag;
        if self.ended.contains(&tag) || self.announced.iter().any(|it| it.tag == tag) {
            return;
        }
        // If the block that named the packet first was lost, so was the packet's place. Within its
        // flow the place follows from the tag.
        let later = self.announced.iter().position(|it| announced.again && it.tag > tag);
        self.announced.insert(later.unwrap_or(self.announced.len()), announced);
    }

    /// Returns the next packet of the peer that ends.
    pub(super) fn next_ended(&mut self) -> Option<Announced> {
        let next = self.announced.pop_front()?;
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(next.tag);
        Some(next)
    }
}
