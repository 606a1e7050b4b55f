//! Serial lines: frames, control packets, and an end of PPP.

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_circuit::ppp::{Deframer, FrameMode, PppConfig, PppLink};
use windfall_wire_link::hdlc::{Accm, HdlcCheck, encode_frame};
use windfall_wire_link::ppp::{ControlPacket, options, parse_protocol};

/// The bytes of a line as they are, and cut into frames whose checks hold (a length, as many
/// bytes), given to an end of PPP.
pub fn ppp(bytes: &[u8]) {
    let mut deframer = Deframer::new(FrameMode::Lite, HdlcCheck::Fcs16, Accm::NONE, 256);
    let mut given = 0;
    for piece in bytes.chunks(29) {
        deframer.take(piece, |frame| given += frame.packet.len());
    }
    assert!(given <= bytes.len());
    let config = PppConfig { mode: FrameMode::Lite, ..PppConfig::default() };
    let mut link = PppLink::new(config, &Stream::new(Seed(0), "fuzz"));
    let mut now = Instant::START;
    link.open(now);
    link.handle_line(now, bytes);
    let mut rest = bytes;
    while let [length, tail @ ..] = rest {
        let (content, tail) = tail.split_at(tail.len().min(usize::from(*length)));
        rest = tail;
        control(content);
        let mut line = Vec::new();
        encode_frame(&[content], HdlcCheck::Fcs16, Accm::ALL, &mut line);
        link.handle_line(now, &line);
        // What one frame causes is bounded.
        assert!(link.take_line().len() <= 8_000 + 4 * line.len());
        now += Duration::from_millis(u64::from(*length) * 10);
        link.handle_timeout(now);
        assert!(link.poll_timeout().is_none_or(|at| at > now));
        while link.poll_packet().is_some() || link.poll_event().is_some() {}
    }
}

/// A control packet; one that can be read is written so that it reads the same.
fn control(content: &[u8]) {
    let Ok((_, start)) = parse_protocol(content) else { return };
    let Ok(packet) = ControlPacket::parse(&content[start..]) else { return };
    let mut again = Vec::new();
    packet.encode(&mut again);
    assert_eq!(ControlPacket::parse(&again), Ok(packet));
    let known: usize = options(packet.data).flatten().map(|option| 2 + option.value.len()).sum();
    assert!(known <= packet.data.len());
}
