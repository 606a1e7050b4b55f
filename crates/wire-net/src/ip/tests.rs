use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn the_version_decides() {
    let v4 = ipv4::Repr::new(Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, Protocol::UDP, 8);
    let mut bytes = [0; 48];
    v4.expect("fits").emit(&mut bytes);
    let packet = Packet::new(&bytes).expect("IPv4");
    let carried = packet.carried().expect("no extensions");
    assert_eq!((carried.protocol, carried.len, packet.total_len()), (Protocol::UDP, 8, 28));

    let v6 = ipv6::Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 16);
    v6.expect("fits").emit(&mut bytes);
    let packet = Packet::new(&bytes).expect("IPv6");
    let carried = packet.carried().expect("no extensions");
    assert_eq!((carried.len, carried.bytes.len(), packet.missing()), (16, 8, 8));

    bytes[0] = 0x50;
    let error = Packet::new(&bytes).expect_err("version 5");
    assert_eq!(error.to_string(), "IP: version may not be 5");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..120), v6: bool) {
        if let Some(first) = bytes.first_mut() {
            *first = if v6 { 0x60 } else { 0x40 } | (*first & 0x0f);
        }
        if let Ok(packet) = Packet::new(&bytes)
            && let Ok(carried) = packet.carried()
        {
            prop_assert!(carried.bytes.len() <= carried.len);
            prop_assert_eq!(carried.len - carried.bytes.len(), packet.missing());
        }
    }
}
