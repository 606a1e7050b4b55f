//! The characters of packets in blocks, and the packet that ends in each block.

use std::collections::VecDeque;

use windfall_base::{DropReason, Duration, Instant, PacketDrop, PacketEvent, PacketEventKind, Tag};
use windfall_circuit::rlp::{
    RlpConfig, RlpEvent, RlpLink, RlpRole, SLOT, TransparentLine, TransparentMode,
};
use windfall_wire_link::hdlc::FLAG;
use windfall_wire_link::l2r::L2R_CHARACTERS;
use windfall_wire_link::rlp::{RLP_FRAME_LEN, RLP_MODULUS, RlpControl, RlpFrame};

use super::modem::Modem;
use super::{Announced, GsmLinkConfig, GsmService};
use crate::event::RlpSight;

/// The most characters in a block, of either service.
pub(super) const PACKED: usize = L2R_CHARACTERS;
/// The maximum number of characters that wait for their first transmission; packets are written as
/// a whole.
const BUFFER: usize = 1 << 20;

/// A packet on the line.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    tag: Option<Tag>,
    /// The number of its characters.
    len: usize,
    /// The position of its end, in characters written.
    end: u64,
    began: Instant,
    /// The number of the RLP frame in which the packet ends, once that frame was sent.
    number: Option<u8>,
    attempts: u32,
}

/// One end of the line.
#[derive(Debug)]
pub(super) struct GsmLine {
    service: Service,
    /// Characters written since the start, or since the last reset of RLP.
    written: u64,
    /// The oldest first.
    under_way: VecDeque<UnderWay>,
    events: VecDeque<PacketEvent>,
    sights: VecDeque<RlpSight>,
}

#[derive(Debug)]
enum Service {
    Transparent(TransparentLine),
    NonTransparent(Box<Reliable>),
    Modems(Box<Modem>),
}

/// RLP, and the packets that end in received frames.
#[derive(Debug)]
struct Reliable {
    link: RlpLink,
    calls: bool,
    ending: [Option<Announced>; RLP_MODULUS as usize],
}

/// The contents of a block: characters, and the packets that end in them, in order.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub(super) characters: Vec<u8>,
    pub(super) ended: Vec<Announced>,
}

impl GsmLine {
    pub(super) fn new(config: GsmLinkConfig) -> Self {
        let service = match config.service {
            GsmService::Transparent => {
                Service::Transparent(TransparentLine::new(TransparentMode::Asynchronous, FLAG))
            }
            GsmService::NonTransparent { n2 } => {
                let role = if config.calls { RlpRole::Mobile } else { RlpRole::Network };
                let rlp = RlpConfig { n2, buffer: BUFFER, ..RlpConfig::standard(role) };
                let ending = [None; RLP_MODULUS as usize];
                let link = RlpLink::new(rlp);
                Service::NonTransparent(Box::new(Reliable { link, calls: config.calls, ending }))
            }
            GsmService::Modems { compresses } => Service::Modems(Box::new(Modem::new(compresses))),
        };
        let under_way = VecDeque::new();
        let events = VecDeque::new();
        let sights = VecDeque::new();
        Self { service, written: 0, under_way, events, sights }
    }

    /// Returns whether the next block has room for the beginning of another packet.
    pub(super) fn is_hungry(&self) -> bool {
        match &self.service {
            Service::Transparent(line) => line.unfinished() < PACKED,
            Service::NonTransparent(it) => it.link.is_up() && it.link.unsent() < PACKED,
            Service::Modems(modem) => modem.is_hungry(),
        }
    }

    //= S1.14
    /// The time until the block has left in which a packet of this number of characters ends, if
    /// nothing is repeated.
    pub(super) fn time_of(&self, characters: usize) -> Duration {
        // Tenths of a character in a block: with start and stop bits, in frames of RLP, and with
        // start and stop bits in frames of modems.
        let (before, each) = match &self.service {
            Service::Transparent(line) => (line.unfinished(), 192),
            Service::NonTransparent(it) => (it.link.unsent(), 10 * PACKED),
            Service::Modems(modem) => (modem.waiting(), 185),
        };
        SLOT * (10 * (before + characters)).div_ceil(each) as u64
    }

    /// Puts the characters of a packet on the line.
    pub(super) fn write(&mut self, now: Instant, tag: Option<Tag>, characters: &[u8]) {
        match &mut self.service {
            Service::Transparent(line) => line.write(characters),
            Service::NonTransparent(it) => {
                it.link.write(characters);
            }
            Service::Modems(modem) => return modem.write(now, tag, characters),
        }
        let len = characters.len();
        self.written += len as u64;
        let end = self.written;
        let number = None;
        let attempts = 0;
        self.under_way.push_back(UnderWay { tag, len, end, began: now, number, attempts });
    }

    /// Packets on the line.
    pub(super) fn held(&self) -> usize {
        match &self.service {
            Service::Modems(modem) => modem.held(),
            _ => self.under_way.len(),
        }
    }

    /// Returns the next event of a packet that the line kept.
    pub(super) fn poll_event(&mut self) -> Option<PacketEvent> {
        self.events.pop_front()
    }

    /// Returns the next RLP frame that was sent or received.
    pub(super) fn poll_sight(&mut self) -> Option<RlpSight> {
        self.sights.pop_front()
    }

    /// The next block, and the packet that ends in it with the time when it began.
    pub(super) fn next_block(
        &mut self,
        now: Instant,
    ) -> ([u8; RLP_FRAME_LEN], Option<(Instant, PacketEvent)>) {
        let line = match &mut self.service {
            Service::Transparent(line) => line,
            Service::NonTransparent(_) => return self.next_frame(now),
            Service::Modems(modem) => {
                let next = modem.next_block();
                self.events.extend(modem.poll_events());
                return next;
            }
        };
        let block = line.next_block();
        let sent = self.written - line.unfinished() as u64;
        let ended = self.pop_before(sent);
        let sent = ended.map(|it| {
            let sent = PacketEventKind::Sent { attempt: 1, len: it.len, kept: false };
            (it.began, sent.of_packet(it.tag))
        });
        (block, sent)
    }

    fn next_frame(
        &mut self,
        now: Instant,
    ) -> ([u8; RLP_FRAME_LEN], Option<(Instant, PacketEvent)>) {
        let Service::NonTransparent(it) = &mut self.service else {
            return ([0; RLP_FRAME_LEN], None);
        };
        if it.calls {
            it.link.connect();
        }
        let before = it.link.unsent();
        let copies = it.link.counts().retransmissions;
        let block = it.link.next_frame(now);
        let again = it.link.counts().retransmissions > copies;
        let unsent = it.link.unsent();
        let frame = RlpFrame::parse(&block);
        let sight = frame.as_ref().ok().and_then(|frame| RlpSight::of(frame, true, again));
        self.sights.extend(sight);
        if self.note_reset() {
            return (block, None);
        }
        let frame = frame.map(|frame| frame.control);
        let Ok(RlpControl::Information { ns, .. }) = frame else { return (block, None) };
        let sent = self.written - unsent as u64;
        let is_new = unsent < before;
        let ends_here = |it: &&mut UnderWay| match it.number {
            None => is_new && it.end <= sent,
            Some(number) => !is_new && number == ns,
        };
        let ended = self.under_way.iter_mut().find(ends_here);
        let sent = ended.map(|it| {
            it.number = Some(ns);
            it.attempts += 1;
            let sent = PacketEventKind::Sent { attempt: it.attempts, len: it.len, kept: true };
            (it.began, sent.of_packet(it.tag))
        });
        (block, sent)
    }

    /// Returns the repeated tag in the last block, if no packet ends or begins in it.
    pub(super) fn told_again(&self) -> Option<Tag> {
        match &self.service {
            Service::Modems(modem) => modem.told_again(),
            _ => None,
        }
    }

    /// Returns the next packet that has ended, for services whose blocks do not name it.
    pub(super) fn next_ended(&mut self) -> Option<Announced> {
        match &mut self.service {
            Service::Modems(modem) => modem.next_ended(),
            _ => None,
        }
    }

    /// Processes a received block, which names the packet that ends in it.
    pub(super) fn handle_block(
        &mut self,
        now: Instant,
        block: &[u8; RLP_FRAME_LEN],
        announced: Option<Announced>,
    ) -> Arrived {
        let it = match &mut self.service {
            Service::Transparent(line) => {
                let mut characters = Vec::new();
                line.handle_block(block, &mut characters);
                return Arrived { characters, ended: announced.into_iter().collect() };
            }
            Service::NonTransparent(it) => it,
            Service::Modems(modem) => {
                let characters = modem.handle_block(block, announced);
                self.events.extend(modem.poll_events());
                return Arrived { characters, ended: Vec::new() };
            }
        };
        let (arrived, sight) = it.handle_frame(now, block, announced);
        self.sights.extend(sight);
        if !self.note_reset() {
            self.note_acknowledged();
        }
        arrived
    }

    /// Removes the oldest packet if it ends at this character or before.
    fn pop_before(&mut self, character: u64) -> Option<UnderWay> {
        let is_there = self.under_way.front().is_some_and(|it| it.end <= character);
        if is_there { self.under_way.pop_front() } else { None }
    }

    /// Removes the packets that the peer has acknowledged.
    fn note_acknowledged(&mut self) {
        let Service::NonTransparent(it) = &self.service else { return };
        let there = self.written - it.link.unacknowledged() as u64;
        while let Some(it) = self.pop_before(there) {
            self.events.push_back(PacketEventKind::Acknowledged.of_packet(it.tag));
        }
    }

    //= S1.16
    /// A reset loses the packet that was begun and not acknowledged; returns whether there was one.
    fn note_reset(&mut self) -> bool {
        let Service::NonTransparent(it) = &mut self.service else { return false };
        let mut was_reset = false;
        while let Some(event) = it.link.poll_event() {
            was_reset |= matches!(event, RlpEvent::Reset { .. } | RlpEvent::Down(_));
        }
        if was_reset {
            it.ending.fill(None);
            let unsent = it.link.unsent() as u64;
            self.lose_begun(unsent);
        }
        was_reset
    }

    /// Drops all packets of which a character was sent. The rest of such a packet is still
    /// transmitted, and is useless.
    fn lose_begun(&mut self, unsent: u64) {
        let sent = self.written - unsent;
        let begun = self.under_way.partition_point(|it| it.end - (it.len as u64) < sent);
        let reason = DropReason::RetryLimit;
        let lost = self.under_way.drain(..begun);
        self.events.extend(
            lost.map(|it| PacketEvent::dropped(it.tag, PacketDrop::at_sender(reason, it.len))),
        );
        self.under_way.iter_mut().for_each(|it| it.end -= sent);
        self.written = unsent;
    }
}

impl Reliable {
    fn handle_frame(
        &mut self,
        now: Instant,
        block: &[u8; RLP_FRAME_LEN],
        announced: Option<Announced>,
    ) -> (Arrived, Option<RlpSight>) {
        let expected = self.link.expected();
        let frame = RlpFrame::parse(block);
        // The link counts the blocks that are no valid frames.
        let _ = self.link.handle_frame(now, block);
        let Ok(frame) = frame else { return Default::default() };
        let RlpControl::Information { ns, .. } = frame.control else {
            return (Arrived::default(), RlpSight::of(&frame, false, false));
        };
        // A frame below the receive window is a late copy.
        let is_late = (ns + RLP_MODULUS - expected) % RLP_MODULUS >= RLP_MODULUS / 2;
        if !is_late {
            self.ending[usize::from(ns)] = announced;
        }
        let mut ended = Vec::new();
        let mut number = expected;
        while number != self.link.expected() {
            ended.extend(self.ending[usize::from(number)].take());
            number = (number + 1) % RLP_MODULUS;
        }
        let arrived = Arrived { characters: self.link.read(), ended };
        (arrived, RlpSight::of(&frame, false, is_late))
    }
}
