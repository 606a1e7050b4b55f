use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn ten() -> Sent {
    let mut sent = Sent::default();
    for number in 0..10 {
        let at = Instant::START + MS(number);
        sent.push(at, (number != 4).then_some((100, Load::Precise(number))), false);
    }
    sent
}

/// Acknowledges `runs` of (missing above, length) from `largest` down.
fn ack(largest: u32, runs: &[(u16, u16)], damaged: &[u16]) -> SapAck {
    SapAck { largest, runs: runs.to_vec(), damaged: damaged.to_vec(), ..SapAck::default() }
}

fn numbers(packets: &[SentPacket]) -> Vec<u64> {
    packets.iter().map(|packet| packet.number).collect()
}

#[test]
fn listed_packets_have_arrived_and_those_far_below_are_lost() {
    let mut sent = ten();
    assert_eq!(sent.in_flight(), 900);
    let outcome = sent.acknowledge(&ack(8, &[(0, 1), (4, 2)], &[1]));
    assert_eq!(numbers(&outcome.arrived), [8, 2, 3]);
    assert_eq!(numbers(&outcome.damaged), [7], "one below the largest");
    assert_eq!(outcome.sample, Some(Instant::START + MS(8)));
    let (lost, next) = sent.lost(Instant::START + MS(9), Some(MS(50)), true);
    assert_eq!(numbers(&lost), [0, 1, 5], "three or more behind");
    assert_eq!(next, Some(Instant::START + MS(56)), "6 is late, but not lost yet");
    let (lost, next) = sent.lost(Instant::START + MS(56), Some(MS(50)), true);
    assert_eq!((numbers(&lost), next), (vec![6], None));
    assert_eq!(sent.in_flight(), 100);
    assert_eq!(numbers(&sent.give_up(9)), [9]);
    assert!(sent.is_empty() && sent.next() == 10);
}

#[test]
fn an_acknowledgement_of_unsent_packets_changes_nothing() {
    let mut sent = ten();
    let outcome = sent.acknowledge(&ack(10, &[(0, 9)], &[]));
    assert!(outcome.arrived.is_empty() && sent.in_flight() == 900);
    let outcome = sent.acknowledge(&ack(3, &[(0, u16::MAX), (9, 9)], &[u16::MAX]));
    assert!(outcome.arrived.is_empty() && sent.in_flight() == 900, "it counts below zero");
}

#[test]
fn out_of_order_only_time_shows_a_loss_and_what_arrives_late_is_told() {
    let mut sent = ten();
    let outcome = sent.acknowledge(&ack(8, &[(0, 1)], &[]));
    assert!(outcome.overtaken.is_empty());
    let (lost, next) = sent.lost(Instant::START + MS(49), Some(MS(50)), false);
    assert_eq!((numbers(&lost), next), (vec![], Some(Instant::START + MS(50))));
    let outcome = sent.acknowledge(&ack(8, &[(0, 1), (0, 1)], &[]));
    assert_eq!(numbers(&outcome.overtaken), [7]);
    let (lost, next) = sent.lost(Instant::START + MS(51), Some(MS(50)), false);
    assert_eq!((numbers(&lost), next), (vec![0, 1], Some(Instant::START + MS(52))));
    let outcome = sent.acknowledge(&ack(8, &[(0, 2), (5, 1)], &[]));
    assert_eq!((numbers(&outcome.arrived), numbers(&outcome.late)), (vec![], vec![1]));
    let outcome = sent.acknowledge(&ack(8, &[(0, 2), (5, 1)], &[]));
    assert!(outcome.late.is_empty(), "told once");
}

#[test]
fn the_memory_and_the_last_of_what_is_in_flight_are_told() {
    let mut sent = Sent::default();
    assert_eq!((sent.last_at(), sent.is_last_approximate(), sent.charge()), (None, false, 0));
    for (number, load, is_approximate) in [
        (0, Load::Precise(0), false),
        (1, Load::Approximate { is_exact: false }, true),
        (2, Load::Probe, false),
        (3, Load::Repeatable(7), true),
    ] {
        sent.push(Instant::START + MS(number), Some((50, load)), false);
        assert_eq!(sent.is_last_approximate(), is_approximate, "{load:?}");
        assert_eq!(sent.last_at(), Some(Instant::START + MS(number)));
    }
    // What needs no acknowledgement comes after all.
    sent.push(Instant::START + MS(9), None, false);
    assert_eq!(sent.last_at(), Some(Instant::START + MS(3)));
    assert_eq!((sent.charge(), sent.in_flight()), (5 * PACKET, 200));
    sent.restart_timer(Instant::START + MS(20));
    assert_eq!(sent.last_at(), Some(Instant::START + MS(20)));
    assert_eq!(numbers(&sent.give_up(2)), [0, 1]);
    assert_eq!((sent.charge(), sent.in_flight()), (5 * PACKET, 100), "two may still arrive");
    sent.acknowledge(&ack(3, &[(0, 2)], &[]));
    assert_eq!((sent.last_at(), sent.is_empty()), (None, true));
    sent.clear();
    assert_eq!((sent.next(), sent.charge()), (5, 0), "no number is used twice");
}

#[test]
fn what_is_given_up_is_remembered_up_to_a_limit() {
    let mut sent = Sent::default();
    for number in 0..REMEMBERED as u64 + 2 {
        sent.push(Instant::START, Some((10, Load::Precise(number))), false);
    }
    sent.push(Instant::START, Some((10, Load::Approximate { is_exact: false })), false);
    assert_eq!(sent.give_up(REMEMBERED + 2).len(), REMEMBERED + 2);
    let outcome = sent.acknowledge(&ack(REMEMBERED as u32 + 2, &[(0, REMEMBERED as u16 + 3)], &[]));
    let late = numbers(&outcome.late);
    assert_eq!((late.len(), late[0]), (REMEMBERED, 2), "the oldest two are forgotten");
}
