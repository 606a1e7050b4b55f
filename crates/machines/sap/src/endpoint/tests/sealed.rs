//! Encrypted connections.

use windfall_wire_net::sap::{HEADER_LEN, Reason, SapAccept, SapHeader};

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use super::rules::exact_and_in_order_in;
use crate::message::{Integrity, Mode};

const KEY: SharedKey = SharedKey::new([0x4b; 32]);
const APPROXIMATE: Mode = Mode::Approximate { protected: 4 };

/// Creates two ends with these keys, of which one connects to the other.
fn connecting(keys: [Option<SharedKey>; 2]) -> (Network, ConnectionId) {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    for (end, key) in network.ends.iter_mut().zip(keys) {
        key.into_iter().for_each(|key| end.set_key(key));
    }
    let a = network.ends[A].connect(network.now, address(B));
    (network, a)
}

fn connected() -> (Network, [ConnectionId; 2]) {
    let (mut network, a) = connecting([Some(KEY); 2]);
    network.run(SECOND / 10);
    let b = network.accepted().expect("the keys agree");
    (network, [a, b])
}

#[test]
fn no_plaintext_is_on_the_path() {
    let (mut network, [a, b]) = connected();
    let mixed = b"head: and the approximate words".repeat(20);
    network.send(A, a, Mode::Precise, b"the precise words");
    network.send(A, a, APPROXIMATE, &mixed);
    network.run(SECOND);
    let received = network.receive(B, b);
    assert_eq!(received[0].data, &b"the precise words"[..]);
    assert_eq!((&received[1].data[..], &received[1].integrity), (&mixed[..], &Integrity::Intact));
    for (_, transmit) in &network.log {
        assert!(transmit.to_bytes().windows(5).all(|window| window != b"words"));
    }
}

#[test]
fn encryption_shortens_the_longest_message_at_both_ends() {
    let longest = |keys| {
        let (mut network, a) = connecting(keys);
        network.run(SECOND);
        let b = network.accepted().expect("the keys agree");
        network.send_whole_messages([a, b]);
        [network.ends[A].max_message(a), network.ends[B].max_message(b)]
    };
    let open = longest([None, None]);
    let sealed = longest([Some(KEY); 2]);
    assert_eq!(open[A], open[B]);
    // The authentication tag less the block checks that it replaces.
    assert_eq!(sealed[A], sealed[B]);
    let tag = open[A] - sealed[A];
    assert!((14..=16).contains(&tag), "{tag}");
}

#[test]
fn different_keys_are_refused() {
    let other = Some(SharedKey::new([1; 32]));
    for keys in [[Some(KEY), other], [Some(KEY), None], [None, Some(KEY)]] {
        let (mut network, a) = connecting(keys);
        network.run(SECOND);
        let error = CloseReason::Refused(Reason::Key);
        assert!(network.happened(A, &SapEvent::Closed(error)), "{:?}", network.events);
        assert_eq!(error.to_string(), "the peer refused: the keys do not agree");
        network.ends[A].close(network.now, a);
        network.drain();
        assert!(network.ends.iter().all(SapEndpoint::is_empty));
    }
}

#[test]
fn bit_errors_do_not_spread() {
    let (mut network, [a, b]) = connected();
    network.send(A, a, APPROXIMATE, &[0; 600]);
    let transmit = network.sent(A, SapKind::Data)[0].clone();
    let mut bytes = transmit.to_bytes().to_vec();
    bytes[transmit.exact + 300] ^= 0x10;
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes.into());
    let received = network.ends[B].receive(now, b).expect("one bit error does not drop it");
    let mut expected = [0; 600];
    expected[304] = 0x10;
    assert_eq!(received.data, expected[..]);
    // The blocks begin after the four exact bytes of the message.
    let block = 260..516;
    assert_eq!(received.integrity, Integrity::Suspect(vec![block]));
}

#[test]
fn replayed_packets_are_refused() {
    let (mut network, [a, b]) = connected();
    for mode in [Mode::Precise, APPROXIMATE] {
        network.send(A, a, mode, b"once and never again");
    }
    network.ends[A].finish(a);
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 2);
    let now = network.now;
    let events = network.events[B].len();
    let recorded: Vec<_> = network.log.iter().filter(|(by, _)| *by == A).cloned().collect();
    for (_, transmit) in &recorded {
        network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &transmit.to_bytes());
        // A connection of its own rejects it too, though the listener has the key.
        let elsewhere = SocketAddr::from(([10, 0, 0, 9], 4000));
        network.ends[B].handle_datagram(now, &DatagramMeta::new(elsewhere), &transmit.to_bytes());
    }
    network.run(SECOND * 30);
    assert!(network.receive(B, b).is_empty());
    assert_eq!((network.events[B].len(), network.ends[B].len()), (events, 1));
}

/// Returns a datagram that an observer of the path can forge: valid except for its encryption.
fn forged(kind: SapKind, flags: u8, connection: u32, number: u32, body: &[u8]) -> Bytes {
    let header = SapHeader { kind, flags, exact: 0, connection, number };
    [&header.emit([body, &[]])[..], body].concat().into()
}

#[test]
fn forged_packets_are_refused() {
    let (mut network, [a, b]) = connected();
    let now = network.now;
    for flags in [0, 8] {
        for (kind, body) in [
            (SapKind::Data, &[0; 40][..]),
            (SapKind::Reset, &[0; 17]),
            (SapKind::Fin, &[0; 20]),
            (SapKind::Ack, &[255; 40]),
            (SapKind::Probe, &[]),
        ] {
            for number in [40, 1 << 20] {
                let bytes = forged(kind, flags, b.0, number, body);
                network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes);
                // A header with a damaged body is only reported as damaged.
                network.ends[B].handle_datagram(
                    now,
                    &DatagramMeta { covered_intact: false, ..DatagramMeta::new(address(A)) },
                    &bytes,
                );
            }
        }
    }
    assert_eq!(network.ends[B].drops().get(&Dropped::Forged), Some(&20));
    network.send(A, a, Mode::Precise, b"goes on");
    network.send(B, b, Mode::Precise, b"goes on");
    network.run(SECOND);
    assert_eq!((network.receive(A, a).len(), network.receive(B, b).len()), (1, 1));
    assert!(network.ends[A].is_flushed(a) && network.ends[B].is_flushed(b));
}

#[test]
fn a_forged_accept_is_refused_and_the_genuine_one_accepted() {
    let (mut network, a) = connecting([Some(KEY); 2]);
    for handshake in [Bytes::new(), vec![7; 54].into()] {
        let accept = SapAccept { connection: 9, max_datagram: 1232, handshake, features: 0 }.emit();
        let bytes = forged(SapKind::Accept, 0, a.0, 0, &accept);
        network.ends[A].handle_datagram(network.now, &DatagramMeta::new(address(B)), &bytes);
    }
    assert_eq!(network.ends[A].drops().get(&Dropped::Forged), Some(&2));
    network.run(SECOND);
    assert!(network.ends[A].is_open(a));
}

#[test]
fn a_replayed_ping_opens_no_connection() {
    let (mut network, _) = connecting([Some(KEY); 2]);
    network.drain();
    let ping = network.sent(A, SapKind::Ping)[0].to_bytes();
    let from = SocketAddr::from(([10, 0, 0, 9], 4000));
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(from), &ping);
    let accept = network.ends[B].poll_transmit(now).expect("it answers");
    assert!(accept.len() <= ping.len());
    let id =
        SapAccept::parse(&accept.to_bytes().slice(HEADER_LEN..)).expect("an accept").connection;
    for flags in [0, 8] {
        let probe = forged(SapKind::Probe, flags, id, 1, &[0; 16]);
        network.ends[B].handle_datagram(now, &DatagramMeta::new(from), &probe);
    }
    assert!(network.accepted().is_none());
    assert_eq!(network.ends[B].drops().get(&Dropped::Forged), Some(&2));
}

#[test]
fn encrypted_messages_are_exact_and_in_order_over_a_bad_network() {
    let impairments = Impairments {
        loss: 0.2,
        damage: 0.2,
        duplication: 0.2,
        reordering: 0.3,
        mtu: 1500,
        ..CLEAN
    };
    let (mut network, ids) = connected();
    network.impairments = impairments;
    exact_and_in_order_in(network, ids);
}

#[test]
fn the_longest_message_fits_with_its_tag() {
    let (mut network, a) = connecting([Some(KEY); 2]);
    network.impairments = Impairments { mtu: 1460, ..CLEAN };
    network.run(SECOND * 3);
    let b = network.accepted().expect("the keys agree");
    network.send_whole_messages([a, b]);
    let most = network.ends[A].max_message(a);
    network.send(A, a, Mode::Precise, &vec![1; most]);
    let error = network.ends[A].send(a, &Message::new(Mode::Precise, vec![1; 1420]));
    assert!(matches!(error, Err(SapSendError::TooLong { .. })), "{error:?}");
    network.run(SECOND);
    assert_eq!(network.receive(B, b)[0].data.len(), most);
}
