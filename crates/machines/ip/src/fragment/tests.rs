use core::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use windfall_wire_net::{IpPacket, Ipv4Options, Ipv4Packet, Ipv4Repr, Ipv6Repr};

use super::*;

fn v4(len: usize, options: &[u8]) -> Ipv4Repr {
    let src = Ipv4Addr::new(10, 0, 0, 1);
    let dst = Ipv4Addr::new(10, 0, 0, 2);
    let mut repr = Ipv4Repr::new(src, dst, Protocol::UDP, len).expect("fits");
    (repr.identification, repr.dont_fragment, repr.tos) = (77, true, 4);
    repr.with_options(Ipv4Options::new(options).expect("options")).expect("fits")
}

#[test]
fn the_data_of_all_but_the_last_are_as_long_as_the_link_allows() {
    let data = Payload::from(vec![0; 1000]);
    let lengths = |mtu| {
        let fragments = cut_v4(&v4(1000, &[]), &data, mtu);
        fragments.iter().map(Payload::len).collect::<Vec<_>>()
    };
    assert_eq!(lengths(576), [20 + 552, 20 + 448]);
    assert_eq!(lengths(1019), [20 + 992, 20 + 8]);
    assert_eq!(lengths(1020), [1020]);
    let v6 = Ipv6Repr::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, Protocol::UDP, 1000);
    let v6 = v6.expect("fits");
    let lengths = |mtu| {
        let fragments = cut_v6(&v6, 9, &data, mtu);
        fragments.iter().map(Payload::len).collect::<Vec<_>>()
    };
    assert_eq!(lengths(588), [584, 512]);
    assert_eq!(lengths(1047), [48 + 992, 48 + 8]);
    assert_eq!(lengths(1048), [1048]);
    // The last bit of the fourth byte of the fragment header says that more follow.
    let last = |mtu| cut_v6(&v6, 9, &data, mtu).pop().expect("a fragment").to_bytes()[43] & 1;
    assert_eq!([588, 1047, 1048].map(last), [0; 3]);
}

#[test]
fn later_fragments_repeat_only_options_to_be_copied() {
    let header = v4(100, &[7, 4, 4, 0, 0x83, 4, 4, 0]);
    let fragments = cut_v4(&header, &vec![0; 100].into(), 76);
    let headers: Vec<_> = fragments.iter().map(Payload::to_bytes).collect();
    let lengths: Vec<_> = headers
        .iter()
        .map(|bytes| Ipv4Packet::new(bytes).expect("a fragment").header_len())
        .collect();
    assert_eq!(lengths, [28, 24]);
}

proptest! {
    #[test]
    fn fragments_fit_and_hold_the_data(
        bytes in vec(any::<u8>(), 1..3000), head in 0_usize..40, mtu in 68_usize..1600,
        v6: bool, from in 0_usize..100, more: bool,
    ) {
        let split = head.min(bytes.len());
        let whole = bytes::Bytes::from(bytes);
        let data = Payload::new(whole.slice(..split), whole.slice(split..));
        let from = if v6 { 0 } else { from * 8 };
        let more = more && !v6 && whole.len() % 8 == 0;
        let fragments = if v6 {
            let src = Ipv6Addr::LOCALHOST;
            let dst = Ipv6Addr::LOCALHOST;
            let repr = Ipv6Repr::new(src, dst, Protocol::UDP, whole.len()).expect("fits");
            cut_v6(&repr, 9, &data, mtu)
        } else {
            let mut repr = v4(whole.len(), &[1]);
            repr.fragment = ipv4::Fragment::new(from, more).expect("a multiple of 8");
            cut_v4(&repr, &data, mtu)
        };
        let mut at = 0;
        for (index, fragment) in fragments.iter().enumerate() {
            prop_assert!(fragment.len() <= mtu);
            let bytes = fragment.to_bytes();
            let packet = IpPacket::new(&bytes).expect("a packet");
            prop_assert_eq!(packet.total_len(), bytes.len());
            let carried = packet.carried().expect("no odd headers");
            prop_assert_eq!(carried.fragment_offset, from + at);
            prop_assert_eq!(carried.bytes, &whole[at..at + carried.len]);
            let last = index + 1 == fragments.len();
            let says_more = match packet {
                IpPacket::V4(packet) => {
                    prop_assert!(packet.checksum_holds() && !packet.dont_fragment());
                    packet.more_fragments()
                }
                IpPacket::V6(packet) => {
                    packet.upper().expect("a fragment").fragment.expect("a fragment").more()
                }
            };
            prop_assert_eq!(says_more, !last || more);
            at += carried.len;
        }
        prop_assert_eq!(at, whole.len());
    }
}
