//! Delays of acknowledgements and reports.

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Impairments, Link, Network, SECOND, address};
use crate::message::Mode;
use windfall_wire_net::sap::flags;

const MS: Duration = Duration::from_millis(1);

/// Returns connected endpoints without packets in flight.
fn quiet() -> (Network, ConnectionId) {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.run(SECOND);
    network.log.clear();
    (network, a)
}

fn acks(network: &Network) -> usize {
    network.sent(B, SapKind::Ack).len()
}

#[test]
fn a_packet_in_order_is_acknowledged_after_the_delay() {
    let (mut network, a) = quiet();
    network.send(A, a, Mode::Precise, b"one");
    network.run(DELAY + MS * 9);
    assert_eq!(acks(&network), 0);
    network.run(MS * 2);
    assert_eq!(acks(&network), 1);
}

#[test]
fn a_packet_out_of_order_is_acknowledged_at_once() {
    let (mut network, a) = quiet();
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    network.send(A, a, Mode::Precise, b"lost");
    network.impairments = CLEAN;
    network.send(A, a, Mode::Precise, b"two");
    network.run(DELAY);
    assert_eq!(acks(&network), 1);
}

#[test]
fn an_approximate_message_is_reported_after_twice_the_delay() {
    let (mut network, a) = quiet();
    network.send(A, a, Mode::Approximate { protected: 0 }, b"perhaps");
    network.run(DELAY + MS * 19);
    assert_eq!(acks(&network), 0);
    network.run(MS * 2);
    assert_eq!(acks(&network), 1);
}

/// The lost one may be the one whose report its sender waits for.
#[test]
fn an_approximate_message_behind_a_lost_one_is_reported_at_once() {
    let (mut network, a) = quiet();
    network.impairments = Impairments { loss: 1.0, ..CLEAN };
    network.send(A, a, Mode::Approximate { protected: 0 }, b"lost");
    network.impairments = CLEAN;
    network.send(A, a, Mode::Approximate { protected: 0 }, b"two");
    network.run(DELAY);
    assert_eq!(acks(&network), 1);
    network.send(A, a, Mode::Approximate { protected: 0 }, b"three");
    network.run(DELAY);
    assert_eq!(acks(&network), 1, "nothing is missing before it");
}

#[test]
fn reports_of_approximate_messages_in_bulk_are_rare_up_to_the_end() {
    let (mut network, a) = quiet();
    network.impairments = Impairments { loss: 0.05, ..CLEAN };
    for _ in 0..1_000 {
        network.send(A, a, Mode::Approximate { protected: 0 }, &[7; 1_200]);
    }
    network.ends[A].finish(a);
    network.run(SECOND * 10);
    let data = network.sent(A, SapKind::Data).len();
    assert_eq!(data, 1_000);
    assert!(acks(&network) * 3 < data, "{} reports", acks(&network));
}

/// Returns the number of bytes that arrive over a path that loses one datagram in a hundred.
fn arrived(mode: &Mode, seed: u64) -> usize {
    let standard = SapConfig::standard();
    let config = SapConfig { send_buffer: 200_000, max_datagram: 1_472, ..standard };
    let lossy = Impairments { loss: 0.01, ..CLEAN };
    let (mut network, [a, b]) = Network::connected(config, lossy, seed);
    let end = network.now + SECOND * 3;
    let message = Message::new(mode.clone(), vec![7; 1_400]);
    let mut bytes = 0;
    while network.now < end {
        while network.ends[A].send(a, &message).is_ok() {}
        network.run(MS);
        bytes += network.receive(B, b).iter().map(|it| it.data.len()).sum::<usize>();
    }
    bytes
}

#[test]
fn approximate_messages_are_as_fast_as_precise_ones_over_a_lossy_path() {
    let all = |mode: Mode| (0..10).map(|seed| arrived(&mode, seed)).sum::<usize>();
    let [precise, approximate] = [Mode::Precise, Mode::Approximate { protected: 0 }].map(all);
    assert!(approximate * 10 > precise * 9, "{approximate} approximate, {precise} precise bytes");
}

#[test]
fn a_closed_end_lingers_for_a_retransmitted_fin() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.ends[A].finish(a);
    network.run(SECOND);
    network.ends[B].close(network.now, b);
    network.run(DELAY);
    // The peer's FIN has just arrived, and its acknowledgement may be lost.
    network.ends[A].close(network.now, a);
    network.run(MS * 10);
    assert!(!network.ends[A].is_empty(), "three seconds have not passed");
    network.run(SECOND * 3);
    assert!(network.ends.iter().all(SapEndpoint::is_empty));
}

/// Returns the seconds for which precise messages occupy a link that repeats what it damages, and
/// the number of datagrams that carried them, of at least 500.
fn occupied(accepts_damaged: bool, damage: f64, repeats: Duration, seed: u64) -> (f64, usize) {
    let link = Link { rate: 1e6, repeats, accepts_damaged };
    let rough = Impairments { damage, intact_prefix: 20, link: Some(link), ..CLEAN };
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, seed);
    network.impairments = rough;
    let began = network.now;
    for _ in 0..500 {
        network.send(A, a, Mode::Precise, &[7; 1200]);
    }
    while !network.ends[A].is_flushed(a) {
        network.run(MS);
        network.receive(B, b);
        assert!(network.now < began + SECOND * 100, "it takes too long");
    }
    let sent = network.sent(A, SapKind::Data).len();
    (network.link_is_free(B).saturating_since(began).as_secs_f64(), sent)
}

#[test]
fn a_link_that_passes_damage_up_and_repeats_costs_precise_messages_little() {
    for (damage, repeats) in [(0.05, 1), (0.2, 1), (0.2, 8), (0.4, 4)] {
        let all = |accepts| -> f64 {
            (0..10).map(|seed| occupied(accepts, damage, MS * repeats, seed).0).sum()
        };
        let [discards, accepts] = [false, true].map(all);
        let ratio = accepts / discards;
        assert!(ratio < 1.05, "{damage} damaged, repeated after {repeats} ms: {ratio}");
    }
}

#[test]
fn what_waits_in_a_long_queue_is_not_sent_again() {
    for seed in 0..40 {
        let (_, sent) = occupied(true, 0.4, MS * 4, seed);
        assert!(sent < 550, "{sent} datagrams for 500 messages, seed {seed}");
    }
}

#[test]
fn a_full_window_does_not_ask_for_what_was_asked_for_a_moment_ago() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    let link = Link { rate: 1e6, repeats: MS, accepts_damaged: false };
    network.impairments = Impairments { link: Some(link), ..CLEAN };
    (0..1_500).for_each(|_| network.send(A, a, Mode::Precise, &[7; 1_200]));
    while !network.ends[A].is_flushed(a) {
        network.run(MS);
        network.receive(B, b);
    }
    let data = network.sent(A, SapKind::Data);
    let is_urgent = |it: &&OutgoingDatagram| {
        SapPacket::parse(&it.to_bytes()).is_ok_and(|it| it.header.flags & flags::URGENT != 0)
    };
    let asked = data.iter().filter(is_urgent).count();
    // Without losses the window grows to more than a hundred datagrams.
    assert!(data.len() == 1_500 && asked < 40, "{asked} ask for an acknowledgement");
}

/// Flow control: the peer stops at a full buffer, and each window update costs a datagram.
#[test]
fn an_acknowledgement_announces_room_once_half_of_the_buffer_is_free_again() {
    const BUFFER: usize = 100_000;
    let config = SapConfig { receive_buffer: BUFFER, ..SapConfig::standard() };
    let (mut network, [a, b]) = Network::connected(config, CLEAN, 1);
    (0..200).for_each(|_| network.send(A, a, Mode::Precise, &[7; 1_000]));
    network.run(SECOND * 5);
    network.log.clear();
    let mut read = 0;
    while acks(&network) == 0 {
        network.ends[B].receive(network.now, b).expect("the buffer is full");
        network.drain();
        read += 1;
    }
    assert_eq!(read, (BUFFER / 2).div_ceil(crate::budget::weight(1_000)));
    while network.ends[B].receive(network.now, b).is_some() {
        network.drain();
    }
    assert_eq!(acks(&network), 1, "no other half has become free");
    network.run(SECOND);
    assert!(network.ends[B].is_readable(b), "the sender goes on");
}

#[test]
fn in_a_small_window_at_most_every_second_message_asks_for_a_report() {
    let config = SapConfig { path_discovery: false, ..SapConfig::standard() };
    let (mut network, [a, _]) = Network::connected(config, CLEAN, 1);
    // Two timeouts reduce the window to four datagrams.
    network.impairments.loss = 1.0;
    network.send(A, a, Mode::Precise, b"lost");
    network.run(MS * 150);
    network.impairments = CLEAN;
    network.run(SECOND);
    network.log.clear();
    // Each fills a datagram, which is a quarter of the window.
    let message = vec![7; network.ends[A].max_whole(a)];
    (0..200).for_each(|_| network.send(A, a, Mode::Approximate { protected: 0 }, &message));
    network.run(SECOND * 5);
    let sent = network.sent(A, SapKind::Data);
    let is_urgent = |it: &OutgoingDatagram| it.parts[0][1] & flags::URGENT != 0;
    assert!(sent.len() == 200 && sent.iter().any(is_urgent));
    assert!(!sent.windows(2).any(|pair| pair.iter().all(is_urgent)));
}

/// A lone approximate message, as the last piece of a body.
#[test]
fn the_fate_of_an_approximate_message_is_known_without_a_probe() {
    let (mut network, a) = quiet();
    network.ends[A].set_lateness(a, SECOND);
    let within = network.ends[A].report_within(a).expect("messages are reported");
    for data in [&b"perhaps"[..], &[7; 150_000]] {
        network.send(A, a, Mode::Approximate { protected: 0 }, data);
        assert_eq!(network.ends[A].take_fate(a, 0), None);
        network.run(within * 2);
        assert_eq!(network.ends[A].take_fate(a, 0), Some(true), "the report came in time");
    }
    assert_eq!(network.sent(A, SapKind::Probe).len(), 0);
}

#[test]
fn nothing_is_reported_in_the_paper_profile() {
    let (mut network, [a, _]) = Network::connected(SapConfig::paper(), CLEAN, 1);
    network.send(A, a, Mode::Approximate { protected: 0 }, b"perhaps");
    network.run(SECOND);
    assert_eq!(network.ends[A].report_within(a), None);
}

/// Returns how long 900 datagrams take to be sent, acknowledged if they are precise, over a path
/// that inverts some bits of a share of all datagrams; and how many messages arrive.
fn crossing(mode: &Mode, damage: f64) -> (Duration, usize) {
    let config = SapConfig { max_datagram: 2_240, ..SapConfig::standard() };
    let (mut network, [a, b]) = Network::connected(config, CLEAN, 3);
    network.run(SECOND);
    network.impairments = Impairments { damage, ..CLEAN };
    let begin = network.now;
    let mut arrived = 0;
    let mut left = 900;
    while left > 0 || !network.ends[A].is_flushed(a) {
        let message = Message::new(mode.clone(), vec![7; 2_200]);
        while left > 0 && network.ends[A].send(a, &message).is_ok() {
            left -= 1;
        }
        network.run(MS);
        arrived += network.receive(B, b).len();
    }
    let span = network.now.saturating_since(begin);
    network.run(SECOND);
    (span, arrived + network.receive(B, b).len())
}

/// Of 2240 bytes the header has 20, so that one in thirty datagrams loses its number, and one in
/// twenty is damaged elsewhere where it must be exact.
#[test]
fn damage_does_not_count_as_congestion_wherever_it_is() {
    for (mode, most) in [(Mode::Approximate { protected: 0 }, 1.2), (Mode::Precise, 5.0)] {
        let [(clean, all), (damaged, arrived)] = [0.0, 0.3].map(|damage| crossing(&mode, damage));
        assert_eq!(all, 900, "{mode:?}");
        let ratio = damaged.as_secs_f64() / clean.as_secs_f64();
        assert!(ratio < most, "{mode:?}: {ratio} times as long");
        assert!(arrived > 800 && (arrived == 900 || mode != Mode::Precise), "{mode:?}: {arrived}");
    }
}

#[test]
fn what_arrived_damaged_is_reported_once_a_later_one_has_arrived() {
    let (mut network, a) = quiet();
    network.impairments = Impairments { damage: 1.0, intact_prefix: 20, ..CLEAN };
    network.send(A, a, Mode::Precise, &[7; 1_000]);
    network.impairments = CLEAN;
    network.run(DELAY);
    assert_eq!(acks(&network), 0, "the link may repeat it");
    network.send(A, a, Mode::Precise, b"later");
    network.run(DELAY);
    let sent = network.sent(B, SapKind::Ack);
    let packet = SapPacket::parse(&sent[0].to_bytes()).expect("sound");
    let ack = windfall_wire_net::sap::SapAck::parse(&packet.exact()).expect("sound");
    assert_eq!((sent.len(), ack.damaged), (1, vec![1]));
}

/// Returns how many numbers the last acknowledgement of `B` lists as damaged.
fn reported_damage(network: &Network) -> usize {
    let last = network.sent(B, SapKind::Ack).pop().expect("it has acknowledged");
    let packet = SapPacket::parse(&last.to_bytes()).expect("sound");
    windfall_wire_net::sap::SapAck::parse(&packet.exact()).expect("sound").damaged.len()
}

/// A datagram with a damaged header tells only the address that it came from.
#[test]
fn a_damaged_header_explains_a_loss_only_of_the_one_connection_of_its_address() {
    for connections in [1, 2] {
        let (mut network, mut open) = (quiet().0, Vec::new());
        open.extend(network.accepted());
        let mut ids: Vec<u32> = network.ends[A].connections.keys().copied().collect();
        for _ in 1..connections {
            ids.push(network.ends[A].connect(network.now, address(B)).0);
            network.run(SECOND);
            open.extend(network.accepted());
        }
        // Each connection loses a packet, and one damaged header arrives.
        network.impairments = Impairments { loss: 1.0, ..CLEAN };
        ids.iter().for_each(|id| network.send(A, ConnectionId(*id), Mode::Precise, b"lost"));
        network.impairments = CLEAN;
        let damaged = Bytes::from_static(&[0xff; 60]);
        network.ends[B].handle_datagram(network.now, &DatagramMeta::new(address(A)), &damaged);
        for id in &ids {
            network.send(A, ConnectionId(*id), Mode::Precise, b"later");
            network.run(DELAY);
            assert_eq!(reported_damage(&network), usize::from(connections == 1));
        }
        let has_damage = |id: &ConnectionId| network.ends[B].connections[&id.0].has_damage();
        assert_eq!(open.len(), connections);
        assert!(open.iter().all(has_damage), "the path of all of them delivers damage");
    }
}
