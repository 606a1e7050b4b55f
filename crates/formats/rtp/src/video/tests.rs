use proptest::prelude::*;

use super::*;

/// A picture of H.263+ with `slices`, each of bytes that hold no start code.
fn h263_picture(number: u8, slices: &[Vec<u8>]) -> Vec<u8> {
    let head = [0x00, 0x00, 0x80, number << 2 | 2, 0x1c, 0xa8, 0x21, 0x04, 0x97, 0xf8, 9];
    let mut picture = head.to_vec();
    for (slice, data) in slices.iter().enumerate() {
        picture.extend([0, 0, 0xc0 | slice as u8]);
        picture.extend(data.iter().map(|byte| byte | 1));
    }
    picture
}

fn headers(count: usize) -> impl Iterator<Item = RtpHeader> {
    (0..count).map(|number| RtpHeader {
        sequence: 65_530_u16.wrapping_add(number as u16),
        ..RtpHeader::default()
    })
}

/// Sends pictures, of which the packets named by `lost` are lost, and returns what arrives.
fn send(
    codec: VideoCodec,
    pictures: &[Vec<u8>],
    longest: usize,
    lost: &[usize],
) -> Vec<CodedPicture> {
    let mut receiver = Depacketizer::new(codec);
    let packets: Vec<_> = pictures
        .iter()
        .enumerate()
        .flat_map(|(at, picture)| {
            packetize(codec, picture, longest, true).into_iter().map(move |it| (at as u32, it))
        })
        .collect();
    for (number, header) in headers(packets.len()).enumerate() {
        let (timestamp, payload) = &packets[number];
        let header = RtpHeader { timestamp: *timestamp, marker: payload.is_last, ..header };
        if !lost.contains(&number) {
            receiver.push(&header, &payload.bytes, &[]);
        }
    }
    receiver.finish();
    core::iter::from_fn(|| receiver.poll_picture()).collect()
}

#[test]
fn without_its_first_packet_a_picture_begins_with_the_repeated_header() {
    let picture = h263_picture(1, &[vec![1; 60], vec![2; 60], vec![3; 60]]);
    let arrived = send(VideoCodec::H263Plus, &[picture.clone(), picture.clone()], 90, &[0]);
    assert_eq!(arrived.len(), 2);
    assert!(!arrived[0].is_whole && arrived[1].is_whole);
    assert_eq!(arrived[1].data, picture);
    // The header without the bits beyond it, then a slice with its null bytes.
    assert_eq!(arrived[0].data[..10], picture[..10]);
    assert_eq!(arrived[0].data[10..14], [8, 0, 0, 0xc1]);
}

#[test]
fn a_slice_without_its_begin_is_left_out() {
    let picture = h263_picture(1, &[vec![1; 300], vec![2; 30]]);
    let whole = packetize(VideoCodec::H263Plus, &picture, 120, true);
    let arrived = send(VideoCodec::H263Plus, std::slice::from_ref(&picture), 120, &[1]);
    assert!(whole.len() >= 4, "{}", whole.len());
    let behind = picture.windows(3).position(|it| it == [0, 0, 0xc1]).unwrap();
    let first = whole[0].bytes.len();
    assert_eq!(arrived[0].data, [&picture[..first], &picture[behind..]].concat());
}

//= S1.55
/// S1.55: a receiver is told which bytes may be damaged.
#[test]
fn damage_is_carried_along_byte_by_byte() {
    let picture = h263_picture(1, &[vec![1; 100], vec![2; 100]]);
    let payloads = packetize(VideoCodec::H263Plus, &picture, 130, false);
    let mut receiver = Depacketizer::new(VideoCodec::H263Plus);
    for (number, payload) in payloads.iter().enumerate() {
        let header =
            RtpHeader { sequence: number as u16, marker: payload.is_last, ..RtpHeader::default() };
        let uncovered = payload.exact as u32..payload.bytes.len() as u32;
        receiver.push(&header, &payload.bytes, &[uncovered]);
    }
    let arrived = receiver.poll_picture().unwrap();
    assert_eq!(arrived.data, picture);
    let second = picture.windows(3).rposition(|it| it == [0, 0, 0xc1]).unwrap() as u32;
    // The headers of the picture and of the second slice are exact, and its null bytes too.
    assert_eq!(arrived.suspect, [11..second, second + 2 + 4..picture.len() as u32]);
}

#[test]
fn shared_bytes_of_rfc_2190_are_joined() {
    let mut receiver = Depacketizer::new(VideoCodec::H263);
    // The first ends with four bits that are not its own, the second begins with four.
    let first = [0x04, 0x40, 0, 0, 0, 0, 0x80, 0x02, 0xab];
    let second = [0xa0, 0x40, 0, 0, 0, 0, 0, 0, 0xcd, 0xef];
    let mut header = RtpHeader::default();
    receiver.push(&header, &first, &[]);
    header.sequence = 1;
    header.marker = true;
    receiver.push(&header, &second, &[]);
    let arrived = receiver.poll_picture().unwrap();
    assert_eq!(arrived.data, [0, 0, 0x80, 0x02, 0xad, 0xef]);
    assert!(arrived.is_whole);
}

#[test]
fn bytes_of_rfc_2190_are_joined_only_where_both_hold_a_part_of_one() {
    // The bits that the first leaves open, and those that the second does not own.
    for (open, start, data) in [
        (0_u8, 0_u8, &[0xab, 0xcd, 0xef][..]),
        (5, 3, &[0xa0 | 0x0d, 0xef]),
        (3, 5, &[0xa8 | 0x05, 0xef]),
        // These do not fit: something between has been lost, and no bit of either is taken.
        (0, 3, &[0xab, 0xcd, 0xef]),
        (4, 3, &[0xab, 0xcd, 0xef]),
        (4, 0, &[0xab, 0xcd, 0xef]),
    ] {
        let mut receiver = Depacketizer::new(VideoCodec::H263);
        let mut header = RtpHeader::default();
        receiver.push(&header, &[open, 0x40, 0, 0, 0, 0, 0x80, 0x02, 0xab], &[]);
        (header.sequence, header.marker) = (1, true);
        let second = [0x80 | start << 3, 0x40, 0, 0, 0, 0, 0, 0, 0xcd, 0xef];
        receiver.push(&header, &second, &[]);
        let arrived = receiver.poll_picture().unwrap();
        assert_eq!(arrived.data[..4], [0, 0, 0x80, 0x02]);
        assert_eq!(arrived.data[4..], *data, "{open} {start}");
    }
}

fn slices() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..12)
}

proptest! {
    //= S1.4
    /// S1.4: what nothing has lost is the same bit for bit.
    #[test]
    fn pictures_of_h263_arrive_bit_for_bit(
        pictures in prop::collection::vec(slices(), 1..4),
        longest in 0..600_usize,
    ) {
        let pictures: Vec<_> =
            pictures.iter().enumerate().map(|(at, it)| h263_picture(at as u8, it)).collect();
        let arrived = send(VideoCodec::H263Plus, &pictures, longest, &[]);
        prop_assert!(arrived.iter().all(|it| it.is_whole));
        prop_assert_eq!(arrived.into_iter().map(|it| it.data).collect::<Vec<_>>(), pictures);
    }

    #[test]
    fn units_of_h264_arrive_bit_for_bit(units in slices(), longest in 0..600_usize) {
        let unit = |data: &Vec<u8>| {
            let odd: Vec<u8> = data.iter().map(|byte| byte | 1).collect();
            [&[0, 0, 0, 1, 0x41], &odd[..]].concat()
        };
        let picture: Vec<u8> = units.iter().flat_map(unit).collect();
        let arrived = send(VideoCodec::H264, std::slice::from_ref(&picture), longest, &[]);
        prop_assert_eq!(arrived.into_iter().map(|it| it.data).collect::<Vec<_>>(), [picture]);
    }

    #[test]
    fn no_payloads_make_a_receiver_panic(
        codec in prop::sample::select(
            vec![VideoCodec::H263Plus, VideoCodec::H263, VideoCodec::H264]),
        payloads in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..40), 0..3_u16, any::<bool>(), 0..50_u32), 0..40),
    ) {
        let mut receiver = Depacketizer::new(codec);
        let mut header = RtpHeader::default();
        for (payload, step, marker, from) in payloads {
            header.sequence = header.sequence.wrapping_add(step);
            header.marker = marker;
            header.timestamp += u32::from(step);
            receiver.push(&header, &payload, &[from / 2..from, from..from + 9]);
            while let Some(picture) = receiver.poll_picture() {
                let length = picture.data.len() as u32;
                let within = |it: &Range<u32>| it.start < it.end && it.end <= length;
                prop_assert!(picture.suspect.iter().all(within));
                prop_assert!(picture.suspect.is_sorted_by(|a, b| a.end < b.start));
            }
        }
    }
}

/// Pushes the packets of pictures, changed by `change`, and fetches pictures when the next begins.
fn marked(
    codec: VideoCodec,
    pictures: &[Vec<u8>],
    mut change: impl FnMut(&mut RtpHeader, &mut Vec<u8>) -> bool,
) -> Vec<CodedPicture> {
    let mut receiver = Depacketizer::new(codec);
    let mut arrived = Vec::new();
    let mut sequence = 65_500_u16;
    for (timestamp, picture) in (0..).zip(pictures) {
        arrived.extend(core::iter::from_fn(|| receiver.poll_picture()));
        for payload in packetize(codec, picture, 90, false) {
            let marker = payload.is_last;
            let mut header = RtpHeader { timestamp, marker, sequence, ..RtpHeader::default() };
            let mut bytes = payload.bytes;
            if change(&mut header, &mut bytes) {
                receiver.push(&header, &bytes, &[]);
                sequence = header.sequence;
            }
            sequence = sequence.wrapping_add(1);
        }
    }
    receiver.finish();
    arrived.extend(core::iter::from_fn(|| receiver.poll_picture()));
    assert_eq!(receiver.malformed(), 0);
    arrived
}

/// A picture of H.264 with slices of these lengths.
fn h264_picture(lengths: &[usize]) -> Vec<u8> {
    let slice = |length: &usize| {
        let mut unit = vec![0, 0, 0, 1, 0x41];
        unit.extend(core::iter::repeat_n(0x55, *length));
        unit
    };
    lengths.iter().flat_map(slice).collect()
}

#[test]
fn a_picture_is_one_whatever_its_sender_marks() {
    let h263 = [h263_picture(1, &[vec![1; 200], vec![2; 60]]), h263_picture(2, &[vec![3; 300]])];
    let h264 = [h264_picture(&[200, 30, 30]), h264_picture(&[30]), h264_picture(&[80, 80])];
    for (codec, pictures) in [(VideoCodec::H263Plus, &h263[..]), (VideoCodec::H264, &h264[..])] {
        for marks in [None, Some(true), Some(false)] {
            let arrived = marked(codec, pictures, |header, _| {
                header.marker = marks.unwrap_or(header.marker);
                true
            });
            let data: Vec<_> = arrived.iter().map(|it| it.data.clone()).collect();
            assert_eq!(data, pictures, "{codec:?}, {marks:?}");
            assert!(arrived.iter().all(|it| it.is_whole), "{codec:?}, {marks:?}");
        }
    }
}

#[test]
fn packets_of_padding_only_belong_to_no_picture() {
    let pictures = [h264_picture(&[200, 30]), h264_picture(&[40])];
    let mut receiver = Depacketizer::new(VideoCodec::H264);
    let mut sequence = 0;
    let mut push = |receiver: &mut Depacketizer, timestamp, marker, payload: &[u8]| {
        receiver.push(
            &RtpHeader { timestamp, marker, sequence, ..RtpHeader::default() },
            payload,
            &[],
        );
        sequence += 1;
    };
    for (timestamp, picture) in (0..).zip(&pictures) {
        push(&mut receiver, timestamp + 7, false, &[]);
        for payload in packetize(VideoCodec::H264, picture, 90, false) {
            push(&mut receiver, timestamp, payload.is_last, &payload.bytes);
            push(&mut receiver, timestamp, false, &[]);
        }
    }
    receiver.finish();
    let arrived: Vec<_> = core::iter::from_fn(|| receiver.poll_picture()).collect();
    assert_eq!(arrived.iter().map(|it| it.data.clone()).collect::<Vec<_>>(), pictures);
    assert!(arrived.iter().all(|it| it.is_whole) && receiver.malformed() == 0);
}
