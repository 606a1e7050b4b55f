//! The messages that are sent to the kernel and read from it here.
//!
//! Those that describe links are read and written as the few attributes that matter:
//! `netlink_packet_route` knows every kind of link, and its messages as a whole every discipline
//! of a queue, all of which would be part of the program.

use std::os::fd::AsRawFd;

use netlink_packet_core::{
    DecodeError, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkPayload,
    NetlinkSerializable, Nla, NlasIterator, Parseable,
};
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::LinkHeader;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;

use crate::VethEnd;

/// Numbers of attributes, as in `linux/if_link.h` and `linux/veth.h`.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

/// The deed that a message asks for or tells of: those of one subject have successive numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verb {
    New,
    Delete,
    Get,
    Set,
}

/// The thing that a message is about.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    Link(Link),
    Address(AddressMessage),
    Route(RouteMessage),
    Neighbour(NeighbourMessage),
}

/// A message of `NETLINK_ROUTE`.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) verb: Verb,
    pub(crate) subject: Subject,
}

impl Message {
    /// The first number of the messages of a subject, as in `linux/rtnetlink.h`.
    const fn base(&self) -> u16 {
        match self.subject {
            Subject::Link(_) => 16,
            Subject::Address(_) => 20,
            Subject::Route(_) => 24,
            Subject::Neighbour(_) => 28,
        }
    }
}

impl From<Message> for NetlinkPayload<Message> {
    fn from(message: Message) -> Self {
        Self::InnerMessage(message)
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.base() + self.verb as u16
    }

    fn buffer_len(&self) -> usize {
        match &self.subject {
            Subject::Link(it) => it.buffer_len(),
            Subject::Address(it) => it.buffer_len(),
            Subject::Route(it) => it.buffer_len(),
            Subject::Neighbour(it) => it.buffer_len(),
        }
    }

    fn serialize(&self, buffer: &mut [u8]) {
        match &self.subject {
            Subject::Link(it) => it.emit(buffer),
            Subject::Address(it) => it.emit(buffer),
            Subject::Route(it) => it.emit(buffer),
            Subject::Neighbour(it) => it.emit(buffer),
        }
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let number = header.message_type;
        let subject = match number & !3 {
            16 => Subject::Link(Link::parse(payload)?),
            20 => Subject::Address(AddressMessage::parse(payload)?),
            24 => Subject::Route(RouteMessage::parse(payload)?),
            28 => Subject::Neighbour(NeighbourMessage::parse(payload)?),
            _ => {
                return Err(format!("a message of number {number}, which was not asked for").into());
            }
        };
        let verb = [Verb::New, Verb::Delete, Verb::Get, Verb::Set][usize::from(number & 3)];
        Ok(Self { verb, subject })
    }
}

/// A link as the kernel describes it, or is to make or change it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) header: LinkHeader,
    attributes: Vec<Attribute>,
}

/// An attribute of a link, not decoded.
#[derive(Clone, Debug)]
struct Attribute {
    kind: u16,
    value: Vec<u8>,
}

impl Nla for Attribute {
    fn value_len(&self) -> usize {
        self.value.len()
    }

    fn kind(&self) -> u16 {
        self.kind
    }

    fn emit_value(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.value);
    }
}

impl Link {
    /// The link of this number.
    pub(crate) fn numbered(index: u32) -> Self {
        let mut link = Self::default();
        link.header.index = index;
        link
    }

    /// The link of this name.
    pub(crate) fn named(name: &str) -> Self {
        Self::default().with(IFLA_IFNAME, text(name))
    }

    /// A pair of virtual Ethernet devices.
    pub(crate) fn veth(near: &VethEnd<'_>, far: &VethEnd<'_>) -> Self {
        let describe = |end: &VethEnd<'_>| {
            let link = Self::named(end.name).with(IFLA_ADDRESS, end.mac.to_vec());
            link.in_namespace(&end.namespace)
        };
        let peer = attribute(VETH_INFO_PEER, bytes(&describe(far)));
        let info =
            [attribute(IFLA_INFO_KIND, text("veth")), attribute(IFLA_INFO_DATA, bytes(&peer))];
        describe(near).with(IFLA_LINKINFO, bytes(&info.as_slice()))
    }

    /// Sets the longest packet that the interface carries, in bytes.
    pub(crate) fn with_mtu(self, mtu: u32) -> Self {
        self.with(IFLA_MTU, mtu.to_ne_bytes().to_vec())
    }

    /// Sets the number of packets that the kernel queues before the interface.
    pub(crate) fn with_queue(self, packets: u32) -> Self {
        self.with(IFLA_TXQLEN, packets.to_ne_bytes().to_vec())
    }

    /// Puts the interface into a network namespace.
    pub(crate) fn in_namespace(self, namespace: &impl AsRawFd) -> Self {
        self.with(IFLA_NET_NS_FD, namespace.as_raw_fd().to_ne_bytes().to_vec())
    }

    /// The longest packet that it carries, in bytes, if that is said.
    pub(crate) fn mtu(&self) -> Option<u32> {
        self.number(IFLA_MTU)
    }

    /// The index of the bridge or other device that it is part of.
    pub(crate) fn master(&self) -> Option<u32> {
        self.number(IFLA_MASTER).filter(|index| *index > 0)
    }

    fn with(mut self, kind: u16, value: Vec<u8>) -> Self {
        self.attributes.push(Attribute { kind, value });
        self
    }

    fn number(&self, kind: u16) -> Option<u32> {
        let found = self.attributes.iter().find(|it| it.kind == kind)?;
        found.value.as_slice().try_into().ok().map(u32::from_ne_bytes)
    }

    fn parse(payload: &[u8]) -> Result<Self, DecodeError> {
        let header = LinkHeader::parse(payload)?;
        let attributes = NlasIterator::new(&payload[header.buffer_len()..])
            .map(|it| it.map(|it| Attribute { kind: it.kind(), value: it.value().to_vec() }))
            .collect::<Result<_, _>>()?;
        Ok(Self { header, attributes })
    }
}

/// Returns an attribute with that content.
fn attribute(kind: u16, value: Vec<u8>) -> Attribute {
    Attribute { kind, value }
}

impl Emitable for Link {
    fn buffer_len(&self) -> usize {
        self.header.buffer_len() + self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        let (header, attributes) = buffer.split_at_mut(self.header.buffer_len());
        self.header.emit(header);
        self.attributes.as_slice().emit(attributes);
    }
}

/// A text as the kernel has it, with a zero at its end.
fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn bytes(it: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; it.buffer_len()];
    it.emit(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
