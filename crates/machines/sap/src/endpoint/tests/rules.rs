//! The six rules of the approximate networking model (paper 000, section 3), one test each.

use proptest::prelude::*;
use windfall_wire_net::sap::SapAck;

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use crate::message::{Integrity, MessageKind, Mode};

const APPROXIMATE: Mode = Mode::Approximate { protected: 0 };

//= S0.2
#[test]
fn rule_1_a_unit_of_data_is_precise_or_approximate() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, b"exact");
    network.send(A, a, APPROXIMATE, b"about");
    network.run(SECOND);
    let received = network.receive(B, b);
    let kinds: Vec<_> = received.iter().map(|it| (it.kind, &it.data[..])).collect();
    assert_eq!(
        kinds,
        [(MessageKind::Precise, &b"exact"[..]), (MessageKind::Approximate, b"about")]
    );
}

//= S0.2
//= S0.3
#[test]
fn rule_2_precise_data_carry_their_check() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, &[7; 500]);
    let precise = network.sent(A, SapKind::Data)[0].clone();
    assert_eq!(precise.coverage(), 0, "UDP-Lite covers all of it");
    let good = precise.to_bytes();
    let mut taken = Vec::new();
    let now = network.now;
    for bit in 0..good.len() * 8 {
        let mut damaged = good.to_vec();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &damaged.into());
        taken.extend(network.ends[B].receive(now, b));
    }
    assert_eq!(taken, []);
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 1, "the good one");
}

//= S0.2
#[test]
fn rule_3_checks_of_approximate_data_never_drop_them() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, APPROXIMATE, &[7; 600]);
    let transmit = network.sent(A, SapKind::Data)[0].clone();
    let mut bytes = transmit.to_bytes().to_vec();
    bytes[transmit.exact..].iter_mut().for_each(|byte| *byte = !*byte);
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes.into());
    let received = network.ends[B].receive(now, b).expect("it arrives with every bit inverted");
    assert_eq!(received.data, vec![!7; 600]);
    let whole = 0..600;
    assert_eq!(received.integrity, Integrity::Suspect(vec![whole]));
}

//= S0.2
//= S0.3
#[test]
fn rule_4_one_transmission_may_hold_both_and_marks_them() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Approximate { protected: 100 }, &[7; 600]);
    let transmit = network.sent(A, SapKind::Data)[0].clone();
    assert_eq!(usize::from(transmit.coverage()), 8 + transmit.exact);
    assert_eq!(transmit.len() - transmit.exact, 500);
    network.run(SECOND);
    let marked = 0..100;
    assert_eq!(network.receive(B, b)[0].exact, [marked]);
}

//= S0.2
//= S0.22
//= S0.75
#[test]
fn rule_5_only_precise_data_are_acknowledged_retransmitted_and_ordered() {
    let everything_lost = Impairments { loss: 1.0, ..CLEAN };
    let (mut network, [a, b]) = Network::connected(SapConfig::paper(), everything_lost, 1);
    // A protected prefix does not make a message precise: it is not retransmitted either.
    network.send(A, a, Mode::Approximate { protected: 10 }, b"about, with an exact beginning");
    network.send(A, a, Mode::Precise, b"exact");
    network.run(SECOND);
    let copies = |flags: u8| {
        let packets = network.sent(A, SapKind::Data);
        packets.iter().filter(|it| it.parts[0][1] == flags).count()
    };
    assert_eq!(copies(1), 1);
    assert!(copies(0) > 5);
    network.impairments = CLEAN;
    let acks = network.sent(B, SapKind::Ack).len();
    network.send(A, a, APPROXIMATE, b"about");
    network.run(Duration::from_millis(8));
    assert_eq!(network.sent(B, SapKind::Ack).len(), acks, "it needs no acknowledgement");
    network.run(SECOND);
    assert!(network.sent(B, SapKind::Ack).len() > acks);
    let data: Vec<_> = network.receive(B, b).into_iter().map(|it| it.data).collect();
    assert_eq!(data, [&b"about"[..], b"exact"]);
}

//= S0.20
#[test]
fn a_listener_takes_approximate_data_at_once_and_precise_data_in_order_and_once() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    assert_eq!(network.sent(B, SapKind::Accept).len(), 1, "the ping is answered");
    network.send(A, a, Mode::Precise, b"first");
    network.send(A, a, Mode::Precise, b"second");
    network.send(A, a, APPROXIMATE, b"about");
    let packets = network.sent(A, SapKind::Data);
    let hand = |network: &mut Network, at: usize| {
        let now = network.now;
        let bytes = packets[at].to_bytes();
        network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes);
        network.receive(B, b).into_iter().map(|it| it.data).collect::<Vec<_>>()
    };
    assert_eq!(hand(&mut network, 2), [&b"about"[..]]);
    assert!(hand(&mut network, 1).is_empty(), "the first is missing");
    assert_eq!(hand(&mut network, 0), [&b"first"[..], b"second"]);
    // The network's own arrive as well, as copies.
    network.run(SECOND);
    assert!(network.receive(B, b).iter().all(|it| it.kind == MessageKind::Approximate));
    let acknowledged = network.sent(B, SapKind::Ack).len();
    assert!(hand(&mut network, 0).is_empty(), "it came before");
    network.run(SECOND);
    assert!(network.sent(B, SapKind::Ack).len() > acknowledged, "its sender may not know");
}

#[test]
fn an_acknowledgement_that_others_overtook_does_not_change_the_room() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.impairments.loss_to_a = 1.0;
    network.send(A, a, Mode::Precise, &[7; 1000]);
    network.run(SECOND / 20);
    let late = network.sent(B, SapKind::Ack).pop().expect("it acknowledged").to_bytes();
    network.impairments.loss_to_a = 0.0;
    network.receive(B, b);
    network.send(A, a, Mode::Precise, b"more");
    network.run(SECOND);
    let room = |network: &Network| network.ends[A].connections[&a.0].peer_room();
    let newest = room(&network);
    network.ends[A].handle_datagram(network.now, &DatagramMeta::new(address(B)), &late);
    let told = SapAck::parse(&SapPacket::parse(&late).expect("whole").exact()).expect("whole");
    assert_ne!(told.room as usize, newest, "the late one tells another room");
    assert_eq!(room(&network), newest);
}

//= S0.2
//= S0.3
#[test]
fn rule_6_control_is_precise() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, APPROXIMATE, &[7; 600]);
    network.run(SECOND);
    network.ends[B].repair(b, 0, 0, &[0..10, 30..40]).expect("it is open");
    network.ends[A].finish(a);
    network.run(SECOND);
    network.ends[B].close(network.now, b);
    network.run(SECOND);
    for kind in [
        SapKind::Ping,
        SapKind::Accept,
        SapKind::Ack,
        SapKind::Repair,
        SapKind::Probe,
        SapKind::Fin,
    ] {
        let of_kind = [network.sent(A, kind), network.sent(B, kind)].concat();
        assert!(!of_kind.is_empty(), "{kind:?}");
        assert!(of_kind.iter().all(|transmit| transmit.coverage() == 0), "{kind:?}");
    }
}

fn any_impairments() -> impl Strategy<Value = (Impairments, u64)> {
    (0.0..0.3, 0.0..0.2, 0.0..0.2, 0.0..0.3, any::<u64>()).prop_map(
        |(loss, damage, duplication, reordering, seed)| {
            (Impairments { loss, damage, duplication, reordering, mtu: 1500, ..CLEAN }, seed)
        },
    )
}

fn exact_and_in_order(config: SapConfig, impairments: Impairments, seed: u64) {
    let (network, ids) = Network::connected(config, impairments, seed);
    exact_and_in_order_in(network, ids);
}

/// Sends messages of both kinds both ways, and checks those that arrive.
pub(super) fn exact_and_in_order_in(mut network: Network, [a, b]: [ConnectionId; 2]) {
    let message = |number: u32| vec![number as u8; 1 + (number as usize * 37) % 1000];
    for number in 0..60 {
        network.send(A, a, Mode::Precise, &message(number));
        network.send(B, b, Mode::Precise, &message(number));
        network.send(A, a, Mode::Approximate { protected: 1 }, &message(number));
    }
    network.run(Duration::from_secs(50));
    for (end, id) in [(A, a), (B, b)] {
        let mut next = 0;
        for received in network.receive(end, id) {
            match received.kind {
                MessageKind::Precise => {
                    assert_eq!((received.number, &received.data[..]), (next, &message(next)[..]));
                    next += 1;
                }
                MessageKind::Approximate => {
                    assert_eq!(received.data.len(), message(received.number).len());
                    assert_eq!(received.data[0], received.number as u8, "the protected byte");
                }
                MessageKind::Repair => panic!("no repair was requested"),
            }
        }
        assert_eq!(next, 60, "all of them arrive at end {end}; {:?}", network.events);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    //= S0.2
    //= S0.22
    #[test]
    fn precise_data_survive_any_network((impairments, seed) in any_impairments()) {
        exact_and_in_order(SapConfig::standard(), impairments, seed);
        exact_and_in_order(SapConfig::paper(), impairments, seed);
    }
}

//= S0.22
#[test]
fn precise_data_survive_the_worst_network() {
    let impairments = Impairments {
        loss: 0.3,
        damage: 0.2,
        duplication: 0.2,
        reordering: 0.3,
        mtu: 1500,
        ..CLEAN
    };
    for seed in 0..10 {
        exact_and_in_order(SapConfig::standard(), impairments, seed);
        exact_and_in_order(SapConfig::paper(), impairments, seed);
    }
}
