//! Approximate messages that are sent again if they were lost, and not if they arrived damaged.

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Impairments, Network, SECOND};
use super::parts::ethernet;
use crate::message::{Integrity, Message, Mode};

const APPROXIMATE: Mode = Mode::Approximate { protected: 0 };
const LATENESS: Duration = Duration::from_secs(2);

fn connected(config: SapConfig, seed: u64) -> (Network, [ConnectionId; 2]) {
    let (mut network, ids) = Network::connected(config, CLEAN, seed);
    network.run(SECOND);
    network.ends[A].set_lateness(ids[A], LATENESS);
    (network, ids)
}

fn approximate(len: usize) -> Message {
    Message { stream: 0, mode: APPROXIMATE, data: Bytes::from(vec![7; len]) }
}

/// Sends messages of 1000 bytes over a path, some each millisecond.
fn send(network: &mut Network, id: ConnectionId, count: u32) {
    for number in 0..count {
        network.send(A, id, APPROXIMATE, &[number as u8; 1_000]);
        if number % 4 == 0 {
            network.run(Duration::from_millis(1));
        }
    }
}

#[test]
fn what_was_lost_is_sent_again_and_delivered_once() {
    for seed in 0..10 {
        let (mut network, [a, b]) = connected(SapConfig::standard(), seed);
        network.impairments =
            Impairments { loss: 0.1, reordering: 0.1, duplication: 0.05, ..CLEAN };
        send(&mut network, a, 300);
        network.run(SECOND * 3);
        let mut numbers: Vec<u32> =
            network.receive(B, b).iter().map(|received| received.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..300).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(network.ends[A].take_fate(a, 0), Some(true), "seed {seed}");
        assert!(network.ends[A].is_flushed(a));
    }
}

#[test]
fn what_is_sent_again_for_want_of_acknowledgements_is_delivered_once() {
    for (len, count, streams) in [(500, 6_000, 1), (500, 6_000, 40), (4_000, 1_500, 1)] {
        for seed in 0..3 {
            let (mut network, [a, b]) = connected(SapConfig::standard(), seed);
            network.impairments = Impairments { loss_to_a: 0.9, reordering: 0.05, ..CLEAN };
            let mut names = Vec::new();
            let read = |network: &mut Network, names: &mut Vec<_>| {
                let received = network.receive(B, b);
                names.extend(received.into_iter().map(|it| (it.stream, it.number)));
            };
            for number in 0..count {
                let message = Message { stream: number % streams, ..approximate(len) };
                while network.ends[A].send(a, &message).is_err() {
                    network.run(Duration::from_millis(5));
                    read(&mut network, &mut names);
                }
                if number % 16 == 0 {
                    network.run(Duration::from_millis(1));
                    read(&mut network, &mut names);
                }
            }
            network.ends[A].finish(a);
            let finished = SapEvent::Finished { approximate: count.into() };
            for _ in 0..6_000 {
                if network.happened(B, &finished) {
                    break;
                }
                network.run(Duration::from_millis(10));
                read(&mut network, &mut names);
            }
            let case = format!("{len} bytes, {streams} streams, seed {seed}");
            names.sort_unstable();
            let received = names.len();
            names.dedup();
            assert_eq!((received, names.len()), (usize::from(count), usize::from(count)), "{case}");
            let incomplete = network.ends[B].drops().get(&Dropped::Incomplete).copied();
            assert_eq!(incomplete, None, "{case}: parts of what was delivered are no message");
            assert!(network.happened(B, &finished), "{case}");
        }
    }
}

#[test]
fn what_full_queues_drop_for_long_is_whole_all_the_same() {
    let mut given_up = 0;
    for (patient, seed) in (0..12).map(|seed| (seed % 2 == 0, seed / 2)) {
        let (mut network, [a, b]) = connected(SapConfig::standard(), seed);
        network.ends[A].set_patience_with_queues(a, SECOND * 10 * u64::from(patient));
        // What others send fills the queue most of the time.
        network.impairments = Impairments { loss: 0.5, ..CLEAN };
        send(&mut network, a, 100);
        let mut numbers = Vec::new();
        for _ in 0..400 {
            network.run(Duration::from_millis(100));
            numbers.extend(network.receive(B, b).iter().map(|received| received.number));
        }
        numbers.sort_unstable();
        let is_whole = numbers == (0..100).collect::<Vec<_>>();
        let fate = network.ends[A].take_fate(a, 0);
        if patient {
            assert!(is_whole && fate == Some(true), "seed {seed}: {fate:?} {numbers:?}");
        } else {
            given_up += u32::from(fate == Some(false));
        }
    }
    assert!(given_up > 0, "a program's own lateness ends with its time");
}

#[test]
fn what_is_lost_to_damage_or_silence_is_late_whatever_the_patience_with_queues() {
    // Nothing more arrives at all.
    let (mut network, [a, _]) = connected(SapConfig::standard(), 1);
    network.ends[A].set_patience_with_queues(a, LATENESS);
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    network.send(A, a, APPROXIMATE, b"lost");
    network.run(SECOND * 8);
    assert_eq!(network.ends[A].take_fate(a, 0), Some(false));
    // The path has damaged something, and loses much.
    let mut given_up = 0;
    for seed in 0..10 {
        let (mut network, [a, _]) = connected(SapConfig::standard(), seed);
        network.ends[A].set_patience_with_queues(a, LATENESS);
        network.impairments = Impairments { damage: 0.5, intact_prefix: 100, ..CLEAN };
        send(&mut network, a, 40);
        network.run(SECOND);
        network.impairments = Impairments { loss: 0.75, ..CLEAN };
        send(&mut network, a, 40);
        network.run(SECOND * 30);
        given_up += u32::from(network.ends[A].take_fate(a, 0) == Some(false));
    }
    assert!(given_up > 0, "what a bad link loses is sent again for ever");
}

#[test]
fn what_arrives_damaged_is_not_sent_again() {
    let (mut network, [a, b]) = connected(SapConfig::standard(), 1);
    // Everything that must be exact is in front.
    network.impairments = Impairments { damage: 0.5, intact_prefix: 100, ..CLEAN };
    let before = network.sent(A, SapKind::Data).len();
    send(&mut network, a, 200);
    network.run(SECOND);
    assert_eq!(network.sent(A, SapKind::Data).len() - before, 200);
    let received = network.receive(B, b);
    let suspect = received.iter().filter(|it| it.integrity != Integrity::Intact).count();
    assert!(received.len() == 200 && suspect > 60, "{} {suspect}", received.len());
}

#[test]
fn what_is_too_late_is_given_up_after_three_attempts() {
    let (mut network, [a, b]) = connected(SapConfig::standard(), 1);
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    network.send(A, a, APPROXIMATE, b"lost");
    network.ends[A].finish(a);
    network.run(Duration::from_millis(500));
    assert_eq!(network.ends[A].take_fate(a, 0), None, "it is not late");
    assert!(network.ends[A].undelivered(a).messages == 1 && !network.ends[A].is_flushed(a));
    network.run(SECOND * 4);
    let data = network.sent(A, SapKind::Data).len();
    assert!((3..12).contains(&data), "{data}");
    assert_eq!(network.ends[A].take_fate(a, 0), Some(false));
    assert_eq!(network.ends[A].take_fate(a, 0), Some(true), "a new account");
    network.impairments = CLEAN;
    network.run(SECOND * 3);
    // The end counts messages, not transmissions.
    assert!(network.happened(B, &SapEvent::Finished { approximate: 1 }));
    assert!(network.receive(B, b).is_empty());
}

#[test]
fn by_default_and_in_the_paper_profile_messages_are_sent_once() {
    for (config, lateness) in
        [(SapConfig::standard(), Duration::ZERO), (SapConfig::paper(), LATENESS)]
    {
        let (mut network, [a, _]) = connected(config, 1);
        network.ends[A].set_lateness(a, lateness);
        network.impairments = Impairments { loss: 1.0, ..CLEAN };
        network.send(A, a, APPROXIMATE, b"lost");
        network.run(SECOND);
        assert_eq!(network.sent(A, SapKind::Data).len(), 1);
        assert_eq!(network.ends[A].take_fate(a, 0), Some(true));
    }
}

/// The patience with queues of the bodies of the web.
const STALL: Duration = Duration::from_secs(10);
/// The length of a message that a path of 1500 bytes does not carry in one datagram.
const LONG: usize = 2_000;

/// Two ends that know their path to carry datagrams of `LONG` bytes, which it does no more.
fn shrunk(seed: u64) -> (Network, [ConnectionId; 2]) {
    let (mut network, ids) = connected(SapConfig::standard(), seed);
    network.ends[A].set_patience_with_queues(ids[A], STALL);
    assert!(network.ends[A].max_whole(ids[A]) > LONG);
    network.impairments = Impairments { mtu: 1_500, ..CLEAN };
    (network, ids)
}

/// Sends messages over a path that loses most packets, so that they are cut into parts, and returns
/// how many of them arrive, and how many of those have holes.
fn over_a_full_queue(seed: u64, patience_of_receiver: Duration) -> (usize, usize) {
    let (mut network, [a, b]) = connected(SapConfig::standard(), seed);
    network.ends[A].set_patience_with_queues(a, STALL);
    network.ends[B].set_patience_with_queues(b, patience_of_receiver);
    network.impairments = Impairments { loss: 0.75, ..CLEAN };
    for _ in 0..30 {
        network.send(A, a, APPROXIMATE, &[7; 3_500]);
    }
    network.run(SECOND * 50);
    let received = network.receive(B, b);
    (received.len(), received.iter().filter(|it| !it.missing.is_empty()).count())
}

#[test]
fn the_patience_with_queues_of_the_receiver_waits_for_the_parts_that_a_full_queue_dropped() {
    let mut with_holes = 0;
    for seed in 0..5 {
        assert_eq!(over_a_full_queue(seed, STALL), (30, 0), "seed {seed}");
        with_holes += over_a_full_queue(seed, Duration::ZERO).1;
    }
    assert!(with_holes > 0);
}

#[test]
fn a_message_with_holes_is_delivered_after_the_patience_with_queues() {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    network.ends[B].set_patience_with_queues(b, STALL);
    network.impairments.loss = 0.3;
    network.send(A, a, APPROXIMATE, &[7; 60_000]);
    network.run(SECOND * 9);
    assert!(network.receive(B, b).is_empty());
    network.run(SECOND * 2);
    let received = network.receive(B, b);
    assert!(received.len() == 1 && !received[0].missing.is_empty());
}

#[test]
fn the_patience_with_queues_ends_on_a_path_that_is_dead() {
    for count in [1, 30] {
        let (mut network, [a, b]) = connected(SapConfig::standard(), 1);
        network.ends[A].set_patience_with_queues(a, STALL);
        network.impairments = Impairments { loss: 1.0, ..CLEAN };
        send(&mut network, a, count);
        network.ends[A].finish(a);
        network.run(SECOND * 8);
        assert_eq!(network.ends[A].take_fate(a, 0), None, "the path may recover");
        network.run(SECOND * 6);
        assert_eq!(network.ends[A].take_fate(a, 0), Some(false), "{count} messages");
        assert!(network.ends[A].is_flushed(a));
        network.impairments = CLEAN;
        network.run(SECOND * 3);
        assert!(network.happened(B, &SapEvent::Finished { approximate: count }));
        assert!(network.receive(B, b).is_empty());
    }
}

//= S0.19
#[test]
fn what_is_sent_again_does_not_extend_a_close() {
    let (mut network, [a, _]) = connected(SapConfig::standard(), 1);
    network.ends[A].set_patience_with_queues(a, STALL);
    network.ends[A].set_linger(a, SECOND * 3);
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    send(&mut network, a, 8);
    network.ends[A].close(network.now, a);
    network.run(Duration::from_millis(3_100));
    assert!(network.ends[A].is_empty());
}

#[test]
fn a_datagram_that_never_arrives_is_given_up_although_others_pass() {
    // What is too long, as the others show, is cut. Every path is assumed to carry 260 bytes.
    for (others, mtu, len, least, most, arrives) in [
        (200, 1_500, LONG, 0, 2, true),
        (1_000, 1_500, LONG, 0, 2, true),
        (1_000, 1_000, 1_100, 0, 3, true),
        (1_000, 250, 1_100, 50, 65, false),
    ] {
        let (mut network, [a, b]) = shrunk(1);
        network.impairments.mtu = mtu;
        network.ends[A].send(a, &Message { stream: 1, ..approximate(len) }).expect("room");
        let mut fate = None;
        let mut received = 0;
        for step in 0..1_000 {
            if step < others {
                network.send(A, a, APPROXIMATE, &[7; 200]);
            }
            // What the peer says is no progress either.
            network.send(B, b, Mode::Precise, b"still here");
            network.run(Duration::from_millis(100));
            received += network.receive(B, b).iter().filter(|it| it.stream == 0).count();
            network.receive(A, a);
            if fate.is_none() {
                fate = network.ends[A].take_fate(a, 1).map(|arrived| (step / 10, arrived));
            }
        }
        assert_eq!(received, others);
        assert!(fate.is_some_and(|(at, _)| (least..=most).contains(&at)), "{fate:?}");
        assert_eq!(fate.map(|it| it.1), Some(arrives));
    }
}

#[test]
fn what_a_shrunk_path_does_not_carry_is_cut_and_arrives_whole() {
    for (patience, protected, seed) in
        [(STALL, 0, 1), (STALL, 50, 2), (STALL, LONG, 3), (Duration::ZERO, 0, 4)]
    {
        let (mut network, [a, b]) = shrunk(seed);
        network.ends[A].set_patience_with_queues(a, patience);
        let data: Bytes = (0..LONG).map(|at| at as u8).collect();
        let mode = Mode::Approximate { protected };
        for _ in 0..20 {
            let message = Message { stream: 0, mode: mode.clone(), data: data.clone() };
            network.ends[A].send(a, &message).expect("there is room");
        }
        network.ends[A].finish(a);
        network.run(SECOND * 9);
        let received = network.receive(B, b);
        let whole = received.iter().filter(|it| it.data == data && it.missing.is_empty()).count();
        assert_eq!((received.len(), whole), (20, 20), "seed {seed}");
        assert_eq!(network.ends[A].take_fate(a, 0), Some(true), "seed {seed}");
        assert!(network.happened(B, &SapEvent::Finished { approximate: 20 }), "seed {seed}");
        let (queued, gone) = network.ends[A].approximate_progress(a);
        assert_eq!(queued, gone);
    }
}

#[test]
fn ranges_that_a_shrunk_path_does_not_carry_are_given_up_with_their_lateness() {
    let (mut network, [a, _]) = shrunk(1);
    let mode = Mode::Ranges(vec![10..20, 30..50]);
    let message = Message { stream: 0, mode, data: vec![7; LONG].into() };
    network.ends[A].send(a, &message).expect("there is room");
    network.run(SECOND * 8);
    assert_eq!(network.ends[A].take_fate(a, 0), Some(false));
}

#[test]
fn where_the_window_limits_one_in_four_is_sent_exact_after_losses() {
    for (lateness, pause, shares) in
        [(Duration::ZERO, 0, 0.04..0.3), (SECOND, 0, 0.04..0.3), (Duration::ZERO, 20, 0.0..0.01)]
    {
        let lossy = Impairments { loss: 0.04, ..CLEAN };
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), lossy, 1);
        network.ends[A].set_lateness(a, lateness);
        for _ in 0..1_000 {
            network.send(A, a, Mode::Approximate { protected: 100 }, &[7; 1_000]);
            network.run(Duration::from_millis(pause));
            network.receive(B, b);
        }
        network.run(SECOND * 10);
        let sent = network.sent(A, SapKind::Data);
        let exact = sent.iter().filter(|it| it.exact == it.len()).count();
        let share = exact as f64 / sent.len() as f64;
        assert!(shares.contains(&share), "{lateness:?}, {pause} ms: {share}");
    }
}

#[test]
fn an_end_does_not_wait_again_for_what_was_missing_long_before() {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.impairments.loss = 1.0;
    network.send(A, a, APPROXIMATE, b"never arrives");
    network.run(Duration::from_millis(1));
    network.impairments.loss = 0.0;
    for _ in 0..15 {
        network.send(A, a, APPROXIMATE, b"arrives");
        network.run(Duration::from_millis(10));
    }
    network.ends[A].finish(a);
    network.run(DELAY + Duration::from_millis(1));
    assert!(network.happened(B, &SapEvent::Finished { approximate: 16 }));
}
