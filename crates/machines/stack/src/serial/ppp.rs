//! PPP on a line, with or without RLP between.

use core::num::NonZeroU32;
use std::collections::VecDeque;

use windfall_base::{Check, DropReason, Drops, Duration, Frame, Instant, Ledger, Stream, earlier};
use windfall_circuit::ppp::{DeframerCounts, PppConfig, PppEvent, PppLink};
use windfall_circuit::rlp::{RlpConfig, RlpEvent, RlpLink, SLOT};
use windfall_queue::{Join, Limits, PacketQueue};
use windfall_wire_link::hdlc::{Accm, encode_unchecked};
use windfall_wire_link::l2r::L2R_CHARACTERS;
use windfall_wire_link::rlp::RLP_FRAME_LEN;

use super::unchecked::UncheckedDeframer;
use super::{Body, SerialEvent, line_time};

/// The bytes of PPP that RLP keeps at most.
const BUFFER: usize = 1 << 20;

/// The layer below PPP.
#[derive(Debug)]
pub(super) enum Below {
    Line,
    Rlp(Box<Rlp>),
}

#[derive(Debug)]
pub(super) struct Rlp {
    link: RlpLink,
    calls: bool,
    deframer: UncheckedDeframer,
    /// Characters of the line in a second, where they are known.
    characters: Option<NonZeroU32>,
    /// The time of the next frame.
    slot_at: Instant,
}

/// The time of a frame on the line; where its speed is unknown, that of GSM.
fn frame_time(count: usize, characters: Option<NonZeroU32>) -> Duration {
    match line_time(count, characters) {
        Duration::ZERO => SLOT,
        time => time,
    }
}

impl Below {
    pub(super) fn new(rlp: Option<RlpConfig>, calls: bool, characters: Option<NonZeroU32>) -> Self {
        let Some(config) = rlp else { return Self::Line };
        // Every byte may be escaped, and there are two flags.
        let slot = frame_time(2 * RLP_FRAME_LEN + 2, characters);
        // A whole window may precede the frame with the answer.
        let window = u64::from(config.window_up.max(config.window_down));
        let t1 = config.t1.max(slot * (window + 8));
        let config = RlpConfig { t1, buffer: BUFFER, ..config };
        let deframer = UncheckedDeframer::new(RLP_FRAME_LEN);
        let link = RlpLink::new(config);
        Self::Rlp(Box::new(Rlp { link, calls, deframer, characters, slot_at: Instant::START }))
    }

    fn is_up(&self) -> bool {
        match self {
            Self::Line => true,
            Self::Rlp(rlp) => rlp.link.is_up(),
        }
    }
}

/// PPP, the packets that wait for it, and the packets that it delivers.
#[derive(Debug)]
pub(super) struct PppLine {
    ppp: PppLink,
    below: Below,
    queue: PacketQueue,
    /// IPv4 and IPv6 can be sent.
    open: [bool; 2],
    closing: bool,
    counts: DeframerCounts,
    deliveries: VecDeque<Frame>,
    events: VecDeque<SerialEvent>,
    taken: u64,
    sent: u64,
    given: u64,
    drops: Drops,
}

impl PppLine {
    pub(super) fn new(config: PppConfig, queue: Limits, below: Below, stream: &Stream) -> Self {
        Self {
            ppp: PppLink::new(config, stream),
            below,
            queue: PacketQueue::drop_tail(queue),
            open: [false; 2],
            closing: false,
            counts: DeframerCounts::default(),
            deliveries: VecDeque::new(),
            events: VecDeque::new(),
            taken: 0,
            sent: 0,
            given: 0,
            drops: Drops::default(),
        }
    }

    /// Notes what PPP reports and delivers.
    fn collect(&mut self, now: Instant) {
        let mut has_ended = false;
        while let Some(event) = self.ppp.poll_event() {
            match event {
                PppEvent::Ipv4Up { .. } => self.open[0] = true,
                PppEvent::Ipv6Up { .. } => self.open[1] = true,
                PppEvent::Ipv4Down => self.open[0] = false,
                PppEvent::Ipv6Down => self.open[1] = false,
                PppEvent::Down => self.open = [false; 2],
                PppEvent::Finished => has_ended = true,
                PppEvent::Up | PppEvent::Looped => {}
            }
            self.events.push_back(SerialEvent::Ppp(event));
        }
        while let Some(packet) = self.ppp.poll_packet() {
            self.taken += 1;
            let mut frame = Frame::packet(packet.bytes);
            frame.damage.frame = if packet.damaged { Check::Bad } else { Check::Good };
            self.deliveries.push_back(frame);
        }
        let counts = self.ppp.counts();
        let bad = counts.frame_check - self.counts.frame_check;
        let malformed = counts.malformed - self.counts.malformed;
        self.counts = counts;
        self.taken += bad + malformed;
        self.drops.count_many(DropReason::FrameCheck, bad);
        self.drops.count_many(DropReason::Malformed, malformed);
        if has_ended && !self.closing && self.below.is_up() {
            // The peer may still appear.
            self.ppp.line_down(now);
            self.ppp.open(now);
        }
    }

    /// The next bytes of PPP: its own packets, or else one from above.
    fn next_of_ppp(&mut self, now: Instant) -> Option<Vec<u8>> {
        let control = self.ppp.take_line();
        if !control.is_empty() {
            return Some(control);
        }
        while let Some(waiting) = self.queue.pop(now) {
            if waiting.expires().is_some_and(|expires| expires < now) {
                self.drops.count(DropReason::Expired);
                continue;
            }
            let packet = waiting.frame.to_vec();
            if self.ppp.send(&packet) {
                self.sent += 1;
                self.given += 1;
                return Some(self.ppp.take_line());
            }
            let is_open = self.is_open(&packet);
            self.drops.count(if is_open { DropReason::TooBig } else { DropReason::NoRoute });
        }
        None
    }

    /// Tells whether the protocol of a packet can be sent.
    fn is_open(&self, packet: &[u8]) -> bool {
        match packet.first().map(|byte| byte >> 4) {
            Some(4) => self.open[0],
            Some(6) => self.open[1],
            _ => false,
        }
    }

    /// Processes the events of RLP, which bring the line of PPP up and down.
    fn follow_rlp(&mut self, now: Instant) {
        loop {
            let Below::Rlp(rlp) = &mut self.below else { return };
            let Some(event) = rlp.link.poll_event() else { return };
            self.events.push_back(SerialEvent::Rlp(event));
            match event {
                RlpEvent::Up => self.ppp.open(now),
                RlpEvent::Down(_) => self.ppp.line_down(now),
                RlpEvent::Negotiated | RlpEvent::XidCollision | RlpEvent::Reset { .. } => {}
            }
            self.collect(now);
        }
    }

    /// The next frame of RLP, if its time has come.
    fn next_of_rlp(&mut self, now: Instant) -> Option<Vec<u8>> {
        loop {
            let Below::Rlp(rlp) = &self.below else { return None };
            if now < rlp.slot_at {
                return None;
            }
            if !rlp.link.is_up() || rlp.link.unsent() >= L2R_CHARACTERS {
                break;
            }
            let Some(bytes) = self.next_of_ppp(now) else { break };
            let Below::Rlp(rlp) = &mut self.below else { return None };
            rlp.link.write(&bytes);
        }
        let Below::Rlp(rlp) = &mut self.below else { return None };
        if rlp.calls && !self.closing {
            rlp.link.connect();
        }
        let frame = rlp.link.next_frame(now);
        let mut bytes = Vec::with_capacity(2 * RLP_FRAME_LEN);
        encode_unchecked(&[&frame], Accm::NONE, &mut bytes);
        // The next frame starts when this one has left the line.
        rlp.slot_at = now + frame_time(bytes.len(), rlp.characters);
        self.follow_rlp(now);
        Some(bytes)
    }
}

impl Body for PppLine {
    fn take_packet(&mut self, now: Instant, frame: Frame) {
        self.taken += 1;
        if !self.is_open(&frame.to_vec()) {
            self.drops.count(DropReason::NoRoute);
        } else if let Join::Refused(_, reason) = self.queue.push(now, frame) {
            self.drops.count(reason);
        }
    }

    fn take_bytes(&mut self, now: Instant, bytes: &[u8]) {
        match &mut self.below {
            Below::Line => self.ppp.handle_line(now, bytes),
            Below::Rlp(rlp) => {
                for block in rlp.deframer.take(bytes) {
                    // The link counts the blocks that are no frames.
                    let _ = rlp.link.handle_frame(now, &block);
                }
                let characters = rlp.link.read();
                self.follow_rlp(now);
                self.ppp.handle_line(now, &characters);
            }
        }
        self.collect(now);
    }

    fn restart(&mut self, now: Instant) {
        if self.below.is_up() {
            self.ppp.line_down(now);
            self.ppp.open(now);
            self.collect(now);
        }
    }

    fn close(&mut self, now: Instant) {
        self.closing = true;
        self.ppp.close(now);
        self.collect(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.ppp.handle_timeout(now);
        self.collect(now);
    }

    fn next_bytes(&mut self, now: Instant) -> Option<Vec<u8>> {
        match self.below {
            Below::Line => self.next_of_ppp(now),
            Below::Rlp(_) => self.next_of_rlp(now),
        }
    }

    fn poll_delivery(&mut self, _now: Instant) -> Option<Frame> {
        let frame = self.deliveries.pop_front()?;
        self.given += 1;
        Some(frame)
    }

    fn poll_event(&mut self) -> Option<SerialEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let slot = match &self.below {
            Below::Line => None,
            Below::Rlp(rlp) => Some((rlp.slot_at, "slot")),
        };
        earlier(self.ppp.poll_timeout().map(|at| (at, "ppp")), slot)
    }

    fn peer_mru(&self) -> Option<u16> {
        Some(self.ppp.peer_mru())
    }

    fn ledger(&self) -> Ledger {
        let held = (self.queue.len() + self.deliveries.len()) as u64;
        Ledger { taken: self.taken, given: self.given, held, drops: self.drops.clone() }
    }

    fn sent(&self) -> u64 {
        self.sent
    }
}
