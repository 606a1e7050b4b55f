//! Frames in coded blocks: those of a sender on bad air, and whatever else calls itself one; and
//! the tables of policies.

use core::num::NonZeroU8;
use std::sync::Arc;

use windfall_base::{Check, Class, Duration, Frame, Instant, Seed, Stream, Tag};
use windfall_fec::ReedSolomon;
use windfall_link::policy::{Cost, Outcome, PolicyKind, Request};
use windfall_link::{Arq, Coded, CodedConfig};
use windfall_settings::policy::parse_policy;
use windfall_wire_link::check::header_check;
use windfall_wire_link::coded::{Fate, HEADER_PARITY, MAX_BLOCKS};
use windfall_wire_link::pipe::HeaderBytes;

/// Packets that the sender has.
const PACKETS: usize = 4;

/// A sender and a receiver. The first byte says how they are set, the second whether damage is
/// welcome; each other decides the fate of a frame or its report, or begins a forged frame. What is
/// passed up is what was sent, or forged with every check right, or damaged and welcome so.
pub fn coded(bytes: &[u8]) {
    let [choice, wishes, rest @ ..] = bytes else { return };
    let accept_damaged = wishes & 1 != 0;
    let asked = [None, Some(true), Some(false)][usize::from(wishes >> 1) % 3];
    let config = CodedConfig {
        policy: PolicyKind::ALL[usize::from(*choice) % PolicyKind::ALL.len()].into(),
        arq: NonZeroU8::new(choice >> 5).map_or(Arq::Persistent, Arq::Attempts),
        padded: choice & 0x10 != 0,
        accept_damaged,
        combine: wishes & 0x80 != 0,
        cost: Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_500) },
    };
    let class = Class { accept_damaged: asked, ..Class::default() };
    let packets: Vec<Frame> = (0..PACKETS).map(|number| packet(number, class)).collect();
    let mut ends = [Coded::new(config.clone()), Coded::new(config)];
    let mut waiting = packets.clone().into_iter();
    let mut fates = rest;
    // Whether a forged frame has said that damage is welcome, or forged a packet whole.
    let mut forged = false;
    while let Some((&fate, rest)) = fates.split_first() {
        fates = rest;
        if fate % 8 == 7 {
            let (unit, rest) = forge(rest);
            fates = rest;
            forged = true;
            let _ = ends[1].take_unit(unit);
        } else {
            let pull = || waiting.next().map(Into::into);
            let Some(mut unit) = ends[0].next_unit(Instant::START, pull) else { break };
            let arrives = strike(&mut unit, fate);
            let feedback = if arrives { ends[1].take_unit(unit).1 } else { None };
            ends[0].take_outcome(feedback.as_ref().filter(|_| fate & 0x80 == 0));
        }
        while let Some(delivered) = ends[1].poll_delivery() {
            let good = delivered.damage.frame == Check::Good;
            assert!(good || forged || asked.unwrap_or(accept_damaged), "{delivered:?}");
            let sent = delivered.tag.and_then(|tag| packets.get(tag.0 as usize));
            let same = |sent: &Frame| sent.payload.to_bytes() == delivered.payload.to_bytes();
            assert!(!good || forged || sent.is_some_and(same), "{delivered:?}");
        }
        for end in &mut ends {
            while end.poll_event().is_some() {}
        }
    }
}

/// The file of a policy. One that is accepted goes through frames of every fate, and always has a
/// legal frame for the next.
pub fn policy(bytes: &[u8]) {
    let Ok(table) = parse_policy("fuzz.toml", bytes) else { return };
    let mut policy = Arc::new(table).build();
    let request = Request {
        bytes: 1_500,
        packet: 1_500,
        time_left: None,
        is_scarce: false,
        round_trip: Duration::ZERO,
        tries_left: None,
        welcomes_damage: false,
        may_be_uncoded: true,
    };
    for fate in bytes.iter().take(500) {
        let tries_left = NonZeroU8::new(fate >> 6).map(|tries| tries.get().into());
        let may_be_uncoded = fate & 8 == 0;
        let asked = Request { tries_left, may_be_uncoded, ..request };
        let plan = policy.plan(&asked).expect("a table sends every packet");
        let blocks = usize::from(plan.blocks);
        assert!((1..=MAX_BLOCKS).contains(&blocks) && (may_be_uncoded || !plan.uncoded));
        let all = [
            Fate::Good(0),
            Fate::Good((plan.level.correctable() as u8).min(*fate)),
            Fate::Failed,
            Fate::Missing,
            Fate::Damaged,
            Fate::Combined,
        ];
        let fates: Vec<Fate> =
            (0..blocks).map(|block| all[(usize::from(*fate) + block) % all.len()]).collect();
        let outcome = if fate % 7 == 6 { Outcome::Silence } else { Outcome::Report(&fates) };
        policy.learn(plan, 1_000, outcome);
    }
}

fn packet(number: usize, class: Class) -> Frame {
    let mut stream = Stream::new(Seed(number as u64), "packet");
    let bytes: Vec<u8> = (0..90 + 450 * number).map(|_| stream.bits() as u8).collect();
    Frame { tag: Some(Tag(number as u64)), ..Frame::packet(bytes).with_class(class) }
}

/// Does to a frame what a byte says; `false` if it is lost.
fn strike(unit: &mut Frame, fate: u8) -> bool {
    let extent = u32::from(fate >> 3 & 0xf) + 1;
    let len = unit.len() as u32;
    match fate % 8 {
        1 => return false,
        2 => unit.truncate((len * extent / 17) as usize),
        3 => unit.invert(&[len * 8 * extent / 17]),
        // Bits all over the frame, at distances that no period of a block shares.
        4 => unit.invert(&(0..extent * 4).map(|i| i * 677 % (len * 8)).collect::<Vec<_>>()),
        5 => unit.invert(&(0..extent * 8).map(|i| 61 * 8 + i).collect::<Vec<_>>()),
        6 => unit.invert(&(0..extent).map(|i| i * 8).collect::<Vec<_>>()),
        _ => {}
    }
    true
}

/// A frame whose header and blocks stand in the bytes; check and parity of its header are right.
fn forge(bytes: &[u8]) -> (Frame, &[u8]) {
    let [header, blocks, rest @ ..] = bytes else { return (Frame::default(), &[]) };
    let (fields, rest) = rest.split_at(rest.len().min(usize::from(*header) % 24));
    let (payload, rest) = rest.split_at(rest.len().min(usize::from(*blocks)));
    let mut header: HeaderBytes = fields.iter().copied().collect();
    if let Some(first) = header.first_mut() {
        *first = 0x60 | *first & 0xf;
    }
    let check = header_check(&header);
    header.extend(check);
    header.extend([0; HEADER_PARITY]);
    let code = ReedSolomon::new(HEADER_PARITY).expect("a code");
    code.encode(&mut header).expect("a block of this code");
    let mut frame = Frame::packet(payload.to_vec());
    frame.header = header;
    (frame, rest)
}
