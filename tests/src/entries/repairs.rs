//! A code across packets: packets and repairs of a sender over bad air, and forged ones.

use windfall_base::{Check, Duration, Frame, Instant, Seed, Stream, Tag};
use windfall_link::{Arrival, RepairConfig, RepairReceiver, RepairSender};
use windfall_wire_link::check::frame_check;

/// The codes that the first byte chooses from.
const CODES: [&str; 5] =
    ["8/12", "2/5:3ms", "window:8:50%:20ms", "window:128:0.1%:1s", "3/5:9ms,interleave:4"];
/// Bytes of the longest packet.
const LONGEST: u64 = 200;

/// A sender and a receiver. The first byte chooses the code; each other decides the fate of a
/// frame, or begins a forged one. What is passed up as good is what was sent, or was forged so.
pub fn repairs(bytes: &[u8]) {
    let [choice, fates @ ..] = bytes else { return };
    let config: RepairConfig = CODES[usize::from(*choice) % CODES.len()].parse().expect("a code");
    let accept_damaged = choice & 0x80 != 0;
    let mut sender = RepairSender::new(config);
    let mut receiver = RepairReceiver::new(config, accept_damaged);
    let mut now = Instant::START;
    let mut fates = fates;
    let mut sent = Vec::new();
    let mut forged = false;
    while let Some((&fate, rest)) = fates.split_first() {
        fates = rest;
        now += Duration::from_micros(300 * u64::from(fate >> 6));
        if fate % 8 == 7 {
            let len = usize::from(fate).min(fates.len());
            let (unit, rest) = fates.split_at(len);
            fates = rest;
            forged = true;
            receiver.handle_frame(now, Frame::packet(unit.to_vec()));
        } else {
            let mut frame = packet(sent.len() as u64);
            sent.push(frame.payload.to_bytes());
            sender.protect(now, 1, 4, &mut frame);
            sender.handle_timeout(now);
            let repairs = core::iter::from_fn(|| sender.poll_repair());
            for (number, mut frame) in [frame].into_iter().chain(repairs).enumerate() {
                let is_repair = frame.covers.is_some();
                if strike(&mut frame, fate.rotate_left(number as u32)) {
                    let arrival = receiver.handle_frame(now, frame);
                    assert!(is_repair || arrival == Arrival::Packet);
                }
            }
        }
        receiver.handle_timeout(now);
        while let Some(delivered) = receiver.poll_delivery() {
            let good = delivered.damage.frame == Check::Good;
            assert!(good || accept_damaged || forged, "{delivered:?}");
            let same = |packet: &bytes::Bytes| *packet == delivered.payload.to_bytes();
            let as_sent = delivered.tag.and_then(|tag| sent.get(tag.0 as usize)).is_some_and(same);
            assert!(!good || forged || as_sent, "{delivered:?}");
        }
        while receiver.poll_event().is_some() {}
    }
    assert!(receiver.held() <= 64 * 256, "{}", receiver.held());
}

fn packet(number: u64) -> Frame {
    let mut stream = Stream::new(Seed(number), "packet");
    let len = 1 + stream.below(LONGEST);
    let bytes: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
    Frame { tag: Some(Tag(number)), ..Frame::packet(bytes) }
}

/// Damages a frame as one byte says; false if it is lost.
fn strike(frame: &mut Frame, fate: u8) -> bool {
    let before = frame_check(&frame.payload.slices());
    match fate % 8 {
        0..=2 => {}
        3 => return false,
        4 => frame.truncate(usize::from(fate)),
        _ => {
            let bits = frame.len() as u32 * 8;
            let mut wrong: Vec<u32> =
                (1..4).map(|n| u32::from(fate) * 7_919 * n % bits.max(1)).collect();
            wrong.sort_unstable();
            frame.invert(&wrong);
        }
    }
    if frame_check(&frame.payload.slices()) != before {
        frame.damage.frame = Check::Bad;
    }
    true
}
