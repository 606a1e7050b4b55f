//! One end of a link: control protocols above frames.

use core::net::Ipv4Addr;
use std::collections::VecDeque;

use windfall_base::{Instant, Stream};
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};
use windfall_wire_link::ppp::{
    self, Compression, ControlCode, ControlPacket, IPCP, IPV4, IPV6, IPV6CP, LCP,
};

use crate::ppp::automaton::Event;
use crate::ppp::config::PppConfig;
use crate::ppp::deframer::{Deframer, DeframerCounts};
use crate::ppp::event::{PppEvent, PppPacket};
use crate::ppp::ipcp::Ipcp;
use crate::ppp::ipv6cp::Ipv6cp;
use crate::ppp::layer::{Effects, Layer, Notice};
use crate::ppp::lcp::Lcp;

/// Packets that wait for their reader; more are dropped, the newest first.
const MAX_PACKETS: usize = 1_024;
/// Bytes of a rejected packet that are returned.
const REJECTED: usize = 64;

/// One end of a PPP link.
///
/// Mutate once, then drain [`take_line`](Self::take_line), [`poll_packet`](Self::poll_packet) and
/// [`poll_event`](Self::poll_event), then ask [`poll_timeout`](Self::poll_timeout).
#[derive(Clone, Debug)]
pub struct PppLink {
    config: PppConfig,
    deframer: Deframer,
    lcp: Layer<Lcp>,
    ipcp: Layer<Ipcp>,
    ipv6cp: Layer<Ipv6cp>,
    line: Vec<u8>,
    packets: VecDeque<PppPacket>,
    events: VecDeque<PppEvent>,
    overrun: u64,
}

impl PppLink {
    /// An end that is closed; `stream` and the addresses decide its magic number and interface
    /// identifier, so that both ends may have the same stream.
    #[must_use]
    pub fn new(config: PppConfig, stream: &Stream) -> Self {
        let [local, peer] = [config.local, config.peer]
            .map(|address| u64::from(address.unwrap_or(Ipv4Addr::UNSPECIFIED).to_bits()));
        let stream = stream.at(local << 32 | peer);
        let deframer = Deframer::new(config.mode, config.check, Accm::NONE, config.mru.max(1_500));
        Self {
            config,
            deframer,
            lcp: Layer::new(Lcp::new(config.mru, config.accm, stream.at(0))),
            ipcp: Layer::new(Ipcp::new(config.local, config.peer)),
            ipv6cp: Layer::new(Ipv6cp::new(stream.at(1))),
            line: Vec::new(),
            packets: VecDeque::new(),
            events: VecDeque::new(),
            overrun: 0,
        }
    }

    /// Opens the link over a line that is there; after [`PppEvent::Finished`] only behind
    /// [`line_down`](Self::line_down).
    pub fn open(&mut self, now: Instant) {
        self.lcp_event(now, Event::Open);
        self.lcp_event(now, Event::Up);
    }

    /// Closes the link; [`PppEvent::Finished`] comes when the peer has confirmed or fell silent.
    pub fn close(&mut self, now: Instant) {
        self.lcp_event(now, Event::Close);
    }

    /// Takes note that the line is gone.
    pub fn line_down(&mut self, now: Instant) {
        self.lcp_event(now, Event::Down);
    }

    /// Takes bytes that arrived on the line.
    pub fn handle_line(&mut self, now: Instant, bytes: &[u8]) {
        let mut arrived = Vec::new();
        self.deframer.take(bytes, |frame| {
            let protocol = frame.protocol;
            let damaged = frame.damaged;
            arrived.push(PppPacket { protocol, bytes: frame.packet.to_vec(), damaged });
        });
        for packet in arrived {
            self.handle_packet(now, packet);
        }
    }

    /// Sends a packet of IPv4 or IPv6, by its first four bits; `false` if its protocol is not open
    /// or the peer does not take as much.
    pub fn send(&mut self, packet: &[u8]) -> bool {
        let (protocol, is_open) = match packet.first().map(|byte| byte >> 4) {
            Some(4) => (IPV4, self.ipcp.is_open()),
            Some(6) => (IPV6, self.ipv6cp.is_open()),
            _ => return false,
        };
        if !is_open || packet.len() > usize::from(self.lcp.negotiation.peer_mru) {
            return false;
        }
        let head = ppp::encode_protocol(protocol, self.lcp.negotiation.compression);
        let accm = self.lcp.negotiation.peer_accm;
        encode_frame(&[&head, packet], self.config.check, accm, &mut self.line);
        true
    }

    /// Returns the length of the longest packet that the peer takes.
    #[must_use]
    pub fn peer_mru(&self) -> u16 {
        self.lcp.negotiation.peer_mru
    }

    /// Gives the bytes to put on the line.
    pub fn take_line(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.line)
    }

    /// Bytes that wait to be put on the line.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.line.len()
    }

    /// Yields the next packet that arrived; call until `None`.
    pub fn poll_packet(&mut self) -> Option<PppPacket> {
        self.packets.pop_front()
    }

    /// Yields the next event; call until `None`.
    pub fn poll_event(&mut self) -> Option<PppEvent> {
        self.events.pop_front()
    }

    /// Fires the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut effects = Effects::default();
        self.lcp.handle_timeout(now, &self.config, &mut effects);
        self.settle_lcp(now, effects);
        let mut effects = Effects::default();
        self.ipcp.handle_timeout(now, &self.config, &mut effects);
        self.settle_ipcp(effects);
        let mut effects = Effects::default();
        self.ipv6cp.handle_timeout(now, &self.config, &mut effects);
        self.settle_ipv6cp(effects);
    }

    /// Says when to call [`handle_timeout`](Self::handle_timeout) next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let deadlines = [self.lcp.deadline(), self.ipcp.deadline(), self.ipv6cp.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// The counts of frames that arrived.
    #[must_use]
    pub fn counts(&self) -> DeframerCounts {
        self.deframer.counts()
    }

    /// Packets that were dropped because no one read them.
    #[must_use]
    pub fn overrun(&self) -> u64 {
        self.overrun
    }

    fn handle_packet(&mut self, now: Instant, packet: PppPacket) {
        match packet.protocol {
            LCP => self.handle_lcp(now, &packet.bytes),
            IPCP if self.lcp.is_open() => {
                let Ok(control) = ControlPacket::parse(&packet.bytes) else { return };
                let mut effects = Effects::default();
                self.ipcp.handle_packet(now, &self.config, control, &mut effects);
                self.settle_ipcp(effects);
            }
            IPV6CP if self.lcp.is_open() && self.config.ipv6 => {
                let Ok(control) = ControlPacket::parse(&packet.bytes) else { return };
                let mut effects = Effects::default();
                self.ipv6cp.handle_packet(now, &self.config, control, &mut effects);
                self.settle_ipv6cp(effects);
            }
            IPV4 if self.ipcp.is_open() => self.deliver(packet),
            IPV6 if self.ipv6cp.is_open() => self.deliver(packet),
            // The layer of the peer is open, and the one of this end is not yet, or again. A
            // rejection would end that of the peer (RFC 1661, section 3.5).
            IPV4 => {}
            IPV6 if self.config.ipv6 => {}
            // The protocol of a damaged frame may be an invention of the damage.
            protocol if self.lcp.is_open() && !packet.damaged => {
                self.reject_protocol(protocol, &packet.bytes);
            }
            _ => {}
        }
    }

    fn deliver(&mut self, packet: PppPacket) {
        if self.packets.len() < MAX_PACKETS {
            self.packets.push_back(packet);
        } else {
            self.overrun += 1;
        }
    }

    fn handle_lcp(&mut self, now: Instant, bytes: &[u8]) {
        let Ok(packet) = ControlPacket::parse(bytes) else { return };
        let mut effects = Effects::default();
        match ControlCode::of(packet.code) {
            Some(ControlCode::EchoRequest) => {
                let magic = self.lcp.negotiation.magic();
                self.lcp.echo(magic, packet, &mut effects);
            }
            Some(ControlCode::EchoReply | ControlCode::DiscardRequest) => {}
            Some(ControlCode::ProtocolReject) => return self.handle_reject(now, packet.data),
            _ => self.lcp.handle_packet(now, &self.config, packet, &mut effects),
        }
        if self.lcp.negotiation.looped {
            self.events.push_back(PppEvent::Looped);
        }
        self.settle_lcp(now, effects);
    }

    /// The peer does not know a protocol: the layer that speaks it ends.
    fn handle_reject(&mut self, now: Instant, rejected: &[u8]) {
        let Some(protocol) = rejected.first_chunk() else { return };
        let mut effects = Effects::default();
        match u16::from_be_bytes(*protocol) {
            IPV4 | IPCP => {
                self.ipcp.happen(now, &self.config, Event::FatalReject, &mut effects);
                self.settle_ipcp(effects);
            }
            IPV6 | IPV6CP => {
                self.ipv6cp.happen(now, &self.config, Event::FatalReject, &mut effects);
                self.settle_ipv6cp(effects);
            }
            _ => {}
        }
    }

    fn reject_protocol(&mut self, protocol: u16, packet: &[u8]) {
        let identifier = self.lcp.next_identifier();
        let rejected = &packet[..packet.len().min(REJECTED)];
        let data = [&protocol.to_be_bytes(), rejected].concat();
        let mut bytes = Vec::new();
        let code = ControlCode::ProtocolReject as u8;
        ControlPacket { code, identifier, data: &data }.encode(&mut bytes);
        self.send_control(LCP, &bytes);
    }

    fn lcp_event(&mut self, now: Instant, event: Event) {
        let mut effects = Effects::default();
        self.lcp.happen(now, &self.config, event, &mut effects);
        self.settle_lcp(now, effects);
    }

    fn ncp_event(&mut self, now: Instant, event: Event) {
        let mut effects = Effects::default();
        self.ipcp.happen(now, &self.config, event, &mut effects);
        self.settle_ipcp(effects);
        if self.config.ipv6 {
            let mut effects = Effects::default();
            self.ipv6cp.happen(now, &self.config, event, &mut effects);
            self.settle_ipv6cp(effects);
        }
    }

    fn settle_lcp(&mut self, now: Instant, effects: Effects) {
        for notice in effects.notices {
            match notice {
                Notice::Up => {
                    self.deframer.set_accm(self.lcp.negotiation.accm());
                    self.events.push_back(PppEvent::Up);
                    self.send_all(LCP, &effects.packets);
                    self.ncp_event(now, Event::Open);
                    self.ncp_event(now, Event::Up);
                    return;
                }
                Notice::Down => {
                    self.deframer.set_accm(Accm::NONE);
                    self.events.push_back(PppEvent::Down);
                    self.ncp_event(now, Event::Down);
                }
                Notice::Finished => self.events.push_back(PppEvent::Finished),
            }
        }
        self.send_all(LCP, &effects.packets);
    }

    fn settle_ipcp(&mut self, effects: Effects) {
        for notice in effects.notices {
            let Ipcp { local, peer, .. } = self.ipcp.negotiation;
            self.events.extend(match notice {
                Notice::Up => Some(PppEvent::Ipv4Up { local, peer }),
                Notice::Down => Some(PppEvent::Ipv4Down),
                Notice::Finished => None,
            });
        }
        self.send_all(IPCP, &effects.packets);
    }

    fn settle_ipv6cp(&mut self, effects: Effects) {
        for notice in effects.notices {
            let Ipv6cp { local, peer, .. } = self.ipv6cp.negotiation;
            self.events.extend(match notice {
                Notice::Up => Some(PppEvent::Ipv6Up { local, peer }),
                Notice::Down => Some(PppEvent::Ipv6Down),
                Notice::Finished => None,
            });
        }
        self.send_all(IPV6CP, &effects.packets);
    }

    fn send_all(&mut self, protocol: u16, packets: &[Vec<u8>]) {
        packets.iter().for_each(|packet| self.send_control(protocol, packet));
    }

    /// LCP packets escape everything and leave out nothing, whatever was negotiated.
    fn send_control(&mut self, protocol: u16, packet: &[u8]) {
        let lcp = &self.lcp.negotiation;
        let is_plain = protocol == LCP || !self.lcp.is_open();
        let accm = if is_plain { Accm::ALL } else { lcp.peer_accm };
        let compression = if is_plain { Compression::default() } else { lcp.compression };
        let head = ppp::encode_protocol(protocol, compression);
        encode_frame(&[&head, packet], HdlcCheck::Fcs16, accm, &mut self.line);
    }
}

#[cfg(test)]
mod tests;
