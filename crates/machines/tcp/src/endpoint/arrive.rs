//! From the bytes of a segment to its connection: checks, lookup, listeners, resets.

use std::sync::Arc;

use core::net::SocketAddr;

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Instant, Payload};
use windfall_wire_net::tcp::{CorruptionKinds, checksum_holds, corruption, data_check};
use windfall_wire_net::{Ecn, TcpFlags, TcpHeaderBytes, TcpPacket, TcpRepr, tcp};

use super::{Listener, Overflow, TcpEndpoint};
use crate::config::TcpConfig;
use crate::connection::{Connection, SocketPair, TcpState};
use crate::lookup::ConnectionKey;
use crate::segment::{Segment, SegmentMeta, TcpTransmit};

/// Answers without a connection that may wait to be sent.
const REPLIES: usize = 1024;

/// Returns whether `head`, the beginning of a segment, holds its header with all options.
fn holds_header(head: &[u8]) -> bool {
    head.get(tcp::DATA_OFFSET_AT).is_some_and(|byte| head.len() >= usize::from(byte >> 4) * 4)
}

impl TcpEndpoint {
    /// Takes a segment, in whatever state it arrived.
    ///
    /// # Errors
    /// The reason for which it was discarded; answers that this causes are in `poll_transmit`.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        meta: &SegmentMeta,
        bytes: &Payload,
    ) -> Result<(), DropReason> {
        let [head, body] = bytes.slices();
        let joined;
        let first = if holds_header(head) || body.is_empty() {
            head
        } else {
            joined = bytes.prefix(tcp::MAX_HEADER_LEN);
            &joined[..]
        };
        self.budget.note_time(now);
        let packet = TcpPacket::new(first).map_err(|_| DropReason::Malformed)?;
        let header_len = packet.header_len();
        let key = ConnectionKey {
            local: meta.addresses.dst(),
            remote: meta.addresses.src(),
            local_port: packet.dst_port(),
            remote_port: packet.src_port(),
        };
        let slot = self.look_up(&key, bytes.len());
        let holds = meta.missing == 0 && checksum_holds(&meta.addresses, [head, body]);
        let whole = holds && self.data_check_holds(slot, packet.header(), bytes);
        let config = slot.and_then(|slot| self.config_of(slot));
        let kinds = config.map_or_else(CorruptionKinds::default, |c| c.corruption.kinds);
        let header = if whole {
            TcpRepr::parse(&packet, &kinds).map_err(|_| DropReason::Malformed)?
        } else {
            //= S4.8
            let usable = config.is_some_and(|config| is_usable(config, meta, &packet));
            if !usable {
                return Err(DropReason::TcpChecksum);
            }
            TcpRepr::parse_lenient(&packet, &kinds)
        };
        let data = bytes.slice(header_len..bytes.len());
        let ecn = meta.ecn;
        let SegmentMeta { missing, lost_before, .. } = *meta;
        let mut segment = Segment { header, ecn, data, damaged: !whole, missing, lost_before };
        match slot {
            Some(slot) => self.deliver(now, slot, &key, &mut segment),
            None => self.answer(now, &key, &segment),
        }
    }

    //= S2.14
    /// Finds the connection of a segment of `len` bytes, and counts that and the check to come.
    fn look_up(&mut self, key: &ConnectionKey, len: usize) -> Option<u32> {
        let before = self.table.counts().compared;
        let slot = self.table.find(key);
        let compared = self.table.counts().compared - before;
        let entry = slot.and_then(|slot| self.slots[slot as usize].connection.as_deref_mut());
        let operations = entry.map_or(&mut self.past, Connection::operations_mut);
        operations.lookups += 1;
        operations.keys_compared += compared;
        operations.checksum_bytes += len as u64;
        slot
    }

    /// Returns whether the data are those that were sent, where both ends agreed to check them.
    fn data_check_holds(&self, slot: Option<u32>, header: &[u8], bytes: &Payload) -> bool {
        let connection = slot.and_then(|slot| self.slots[slot as usize].connection.as_deref());
        if !connection.is_some_and(|connection| connection.negotiated().data_check) {
            return true;
        }
        let data = bytes.slice(header.len()..bytes.len());
        data.is_empty() || data_check::holds(header, [&data[..]])
    }

    fn config_of(&self, slot: u32) -> Option<&TcpConfig> {
        self.slots[slot as usize].connection.as_deref().map(Connection::config)
    }

    fn deliver(
        &mut self,
        now: Instant,
        slot: u32,
        key: &ConnectionKey,
        segment: &mut Segment,
    ) -> Result<(), DropReason> {
        let may_be_replaced = |connection: &Connection| connection.may_be_replaced(segment);
        let entry = &self.slots[slot as usize];
        if entry.connection.as_deref().is_some_and(may_be_replaced) && self.listener(key).is_some()
        {
            self.drop_connection(slot);
            return self.answer(now, key, segment);
        }
        if self.lacks_memory_for(slot, segment) {
            return Err(DropReason::ReceiveBuffer);
        }
        let is_tight = self.budget.is_tight();
        let entry = &mut self.slots[slot as usize];
        let Some(connection) = entry.connection.as_deref_mut() else {
            return Err(DropReason::NoListener);
        };
        connection.note_pressure(is_tight);
        let opening = connection.opens_fast();
        let result = connection.handle_segment(now, segment);
        if opening && connection.state() == TcpState::Established {
            if connection.refused_fast_open(segment) {
                self.fast_opens.refuse(now, connection.path());
            }
            if let Some(granted) = connection.granted_cookie(segment) {
                self.fast_opens.learn(connection.path(), granted);
            } else {
                self.fast_opens.note_size(connection.path(), connection.peer_size());
            }
        }
        self.touch(slot);
        if result == Err(DropReason::NoListener) {
            self.refuse(key, segment);
        }
        result
    }

    fn listener(&self, key: &ConnectionKey) -> Option<SocketAddr> {
        let exact = SocketAddr::new(key.local, key.local_port);
        let any = match key.local {
            core::net::IpAddr::V4(_) => core::net::Ipv4Addr::UNSPECIFIED.into(),
            core::net::IpAddr::V6(_) => core::net::Ipv6Addr::UNSPECIFIED.into(),
        };
        let any = SocketAddr::new(any, key.local_port);
        // The unspecified address of IPv6 stands for both families, as on most systems.
        let both = SocketAddr::new(core::net::Ipv6Addr::UNSPECIFIED.into(), key.local_port);
        [exact, any, both].into_iter().find(|local| self.listeners.contains_key(local))
    }

    /// Answers a segment for no connection (RFC 9293, section 3.10.7.1 and 3.10.7.2).
    fn answer(
        &mut self,
        now: Instant,
        key: &ConnectionKey,
        segment: &Segment,
    ) -> Result<(), DropReason> {
        let flags = segment.header.flags;
        let local = SocketAddr::new(key.local, key.local_port);
        let remote = SocketAddr::new(key.remote, key.remote_port);
        let path = SocketPair::new(local, remote).ok_or(DropReason::Malformed)?;
        let Some(listens) = self.listener(key).filter(|_| !flags.has(TcpFlags::RST)) else {
            self.refuse(key, segment);
            return Err(DropReason::NoListener);
        };
        if flags.has(TcpFlags::ACK) {
            let Some((listener, _)) = self.listeners.get(&listens) else {
                return Err(DropReason::NoListener);
            };
            let config = listener.config_for(key.remote);
            return match self.check_cookie(now, &path, segment) {
                Some(syn) => self.resume(now, config, path, &syn, segment),
                None => {
                    self.refuse(key, segment);
                    Err(DropReason::TcpAcknowledgment)
                }
            };
        }
        if !flags.has(TcpFlags::SYN) {
            return Err(DropReason::NoListener);
        }
        let origin = self.origin(now, &path);
        let Some((listener, half_open)) = self.listeners.get_mut(&listens) else {
            return Err(DropReason::NoListener);
        };
        if *half_open >= listener.backlog {
            return match listener.overflow {
                Overflow::Drop => Err(DropReason::TcpBacklog),
                Overflow::Cookies => {
                    let listener = listener.clone();
                    self.send_cookie(now, &listener, &path, segment)
                }
            };
        }
        let config = listener.config_for(key.remote);
        if config.manner.drops(flags) {
            return Err(DropReason::TcpSequence);
        }
        *half_open += 1;
        let judged = self.fast_opens.judge(&config, &self.secret, &path, segment);
        let (fast_open, takes_data) = judged;
        let connection = Connection::accept(config, path, origin, now, segment);
        let mut connection = connection.with_fast_open(fast_open);
        if takes_data {
            connection.take_early(now, segment);
        }
        let id = self.add(connection);
        self.slots[id.slot as usize].half_open = Some(listens);
        Ok(())
    }

    fn send_cookie(
        &mut self,
        now: Instant,
        listener: &Listener,
        path: &SocketPair,
        syn: &Segment,
    ) -> Result<(), DropReason> {
        let repr = self.cookie_answer(now, &listener.config_for(path.remote.ip()), path, syn);
        self.cookies += 1;
        self.reply(path, &repr)
    }

    fn resume(
        &mut self,
        now: Instant,
        config: Arc<TcpConfig>,
        path: SocketPair,
        syn: &Segment,
        ack: &Segment,
    ) -> Result<(), DropReason> {
        let origin = ack.header.ack + u32::MAX;
        let connection = Connection::resume(config, path, origin, now, syn);
        let id = self.add(connection);
        let mut ack = ack.clone();
        let entry = &mut self.slots[id.slot as usize];
        let connection = entry.connection.as_deref_mut().ok_or(DropReason::NoListener)?;
        let result = connection.handle_segment(now, &mut ack);
        self.touch(id.slot);
        result
    }

    /// Answers a segment that fits nowhere with a reset.
    fn refuse(&mut self, key: &ConnectionKey, segment: &Segment) {
        let header = &segment.header;
        if header.flags.has(TcpFlags::RST) || segment.damaged {
            return;
        }
        let local = SocketAddr::new(key.local, key.local_port);
        let remote = SocketAddr::new(key.remote, key.remote_port);
        let Some(path) = SocketPair::new(local, remote) else {
            return;
        };
        let answers = header.flags.has(TcpFlags::ACK);
        let repr = TcpRepr {
            src_port: key.local_port,
            dst_port: key.remote_port,
            seq: if answers { header.ack } else { Seq32(0) },
            ack: if answers { Seq32(0) } else { header.seq + segment.span() as u32 },
            flags: if answers { TcpFlags::RST } else { TcpFlags::RST | TcpFlags::ACK },
            ..TcpRepr::default()
        };
        // If too many replies wait already, the peer retransmits its segment.
        let _ = self.reply(&path, &repr);
    }

    fn reply(&mut self, path: &SocketPair, repr: &TcpRepr) -> Result<(), DropReason> {
        if self.replies.len() >= REPLIES {
            return Err(DropReason::TcpBacklog);
        }
        let emitted = repr.emit(&CorruptionKinds::default());
        let mut header: TcpHeaderBytes = emitted.map_err(|_| DropReason::Malformed)?;
        let addresses = *path.addresses();
        tcp::fill_checksum(&addresses, &mut header, &[]);
        let ecn = Ecn::NotCapable;
        let data = bytes::Bytes::new();
        self.replies.push_back(TcpTransmit { addresses, ecn, header, data });
        Ok(())
    }
}

/// Returns whether the header of a damaged segment may be used: its detection option holds.
fn is_usable(config: &TcpConfig, meta: &SegmentMeta, packet: &TcpPacket<'_>) -> bool {
    let corruption = &config.corruption;
    let check = || {
        let kinds = &corruption.kinds;
        let packing = corruption.packing;
        corruption::holds(kinds, packing, meta.ecn, &meta.addresses, packet)
    };
    corruption.notify && check() == Some(true)
}

impl Connection {
    /// Returns whether a SYN may begin a new connection in the place of this one, which is only
    /// waiting for old segments to die (RFC 9293, section 3.6.1; RFC 6191).
    fn may_be_replaced(&self, segment: &Segment) -> bool {
        self.state() == TcpState::TimeWait
            && !segment.damaged
            && segment.header.flags - TcpFlags::PSH - TcpFlags::ACE == TcpFlags::SYN
            && self.is_beyond(segment)
    }
}
