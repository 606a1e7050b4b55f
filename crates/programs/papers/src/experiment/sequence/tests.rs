use windfall_base::Payload;
use windfall_files::pcapng::Capture;
use windfall_wire_net::TcpRepr;
use windfall_wire_net::tcp::CorruptionKinds;

use super::*;

/// An IPv4 packet with a TCP segment; checksums are not looked at.
fn packet(seq: u32, ack: u32, flags: TcpFlags, len: usize) -> Payload {
    let repr = TcpRepr { seq: Seq32(seq), ack: Seq32(ack), flags, ..TcpRepr::default() };
    let header = repr.emit(&CorruptionKinds::default()).unwrap();
    let total = 20 + header.len() + len;
    let mut packet = vec![0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0, 0, 64, 6, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend_from_slice(&header);
    packet.resize(total, 0x5a);
    packet.into()
}

fn capture(segments: &[(u64, Seen, u32, u32, TcpFlags, usize)]) -> Bytes {
    let mut capture = Capture::new(Vec::new(), "near", 5_000_000_000, "").unwrap();
    for &(ms, seen, seq, ack, flags, len) in segments {
        let at = Instant::from_nanos(ms * 1_000_000);
        capture.packet(at, seen, None, &packet(seq, ack, flags, len), "").unwrap();
    }
    capture.into_inner().into()
}

#[test]
fn new_data_retransmissions_and_acknowledgements_are_told_apart() {
    use Seen::{Arrived, Sent};
    let synack = TcpFlags(TcpFlags::SYN.0 | TcpFlags::ACK.0);
    let sequence = Sequence::of_capture(&capture(&[
        (0, Sent, 99, 0, TcpFlags::SYN, 0),
        (10, Arrived, 499, 100, synack, 0),
        (20, Sent, 100, 500, TcpFlags::ACK, 1000),
        (30, Sent, 1100, 500, TcpFlags::ACK, 1000),
        (40, Arrived, 500, 1100, TcpFlags::ACK, 0),
        (340, Sent, 1100, 500, TcpFlags::ACK, 1000),
        (350, Arrived, 500, 2100, TcpFlags::ACK, 0),
    ]))
    .unwrap();
    assert_eq!(sequence.sent, [(0.0, 1.0), (0.01, 2.0)]);
    assert_eq!(sequence.retransmitted, [(0.32, 2.0)]);
    assert_eq!(sequence.acknowledged, [(0.02, 1.0), (0.33, 2.0)]);
    assert_eq!((sequence.bytes_sent, sequence.bytes_retransmitted), (3000, 1000));
    assert_eq!(sequence.longest_silence(), Some((0.02, 0.33)));
    assert_eq!((sequence.end(), sequence.rate(0.0, 0.25)), (0.33, 4.0));
    assert_eq!(sequence.between(0.3, 1.0).sent, []);
    assert!(sequence.chart("title", "").to_svg().contains("sent again"));
}

#[test]
fn a_capture_without_a_connection_is_empty() {
    assert_eq!(Sequence::of_capture(&capture(&[])), Ok(Sequence::default()));
    let data = (0, Seen::Sent, 1, 1, TcpFlags::ACK, 10);
    assert_eq!(Sequence::of_capture(&capture(&[data])), Ok(Sequence::default()));
    assert!(Sequence::of_capture(&Bytes::new()).is_err());
}
