//! Links, addresses and routes of the network namespace that the process is in.
//!
//! - [`Netlink`]: the kernel's tables of them, and their changes.
//! - [`RealInterface`]: one that moves to another namespace and back.

mod message;
mod real;

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

use message::{Link, Message, Subject, Verb};
pub use netlink_packet_route::route;
pub use real::RealInterface;

/// The priority of the kernel's own routes to the networks of a link of IPv6.
const CONNECTED_PRIORITY: u32 = 256;

/// One end of a new pair of virtual Ethernet devices.
#[derive(Debug)]
pub struct VethEnd<'a> {
    /// The device's name.
    pub name: &'a str,
    /// Its hardware address.
    pub mac: [u8; 6],
    /// The namespace to make it in.
    pub namespace: BorrowedFd<'a>,
}

/// A connection to the kernel's tables of links, addresses and routes.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a connection that stays with the present namespace.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The index of the link called `name`.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn index(&mut self, name: &str) -> io::Result<u32> {
        self.link(name).map(|link| link.header.index)
    }

    /// The longest packet that the link called `name` carries, in bytes.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn mtu(&mut self, name: &str) -> io::Result<u32> {
        self.link(name)?.mtu().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The link called `name`.
    fn link(&mut self, name: &str) -> io::Result<Link> {
        match self.ask(Verb::Get, Subject::Link(Link::named(name)), 0)? {
            Some(Message { verb: Verb::New, subject: Subject::Link(link) }) => Ok(link),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Makes a pair of virtual Ethernet devices.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn add_veth(&mut self, near: &VethEnd<'_>, far: &VethEnd<'_>) -> io::Result<()> {
        self.tell(Verb::New, Subject::Link(Link::veth(near, far)), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes the link, and with it its peer in a pair.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn delete(&mut self, index: u32) -> io::Result<()> {
        self.tell(Verb::Delete, Subject::Link(Link::numbered(index)), 0)
    }

    /// Sets the longest packet that the link carries, in bytes.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        self.tell(Verb::Set, Subject::Link(Link::numbered(index).with_mtu(mtu)), 0)
    }

    /// Sets the number of packets that the kernel keeps before the link.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn set_queue(&mut self, index: u32, packets: u32) -> io::Result<()> {
        self.tell(Verb::Set, Subject::Link(Link::numbered(index).with_queue(packets)), 0)
    }

    /// Brings the link up, without address resolution and multicast: no other host is on it.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn up_quietly(&mut self, index: u32) -> io::Result<()> {
        let mut message = Link::numbered(index);
        message.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        message.header.change_mask = LinkFlags::Up | LinkFlags::Noarp | LinkFlags::Multicast;
        self.tell(Verb::Set, Subject::Link(message), 0)
    }

    /// Brings the link up as it is.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn up(&mut self, index: u32) -> io::Result<()> {
        let mut message = Link::numbered(index);
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.tell(Verb::Set, Subject::Link(message), 0)
    }

    /// Moves the link into another namespace.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn move_to(&mut self, index: u32, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let link = Link::numbered(index).in_namespace(&namespace);
        self.tell(Verb::Set, Subject::Link(link), 0)
    }

    /// The addresses of the link, as the kernel describes them.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn addresses(&mut self, index: u32) -> io::Result<Vec<AddressMessage>> {
        let all = self.list(Subject::Address(AddressMessage::default()))?;
        let of_link = |message| match message {
            Subject::Address(it) if it.header.index == index => Some(it),
            _ => None,
        };
        Ok(all.into_iter().filter_map(of_link).collect())
    }

    /// The routes over the link in all tables, but for those that its addresses bring along; those
    /// by way of a gateway come last, and of those the ones by way of several.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn routes(&mut self, index: u32) -> io::Result<Vec<RouteMessage>> {
        let all = self.list(Subject::Route(RouteMessage::default()))?;
        let of_link = |message| match message {
            Subject::Route(it) => Some(it),
            _ => None,
        };
        let mut routes: Vec<_> = all.into_iter().filter_map(of_link).collect();
        let leads_over = |it: &RouteAttribute| match it {
            RouteAttribute::Oif(over) => *over == index,
            RouteAttribute::MultiPath(hops) => hops.iter().any(|hop| hop.interface_index == index),
            _ => false,
        };
        routes.retain(|it| {
            it.header.kind == RouteType::Unicast
                && it.header.protocol != RouteProtocol::Kernel
                && it.attributes.iter().any(leads_over)
        });
        let ways = |it: &RouteAttribute| match it {
            RouteAttribute::Gateway(_) | RouteAttribute::Via(_) => 1,
            RouteAttribute::MultiPath(_) => 2,
            _ => 0,
        };
        routes.sort_by_key(|it| it.attributes.iter().map(ways).max());
        Ok(routes)
    }

    /// The neighbours of the link that were entered for good.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn permanent_neighbours(&mut self, index: u32) -> io::Result<Vec<NeighbourMessage>> {
        let all = self.list(Subject::Neighbour(NeighbourMessage::default()))?;
        let of_link = |message| match message {
            Subject::Neighbour(it) if it.header.ifindex == index => Some(it),
            _ => None,
        };
        let mut neighbours: Vec<_> = all.into_iter().filter_map(of_link).collect();
        neighbours.retain(|it| it.header.state == NeighbourState::Permanent);
        Ok(neighbours)
    }

    /// Enters a neighbour of the link that the kernel has described, unless it is there.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn put_neighbour(&mut self, index: u32, mut message: NeighbourMessage) -> io::Result<()> {
        message.header.ifindex = index;
        let is_said = |it: &NeighbourAttribute| {
            matches!(
                it,
                NeighbourAttribute::Destination(_) | NeighbourAttribute::LinkLayerAddress(_)
            )
        };
        message.attributes.retain(is_said);
        unless_there(self.tell(Verb::New, Subject::Neighbour(message), NLM_F_CREATE | NLM_F_EXCL))
    }

    /// Gives the link an address that the kernel has described, unless it has it.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn put_address(&mut self, index: u32, mut message: AddressMessage) -> io::Result<()> {
        message.header.index = index;
        unless_there(self.tell(Verb::New, Subject::Address(message), NLM_F_CREATE | NLM_F_EXCL))
    }

    /// Lets a route that the kernel has described lead over the link, unless it does; one by way of
    /// several gateways replaces what is there.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn put_route(&mut self, index: u32, mut message: RouteMessage) -> io::Result<()> {
        message
            .attributes
            .retain(|it| !matches!(it, RouteAttribute::Oif(_) | RouteAttribute::CacheInfo(_)));
        // Of several ways one may be left, where it leads over another link.
        let has_several =
            message.attributes.iter().any(|it| matches!(it, RouteAttribute::MultiPath(_)));
        if !has_several {
            message.attributes.push(RouteAttribute::Oif(index));
        }
        let flag = if has_several { NLM_F_REPLACE } else { NLM_F_EXCL };
        unless_there(self.tell(Verb::New, Subject::Route(message), NLM_F_CREATE | flag))
    }

    /// Gives the link an address, usable at once.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        self.tell(Verb::New, Subject::Address(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes `destination/prefix` over the link, by way of `gateway` if there is one.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn add_route(
        &mut self,
        destination: IpAddr,
        prefix: u8,
        gateway: Option<IpAddr>,
        index: u32,
        metrics: &[route::RouteMetric],
    ) -> io::Result<()> {
        let mut message = route_message(destination, prefix, index, metrics);
        message.header.protocol = RouteProtocol::Static;
        if let Some(gateway) = gateway {
            message.header.scope = RouteScope::Universe;
            message.attributes.push(RouteAttribute::Gateway(route_address(gateway)));
        }
        self.tell(Verb::New, Subject::Route(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Gives metrics to the route that the kernel has made to the network of an address of the
    /// link.
    ///
    /// # Errors
    /// If the kernel refuses, or there is no such thing.
    pub fn set_metrics(
        &mut self,
        index: u32,
        address: IpAddr,
        prefix: u8,
        metrics: &[route::RouteMetric],
    ) -> io::Result<()> {
        // To a network of a single address there is none.
        if prefix >= if address.is_ipv4() { 32 } else { 128 } {
            return Ok(());
        }
        let network = ipnet::IpNet::new(address, prefix).map_err(io::Error::other)?.network();
        let mut message = route_message(network, prefix, index, metrics);
        message.header.protocol = RouteProtocol::Kernel;
        if address.is_ipv4() {
            message.attributes.push(RouteAttribute::PrefSource(route_address(address)));
        } else {
            message.attributes.push(RouteAttribute::Priority(CONNECTED_PRIORITY));
        }
        self.tell(Verb::New, Subject::Route(message), NLM_F_REPLACE)
    }

    /// Sends a request and waits for the kernel to confirm it.
    fn tell(&mut self, verb: Verb, subject: Subject, flags: u16) -> io::Result<()> {
        self.ask(verb, subject, flags | NLM_F_ACK).map(|_| ())
    }

    /// Sends a request for a list, and returns all of it.
    fn list(&mut self, subject: Subject) -> io::Result<Vec<Subject>> {
        self.send(Verb::Get, subject, NLM_F_DUMP)?;
        let mut all = Vec::new();
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut rest = &answer[..];
            while !rest.is_empty() {
                let message = deserialize(rest)?;
                let length = (message.header.length as usize).next_multiple_of(4).max(4);
                rest = rest.get(length..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(all),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(message) => all.push(message.subject),
                    _ => {}
                }
            }
        }
    }

    fn send(&mut self, verb: Verb, subject: Subject, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut request = NetlinkMessage::from(Message { verb, subject });
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(|_| ())
    }

    /// Sends a request and returns the first message of the answer, if it is not a confirmation.
    fn ask(&mut self, verb: Verb, subject: Subject, flags: u16) -> io::Result<Option<Message>> {
        self.send(verb, subject, flags)?;
        let (answer, _) = self.socket.recv_from_full()?;
        match deserialize(&answer)?.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }
}

fn deserialize(bytes: &[u8]) -> io::Result<NetlinkMessage<Message>> {
    NetlinkMessage::deserialize(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// Takes what is there already for done.
fn unless_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Describes a route over a link in the main table.
fn route_message(
    destination: IpAddr,
    prefix: u8,
    index: u32,
    metrics: &[route::RouteMetric],
) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(destination);
    message.header.destination_prefix_length = prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.kind = RouteType::Unicast;
    message.header.scope = RouteScope::Link;
    message.attributes.push(RouteAttribute::Oif(index));
    if prefix > 0 {
        message.attributes.push(RouteAttribute::Destination(route_address(destination)));
    }
    if !metrics.is_empty() {
        message.attributes.push(RouteAttribute::Metrics(metrics.to_vec()));
    }
    message
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
