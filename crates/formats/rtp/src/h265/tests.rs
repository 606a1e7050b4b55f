use super::*;
use crate::{CodedPicture, Depacketizer, RtpHeader, VideoCodec};

/// A unit of this type with `length` bytes behind its header.
fn unit(kind: u8, first: u8, length: usize) -> Vec<u8> {
    let mut unit = vec![kind << 1, 1, first];
    unit.extend((3..length).map(|at| at as u8 | 1));
    unit
}

fn stream(units: &[Vec<u8>]) -> Vec<u8> {
    units.iter().flat_map(|unit| [&[0, 0, 0, 1], &unit[..]].concat()).collect()
}

/// Parameter sets and two pictures, the second of two slices.
fn pictures() -> [Vec<u8>; 2] {
    [
        stream(&[unit(32, 9, 20), unit(33, 9, 30), unit(34, 9, 8), unit(19, 0xa0, 500)]),
        stream(&[unit(39, 9, 12), unit(1, 0x80, 40), unit(1, 0x20, 300)]),
    ]
}

fn receive(payloads: &[(u32, VideoPayload)], lost: &[usize]) -> Vec<CodedPicture> {
    let mut receiver = Depacketizer::new(VideoCodec::H265);
    for (number, (timestamp, payload)) in payloads.iter().enumerate() {
        let header = RtpHeader {
            timestamp: *timestamp,
            sequence: number as u16,
            marker: payload.is_last,
            ..RtpHeader::default()
        };
        if !lost.contains(&number) {
            receiver.push(&header, &payload.bytes, &[]);
        }
    }
    receiver.finish();
    assert_eq!(receiver.malformed(), 0);
    core::iter::from_fn(|| receiver.poll_picture()).collect()
}

fn payloads(longest: usize) -> Vec<(u32, VideoPayload)> {
    let each = |(at, picture): (u32, Vec<u8>)| {
        let payloads = crate::packetize(VideoCodec::H265, &picture, longest, false);
        payloads.into_iter().map(move |it| (at, it))
    };
    (0..).zip(pictures()).flat_map(each).collect()
}

#[test]
fn a_stream_is_cut_into_its_pictures() {
    let all = pictures().concat();
    let cut = h265_access_units(&all);
    assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3]);
}

#[test]
fn pictures_come_back_from_payloads_of_any_length() {
    for longest in [32, 60, 100, 200, 1_400] {
        let payloads = payloads(longest);
        assert!(payloads.iter().all(|(_, it)| it.bytes.len() <= longest));
        let arrived = receive(&payloads, &[]);
        let data: Vec<_> = arrived.iter().map(|it| it.data.clone()).collect();
        assert_eq!(data, pictures(), "{longest}");
        assert!(arrived.iter().all(|it| it.is_whole));
    }
}

#[test]
fn headers_of_payloads_are_those_of_rfc_7798() {
    let payloads = payloads(100);
    // The three sets in one aggregate, whose units are exact; then fragments of the first picture.
    let aggregate = &payloads[0].1;
    assert_eq!(aggregate.bytes[..5], [48 << 1, 1, 0, 20, 32 << 1]);
    assert_eq!(aggregate.exact, aggregate.bytes.len());
    let [first, .., last] = &payloads[1..7] else { panic!("fragments") };
    assert_eq!(first.1.bytes[..3], [49 << 1, 1, 0x80 | 19]);
    assert_eq!(first.1.exact, 3 + SLICE_HEADER_LEN);
    assert_eq!(last.1.bytes[..3], [49 << 1, 1, 0x40 | 19]);
    assert!(last.1.exact == 3 && last.1.is_last);
}

#[test]
fn a_slice_ends_where_its_next_fragment_is_missing() {
    let arrived = receive(&payloads(100), &[3]);
    let whole = pictures();
    assert!(!arrived[0].is_whole && arrived[1].is_whole);
    assert!(whole[0].starts_with(&arrived[0].data) && arrived[0].data.len() > 200);
    assert_eq!(arrived[1].data, whole[1]);
}

#[test]
fn units_of_no_sense_are_malformed() {
    let mut receiver = Depacketizer::new(VideoCodec::H265);
    for payload in [&[0x60][..], &[49 << 1, 1], &[48 << 1, 1, 0, 9, 1], &[50 << 1, 1, 1]] {
        receiver.push(&RtpHeader::default(), payload, &[]);
    }
    assert_eq!(receiver.malformed(), 4);
}
