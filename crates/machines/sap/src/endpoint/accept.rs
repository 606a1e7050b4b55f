//! Connection attempts: stateless answers, half-open connections, handshakes.

use core::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use windfall_base::{Duration, Instant};
use windfall_wire_net::sap::{
    HEADER_LEN, Reason, SapAccept, SapHeader, SapKind, SapPacket, SapPing, features,
};

use super::address_quota::Standing;
use super::{ConnectionId, HalfOpen, SapEndpoint};
use crate::budget::Seats;
use crate::connection::{BASE, Connection, Introduction};
use crate::datagram::{DatagramMeta, OutgoingDatagram};
use crate::event::{Dropped, SapEvent};
use crate::handshake;
use crate::path_mtu::{check_largest, stated_largest};
use crate::seal::Seal;

/// The time for which a connection keeps its place although it is not accepted, or its peer does
/// not respond.
const PATIENCE: Duration = Duration::from_secs(1);
/// The maximum number of connections that are reset at the same time to free their memory.
const LEAVING: usize = 16;
/// The pause after an unsuccessful search for a connection to reset.
const REST: Duration = Duration::from_millis(100);
/// The memory of a half-open connection, and of the keys of one that is encrypted, in bytes.
const HALF_OPEN: usize = 1024;
const SEALED: usize = 512;
/// The maximum number of answers in the queue.
const MAX_ANSWERS: usize = 256;

impl HalfOpen {
    /// Returns the memory that it takes.
    fn charge(&self) -> usize {
        HALF_OPEN + if self.sealed.is_some() { SEALED } else { 0 }
    }
}

impl SapEndpoint {
    /// Opens a half-open connection whose peer has sent another packet.
    pub(super) fn confirm(
        &mut self,
        now: Instant,
        from: SocketAddr,
        id: u32,
        packet: &SapPacket,
    ) -> Result<(), Dropped> {
        let Some(key) = self.half_open_ids.get(&id).copied().filter(|key| key.0 == from) else {
            return Ok(());
        };
        let sealed = self.half_open.get(&key).and_then(|half| half.sealed.as_ref());
        let number = packet.header.number.into();
        if sealed.is_some_and(|(seal, _)| seal.open(number, packet).is_none()) {
            return Err(Dropped::Forged);
        }
        if !self.make_memory(now, BASE) {
            // The peer retransmits the packet.
            return Err(Dropped::NoRoom);
        }
        let Some(half) = self.forget(id) else { return Ok(()) };
        let span = now.saturating_since(half.since);
        let peer = half.peer;
        let seal = half.sealed.map(|(seal, _)| seal);
        let skips = self.secret.draw();
        let mut connection = Connection::accept(now, self.config, from, peer, seal, skips);
        connection.note_handshake(span);
        self.add(now, id, connection);
        self.address_quota.open(now, id);
        self.peers.insert(key, id);
        self.events.push_back((ConnectionId(id), SapEvent::Accepted { from }));
        Ok(())
    }

    /// Answers a ping with at most as many bytes as it had.
    pub(super) fn handle_ping(
        &mut self,
        now: Instant,
        meta: &DatagramMeta,
        packet: &SapPacket,
    ) -> Result<(), Dropped> {
        let from = meta.from;
        let body = packet.exact();
        let ping = SapPing::parse(&body).map_err(|_| Dropped::Malformed)?;
        check_largest(ping.max_datagram)?;
        let key = (from, ping.connection);
        if self.peers.contains_key(&key) {
            return Err(Dropped::Duplicate);
        }
        let until = now + self.config.half_open_timeout;
        if let Some(half) = self.half_open.get_mut(&key) {
            half.until = until;
            let id = half.id;
            let handshake = half.sealed.as_ref().map(|(_, handshake)| handshake.clone());
            self.set_timer(id, Some(until));
            self.answer_accept(meta, ping.connection, id, handshake);
            return Ok(());
        }
        if !self.listening {
            return self.refuse(meta, ping.connection, Reason::NotListening);
        }
        let proven = self.secret.accepts(now, from, &ping.token);
        let needed = BASE + HALF_OPEN;
        let crowded = self.memory(needed) > Seats::Free
            || self.half_open.len() >= self.config.free_half_open
            || self.address_quota.is_crowded(from, &self.config)
            || self.address_quota.obstacle(from, &self.config).is_some();
        if !proven && crowded {
            let token = self.secret.token(now, from);
            self.answer(meta, SapKind::Retry, ping.connection, &token);
            return Ok(());
        }
        if !self.make_place(now, from) || !self.make_memory(now, needed) {
            // The peer retransmits, and connections that wait are accepted or dropped meanwhile.
            return Err(Dropped::NoRoom);
        }
        let id = self.new_id();
        let Ok(sealed) = self.agree(&ping, id) else {
            return self.refuse(meta, ping.connection, Reason::Key);
        };
        let handshake = sealed.as_ref().map(|(_, handshake)| handshake.clone());
        let peer = Introduction {
            id: ping.connection,
            max_datagram: ping.max_datagram,
            features: ping.features,
        };
        let half = HalfOpen { id, peer, since: now, until, sealed };
        self.charge(0, half.charge());
        self.half_open.insert(key, half);
        self.half_open_ids.insert(id, key);
        self.address_quota.acquire(now, id, from);
        self.set_timer(id, Some(until));
        self.answer_accept(meta, ping.connection, id, handshake);
        Ok(())
    }

    /// Frees a place for another connection from `from`, if necessary; returns whether there is
    /// one.
    fn make_place(&mut self, now: Instant, from: SocketAddr) -> bool {
        while let Some(full) = self.address_quota.obstacle(from, &self.config) {
            let standings = Standing::that_yield(full.accepted_too).iter();
            let Some(id) = standings.filter_map(|it| self.idlest(now, full.owner, *it)).next()
            else {
                return false;
            };
            self.displace(id);
        }
        true
    }

    /// Drops a half-open connection, if it is one, and its charge.
    pub(super) fn forget(&mut self, id: u32) -> Option<HalfOpen> {
        let half = self.half_open.remove(&self.half_open_ids.remove(&id)?)?;
        self.charge(half.charge(), 0);
        Some(half)
    }

    /// Returns whether there is memory of `bytes` bytes for another connection.
    fn memory(&self, bytes: usize) -> Seats {
        self.budgets().map(|budget| budget.seats(bytes, BASE)).max().unwrap_or(Seats::Free)
    }

    /// Frees memory for a connection whose peer has validated its address; returns whether it is
    /// free now. Half-open connections free theirs at once, others only after their application
    /// learns of the end. The new peer may then have to retransmit its ping.
    fn make_memory(&mut self, now: Instant, bytes: usize) -> bool {
        while self.memory(bytes) == Seats::Full
            && let Some(id) = self.address_quota.oldest_half_open()
        {
            self.displace(id);
        }
        if self.memory(bytes) == Seats::Free {
            return true;
        }
        let Self { leaving, connections, .. } = self;
        leaving.retain(|(at, id)| *at + PATIENCE > now && connections.contains_key(id));
        if leaving.len() < LEAVING && self.search_at <= now {
            let mut standings = [Standing::Waiting, Standing::Accepted].into_iter();
            if let Some(id) = standings.find_map(|it| self.idlest_of_all(now, it)) {
                self.leaving.push_back((now, id));
                self.displace(id);
            } else {
                // The search visited every connection, so the next ping must not repeat it soon.
                self.search_at = now + REST;
            }
        }
        false
    }

    /// Returns the first connection with this standing to reset: one of the address with most
    /// connections, among the addresses that have such a connection.
    fn idlest_of_all(&self, now: Instant, standing: Standing) -> Option<u32> {
        self.address_quota.owners().find_map(|owner| self.idlest(now, owner, standing))
    }

    /// Returns the first connection of an address with this standing to reset.
    fn idlest(&self, now: Instant, owner: IpAddr, standing: Standing) -> Option<u32> {
        let mut oldest = self.address_quota.oldest(owner, standing);
        let is_old = |since: Instant| since + PATIENCE <= now;
        match standing {
            Standing::HalfOpen => oldest.next().map(|(_, id)| id),
            Standing::Waiting => oldest.next().filter(|(at, _)| is_old(*at)).map(|(_, id)| id),
            Standing::Accepted => {
                let heard = |id| self.connections.get(&id).map(|it| (it.heard_at(), id));
                let silent = oldest.filter_map(|(_, id)| heard(id)).min();
                silent.filter(|(at, _)| is_old(*at)).map(|(_, id)| id)
            }
        }
    }

    /// Frees the place of a connection, and resets it.
    fn displace(&mut self, id: u32) {
        self.address_quota.release(id);
        *self.drops.entry(Dropped::Displaced).or_default() += 1;
        if self.forget(id).is_some() {
            self.set_timer(id, None);
        } else if let Some(connection) = self.connections.get_mut(&id) {
            connection.displace();
            self.touch(id);
        }
    }

    /// Computes the keys and the handshake of the accept; an error if only one end has a shared
    /// key, or the keys differ.
    fn agree(&mut self, ping: &SapPing, id: u32) -> Result<Option<(Box<Seal>, Bytes)>, Reason> {
        let Some(key) = self.key else {
            return if ping.handshake.is_empty() { Ok(None) } else { Err(Reason::Key) };
        };
        let asked = (&ping.handshake[..], (ping.connection, ping.max_datagram));
        let offer = (id, stated_largest(self.config.max_datagram));
        let agreed = handshake::answer(&key, self.secret.draw(), asked, offer);
        agreed.map(|(seal, message)| Some((Box::new(seal), message))).ok_or(Reason::Key)
    }

    fn answer_accept(
        &mut self,
        to: &DatagramMeta,
        peer_id: u32,
        id: u32,
        handshake: Option<Bytes>,
    ) {
        let max_datagram = stated_largest(self.config.max_datagram);
        let handshake = handshake.unwrap_or_default();
        let features = features::PARTS;
        let accept = SapAccept { connection: id, max_datagram, handshake, features };
        self.answer(to, SapKind::Accept, peer_id, &accept.emit());
    }

    fn refuse(&mut self, to: &DatagramMeta, peer_id: u32, reason: Reason) -> Result<(), Dropped> {
        self.answer(to, SapKind::Refuse, peer_id, &Bytes::copy_from_slice(&[reason as u8]));
        Err(Dropped::Refused)
    }

    /// Refuses an intact ping of another protocol version.
    pub(super) fn refuse_version(&mut self, to: &DatagramMeta, bytes: &Bytes) {
        let id = bytes.get(HEADER_LEN..HEADER_LEN + 4);
        if bytes[0] & 15 == SapKind::Ping as u8
            && let Some(&[a, b, c, d]) = id
        {
            let _ = self.refuse(to, u32::from_be_bytes([a, b, c, d]), Reason::Version);
        }
    }

    /// Queues a stateless answer, with the checksum form of the ping. Drops the answer if the queue
    /// is full, because the peer will retransmit its ping.
    fn answer(&mut self, to: &DatagramMeta, kind: SapKind, connection: u32, body: &Bytes) {
        if self.answers.len() < MAX_ANSWERS {
            let header = SapHeader { kind, flags: 0, exact: 0, connection, number: 0 };
            let bytes: Bytes = [&header.emit([body, &[]])[..], body].concat().into();
            let exact = bytes.len();
            self.answers.push_back(OutgoingDatagram {
                to: to.from,
                parts: [bytes, Bytes::new(), Bytes::new()],
                exact,
                unbound: to.unbound,
                whole: false,
            });
        }
    }
}
