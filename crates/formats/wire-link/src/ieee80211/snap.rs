//! LLC/SNAP: eight bytes that say which protocol a data frame carries (IEEE 802.2, RFC 1042).

/// Bytes of the header.
pub const LEN: usize = 8;
/// The EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// The EtherType of IPv6.
pub const IPV6: u16 = 0x86dd;

const HEAD: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// The header of a packet with this EtherType.
#[must_use]
pub const fn encode(ether_type: u16) -> [u8; LEN] {
    let [a, b, c, d, e, f] = HEAD;
    let [high, low] = ether_type.to_be_bytes();
    [a, b, c, d, e, f, high, low]
}

/// The EtherType in the header at the beginning of `bytes`; `None` if there is none.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<u16> {
    match bytes.first_chunk::<LEN>()? {
        [head @ .., high, low] if *head == HEAD => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_survives_and_no_other_bytes_are_one() {
        for ether_type in [IPV4, IPV6, 0, u16::MAX] {
            assert_eq!(parse(&encode(ether_type)), Some(ether_type));
        }
        let whole = encode(IPV4);
        for bit in 0..48 {
            let mut damaged = whole;
            damaged[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(parse(&damaged), None, "bit {bit}");
        }
        assert_eq!(parse(&whole[..7]), None);
    }
}
