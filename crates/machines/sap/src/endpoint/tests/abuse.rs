//! Floods, malformed datagrams and other protocol versions.

use proptest::prelude::*;

use windfall_wire_net::sap::{Part, Reason, SapAccept, SapAck, SapData, SapHeader, SapPing, flags};

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Network, SECOND, address};
use crate::connection::BASE;
use crate::message::Mode;

/// Returns the ping of a new client, with a token or without.
fn ping(connection: u32, token: &[u8]) -> Bytes {
    let token = Bytes::copy_from_slice(token);
    let body = SapPing { connection, max_datagram: 1232, token, ..SapPing::default() }.emit();
    of_kind(SapKind::Ping, 0, &body)
}

#[test]
fn a_peer_gets_no_longer_datagrams_than_it_takes() {
    for key in [None, Some(SharedKey::new([0x4b; 32]))] {
        for narrow in [A, B] {
            for most in [200, 260, 261, 600, 1_231, 1_232, 1_233, 9_000] {
                let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
                network.ends[narrow].config.max_datagram = most;
                for (end, key) in network.ends.iter_mut().zip([key, key]) {
                    key.into_iter().for_each(|key| end.set_key(key));
                }
                let a = network.ends[A].connect(network.now, address(B));
                network.run(DELAY * 8);
                let b = network.accepted().expect("it was accepted");
                for (end, id) in [(A, a), (B, b)] {
                    network.send(end, id, Mode::Precise, &[7; 50_000]);
                    network.send(end, id, Mode::Approximate { protected: 0 }, &[8; 50_000]);
                }
                network.run(SECOND);
                for (end, id) in [(A, a), (B, b)] {
                    assert_eq!(network.receive(end, id).len(), 2, "{most} at {narrow}");
                }
                let lengths = |end: usize| {
                    network.log.iter().filter(move |(by, _)| *by == end).map(|(_, it)| it.len())
                };
                assert!(lengths(narrow).max() <= Some(most.max(260)), "{most} at {narrow}");
                // Every host takes as much.
                assert!(lengths(1 - narrow).max() <= Some(most.max(260)), "{most} at {narrow}");
            }
        }
    }
}

#[test]
fn a_ping_or_accept_that_takes_less_than_every_host_is_malformed() {
    for most in [0, 1, 20, 28, 259, 260, 65_535] {
        let takes = most >= 260;
        let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
        let meta = DatagramMeta::new(client(1));
        let body = SapPing { connection: 9, max_datagram: most, ..SapPing::default() }.emit();
        network.ends[B].handle_datagram(network.now, &meta, &of_kind(SapKind::Ping, 0, &body));
        let answer = network.ends[B].poll_transmit(network.now);
        assert_eq!(answer.is_some(), takes, "{most}");
        let a = network.ends[A].connect(network.now, address(B));
        let accept = SapAccept { connection: 9, max_datagram: most, ..SapAccept::default() };
        let accept = of_kind(SapKind::Accept, a.0, &accept.emit());
        let meta = DatagramMeta::new(address(B));
        network.ends[A].handle_datagram(network.now, &meta, &accept);
        assert_eq!(network.ends[A].is_open(a), takes, "{most}");
        for end in &network.ends {
            let malformed = end.drops().get(&Dropped::Malformed).copied();
            assert_eq!(malformed, (!takes).then_some(1), "{most}");
        }
        // The genuine one is accepted afterwards.
        if !takes {
            network.run(DELAY * 8);
            assert!(network.ends[A].is_open(a));
        }
    }
}

/// Returns a datagram of the handshake.
fn of_kind(kind: SapKind, connection: u32, body: &[u8]) -> Bytes {
    let header = SapHeader { kind, flags: 0, exact: 0, connection, number: 0 };
    [&header.emit([body, &[]])[..], body].concat().into()
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
    assert!(end.address_quota.is_empty());
}

#[test]
fn a_thousand_abandoned_connections_leave_no_memory_behind() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    for _ in 0..1000 {
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 4);
        let b = network.accepted().expect("it was accepted");
        network.ends[B].accept(b);
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
    network.run(Duration::from_secs(100));
    for end in &network.ends {
        assert_no_connection_left(end);
        assert!(end.address_quota.is_empty(), "{:?}", end.address_quota);
    }
}

/// Asserts that no table of the endpoint has a connection.
fn assert_no_connection_left(end: &SapEndpoint) {
    assert!(
        end.is_empty()
            && end.peers.is_empty()
            && end.timers.is_empty()
            && end.by_address.is_empty(),
        "{end:?}"
    );
}

#[test]
fn a_thousand_connections_that_end_in_order_leave_no_memory_behind() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let mut open = Vec::new();
    for _ in 0..1000 {
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 4);
        let b = network.accepted().expect("it was accepted");
        network.ends[B].accept(b);
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
        assert_no_connection_left(end);
        assert_eq!((end.held, end.due.len(), end.ready.len()), (0, 0, 0));
    }
}

#[test]
fn received_messages_of_all_connections_are_bounded_without_loss() {
    const TOTAL: usize = 800_000;
    let config =
        SapConfig { receive_buffer: 100_000, memory_total: TOTAL, ..SapConfig::standard() };
    let mut network = Network::new(config, CLEAN, 1);
    // The sender's own memory is not in question.
    network.ends[A].budget.set_limit(1 << 30);
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
    assert!(held > TOTAL / 2 && held < TOTAL, "{held}");
    let mut read = 0;
    for _ in 0..100 {
        for (_, b) in &open {
            read += network.receive(B, *b).len();
        }
        network.run(Duration::from_millis(500));
    }
    assert_eq!(read, 2000);
    // The packets of each are remembered.
    let held = network.ends[B].held;
    assert!((10 * BASE..10 * (BASE + 4096)).contains(&held), "{held}");
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
    // A real client returns the token by itself.
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
fn packets_from_another_address_are_dropped_unless_they_are_the_next() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, b"mine");
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 1);
    let copy = network.sent(A, SapKind::Data)[0].to_bytes();
    let mut number = SapPacket::parse(&copy).expect("a SAP datagram").header.number;
    // A copy, and guesses of a number that are wrong.
    for step in [0, 1 << 20, 1 << 31] {
        number = number.wrapping_add(step);
        let mut bytes = copy.to_vec();
        bytes[8..12].copy_from_slice(&number.to_be_bytes());
        let check = crc32c::crc32c(&bytes[..16]).to_be_bytes();
        bytes[16..20].copy_from_slice(&check);
        let now = network.now;
        network.ends[B].handle_datagram(now, &DatagramMeta::new(client(1)), &bytes.into());
        assert!(network.ends[B].poll_transmit(now).is_none(), "{step}");
    }
    assert_eq!(network.ends[B].drops().get(&Dropped::NoConnection), Some(&3));
}

/// Delivers an acknowledgement of everything up to the datagram that `A` sent last, whatever has
/// arrived.
fn acknowledge_all(network: &mut Network, a: ConnectionId, number: u32) {
    let (_, last) = network.log.iter().rfind(|(end, _)| *end == A).expect("it has sent");
    let largest = SapPacket::parse(&last.to_bytes()).expect("a SAP datagram").header.number;
    let len = u16::try_from(largest + 1).expect("there are few");
    let ack = SapAck { largest, room: 1 << 20, runs: vec![(0, len)], ..SapAck::default() };
    let body = ack.emit();
    let header = SapHeader { kind: SapKind::Ack, flags: 0, exact: 0, connection: a.0, number };
    let bytes: Bytes = [&header.emit([&body, &[]])[..], &body].concat().into();
    let now = network.now;
    network.ends[A].handle_datagram(now, &DatagramMeta::new(address(B)), &bytes);
}

#[test]
fn a_peer_that_acknowledges_what_was_never_sent_is_reset() {
    for seed in 0..20 {
        let (mut network, [a, _]) = Network::connected(SapConfig::standard(), CLEAN, seed);
        network.impairments.loss = 1.0;
        let ended = SapEvent::Closed(CloseReason::Violation);
        let mut sent = 0;
        for number in 1_000.. {
            while network.ends[A].send(a, &Message::new(Mode::Precise, vec![0; 1000])).is_ok() {
                sent += 1;
            }
            network.run(Duration::from_millis(3));
            if network.happened(A, &ended) {
                break;
            }
            assert!(sent < 10_000, "{sent} messages in the belief that they arrive");
            acknowledge_all(&mut network, a, number);
        }
        let [.., reset] = &network.sent(A, SapKind::Reset)[..] else { panic!("it was not told") };
        let packet = SapPacket::parse(&reset.to_bytes()).expect("a SAP datagram");
        assert_eq!(packet.body[0], Reason::Violation as u8);
    }
}

/// Returns the reason of the last reset that an end has sent.
fn last_reset(network: &Network, end: usize) -> Option<u8> {
    let reset = network.sent(end, SapKind::Reset).pop()?;
    SapPacket::parse(&reset.to_bytes()).expect("a SAP datagram").body.first().copied()
}

#[test]
fn a_stream_too_many_ends_the_connection_and_both_ends_learn_why() {
    // Whole and in parts.
    for len in [10, 5_000] {
        let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
        network.ends[B].config.max_streams = 2;
        let a = network.ends[A].connect(network.now, address(B));
        network.run(DELAY * 8);
        let b = network.accepted().expect("it was accepted");
        for stream in 0..3 {
            let message = Message { stream, ..Message::new(Mode::Precise, vec![7; len]) };
            network.ends[A].send(a, &message).expect("A takes more");
        }
        network.run(SECOND);
        assert_eq!(network.receive(B, b).len(), 2, "{len} bytes");
        assert_eq!(last_reset(&network, B), Some(Reason::StreamLimit as u8));
        assert!(network.happened(B, &SapEvent::Closed(CloseReason::StreamLimit)));
        let told = CloseReason::Refused(Reason::StreamLimit);
        assert!(network.happened(A, &SapEvent::Closed(told)));
        let sent = network.sent(A, SapKind::Data).len();
        network.run(SECOND * 10);
        assert_eq!(network.sent(A, SapKind::Data).len(), sent, "nothing is sent again");
    }
}

#[test]
fn the_repair_of_one_message_is_bounded() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Approximate { protected: 0 }, &[7; 1000]);
    network.run(SECOND);
    let number = network.receive(B, b)[0].number;
    let mut repaired = 0;
    for _ in 0..1000 {
        network.ends[B].repair(b, 0, number, &[0..500, 500..1000]).expect("it is open");
        network.run(Duration::from_millis(20));
        repaired += network.receive(B, b).iter().map(|it| it.data.len()).sum::<usize>();
    }
    assert!((1000..=8000).contains(&repaired), "{repaired} bytes for a message of 1000");
}

/// Delivers an answer to a request for repair from `A`, whether or not there was one.
fn answer_repair(network: &mut Network, id: ConnectionId, number: u32, head: &SapData) {
    let bytes: usize = head.spans.iter().map(|span| span.range().len()).sum();
    let body = [&head.emit()[..], &vec![7; bytes]].concat();
    let flags = flags::REPAIRED | head.part.map_or(0, |_| flags::PART);
    let exact = body.len() as u16;
    let header = SapHeader { kind: SapKind::Data, flags, exact, connection: id.0, number };
    let bytes: Bytes = [&header.emit([&body, &[]])[..], &body].concat().into();
    let now = network.now;
    network.ends[B].handle_datagram(now, &DatagramMeta::new(address(A)), &bytes);
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "an answer may have one range")]
fn an_answer_to_no_request_for_repair_is_acknowledged_and_dropped() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Approximate { protected: 0 }, &[7; 100]);
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 1);
    network.impairments.loss = 1.0;
    network.ends[B].repair(b, 0, 0, &[1..5, 30..40]).expect("it is open");
    let part = |offset| Some(Part { offset, total: 100_000 });
    let cases = [
        (0, 0, None, vec![60_000..60_005]),
        (0, 0, None, vec![5..30, 40..50]),
        (0, 0, part(70_000), vec![0..10]),
        (0, 77, None, vec![1..5]),
        (0, 77, None, vec![]),
        (9, 0, None, vec![1..5]),
    ];
    for (index, (stream, number, part, ranges)) in cases.into_iter().enumerate() {
        let head = SapData { stream, number, part, spans: crate::encode::spans(&ranges) };
        answer_repair(&mut network, b, 100 + index as u32, &head);
        assert!(network.receive(B, b).is_empty(), "{stream} {number} {ranges:?}");
    }
    assert_eq!(network.ends[B].drops().get(&Dropped::Unrequested), Some(&6));
    let answer = SapData { spans: crate::encode::spans(&[0..3, 35..60]), ..SapData::default() };
    answer_repair(&mut network, b, 106, &answer);
    let repairs = network.receive(B, b);
    let [repair] = &repairs[..] else { panic!("{repairs:?}") };
    assert_eq!((&repair.exact, repair.data.len()), (&vec![1..3, 35..40], 7));
    network.run(SECOND);
    let acks = network.sent(B, SapKind::Ack);
    let last = SapPacket::parse(&acks.last().expect("it has sent").to_bytes()).expect("an ACK");
    assert_eq!(SapAck::parse(&last.exact()).expect("an ACK").largest, 106);
}

/// Connects a client from each port of `from`; returns the number of connections at `B`.
fn crowd(network: &mut Network, from: impl Fn(u32) -> SocketAddr, count: u32) -> usize {
    let now = network.now;
    for number in 0..count {
        let meta = DatagramMeta::new(from(number));
        let end = &mut network.ends[B];
        end.handle_datagram(now, &meta, &ping(number + 1, b""));
        let Some(answer) = end.poll_transmit(now) else { continue };
        let mut answer = answer.to_bytes();
        if let Ok(packet) = SapPacket::parse(&answer)
            && packet.header.kind == SapKind::Retry
        {
            end.handle_datagram(now, &meta, &ping(number + 1, &packet.body));
            let Some(accept) = end.poll_transmit(now) else { continue };
            answer = accept.to_bytes();
        }
        let packet = SapPacket::parse(&answer).expect("a SAP datagram");
        if packet.header.kind != SapKind::Accept {
            continue;
        }
        let connection = u32::from_be_bytes(packet.body[..4].try_into().expect("four bytes"));
        let header = SapHeader { kind: SapKind::Probe, flags: 0, exact: 0, connection, number: 1 };
        end.handle_datagram(now, &meta, &Bytes::copy_from_slice(&header.emit([&[], &[]])));
        while end.poll_transmit(now).is_some() {}
    }
    network.ends[B].len()
}

#[test]
fn one_client_from_one_port_takes_few_places_and_others_are_served() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let taken = crowd(&mut network, |_| client(1), 70_000);
    assert_eq!(taken, network.ends[B].config.max_waiting_per_address);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    assert!(network.ends[A].is_open(a));
    // Those that the application accepts make room for others of the same address, up to a limit.
    for _ in 0..30 {
        let ids: Vec<u32> = network.ends[B].connections.keys().copied().collect();
        ids.into_iter().for_each(|id| network.ends[B].accept(ConnectionId(id)));
        let from = network.ends[B].len() as u32;
        crowd(&mut network, |number| SocketAddr::new(client(1).ip(), (from + number) as u16), 64);
    }
    let most = network.ends[B].config.max_per_address;
    let open = network.ends[B].connections.values().filter(|it| it.is_open());
    assert_eq!(open.count(), most + 1, "one of them is A's");
}

#[test]
fn pings_forged_in_the_name_of_an_address_leave_room_for_its_clients() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let now = network.now;
    for number in 0..1000 {
        let from = SocketAddr::new(address(A).ip(), 10_000 + number as u16);
        let end = &mut network.ends[B];
        end.handle_datagram(now, &DatagramMeta::new(from), &ping(number + 1, b""));
        while end.poll_transmit(now).is_some() {}
    }
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    assert!(network.ends[A].is_open(a));
}

#[test]
fn a_network_of_64_bits_counts_as_one_address() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let host = |number: u32| format!("[2001:db8::{:x}:{:x}]:9", number >> 16, number & 0xffff);
    let taken = crowd(&mut network, |number| host(number).parse().expect("legal"), 1_000);
    assert_eq!(taken, network.ends[B].config.max_waiting_per_address);
}

#[test]
fn connections_that_wait_to_be_accepted_are_bounded() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let taken = crowd(&mut network, client, 70_000);
    assert_eq!(taken, network.ends[B].config.max_waiting);
}

/// Fills the half-open places from `hosts` addresses, each of which proves itself.
fn half_open(network: &mut Network, hosts: u32) {
    let now = network.now;
    for host in 0..hosts {
        for port in 0..64_u16 {
            let meta = DatagramMeta::new(SocketAddr::new(client(host).ip(), 10_000 + port));
            let end = &mut network.ends[B];
            end.handle_datagram(now, &meta, &ping(u32::from(port) + 1, b""));
            while let Some(answer) = end.poll_transmit(now) {
                let packet = SapPacket::parse(&answer.to_bytes()).expect("a SAP datagram");
                if packet.header.kind == SapKind::Retry {
                    end.handle_datagram(now, &meta, &ping(u32::from(port) + 1, &packet.body));
                }
            }
        }
    }
}

#[test]
fn half_open_connections_of_others_do_not_shut_a_newcomer_out() {
    for hosts in [16, 64] {
        let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
        half_open(&mut network, hosts);
        let most = network.ends[B].config.max_half_open;
        assert_eq!(network.ends[B].half_open.len(), most);
        let displaced =
            |network: &Network| network.ends[B].drops().get(&Dropped::Displaced).copied();
        let before = displaced(&network).unwrap_or(0);
        assert_eq!(before, u64::from(hosts) * 64 - most as u64);
        let a = network.ends[A].connect(network.now, address(B));
        network.run(SECOND);
        assert!(network.ends[A].is_open(a), "{hosts} hosts");
        assert_eq!(displaced(&network), Some(before + 1));
        // The others begin again, and the newcomer stays.
        half_open(&mut network, hosts);
        network.send(A, a, Mode::Precise, b"still here");
        network.run(SECOND);
        let b = network.accepted().expect("it was accepted");
        assert_eq!(network.receive(B, b).len(), 1);
        network.run(SECOND * 20);
        let end = &network.ends[B];
        assert!(end.half_open.is_empty() && end.half_open_ids.is_empty());
    }
}

#[test]
fn connections_that_are_unaccepted_or_silent_give_way() {
    let config = SapConfig { max_connections: 100, max_waiting: 90, ..SapConfig::standard() };
    let mut network = Network::new(config, CLEAN, 1);
    let taken = crowd(&mut network, client, 90);
    assert_eq!(taken, 90);
    // Newcomers ask again until the unaccepted connections are old.
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND * 3);
    assert!(network.ends[A].is_open(a));
    let displaced = network.events[B].iter().filter(|it| it.1 == SapEvent::Displaced).count();
    assert_eq!(displaced, 1);
    assert!(network.happened(B, &SapEvent::Closed(CloseReason::Displaced)));
    // Accepted connections that are silent make room too.
    let ids: Vec<u32> = network.ends[B].connections.keys().copied().collect();
    ids.into_iter().for_each(|id| network.ends[B].accept(ConnectionId(id)));
    crowd(&mut network, |number| client(1_000 + number), 10);
    let ids: Vec<u32> = network.ends[B].connections.keys().copied().collect();
    ids.into_iter().for_each(|id| network.ends[B].accept(ConnectionId(id)));
    assert!(network.ends[B].address_quota.obstacle(address(A), &config).is_some());
    network.send(A, a, Mode::Precise, b"active");
    network.run(SECOND * 2);
    network.send(A, a, Mode::Precise, b"active");
    let other = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    assert!(network.ends[A].is_open(other) && network.ends[A].is_open(a));
    let told = network.sent(B, SapKind::Reset);
    let reason =
        |it: &OutgoingDatagram| SapPacket::parse(&it.to_bytes()).map(|packet| packet.body[0]).ok();
    assert!(told.len() >= 2 && told.iter().all(|it| reason(it) == Some(Reason::Busy as u8)));
}

#[test]
fn a_search_for_memory_without_success_is_not_repeated_at_once() {
    // Half of the memory is for twenty connections, all of which are accepted.
    let config = SapConfig { memory_total: 2 * 20 * BASE, ..SapConfig::standard() };
    let mut network = Network::new(config, CLEAN, 1);
    assert_eq!(crowd(&mut network, client, 20), 20);
    let ids: Vec<u32> = network.ends[B].connections.keys().copied().collect();
    ids.into_iter().for_each(|id| network.ends[B].accept(ConnectionId(id)));
    let displaced = |network: &Network| network.ends[B].drops().get(&Dropped::Displaced).copied();
    // The first newcomer comes before any has been silent for a second.
    network.run(Duration::from_millis(950));
    network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_millis(55));
    let other = network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_millis(25));
    assert!(network.ends[B].drops()[&Dropped::NoRoom] >= 2, "{:?}", network.ends[B].drops());
    assert_eq!(displaced(&network), None, "the second newcomer has had all asked again");
    // Those that ask later are served.
    for _ in 0..100 {
        network.run(Duration::from_millis(20));
        let ended: Vec<_> =
            network.events[B].iter().filter(|it| it.1 == SapEvent::Displaced).collect();
        let ended: Vec<_> = ended.into_iter().map(|it| it.0).collect();
        ended.into_iter().for_each(|id| network.ends[B].close(network.now, id));
    }
    assert!(network.ends[A].is_open(other) && displaced(&network).is_some());
}

#[test]
fn the_half_open_connection_that_gives_its_memory_is_of_the_address_with_most() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    crowd(&mut network, |number| SocketAddr::new(client(5).ip(), number as u16 + 1), 12);
    half_open(&mut network, 3);
    let end = &network.ends[B];
    let first =
        |end: &SapEndpoint| end.address_quota.oldest_half_open().map(|id| end.half_open_ids[&id].0);
    let before = first(end).expect("it is half open");
    assert!((0..3).any(|host| client(host).ip() == before.ip()));
    network.run(SECOND * 11);
    assert_eq!(first(&network.ends[B]), None);
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
