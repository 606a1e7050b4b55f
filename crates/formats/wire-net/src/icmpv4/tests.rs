use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn message(repr: Icmpv4Repr, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_LEN];
    repr.emit(&mut bytes, data);
    bytes.extend(data);
    bytes
}

fn any_repr() -> impl Strategy<Value = Icmpv4Repr> {
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(id, seq)| Icmpv4Repr::EchoRequest { id, seq }),
        any::<(u16, u16)>().prop_map(|(id, seq)| Icmpv4Repr::EchoReply { id, seq }),
        any::<(u8, u16)>()
            .prop_map(|(code, mtu)| Icmpv4Repr::Unreachable(Unreachable::new(code, mtu))),
        Just(Icmpv4Repr::HopLimitExceeded),
        Just(Icmpv4Repr::ReassemblyTimeExceeded),
        any::<u8>().prop_map(|pointer| Icmpv4Repr::ParameterProblem { pointer }),
    ]
}

#[test]
fn fragmentation_needed_carries_the_mtu_in_its_last_two_bytes() {
    let why = Unreachable::FragmentationNeeded { mtu: 1400 };
    let bytes = message(Icmpv4Repr::Unreachable(why), &[]);
    assert_eq!((bytes[0], bytes[1], &bytes[4..]), (3, 4, &[0, 0, 5, 120][..]));
}

proptest! {
    #[test]
    fn what_is_written_is_read(repr in any_repr(), data in vec(any::<u8>(), 0..64)) {
        let bytes = message(repr, &data);
        let packet = Icmpv4Packet::new(&bytes).expect("a message");
        prop_assert!(packet.checksum_holds());
        prop_assert_eq!(Icmpv4Repr::parse(&packet), Some(repr));
        prop_assert_eq!(packet.data(), data);
        let echo = matches!(repr, Icmpv4Repr::EchoRequest { .. } | Icmpv4Repr::EchoReply { .. });
        prop_assert_eq!(packet.is_error(), !echo);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..40)) {
        if let Ok(packet) = Icmpv4Packet::new(&bytes) {
            let _ = (Icmpv4Repr::parse(&packet), packet.checksum_holds(), packet.is_error());
        }
    }
}

#[test]
fn a_damaged_message_fails_its_checksum() {
    let bytes = message(Icmpv4Repr::EchoRequest { id: 7, seq: 9 }, b"data");
    assert!(Icmpv4Packet::new(&bytes).expect("a message").checksum_holds());
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(!Icmpv4Packet::new(&damaged).expect("a message").checksum_holds(), "bit {bit}");
    }
}
