use super::*;
use crate::{Depacketizer, RtpHeader, VideoCodec, nal_units};

#[test]
fn units_are_found_behind_start_codes_of_three_and_four_bytes() {
    let stream = [0, 0, 0, 1, 0x67, 9, 0, 0, 1, 0x68, 0, 0, 0, 1, 0x65, 0x88, 0, 0, 3, 1, 0, 0];
    let units: Vec<_> = nal_units(&stream).collect();
    assert_eq!(units, [&[0x67, 9][..], &[0x68], &[0x65, 0x88, 0, 0, 3, 1]]);
    assert_eq!(nal_units(&[0, 0, 1]).count(), 0);
}

#[test]
fn a_picture_begins_with_its_parameter_sets_or_its_first_slice() {
    let units: [&[u8]; 6] =
        [&[0x67, 1], &[0x68, 1], &[0x65, 0x88], &[0x65, 0x48], &[0x41, 0x9a], &[0x41, 0x9b]];
    let stream: Vec<u8> = units.iter().flat_map(|unit| [&[0, 0, 1][..], unit].concat()).collect();
    let lengths: Vec<_> = access_units(&stream).iter().map(Vec::len).collect();
    assert_eq!(lengths, [4, 1, 1]);
}

#[test]
fn small_units_share_a_payload_and_long_ones_are_cut() {
    let long: Vec<u8> = [0x65].into_iter().chain((0..250).map(|n| n as u8 | 0x80)).collect();
    let units: [&[u8]; 3] = [&[0x67, 1, 2], &[0x68, 3], &long];
    let payloads = packetize(&units, 100);
    assert_eq!(payloads[0].bytes, [0x78, 0, 3, 0x67, 1, 2, 0, 2, 0x68, 3]);
    assert_eq!(payloads[0].exact, 10, "parameter sets are exact");
    assert_eq!(payloads.len(), 4);
    let heads: Vec<_> = payloads[1..].iter().map(|it| [it.bytes[0], it.bytes[1]]).collect();
    assert_eq!(heads, [[0x7c, 0x85], [0x7c, 0x05], [0x7c, 0x45]]);
    assert_eq!(payloads[1..].iter().map(|it| it.exact).collect::<Vec<_>>(), [18, 2, 2]);
}

#[test]
fn a_missing_fragment_cuts_its_unit_and_no_other() {
    let long: Vec<u8> = [0x65].into_iter().chain([0x99; 250]).collect();
    let mut payloads = packetize(&[&long], 100);
    payloads.push(VideoPayload { bytes: vec![0x41, 0x9a], exact: 2, is_last: true });
    let mut receiver = Depacketizer::new(VideoCodec::H264);
    for (number, payload) in payloads.iter().enumerate().filter(|(number, _)| *number != 1) {
        let header =
            RtpHeader { sequence: number as u16, marker: payload.is_last, ..RtpHeader::default() };
        receiver.push(&header, &payload.bytes, &[]);
    }
    let picture = receiver.poll_picture().unwrap();
    let units: Vec<_> = nal_units(&picture.data).collect();
    assert_eq!(units, [&long[..99], &[0x41, 0x9a]]);
    assert!(!picture.is_whole);
}
