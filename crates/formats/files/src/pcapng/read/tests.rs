use proptest::prelude::*;
use windfall_base::Payload;

use super::*;
use crate::pcapng::Capture;

proptest! {
    #[test]
    fn what_was_written_is_read(
        packets in prop::collection::vec(
            (
                any::<u32>(),
                prop::sample::select(vec![Seen::Arrived, Seen::Sent, Seen::Dropped]),
                any::<Option<u64>>(),
                prop::collection::vec(any::<u8>(), 0..90),
                "[a-z: 0-9]{0,40}",
            ),
            0..10,
        ),
    ) {
        let mut capture = Capture::new(Vec::new(), "near", 1_000, "seed 1").unwrap();
        // As it was before dropped packets had a file of their own.
        capture.dropped_interface("near").unwrap();
        for (at, seen, tag, data, comment) in &packets {
            let at = Instant::from_nanos(u64::from(*at));
            let payload = Payload::from(data.clone());
            capture.packet(at, *seen, tag.map(Tag), &payload, comment).unwrap();
        }
        let found = read(&capture.into_inner().into()).unwrap();
        let expected: Vec<_> = packets
            .into_iter()
            .map(|(at, seen, tag, data, comment)| CapturedPacket {
                at: Instant::from_nanos(u64::from(at) + 1_000),
                seen,
                interface: u32::from(seen == Seen::Dropped),
                tag: tag.map(Tag),
                link_type: 101,
                original: data.len() as u32,
                data: data.into(),
                comment,
            })
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_bytes_give_packets_or_an_error(
        junk in prop::collection::vec(any::<u8>(), 0..200),
        cut in any::<prop::sample::Index>(),
        spot in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let junk = Bytes::from(junk);
        let _ = (read(&junk), interfaces(&junk));
        let mut capture = Capture::new(Vec::new(), "near", 0, "").unwrap();
        let payload = Payload::from(vec![1; 30]);
        capture.packet(Instant::START, Seen::Sent, Some(Tag(1)), &payload, "note").unwrap();
        let mut file = capture.into_inner();
        file.truncate(cut.index(file.len() + 1));
        if !file.is_empty() {
            let spot = spot.index(file.len());
            file[spot] = value;
        }
        let _ = read(&file.into());
    }
}

#[test]
fn a_file_of_the_other_byte_order_is_read() {
    let mut file = Vec::new();
    let word = |file: &mut Vec<u8>, word: u32| file.extend(word.to_be_bytes());
    for value in [SECTION_HEADER, 28, BYTE_ORDER_MAGIC, 0x0001_0000, u32::MAX, u32::MAX, 28] {
        word(&mut file, value);
    }
    // Link type and limit, no options: microseconds.
    for value in [INTERFACE_DESCRIPTION, 20, 101 << 16, 0, 20] {
        word(&mut file, value);
    }
    for value in [ENHANCED_PACKET, 36, 0, 0, 5, 4, 4, 0xdead_beef, 36] {
        word(&mut file, value);
    }
    let packets = read(&file.into()).unwrap();
    assert_eq!(packets.len(), 1);
    assert_eq!(packets[0].at, Instant::from_nanos(5_000));
    assert_eq!(&packets[0].data[..], [0xde, 0xad, 0xbe, 0xef]);
}

/// A capture with one interface, of which one block of each kind holds a packet.
fn of_all_kinds(snap_length: u32) -> Vec<u8> {
    let mut file = Capture::new(Vec::new(), "near", 0, "").unwrap().into_inner();
    // Behind the head of the section.
    file.truncate(u32::from_le_bytes(*file[4..].first_chunk().unwrap()) as usize);
    let mut block = |values: &[u32]| file.extend(values.iter().flat_map(|it| it.to_le_bytes()));
    block(&[INTERFACE_DESCRIPTION, 20, 1, snap_length, 20]);
    // Interface and drops, time, captured and original length, six bytes and their padding.
    block(&[OBSOLETE_PACKET, 40, 7 << 16, 0, 5, 6, 60, 0x0403_0201, 0x0605, 40]);
    block(&[SIMPLE_PACKET, 24, 60, 0x0403_0201, 0x0605, 24]);
    block(&[ENHANCED_PACKET, 40, 0, 0, 9, 6, 60, 0x0403_0201, 0x0605, 40]);
    file
}

#[test]
fn packets_of_every_kind_of_block_are_read_with_their_length_on_the_wire() {
    let packets = read(&of_all_kinds(6).into()).unwrap();
    let found: Vec<_> = packets.iter().map(|it| (it.at.as_micros(), it.original)).collect();
    assert_eq!(found, [(5, 60), (5, 60), (9, 60)]);
    for packet in &packets {
        assert_eq!(&packet.data[..], [1, 2, 3, 4, 5, 6]);
        assert_eq!((packet.link_type, packet.interface), (1, 0));
    }
    // A simple packet says by its length alone what it holds.
    let error = read(&of_all_kinds(0).into()).unwrap_err();
    assert!(matches!(error, ReadError::Packet { .. }), "{error}");
}

#[test]
fn errors_name_the_place() {
    let error = read(&Bytes::from_static(b"not a capture")).unwrap_err().to_string();
    assert!(error.starts_with("this is no pcapng or pcap file"), "{error}");
    let mut file = Capture::new(Vec::new(), "near", 0, "").unwrap().into_inner();
    let size = file.len();
    file.extend([6, 0, 0, 0, 200, 0, 0, 0]);
    let error = read(&file.into()).unwrap_err();
    assert_eq!(error, ReadError::Block { at: size, length: 200, size: size + 8 });
}

#[test]
fn clocks_of_any_resolution_give_nanoseconds() {
    assert_eq!(nanos(5, None), 5_000);
    assert_eq!(nanos(5, Some(9)), 5);
    assert_eq!(nanos(5_000, Some(12)), 5);
    assert_eq!(nanos(1 << 20, Some(0x80 | 20)), 1_000_000_000);
    assert_eq!(nanos(u64::MAX, Some(0)), u64::MAX);
    assert_eq!(nanos(1, Some(0xff)), 0);
}

#[test]
fn no_packet_is_shorter_than_what_was_captured() {
    let mut capture = Capture::new(Vec::new(), "near", 0, "").unwrap();
    capture.packet(Instant::START, Seen::Sent, None, &Payload::from(vec![7; 30]), "").unwrap();
    let mut file = capture.into_inner();
    let data = file.windows(30).position(|it| it == [7; 30]).expect("the packet");
    file[data - 4..data].fill(0);
    let packets = read(&file.into()).expect("a capture");
    assert_eq!(packets[0].original, 30);
}

#[test]
fn interfaces_are_counted_whether_they_have_packets_or_not() {
    let mut capture = Capture::new(Vec::new(), "near", 0, "").unwrap();
    capture.dropped_interface("near").unwrap();
    let file = capture.into_inner();
    assert_eq!(interfaces(&file.clone().into()), 2);
    assert_eq!(interfaces(&[&file[..], &file].concat().into()), 2);
    assert_eq!(interfaces(&Bytes::new()), 0);
}
