use windfall_base::{Check, Damage, DropReason, FlowId, PacketDrop, PacketEventKind, Tag};

use super::{FlowLedger, LinkLedger, OLD_DROPS, REMEMBERED, direction_of, tag_of};

fn ledger(entered: u64) -> LinkLedger {
    let mut ledger = LinkLedger::default();
    for number in 0..entered {
        assert_eq!(ledger.enter(), number);
    }
    ledger
}

fn tag(number: u64) -> Tag {
    tag_of(3, number)
}

/// A packet of 100 bytes is delivered at interface `at`; returns whether it is new there.
fn deliver(ledger: &mut LinkLedger, number: u64, at: u32, damaged: bool) -> bool {
    let damage = damaged.then(|| Box::new(Damage { frame: Check::Bad, ..Damage::NONE }));
    ledger.record(at, tag(number), &PacketEventKind::Delivered { len: 100, damage })
}

fn discard(ledger: &mut LinkLedger, number: u64, kept: bool, reason: DropReason) {
    let drop = PacketDrop::at_receiver(kept, reason, 100);
    assert!(!ledger.record(1, tag(number), &PacketEventKind::Dropped(drop)));
}

#[test]
fn a_tag_tells_its_direction() {
    assert_eq!(direction_of(tag(17)), 3);
    assert_ne!(tag_of(2, 17), tag(17));
}

#[test]
fn every_packet_has_one_fate() {
    let mut ledger = ledger(4);
    deliver(&mut ledger, 0, 1, false);
    deliver(&mut ledger, 0, 1, false);
    discard(&mut ledger, 1, false, DropReason::FrameCheck);
    discard(&mut ledger, 1, false, DropReason::Lost);
    deliver(&mut ledger, 2, 1, true);
    assert_eq!((ledger.delivered, ledger.damaged, ledger.in_flight()), (2, 1, 1));
    assert_eq!(ledger.drops.of(DropReason::FrameCheck), 1);
    assert!(ledger.balances());
}

#[test]
fn the_loss_of_a_kept_copy_decides_nothing() {
    let mut ledger = ledger(1);
    discard(&mut ledger, 0, true, DropReason::Lost);
    assert_eq!(ledger.in_flight(), 1);
    deliver(&mut ledger, 0, 1, false);
    assert_eq!((ledger.delivered, ledger.drops.total()), (1, 0));
}

#[test]
fn a_delivery_overrides_the_drop_of_a_sender_that_gave_up() {
    let mut ledger = ledger(1);
    discard(&mut ledger, 0, false, DropReason::RetryLimit);
    deliver(&mut ledger, 0, 1, false);
    assert_eq!((ledger.delivered, ledger.drops.total()), (1, 0));
    assert!(ledger.balances());
}

#[test]
fn a_bystander_does_not_hide_the_reason() {
    let mut ledger = ledger(1);
    discard(&mut ledger, 0, false, DropReason::NotForUs);
    discard(&mut ledger, 0, false, DropReason::Lost);
    assert_eq!(ledger.drops.of(DropReason::Lost), 1);
    assert_eq!(ledger.drops.total(), 1);
}

#[test]
fn decided_packets_are_forgotten_in_time() {
    let mut ledger = LinkLedger::default();
    for number in 0..10 * REMEMBERED as u64 {
        let _ = ledger.enter();
        deliver(&mut ledger, number, 1, false);
    }
    assert!(ledger.fates.len() <= REMEMBERED);
    discard(&mut ledger, 0, false, DropReason::Lost);
    deliver(&mut ledger, u64::MAX, 1, false);
    assert!(ledger.balances());
}

#[test]
fn a_packet_is_counted_once_and_damaged_only_if_no_copy_was_whole() {
    let mut ledger = ledger(3);
    for (packet, copies) in [[true, true], [true, false], [false, true]].into_iter().enumerate() {
        for damaged in copies {
            deliver(&mut ledger, packet as u64, 1, damaged);
        }
    }
    assert_eq!((ledger.delivered, ledger.damaged, ledger.copies), (3, 1, 3));
    assert_eq!(ledger.delivered_bytes, 300);
    assert!(ledger.balances());
}

#[test]
fn a_copy_is_new_at_another_interface_alone() {
    let mut ledger = ledger(1);
    let is_new = [4, 4, 5].map(|to| deliver(&mut ledger, 0, to, false));
    assert_eq!(is_new, [true, false, true]);
    assert_eq!((ledger.delivered_bytes, ledger.copies), (100, 2));
}

#[test]
fn a_repair_that_comes_many_packets_later_overrides_a_loss() {
    let mut ledger = LinkLedger::default();
    let all = 3 * REMEMBERED as u64;
    for number in 0..all {
        assert_eq!(ledger.enter(), number);
        if number % 2 == 0 {
            discard(&mut ledger, number, false, DropReason::Lost);
        } else {
            deliver(&mut ledger, number, 1, false);
        }
    }
    assert!(deliver(&mut ledger, 6, 1, true));
    assert!(!deliver(&mut ledger, 6, 1, false), "it was delivered already");
    assert!(!deliver(&mut ledger, 7, 1, false), "it was never lost");
    assert_eq!(ledger.drops.of(DropReason::Lost), all / 2 - 1);
    assert_eq!((ledger.delivered, ledger.damaged), (all / 2 + 1, 1));
    assert!(ledger.balances());
}

#[test]
fn the_memory_of_old_losses_is_limited() {
    let mut ledger = LinkLedger::default();
    for number in 0..2 * (REMEMBERED + OLD_DROPS) as u64 {
        assert_eq!(ledger.enter(), number);
        discard(&mut ledger, number, false, DropReason::Lost);
    }
    assert_eq!(ledger.old_drops.len(), OLD_DROPS);
    assert!(!deliver(&mut ledger, 0, 1, false));
    assert!(ledger.balances());
}

/// The packets of a flow with a ledger, of which number 0, 2, 4 … are.
fn halves(entered: u64) -> LinkLedger {
    let mut ledger = LinkLedger::of_flows(&[FlowId(2)]);
    for number in 0..entered {
        assert_eq!(ledger.enter(), number);
        ledger.enter_flow(FlowId(if number % 2 == 0 { 2 } else { 1 }));
    }
    ledger
}

#[test]
fn a_flow_has_the_outcomes_of_its_packets_alone() {
    let mut ledger = halves(10);
    for number in 0..3 {
        deliver(&mut ledger, number, 1, true);
    }
    deliver(&mut ledger, 2, 1, false);
    for number in 3..7 {
        discard(&mut ledger, number, false, DropReason::Lost);
    }
    deliver(&mut ledger, 6, 1, false);
    assert!(ledger.reopen(tag(5)) && ledger.reopen(tag(4)));
    let flow = ledger.flow(FlowId(2)).expect("a ledger");
    let expected = FlowLedger { entered: 5, delivered: 3, damaged: 1, ..FlowLedger::default() };
    assert_eq!((flow, flow.in_flight()), (&expected, 2));
    assert_eq!(ledger.flow(FlowId(1)), None);
    assert!(ledger.balances());
}

#[test]
fn a_late_delivery_overrides_a_drop_in_the_ledger_of_the_flow_too() {
    let mut ledger = halves(4);
    discard(&mut ledger, 0, false, DropReason::Lost);
    for number in 1..4 {
        deliver(&mut ledger, number, 1, false);
    }
    for _ in 0..REMEMBERED {
        let _ = ledger.enter();
        ledger.enter_flow(FlowId(1));
    }
    let lost = ledger.flow(FlowId(2)).expect("a ledger").drops.of(DropReason::Lost);
    deliver(&mut ledger, 0, 1, true);
    let flow = ledger.flow(FlowId(2)).expect("a ledger");
    assert_eq!((lost, flow.drops.total(), flow.delivered, flow.damaged), (1, 0, 2, 1));
}
