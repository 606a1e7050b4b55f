use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use windfall_base::Payload;

use super::*;
use crate::checksum::Sum;
use crate::ip::IpPacket;
use crate::{Addresses, Protocol};

const SIZE: usize = 100;

/// Returns a large TCP segment as a kernel hands it over, and its description.
fn segment(v6: bool, data: &[u8], flags: u8) -> (Description, Vec<u8>) {
    let tcp_len = (32 + data.len()) as u16;
    let mut packet = if v6 {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(tcp_len.to_be_bytes());
        header.extend([6, 64]);
        header.extend([0xfd; 16]);
        header.extend([0xfe; 16]);
        header
    } else {
        let mut header = vec![0x45, 0];
        header.extend((20 + tcp_len).to_be_bytes());
        header.extend([0xff, 0xfe, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        header
    };
    let start = packet.len();
    packet.extend([0x12, 0x34, 0, 80]);
    packet.extend(0xffff_ff80_u32.to_be_bytes());
    packet.extend([0, 0, 0, 9, 0x80, flags, 1, 2, 0, 0, 0, 0]);
    packet.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    packet.extend(data);
    let addresses = IpPacket::new(&packet).expect("a header").addresses();
    let open = !addresses.pseudo_header(Protocol::TCP, tcp_len.into()).checksum();
    packet[start + 16..start + 18].copy_from_slice(&open.to_be_bytes());
    if !v6 {
        let sum = crate::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let kind = if v6 { OffloadKind::TcpV6 } else { OffloadKind::TcpV4 };
    let description = Description {
        checksum: Some(OpenChecksum { start: start as u16, offset: 16 }),
        cutting: Some(Cutting { kind, size: SIZE as u16 }),
    };
    (description, packet)
}

fn cut_all(description: &Description, packet: &[u8]) -> Vec<Payload> {
    let mut packets = Vec::new();
    cut(description, BytesMut::from(packet), &mut packets).expect("it can be cut");
    packets
}

fn addresses(packet: &[u8]) -> Addresses {
    IpPacket::new(packet).expect("an IP packet").addresses()
}

/// Returns whether the packet is whole: lengths and both checksums.
fn is_valid_tcp(packet: &[u8]) -> bool {
    let view = IpPacket::new(packet).expect("an IP packet");
    let start = if packet[0] >> 4 == 4 { 20 } else { 40 };
    let header_holds = match view {
        IpPacket::V4(v4) => v4.checksum_holds(),
        IpPacket::V6(_) => true,
    };
    let len = (packet.len() - start) as u32;
    let mut sum = addresses(packet).pseudo_header(Protocol::TCP, len);
    sum.add(&packet[start..]);
    header_holds && view.total_len() == packet.len() && sum.holds()
}

fn merge_all(packets: impl IntoIterator<Item = (Payload, bool)>) -> Vec<Merged> {
    let mut merger = Merger::new();
    let mut out: Vec<_> =
        packets.into_iter().filter_map(|(packet, intact)| merger.push(packet, intact)).collect();
    out.extend(merger.flush());
    out
}

#[test]
fn a_segment_becomes_valid_packets_in_order() {
    for v6 in [false, true] {
        let data: Vec<u8> = (0..250).map(|i| i as u8).collect();
        let (description, packet) = segment(v6, &data, 0x99);
        let packets: Vec<_> =
            cut_all(&description, &packet).iter().map(Payload::to_bytes).collect();
        assert_eq!(packets.len(), 3);
        let start = if v6 { 40 } else { 20 };
        let mut joined = Vec::new();
        for (i, packet) in packets.iter().enumerate() {
            assert!(is_valid_tcp(packet), "packet {i}");
            let sequence = u32::from_be_bytes(packet[start + 4..start + 8].try_into().expect("4"));
            assert_eq!(sequence, 0xffff_ff80_u32.wrapping_add(100 * i as u32));
            // FIN and PSH on the last alone, CWR on the first alone.
            assert_eq!(packet[start + 13], [0x90, 0x10, 0x19][i]);
            if !v6 {
                let number = u16::from_be_bytes([packet[4], packet[5]]);
                assert_eq!(number, 0xfffe_u16.wrapping_add(i as u16));
            }
            joined.extend_from_slice(&packet[start + 32..]);
        }
        assert_eq!(joined, data);
    }
}

#[test]
fn the_data_of_a_cut_segment_are_not_copied() {
    let (description, packet) = segment(false, &[7; 250], 0x10);
    let buffer = BytesMut::from(&packet[..]);
    let range = buffer.as_ptr_range();
    let mut packets = Vec::new();
    cut(&description, buffer, &mut packets).expect("it can be cut");
    for packet in packets {
        let (_, body) = packet.into_parts();
        assert!(range.contains(&body.as_ptr()));
    }
}

#[test]
fn what_was_cut_merges_into_what_it_was() {
    for v6 in [false, true] {
        let (description, packet) = segment(v6, &[5; 950], 0x18);
        let merged =
            merge_all(cut_all(&description, &packet).into_iter().map(|packet| (packet, true)));
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].slices.concat(), packet);
        assert_eq!(merged[0].description, description);
    }
}

#[test]
fn damaged_packets_are_neither_merged_nor_called_valid() {
    let (description, packet) = segment(false, &[5; 500], 0x10);
    let packets = cut_all(&description, &packet);
    // The link says so, though the checksum holds.
    let told = packets.iter().cloned().enumerate().map(|(i, packet)| (packet, i != 2));
    let merged = merge_all(told);
    assert_eq!(merged.len(), 3);
    assert_eq!(merged[1].description, Description::default());
    assert_eq!(merged[1].slices.concat(), packets[2].to_bytes());
    // Nothing declares it open, and the checksum does not hold.
    let silent = packets.iter().cloned().enumerate().map(|(i, packet)| {
        let mut bytes = packet.to_bytes().to_vec();
        bytes[70] ^= u8::from(i == 2);
        (Payload::from(bytes), true)
    });
    let merged = merge_all(silent);
    assert_eq!(merged.len(), 3);
    assert_eq!(merged[1].description, Description::default());
    assert!(!is_valid_tcp(&merged[1].slices.concat()));
}

#[test]
fn gaps_other_flows_and_other_headers_are_not_bridged() {
    let (description, packet) = segment(false, &[5; 600], 0x10);
    let mut packets = cut_all(&description, &packet);
    packets.remove(3);
    let merged = merge_all(packets.into_iter().map(|packet| (packet, true)));
    assert_eq!(merged.iter().map(|m| m.slices.concat().len()).collect::<Vec<_>>(), [352, 252]);
    for at in [1, 8, 15, 20, 29, 34, 51] {
        let mut other = packet.clone();
        other[at] ^= 1;
        other[10..12].copy_from_slice(&[0, 0]);
        let sum = crate::checksum::checksum(&other[..20]);
        other[10..12].copy_from_slice(&sum.to_be_bytes());
        let len = (other.len() - 20) as u32;
        let open = !addresses(&other).pseudo_header(Protocol::TCP, len).checksum();
        other[36..38].copy_from_slice(&open.to_be_bytes());
        let first = cut_all(&description, &packet).remove(0);
        let second = cut_all(&description, &other).remove(1);
        assert!(is_valid_tcp(&second.to_bytes()), "byte {at}");
        assert_eq!(merge_all([(first, true), (second, true)]).len(), 2, "byte {at}");
    }
}

/// Returns the packet with its length in its header and checksums that hold, whatever was changed
/// in it.
fn sealed(mut packet: Vec<u8>) -> Vec<u8> {
    let len = packet.len() as u16;
    let start = if packet[0] >> 4 == 4 { 20 } else { 40 };
    if start == 20 {
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet[10..12].fill(0);
        let sum = crate::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&(len - 40).to_be_bytes());
    }
    packet[start + 16..start + 18].fill(0);
    let mut sum = addresses(&packet).pseudo_header(Protocol::TCP, u32::from(len) - start as u32);
    sum.add(&packet[start..]);
    let check = sum.checksum();
    packet[start + 16..start + 18].copy_from_slice(&check.to_be_bytes());
    packet
}

/// Returns the first three packets of a large segment, changed by `change`, all with valid
/// checksums: how long they are after merging.
fn merged(v6: bool, change: impl Fn(&mut [Vec<u8>; 3])) -> Vec<usize> {
    let (description, packet) = segment(v6, &[5; 600], 0x10);
    let packets = cut_all(&description, &packet);
    let mut packets: [Vec<u8>; 3] =
        core::array::from_fn(|index| packets[index].to_bytes().to_vec());
    change(&mut packets);
    let sealed = packets.map(|packet| (Payload::from(sealed(packet)), true));
    merge_all(sealed).iter().map(|merged| merged.slices.concat().len()).collect()
}

#[test]
fn one_difference_is_enough_to_part_two_packets() {
    for (v6, start) in [(false, 20), (true, 40)] {
        let head = start + 32;
        let whole = start + 32 + 300;
        assert_eq!(merged(v6, |_| {}), [whole], "no difference");
        // The second differs from both its neighbours, and they from each other by what is between.
        let alone = [head + 100; 3];
        // Ports, acknowledgement, window, urgent pointer, options; addresses; class and hop limit.
        let tcp = [0, 3, 8, 11, 14, 15, 18, 19, 20, 31].map(|at| start + at);
        let network: &[usize] = if v6 { &[1, 2, 3, 7, 8, 39] } else { &[1, 6, 8, 12, 19] };
        for at in tcp.iter().chain(network) {
            let lens = merged(v6, |packets| packets[1][*at] ^= 2);
            assert_eq!(lens, alone, "byte {at}");
        }
        // Other flags, a sequence number that is not the next, and a header of another length.
        for flag in [0x01, 0x02, 0x04, 0x20] {
            assert_eq!(merged(v6, |packets| packets[1][start + 13] |= flag), alone, "{flag:#x}");
        }
        assert_eq!(merged(v6, |packets| packets[1][start + 7] ^= 1), alone);
        let shorter = merged(v6, |packets| {
            packets[1][start + 12] = 0x70;
            packets[1].drain(start + 28..start + 32);
        });
        assert_eq!(shorter, [head + 100, head + 96, head + 100]);
        // One without data, and one whose header claims to be shorter than any is.
        let empty = merged(v6, |packets| packets[1].truncate(head));
        assert_eq!(empty, [head + 100, head, head + 100]);
        assert_eq!(merged(v6, |packets| packets[1][start + 12] = 0x40), alone);
    }
    // Numbers of IPv4 that do not count on.
    assert_eq!(merged(false, |packets| packets[1][5] ^= 4), [152; 3]);
}

/// Sets the ECN field of a packet, the bits of ACE in its TCP header (AE, CWR, ECE), or both.
fn set_ecn(packet: &mut [u8], field: u8, ace: u8) {
    let v6 = packet[0] >> 4 == 6;
    packet[1] |= if v6 { field << 4 } else { field };
    let start = if v6 { 40 } else { 20 };
    packet[start + 12] |= ace >> 2;
    packet[start + 13] |= (ace & 3) << 6;
}

#[test]
fn what_ecn_counts_by_the_packet_stays_whole() {
    const CAPABLE: u8 = 2;
    const MARKED: u8 = 3;
    for v6 in [false, true] {
        let head = if v6 { 72 } else { 52 };
        let all = |field, ace| {
            merged(v6, move |packets| packets.iter_mut().for_each(|it| set_ecn(it, field, ace)))
        };
        // Each of three marked packets is one for the receiver's count.
        assert_eq!(all(CAPABLE, 0), [head + 300]);
        assert_eq!(all(MARKED, 0), [head + 100; 3]);
        // An equal count in all: 0, 1, 4 and 5 have no CWR, which a cut would clear.
        for ace in 0..8 {
            let whole = ace & 2 == 0;
            let expected = if whole { vec![head + 300] } else { vec![head + 100; 3] };
            assert_eq!(all(CAPABLE, ace), expected, "ACE {ace:03b}");
        }
        // One mark, or another count, parts its packet from its neighbours.
        for (field, ace) in [(MARKED, 0b100), (CAPABLE, 0b101)] {
            let lens = merged(v6, |packets| {
                packets.iter_mut().for_each(|it| set_ecn(it, CAPABLE, 0b100));
                set_ecn(&mut packets[1], field, ace);
            });
            assert_eq!(lens, [head + 100; 3], "{field:02b} {ace:03b}");
        }
    }
}

#[test]
fn the_count_of_accurate_ecn_survives_merging_and_cutting() {
    for v6 in [false, true] {
        let start = if v6 { 40 } else { 20 };
        let (description, packet) = segment(v6, &[5; 600], 0x10);
        for ace in 0..8 {
            let packets = cut_all(&description, &packet).into_iter().map(|packet| {
                let mut packet = packet.to_bytes().to_vec();
                set_ecn(&mut packet, 2, ace);
                (Payload::from(sealed(packet)), true)
            });
            let again = merge_all(packets).into_iter().flat_map(|merged| {
                let bytes = merged.slices.concat();
                if merged.packets == 1 {
                    vec![Payload::from(bytes)]
                } else {
                    cut_all(&merged.description, &bytes)
                }
            });
            let again: Vec<_> = again.map(|packet| packet.to_bytes()).collect();
            assert_eq!(again.len(), 6);
            for packet in again {
                assert!(is_valid_tcp(&packet));
                let found = (packet[start + 12] & 1) << 2 | packet[start + 13] >> 6;
                assert_eq!(found, ace, "of ACE {ace:03b}");
            }
        }
    }
}

#[test]
fn nothing_follows_a_packet_that_pushes_or_is_shorter_and_none_is_longer_than_the_first() {
    for (v6, start) in [(false, 20), (true, 40)] {
        let head = start + 32;
        for (place, expected) in [(0, [100, 200].as_slice()), (1, &[200, 100]), (2, &[300])] {
            let lens = merged(v6, |packets| packets[place][start + 13] |= 8);
            let expected: Vec<usize> = expected.iter().map(|data| head + data).collect();
            assert_eq!(lens, expected, "pushed at {place}");
        }
        let next = |packet: &mut Vec<u8>, by: u8| packet[start + 7] -= by;
        // The second has 60 bytes: the third does not follow it.
        let lens = merged(v6, |packets| {
            packets[1].truncate(head + 60);
            next(&mut packets[2], 40);
        });
        assert_eq!(lens, [head + 160, head + 100]);
        // The first has 60: the others are longer.
        let lens = merged(v6, |packets| {
            packets[0].truncate(head + 60);
            next(&mut packets[1], 40);
            next(&mut packets[2], 40);
        });
        assert_eq!(lens[0], head + 60);
    }
}

#[test]
fn what_is_longer_than_its_header_says_is_left_alone() {
    let (description, packet) = segment(false, &[5; 300], 0x10);
    let mut packets = cut_all(&description, &packet);
    // A frame that was padded, or whose end belongs to something else.
    packets[1] = [&packets[1].to_bytes()[..], &[0; 4]].concat().into();
    let merged = merge_all(packets.into_iter().map(|packet| (packet, true)));
    assert_eq!(merged.iter().map(|m| m.slices.concat().len()).collect::<Vec<_>>(), [152, 156, 152]);
}

#[test]
fn udp_segments_become_datagrams() {
    let mut packet = vec![0x45, 0, 0, 178, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([0x30, 0x39, 0, 53, 0, 0, 0, 0]);
    packet.extend([9; 150]);
    let description = Description {
        checksum: Some(OpenChecksum { start: 20, offset: 6 }),
        cutting: Some(Cutting { kind: OffloadKind::Udp, size: 100 }),
    };
    let packets: Vec<_> = cut_all(&description, &packet).iter().map(Payload::to_bytes).collect();
    assert_eq!(packets.iter().map(Bytes::len).collect::<Vec<_>>(), [128, 78]);
    for packet in packets {
        let datagram = crate::udp::UdpPacket::new(&packet[20..]).expect("a datagram");
        assert!(datagram.checksum_holds(&addresses(&packet)));
        assert_eq!(datagram.missing(), 0);
    }
}

#[test]
fn open_checksums_are_completed_in_place() {
    let (mut description, packet) = segment(true, &[1, 2, 3], 0x10);
    description.cutting = None;
    let packets = cut_all(&description, &packet);
    assert!(is_valid_tcp(&packets[0].to_bytes()));
    // A sum of zero would say "no checksum" to UDP.
    let mut sum = Sum::new();
    let zero = [0xff, 0xff];
    sum.add(&zero);
    let description =
        Description { checksum: Some(OpenChecksum { start: 0, offset: 2 }), cutting: None };
    let packets = cut_all(&description, &[0xff, 0xff, 0, 0]);
    assert_eq!(packets[0].to_bytes()[..], [0xff, 0xff, 0xff, 0xff]);
}

#[test]
fn descriptions_that_make_no_sense_are_refused() {
    let (description, packet) = segment(false, &[1; 300], 0x10);
    let refuse = |description: Description, packet: &[u8]| {
        let mut packets = Vec::new();
        let error = cut(&description, BytesMut::from(packet), &mut packets).expect_err("refused");
        assert!(packets.is_empty());
        error
    };
    let open = |start, offset| Some(OpenChecksum { start, offset });
    let cutting = |kind, size| Some(Cutting { kind, size });
    let with = |checksum, cutting| Description { checksum, cutting };
    assert_eq!(
        refuse(with(open(300, 100), None), &packet),
        SegmentError::Checksum { at: 400, len: 352 }
    );
    assert_eq!(refuse(with(None, description.cutting), &packet), SegmentError::Cutting);
    assert_eq!(
        refuse(with(open(20, 16), cutting(OffloadKind::TcpV4, 0)), &packet),
        SegmentError::Cutting
    );
    assert_eq!(
        refuse(with(open(20, 16), cutting(OffloadKind::TcpV6, 9)), &packet),
        SegmentError::Headers
    );
    assert_eq!(refuse(description, &packet[..30]), SegmentError::Headers);
    assert_eq!(Description::parse(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0]), Err(SegmentError::Kind(9)));
}

proptest! {
    #[test]
    fn descriptions_survive_their_own_encoding(
        open in proptest::option::of((any::<u16>(), any::<u16>())),
        cutting in proptest::option::of((0..3, any::<u16>())),
        headers: u16,
    ) {
        let description = Description {
            checksum: open.map(|(start, offset)| OpenChecksum { start, offset }),
            cutting: cutting.map(|(kind, size)| {
                let kinds = [OffloadKind::TcpV4, OffloadKind::TcpV6, OffloadKind::Udp];
                Cutting { kind: kinds[kind as usize], size }
            }),
        };
        prop_assert_eq!(Description::parse(&description.emit(headers)), Ok(description));
    }

    #[test]
    fn any_bytes_from_a_device_are_cut_or_refused(
        header: [u8; 10],
        kind in 0_u8..6,
        mut packet in proptest::collection::vec(any::<u8>(), 0..300),
        version in prop_oneof![Just(0x45_u8), Just(0x60), any::<u8>()],
        start in 0_u16..64,
    ) {
        if let Some(first) = packet.first_mut() {
            *first = version;
        }
        let mut header = header;
        header[1] = kind;
        header[6..8].copy_from_slice(&start.to_le_bytes());
        if let Ok(description) = Description::parse(&header) {
            let mut packets = Vec::new();
            let _ = cut(&description, BytesMut::from(&packet[..]), &mut packets);
            merge_all(packets.into_iter().map(|packet| (packet, true)));
        }
        merge_all([(packet.clone().into(), true), (packet.into(), true)]);
    }

    #[test]
    fn cutting_and_merging_keep_the_data(
        v6: bool,
        data in proptest::collection::vec(any::<u8>(), 1..2000),
        split in 1_usize..60,
    ) {
        let (description, packet) = segment(v6, &data, 0x10);
        let packets = cut_all(&description, &packet);
        let start = if v6 { 72 } else { 52 };
        // Halves of packets in either slice, as a link may leave them.
        let moved = packets.iter().map(|packet| {
            let bytes = packet.to_bytes();
            let at = (start + split).min(bytes.len());
            (Payload::new(bytes.slice(..at), bytes.slice(at..)), true)
        });
        let merged = merge_all(moved);
        let data_again: Vec<u8> =
            merged.iter().flat_map(|m| m.slices.concat()[start..].to_vec()).collect();
        prop_assert_eq!(data_again, data);
    }
}
