//! Classification of packets by their headers: the only module that reads two layers.

mod fragments;
mod index;

use core::hash::{Hash as _, Hasher};
use core::net::IpAddr;
use core::num::NonZeroU8;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use ipnet::IpNet;
use windfall_base::{Class, Congestion, FlowId, Frame, Payload, Picked};
use windfall_queue::Inspection;
use windfall_wire_net::{CarrierPacket, Ecn, IpPacket, Protocol, UdpLitePacket, udp};

use fragments::{FragmentClasses, PacketId};
use index::Index;

use super::picks::{Picker, Picks};

/// Bytes at the beginning of a packet that rules may look at.
const LOOKED_AT: usize = 128;
/// The byte of a TCP header that has its flags, and the flag SYN in it (RFC 9293, section 3.1).
const TCP_FLAGS: usize = 13;
const SYN: u8 = 0x02;

/// A rule that assigns packets to a class. A field that is unset matches every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The network of the packet's source.
    pub source: Option<IpNet>,
    /// The network of the packet's destination.
    pub destination: Option<IpNet>,
    /// The protocol that the packet carries.
    pub protocol: Option<Protocol>,
    /// Its source port, if it carries TCP, UDP or UDP-Lite.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Its destination port, if it carries TCP, UDP or UDP-Lite.
    pub destination_ports: Option<RangeInclusive<u16>>,
    /// Its differentiated-services code point, 0..=63 (RFC 2474).
    pub dscp: Option<u8>,
    /// Only UDP-Lite datagrams whose checksum leaves some bytes uncovered (RFC 3828), bare or
    /// carried in UDP.
    pub partly_covered: bool,
    /// The class of matching packets.
    pub class: Class,
    /// Packets of its flow to which something happens besides.
    pub picks: Picks,
}

impl Rule {
    //= S0.7
    /// Returns the rule for partly covered UDP-Lite datagrams: one attempt, and damaged ones are
    /// accepted (S0.7, S0.8).
    #[must_use]
    pub fn approximate() -> Self {
        let class = Class {
            attempts: Some(NonZeroU8::MIN),
            accept_damaged: Some(true),
            ..Class::default()
        };
        Self { partly_covered: true, class, ..Self::default() }
    }

    fn matches(&self, packet: &Headers<'_>) -> bool {
        let within =
            |block: &Option<IpNet>, address| block.is_none_or(|block| block.contains(&address));
        let among = |ports: &Option<RangeInclusive<u16>>, port: Option<u16>| {
            ports.as_ref().is_none_or(|ports| port.is_some_and(|port| ports.contains(&port)))
        };
        within(&self.source, packet.source)
            && within(&self.destination, packet.destination)
            && self.protocol.is_none_or(|protocol| packet.protocol == Some(protocol))
            && among(&self.source_ports, packet.ports.map(|ports| ports.0))
            && among(&self.destination_ports, packet.ports.map(|ports| ports.1))
            && self.dscp.is_none_or(|dscp| packet.dscp == dscp)
            && (!self.partly_covered || packet.is_partly_covered())
    }
}

/// Gives each packet the class of the first rule that matches it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classifier {
    rules: Vec<Rule>,
    index: Index,
    fragments: FragmentClasses,
    pickers: BTreeMap<FlowId, Picker>,
}

impl Classifier {
    /// Creates a classifier that applies `rules` in order. Rules for single addresses or ports are
    /// indexed, so their number does not matter.
    #[must_use]
    pub fn new(rules: Vec<Rule>) -> Self {
        let index = Index::new(&rules);
        let picker = |rule: &Rule| Some((rule.class.flow, Picker::new(&rule.picks)?));
        let pickers = rules.iter().filter_map(picker).collect();
        Self { rules, index, fragments: FragmentClasses::default(), pickers }
    }

    /// Returns whether some rule requests more than one attempt.
    #[must_use]
    pub fn asks_for_repetition(&self) -> bool {
        let attempts = |rule: &Rule| rule.class.attempts.map_or(1, NonZeroU8::get);
        self.rules.iter().any(|rule| attempts(rule) > 1)
    }

    //= S3.16
    /// Classifies a packet, unless its creator has set its class. The fragments of a packet have
    /// the class of the first, if that arrives first.
    pub fn classify(&mut self, frame: &mut Frame) {
        if !self.rules.is_empty()
            && frame.class == Class::default()
            && let Some(class) = self.class_of_fragment(&frame.payload)
        {
            let picker = self.pickers.get_mut(&class.flow);
            let picked = picker.map_or(Picked::NONE, |picker| picker.next(has_syn(&frame.payload)));
            frame.class = Class { picked, ..class };
        }
    }

    fn class_of_fragment(&mut self, packet: &Payload) -> Option<Class> {
        let start = packet.prefix(LOOKED_AT);
        let ip = IpPacket::new(&start).ok()?;
        let headers = Headers::read(&ip);
        let Some(id) = PacketId::read(&ip, &headers) else { return self.class_by_rules(&headers) };
        if headers.fragment_offset == Some(0) {
            let class = self.class_by_rules(&headers);
            self.fragments.remember(id, class);
            return class;
        }
        self.fragments.recall(id).unwrap_or_else(|| self.class_by_rules(&headers))
    }

    fn class_of(&self, packet: &Payload) -> Option<Class> {
        let start = packet.prefix(LOOKED_AT);
        self.class_by_rules(&Headers::read(&IpPacket::new(&start).ok()?))
    }

    fn class_by_rules(&self, headers: &Headers<'_>) -> Option<Class> {
        let place = self.index.first(headers, |place| self.rules[place].matches(headers))?;
        Some(self.rules[place].class)
    }

    /// Returns the class of a received packet, if its headers belong to a flow.
    pub(super) fn class_of_flow(&self, packet: &Payload) -> Option<Class> {
        self.class_of(packet).filter(|class| class.flow != FlowId::default())
    }

    /// Returns whether some flow accepts damaged packets.
    pub(super) fn accepts_damaged_flows(&self) -> bool {
        let accepts =
            |class: Class| class.flow != FlowId::default() && class.accept_damaged == Some(true);
        self.rules.iter().any(|rule| accepts(rule.class))
    }
}

/// Tells whether a packet is a TCP segment that opens a connection, or the answer to one.
fn has_syn(packet: &Payload) -> bool {
    let start = packet.prefix(LOOKED_AT);
    let carried = IpPacket::new(&start).ok().and_then(|packet| packet.carried().ok());
    carried.is_some_and(|it| {
        let flags = it.bytes.get(TCP_FLAGS).copied().unwrap_or(0);
        it.protocol == Protocol::TCP && it.fragment_offset == 0 && flags & SYN != 0
    })
}

/// Returns the destination of a packet, if it can be read.
pub(super) fn destination(packet: &Payload) -> Option<IpAddr> {
    let start = packet.prefix(LOOKED_AT);
    IpPacket::new(&start).ok().map(|packet| packet.addresses().dst())
}

/// Records in a frame whether its packet can be ECN-marked. A packet with CE can, because its
/// sender is ECN-capable.
pub(super) fn note_markable(frame: &mut Frame) {
    let class = match frame.payload.slices()[0] {
        [first, second, ..] if first >> 4 == 4 => *second,
        [first, second, ..] if first >> 4 == 6 => second >> 4,
        _ => return,
    };
    if Ecn::from_bits(class) != Ecn::NotCapable {
        frame.congestion = Congestion::Markable;
    }
}

/// Returns the flow hash of a packet, over addresses, protocol and ports, and whether it is
/// ECN-capable.
pub(super) fn inspect(frame: &Frame) -> Inspection {
    let start = frame.payload.prefix(LOOKED_AT);
    let Ok(packet) = IpPacket::new(&start) else { return Inspection::default() };
    let may_be_marked = Ecn::from_bits(packet.traffic_class()).can_be_marked();
    let headers = Headers::read(&packet);
    let mut hash = Fnv1a::default();
    (headers.source, headers.destination, headers.ports).hash(&mut hash);
    headers.protocol.map(|protocol| protocol.0).hash(&mut hash);
    Inspection { flow: hash.0, may_be_marked }
}

/// The hash function FNV-1a: short, and the same in every run.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv1a {
    fn write(&mut self, bytes: &[u8]) {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, mix);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The headers that rules look at.
struct Headers<'a> {
    source: IpAddr,
    destination: IpAddr,
    dscp: u8,
    protocol: Option<Protocol>,
    /// Source and destination.
    ports: Option<(u16, u16)>,
    /// The fragment offset; `None` for a packet that is not fragmented.
    fragment_offset: Option<usize>,
    /// The content of the IP packet, as far as it was looked at, and its full length.
    carried: Option<(&'a [u8], usize)>,
}

impl<'a> Headers<'a> {
    fn read(packet: &IpPacket<'a>) -> Self {
        let carried = packet.carried().ok();
        let first = carried.filter(|carried| carried.fragment_offset == 0);
        let ports = first.and_then(|carried| match (carried.protocol, carried.bytes) {
            (Protocol::TCP | Protocol::UDP | Protocol::UDP_LITE, [a, b, c, d, ..]) => {
                Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
            }
            _ => None,
        });
        let addresses = packet.addresses();
        Self {
            source: addresses.src(),
            destination: addresses.dst(),
            dscp: packet.traffic_class() >> 2,
            protocol: carried.map(|carried| carried.protocol),
            ports,
            fragment_offset: carried.filter(|it| it.fragment).map(|it| it.fragment_offset),
            carried: first.map(|carried| (carried.bytes, carried.len)),
        }
    }

    /// Returns `true` for UDP-Lite, bare or in UDP, some of whose bytes no checksum covers.
    fn is_partly_covered(&self) -> bool {
        let Some((bytes, len)) = self.carried else { return false };
        match self.protocol {
            Some(Protocol::UDP_LITE) => {
                UdpLitePacket::truncated(bytes, len).is_ok_and(|packet| packet.covered() < len)
            }
            Some(Protocol::UDP) => bytes.get(udp::HEADER_LEN..).is_some_and(|data| {
                let packet = CarrierPacket::truncated(data, len.saturating_sub(udp::HEADER_LEN));
                packet.is_ok_and(|packet| packet.is_partly_covered())
            }),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
