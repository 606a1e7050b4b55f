//! One end of a GSM circuit below an interface: PPP frames in a block every 20 ms.

mod line;
mod modem;
mod tunnel;

use std::collections::VecDeque;

use windfall_base::{
    Check, DropReason, Duration, Frame, Input, Instant, Outgoing, PacketEvent, PacketEventKind,
    Tag, TransitTiming,
};
use windfall_circuit::ppp::{Deframer, FrameMode};
use windfall_wire_link::hdlc::{Accm, FLAG, HdlcCheck, encode_frame};
use windfall_wire_link::ppp::{IPV4, IPV6};
use windfall_wire_link::rlp::RLP_FRAME_LEN;

use super::account::InterfaceAccount;
use super::flows::{FlowAccount, QueueConfig};
use super::link::Link;
use super::pipe::Packets;
use crate::event::InterfaceEvent;
use line::{GsmLine, PACKED};
use tunnel::Tunnel;

/// The bytes that PPP adds to a packet: flag, address, control, protocol and FCS.
const PPP_LEN: usize = 8;

/// The service of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsmService {
    /// Transparent and asynchronous: no retransmission, and damage is delivered (S1.21).
    Transparent,
    /// RLP, which retransmits a frame `n2` times before it resets the link (S1.13).
    NonTransparent {
        /// N2 of GSM 04.22.
        n2: u8,
    },
    /// Modems that correct errors on the transparent circuit, after MNP class 4 (S1.28).
    Modems {
        /// The modems compress too (class 5).
        compresses: bool,
    },
}

/// The configuration of one end of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GsmLinkConfig {
    /// The service, the same at both ends.
    pub service: GsmService,
    /// This end calls its peer, as the mobile station does.
    pub calls: bool,
    /// PPP Lite: packets whose check fails are passed up (S1.12).
    pub accept_damaged: bool,
    /// The tunnel from the base station to this end, if the line terminates in another machine.
    pub tunnel: Option<GsmTunnel>,
}

//= S1.24
//= S1.27
//= S1.25
//= S1.59
/// The tunnel of paper 001, section 4, between the base station and the machine that terminates the
/// line: blocks in datagrams, and two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GsmTunnel {
    /// The depth of the jitter buffer of each direction in blocks. Playout starts at this depth;
    /// twice as many are the maximum.
    pub depth: u16,
    /// The clock skew in parts per million: by how much a slot of the machine is longer than one of
    /// the base station.
    pub skew: i32,
}

/// A connected circuit with negotiated PPP: only flag and escape octets are escaped, FCS-16.
#[derive(Debug)]
pub(super) struct GsmLink {
    waiting: Packets,
    line: GsmLine,
    deframer: Deframer,
    /// Packets whose last block has arrived, but not the flag that ends them.
    unended: VecDeque<Announced>,
    /// The first part of a packet that damage has split: a damaged octet looked like a flag.
    piece: Option<Vec<u8>>,
    tunnel: Option<Tunnel>,
    /// The expected transit time of blocks.
    delay: Duration,
    /// The packets in transmission that have an expiry time, in the order in which they were sent.
    /// Queues change the order of flows, so it is not the order of their tags.
    expiries: VecDeque<(Tag, Instant)>,
    /// A block of this end is being transmitted.
    sending: bool,
    delivery: VecDeque<Frame>,
}

/// A packet of the peer that a block names.
#[derive(Clone, Copy, Debug)]
struct Announced {
    tag: Tag,
    expires: Option<Instant>,
    /// An earlier block has named it already.
    again: bool,
}

impl GsmLink {
    pub(super) fn new(config: GsmLinkConfig, mtu: usize, queues: &QueueConfig) -> Self {
        let mode = if config.accept_damaged { FrameMode::Lite } else { FrameMode::Strict };
        let longest = u16::try_from(mtu).unwrap_or(u16::MAX);
        Self {
            waiting: Packets::new(queues),
            line: GsmLine::new(config),
            deframer: Deframer::new(mode, HdlcCheck::Fcs16, Accm::NONE, longest),
            unended: VecDeque::new(),
            piece: None,
            tunnel: config.tunnel.map(Tunnel::new),
            delay: Duration::ZERO,
            expiries: VecDeque::new(),
            sending: false,
            delivery: VecDeque::new(),
        }
    }

    /// Writes the next packet to the line, if this block has room for it.
    fn fill(&mut self, now: Instant, account: &mut InterfaceAccount) {
        if !self.line.is_hungry() {
            return;
        }
        let line = &self.line;
        let delay = self.delay;
        let least = |len| line.time_of(len + PPP_LEN) + delay;
        let Some(pulled) = self.waiting.pull(now, least, account) else { return };
        if let (Some(tag), Some(expires)) = (pulled.frame.tag, pulled.expires) {
            self.expiries.push_back((tag, expires));
        }
        let [head, body] = pulled.frame.payload.slices();
        let protocol = match head.first().map(|byte| byte >> 4) {
            Some(6) => IPV6,
            _ => IPV4,
        };
        let [high, low] = protocol.to_be_bytes();
        let mut characters = Vec::with_capacity(pulled.frame.payload.len() + 16);
        let parts = [&[0xff, 0x03, high, low][..], head, body];
        encode_frame(&parts, HdlcCheck::Fcs16, Accm::NONE, &mut characters);
        if characters.len() <= PACKED {
            // Padding ensures that no two packets end in one block.
            characters.splice(0..0, [FLAG; PACKED]);
        }
        self.line.write(now, pulled.frame.tag, &characters);
    }

    /// Returns the next block of the line.
    fn next_frame(&mut self, now: Instant, account: &mut InterfaceAccount) -> Frame {
        self.fill(now, account);
        let (mut block, ended) = self.line.next_block(now);
        self.settle(now, account);
        block.iter_mut().for_each(|octet| *octet = octet.reverse_bits());
        let mut frame = Frame::packet(block.to_vec());
        match ended {
            Some((began, event)) => {
                frame.tag = event.tag;
                frame.kept = matches!(event.kind, PacketEventKind::Sent { kept: true, .. });
                frame.set_expiry(self.expiry_of(event.tag));
                self.note(began, event, account);
            }
            None => {
                account.counters.control_sent += 1;
                (frame.tag, frame.kept) = (self.line.told_again(), true);
                frame.names_only = frame.tag.is_some();
                frame.set_expiry(self.expiry_of(frame.tag));
            }
        }
        frame
    }

    /// Returns the expiry time of a sent packet.
    fn expiry_of(&self, tag: Option<Tag>) -> Option<Instant> {
        let tag = tag?;
        self.expiries.iter().find(|(other, _)| *other == tag).map(|(_, expires)| *expires)
    }

    fn note(&mut self, began: Instant, event: PacketEvent, account: &mut InterfaceAccount) {
        // The outcome of a packet also settles all packets sent before it.
        let decides = matches!(
            event.kind,
            PacketEventKind::Acknowledged
                | PacketEventKind::Dropped(_)
                | PacketEventKind::Sent { kept: false, .. }
        );
        if let (Some(tag), true) = (event.tag, decides) {
            self.forget_until(tag);
        }
        self.waiting.note(began, &event);
        account.record(event);
    }

    /// Forgets the expiry times of a sent packet, and of those sent before it.
    fn forget_until(&mut self, tag: Tag) {
        let place = self.expiries.iter().position(|(other, _)| *other == tag);
        self.expiries.drain(..place.map_or(0, |place| place + 1));
    }

    /// Records the packets that the peer has acknowledged, and those lost by a reset.
    fn settle(&mut self, now: Instant, account: &mut InterfaceAccount) {
        while let Some(event) = self.line.poll_event() {
            self.note(now, event, account);
        }
        while let Some(sight) = self.line.poll_sight() {
            account.note(InterfaceEvent::Rlp(sight));
        }
    }

    //= S1.12
    fn take_block(&mut self, now: Instant, frame: &Frame, account: &mut InterfaceAccount) {
        let Ok(mut block) = <[u8; RLP_FRAME_LEN]>::try_from(frame.to_vec()) else {
            return self.lose(frame.tag.filter(|_| !frame.kept), DropReason::Truncated, account);
        };
        // The least significant bit of an octet is sent first.
        block.iter_mut().for_each(|octet| *octet = octet.reverse_bits());
        let expires = frame.expires;
        let announced = frame.tag.map(|tag| Announced { tag, expires, again: frame.names_only });
        let before = self.deframer.counts();
        let arrived = self.line.handle_block(now, &block, announced);
        let mut packets = VecDeque::new();
        self.deframer.take(&arrived.characters, |found| {
            if [IPV4, IPV6].contains(&found.protocol) {
                packets.push_back((found.packet.to_vec(), found.damaged));
            }
        });
        account.counters.control_received += u64::from(packets.is_empty());
        self.unended.extend(arrived.ended);
        self.unended.extend(packets.iter().filter_map(|_| self.line.next_ended()));
        while let Some((packet, damaged)) = packets.pop_front() {
            // A frame that ends before any sent packet does is a piece that damage has split off.
            if packets.len() >= self.unended.len() {
                self.piece.get_or_insert(packet);
                continue;
            }
            self.piece = None;
            let announced = self.unended.pop_front();
            self.deliver(announced, packet, damaged, account);
        }
        let counts = self.deframer.counts();
        let reason = if counts.frame_check > before.frame_check {
            DropReason::FrameCheck
        } else {
            DropReason::LinkHeader
        };
        self.lose_ended(counts != before, reason, account);
        self.settle(now, account);
    }

    /// Drops the packets that have arrived but gave no valid frame; delivers the piece of one that
    /// damage has split. A packet whose last flag is damaged ends at the next flag, so it is kept
    /// while no frame has `ended`.
    fn lose_ended(&mut self, ended: bool, reason: DropReason, account: &mut InterfaceAccount) {
        let is_open = self.deframer.is_within_frame() && !ended;
        while self.unended.len() > usize::from(is_open) {
            let announced = self.unended.pop_front();
            match self.piece.take() {
                Some(piece) => self.deliver(announced, piece, true, account),
                None => self.lose(announced.map(|it| it.tag), reason, account),
            }
        }
    }

    fn deliver(
        &mut self,
        announced: Option<Announced>,
        packet: Vec<u8>,
        damaged: bool,
        account: &mut InterfaceAccount,
    ) {
        account.arrived();
        let tag = announced.map(|it| it.tag);
        let mut frame = Frame { tag, ..Frame::packet(packet) };
        frame.set_expiry(announced.and_then(|it| it.expires));
        frame.damage.frame = if damaged { Check::Bad } else { Check::Good };
        self.delivery.push_back(frame);
    }

    /// Drops a received packet that cannot be decoded.
    fn lose(&mut self, tag: Option<Tag>, reason: DropReason, account: &mut InterfaceAccount) {
        if tag.is_some() {
            account.arrived();
            account.discarded(tag, false, reason, RLP_FRAME_LEN);
        }
    }
}

impl Link for GsmLink {
    fn set_passage(&mut self, passage: TransitTiming) {
        let tunnel = self.tunnel.as_ref().map_or(Duration::ZERO, Tunnel::depth);
        self.delay = passage.delay.saturating_add(tunnel);
    }

    fn take_packet(
        &mut self,
        now: Instant,
        frame: Frame,
        account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        self.waiting.push(now, frame, account)
    }

    fn take_first(
        &mut self,
        now: Instant,
        frame: Frame,
        _account: &mut InterfaceAccount,
    ) -> Result<usize, DropReason> {
        Ok(self.waiting.push_first(now, frame))
    }

    fn handle_input(&mut self, now: Instant, input: Input, account: &mut InterfaceAccount) {
        match input {
            Input::Frame(frame, _) => match &mut self.tunnel {
                Some(tunnel) => tunnel.up.put(frame),
                None => self.take_block(now, &frame, account),
            },
            Input::TransmissionDone => {
                self.sending = false;
                self.waiting.landed(now);
            }
            // A circuit has no carrier sense.
            _ => {}
        }
    }

    /// Performs a slot of the machine behind the tunnel: one block leaves the tunnel, and one
    /// enters it.
    fn handle_timeout(&mut self, now: Instant, account: &mut InterfaceAccount) {
        let Some(tunnel) = &mut self.tunnel else { return };
        if !tunnel.begins_slot(now) {
            return;
        }
        if let Some(frame) = tunnel.up.take() {
            self.take_block(now, &frame, account);
        }
        let frame = self.next_frame(now, account);
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.down.put(frame);
        }
    }

    fn poll_delivery(&mut self, _account: &mut InterfaceAccount) -> Option<Frame> {
        self.delivery.pop_front()
    }

    /// Blocks are sent back to back, even without data.
    fn poll_transmit(&mut self, now: Instant, account: &mut InterfaceAccount) -> Option<Outgoing> {
        if self.sending {
            return None;
        }
        let frame = match &mut self.tunnel {
            None => self.next_frame(now, account),
            Some(tunnel) => tunnel.down.take().unwrap_or_else(|| {
                account.counters.control_sent += 1;
                // A filler with an invalid FCS, so it is no RLP frame.
                Frame::packet(vec![0; RLP_FRAME_LEN])
            }),
        };
        account.counters.bytes_sent += frame.len() as u64;
        self.sending = true;
        Some(frame.into())
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let block = (!self.sending).then_some((Instant::START, "block"));
        block.or_else(|| Some((self.tunnel.as_ref()?.next_slot(), "slot")))
    }

    fn held(&self) -> usize {
        self.waiting.held() + self.line.held() + self.delivery.len()
    }

    fn queue_len(&self) -> (usize, usize) {
        self.waiting.len()
    }

    fn flows(&self) -> Vec<FlowAccount> {
        self.waiting.accounts()
    }
}

#[cfg(test)]
mod tests;
