//! Processing of received packets.

use bytes::Bytes;
use windfall_base::{Check, Duration, Instant};
use windfall_congestion::Acknowledged;
use windfall_wire_net::sap::{
    HEADER_LEN, MAX_TOKEN, Reason, SapAccept, SapAck, SapKind, SapPacket, SapRepair, flags,
};

use super::timers::LONGEST;
use super::{Connection, FinState, Introduction, State};
use crate::budget::{compact, weight};
use crate::congestion::LostPacket;
use crate::datagram::DatagramMeta;
use crate::encode::decode;
use crate::error::CloseReason;
use crate::event::{Dropped, SapEvent};
use crate::message::MessageKind;
use crate::order::{Order, Placed};
use crate::path_mtu::check_largest;
use crate::received_messages::MessageId;
use crate::sent::{Load, Outcome, SentPacket};

/// The maximum number of approximate packets between two reports to the sender.
const REPORT: u32 = 64;
/// The bytes of precise packets after which an acknowledgement is due, whatever their number: a
/// window that fits into a kernel's buffers may hold few long datagrams.
const MUCH: usize = 128 << 10;
/// The length of the value of a path challenge.
const VALUE: usize = 8;
/// The distance beyond the received packet numbers from which on a packet is not the peer's.
const FAR: u64 = 1 << 20;
/// The longest delay of a report, as a multiple of the acknowledgement delay.
const REPORT_DELAY: u64 = 2;

impl Connection {
    /// Processes a packet with an intact header; `intact` says whether its exact bytes are intact
    /// too, and `meta` describes its datagram.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        packet: &SapPacket,
        intact: bool,
        meta: &DatagramMeta,
    ) -> Result<(), Dropped> {
        let elsewhere = meta.from != self.peer;
        if elsewhere && !(intact && self.may_have_moved(packet)) {
            return Err(Dropped::NoConnection);
        }
        match &self.state {
            State::Connecting(_) => {
                self.unbound = meta.unbound;
                return self.handle_answer(now, packet, intact);
            }
            State::Closed => return Err(Dropped::Closed),
            State::Open => {}
        }
        if elsewhere && self.seal.is_none() {
            return self.handle_unproven(now, packet, meta);
        }
        let number = self.seen.expand(packet.header.number);
        if self.seal.is_none() {
            if number >= self.seen.next() + FAR {
                return Err(Dropped::Unexpected);
            }
            self.heard_at = now;
        }
        if !elsewhere && (!intact || meta.frame == Check::Bad) {
            self.path.trust.on_damage();
        }
        if self.seen.contains(number) {
            // The acknowledgement was lost, or the path duplicated the packet.
            self.expect_ack(now, packet, true);
            return Err(Dropped::Duplicate);
        }
        if !intact {
            let due = self.seen.insert_damaged(now, number, !self.is_paper());
            self.ack_by(due);
            return Err(Dropped::Damaged);
        }
        let opened = match &self.seal {
            Some(seal) => Some(seal.open(number, packet).ok_or(Dropped::Forged)?),
            None if packet.header.flags & flags::SEALED != 0 => return Err(Dropped::Forged),
            None => None,
        };
        let packet = opened.as_ref().unwrap_or(packet);
        self.heard_at = now;
        // A datagram under the system's own checksum does not show which form the peer uses.
        if !meta.whole {
            self.unbound = meta.unbound;
        }
        if elsewhere {
            self.consider(now, meta.from, HEADER_LEN + packet.body.len());
        }
        // A packet that finds no room stays unacknowledged, so that the peer retransmits it.
        let in_turn = number == 0 || self.seen.contains(number - 1);
        let outcome = self.dispatch(now, number, packet, meta);
        // A duplicate, late or unrequested packet has arrived as well, and is acknowledged.
        let is_done = |it| matches!(it, Dropped::Duplicate | Dropped::Late | Dropped::Unrequested);
        if !outcome.map_or_else(is_done, |()| true) {
            return outcome;
        }
        if let Some(late) = self.seen.insert(now, number) {
            self.learn_disorder(late);
        }
        self.report_end(now);
        let urgent = packet.header.flags & flags::URGENT != 0;
        let approximate = packet.header.flags & flags::APPROXIMATE != 0;
        if approximate && packet.header.kind == SapKind::Data {
            // A gap is reported at once: the missing packet may have requested a report.
            self.expect_report(now, urgent || !in_turn);
        } else {
            self.expect_ack(now, packet, urgent || !in_turn);
        }
        outcome
    }

    fn dispatch(
        &mut self,
        now: Instant,
        number: u64,
        packet: &SapPacket,
        meta: &DatagramMeta,
    ) -> Result<(), Dropped> {
        let body = || packet.exact();
        match packet.header.kind {
            SapKind::Data => self.handle_data(now, packet, meta),
            SapKind::Ack => {
                let ack = SapAck::parse(&body()).map_err(|_| Dropped::Malformed)?;
                if !ack.damaged.is_empty() {
                    self.path.trust.on_damage();
                }
                self.handle_ack(now, number, &ack);
                Ok(())
            }
            SapKind::Repair => {
                let SapRepair(request) = SapRepair::parse(&body(), packet.header.flags)
                    .map_err(|_| Dropped::Malformed)?;
                self.answer_request(request);
                Ok(())
            }
            SapKind::Fin => {
                if !self.peer_finished {
                    let count = body().first_chunk().map_or(0, |it| u32::from_be_bytes(*it));
                    self.begin_ending(now, number, count);
                }
                Ok(())
            }
            SapKind::Reset => {
                // If this end has sent everything, only the acknowledgement of its FIN may be
                // missing.
                let orderly = self.has_said_all();
                let reason = match body().first().map(|byte| Reason::from_byte(*byte)) {
                    Some(Reason::Closed) | None if orderly => CloseReason::Closed,
                    Some(Reason::Closed) | None => CloseReason::ClosedByPeer,
                    Some(reason) => CloseReason::Refused(reason),
                };
                match &mut self.ending {
                    // Approximate messages may still be on their way.
                    Some(ending) if !matches!(reason, CloseReason::Refused(_)) => {
                        ending.then = Some(reason);
                    }
                    _ => self.end(reason),
                }
                Ok(())
            }
            SapKind::Challenge => {
                // Copies the value, so that it does not keep the whole receive buffer.
                let body = body();
                let value = body.first_chunk::<VALUE>().ok_or(Dropped::Malformed)?;
                self.response = Some((meta.from, Bytes::copy_from_slice(value)));
                Ok(())
            }
            SapKind::Response => {
                self.handle_response(now, meta.from, &body());
                Ok(())
            }
            // A duplicate accept; a probe needs only its acknowledgement.
            SapKind::Accept | SapKind::Probe => Ok(()),
            SapKind::Ping | SapKind::Retry | SapKind::Refuse => Err(Dropped::Unexpected),
        }
    }

    /// Processes the answer to a ping.
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
                check_largest(accept.max_datagram)?;
                if let Some(initiator) = &mut self.initiator {
                    let offer = (accept.connection, accept.max_datagram);
                    let seal = initiator.finish(&accept.handshake, offer).ok_or(Dropped::Forged)?;
                    self.seal = Some(Box::new(seal));
                    self.initiator = None;
                }
                self.path.handshake = Some(now.saturating_since(connecting.began));
                self.state = State::Open;
                self.open(
                    now,
                    Introduction {
                        id: accept.connection,
                        max_datagram: accept.max_datagram,
                        features: accept.features,
                    },
                );
                self.seen.insert(now, u64::from(packet.header.number));
                // The probe acknowledges the accept, which ends the half-open state at the peer.
                self.probe_due = true;
                self.events.push_back(SapEvent::Connected);
                Ok(())
            }
            // Only one retry is processed (RFC 9000, section 17.2.5.2): forged ones must not cause
            // further pings.
            SapKind::Retry if connecting.ping.token.is_empty() => {
                let token = &body[..body.len().min(MAX_TOKEN)];
                connecting.ping.token = Bytes::copy_from_slice(token);
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
    fn handle_data(
        &mut self,
        now: Instant,
        packet: &SapPacket,
        meta: &DatagramMeta,
    ) -> Result<(), Dropped> {
        let (mut received, part) = decode(packet, meta.frame).ok_or(Dropped::Malformed)?;
        if received.kind == MessageKind::Repair && !self.inbox.requested.clip(&mut received) {
            return Err(Dropped::Unrequested);
        }
        self.inbox.partial.progress_at = now;
        if let (MessageKind::Repair, Some(part)) = (received.kind, part) {
            self.continue_repair((received.stream, received.number), part.total as usize);
        }
        // Decrypted bytes are in a buffer of their own.
        let shared = if self.seal.is_some() { 0 } else { meta.buffer };
        let held = shared.max(HEADER_LEN + packet.body.len());
        if let (MessageKind::Precise, Some(part)) = (received.kind, part) {
            return self.take_precise_part(part, &received, held);
        }
        let name = (received.stream, received.number);
        let is_again = packet.header.flags & flags::AGAIN != 0;
        if received.kind == MessageKind::Approximate
            && part.is_none()
            && !self.inbox.received.is_new(name, is_again)
        {
            return Err(Dropped::Duplicate);
        }
        received.data = compact(received.data, held);
        match (received.kind, part) {
            (MessageKind::Precise, _) => {
                let room = self.room() >= weight(received.data.len());
                self.place_precise((received.stream, received.number), received.data, room)
            }
            (MessageKind::Approximate, Some(part)) => {
                self.take_approximate_part(now, part, received, is_again)
            }
            _ if !self.make_room(weight(received.data.len())) => Err(Dropped::NoRoom),
            (kind, _) => {
                match kind {
                    MessageKind::Approximate => self.inbox.received.note(name, is_again),
                    MessageKind::Repair => self.inbox.requested.on_answer(&received),
                    MessageKind::Precise => {}
                }
                self.deliver(received);
                Ok(())
            }
        }
    }

    /// Returns the reordering state of a precise stream. A stream beyond the limit ends the
    /// connection (RFC 9000, section 4.6): without an acknowledgement the peer would retransmit its
    /// message for ever, and with one the message would be lost.
    pub(super) fn order(&mut self, stream: u16) -> Result<&mut Order, Dropped> {
        let known = self.inbox.orders.contains_key(&stream);
        if !known && self.inbox.orders.len() >= self.config.max_streams {
            self.abort_because(Reason::StreamLimit, CloseReason::StreamLimit);
            return Err(Dropped::Unexpected);
        }
        Ok(self.inbox.orders.entry(stream).or_default())
    }

    /// Delivers a whole precise message, or keeps it until all earlier ones have arrived. `room`
    /// says whether the receive buffer has room for it.
    pub(super) fn place_precise(
        &mut self,
        (stream, number): MessageId,
        data: Bytes,
        room: bool,
    ) -> Result<(), Dropped> {
        let waits = self.inbox.ready.is_empty();
        let enough = self.inbox.left >= weight(data.len());
        let order = self.order(stream)?;
        match order.place(number, room) {
            Placed::Known => {}
            Placed::NoRoom => return Err(Dropped::NoRoom),
            Placed::Waits => {
                let size = weight(data.len());
                order.keep(number, data);
                self.inbox.bytes += size;
            }
            Placed::Next => {
                // A full buffer must not block the next message in order, which all others wait
                // for. But if the application does not read, flow control must stop the sender.
                if !(room || waits && enough) {
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

    /// Schedules the acknowledgement of a precise packet, at once if it is `urgent`.
    fn expect_ack(&mut self, now: Instant, packet: &SapPacket, urgent: bool) {
        let kind = packet.header.kind;
        let exempt =
            [SapKind::Ack, SapKind::Reset, SapKind::Challenge, SapKind::Response].contains(&kind);
        if exempt || !self.is_open() {
            return;
        }
        self.ack.precise += 1;
        self.ack.bytes += packet.body.len();
        let many = self.ack.precise >= self.config.ack_every || self.ack.bytes >= MUCH;
        let wait = many || urgent || kind != SapKind::Data;
        self.ack_by(if wait { now } else { now + self.config.ack_delay });
    }

    /// Schedules the report of an approximate packet. Such a packet is not retransmitted, but the
    /// sender's congestion controller needs to know what the path delivers.
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

    /// Processes an acknowledgement; `number` is that of its packet.
    fn handle_ack(&mut self, now: Instant, number: u64, ack: &SapAck) {
        let before = self.sent.in_flight();
        let outcome = self.sent.acknowledge(ack);
        if outcome.forged {
            self.abort_because(Reason::Violation, CloseReason::Violation);
            return;
        }
        // A reordered acknowledgement tells an old room (RFC 9293, section 3.10.7.4: SND.WL1).
        if number >= self.peer_room_number {
            self.peer_room_number = number;
            self.peer_room = ack.room as usize;
        }
        self.watch_order(now, &outcome);
        // On a path whose round trip is longer than any interval, a timeout precedes each
        // acknowledgement. Without these samples the timeout would never grow.
        let beyond = |at: &Instant| now.saturating_since(*at) > LONGEST;
        let sample = outcome.sample.or(outcome.late_sample.filter(beyond)).map(|at| {
            let delay = Duration::from_micros(ack.delay.into());
            self.path.rtt.learn(now, now.saturating_since(at), delay)
        });
        let is_news = [&outcome.arrived, &outcome.damaged, &outcome.late];
        if is_news.into_iter().any(|packets| !packets.is_empty()) {
            if self.path.timeouts.on_answer() {
                self.events.push_back(SapEvent::Answered);
            }
            self.sent.restart_timer(now);
        }
        for packet in outcome.late {
            self.path.mtu.on_arrival(now, packet.size);
            self.handle_late(now, packet);
        }
        self.grow_window(now, before, sample, &outcome.arrived);
        for packet in outcome.arrived {
            self.path.collisions.on_arrival(packet.is_behind);
            self.path.mtu.on_arrival(now, packet.size);
            self.handle_arrival(now, packet);
        }
        // The packet arrived, although damaged: no sign of congestion, and the path carries its
        // size.
        for packet in outcome.damaged {
            self.path.mtu.on_arrival(now, packet.size);
            match packet.load {
                Load::MtuProbe(_) => self.handle_arrival(now, packet),
                _ => self.queue_again(now, packet),
            }
        }
        self.detect_loss(now, before);
        self.tell_writable();
        self.settle(now);
    }

    /// Measures the reordering of the path by packets that arrived after later ones.
    fn watch_order(&mut self, now: Instant, outcome: &Outcome) {
        self.path.reordering.on_arrivals(outcome.arrived.len());
        let usual = self.path.rtt.usual();
        for packet in outcome.overtaken.iter().chain(&outcome.late) {
            let took = now.saturating_since(packet.at);
            self.path.reordering.observe(took.saturating_sub(usual.unwrap_or(took)));
        }
        // Of several reordered packets, only the one sent last gives an RTT sample.
        if let Some(packet) = outcome.overtaken.iter().max_by_key(|packet| packet.number)
            && outcome.sample.is_none()
        {
            self.path.rtt.learn_overtaken(now.saturating_since(packet.at));
        }
    }

    /// Handles the acknowledgement of a packet that was declared lost: the loss was spurious.
    fn handle_late(&mut self, now: Instant, packet: SentPacket) {
        if !matches!(packet.load, Load::MtuProbe(_)) {
            self.path.collisions.on_late(packet.is_behind);
            self.path.congestion.on_late(packet.number, self.is_exact(&packet));
        }
        match packet.load {
            Load::Precise(name) => {
                let outbox = &mut self.outbox;
                // The message need not be retransmitted. If it was, its copy must not be waited
                // for: if the timeout is shorter than the round trip, each copy is declared lost
                // before its acknowledgement arrives.
                if let Some(place) = outbox.lost.iter().position(|it| *it == name) {
                    outbox.lost.remove(place);
                } else {
                    self.remove_in_flight(name);
                }
                if let Some(encoded) = self.outbox.precise.remove(name) {
                    self.outbox.bytes -= encoded.len();
                }
                self.note_progress(now);
            }
            Load::Request(_) | Load::Fin | Load::MtuProbe(_) => self.handle_arrival(now, packet),
            Load::Repeatable(_) => self.note_progress(now),
            Load::Approximate { .. } | Load::Probe => {}
        }
    }

    /// Grows the congestion window for packets that arrived while `in_flight` bytes were in flight.
    fn grow_window(
        &mut self,
        now: Instant,
        in_flight: usize,
        sample: Option<Duration>,
        arrived: &[SentPacket],
    ) {
        let Some(largest) = arrived.iter().map(|packet| packet.number).max() else { return };
        let ack = Acknowledged {
            now,
            bytes: arrived.iter().map(|packet| packet.size as u64).sum(),
            rtt: self.path.rtt.smoothed(),
            limited: self.path.is_limited(in_flight),
            sample,
            una: largest,
            next: self.sent.next(),
        };
        let exact = arrived.iter().filter(|packet| self.is_exact(packet)).count();
        let approximate = arrived.len() - exact;
        let round_trips = self.path.rtt.least_and_recent(now);
        self.path.congestion.on_arrival(largest, exact, approximate, round_trips, &ack);
    }

    /// Returns whether all bytes of a packet are exact.
    fn is_exact(&self, packet: &SentPacket) -> bool {
        match packet.load {
            Load::Approximate { is_exact } => is_exact,
            Load::Repeatable(name) => {
                self.outbox.repeatable.get(name).is_none_or(|encoded| encoded.rest.is_empty())
            }
            _ => true,
        }
    }

    /// Handles the acknowledgement of `packet`.
    fn handle_arrival(&mut self, now: Instant, packet: SentPacket) {
        match packet.load {
            Load::Precise(name) => {
                self.note_progress(now);
                self.remove_in_flight(name);
                if let Some(encoded) = self.outbox.precise.remove(name) {
                    self.outbox.bytes -= encoded.len();
                }
            }
            Load::Request(name) => drop(self.outbox.requests.remove(&name)),
            Load::Fin => self.sending = FinState::Acknowledged,
            Load::MtuProbe(size) => {
                if self.path.mtu.on_probe_arrival(now, size) {
                    self.path.congestion.set_size(self.path.size());
                    self.refit();
                    self.events.push_back(SapEvent::PathSize);
                }
            }
            Load::Repeatable(name) => {
                self.note_progress(now);
                if let Some(encoded) = self.outbox.repeatable.remove(name) {
                    self.outbox.settle_fate(encoded.of.stream, true);
                }
            }
            Load::Approximate { .. } | Load::Probe => {}
        }
    }

    /// Removes the message with key `name` from those in flight, unless an earlier copy has
    /// settled it.
    fn remove_in_flight(&mut self, name: u64) {
        if let Some(encoded) = self.outbox.precise.get(name) {
            self.outbox.in_flight.0 -= encoded.len();
            self.outbox.in_flight.1 -= 1;
        }
    }

    /// Detects lost packets.
    pub(super) fn detect_loss(&mut self, now: Instant, in_flight: usize) {
        let extra = self.path.extra();
        let (lost, next) = self.sent.lost(now, self.path.rtt.reordering(extra), extra.is_none());
        self.loss_at = next;
        let window = self.path.congestion.window();
        // The bytes in flight vary, because each acknowledgement covers many packets.
        let in_flight = if self.path.is_limited(in_flight) { window } else { in_flight };
        for packet in lost {
            self.note_size(now, &packet);
            self.note_loss(now, &packet, in_flight);
            self.queue_again(now, packet);
        }
    }

    /// Shrinks the window after the loss of `packet` if it may be due to congestion.
    fn note_loss(&mut self, now: Instant, packet: &SentPacket, in_flight: usize) {
        let collided = self.path.collisions.on_loss(packet.is_behind);
        if collided || matches!(packet.load, Load::MtuProbe(_)) {
            return;
        }
        self.path.trust.on_loss();
        let number = packet.number;
        let next = self.sent.next();
        let round_trips = self.path.rtt.least_and_recent(now);
        let is_exact = self.is_exact(packet);
        let lost = LostPacket { number, next, is_exact, in_flight, round_trips, now };
        self.path.congestion.on_loss(&lost);
    }

    /// Queues the contents of `packet` again, if their kind is retransmitted.
    pub(super) fn queue_again(&mut self, now: Instant, packet: SentPacket) {
        match packet.load {
            Load::Precise(name) => {
                self.remove_in_flight(name);
                self.outbox.lost.push_back(name);
            }
            Load::Request(name) => self.outbox.requests_due.push_back(name),
            Load::Fin if self.sending == FinState::Sent => self.sending = FinState::Pending,
            Load::Probe if self.sent.is_empty() => self.probe_due = true,
            Load::Repeatable(name) => self.repeat(now, name),
            Load::Approximate { .. } | Load::Fin | Load::Probe | Load::MtuProbe(_) => {}
        }
    }
}
