//! The routing table: the longest prefix that contains a destination names the interface.

use std::collections::BTreeMap;

use core::net::IpAddr;

use crate::prefix::{self, Prefix};

/// Where packets to a network go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// To where.
    pub to: Prefix,
    /// Out of which interface.
    pub interface: usize,
}

/// Routes by length of prefix, longest first. A lookup takes one search per length in use.
#[derive(Clone, Debug, Default)]
pub struct RoutingTable {
    lengths: Vec<(u8, BTreeMap<IpAddr, usize>)>,
}

impl RoutingTable {
    /// A table of `routes`; of two to the same network the later one holds.
    #[must_use]
    pub fn new(routes: impl IntoIterator<Item = Route>) -> Self {
        let mut table = Self::default();
        routes.into_iter().for_each(|route| table.insert(route));
        table
    }

    /// Adds a route, instead of an earlier one to the same network.
    pub fn insert(&mut self, route: Route) {
        let bits = route.to.bits();
        let at = match self.lengths.binary_search_by(|(len, _)| bits.cmp(len)) {
            Ok(at) => at,
            Err(at) => {
                self.lengths.insert(at, (bits, BTreeMap::new()));
                at
            }
        };
        self.lengths[at].1.insert(route.to.network(), route.interface);
    }

    /// The interface for packets to `destination`.
    #[must_use]
    pub fn lookup(&self, destination: IpAddr) -> Option<usize> {
        let width = if destination.is_ipv4() { 32 } else { 128 };
        let fitting = self.lengths.iter().filter(|(len, _)| *len <= width);
        fitting
            .filter_map(|(len, routes)| routes.get(&prefix::network(destination, *len)))
            .copied()
            .next()
    }
}

#[cfg(test)]
mod tests;
