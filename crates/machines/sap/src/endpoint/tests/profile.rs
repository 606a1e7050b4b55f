//! Differences between the two profiles.

use windfall_base::Check;
use windfall_wire_net::sap::SapHeader;

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Impairments, Network, SECOND, address};
use crate::message::{Integrity, Mode};

/// Sends as much as possible for `span` and returns the number of bytes that arrive.
fn bulk(config: SapConfig, impairments: Impairments, span: Duration) -> usize {
    let config = SapConfig { send_buffer: 1_000_000, ..config };
    let (mut network, [a, b]) = Network::connected(config, impairments, 3);
    let end = network.now + span;
    let mut bytes = 0;
    while network.now < end {
        let message = Message::new(Mode::Precise, vec![7; 1000]);
        while network.ends[A].send(a, &message).is_ok() {
            network.drain();
        }
        network.run(DELAY);
        bytes += network.receive(B, b).iter().map(|it| it.data.len()).sum::<usize>();
    }
    bytes
}

//= S0.24
#[test]
fn the_paper_profile_has_one_message_in_flight_and_the_standard_profile_many() {
    let span = Duration::from_secs(2);
    let paper = bulk(SapConfig::paper(), CLEAN, span);
    let rounds = (span.as_nanos() / (DELAY * 2).as_nanos()) as usize;
    assert!((rounds - 5..=rounds + 5).contains(&(paper / 1000)), "{paper} in {rounds} rounds");
    let standard = bulk(SapConfig::standard(), Impairments { mtu: 1500, ..CLEAN }, span);
    assert!(standard > 20 * paper, "{standard} against {paper}");
}

//= S0.24
#[test]
fn the_longest_message_of_the_paper_profile_is_1_kb_less_the_tag() {
    for (key, most) in [(None, 1024), (Some(SharedKey::new([7; 32])), 1008)] {
        let mut network = Network::new(SapConfig::paper(), CLEAN, 1);
        for end in &mut network.ends {
            key.into_iter().for_each(|key| end.set_key(key));
        }
        let a = network.ends[A].connect(network.now, address(B));
        network.run(SECOND);
        assert_eq!(network.ends[A].max_message(a), most);
        let longer = Message::new(Mode::Precise, vec![7; most + 1]);
        let error = network.ends[A].send(a, &longer);
        assert_eq!(error, Err(SapSendError::TooLong { len: most + 1, most }));
        network.send(A, a, Mode::Precise, &vec![7; most]);
        network.run(SECOND);
        let b = network.accepted().expect("it was accepted");
        assert_eq!(network.receive(B, b)[0].data.len(), most);
    }
}

//= S0.24
#[test]
fn the_paper_profile_does_not_back_off() {
    let (mut network, [a, _]) =
        Network::connected(SapConfig::paper(), Impairments { loss: 1.0, ..CLEAN }, 1);
    network.send(A, a, Mode::Precise, b"again");
    network.run(SECOND);
    let sent = network.sent(A, SapKind::Data).len();
    assert_eq!(sent, 21, "at once, and then every 50 ms");
}

//= S0.24
#[test]
fn a_round_trip_longer_than_the_fixed_timeout_costs_copies_and_no_message() {
    for (longer, jitter) in [(300, 0.0), (300, 1.0), (60, 1.0), (95, 0.3), (900, 1.0)] {
        for seed in 0..3 {
            let (mut network, [a, b]) = Network::connected(SapConfig::paper(), CLEAN, seed);
            network.impairments.overtaking = (1e-12, Duration::from_millis(longer));
            network.impairments.reordering = jitter;
            for number in 0..20 {
                network.send(A, a, Mode::Precise, &[number; 1000]);
            }
            network.ends[A].finish(a);
            let round_trip = 2 * longer + 10;
            network.run(Duration::from_millis(24 * (round_trip + 40)));
            let got: Vec<u8> = network.receive(B, b).iter().map(|it| it.data[0]).collect();
            assert_eq!(got, (0..20).collect::<Vec<_>>(), "{longer} ms, {jitter}, seed {seed}");
            assert!(network.ends[A].is_finished(a), "{longer} ms, {jitter}, seed {seed}");
            let sent = network.sent(A, SapKind::Data).len() as u64;
            let copies = 20 * ((round_trip + 40) / 50 + 1);
            assert!(sent <= copies, "{sent} of {copies}, {longer} ms, {jitter}, seed {seed}");
        }
    }
}

#[test]
fn a_round_trip_beyond_the_longest_interval_costs_no_copies_once_it_is_measured() {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.impairments.overtaking = (1e-12, Duration::from_millis(1500));
    network.send(A, a, Mode::Precise, b"measures");
    network.run(SECOND * 30);
    let before = network.sent(A, SapKind::Data).len();
    for _ in 0..10 {
        network.send(A, a, Mode::Precise, &[7; 1000]);
        network.run(SECOND / 5);
    }
    network.run(SECOND * 30);
    assert_eq!(network.sent(A, SapKind::Data).len() - before, 10);
}

#[test]
fn the_first_message_waits_for_its_acknowledgement_as_long_as_the_handshake_took() {
    for (late, begins) in [(350, A), (350, B), (1_000, A), (1_000, B)] {
        let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
        network.impairments.overtaking = (1e-12, Duration::from_millis(late));
        let a = network.ends[A].connect(network.now, address(B));
        network.run(SECOND * 10);
        let b = network.accepted().expect("it was accepted");
        network.send(begins, [a, b][begins], Mode::Precise, &[7; 1000]);
        network.run(SECOND * 10);
        assert_eq!(network.sent(begins, SapKind::Data).len(), 1, "{late} ms, end {begins}");
    }
}

#[test]
fn damaged_messages_are_retransmitted_and_the_window_stays() {
    let span = SECOND / 3;
    let impairments = Impairments { mtu: 1500, intact_prefix: 20, ..CLEAN };
    let clean = bulk(SapConfig::standard(), impairments, span);
    let damaged = bulk(SapConfig::standard(), Impairments { damage: 0.1, ..impairments }, span);
    let lossy = bulk(SapConfig::standard(), Impairments { loss: 0.1, ..impairments }, span);
    assert!(2 * damaged > clean, "{damaged} of {clean}, where a tenth is sent twice");
    assert!(damaged > 2 * lossy, "{damaged} damaged, {lossy} lost");
}

#[test]
fn damage_found_by_the_link_marks_messages_without_checks() {
    let (mut network, [a, b]) = Network::connected(SapConfig::paper(), CLEAN, 1);
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    let mut integrity = |frame: Check| {
        network.send(A, a, Mode::Approximate { protected: 100 }, &[7; 600]);
        let bytes = network.sent(A, SapKind::Data).pop().expect("it was sent").to_bytes();
        let meta = DatagramMeta { frame, ..DatagramMeta::new(address(A)) };
        network.ends[B].handle_datagram(network.now, &meta, &bytes);
        network.ends[B].receive(network.now, b).expect("it arrived").integrity
    };
    let rest = 100..600;
    assert_eq!(integrity(Check::Unchecked), Integrity::Unknown);
    assert_eq!(integrity(Check::Bad), Integrity::Suspect(vec![rest]));
    assert_eq!(integrity(Check::Good), Integrity::Unknown);
}

#[test]
fn damage_found_by_the_link_marks_no_earlier_message() {
    let (mut network, [a, b]) = Network::connected(SapConfig::paper(), CLEAN, 1);
    network.send(A, a, Mode::Approximate { protected: 100 }, &[7; 600]);
    network.run(SECOND);
    // A packet with these flags that holds no message.
    let message = network.sent(A, SapKind::Data)[0].to_bytes();
    let message = SapPacket::parse(&message).expect("a whole datagram").header;
    let probe = SapHeader { kind: SapKind::Probe, number: message.number + 1, ..message };
    let bytes = Bytes::copy_from_slice(&probe.emit([&[], &[]]));
    let meta = DatagramMeta { frame: Check::Bad, ..DatagramMeta::new(address(A)) };
    network.ends[B].handle_datagram(network.now, &meta, &bytes);
    let received = network.ends[B].receive(network.now, b).expect("it arrived before");
    assert_eq!(received.integrity, Integrity::Unknown);
}

#[test]
fn a_few_long_messages_are_acknowledged_before_the_delay_is_over() {
    let impairments = Impairments { mtu: 1 << 16, ..CLEAN };
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), impairments, 1);
    network.run(SECOND);
    let acknowledged = |network: &Network| network.sent(B, SapKind::Ack).len();
    let before = acknowledged(&network);
    for count in [2, 1] {
        assert_eq!(acknowledged(&network), before, "less than 128 KB may wait");
        (0..count).for_each(|_| network.send(A, a, Mode::Precise, &[7; 60_000]));
        network.run(DELAY + DELAY / 5);
    }
    assert_eq!(acknowledged(&network), before + 1);
}
