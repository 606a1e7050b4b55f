//! Peers whose address changes, and peers that fall silent.

use windfall_wire_net::sap::{SapHeader, flags};

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Impairments, Network, SECOND, address};
use crate::message::Mode;

const KEY: SharedKey = SharedKey::new([9; 32]);

fn place(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// Two ends, of which `A` is behind a translator of addresses.
fn behind_a_translator(sealed: bool, seed: u64) -> (Network, [ConnectionId; 2]) {
    let mut network = Network::new(SapConfig::standard(), CLEAN, seed);
    network.outside = place(1);
    if sealed {
        network.ends.iter_mut().for_each(|end| end.set_key(KEY));
    }
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    let b = network.accepted().expect("it was accepted");
    assert_eq!(network.ends[B].peer(b), Some(place(1)));
    (network, [a, b])
}

/// Sends messages both ways and calls `disturb` after each tenth of them; all must arrive.
fn exchange(sealed: bool, seed: u64, mut disturb: impl FnMut(&mut Network, usize)) -> Network {
    let (mut network, [a, b]) = behind_a_translator(sealed, seed);
    let mut received = [0; 2];
    for number in 0..100_usize {
        network.send(A, a, Mode::Precise, &[number as u8; 1000]);
        network.send(B, b, Mode::Precise, &[number as u8; 1000]);
        network.run(Duration::from_millis(3));
        if number % 10 == 5 {
            disturb(&mut network, number / 10);
        }
        received[A] += network.receive(A, a).len();
        received[B] += network.receive(B, b).len();
    }
    network.run(SECOND * 30);
    received[A] += network.receive(A, a).len();
    received[B] += network.receive(B, b).len();
    assert_eq!(received, [100, 100], "sealed {sealed}, seed {seed}");
    assert!(network.ends[A].is_open(a) && network.ends[B].is_open(b));
    assert_eq!(network.ends[B].peer(b), Some(network.outside));
    network
}

#[test]
fn a_connection_follows_a_port_or_an_address_that_changes() {
    for sealed in [false, true] {
        for seed in 0..10 {
            let network = exchange(sealed, seed, |network, round| {
                if round == 3 {
                    network.outside = place(2);
                }
                if round == 7 {
                    network.outside = SocketAddr::from(([203, 0, 113, 9], 5));
                    network.run(SECOND);
                }
            });
            assert!(network.happened(B, &SapEvent::Moved { to: place(2) }));
            assert!(network.ends[B].address_quota.has_room(place(1), &SapConfig::standard()));
            let by_address: Vec<_> = network.ends[B].by_address.iter().map(|it| it.0).collect();
            assert_eq!(by_address, [network.outside]);
        }
    }
}

#[test]
fn a_lid_that_is_closed_for_30_seconds_costs_nothing() {
    for sealed in [false, true] {
        for seed in 0..10 {
            exchange(sealed, seed, |network, round| {
                if round == 5 {
                    network.impairments = Impairments { loss: 1.0, ..CLEAN };
                    network.run(SECOND * 30);
                    network.impairments = CLEAN;
                    network.outside = place(2);
                }
            });
        }
    }
}

#[test]
fn only_the_end_that_waits_needs_to_be_heard_after_a_change() {
    let (mut network, [a, b]) = behind_a_translator(false, 1);
    network.outside = place(7);
    network.send(B, b, Mode::Precise, b"to the old port");
    // The keepalive of the peer comes from the new one.
    network.run(SECOND * 20);
    assert_eq!(network.receive(A, a).len(), 1);
}

/// Sends the next packet of `A` from elsewhere, as one who has seen the last one could.
fn forge(network: &mut Network, from: SocketAddr) {
    let (_, last) = network.log.iter().rfind(|(end, _)| *end == A).expect("it has sent");
    let header = SapPacket::parse(&last.to_bytes()).expect("a SAP datagram").header;
    let number = header.number + 3;
    let header = SapHeader { kind: SapKind::Probe, flags: 0, exact: 0, number, ..header };
    let bytes = Bytes::copy_from_slice(&header.emit([&[], &[]]));
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(from), &bytes);
}

#[test]
fn a_stranger_does_not_take_over_a_connection_whose_peer_answers() {
    for sealed in [false, true] {
        let (mut network, [a, b]) = behind_a_translator(sealed, 1);
        forge(&mut network, place(66));
        let begun = network.log.len();
        // The stranger receives the challenge, and answers it.
        for _ in 0..100 {
            network.run(DELAY);
            let now = network.now;
            let sent = network.log[begun..].iter();
            let to_stranger = sent.filter(|(end, it)| *end == B && it.to == place(66));
            let challenges: Vec<Bytes> = to_stranger.map(|(_, it)| it.to_bytes()).collect();
            assert_eq!(challenges.is_empty(), sealed, "a sealed one does not believe him at all");
            for challenge in challenges {
                let packet = SapPacket::parse(&challenge).expect("a SAP datagram");
                assert_eq!(packet.header.kind, SapKind::Challenge, "and nothing else");
                let number = packet.header.number + 50_000;
                let kind = SapKind::Response;
                let header = SapHeader { kind, connection: b.0, number, ..packet.header };
                let bytes = [&header.emit([&packet.body, &[]])[..], &packet.body].concat();
                let meta = DatagramMeta::new(place(66));
                network.ends[B].handle_datagram(now, &meta, &bytes.into());
            }
        }
        assert_eq!(network.ends[B].peer(b), Some(place(1)));
        network.send(A, a, Mode::Precise, b"still mine");
        network.run(SECOND);
        assert_eq!(network.receive(B, b).len(), 1);
    }
}

/// Returns a datagram to `B` as one who knows the id and the next number could forge it.
fn forged(network: &Network, b: ConnectionId, kind: SapKind, flags: u8, body: &[u8]) -> Bytes {
    let mut sent = network.log.iter().rev().filter(|(end, _)| *end == A);
    let (_, last) = sent.next().expect("it has sent");
    let number = SapPacket::parse(&last.to_bytes()).expect("a SAP datagram").header.number + 3;
    let header = SapHeader { kind, flags, exact: 0, connection: b.0, number };
    [&header.emit([body, &[]])[..], body].concat().into()
}

#[test]
fn nothing_from_an_address_that_has_not_answered_has_an_effect() {
    let data = |number: u32, text: &[u8]| [&[0, 0, 0, 0][..], &number.to_be_bytes(), text].concat();
    let ack =
        windfall_wire_net::sap::SapAck { largest: 1, runs: vec![(0, 2)], ..Default::default() };
    let cases = [
        (SapKind::Reset, 0, vec![0]),
        (SapKind::Fin, 0, vec![0; 4]),
        (SapKind::Data, 0, data(1, b"forged")),
        (SapKind::Data, flags::APPROXIMATE, data(0, b"forged")),
        (SapKind::Data, flags::REPAIRED, data(0, b"")),
        (SapKind::Ack, 0, ack.emit().to_vec()),
        (SapKind::Repair, 0, data(0, b"")),
        (SapKind::Challenge, 0, vec![7; 8]),
        (SapKind::Response, 0, vec![7; 8]),
        (SapKind::Probe, 0, vec![]),
    ];
    for (kind, bits, body) in cases {
        let (mut network, [a, b]) = behind_a_translator(false, 1);
        network.send(A, a, Mode::Precise, b"first");
        network.run(SECOND);
        let bytes = forged(&network, b, kind, bits, &body);
        let begun = network.log.len();
        let meta = DatagramMeta::new(place(66));
        network.ends[B].handle_datagram(network.now, &meta, &bytes);
        network.run(SECOND * 3);
        network.send(A, a, Mode::Precise, b"genuine");
        network.run(SECOND);
        let texts: Vec<Bytes> = network.receive(B, b).into_iter().map(|it| it.data).collect();
        assert_eq!(texts, [&b"first"[..], b"genuine"], "{kind:?}");
        assert!(
            network.ends[B].is_open(b) && !network.happened(B, &SapEvent::Moved { to: place(66) })
        );
        assert!(!network.events[B].iter().any(|it| matches!(it.1, SapEvent::Finished { .. })));
        // Nothing but challenges goes there, and at most three times what came from there.
        let there = network.log[begun..].iter().filter(|(end, it)| *end == B && it.to == place(66));
        let there: Vec<Bytes> = there.map(|(_, it)| it.to_bytes()).collect();
        let sizes: usize = there.iter().map(Bytes::len).sum();
        assert!(sizes <= 3 * bytes.len(), "{sizes} bytes for {}: {kind:?}", bytes.len());
        for bytes in there {
            let packet = SapPacket::parse(&bytes).expect("a SAP datagram");
            assert_eq!(packet.header.kind, SapKind::Challenge);
        }
        let unproven = network.ends[B].drops().get(&Dropped::Unproven).copied();
        assert_eq!(unproven, (kind != SapKind::Response).then_some(1), "{kind:?}");
    }
}

/// Returns the value of the first challenge that `B` has sent to this address.
fn challenged(network: &Network, to: SocketAddr) -> Bytes {
    let challenges = network.sent(B, SapKind::Challenge);
    let challenge = challenges.iter().find(|it| it.to == to).expect("it is challenged");
    SapPacket::parse(&challenge.to_bytes()).expect("a SAP datagram").body
}

/// Returns where `B` finds its peer after this response, if it hears nothing else of a peer that
/// has moved to the second place.
fn peer_after_response(from: SocketAddr, is_right: bool) -> Option<SocketAddr> {
    let (mut network, [a, b]) = behind_a_translator(false, 1);
    network.outside = place(2);
    network.send(A, a, Mode::Approximate { protected: 0 }, b"from the new address");
    network.impairments.loss = 1.0;
    network.run(DELAY);
    let value = challenged(&network, place(2));
    let value = if is_right { value } else { Bytes::from(vec![7; value.len()]) };
    let bytes = forged(&network, b, SapKind::Response, 0, &value);
    network.ends[B].handle_datagram(network.now, &DatagramMeta::new(from), &bytes);
    network.run(SECOND);
    network.ends[B].peer(b)
}

#[test]
fn a_connection_moves_only_to_an_address_that_answers_with_its_own_value() {
    assert_eq!(peer_after_response(place(2), true), Some(place(2)));
    assert_eq!(peer_after_response(place(2), false), Some(place(1)));
    assert_eq!(peer_after_response(place(66), true), Some(place(1)));
}

#[test]
fn only_the_answer_of_the_old_address_keeps_the_connection_there() {
    for (from, is_right, stays) in
        [(place(1), true, true), (place(1), false, false), (place(66), true, false)]
    {
        let (mut network, [a, b]) = behind_a_translator(false, 1);
        network.outside = place(2);
        network.send(A, a, Mode::Approximate { protected: 0 }, b"from the new address");
        // The new address has answered, and the time of the old one is not over.
        network.run(DELAY * 4);
        network.impairments.loss = 1.0;
        let value = challenged(&network, place(1));
        let value = if is_right { value } else { Bytes::from(vec![7; value.len()]) };
        let bytes = forged(&network, b, SapKind::Response, 0, &value);
        network.ends[B].handle_datagram(network.now, &DatagramMeta::new(from), &bytes);
        network.run(SECOND);
        let peer = if stays { place(1) } else { place(2) };
        assert_eq!(network.ends[B].peer(b), Some(peer), "from {from}, {is_right}");
    }
}

#[test]
fn challenges_take_at_most_three_times_what_came_encrypted_from_the_new_address() {
    let (mut network, [a, b]) = behind_a_translator(true, 1);
    network.outside = place(2);
    network.send(A, a, Mode::Precise, b"twelve bytes");
    let came = network.sent(A, SapKind::Data)[0].len();
    network.impairments.loss = 1.0;
    network.run(SECOND * 20);
    let challenges = network.sent(B, SapKind::Challenge);
    assert!(challenges.iter().all(|it| it.to == place(2)), "the old one need not answer");
    let spent: usize = challenges.iter().map(OutgoingDatagram::len).sum();
    assert!((1..=3 * came).contains(&spent), "{spent} bytes for {came}");
    assert_eq!(network.receive(B, b).len(), 1, "an authentic message is delivered");
}

#[test]
fn a_number_far_from_all_others_is_none_of_the_peers() {
    let (mut network, [_, b]) = behind_a_translator(false, 1);
    let mut bytes = forged(&network, b, SapKind::Reset, 0, &[0]).to_vec();
    let next = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    for (ahead, ends) in [(1 << 20, false), (1 << 30, false), (1 << 19, true)] {
        bytes[8..12].copy_from_slice(&next.wrapping_add(ahead).to_be_bytes());
        let check = crc32c::crc32c(&bytes[..16]).to_be_bytes();
        bytes[16..20].copy_from_slice(&check);
        let meta = DatagramMeta::new(place(1));
        network.ends[B].handle_datagram(network.now, &meta, &Bytes::copy_from_slice(&bytes));
        assert_eq!(!network.ends[B].is_open(b), ends, "{ahead}");
    }
}

#[test]
fn a_peer_that_vanishes_while_data_wait_is_noticed_within_seconds() {
    let (mut network, [a, _]) = behind_a_translator(false, 1);
    network.impairments.loss = 1.0;
    network.send(A, a, Mode::Precise, b"are you there");
    network.run(SECOND * 2);
    assert!(network.happened(A, &SapEvent::Silent));
    let silence = network.ends[A].silence(network.now, a).expect("it is silent");
    assert!(silence >= SECOND * 2 && silence < SECOND * 4, "{silence:?}");
    network.impairments.loss = 0.0;
    network.run(SECOND * 3);
    assert!(network.happened(A, &SapEvent::Answered));
    assert_eq!(network.ends[A].silence(network.now, a), None);
}

#[test]
fn an_application_may_give_up_a_silent_peer_sooner() {
    let limit = Duration::from_secs(5);
    let config = SapConfig { silence_timeout: Some(limit), ..SapConfig::standard() };
    let (mut network, [a, _]) = Network::connected(config, CLEAN, 1);
    network.impairments.loss = 1.0;
    network.run(SECOND * 10);
    assert!(network.ends[A].is_open(a), "nothing waits for it");
    network.send(A, a, Mode::Precise, b"are you there");
    network.run(SECOND * 8);
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::TimedOut)));
}

#[test]
fn a_closed_port_ends_a_connect_at_once_and_a_connection_that_is_silent() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    network.impairments.loss = 1.0;
    network.ends[A].connect(network.now, address(B));
    network.drain();
    network.ends[A].handle_refused(network.now, address(B));
    network.drain();
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::PortClosed)));
    // A forged report does not end one whose peer answers.
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.ends[A].handle_refused(network.now, address(B));
    assert!(network.ends[A].is_open(a));
    network.impairments.loss = 1.0;
    network.send(A, a, Mode::Precise, b"are you there");
    network.run(SECOND * 4);
    network.ends[A].handle_refused(network.now, address(B));
    assert!(!network.ends[A].is_open(a));
}

#[test]
fn pings_try_the_form_without_addresses_first_and_answers_are_alike() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    network.impairments.loss = 1.0;
    network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    let forms: Vec<bool> = network.log.iter().map(|(_, it)| it.unbound).collect();
    assert_eq!(forms[..2], [true, false]);
    for unbound in [false, true] {
        let ping = network.log[0].1.to_bytes();
        let meta = DatagramMeta { unbound, ..DatagramMeta::new(place(u16::from(unbound))) };
        network.ends[B].handle_datagram(network.now, &meta, &ping);
        let answer = network.ends[B].poll_transmit(network.now).expect("an answer");
        assert_eq!(answer.unbound, unbound);
    }
}
