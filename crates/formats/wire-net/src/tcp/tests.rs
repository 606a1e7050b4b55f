use core::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

pub(super) fn addresses() -> Addresses {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    Addresses::new(address("10.0.0.1"), address("10.0.0.2")).unwrap()
}

/// A SYN of a Linux kernel, with the checksum that it had.
const SYN: [u8; 40] = [
    0xb7, 0x82, 0x14, 0x51, 0x8a, 0x2c, 0x9b, 0x1e, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0, 0, 0, 0,
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 1, 3, 3, 7,
];

#[test]
fn a_kernels_syn_is_read_and_written_byte_by_byte() {
    let packet = TcpPacket::new(&SYN).unwrap();
    let kinds = CorruptionKinds::default();
    let repr = TcpRepr::parse(&packet, &kinds).unwrap();
    assert_eq!((repr.src_port, repr.dst_port), (46978, 5201));
    assert_eq!(repr.flags, TcpFlags::SYN);
    assert_eq!(repr.options.mss, Some(1460));
    assert_eq!(repr.options.window_scale, Some(7));
    assert!(repr.options.sack_permitted);
    assert_eq!(repr.options.timestamps, Some(Timestamps { value: 0x1234_5678, echo: 0 }));
    assert_eq!(&repr.emit(&kinds).unwrap()[..], &SYN[..]);
}

#[test]
fn a_data_offset_outside_the_bytes_is_refused() {
    let mut bytes = SYN;
    bytes[12] = 0xf0;
    assert!(TcpPacket::new(&bytes).is_err());
    bytes[12] = 0x40;
    assert!(TcpPacket::new(&bytes).is_err());
    assert!(TcpPacket::new(&bytes[..19]).is_err());
}

#[test]
fn the_timestamps_take_twelve_bytes() {
    //= S2.2
    let kinds = CorruptionKinds::default();
    let mut repr = TcpRepr { flags: TcpFlags::ACK, ..TcpRepr::default() };
    assert_eq!(repr.emit(&kinds).unwrap().len(), 20);
    repr.options.timestamps = Some(Timestamps::default());
    assert_eq!(repr.emit(&kinds).unwrap().len(), 32);
}

#[test]
fn more_options_than_fit_are_refused() {
    let block = SackBlock { left: Seq32(1), right: Seq32(2) };
    let mut options =
        TcpOptions { timestamps: Some(Timestamps::default()), ..TcpOptions::default() };
    options.sack.extend([block; 4]);
    assert!(options.emit(&CorruptionKinds::default()).is_err());
    options.sack.pop();
    assert_eq!(options.emit(&CorruptionKinds::default()).unwrap().len(), 40);
}

fn any_options() -> impl Strategy<Value = TcpOptions> {
    let block = (any::<u32>(), any::<u32>())
        .prop_map(|(left, right)| SackBlock { left: Seq32(left), right: Seq32(right) });
    let notification = prop_oneof![
        Just(Notification::Plain),
        any::<u32>().prop_map(|seq| Notification::Extended(Seq32(seq)))
    ];
    (
        proptest::option::of(any::<u16>()),
        proptest::option::of(any::<u8>()),
        any::<bool>(),
        proptest::option::of((any::<u32>(), any::<u32>())),
        vec(block, 0..=2),
        proptest::option::of(any::<u32>()),
        proptest::option::of(notification),
        prop_oneof![Just(&[][..]), Just(&[99, 2][..]), Just(&[28, 4, 1, 2][..])],
    )
        .prop_map(|(mss, scale, sackp, stamps, sack, detection, notification, unknown)| {
            TcpOptions {
                mss,
                window_scale: scale,
                sack_permitted: sackp,
                timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                sack: sack.into_iter().collect(),
                detection,
                notification,
                data_check: None,
                fast_open: None,
                unknown: unknown.iter().copied().collect(),
            }
        })
}

fn any_repr() -> impl Strategy<Value = TcpRepr> {
    let fields = (any::<[u16; 4]>(), any::<[u32; 2]>(), 0..512_u16);
    (fields, any_options()).prop_map(|(fields, options)| {
        let ([src_port, dst_port, window, urgent], [seq, ack], flags) = fields;
        let seq = Seq32(seq);
        let ack = Seq32(ack);
        let flags = TcpFlags(flags);
        TcpRepr { src_port, dst_port, seq, ack, flags, window, urgent, options }
    })
}

fn any_kinds() -> impl Strategy<Value = CorruptionKinds> {
    prop_oneof![Just(CorruptionKinds::default()), Just(CorruptionKinds::EXPERIMENTAL)]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        repr in any_repr(),
        kinds in any_kinds(),
        data in vec(any::<u8>(), 0..50)
    ) {
        let Ok(mut bytes) = repr.emit(&kinds).map(|header| header.to_vec()) else {
            return Ok(());
        };
        fill_checksum(&addresses(), &mut bytes, &data);
        prop_assert!(checksum_holds(&addresses(), [&bytes, &data]));
        bytes.extend(&data);
        let packet = TcpPacket::new(&bytes).unwrap();
        prop_assert_eq!(packet.payload(), &data);
        prop_assert_eq!(&TcpRepr::parse(&packet, &kinds).unwrap(), &repr);
        prop_assert_eq!(&TcpRepr::parse_lenient(&packet, &kinds), &repr);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..100), kinds in any_kinds()) {
        if let Ok(packet) = TcpPacket::new(&bytes) {
            let lenient = TcpRepr::parse_lenient(&packet, &kinds);
            if let Ok(strict) = TcpRepr::parse(&packet, &kinds) {
                prop_assert_eq!(strict, lenient.clone());
            }
            let _ = lenient.emit(&kinds);
            let packing = Packing::Packed;
            let ecn = crate::Ecn::Congested;
            let _ = corruption::holds(&kinds, packing, ecn, &addresses(), &packet);
            let _ = (packet.urgent(), packet.checksum(), packet.payload());
        }
    }
}

#[test]
fn sets_of_flags_are_asked_joined_and_taken_apart() {
    let both = TcpFlags::SYN | TcpFlags::ACK;
    assert!(both.has(TcpFlags::SYN) && both.has(TcpFlags::ACK) && both.has(both));
    assert!(!both.has(TcpFlags::FIN) && !both.has(TcpFlags::SYN | TcpFlags::FIN));
    assert!(both.has(TcpFlags::NONE) && !both.has_any(TcpFlags::NONE));
    assert!(
        both.has_any(TcpFlags::SYN | TcpFlags::FIN) && !both.has_any(TcpFlags::FIN | TcpFlags::RST)
    );
    assert_eq!(both - TcpFlags::ACK, TcpFlags::SYN);
    assert_eq!(both - TcpFlags::FIN, both);
    let mut flags = TcpFlags::PSH;
    flags |= both;
    assert_eq!(flags.0, 0x1a);
    assert_eq!((flags.to_string(), TcpFlags::NONE.to_string()), ("SP.".into(), "none".into()));
    assert_eq!(TcpFlags(0x1ff).to_string(), "SFRPUEWA.");
}

#[test]
fn a_damaged_segment_fails_its_checksum() {
    let packet = TcpPacket::new(&SYN).unwrap();
    assert_eq!(packet.checksum(), 0);
    let mut segment = SYN;
    let (header, data) = segment.split_at_mut(20);
    put_checksum_of(header, data);
    assert!(checksum_holds(&addresses(), [&segment[..7], &segment[7..]]));
    let stored = u16::from_be_bytes([segment[16], segment[17]]);
    assert_eq!(TcpPacket::new(&segment).unwrap().checksum(), stored);
    for bit in 0..segment.len() * 8 {
        let mut damaged = segment;
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        assert!(!checksum_holds(&addresses(), [&damaged[..7], &damaged[7..]]), "bit {bit}");
    }
}

/// Writes the checksum of a segment, computed as RFC 9293 says, into its header.
fn put_checksum_of(header: &mut [u8], data: &[u8]) {
    let words = [10_u32 << 8, 1, 10 << 8, 2, 6, (header.len() + data.len()) as u32];
    let bytes = header.chunks(2).chain(data.chunks(2));
    let all = bytes.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.into_iter().chain(all).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let check = !(((folded & 0xffff) + (folded >> 16)) as u16);
    header[16..18].copy_from_slice(&check.to_be_bytes());
}
