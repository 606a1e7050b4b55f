use core::net::IpAddr;

use proptest::prelude::*;
use windfall_base::seq::Seq32;

use super::*;
use crate::tcp::{Notification, TcpFlags, TcpOptions, TcpRepr};

fn addresses() -> Addresses {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    Addresses::new(address("10.0.0.1"), address("10.0.0.2")).unwrap()
}

fn repr() -> TcpRepr {
    TcpRepr {
        src_port: 40000,
        dst_port: 5001,
        seq: Seq32(0x0102_0304),
        ack: Seq32(0x0a0b_0c0d),
        flags: TcpFlags::ACK,
        window: 8192,
        urgent: 0,
        options: TcpOptions { detection: Some(0), ..TcpOptions::default() },
    }
}

fn sealed(packing: Packing, ecn: Ecn) -> Vec<u8> {
    let kinds = CorruptionKinds::default();
    let mut header = repr().emit(&kinds).unwrap().to_vec();
    assert!(seal(&kinds, packing, ecn, &addresses(), &mut header));
    header
}

fn verdict(packing: Packing, ecn: Ecn, header: &[u8]) -> Option<bool> {
    let packet = TcpPacket::new(header).unwrap();
    holds(&CorruptionKinds::default(), packing, ecn, &addresses(), &packet)
}

#[test]
fn the_crc_is_castagnolis() {
    //= S4.1
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

#[test]
fn both_packings_give_the_reference_values() {
    //= S4.2
    let packed = sealed(Packing::Packed, Ecn::Capable0);
    assert_eq!(&packed[20..], &[1, 1, 27, 6, 0x48, 0xed, 0x32, 0xa8]);
    let aligned = sealed(Packing::Aligned, Ecn::Capable0);
    assert_eq!(&aligned[20..], &[1, 1, 27, 6, 0x61, 0x6a, 0x90, 0x89]);
}

#[test]
fn a_mark_set_by_a_router_does_not_break_the_crc() {
    for packing in [Packing::Packed, Packing::Aligned] {
        let header = sealed(packing, Ecn::Capable0);
        assert_eq!(verdict(packing, Ecn::Capable0, &header), Some(true));
        assert_eq!(verdict(packing, Ecn::Congested, &header), Some(true));
        assert_eq!(verdict(packing, Ecn::Capable1, &header), Some(false));
        assert_eq!(verdict(packing, Ecn::NotCapable, &header), Some(false));
        let plain = sealed(packing, Ecn::NotCapable);
        assert_eq!(verdict(packing, Ecn::Congested, &plain), Some(false));
    }
}

#[test]
fn covered_bits_break_the_crc_and_the_others_do_not() {
    //= S4.2
    // Ports, numbers, six of the flags and the options; not offset, PSH, URG, window, checksum,
    // urgent pointer. A flipped offset or option length may hide the option altogether.
    for packing in [Packing::Packed, Packing::Aligned] {
        let header = sealed(packing, Ecn::Capable0);
        for bit in 0..header.len() * 8 {
            let mut damaged = header.clone();
            damaged[bit / 8] ^= 0x80 >> (bit % 8);
            let covered = match bit / 8 {
                0..12 | 20.. => true,
                12 => continue,
                FLAGS_AT => !matches!(bit % 8, 2 | 4),
                _ => false,
            };
            let found = verdict(packing, Ecn::Capable0, &damaged);
            assert_eq!(found == Some(true), !covered, "bit {bit}: {found:?}");
        }
    }
}

#[test]
fn a_wrong_data_offset_fails_the_crc() {
    // It is not covered, but moves the end of the options, which are.
    for packing in [Packing::Packed, Packing::Aligned] {
        let mut segment = sealed(packing, Ecn::Capable0);
        let option = segment[20..].to_vec();
        (0..5).for_each(|_| segment.extend_from_slice(&option));
        for bit in 0..4 {
            let mut damaged = segment.clone();
            damaged[12] ^= 0x80 >> bit;
            if TcpPacket::new(&damaged).is_ok() {
                let found = verdict(packing, Ecn::Capable0, &damaged);
                assert_ne!(found, Some(true), "bit {bit}");
            }
        }
        assert_eq!(verdict(packing, Ecn::Capable0, &segment), Some(true));
    }
}

#[test]
fn the_addresses_are_covered() {
    let header = sealed(Packing::Packed, Ecn::Capable0);
    let packet = TcpPacket::new(&header).unwrap();
    let other = addresses().reversed();
    let kinds = CorruptionKinds::default();
    assert_eq!(holds(&kinds, Packing::Packed, Ecn::Capable0, &other, &packet), Some(false));
}

#[test]
fn both_options_take_the_room_that_they_say() {
    //= S4.6
    for kinds in [CorruptionKinds::default(), CorruptionKinds::EXPERIMENTAL] {
        let with = |options: TcpOptions| options.emit(&kinds).unwrap().len();
        let detection = TcpOptions { detection: Some(1), ..TcpOptions::default() };
        assert_eq!(with(detection), kinds.detection_room());
        for (form, extended) in
            [(Notification::Plain, false), (Notification::Extended(Seq32(7)), true)]
        {
            let options = TcpOptions { notification: Some(form), ..TcpOptions::default() };
            assert_eq!(with(options), kinds.notification_room(extended));
        }
    }
}

#[test]
fn options_of_the_same_kind_and_another_length_stay_unknown() {
    let user_timeout = [28, 4, 0, 100];
    let options = TcpOptions::parse(&user_timeout, &CorruptionKinds::default()).unwrap();
    assert_eq!(options.notification, None);
    assert_eq!(&options.unknown[..], &user_timeout);
}

proptest! {
    #[test]
    fn a_sealed_header_holds(
        seq in any::<u32>(), ack in any::<u32>(), flags in 0..512_u16, ecn in 0_u8..4,
        aligned in any::<bool>(), v6 in any::<bool>()
    ) {
        let packing = if aligned { Packing::Aligned } else { Packing::Packed };
        let addresses = if v6 {
            let address = |text: &str| text.parse::<IpAddr>().unwrap();
            Addresses::new(address("fd00::1"), address("fd00::2")).unwrap()
        } else {
            addresses()
        };
        let repr = TcpRepr { seq: Seq32(seq), ack: Seq32(ack), flags: TcpFlags(flags), ..repr() };
        let kinds = CorruptionKinds::EXPERIMENTAL;
        let mut header = repr.emit(&kinds).unwrap();
        prop_assert!(seal(&kinds, packing, Ecn::from_bits(ecn), &addresses, &mut header));
        let packet = TcpPacket::new(&header).unwrap();
        let verdict = holds(&kinds, packing, Ecn::from_bits(ecn), &addresses, &packet);
        prop_assert_eq!(verdict, Some(true));
    }
}
