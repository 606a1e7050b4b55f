//! An interface that moves to another namespace and back.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Netlink;

/// An interface as it was found.
#[derive(Clone, Debug)]
pub struct RealInterface {
    name: String,
    index: u32,
    is_up: bool,
    addresses: Vec<AddressMessage>,
    routes: Vec<RouteMessage>,
    neighbours: Vec<NeighbourMessage>,
    /// The kernel's parameters of it, files below `/proc/sys`, with their values.
    parameters: Vec<(PathBuf, String)>,
    /// The namespace in which it was.
    home: Arc<File>,
}

impl RealInterface {
    /// Finds an interface in the namespace of this process.
    ///
    /// # Errors
    /// If there is none, or it cannot move.
    pub fn find(name: &str) -> io::Result<Self> {
        let mut netlink = Netlink::open()?;
        let link = netlink.link(name)?;
        if link.master().is_some() {
            return Err(io::Error::other("it is part of a bridge or another device"));
        }
        if link.header.flags.contains(LinkFlags::Loopback) {
            return Err(io::Error::other("it leads to this machine alone"));
        }
        let index = link.header.index;
        Ok(Self {
            name: name.to_owned(),
            index,
            is_up: link.header.flags.contains(LinkFlags::Up),
            addresses: netlink.addresses(index)?,
            routes: netlink.routes(index)?,
            neighbours: netlink.permanent_neighbours(index)?,
            parameters: parameters(name),
            home: Arc::new(File::open("/proc/self/ns/net")?),
        })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the networks that it leads to, with the lengths of their prefixes.
    #[must_use]
    pub fn networks(&self) -> Vec<(IpAddr, u8)> {
        let own = self.addresses.iter().filter_map(|message| {
            let local = message.attributes.iter().find_map(|it| match it {
                AddressAttribute::Address(address) => Some(*address),
                _ => None,
            })?;
            network(local, message.header.prefix_len)
        });
        let beyond = self.main_routes().filter_map(|message| {
            let destination = message.attributes.iter().find_map(|it| match it {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => Some((*address).into()),
                RouteAttribute::Destination(RouteAddress::Inet6(address)) => {
                    Some((*address).into())
                }
                _ => None,
            })?;
            Some((destination, message.header.destination_prefix_length))
        });
        // Those of a link alone are the same on every link.
        let is_local = |it: &(IpAddr, u8)| match it.0 {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local() || address.is_multicast(),
        };
        let mut networks: Vec<_> = own.chain(beyond).filter(|it| !is_local(it)).collect();
        networks.sort_unstable();
        networks.dedup();
        networks
    }

    /// Moves it into a namespace, with its addresses and the routes of the main table that lead
    /// over it alone, and brings it up.
    ///
    /// # Errors
    /// If it cannot move or is not there; it may have come half the way then.
    pub fn move_in(&self, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let (mut netlink, index) = self.carry(self.home.as_fd(), namespace)?;
        self.put_addresses(&mut netlink, index)?;
        netlink.up(index)?;
        self.main_routes().try_for_each(|route| self.put_route(&mut netlink, index, route))
    }

    /// Moves it back from a namespace and makes it what it was, with its addresses, its routes in
    /// all tables, its permanent neighbours and its parameters.
    ///
    /// # Errors
    /// If it is not there, or does not become what it was.
    pub fn move_back(&self, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let (mut netlink, index) = self.carry(namespace, self.home.as_fd())?;
        // Some decide what becomes of its addresses.
        let restored = self.put_parameters();
        self.put_addresses(&mut netlink, index)?;
        if self.is_up {
            netlink.up(index)?;
            for route in &self.routes {
                self.put_route(&mut netlink, index, route)?;
            }
        }
        for neighbour in &self.neighbours {
            netlink.put_neighbour(index, neighbour.clone())?;
        }
        restored
    }

    /// Moves it, and returns its index there.
    fn carry(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<(Netlink, u32)> {
        enter(from)?;
        let mut netlink = Netlink::open()?;
        let index = netlink.index(&self.name)?;
        netlink.move_to(index, to)?;
        enter(to)?;
        let mut netlink = Netlink::open()?;
        let index = netlink.index(&self.name)?;
        Ok((netlink, index))
    }

    /// The routes that a station can have too: those of the main table over no other interface.
    fn main_routes(&self) -> impl Iterator<Item = &RouteMessage> {
        let is_own = |it: &RouteAttribute| match it {
            RouteAttribute::MultiPath(hops) => {
                hops.iter().all(|hop| hop.interface_index == self.index)
            }
            _ => true,
        };
        let main = RouteHeader::RT_TABLE_MAIN;
        self.routes
            .iter()
            .filter(move |it| it.header.table == main && it.attributes.iter().all(is_own))
    }

    fn put_addresses(&self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        self.addresses.iter().try_for_each(|it| netlink.put_address(index, it.clone()))
    }

    /// Routes need a device that is up; those by way of a gateway come after the others.
    fn put_route(&self, netlink: &mut Netlink, index: u32, route: &RouteMessage) -> io::Result<()> {
        let mut route = route.clone();
        for attribute in &mut route.attributes {
            if let RouteAttribute::MultiPath(hops) = attribute {
                let own = hops.iter_mut().filter(|hop| hop.interface_index == self.index);
                own.for_each(|hop| hop.interface_index = index);
            }
        }
        netlink.put_route(index, route)
    }

    fn put_parameters(&self) -> io::Result<()> {
        let mut done = Ok(());
        for (path, value) in self
            .parameters
            .iter()
            .filter(|(path, value)| fs::read_to_string(path).map_or(true, |now| now != *value))
        {
            if let Err(error) = fs::write(path, value) {
                done = Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
        }
        done
    }
}

/// Reads the kernel's parameters of an interface in this namespace; those that cannot be read
/// cannot be restored.
fn parameters(name: &str) -> Vec<(PathBuf, String)> {
    let kinds = ["ipv4/conf", "ipv4/neigh", "ipv6/conf", "ipv6/neigh"];
    let folders = kinds.iter().map(|kind| PathBuf::from(format!("/proc/sys/net/{kind}/{name}")));
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    files.filter_map(|it| Some((it.path(), fs::read_to_string(it.path()).ok()?))).collect()
}

/// The network of an address.
fn network(address: IpAddr, prefix: u8) -> Option<(IpAddr, u8)> {
    ipnet::IpNet::new(address, prefix).ok().map(|net| (net.network(), prefix))
}

/// Moves the thread into a network namespace.
fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}
