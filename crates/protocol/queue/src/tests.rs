use windfall_base::{Class, Duration};

use super::*;

fn packet(len: usize) -> Frame {
    Frame::packet(vec![0; len])
}

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

#[test]
fn packets_leave_in_the_order_in_which_they_came() {
    let mut queue = DropTail::new(Limits::default());
    for len in 1..=5 {
        assert!(queue.push(at(0), packet(len)).is_none());
    }
    assert_eq!((queue.len(), queue.bytes()), (5, 15));
    let lengths: Vec<_> = core::iter::from_fn(|| queue.pop()).map(|w| w.frame.len()).collect();
    assert_eq!(lengths, [1, 2, 3, 4, 5]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}

#[test]
fn each_limit_refuses_what_exceeds_it() {
    let mut queue = DropTail::new(Limits { packets: 2, bytes: 1_000, ..Limits::default() });
    assert!(queue.push(at(0), packet(600)).is_none());
    assert_eq!(queue.push(at(0), packet(401)), Some(packet(401)));
    assert!(queue.push(at(0), packet(400)).is_none());
    assert_eq!(queue.push(at(0), packet(0)), Some(packet(0)));
    assert_eq!((queue.len(), queue.bytes()), (2, 1_000));
}

#[test]
fn a_packet_expires_when_its_lifetime_has_passed() {
    let mut queue = DropTail::new(Limits::default());
    let lifetime = Some(Duration::from_millis(5));
    let frame = packet(1).with_class(Class { lifetime, ..Class::default() });
    assert!(queue.push(at(10), frame).is_none());
    let waiting = queue.pop().expect("it was pushed");
    assert_eq!(waiting.expires(), Some(at(15)));
}

#[test]
fn what_leaves_makes_room_for_as_many_bytes() {
    let mut queue = DropTail::new(Limits { packets: 3, bytes: 1_000, ..Limits::default() });
    assert!(queue.is_empty());
    assert!(queue.push(at(0), packet(600)).is_none());
    assert!(queue.push(at(0), packet(400)).is_none());
    assert!(!queue.is_empty());
    assert!(queue.pop().is_some());
    assert_eq!((queue.len(), queue.bytes()), (1, 400));
    // The 600 bytes that left are free again, and not one more.
    assert_eq!(queue.push(at(0), packet(601)), Some(packet(601)));
    assert!(queue.push(at(0), packet(600)).is_none());
    assert_eq!((queue.len(), queue.bytes()), (2, 1_000));
}

#[test]
fn packets_that_join_so_many_others_are_to_be_marked() {
    let mut queue = DropTail::new(Limits { packets: 4, mark: 2, ..Limits::default() });
    let mut congested = |joins: usize| {
        (0..joins).for_each(|_| assert!(queue.push(at(0), packet(1)).is_none()));
        queue.pop().map(|waiting| waiting.congested)
    };
    // Of four the last two find two others or more; after the first has left, a fifth finds three.
    assert_eq!([congested(4), congested(1), congested(0)], [false, false, true].map(Some));
    assert_eq!([congested(0), congested(0), congested(0)], [Some(true), Some(true), None]);
    assert_eq!(congested(1), Some(false));
}
