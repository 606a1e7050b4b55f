//! The routing table: the longest prefix that contains a destination names the interface.

use core::cell::Cell;
use core::fmt;
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;

/// A route to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEntry {
    /// The network that it leads to.
    pub to: IpNet,
    /// Out of which interface.
    pub interface: usize,
}

/// Routes of many stations, computed when a packet first needs them.
pub trait RouteSource: fmt::Debug + Send + Sync {
    /// Returns the longest prefix with `destination` in it that `station` reaches by way of others:
    /// its length, and the interface of the station. The same question has the same answer always.
    fn lookup(&self, station: usize, destination: IpAddr) -> Option<(u8, usize)>;
}

/// The routes of one station in a [`RouteSource`] that several share.
#[derive(Clone, Debug)]
pub struct SharedRoutes {
    /// The shared source of routes.
    pub source: Arc<dyn RouteSource>,
    /// The station, by its number there.
    pub station: usize,
}

impl PartialEq for SharedRoutes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.station == other.station
    }
}

impl Eq for SharedRoutes {}

/// Returns whether packets to `address` are for several stations of a link: multicast, and the
/// broadcast address of every network.
#[must_use]
pub const fn is_group(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_multicast(),
    }
}

/// Routes by length of prefix, longest first. A lookup takes one search per length in use.
#[derive(Clone, Debug, Default)]
pub struct RoutingTable {
    lengths: Vec<(u8, BTreeMap<IpAddr, usize>)>,
    /// Shared routes in addition to those of the table. Among prefixes of equal length the table
    /// has precedence.
    shared: Option<SharedRoutes>,
    /// The last lookup and its result: consecutive packets mostly have the same destination.
    last: Cell<Option<(IpAddr, Option<usize>)>>,
}

impl RoutingTable {
    /// Creates a table of `routes`; of two routes to the same network the later one applies.
    #[must_use]
    pub fn new(routes: impl IntoIterator<Item = RouteEntry>) -> Self {
        let mut table = Self::default();
        routes.into_iter().for_each(|route| table.insert(route));
        table
    }

    /// Sets the routes that are shared with other stations, and replaces earlier shared ones.
    pub fn share(&mut self, routes: SharedRoutes) {
        self.shared = Some(routes);
        self.last.take();
    }

    /// Adds a route, and replaces an earlier one to the same network.
    pub fn insert(&mut self, route: RouteEntry) {
        let bits = route.to.prefix_len();
        let at = match self.lengths.binary_search_by(|(len, _)| bits.cmp(len)) {
            Ok(at) => at,
            Err(at) => {
                self.lengths.insert(at, (bits, BTreeMap::new()));
                at
            }
        };
        self.lengths[at].1.insert(route.to.network(), route.interface);
        self.last.take();
    }

    /// Returns the interface for packets to `destination`.
    #[must_use]
    pub fn lookup(&self, destination: IpAddr) -> Option<usize> {
        if let Some((known, interface)) = self.last.get()
            && known == destination
        {
            return interface;
        }
        let interface = self.find(destination);
        self.last.set(Some((destination, interface)));
        interface
    }

    fn find(&self, destination: IpAddr) -> Option<usize> {
        let width = IpNet::from(destination).max_prefix_len();
        let own = self.lengths.iter().find_map(|(len, routes)| {
            let network = IpNet::new(destination, *len).ok()?.network();
            routes.get(&network).map(|interface| (*len, *interface))
        });
        let longest = own.map(|(len, _)| len);
        let shared = self
            .shared
            .as_ref()
            .filter(|_| longest.is_none_or(|len| len < width))
            .and_then(|shared| shared.source.lookup(shared.station, destination))
            .filter(|(len, _)| longest.is_none_or(|own| own < *len));
        shared.or(own).map(|(_, interface)| interface)
    }
}

#[cfg(test)]
mod tests;
