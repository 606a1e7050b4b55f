//! Ranges of the addresses that are chosen automatically: one for each scenario inside another, and
//! those of engines beside kernels.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The second byte of IPv4 addresses outside every other scenario: 10.77.0.0/16.
pub const FIRST: u8 = 77;
/// The number of levels of nesting that have ranges of their own.
pub const LEVELS: u8 = u8::MAX - FIRST;

/// Returns the depth of nesting of a scenario that starts where `WINDFALL_BASE` has this value.
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

/// The difference of the second byte of an IPv4 address where it is that of an engine.
const ENGINE_V4: u8 = 100;
/// The difference of the third group of an IPv6 address if it is that of an engine.
const ENGINE_V6: u16 = 0x8000;

/// The address of the TCP engine beside the kernel that has `address`, where `address` was chosen
/// automatically: 10.177.0.1 beside 10.77.0.1, `fd77:696e:e400::1` beside `fd77:696e:6400::1`.
///
/// Stations route these addresses as they do the kernels', so that an engine in one station is
/// reached from the others.
#[must_use]
pub fn engine_beside(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => match address.octets() {
            [10, second, third, fourth] if (FIRST..=u8::MAX - 1 - ENGINE_V4).contains(&second) => {
                Some(Ipv4Addr::new(10, second + ENGINE_V4, third, fourth).into())
            }
            _ => None,
        },
        IpAddr::V6(address) => match address.segments() {
            [0xfd77, 0x696e, id, a, b, c, d, e] if id & 0xff00 == 0x6400 => {
                Some(Ipv6Addr::new(0xfd77, 0x696e, id | ENGINE_V6, a, b, c, d, e).into())
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_stand_beside_the_addresses_that_were_chosen() {
        let beside = |text: &str| engine_beside(text.parse().unwrap()).map(|it| it.to_string());
        assert_eq!(beside("10.77.0.1").as_deref(), Some("10.177.0.1"));
        assert_eq!(beside("10.154.3.2").as_deref(), Some("10.254.3.2"));
        assert_eq!(beside("fd77:696e:6401:5::2").as_deref(), Some("fd77:696e:e401:5::2"));
        for other in ["10.155.0.1", "10.177.0.1", "10.1.0.1", "192.168.0.1", "fd77:696e:e400::1"] {
            assert_eq!(beside(other), None, "{other}");
        }
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
