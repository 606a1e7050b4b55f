//! Addresses that are chosen when a scenario is silent about them.
//!
//! Each link has one IPv4 network of four addresses and one IPv6 network, both private and unlikely
//! to be in use. A scenario that runs inside another takes the next larger range, so that the two
//! do not shadow each other.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::values::Prefix;

/// The second byte of IPv4 addresses outside every other scenario: 10.77.0.0/16.
const FIRST: u8 = 77;
/// How many levels of nesting have ranges of their own.
pub(crate) const LEVELS: u8 = u8::MAX - FIRST;
/// How many links a range has networks for.
pub(crate) const LINKS: usize = 1 << 14;
/// The least MTU with which a link carries IPv6 (RFC 8200, section 5).
pub(crate) const LEAST_IPV6_MTU: u16 = 1280;

/// How deep a scenario is nested that starts where `WINDFALL_BASE` has this value.
///
/// The variable holds the address of the far end of the scenario outside; unset or anything else
/// means that there is none, hence level 0.
#[must_use]
pub fn level_inside(base: Option<&str>) -> u8 {
    let outside = base.and_then(|text| match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => match address.octets() {
            [10, second, ..] if second >= FIRST => Some(second - FIRST),
            _ => None,
        },
        IpAddr::V6(_) => None,
    });
    outside.map_or(0, |level| (level + 1) % LEVELS)
}

/// The addresses of end `end` (0 or 1) of link `link` at nesting `level`.
pub(crate) fn of_end(level: u8, link: usize, end: usize, mtu: u16) -> Vec<Prefix> {
    let host = end as u16 + 1;
    let [third, fourth] = (link as u16 * 4 + host).to_be_bytes();
    let v4 = Ipv4Addr::new(10, FIRST + level % LEVELS, third, fourth);
    let mut addresses = vec![Prefix { address: v4.into(), length: 30 }];
    if mtu >= LEAST_IPV6_MTU {
        // The global id spells "wind", then the level.
        let id = 0x6400 | u16::from(level);
        let v6 = Ipv6Addr::new(0xfd77, 0x696e, id, link as u16, 0, 0, 0, host);
        addresses.push(Prefix { address: v6.into(), length: 64 });
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_link_has_the_addresses_of_the_documentation() {
        let text: Vec<String> = of_end(0, 0, 0, 1500).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["10.77.0.1/30", "fd77:696e:6400::1/64"]);
        let text: Vec<String> = of_end(0, 0, 1, 1500).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["10.77.0.2/30", "fd77:696e:6400::2/64"]);
    }

    #[test]
    fn the_last_link_stays_in_the_range() {
        let text: Vec<String> =
            of_end(1, LINKS - 1, 1, 576).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["10.78.255.254/30"]);
    }

    #[test]
    fn a_scenario_inside_another_takes_the_next_range() {
        assert_eq!(level_inside(None), 0);
        assert_eq!(level_inside(Some("rubbish")), 0);
        assert_eq!(level_inside(Some("100.64.0.1")), 0);
        assert_eq!(level_inside(Some("10.77.0.2")), 1);
        assert_eq!(level_inside(Some("10.78.0.2")), 2);
    }
}
