//! The ranges of automatically chosen addresses: one for each nested scenario, and one for the TCP
//! engines beside kernels.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The second byte of IPv4 addresses in the outermost scenario: 10.77.0.0/16.
pub const FIRST: u8 = 77;
/// The number of nesting levels with address ranges of their own.
pub const LEVELS: u8 = u8::MAX - FIRST;

/// Returns the nesting level of a scenario that starts if `WINDFALL_BASE` has this value.
///
/// The variable holds the address of the remote end in the enclosing scenario. Without a valid
/// value there is no enclosing scenario, and the level is 0.
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

/// The offset of the second byte of an engine's IPv4 address.
const ENGINE_V4: u8 = 100;
/// The offset of the third group of an engine's IPv6 address.
const ENGINE_V6: u16 = 0x8000;

/// Returns the address of the TCP engine beside the kernel with the automatically chosen `address`:
/// 10.177.0.1 beside 10.77.0.1, `fd77:696e:e400::1` beside `fd77:696e:6400::1`.
///
/// Stations route these addresses like those of the kernels, so other stations can reach an engine.
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
