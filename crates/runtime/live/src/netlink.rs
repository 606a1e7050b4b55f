//! Links, addresses and routes of the namespace that the process is in.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    self, RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use windfall_tcp_settings::RouteMetric;

/// The number of the least retransmission timeout among the metrics, for the mask of those that the
/// kernel may not change itself; it follows this one only where it is among them.
const RTO_MIN: u32 = 13;
/// The priority of the kernel's own routes to the networks of a link of IPv6.
const CONNECTED_PRIORITY: u32 = 256;
/// The bytes by which the header of IPv6 is longer than that of IPv4.
const LONGER_HEADER: u32 = 20;

/// One end of a new pair of virtual Ethernet devices.
#[derive(Debug)]
pub(crate) struct VethEnd<'a> {
    /// The device's name.
    pub(crate) name: &'a str,
    /// Its hardware address.
    pub(crate) mac: [u8; 6],
    /// The namespace to make it in.
    pub(crate) namespace: BorrowedFd<'a>,
}

/// A connection to the kernel's tables of links, addresses and routes.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens a connection that stays with the present namespace.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The index of the link called `name`.
    pub(crate) fn index(&mut self, name: &str) -> io::Result<u32> {
        self.link(name).map(|link| link.header.index)
    }

    /// The longest packet that the link called `name` carries, in bytes.
    pub(crate) fn mtu(&mut self, name: &str) -> io::Result<u32> {
        let mtu = |attribute: &LinkAttribute| match attribute {
            LinkAttribute::Mtu(mtu) => Some(*mtu),
            _ => None,
        };
        let link = self.link(name)?;
        link.attributes.iter().find_map(mtu).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn link(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        match self.ask(RouteNetlinkMessage::GetLink(message), 0)? {
            Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Makes a pair of virtual Ethernet devices.
    pub(crate) fn add_veth(&mut self, near: &VethEnd<'_>, far: &VethEnd<'_>) -> io::Result<()> {
        let describe = |end: &VethEnd<'_>| {
            let mut message = LinkMessage::default();
            message.attributes.push(LinkAttribute::IfName(end.name.to_owned()));
            message.attributes.push(LinkAttribute::Address(end.mac.to_vec()));
            message.attributes.push(LinkAttribute::NetNsFd(end.namespace.as_raw_fd()));
            message
        };
        let mut message = describe(near);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(describe(far)))),
        ]));
        self.tell(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes the link, and with it its peer in a pair.
    pub(crate) fn delete(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.tell(RouteNetlinkMessage::DelLink(message), 0)
    }

    /// Sets the longest packet that the link carries, in bytes.
    pub(crate) fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::Mtu(mtu));
        self.tell(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets the number of packets that the kernel keeps before the link.
    pub(crate) fn set_queue(&mut self, index: u32, packets: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::TxQueueLen(packets));
        self.tell(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Brings the link up, without address resolution and multicast: no other host is on it.
    pub(crate) fn up_quietly(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        message.header.change_mask = LinkFlags::Up | LinkFlags::Noarp | LinkFlags::Multicast;
        self.tell(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Brings the link up as it is.
    pub(crate) fn up(&mut self, index: u32) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.tell(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives the link an address, usable at once.
    pub(crate) fn add_address(
        &mut self,
        index: u32,
        address: IpAddr,
        prefix: u8,
    ) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix;
        message.header.index = index;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv6() {
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        self.tell(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Routes `destination/prefix` over the link, by way of `gateway` if there is one.
    pub(crate) fn add_route(
        &mut self,
        destination: IpAddr,
        prefix: u8,
        gateway: Option<IpAddr>,
        index: u32,
        metrics: &[RouteMetric],
    ) -> io::Result<()> {
        let mut message = route_message(destination, prefix, index, metrics);
        message.header.protocol = RouteProtocol::Static;
        if let Some(gateway) = gateway {
            message.header.scope = RouteScope::Universe;
            message.attributes.push(RouteAttribute::Gateway(route_address(gateway)));
        }
        self.tell(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Gives metrics to the route that the kernel has made to the network of an address of the
    /// link.
    pub(crate) fn set_metrics(
        &mut self,
        index: u32,
        address: IpAddr,
        prefix: u8,
        metrics: &[RouteMetric],
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
        self.tell(RouteNetlinkMessage::NewRoute(message), NLM_F_REPLACE)
    }

    /// Sends a request and waits for the kernel to confirm it.
    fn tell(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.ask(message, flags | NLM_F_ACK).map(|_| ())
    }

    /// Sends a request and returns the first message of the answer, if it is not a confirmation.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }
}

/// Describes a route over a link in the main table.
fn route_message(
    destination: IpAddr,
    prefix: u8,
    index: u32,
    metrics: &[RouteMetric],
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
        let metrics = metrics.iter().flat_map(|it| metric(it, destination.is_ipv6()));
        message.attributes.push(RouteAttribute::Metrics(metrics.collect()));
    }
    message
}

/// A metric as the kernel takes it.
fn metric(metric: &RouteMetric, is_v6: bool) -> Vec<route::RouteMetric> {
    vec![match metric {
        RouteMetric::AdvMss(bytes) => {
            route::RouteMetric::Advmss(bytes.saturating_sub(if is_v6 { LONGER_HEADER } else { 0 }))
        }
        RouteMetric::QuickAck(on) => route::RouteMetric::QuickAck((*on).into()),
        RouteMetric::Window(bytes) => route::RouteMetric::Window(*bytes),
        RouteMetric::InitCwnd(segments) => route::RouteMetric::InitCwnd(*segments),
        RouteMetric::RtoMin(time) => {
            let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
            return vec![
                route::RouteMetric::Lock(1 << RTO_MIN),
                route::RouteMetric::RtoMin(millis),
            ];
        }
        RouteMetric::Congestion(name) => route::RouteMetric::CcAlgo((*name).to_owned()),
    }]
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
