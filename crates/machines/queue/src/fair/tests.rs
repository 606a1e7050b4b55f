use windfall_base::Duration;

use super::*;
use crate::management::{CodelConfig, Management};
use crate::waiting::Inspection;

/// The first byte of a packet is its flow.
fn by_first_byte(frame: &Frame) -> Inspection {
    let (head, _) = frame.payload.clone().into_parts();
    let flow = head.first().copied().unwrap_or_default();
    Inspection { flow: flow.into(), may_be_marked: false }
}

fn packet(flow: u8, len: usize) -> Frame {
    let mut bytes = vec![0; len];
    bytes[0] = flow;
    Frame::packet(bytes)
}

fn queue(packets: usize) -> FairQueue {
    let config = FairConfig::USUAL;
    let management = Management::FqCodel(config);
    FairQueue::new(config, Limits { packets, management, ..Limits::default() }, by_first_byte)
}

fn flow_of(waiting: &Waiting) -> u8 {
    by_first_byte(&waiting.frame).flow as u8
}

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

#[test]
fn flows_take_turns_by_bytes() {
    let mut queue = queue(1_000);
    for _ in 0..90 {
        assert!(matches!(queue.push(at(0), packet(1, 1_500)), Join::Joined));
        (0..3).for_each(|_| assert!(matches!(queue.push(at(0), packet(2, 500)), Join::Joined)));
    }
    let mut bytes = [0_usize; 2];
    for _ in 0..200 {
        let head = queue.pop(at(0)).expect("packets wait");
        bytes[usize::from(flow_of(&head)) - 1] += head.frame.payload.len();
        let lead = bytes[0].abs_diff(bytes[1]);
        // Each may be ahead by what it had left of a turn, and by the turn itself.
        assert!(lead <= 2 * 1_514, "{bytes:?}");
    }
}

#[test]
fn a_flow_that_begins_goes_ahead_of_those_that_send_all_the_time() {
    let mut queue = queue(1_000);
    (0..100).for_each(|_| assert!(matches!(queue.push(at(0), packet(1, 1_500)), Join::Joined)));
    for _ in 0..10 {
        assert_eq!(queue.pop(at(1)).map(|head| flow_of(&head)), Some(1));
    }
    assert!(matches!(queue.push(at(1), packet(7, 100)), Join::Joined));
    let next: Vec<_> = (0..2).filter_map(|_| queue.pop(at(1))).map(|head| flow_of(&head)).collect();
    assert!(next.contains(&7), "{next:?}");
}

#[test]
fn the_longest_queue_gives_up_its_head_when_there_is_no_room() {
    let mut queue = queue(10);
    for number in 0..9 {
        assert!(matches!(queue.push(at(number), packet(1, 1_000)), Join::Joined));
    }
    assert!(matches!(queue.push(at(9), packet(2, 100)), Join::Joined));
    match queue.push(at(10), packet(2, 100)) {
        Join::Displaced(heads) => {
            let heads: Vec<_> = heads.iter().map(|head| (flow_of(head), head.since)).collect();
            assert_eq!(heads, [(1, at(0))]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((queue.len(), queue.bytes()), (10, 8 * 1_000 + 2 * 100));
}

#[test]
fn what_leaves_is_what_came_and_counts_come_back_to_nothing() {
    let mut queue = queue(10_000);
    let mut taken = 0;
    let mut left = 0;
    for ms in 0..3_000_u64 {
        for flow in 0..3 {
            if matches!(queue.push(at(ms), packet(flow, 400)), Join::Joined) {
                taken += 1;
            }
        }
        left += usize::from(queue.pop(at(ms)).is_some());
    }
    let mut dropped = 0;
    while let Some(head) = queue.pop(at(3_000)) {
        dropped += usize::from(head.verdict == QueueVerdict::Drop);
        left += 1;
    }
    assert_eq!((left, queue.len(), queue.bytes()), (taken, 0, 0));
    assert!(dropped > 0, "packets waited for two seconds");
}

#[test]
fn a_long_packet_takes_the_room_of_as_many_short_ones_as_it_needs() {
    let management = Management::FqCodel(FairConfig::USUAL);
    let limits = Limits { packets: 1_000, bytes: 1_000, management, ..Limits::default() };
    let mut queue = FairQueue::new(FairConfig::USUAL, limits, by_first_byte);
    for number in 0..10 {
        assert!(matches!(queue.push(at(number), packet(1, 100)), Join::Joined));
    }
    match queue.push(at(10), packet(2, 250)) {
        Join::Displaced(heads) => assert_eq!(heads.len(), 3),
        other => panic!("{other:?}"),
    }
    assert_eq!((queue.len(), queue.bytes()), (8, 950));
    // What could never fit takes no room of others.
    assert!(matches!(queue.push(at(11), packet(2, 1_001)), Join::Refused(..)));
    assert_eq!((queue.len(), queue.bytes()), (8, 950));
}

#[test]
fn packets_without_bytes_make_room_too() {
    let config = FairConfig::USUAL;
    let management = Management::FqCodel(config);
    let limits = Limits { packets: 3, management, ..Limits::default() };
    let mut queue = FairQueue::new(config, limits, |_| Inspection::default());
    for _ in 0..3 {
        assert!(matches!(queue.push(at(0), Frame::packet(Vec::new())), Join::Joined));
    }
    assert!(matches!(queue.push(at(1), Frame::packet(Vec::new())), Join::Displaced(_)));
    assert_eq!((queue.len(), queue.bytes()), (3, 0));
}

#[test]
fn an_idle_time_forgives_what_flows_have_sent_beyond_their_turns() {
    let codel = CodelConfig::USUAL;
    let config = FairConfig { codel, flows: 1_024, quantum: 300 };
    let limits =
        Limits { packets: 100, management: Management::FqCodel(config), ..Limits::default() };
    // Whether or not the link has found the queue empty meanwhile.
    for asks in [false, true] {
        let mut queue = FairQueue::new(config, limits, by_first_byte);
        for _ in 0..4 {
            assert!(matches!(queue.push(at(0), packet(1, 1_500)), Join::Joined));
        }
        (0..4).for_each(|_| drop(queue.pop(at(1)).expect("packets wait")));
        assert!(!asks || queue.pop(at(2)).is_none());
        for flow in [1, 2] {
            assert!(matches!(queue.push(at(500), packet(flow, 200)), Join::Joined));
        }
        let order: Vec<_> = core::iter::from_fn(|| queue.pop(at(501))).collect();
        let order: Vec<_> = order.iter().map(flow_of).collect();
        // The first to come is the first to go, as in Linux, where each has a whole quantum.
        assert_eq!(order, [1, 2], "{asks}");
    }
}
