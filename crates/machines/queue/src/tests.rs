use windfall_base::{Class, DropReason, Duration, Frame, Instant};

use super::*;

fn packet(len: usize) -> Frame {
    Frame::packet(vec![0; len])
}

/// Tells whether a packet of this length is taken; what is refused comes back whole.
fn joins(queue: &mut PacketQueue, len: usize) -> bool {
    match queue.push(at(0), packet(len)) {
        Join::Joined => true,
        Join::Refused(frame, DropReason::QueueFull) if frame == packet(len) => false,
        other => panic!("{other:?}"),
    }
}

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

#[test]
fn packets_leave_in_the_order_in_which_they_came() {
    let mut queue = PacketQueue::drop_tail(Limits::default());
    for len in 1..=5 {
        assert!(joins(&mut queue, len));
    }
    assert_eq!((queue.len(), queue.bytes()), (5, 15));
    let lengths: Vec<_> = core::iter::from_fn(|| queue.pop(at(0))).map(|w| w.frame.len()).collect();
    assert_eq!(lengths, [1, 2, 3, 4, 5]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}

#[test]
fn each_limit_refuses_what_exceeds_it() {
    let mut queue =
        PacketQueue::drop_tail(Limits { packets: 2, bytes: 1_000, ..Limits::default() });
    assert!(joins(&mut queue, 600));
    assert!(!joins(&mut queue, 401));
    assert!(joins(&mut queue, 400));
    assert!(!joins(&mut queue, 0));
    assert_eq!((queue.len(), queue.bytes()), (2, 1_000));
}

#[test]
fn a_packet_expires_when_its_lifetime_has_passed() {
    let mut queue = PacketQueue::drop_tail(Limits::default());
    let lifetime = Some(Duration::from_millis(5));
    let frame = packet(1).with_class(Class { lifetime, ..Class::default() });
    assert!(matches!(queue.push(at(10), frame), Join::Joined));
    let waiting = queue.pop(at(0)).expect("it was pushed");
    assert_eq!(waiting.expires(), Some(at(15)));
}

#[test]
fn what_leaves_makes_room_for_as_many_bytes() {
    let mut queue =
        PacketQueue::drop_tail(Limits { packets: 3, bytes: 1_000, ..Limits::default() });
    assert!(queue.is_empty());
    assert!(joins(&mut queue, 600));
    assert!(joins(&mut queue, 400));
    assert!(!queue.is_empty());
    assert!(queue.pop(at(0)).is_some());
    assert_eq!((queue.len(), queue.bytes()), (1, 400));
    // The 600 bytes that left are free again, and not one more.
    assert!(!joins(&mut queue, 601));
    assert!(joins(&mut queue, 600));
    assert_eq!((queue.len(), queue.bytes()), (2, 1_000));
}

#[test]
fn packets_that_join_so_many_others_are_to_be_marked() {
    let mut queue = PacketQueue::drop_tail(Limits { packets: 4, mark: 2, ..Limits::default() });
    let mut congested = |count: usize| {
        (0..count).for_each(|_| assert!(joins(&mut queue, 1)));
        queue.pop(at(0)).map(|waiting| waiting.verdict == QueueVerdict::Mark)
    };
    // Of four the last two find two others or more; after the first has left, a fifth finds three.
    assert_eq!([congested(4), congested(1), congested(0)], [false, false, true].map(Some));
    assert_eq!([congested(0), congested(0), congested(0)], [Some(true), Some(true), None]);
    assert_eq!(congested(1), Some(false));
}

#[test]
fn a_queue_that_drops_at_its_head_accounts_for_every_packet() {
    let limits =
        Limits { packets: 8, bytes: 1_000, management: Management::DropHead, ..Limits::default() };
    let random = windfall_base::Stream::new(windfall_base::Seed(1), "queue");
    let mut queue = PacketQueue::new(limits, |_| Inspection::default(), random);
    let mut came = 0;
    let mut gone = 0;
    for number in 0..2_000_usize {
        came += 1;
        match queue.push(at(0), packet(1 + number * 37 % 1_100)) {
            Join::Joined => {}
            Join::Displaced(heads) => gone += heads.len(),
            Join::Refused(frame, reason) => {
                assert!(frame.payload.len() > 1_000 && reason == DropReason::QueueFull);
                gone += 1;
            }
        }
        assert!(queue.len() <= 8 && queue.bytes() <= 1_000);
        assert_eq!(came, gone + queue.len());
        if number % 5 == 0 {
            gone += usize::from(queue.pop(at(0)).is_some());
        }
    }
}

#[test]
fn a_packet_that_displaces_others_is_marked_as_any_other() {
    let management = Management::DropHead;
    let limits = Limits { packets: 3, mark: 2, management, ..Limits::default() };
    let random = windfall_base::Stream::new(windfall_base::Seed(1), "queue");
    let mut queue = PacketQueue::new(limits, |_| Inspection::default(), random);
    for number in 0..5 {
        let join = queue.push(at(0), packet(1));
        assert_eq!(matches!(join, Join::Displaced(_)), number >= 3, "{number}");
    }
    // The third found two waiting, and each later one two beside the one that left for it.
    let left: Vec<_> = core::iter::from_fn(|| queue.pop(at(0))).map(|it| it.verdict).collect();
    assert_eq!(left, [QueueVerdict::Mark; 3]);
}
