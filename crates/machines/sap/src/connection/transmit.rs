//! Selection and construction of the next datagram.

use bytes::{BufMut, Bytes, BytesMut};
use windfall_base::Instant;
use windfall_wire_net::sap::{HEADER_LEN, SapHeader, SapKind, flags};

use super::{AckState, Connection, FinState, State};
use crate::datagram::{LONGEST_FRAME, OutgoingDatagram};
use crate::encode::Encoded;
use crate::event::SapEvent;
use crate::sent::Load;

/// The body of a datagram: two exact slices, and one that may be damaged.
pub(super) struct Body {
    exact: [Bytes; 2],
    rest: Bytes,
    flags: u8,
}

impl Body {
    pub(super) fn control(body: Bytes) -> Self {
        Self { exact: [body, Bytes::new()], rest: Bytes::new(), flags: 0 }
    }

    fn message(encoded: Encoded) -> Self {
        let Encoded { head, exact, rest, flags, .. } = encoded;
        Self { exact: [head, exact], rest, flags }
    }
}

/// The number of acknowledgements, or of reports, that a window in use asks for.
const REPORTS: usize = 4;
/// The reports for a window in slow start: HyStart++ judges a round by eight round trips (RFC 9406,
/// section 4.3).
const SAMPLES: usize = 8;
/// The minimum number of approximate packets from one report to the next, and the maximum once the
/// window is full.
const LEAST: usize = 2;
const MOST: usize = 8;
/// The most padding of a path MTU probe, in bytes.
const MOST_PADDING: usize = 1 << 16;

impl Connection {
    /// Returns the next datagram that may be sent now.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        match &self.state {
            State::Connecting(connecting) if connecting.due <= now => self.transmit_ping(now),
            State::Connecting(_) => None,
            State::Closed => {
                let reason = self.reset.take()?;
                let body = Bytes::copy_from_slice(&[reason as u8]);
                Some(self.datagram(now, SapKind::Reset, Body::control(body), None))
            }
            State::Open => {
                if self.path.mtu.has_shrunk(now) {
                    self.shrink(now);
                }
                self.transmit_ack(now)
                    .or_else(|| self.transmit_response(now))
                    .or_else(|| self.transmit_challenge(now))
                    .or_else(|| self.transmit_request(now))
                    .or_else(|| self.transmit_message(now))
                    .or_else(|| self.transmit_end(now))
                    .or_else(|| self.transmit_probe(now))
            }
        }
    }

    fn transmit_ping(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let backoff = self.config.adaptive_timeout;
        let State::Connecting(connecting) = &mut self.state else { return None };
        let body = connecting.ping.emit();
        connecting.due = now + connecting.wait;
        if backoff {
            connecting.wait = connecting.wait * 2;
        }
        let ping = self.datagram(now, SapKind::Ping, Body::control(body), None);
        self.unbound = !self.unbound;
        Some(ping)
    }

    fn transmit_ack(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        if self.ack.due.is_none_or(|due| due > now) {
            return None;
        }
        let report = self.seen.next_report(now);
        self.ack = AckState { total: self.ack.total, due: report, ..AckState::default() };
        let room = self.room();
        let ack = self.seen.acknowledge(now, room, self.seal.is_none())?;
        self.inbox.advertised_room = room;
        Some(self.datagram(now, SapKind::Ack, Body::control(ack.emit()), None))
    }

    fn transmit_request(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let name = self.outbox.requests_due.pop_front()?;
        let request = self.outbox.requests.get(&name)?;
        let flags = request.0.part.map_or(0, |_| flags::PART);
        let body = Body { flags, ..Body::control(request.emit()) };
        Some(self.datagram(now, SapKind::Repair, body, Some(Load::Request(name))))
    }

    /// Sends a lost message or a new one; precise and approximate ones alternate.
    fn transmit_message(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let precise = self.next_precise();
        let index = self.outbox.next_approximate();
        let approximate = index.and_then(|index| self.outbox.approximate.get(index));
        let approximate = approximate.map(Encoded::len);
        let size = precise.map(|(_, size)| size).or(approximate)?;
        if !self.may_send(now, size) {
            return None;
        }
        let transmit = match precise {
            Some((name, _)) if self.outbox.turn || approximate.is_none() => {
                self.transmit_precise(now, name)
            }
            _ => self.transmit_approximate(now),
        };
        self.path.timeouts.on_send();
        self.outbox.turn = !self.outbox.turn;
        transmit
    }

    /// Returns the next precise message and its size, if the window and the peer's buffer permit
    /// one.
    fn next_precise(&mut self) -> Option<(u64, usize)> {
        let outbox = &mut self.outbox;
        while let Some(name) = outbox.lost.front().copied() {
            if let Some(encoded) = outbox.precise.get(name) {
                return Some((name, encoded.len()));
            }
            outbox.lost.pop_front();
        }
        let name = outbox.new.front().copied()?;
        let size = outbox.precise.get(name)?.len();
        let (bytes, count) = outbox.in_flight;
        // One may always be sent, as a probe of a buffer that was full.
        let fits = bytes + size <= self.peer_room || outbox.precise.len() == outbox.new.len();
        (fits && count < self.config.window).then_some((name, size))
    }

    //= S0.22
    fn transmit_precise(&mut self, now: Instant, name: u64) -> Option<OutgoingDatagram> {
        let outbox = &mut self.outbox;
        if outbox.lost.front() == Some(&name) {
            outbox.lost.pop_front();
        } else {
            outbox.new.pop_front();
            self.note_progress(now);
        }
        let outbox = &mut self.outbox;
        let encoded = outbox.precise.get(name)?.clone();
        outbox.in_flight.0 += encoded.len();
        outbox.in_flight.1 += 1;
        Some(self.datagram(now, SapKind::Data, Body::message(encoded), Some(Load::Precise(name))))
    }

    fn transmit_approximate(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let mut encoded = self.outbox.take_approximate(self.outbox.next_approximate()?)?;
        let is_new = encoded.again.is_none_or(|again| again.sent == 0);
        let first = u32::from(is_new && encoded.of.offset == 0);
        self.outbox.approximates = self.outbox.approximates.wrapping_add(first);
        self.tell_writable();
        if is_new {
            self.note_progress(now);
        }
        if !self.config.congestion_control {
            return Some(self.datagram(now, SapKind::Data, Body::message(encoded), None));
        }
        let was_sent = encoded.again.is_some_and(|again| again.sent > 0);
        if was_sent {
            encoded.flags |= flags::AGAIN;
        } else if self.path.is_limited(self.sent.in_flight()) && self.path.congestion.take_sample()
        {
            encoded.make_exact();
        }
        let load = match &mut encoded.again {
            Some(again) => {
                again.note_sent(now);
                self.outbox.repeatables += 1;
                self.outbox.repeatable.push(self.outbox.repeatables, encoded.clone());
                Load::Repeatable(self.outbox.repeatables)
            }
            None => Load::Approximate { is_exact: encoded.rest.is_empty() },
        };
        Some(self.datagram(now, SapKind::Data, Body::message(encoded), Some(load)))
    }

    /// Sends the FIN once everything before it is acknowledged.
    fn transmit_end(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        if self.sending != FinState::Pending || !self.is_flushed() {
            return None;
        }
        self.sending = FinState::Sent;
        self.settle(now);
        let body = Bytes::copy_from_slice(&self.outbox.approximates.to_be_bytes());
        Some(self.datagram(now, SapKind::Fin, Body::control(body), Some(Load::Fin)))
    }

    /// Sends a keepalive probe, or a probe for a larger path MTU.
    fn transmit_probe(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        if std::mem::take(&mut self.probe_due) {
            self.asked_at = now;
            let body = Body::control(Bytes::new());
            return Some(self.datagram(now, SapKind::Probe, body, Some(Load::Probe)));
        }
        let size = self.path.mtu.poll_probe(now, self.timeout())?;
        let zeros = Bytes::from(vec![0; (size - self.datagram_overhead).min(MOST_PADDING)]);
        let body = Body { exact: [Bytes::new(), zeros], rest: Bytes::new(), flags: 0 };
        Some(self.datagram(now, SapKind::Probe, body, Some(Load::MtuProbe(size))))
    }

    /// Returns the size of the datagrams that every path is assumed to carry.
    pub(crate) fn least_path_mtu(&self) -> usize {
        self.path.mtu.least()
    }

    /// Notes that the interface does not carry `size`; returns whether the path's size or the
    /// search for it changes.
    pub(crate) fn refuse_size(&mut self, size: usize) -> bool {
        self.config.path_discovery && self.path.mtu.refuse(size)
    }

    /// Returns whether the congestion window and the pacer permit `size` more bytes.
    fn may_send(&mut self, now: Instant, size: usize) -> bool {
        let size = self.datagram_overhead + size;
        // The probes of a search that finds nothing would keep all messages waiting.
        let in_flight = if self.path.mtu.is_narrow() {
            self.sent.in_flight_without_probes()
        } else {
            self.sent.in_flight()
        };
        !self.config.congestion_control || self.path.may_send(now, in_flight, size)
    }

    //= S0.3
    /// Builds and numbers a datagram; `load` is tracked if the peer acknowledges it.
    pub(super) fn datagram(
        &mut self,
        now: Instant,
        kind: SapKind,
        body: Body,
        load: Option<Load>,
    ) -> OutgoingDatagram {
        let Body { mut exact, mut rest, flags: set } = body;
        let number = self.sent.next();
        let size = self.datagram_overhead + exact[0].len() + exact[1].len() + rest.len();
        let reported = matches!(load, Some(Load::Approximate { .. } | Load::Repeatable(_)));
        let urgent = self.config.congestion_control
            && kind == SapKind::Data
            && self.is_urgent(size, reported);
        let flags = set | if urgent { flags::URGENT } else { 0 };
        let connection = self.peer_id;
        let mut header = SapHeader { kind, flags, exact: 0, connection, number: number as u32 };
        if let Some(seal) = &self.seal {
            header.flags |= flags::SEALED;
            let (sealed, others) = seal.seal(number, &header, [&exact[0], &exact[1]], &rest);
            exact = [Bytes::new(), sealed];
            rest = others;
        }
        let mut head = BytesMut::with_capacity(HEADER_LEN + exact[0].len());
        head.put_slice(&header.emit([&exact[0], &exact[1]]));
        head.put_slice(&exact[0]);
        let [_, exact] = exact;
        let protected = head.len() + exact.len();
        if self.config.congestion_control && kind == SapKind::Data {
            self.path.pacer.spend(size);
        }
        let is_behind = self.path.collisions.on_send(urgent);
        self.sent.push(now, load.map(|load| (size, load)), is_behind);
        let parts = [head.freeze(), exact, rest];
        let unbound = self.unbound;
        let len = protected + parts[2].len();
        let data = kind == SapKind::Data && self.config.congestion_control;
        let whole =
            protected == len && (len > LONGEST_FRAME || data && self.path.trust.take(number));
        OutgoingDatagram { to: self.peer, parts, exact: protected, unbound, whole }
    }

    /// Returns whether the next datagram, of `size` bytes, needs its acknowledgement at once: it
    /// fills the window, or is the last one. Of those that are only `reported`, one in each part of
    /// the window needs it, since a report takes airtime and may collide with what it reports.
    pub(super) fn is_urgent(&mut self, size: usize, reported: bool) -> bool {
        let in_flight = self.sent.in_flight() + size;
        let window = self.path.congestion.window();
        let outbox = &self.outbox;
        let nothing_waits = outbox.new.is_empty() && outbox.approximate.is_empty();
        let is_last = self.sending == FinState::Pending && nothing_waits;
        let is_full = in_flight + size > window;
        self.bytes_since_ack_request += size;
        let is_starting = self.path.congestion.is_starting();
        let part = match (is_starting, is_full) {
            // Slow start ends when round trips grow, which some of each round must tell.
            (true, _) => window / SAMPLES,
            (false, true) => (window / REPORTS).min(MOST * size),
            (false, false) => window / REPORTS,
        };
        let is_turn =
            2 * in_flight > window && self.bytes_since_ack_request >= part.max(LEAST * size);
        // An answer that was asked for a moment ago opens a full window, too.
        let is_due = 2 * self.bytes_since_ack_request >= part;
        let urgent = is_last || is_turn || is_full && !reported && is_due;
        if urgent {
            self.bytes_since_ack_request = 0;
        }
        urgent
    }

    /// Reports that the send buffer has room, once half of it is free.
    pub(super) fn tell_writable(&mut self) {
        if self.outbox.was_full && self.outbox.bytes <= self.outbox.limit / 2 {
            self.outbox.was_full = false;
            self.events.push_back(SapEvent::Writable);
        }
    }
}
