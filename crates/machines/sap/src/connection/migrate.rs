//! Connection migration (RFC 9000, section 9), and peers that stop responding.
//!
//! A packet from another address that can only be the peer's next one starts path validation (RFC
//! 9000, section 8.2). The connection migrates after the new address has answered a challenge.
//! Without encryption the packet has no other effect, because anyone could have sent it. The old
//! address is challenged too, and if it answers, the connection stays there. An encrypted packet is
//! authentic wherever it comes from, so it is processed.

use core::hash::Hasher;
use core::net::SocketAddr;

use bytes::Bytes;
use siphasher::sip::SipHasher24;
use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::{HEADER_LEN, SapKind, SapPacket};

use super::transmit::Body;
use super::{Connection, State};
use crate::datagram::{DatagramMeta, OutgoingDatagram};
use crate::event::{Dropped, SapEvent};

/// The greatest distance of a packet from another address beyond the received packet numbers.
const AHEAD: u64 = 1 << 16;
/// The length of the body of a challenge.
const CHALLENGE: usize = 8;
/// The anti-amplification limit: the ratio of the bytes sent to an address to those received from
/// it, until it is validated (RFC 9000, section 8).
const AMPLIFIED: usize = 3;
/// The maximum number of challenges to one address.
const CHALLENGES: u32 = 6;
/// The least time between two challenges, and for the answer of the old address.
const LEAST: Duration = Duration::from_millis(100);

/// The path validation of another address of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    to: SocketAddr,
    began: Instant,
    /// The values of the challenges to the new address and to the old one.
    values: [u64; 2],
    /// The time of the next challenge, and the interval after it.
    due: Instant,
    wait: Duration,
    sent: u32,
    /// The bytes that came from the new address, and those that were sent there.
    received: usize,
    spent: usize,
    /// The next challenge is for the old address.
    old_next: bool,
    /// The time to migrate, set once the new address has answered.
    follow_at: Option<Instant>,
}

impl Connection {
    /// Returns whether a packet from another address may be the next one of a peer that has moved.
    pub(super) fn may_have_moved(&self, packet: &SapPacket) -> bool {
        if self.state != State::Open {
            return false;
        }
        let number = self.seen.expand(packet.header.number);
        let next = self.seen.next();
        number >= next && number - next < AHEAD
    }

    /// Handles a packet from an address that is not validated. Only the response to a challenge is
    /// processed. Anything else is dropped; if it came from the peer, the peer retransmits it.
    pub(super) fn handle_unproven(
        &mut self,
        now: Instant,
        packet: &SapPacket,
        meta: &DatagramMeta,
    ) -> Result<(), Dropped> {
        if packet.header.kind == SapKind::Response {
            self.handle_response(now, meta.from, &packet.exact());
            return Ok(());
        }
        self.consider(now, meta.from, HEADER_LEN + packet.body.len());
        Err(Dropped::Unproven)
    }

    /// Starts path validation of `from`, from which `len` bytes were received.
    pub(super) fn consider(&mut self, now: Instant, from: SocketAddr, len: usize) {
        if let Some(migration) = self.migration.as_mut().filter(|it| it.to == from) {
            migration.received += len;
        }
        let examined = |it: &Migration| it.to == from || now < it.began + LEAST * 10;
        if self.migration.as_ref().is_some_and(examined) {
            return;
        }
        let values = [self.challenge_value(), self.challenge_value()];
        let wait = self.timeout().max(LEAST);
        self.migration = Some(Migration {
            to: from,
            began: now,
            values,
            due: now,
            wait,
            sent: 0,
            received: len,
            spent: 0,
            old_next: false,
            follow_at: None,
        });
    }

    /// Returns an unpredictable value.
    fn challenge_value(&mut self) -> u64 {
        self.challenges += 1;
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write(b"challenge");
        hasher.write_u64(self.challenges);
        hasher.finish()
    }

    /// Returns the time of the next step of path validation.
    pub(super) fn migration_due(&self) -> Option<Instant> {
        let migration = self.migration?;
        Some(migration.follow_at.map_or(migration.due, |at| at.min(migration.due)))
    }

    /// Migrates to the validated address if it is time.
    pub(super) fn follow_if_due(&mut self, now: Instant) {
        let proven = self.migration.filter(|it| it.follow_at.is_some_and(|at| at <= now));
        if let Some(migration) = proven {
            self.follow(now, migration.to);
        }
    }

    /// Returns the response to a path challenge, if one is due.
    pub(super) fn transmit_response(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let (to, value) = self.response.take()?;
        let datagram = self.datagram(now, SapKind::Response, Body::control(value), None);
        Some(OutgoingDatagram { to, ..datagram })
    }

    /// Returns the next path challenge, to the new address or to the old one.
    pub(super) fn transmit_challenge(&mut self, now: Instant) -> Option<OutgoingDatagram> {
        let peer = self.peer;
        let both = self.seal.is_none();
        let size = self.datagram_overhead + CHALLENGE;
        let migration = self.migration.as_mut().filter(|it| it.due <= now)?;
        if migration.sent == CHALLENGES {
            self.migration = None;
            return None;
        }
        let old = migration.old_next;
        let to = if old { peer } else { migration.to };
        let may_send = old || migration.spent + size <= AMPLIFIED * migration.received;
        migration.spent += if old || !may_send { 0 } else { size };
        let value = Bytes::copy_from_slice(&migration.values[usize::from(old)].to_be_bytes());
        migration.old_next = both && !old;
        if !migration.old_next {
            migration.sent += 1;
            migration.due = now + migration.wait;
            migration.wait = migration.wait * 2;
        }
        if !may_send {
            return self.transmit_challenge(now);
        }
        let datagram = self.datagram(now, SapKind::Challenge, Body::control(value), None);
        Some(OutgoingDatagram { to, ..datagram })
    }

    /// Handles the response to a path challenge.
    pub(super) fn handle_response(&mut self, now: Instant, from: SocketAddr, value: &[u8]) {
        let wait = (self.timeout() * 3).max(LEAST * 2);
        let sealed = self.seal.is_some();
        let Some(migration) = &mut self.migration else { return };
        let [new, old] = migration.values.map(u64::to_be_bytes);
        if value == new && from == migration.to {
            let earliest = if sealed { now } else { migration.began + wait };
            migration.follow_at = Some(earliest);
            self.follow_if_due(now);
        } else if value == old && from == self.peer {
            self.migration = None;
        }
    }

    /// Migrates to the peer's new address. If the host differs, the estimates of the path are reset
    /// (RFC 9000, section 9.4).
    fn follow(&mut self, now: Instant, to: SocketAddr) {
        let same_host = to.ip() == self.peer.ip();
        self.peer = to;
        self.migration = None;
        // Packets in flight went to the old address.
        let lost = self.sent.give_up(usize::MAX);
        lost.into_iter().for_each(|packet| self.queue_again(now, packet));
        self.loss_at = None;
        if same_host {
            self.path.change_port();
        } else {
            self.path.restart(now, to.ip(), &self.config);
            self.recut();
        }
        self.probe_due = true;
        self.events.push_back(SapEvent::Moved { to });
    }

    /// Returns for how long the peer has left retransmissions unanswered; `None` while it responds.
    pub(crate) fn silence(&self, now: Instant) -> Option<Duration> {
        self.path.timeouts.is_silent().then(|| now.saturating_since(self.heard_at))
    }
}
