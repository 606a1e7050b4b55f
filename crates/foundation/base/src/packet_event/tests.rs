use super::{DropSite, PacketCounters, PacketDrop, PacketEvent, PacketEventKind};
use crate::{DropReason, Ledger, Tag};

fn account(events: &[PacketEventKind]) -> (Ledger, PacketCounters) {
    let mut ledger = Ledger::default();
    let mut counters = PacketCounters::default();
    for event in events {
        ledger.record(event);
        counters.record(event);
    }
    (ledger, counters)
}

#[test]
fn an_event_is_small() {
    assert!(size_of::<PacketEvent>() <= 40, "{}", size_of::<PacketEvent>());
}

#[test]
fn a_sender_has_finished_with_a_packet_that_it_does_not_keep() {
    let sent = |kept| PacketEventKind::Sent { attempt: 1, len: 100, kept };
    let (mut ledger, counters) = account(&[sent(false), sent(true)]);
    (ledger.taken, ledger.held) = (2, 1);
    assert_eq!(ledger.given, 1);
    assert!(ledger.balances());
    assert_eq!((counters.frames, counters.frame_bytes, counters.retransmissions), (2, 200, 0));
}

#[test]
fn a_kept_packet_ends_when_it_is_acknowledged_or_given_up() {
    let sent = |attempt| PacketEventKind::Sent { attempt, len: 100, kept: true };
    let drop = PacketDrop::at_sender(DropReason::RetryLimit, 90);
    let given_up = PacketEventKind::Dropped(drop);
    let (mut ledger, counters) =
        account(&[sent(1), sent(2), PacketEventKind::Acknowledged, sent(1), given_up]);
    ledger.taken = 2;
    assert!(ledger.balances());
    assert_eq!(ledger.drops.of(DropReason::RetryLimit), 1);
    assert_eq!((counters.frames, counters.retransmissions, counters.acknowledged), (3, 1, 1));
}

#[test]
fn a_repair_adds_the_packet_that_was_missing() {
    let repaired = |was_missing| PacketEventKind::Repaired { was_missing };
    let delivered = || PacketEventKind::Delivered { len: 100, damage: None };
    let (mut ledger, counters) =
        account(&[repaired(true), delivered(), repaired(false), delivered()]);
    // The second one came, and was damaged.
    ledger.taken += 1;
    assert_eq!(ledger.given, 2);
    assert!(ledger.balances());
    assert_eq!(counters.repaired, 2);
}

#[test]
fn marks_and_combined_packets_change_no_ledger() {
    let (ledger, counters) =
        account(&[PacketEventKind::Marked, PacketEventKind::Combined { copies: 3 }]);
    assert_eq!(ledger, Ledger::default());
    assert_eq!((counters.marked, counters.combined), (1, 1));
}

#[test]
fn an_event_gives_its_drop() {
    let drop = PacketDrop::at_receiver(true, DropReason::FrameCheck, 100);
    assert_eq!(drop.site, DropSite::Receiver);
    let event = PacketEvent::dropped(Some(Tag(1)), drop);
    assert_eq!(event.packet_drop(), Some(drop));
    assert_eq!(event.drop_reason(), Some(DropReason::FrameCheck));
    assert_eq!(PacketEventKind::Marked.of_packet(Some(Tag(1))).packet_drop(), None);
}
