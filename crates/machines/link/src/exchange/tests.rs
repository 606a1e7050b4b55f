use core::num::NonZeroU8;

use windfall_base::{Check, DropReason, Duration, PacketEventKind, Tag};

use super::*;
use crate::policy::{Cost, PolicyKind};

const ATTEMPTS: u8 = 3;

/// Plain and coded frames, each with three attempts for a packet.
fn framings() -> [Framing; 2] {
    let arq = Arq::Attempts(NonZeroU8::new(ATTEMPTS).expect("three"));
    let cost =
        Cost { per_frame: Duration::from_micros(900), per_byte: Duration::from_nanos(9_508) };
    let policy = PolicyKind::ALL[0].into();
    let padded = false;
    let accept_damaged = false;
    let combine = false;
    let coded = CodedConfig { policy, arq, padded, accept_damaged, combine, cost };
    [arq.into(), Framing::Coded(coded)]
}

fn packet(number: u64) -> Frame {
    Frame { tag: Some(Tag(number)), ..Frame::packet(vec![number as u8; 100]) }
}

/// The next unit of an exchange that may send this packet.
fn unit(exchange: &mut Exchange, number: u64) -> Frame {
    let pull = || Some(Pulled::from(packet(number)));
    exchange.next_unit(Instant::START, pull).expect("there is a packet")
}

fn events(exchange: &mut Exchange) -> Vec<PacketEvent> {
    core::iter::from_fn(|| exchange.poll_event()).collect()
}

fn delivered(exchange: &mut Exchange) -> Vec<u64> {
    let frames = core::iter::from_fn(|| exchange.poll_delivery());
    frames.map(|frame| frame.tag.expect("packets are named").0).collect()
}

#[test]
fn a_packet_is_sent_if_its_unit_can_arrive_before_it_expires() {
    for framing in framings() {
        let len = unit(&mut Exchange::new(framing.clone()), 1).len() as u64;
        let passage = TransitTiming {
            per_byte: Duration::from_micros(1),
            delay: Duration::from_micros(50),
            ..TransitTiming::default()
        };
        let arrival = Instant::START + Duration::from_micros(len + 50);
        for (expires, sent) in [(arrival, true), (arrival - Duration::from_nanos(1), false)] {
            let mut exchange = Exchange::new(framing.clone());
            exchange.set_passage(passage);
            let mut queue = vec![Pulled { frame: packet(1), expires: Some(expires) }];
            let unit = exchange.next_unit(Instant::START, || queue.pop());
            assert_eq!(unit.is_some(), sent, "{framing:?}");
        }
    }
}

#[test]
fn a_packet_is_held_where_it_is_until_it_goes_on() {
    for framing in framings() {
        let [mut near, mut far] = [Exchange::new(framing.clone()), Exchange::new(framing)];
        assert_eq!((near.has_unit(), near.held(), far.held()), (false, 0, 0));
        let first = unit(&mut near, 1);
        assert_eq!((near.has_unit(), near.held()), (true, 1));
        let (arrival, feedback) = far.take_unit(first);
        assert_eq!((arrival, far.held()), (Arrival::Packet, 1));
        near.take_outcome(feedback.as_ref());
        assert_eq!((near.has_unit(), near.held()), (false, 0));
        let second = unit(&mut near, 2);
        far.take_unit(second);
        assert_eq!(far.held(), 2, "they are not collected yet");
        assert_eq!(delivered(&mut far), [1, 2]);
        assert_eq!(far.held(), 0);
        let happened = events(&mut near);
        assert!(matches!(happened[0].kind, PacketEventKind::Sent { attempt: 1, kept: true, .. }));
        assert_eq!(happened[1], PacketEventKind::Acknowledged.of_packet(Some(Tag(1))));
        assert!(matches!(happened[2].kind, PacketEventKind::Sent { attempt: 1, .. }));
        assert_eq!(happened[2].tag, Some(Tag(2)));
    }
}

#[test]
fn a_packet_whose_acknowledgment_was_lost_comes_again_and_is_told_from_a_new_one() {
    for framing in framings() {
        let [mut near, mut far] = [Exchange::new(framing.clone()), Exchange::new(framing)];
        let first = unit(&mut near, 1);
        let (_, feedback) = far.take_unit(first);
        assert!(feedback.is_some());
        near.take_outcome(None);
        let again = unit(&mut near, 2);
        let (_, feedback) = far.take_unit(again);
        assert_eq!(delivered(&mut far), [1], "the packet under way comes first");
        let copies = events(&mut far);
        let reasons: Vec<_> = copies.iter().map(PacketEvent::drop_reason).collect();
        assert_eq!(reasons, [Some(DropReason::Duplicate)], "{copies:?}");
        near.take_outcome(feedback.as_ref());
        let next = unit(&mut near, 2);
        far.take_unit(next);
        assert_eq!(delivered(&mut far), [2]);
    }
}

#[test]
fn a_packet_is_given_up_after_its_attempts_and_the_next_one_follows() {
    for framing in framings() {
        let mut near = Exchange::new(framing);
        for attempt in 1..=ATTEMPTS.into() {
            unit(&mut near, 1);
            near.take_outcome(None);
            let happened = events(&mut near);
            assert!(matches!(
                happened[0].kind,
                PacketEventKind::Sent { attempt: told, .. } if told == attempt
            ));
            let dropped = happened.get(1).map(|event| {
                let drop = event.packet_drop().expect("given up");
                (drop.reason, drop.kept)
            });
            let expected = (attempt == u32::from(ATTEMPTS)).then_some(DropReason::RetryLimit);
            assert_eq!(dropped.map(|(reason, _)| reason), expected);
        }
        assert_eq!((near.has_unit(), near.held()), (false, 0));
        assert_eq!(unit(&mut near, 2).tag, Some(Tag(2)));
    }
}

#[test]
fn a_damaged_packet_is_neither_acknowledged_nor_handed_up() {
    let [framing, _] = framings();
    let [mut near, mut far] = [Exchange::new(framing.clone()), Exchange::new(framing)];
    let mut damaged = unit(&mut near, 1);
    let last = damaged.payload.len() as u32 * 8 + 7;
    damaged.invert(&[last]);
    let (arrival, feedback) = far.take_unit(damaged);
    assert_eq!((arrival, feedback), (Arrival::Packet, None));
    assert!(delivered(&mut far).is_empty() && far.held() == 0);
    let whole = unit(&mut near, 2);
    assert!(far.take_unit(whole).1.is_some());
    let frame = far.poll_delivery().expect("the second attempt");
    assert_eq!((frame.tag, frame.damage.frame), (Some(Tag(1)), Check::Good));
}

//= S0.6
#[test]
fn a_damaged_packet_is_handed_up_if_it_is_the_last_attempt_and_welcome() {
    for (attempts, welcome) in [(1, true), (1, false), (2, true), (2, false)] {
        let arq = Arq::Attempts(NonZeroU8::new(attempts).expect("one or two"));
        let framing = Framing::Plain { arq, accept_damaged: welcome, combine: false };
        let [mut near, mut far] = [Exchange::new(framing.clone()), Exchange::new(framing)];
        let mut damaged = unit(&mut near, 1);
        let last = damaged.payload.len() as u32 * 8 + 7;
        damaged.invert(&[last]);
        assert_eq!(far.take_unit(damaged).1, None, "damage is never acknowledged");
        let count = delivered(&mut far).len();
        assert_eq!(count, usize::from(attempts == 1 && welcome));
    }
}

//= S4.27
#[test]
fn numbers_of_units_tell_what_was_lost_between_two_that_were_passed_up() {
    let [mut near, mut far] = [Exchange::new(Arq::None.into()), Exchange::new(Arq::None.into())];
    for number in 0..7 {
        let unit = unit(&mut near, number);
        near.take_outcome(None);
        if !matches!(number, 0 | 3 | 4) {
            far.take_unit(unit);
        }
    }
    let lost = core::iter::from_fn(|| far.poll_delivery());
    let lost: Vec<_> = lost.map(|it| (it.tag.unwrap().0, it.damage.lost_before)).collect();
    // What came before the first is not known.
    assert_eq!(lost, [(1, 0), (2, 0), (5, 2), (6, 0)]);
}
