//! Addresses that are chosen when a scenario is silent about them.
//!
//! Each link has one IPv4 network, of four addresses if it has two stations, and one IPv6 network,
//! both private and unlikely to be in use. A scenario that runs inside another takes the next
//! larger range, so that the two do not shadow each other.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use windfall_network::addresses::{FIRST, LEVELS};

use crate::stations::StationPlan;
use crate::values::Prefix;

/// The number of addresses of a range.
const RANGE: u32 = 1 << 16;
/// The least MTU with which a link carries IPv6 (RFC 8200, section 5).
pub(crate) const LEAST_IPV6_MTU: u16 = 1280;

/// The network of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// The link's place in the scenario.
    link: u16,
    /// Its first address, counted from the beginning of the range.
    start: u16,
    /// The length of its prefix.
    length: u8,
}

/// A network for each link, by the numbers of their stations, until the range has none left.
pub(crate) fn networks(stations: impl Iterator<Item = usize>) -> Vec<Network> {
    let mut next = 0_u32;
    let network = |(place, stations): (usize, usize)| {
        // The first and the last address of a network belong to no station.
        let size = u32::try_from(stations + 2).ok()?.max(4).next_power_of_two();
        let start = next.next_multiple_of(size);
        next = start.checked_add(size).filter(|end| *end <= RANGE)?;
        let length = 32 - size.ilog2() as u8;
        Some(Network { link: u16::try_from(place).ok()?, start: start as u16, length })
    };
    stations.enumerate().map_while(network).collect()
}

impl Network {
    /// The addresses of end `end`, counted from 0, at nesting `level`.
    pub(crate) fn of_end(self, level: u8, end: usize, mtu: u16) -> Vec<Prefix> {
        let host = end as u16 + 1;
        let [third, fourth] = (self.start + host).to_be_bytes();
        let v4 = Ipv4Addr::new(10, FIRST + level % LEVELS, third, fourth);
        let mut addresses = vec![Prefix { address: v4.into(), length: self.length }];
        if mtu >= LEAST_IPV6_MTU {
            // The global id spells "wind", then the level.
            let id = 0x6400 | u16::from(level);
            let v6 = Ipv6Addr::new(0xfd77, 0x696e, id, self.link, 0, 0, 0, host);
            addresses.push(Prefix { address: v6.into(), length: 64 });
        }
        addresses
    }
}

/// Two stations that have the same address, and the address, if there are any.
pub(crate) fn clash(stations: &[StationPlan]) -> Option<(usize, usize, IpAddr)> {
    let mut owners = BTreeMap::new();
    let interfaces = stations.iter().enumerate().flat_map(|(number, station)| {
        station.interfaces.iter().map(move |interface| (number, interface))
    });
    let mut addresses = interfaces.flat_map(|(number, interface)| {
        interface.addresses.iter().map(move |prefix| (number, prefix.address))
    });
    addresses.find_map(|(number, address)| match owners.insert(address, number) {
        Some(owner) if owner != number => Some((owner, number, address)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(network: Network, level: u8, end: usize, mtu: u16) -> Vec<String> {
        network.of_end(level, end, mtu).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_first_link_has_the_addresses_of_the_documentation() {
        let network = networks([2].into_iter())[0];
        assert_eq!(text(network, 0, 0, 1500), ["10.77.0.1/30", "fd77:696e:6400::1/64"]);
        assert_eq!(text(network, 0, 1, 1500), ["10.77.0.2/30", "fd77:696e:6400::2/64"]);
    }

    #[test]
    fn the_last_link_stays_in_the_range() {
        let networks = networks([2; 1 << 14].into_iter());
        assert_eq!(text(networks[(1 << 14) - 1], 1, 1, 576), ["10.78.255.254/30"]);
        assert_eq!(super::networks([2; (1 << 14) + 1].into_iter()).len(), 1 << 14);
    }

    #[test]
    fn a_link_of_many_stations_has_a_network_that_holds_them_all() {
        let networks = networks([2, 6, 2, 7].into_iter());
        assert_eq!(text(networks[1], 0, 5, 1500), ["10.77.0.14/29", "fd77:696e:6400:1::6/64"]);
        assert_eq!(text(networks[2], 0, 0, 576), ["10.77.0.17/30"]);
        assert_eq!(text(networks[3], 0, 6, 576), ["10.77.0.39/28"]);
    }
}
