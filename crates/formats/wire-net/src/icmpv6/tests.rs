use core::net::Ipv6Addr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const ADDRESSES: Addresses =
    Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1) };

fn message(repr: Icmpv6Repr, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    repr.emit(&mut bytes, &ADDRESSES, data);
    bytes.extend(data);
    bytes
}

fn any_repr() -> impl Strategy<Value = Icmpv6Repr> {
    let why = (0_u8..7).prop_filter_map("a known code", Unreachable::new);
    let problem = (0_u8..3).prop_filter_map("a known code", Problem::new);
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(id, seq)| Icmpv6Repr::EchoRequest { id, seq }),
        any::<(u16, u16)>().prop_map(|(id, seq)| Icmpv6Repr::EchoReply { id, seq }),
        why.prop_map(Icmpv6Repr::Unreachable),
        any::<u32>().prop_map(|mtu| Icmpv6Repr::PacketTooBig { mtu }),
        Just(Icmpv6Repr::HopLimitExceeded),
        Just(Icmpv6Repr::ReassemblyTimeExceeded),
        (problem, any::<u32>())
            .prop_map(|(problem, pointer)| Icmpv6Repr::ParameterProblem { problem, pointer }),
    ]
}

#[test]
fn the_checksum_covers_the_addresses() {
    let bytes = message(Icmpv6Repr::EchoRequest { id: 1, seq: 2 }, b"abc");
    let packet = Icmpv6Packet::new(&bytes).expect("a message");
    assert!(packet.checksum_holds(&ADDRESSES));
    let other = Addresses::V6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST };
    assert!(!packet.checksum_holds(&other));
}

proptest! {
    #[test]
    fn what_is_written_is_read(repr in any_repr(), data in vec(any::<u8>(), 0..64)) {
        let bytes = message(repr, &data);
        let packet = Icmpv6Packet::new(&bytes).expect("a message");
        prop_assert!(packet.checksum_holds(&ADDRESSES));
        prop_assert_eq!(Icmpv6Repr::parse(&packet), Some(repr));
        prop_assert_eq!(packet.data(), data);
        let echo = matches!(repr, Icmpv6Repr::EchoRequest { .. } | Icmpv6Repr::EchoReply { .. });
        prop_assert_eq!(packet.is_error(), !echo);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..40)) {
        if let Ok(packet) = Icmpv6Packet::new(&bytes) {
            let _ = (packet.checksum_holds(&ADDRESSES), packet.is_error());
            let _ = Icmpv6Repr::parse(&packet);
        }
    }
}
