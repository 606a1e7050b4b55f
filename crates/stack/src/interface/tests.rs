use windfall_base::frame::Tag;
use windfall_base::{Check, RxVector};

use super::*;
use crate::event::EventKind;

fn packet(tag: u64, len: usize) -> Input {
    let frame = Frame { tag: Some(Tag(tag)), ..Frame::packet(vec![0x45; len]) };
    Input::Frame(frame, RxVector::wired(Instant::START))
}

fn observed(config: InterfaceConfig) -> Interface {
    Interface::new(InterfaceConfig { observe: true, ..config }, Seed(1), "near")
}

/// Moves one frame from `a` to `b` across a perfect medium; whether there was one.
fn step(now: Instant, a: &mut Interface, b: &mut Interface) -> Option<Frame> {
    while let Some((port, outgoing)) = a.poll_transmit(now) {
        if port == DEVICE {
            return Some(outgoing.frame);
        }
        a.handle_input(now, MEDIUM, Input::TransmissionDone);
        b.handle_input(now, MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)));
    }
    None
}

#[test]
fn a_packet_crosses_a_plain_pipe_as_it_was() {
    let now = Instant::START;
    let mut near = observed(InterfaceConfig::default());
    let mut far = observed(InterfaceConfig::default());
    near.handle_input(now, DEVICE, packet(7, 1_500));
    assert!(step(now, &mut near, &mut far).is_none());
    let frame = step(now, &mut far, &mut near).expect("it arrives");
    assert_eq!(frame.to_vec(), vec![0x45; 1_500]);
    assert_eq!((frame.tag, frame.damage.frame), (Some(Tag(7)), Check::Good));
    assert!(near.ledger().balances() && far.ledger().balances());
    let kinds: Vec<_> = core::iter::from_fn(|| near.poll_event()).map(|event| event.kind).collect();
    assert!(matches!(
        kinds[..],
        [EventKind::Queued { queue: 1, .. }, EventKind::Sent { attempt: 1, kept: false, .. }]
    ));
    assert!(matches!(far.poll_event().map(|event| event.kind), Some(EventKind::Delivered { .. })));
}

//= S0.5
#[test]
fn each_place_that_discards_has_its_own_reason() {
    let now = Instant::START;
    let limits = Limits { packets: 1, bytes: 10_000 };
    let mut near = observed(InterfaceConfig { queue: limits, ..InterfaceConfig::default() });
    near.handle_input(now, DEVICE, packet(1, 1_501));
    near.handle_input(now, DEVICE, packet(2, 100));
    near.handle_input(now, DEVICE, packet(3, 100));
    let ledger = near.ledger();
    assert!(ledger.balances());
    let reasons: Vec<_> = ledger.drops.iter().collect();
    assert_eq!(reasons, [(DropReason::QueueFull, 1), (DropReason::TooBig, 1)]);
    assert_eq!((ledger.taken, ledger.held), (3, 1));
}
