//! An interface that moves to another namespace and back.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Netlink;

/// An interface as it was found.
#[derive(Clone, Debug)]
pub struct RealInterface {
    name: String,
    is_up: bool,
    addresses: Vec<AddressMessage>,
    routes: Vec<RouteMessage>,
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
        let is_part = |it: &LinkAttribute| matches!(it, LinkAttribute::Controller(1..));
        if link.attributes.iter().any(is_part) {
            return Err(io::Error::other("it is part of a bridge or another device"));
        }
        if link.header.flags.contains(LinkFlags::Loopback) {
            return Err(io::Error::other("it leads to this machine alone"));
        }
        let index = link.header.index;
        Ok(Self {
            name: name.to_owned(),
            is_up: link.header.flags.contains(LinkFlags::Up),
            addresses: netlink.addresses(index)?,
            routes: netlink.routes(index)?,
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
            network(&(local, message.header.prefix_len))
        });
        let beyond = self.routes.iter().filter_map(|message| {
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

    /// Moves it into a namespace, with its addresses and routes, and brings it up.
    ///
    /// # Errors
    /// If it cannot move or is not there; it may have come half the way then.
    pub fn move_in(&self, namespace: BorrowedFd<'_>) -> io::Result<()> {
        self.carry(self.home.as_fd(), namespace, true)
    }

    /// Moves it back from a namespace and makes it what it was.
    ///
    /// # Errors
    /// If it is not there, or does not become what it was.
    pub fn move_back(&self, namespace: BorrowedFd<'_>) -> io::Result<()> {
        self.carry(namespace, self.home.as_fd(), self.is_up)
    }

    fn carry(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, up: bool) -> io::Result<()> {
        enter(from)?;
        let mut netlink = Netlink::open()?;
        let index = netlink.index(&self.name)?;
        netlink.move_to(index, to)?;
        enter(to)?;
        let mut netlink = Netlink::open()?;
        let index = netlink.index(&self.name)?;
        for address in &self.addresses {
            netlink.put_address(index, address.clone())?;
        }
        if up {
            netlink.up(index)?;
            // Routes need a device that is up; those by way of a gateway come after the others.
            for route in &self.routes {
                netlink.put_route(index, route.clone())?;
            }
        }
        Ok(())
    }
}

/// The network of an address.
fn network((address, prefix): &(IpAddr, u8)) -> Option<(IpAddr, u8)> {
    ipnet::IpNet::new(*address, *prefix).ok().map(|net| (net.network(), *prefix))
}

/// Moves the thread into a network namespace.
fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}
