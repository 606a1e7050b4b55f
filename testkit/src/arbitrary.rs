//! Frames and signals of no meaning at all, for the law that no input panics.

use std::num::NonZeroU8;

use bytes::Bytes;
use windfall_base::frame::{MAX_HEADER, MAX_TRAILER};
use windfall_base::{
    Check, Class, Damage, Dbm, Duration, Failure, FlowId, Frame, Input, Instant, Overheard,
    Payload, Picked, Port, Rate, RxVector, Stream, Tag,
};

/// Up to `limit` random bytes; often none, often the full length.
#[must_use]
pub fn bytes(stream: &mut Stream, limit: usize) -> Vec<u8> {
    let length = match stream.below(8) {
        0 => 0,
        1 => limit,
        2 => stream.below(limit as u64 + 1) as usize,
        _ => stream.below((limit as u64 + 1).min(64)) as usize,
    };
    // Zeroes and ones in a row meet other branches than noise does.
    match stream.below(4) {
        0 => vec![0; length],
        1 => vec![0xff; length],
        _ => (0..length).map(|_| stream.bits() as u8).collect(),
    }
}

/// A frame of random bytes with random notes on it.
#[must_use]
pub fn frame(stream: &mut Stream) -> Frame {
    let payload = Payload::new(
        Bytes::from(bytes(stream, 100)),
        Bytes::from(if stream.below(2) == 0 { vec![] } else { bytes(stream, 2_000) }),
    );
    let mut frame = Frame::packet(payload);
    frame.header.extend(bytes(stream, MAX_HEADER));
    frame.trailer.extend(bytes(stream, MAX_TRAILER));
    frame.damage = damage(stream, frame.payload.len() as u32);
    frame.class = class(stream);
    frame.tag = (stream.below(4) > 0).then(|| Tag(stream.bits()));
    frame.kept = stream.below(4) == 0;
    frame
}

/// A frame that an honest device hands down: a bare packet of `bytes`, named `tag`.
pub fn packet(bytes: impl Into<Payload>, tag: u64) -> Frame {
    Frame { tag: Some(Tag(tag)), ..Frame::packet(bytes) }
}

fn check(stream: &mut Stream) -> Check {
    [Check::Unchecked, Check::Good, Check::Bad][stream.below(3) as usize]
}

fn damage(stream: &mut Stream, length: u32) -> Damage {
    let mut damage = Damage { frame: check(stream), header: check(stream), ..Damage::default() };
    if stream.below(4) == 0 {
        damage.missing = stream.below(2_000) as u32;
        damage.corrected = stream.below(20) as u32;
        let start = stream.below(u64::from(length) + 1) as u32;
        let end = start + stream.below(u64::from(length - start) + 1) as u32;
        damage.suspect.push(start..end);
    }
    damage
}

fn class(stream: &mut Stream) -> Class {
    Class {
        flow: FlowId(if stream.below(2) == 0 { 0 } else { stream.bits() as u16 }),
        attempts: NonZeroU8::new(stream.bits() as u8).filter(|_| stream.below(4) == 0),
        accept_damaged: [None, None, Some(false), Some(true)][stream.below(4) as usize],
        lifetime: (stream.below(4) == 0).then(|| Duration::from_micros(stream.below(100_000))),
        rate: Rate::from_mbps(stream.below(55)).filter(|_| stream.below(4) == 0),
        unordered: stream.below(4) == 0,
        own_order: stream.below(4) == 0,
        picked: picked(stream),
    }
}

fn picked(stream: &mut Stream) -> Picked {
    let [lose, damage, copy] = core::array::from_fn(|_| stream.below(8) == 0);
    Picked { lose, damage, copy }
}

/// A random frame or signal at `now`, on any of the first `ports` ports or on one that no node has.
#[must_use]
pub fn input(stream: &mut Stream, now: Instant, ports: u16) -> (Port, Input) {
    let port = if stream.below(8) == 0 {
        Port(stream.bits() as u16)
    } else {
        Port(stream.below(u64::from(ports.max(1))) as u16)
    };
    let input = match stream.below(13) {
        0 => Input::CarrierBusy,
        1 => Input::CarrierIdle,
        2 => Input::ReceptionFailed(Failure::Header),
        3 => Input::ReceptionFailed(Failure::Noise),
        4 | 5 => Input::TransmissionDone,
        6 => {
            let head = (stream.bits() as u32).to_be_bytes();
            Input::Overheard(Overheard { head, good: stream.below(4) > 0 })
        }
        _ => Input::Frame(frame(stream), vector(stream, now)),
    };
    (port, input)
}

fn vector(stream: &mut Stream, now: Instant) -> RxVector {
    let air = stream.below(now.as_nanos().min(20_000_000) + 1);
    RxVector {
        began: Instant::from_nanos(now.as_nanos() - air),
        rate: Rate::from_mbps(stream.below(55)),
        strength: (stream.below(2) == 0).then(|| Dbm(-(stream.below(100) as f64))),
    }
}
