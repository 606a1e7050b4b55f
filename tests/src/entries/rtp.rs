//! Packets of RTP and RTCP, and payloads of video.

use windfall_rtp::{
    Depacketizer, RtcpPacket, RtpHeader, RtpPacket, VideoCodec, packetize, picture_header_bits,
    pictures,
};

/// One packet of either protocol, and the same bytes as an elementary stream. The payloads of three
/// packets in a row, of which the first two bits of the input leave out one, go to each receiver.
pub fn rtp(bytes: &[u8]) {
    if let Ok(packets) = RtcpPacket::parse_compound(bytes) {
        let again = RtcpPacket::encode_compound(&packets);
        assert_eq!(RtcpPacket::parse_compound(&again), Ok(packets));
    }
    if let Ok(packet) = RtpPacket::parse(bytes) {
        assert_eq!(RtpPacket::parse(&packet.encode()), Ok(packet));
    }
    let Some((choice, rest)) = bytes.split_first() else { return };
    for codec in [VideoCodec::H263Plus, VideoCodec::H263, VideoCodec::H264] {
        receive(codec, *choice, rest);
        stream(codec, usize::from(*choice), rest);
    }
}

fn receive(codec: VideoCodec, choice: u8, bytes: &[u8]) {
    let mut receiver = Depacketizer::new(codec);
    let piece = bytes.len().div_ceil(3).max(1);
    for (number, payload) in bytes.chunks(piece).enumerate() {
        let header =
            RtpHeader { sequence: number as u16, marker: number == 2, ..RtpHeader::default() };
        let half = payload.len() as u32 / 2;
        if number != usize::from(choice >> 6) {
            receiver.push(&header, payload, core::slice::from_ref(&(half..half + 1)));
        }
    }
    receiver.finish();
    while let Some(picture) = receiver.poll_picture() {
        // A start code, and a repeated header, may stand before what each payload holds.
        assert!(picture.data.len() <= 5 * bytes.len() + 16);
        let length = picture.data.len() as u32;
        assert!(picture.suspect.iter().all(|it| it.start < it.end && it.end <= length));
    }
}

fn stream(codec: VideoCodec, longest: usize, bytes: &[u8]) {
    for picture in pictures(bytes).chain([bytes]) {
        let _ = picture_header_bits(picture);
        let payloads = packetize(codec, picture, longest, true);
        assert!(payloads.iter().all(|it| it.exact <= it.bytes.len()));
        assert!(payloads.iter().all(|it| it.bytes.len() <= longest.max(81)));
    }
}
