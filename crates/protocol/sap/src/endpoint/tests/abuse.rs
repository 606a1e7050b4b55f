//! Floods, malformed datagrams and other protocol versions.

use proptest::prelude::*;

use windfall_wire_net::sap::{Reason, SapHeader, SapPing};

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Network, SECOND, address};
use crate::message::Mode;

/// Returns the ping of a new client, with a token or without.
fn ping(connection: u32, token: &[u8]) -> Bytes {
    let token = Bytes::copy_from_slice(token);
    let body = SapPing { connection, max_datagram: 1232, token, handshake: Bytes::new() }.emit();
    let header = SapHeader { kind: SapKind::Ping, flags: 0, exact: 0, connection: 0, number: 0 };
    [&header.emit([&body, &[]])[..], &body].concat().into()
}

fn client(number: u32) -> SocketAddr {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddr::from(([172, a, b, c], 9))
}

#[test]
fn a_thousand_half_open_connections_leave_no_memory_behind() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    for number in 0..1000 {
        network.ends[B].handle_datagram(
            network.now,
            &DatagramMeta::new(client(number)),
            &ping(1, b""),
        );
    }
    let free = network.ends[B].config.free_half_open;
    assert_eq!(network.ends[B].len(), free, "the others need a token");
    network.run(Duration::from_secs(11));
    let end = &network.ends[B];
    assert!(end.is_empty() && end.half_open_ids.is_empty() && end.peers.is_empty());
    assert!(end.timers.is_empty() && end.due.is_empty() && end.ready.is_empty());
}

#[test]
fn a_thousand_abandoned_connections_leave_no_memory_behind() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    for _ in 0..1000 {
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 4);
        network.send(A, a, Mode::Precise, b"and away");
        network.run(DELAY * 4);
        network.ends[A].abort(a, CloseReason::Closed);
        network.ends[A].close(network.now, a);
        // The reset is never sent.
    }
    let accepted: Vec<_> = network.events[B]
        .iter()
        .filter(|(_, event)| matches!(event, SapEvent::Accepted { .. }))
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(accepted.len(), 1000);
    for id in accepted {
        network.ends[B].close(network.now, id);
    }
    network.run(Duration::from_secs(10));
    for end in &network.ends {
        assert!(end.is_empty() && end.peers.is_empty() && end.timers.is_empty(), "{end:?}");
    }
}

#[test]
fn a_thousand_connections_that_end_in_order_leave_no_memory_behind() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let mut open = Vec::new();
    for _ in 0..1000 {
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 4);
        let b = network.accepted().expect("it was accepted");
        network.send(A, a, Mode::Precise, b"here");
        open.push((a, b));
    }
    network.run(DELAY * 4);
    assert_eq!((network.ends[A].len(), network.ends[B].len()), (1000, 1000));
    for (a, b) in open {
        assert_eq!(network.receive(B, b).len(), 1);
        network.ends[A].close(network.now, a);
        network.ends[B].close(network.now, b);
    }
    network.run(Duration::from_secs(10));
    for end in &network.ends {
        assert!(end.is_empty() && end.peers.is_empty() && end.timers.is_empty(), "{end:?}");
        assert_eq!((end.held, end.due.len(), end.ready.len()), (0, 0, 0));
    }
}

#[test]
fn received_messages_of_all_connections_are_bounded_without_loss() {
    const TOTAL: usize = 100_000;
    let config =
        SapConfig { receive_buffer: 40_000, receive_total: TOTAL, ..SapConfig::standard() };
    let mut network = Network::new(config, CLEAN, 1);
    let mut open = Vec::new();
    for _ in 0..10 {
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 4);
        open.push((a, network.accepted().expect("it was accepted")));
    }
    for (a, _) in &open {
        for _ in 0..100 {
            network.send(A, *a, Mode::Precise, &[7; 1000]);
            // Empty messages take memory too.
            network.send(A, *a, Mode::Precise, b"");
        }
    }
    network.run(Duration::from_secs(20));
    let held = network.ends[B].held;
    assert!(held > TOTAL / 2 && held < 2 * TOTAL, "{held}");
    let mut read = 0;
    for _ in 0..100 {
        for (_, b) in &open {
            read += network.receive(B, *b).len();
        }
        network.run(Duration::from_millis(500));
    }
    assert_eq!((read, network.ends[B].held), (2000, 0));
}

#[test]
fn a_token_is_valid_for_its_address_only() {
    let mut network =
        Network::new(SapConfig { free_half_open: 0, ..SapConfig::standard() }, CLEAN, 1);
    let now = network.now;
    let end = &mut network.ends[B];
    end.handle_datagram(now, &DatagramMeta::new(client(1)), &ping(7, b""));
    let retry = end.poll_transmit(now).expect("an answer");
    let packet = SapPacket::parse(&retry.to_bytes()).expect("a SAP datagram");
    assert_eq!((packet.header.kind, packet.header.connection), (SapKind::Retry, 7));
    end.handle_datagram(now, &DatagramMeta::new(client(2)), &ping(7, &packet.body));
    assert!(end.is_empty(), "the token belongs to another address");
    end.handle_datagram(now, &DatagramMeta::new(client(1)), &ping(7, &packet.body));
    assert_eq!(end.len(), 1);
    // The same with a real client, which sends the token back by itself.
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    assert!(network.ends[A].is_open(a));
}

#[test]
fn another_version_is_refused_with_its_reason() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let mut bytes = ping(7, b"").to_vec();
    bytes[0] = 0x21;
    let check = crc32c::crc32c(&bytes[..16]).to_be_bytes();
    bytes[16..20].copy_from_slice(&check);
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(client(1)), &bytes.into());
    let answer = network.ends[B].poll_transmit(now).expect("an answer");
    let packet = SapPacket::parse(&answer.to_bytes()).expect("a SAP datagram");
    assert_eq!((packet.header.kind, packet.body[0]), (SapKind::Refuse, Reason::Version as u8));
}

#[test]
fn packets_from_another_address_are_dropped() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, b"mine");
    let copy = network.sent(A, SapKind::Data)[0].to_bytes();
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(client(1)), &copy);
    assert_eq!(network.ends[B].receive(now, b), None);
    assert_eq!(network.ends[B].drops().get(&Dropped::NoConnection), Some(&1));
}

fn any_datagram() -> impl Strategy<Value = Bytes> {
    let noise = prop::collection::vec(any::<u8>(), 0..300);
    let kind = prop::sample::select(vec![
        SapKind::Ping,
        SapKind::Accept,
        SapKind::Retry,
        SapKind::Refuse,
        SapKind::Data,
        SapKind::Ack,
        SapKind::Repair,
        SapKind::Probe,
        SapKind::Fin,
        SapKind::Reset,
    ]);
    // An intact header over an arbitrary body.
    (kind, any::<u8>(), any::<bool>(), 0_u32..6, noise).prop_map(
        |(kind, flags, ours, number, body)| {
            let connection = if ours { 1 } else { 0 };
            let header = SapHeader { kind, flags: flags & 15, exact: 0, connection, number };
            [&header.emit([&body, &[]])[..], &body].concat().into()
        },
    )
}

proptest! {
    #[test]
    fn no_answer_to_a_client_is_longer_than_its_ping(
        datagrams in prop::collection::vec(any_datagram(), 1..20),
    ) {
        let config = SapConfig { free_half_open: 1, ..SapConfig::standard() };
        let mut network = Network::new(config, CLEAN, 1);
        for bytes in datagrams {
            let now = network.now;
            network.ends[B].handle_datagram(now, &DatagramMeta::new(client(1)), &bytes);
            let mut answered = 0;
            while let Some(answer) = network.ends[B].poll_transmit(now) {
                answered += answer.len();
            }
            prop_assert!(answered <= bytes.len(), "{answered} bytes for {}", bytes.len());
        }
    }

    #[test]
    fn arbitrary_packets_of_the_peer_never_panic_nor_loop(
        datagrams in prop::collection::vec((any_datagram(), 0_u64..200), 1..60),
    ) {
        let (mut network, [_, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
        for (bytes, wait) in datagrams {
            let mut bytes = bytes.to_vec();
            if bytes[4..8] == [0, 0, 0, 1] {
                bytes[4..8].copy_from_slice(&b.0.to_be_bytes());
                let check = crc32c::crc32c(&bytes[..16]).to_be_bytes();
                bytes[16..20].copy_from_slice(&check);
            }
            let now = network.now;
            network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes.into());
            network.run(Duration::from_millis(wait));
        }
        network.receive(B, b);
        network.ends[B].close(network.now, b);
        network.run(Duration::from_secs(90));
        prop_assert!(network.ends[B].is_empty());
    }
}
