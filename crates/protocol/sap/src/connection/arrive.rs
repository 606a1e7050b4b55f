//! Takes what the other end sent.

use bytes::Bytes;
use windfall_base::Instant;
use windfall_wire_net::sap::{
    Reason, SapAccept, SapAck, SapData, SapKind, SapPacket, SapRepair, flags,
};

use super::{Connection, Ending, State, weight};
use crate::encode::{decode, encode_repair};
use crate::error::CloseReason;
use crate::event::{Dropped, SapEvent};
use crate::message::{MessageKind, Received};
use crate::order::Placed;
use crate::sent::{Flying, Load};

/// Approximate packets after which the sender hears of them, at most.
const REPORT: u32 = 64;
/// Bytes of precise packets after which an acknowledgement is due, however few they are: a window
/// may have room for no more long ones than a kernel keeps.
const MUCH: usize = 128 << 10;
/// The longest time that a report waits, as a multiple of the time of an acknowledgement.
const REPORT_DELAY: u64 = 2;

impl Connection {
    /// Takes a datagram whose header is intact; `intact` says whether its exact bytes are.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        packet: &SapPacket,
        intact: bool,
    ) -> Result<(), Dropped> {
        match &self.state {
            State::Connecting(_) => return self.handle_answer(now, packet, intact),
            State::Closed => return Err(Dropped::Closed),
            State::Open => {}
        }
        let number = self.seen.expand(packet.header.number);
        if self.seal.is_none() {
            self.heard_at = now;
        }
        if self.seen.contains(number) {
            // Our acknowledgement was lost, or the path doubles packets.
            self.expect_ack(now, packet, true);
            return Err(Dropped::Duplicate);
        }
        if !intact {
            self.seen.insert_damaged(number);
            self.ack.due = Some(now);
            return Err(Dropped::Damaged);
        }
        let opened = match &self.seal {
            Some(seal) => Some(seal.open(number, packet).ok_or(Dropped::Forged)?),
            None if packet.header.flags & flags::SEALED != 0 => return Err(Dropped::Forged),
            None => None,
        };
        let packet = opened.as_ref().unwrap_or(packet);
        self.heard_at = now;
        // What finds no room stays unacknowledged, and comes again.
        let in_turn = number == 0 || self.seen.contains(number - 1);
        self.dispatch(now, packet)?;
        self.seen.insert(now, number);
        let urgent = packet.header.flags & flags::URGENT != 0;
        let approximate = packet.header.flags & flags::APPROXIMATE != 0;
        if approximate && packet.header.kind == SapKind::Data {
            self.expect_report(now, urgent);
        } else {
            self.expect_ack(now, packet, urgent || !in_turn);
        }
        Ok(())
    }

    fn dispatch(&mut self, now: Instant, packet: &SapPacket) -> Result<(), Dropped> {
        let body = packet.exact();
        match packet.header.kind {
            SapKind::Data => self.handle_data(packet),
            SapKind::Ack => {
                let ack = SapAck::parse(&body).map_err(|_| Dropped::Malformed)?;
                self.handle_ack(now, &ack);
                Ok(())
            }
            SapKind::Repair => {
                let SapRepair(request) = SapRepair::parse(&body).map_err(|_| Dropped::Malformed)?;
                self.answer_request(request);
                Ok(())
            }
            SapKind::Fin => {
                if !self.peer_finished {
                    self.peer_finished = true;
                    let count = body.get(..4).map_or(0, |bytes| {
                        bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
                    });
                    self.events.push_back(SapEvent::Finished { approximate: count });
                    self.settle(now);
                }
                Ok(())
            }
            SapKind::Reset => {
                let orderly = self.sending == Ending::Known;
                let reason = match body.first().map(|byte| Reason::from_byte(*byte)) {
                    Some(Reason::Closed) | None if orderly => CloseReason::Closed,
                    Some(Reason::Closed) | None => CloseReason::ClosedByPeer,
                    Some(reason) => CloseReason::Refused(reason),
                };
                self.end(reason);
                Ok(())
            }
            // An accept that was repeated; a probe asks for nothing but its acknowledgement.
            SapKind::Accept | SapKind::Probe => Ok(()),
            SapKind::Ping | SapKind::Retry | SapKind::Refuse => Err(Dropped::Unexpected),
        }
    }

    /// Takes the answer to a ping.
    fn handle_answer(
        &mut self,
        now: Instant,
        packet: &SapPacket,
        intact: bool,
    ) -> Result<(), Dropped> {
        if !intact {
            return Err(Dropped::Damaged);
        }
        let body = packet.exact();
        let State::Connecting(connecting) = &mut self.state else { return Ok(()) };
        match packet.header.kind {
            SapKind::Accept => {
                let accept = SapAccept::parse(&body).map_err(|_| Dropped::Malformed)?;
                if let Some(asking) = &mut self.asking {
                    let offer = (accept.connection, accept.max_datagram);
                    let seal = asking.finish(&accept.handshake, offer).ok_or(Dropped::Forged)?;
                    (self.seal, self.asking) = (Some(Box::new(seal)), None);
                }
                self.state = State::Open;
                self.open(now, accept.connection, accept.max_datagram);
                self.seen.insert(now, u64::from(packet.header.number));
                // Its acknowledgement tells the other end that it is not half open any more.
                self.probe_due = true;
                self.events.push_back(SapEvent::Connected);
                Ok(())
            }
            // One proof is enough: who forges more of them makes no pings.
            SapKind::Retry if connecting.ping.token.is_empty() => {
                connecting.ping.token = body;
                connecting.due = now;
                Ok(())
            }
            SapKind::Refuse => {
                let byte = body.first().copied().unwrap_or_default();
                self.end(CloseReason::Refused(Reason::from_byte(byte)));
                Ok(())
            }
            _ => Err(Dropped::Unexpected),
        }
    }

    //= S0.20
    fn handle_data(&mut self, packet: &SapPacket) -> Result<(), Dropped> {
        let received = decode(packet).ok_or(Dropped::Malformed)?;
        if received.kind != MessageKind::Precise {
            if self.room() < weight(received.data.len()) {
                return Err(Dropped::NoRoom);
            }
            self.deliver(received);
            return Ok(());
        }
        let Received { stream, number, data, .. } = received;
        let known = self.inbox.orders.contains_key(&stream);
        if !known && self.inbox.orders.len() >= self.config.max_streams {
            return Err(Dropped::NoRoom);
        }
        let room = self.room() >= weight(data.len());
        let order = self.inbox.orders.entry(stream).or_default();
        match order.place(number, room) {
            Placed::Known => {}
            Placed::NoRoom => return Err(Dropped::NoRoom),
            Placed::Waits => {
                self.inbox.bytes += weight(data.len());
                order.keep(number, data);
            }
            Placed::Next => {
                // A full buffer must not hide the one message that everything waits for, but an
                // application that does not read must stop its sender.
                let waits = self.inbox.ready.is_empty();
                if !room && !waits {
                    return Err(Dropped::NoRoom);
                }
                let freed = order.advance();
                self.deliver_precise(stream, number, data);
                self.deliver_freed(stream, freed);
            }
        }
        Ok(())
    }

    fn deliver_freed(&mut self, stream: u16, freed: Vec<(u32, Bytes)>) {
        for (number, data) in freed {
            self.inbox.bytes -= weight(data.len());
            self.deliver_precise(stream, number, data);
        }
    }

    /// A precise packet arrived: the other end must hear of it, at once if it is `urgent`.
    fn expect_ack(&mut self, now: Instant, packet: &SapPacket, urgent: bool) {
        let kind = packet.header.kind;
        if matches!(kind, SapKind::Ack | SapKind::Reset) || !self.is_open() {
            return;
        }
        self.ack.precise += 1;
        self.ack.bytes += packet.body.len();
        let many = self.ack.precise >= self.config.ack_every || self.ack.bytes >= MUCH;
        let wait = many || urgent || kind != SapKind::Data;
        self.ack_by(if wait { now } else { now + self.config.ack_delay });
    }

    /// An approximate packet arrived. Nobody waits for word of it, and nobody will repeat it, but
    /// the sender's window needs to know now and then what the path carries.
    fn expect_report(&mut self, now: Instant, urgent: bool) {
        if self.is_paper() {
            return;
        }
        self.ack.approximate += 1;
        self.ack.total = self.ack.total.saturating_add(1);
        let many = self.ack.approximate >= (2 + self.ack.total / 4).min(REPORT);
        self.ack_by(if many || urgent { now } else { now + self.config.ack_delay * REPORT_DELAY });
    }

    fn ack_by(&mut self, by: Instant) {
        self.ack.due = Some(self.ack.due.map_or(by, |due| due.min(by)));
    }

    fn handle_ack(&mut self, now: Instant, ack: &SapAck) {
        self.peer_room = ack.room as usize;
        let before = self.sent.in_flight();
        let outcome = self.sent.acknowledge(ack);
        if let Some(at) = outcome.sample {
            let delay = windfall_base::Duration::from_micros(ack.delay.into());
            self.rtt.learn(now.saturating_since(at), delay);
        }
        if !outcome.arrived.is_empty() || !outcome.damaged.is_empty() {
            self.timeouts = 0;
            self.sent.wait_anew(now);
        }
        let in_use = before * 2 >= self.congestion.window();
        for packet in outcome.arrived {
            if in_use {
                self.congestion.on_arrival(packet.size, self.path.size());
            }
            self.handle_arrival(now, packet);
        }
        // The header came through, so there was room on the path: no cause to slow down.
        for packet in outcome.damaged {
            self.again(packet);
        }
        self.detect_loss(now);
        self.tell_writable();
        self.settle(now);
    }

    /// `packet` has arrived whole.
    fn handle_arrival(&mut self, now: Instant, packet: Flying) {
        match packet.load {
            Load::Precise(name) => {
                self.note_progress(now);
                self.land(name);
                if let Some(encoded) = self.outbox.precise.remove(&name) {
                    self.outbox.bytes -= encoded.len();
                }
            }
            Load::Request(name) => drop(self.outbox.requests.remove(&name)),
            Load::Fin => self.sending = Ending::Known,
            Load::Trial(size) => {
                self.path.arrived(now, size);
                self.congestion.set_size(self.path.size());
                self.events.push_back(SapEvent::PathSize);
            }
            Load::Approximate | Load::Probe => {}
        }
    }

    /// The message called `name` is not on its way any more.
    fn land(&mut self, name: u64) {
        if let Some(encoded) = self.outbox.precise.get(&name) {
            self.outbox.flying.0 -= encoded.len();
        }
        self.outbox.flying.1 -= 1;
    }

    /// Looks for packets that must be lost by now.
    pub(super) fn detect_loss(&mut self, now: Instant) {
        let (lost, next) = self.sent.lost(now, self.rtt.reordering());
        self.loss_at = next;
        for packet in lost {
            self.handle_loss(packet, true);
        }
    }

    /// `packet` is lost; the window gives way if `congested` says that it may have to.
    pub(super) fn handle_loss(&mut self, packet: Flying, congested: bool) {
        if congested && !matches!(packet.load, Load::Trial(_)) {
            let rtt = self.rtt.least_and_latest();
            let last = self.sent.next();
            self.congestion.on_loss(packet.number, last, self.path.size(), rtt);
        }
        self.again(packet);
    }

    /// What `packet` carried must be sent again, if it is of the kind that is.
    fn again(&mut self, packet: Flying) {
        match packet.load {
            Load::Precise(name) => {
                self.land(name);
                self.outbox.again.push_back(name);
            }
            Load::Request(name) => self.outbox.requests_due.push_back(name),
            Load::Fin if self.sending == Ending::Announced => self.sending = Ending::Wanted,
            Load::Probe if self.sent.is_empty() => self.probe_due = true,
            Load::Fin | Load::Probe | Load::Approximate | Load::Trial(_) => {}
        }
    }

    /// Sends what the other end asks for again, or says that it is forgotten.
    fn answer_request(&mut self, mut request: SapData) {
        let found = self
            .outbox
            .memory
            .iter()
            .find(|(stream, number, _)| (*stream, *number) == (request.stream, request.number));
        let data = match found {
            Some((_, _, data)) => {
                request.spans.retain(|span| span.range().end <= data.len());
                data.clone()
            }
            None => {
                request.spans.clear();
                Bytes::new()
            }
        };
        let encoded = encode_repair(&request, &data);
        let fits = self.around + encoded.len() <= self.path.size();
        if fits && self.outbox.bytes + encoded.len() <= self.config.send_buffer {
            self.outbox.bytes += encoded.len();
            self.outbox.push_precise(encoded);
        }
    }
}
