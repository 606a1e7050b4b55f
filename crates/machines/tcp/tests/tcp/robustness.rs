//! What strangers, floods, closed windows and the passing of time do to an endpoint: little.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Seed};
use windfall_tcp::{
    Keepalive, Listener, Lookup, Overflow, SegmentMeta, TcpConfig, TcpEndpoint, TcpError, TcpEvent,
    TcpState,
};
use windfall_wire_net::tcp::{CorruptionKinds, fill_checksum};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpOptions, TcpRepr};

use crate::pair::*;

#[test]
fn a_reset_counts_only_when_it_is_exactly_next() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.send(NEAR, 1_000).run_for(ms(100));
    let mut reset = pair.forged(FAR, TcpFlags::RST);
    reset.seq = reset.seq + 10;
    assert_eq!(pair.inject(FAR, &reset, &[]), Err(DropReason::TcpBlind));
    assert_eq!(pair.connection(FAR).state(), TcpState::Established);
    // The challenge reaches the real peer, who is content.
    let challenges = pair.connection(FAR).operations().acks_sent;
    assert!(challenges > 0);
    reset.seq = reset.seq + 4_000_000;
    assert_eq!(pair.inject(FAR, &reset, &[]), Err(DropReason::TcpSequence));
    let reset = pair.forged(FAR, TcpFlags::RST);
    assert_eq!(pair.inject(FAR, &reset, &[]), Ok(()));
    assert!(pair.ends[FAR].events.contains(&TcpEvent::Closed(Some(TcpError::Reset))));
}

#[test]
fn a_syn_in_the_window_is_challenged_and_challenges_are_limited() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.send(NEAR, 1_000).run_for(ms(100));
    let before = pair.connection(FAR).operations().acks_sent;
    for _ in 0..100 {
        let syn = pair.forged(FAR, TcpFlags::SYN);
        assert_eq!(pair.inject(FAR, &syn, &[]), Err(DropReason::TcpBlind));
    }
    assert_eq!(pair.connection(FAR).operations().acks_sent - before, 10);
    assert_eq!(pair.connection(FAR).state(), TcpState::Established);
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_changes_nothing() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.send(NEAR, 1_000).run_for(ms(100));
    let mut forged = pair.forged(FAR, TcpFlags::ACK);
    forged.ack = forged.ack + 5_000;
    assert_eq!(pair.inject(FAR, &forged, b"data"), Err(DropReason::TcpAcknowledgment));
    assert_eq!(pair.connection(FAR).readable(), 0);
}

#[test]
fn an_acknowledgment_at_the_very_end_of_the_window_counts() {
    let config = TcpConfig::default().with(|it| {
        it.receive_buffer = 8_000.into();
        it.timestamps = false;
    });
    let mut pair = Pair::with(config);
    pair.fate = Box::new(|seen| if seen.from == NEAR { Fate::lost() } else { Fate::default() });
    pair.send(FAR, 1_000).run_for(ms(15));
    let mut ack = pair.forged(FAR, TcpFlags::ACK);
    (ack.seq, ack.ack) = (ack.seq + 8_000, ack.ack + 1_000);
    assert_eq!(pair.inject(FAR, &ack, &[]), Ok(()));
    assert_eq!(pair.connection(FAR).unacknowledged(), 0);
    ack.seq = ack.seq + 1;
    assert_eq!(pair.inject(FAR, &ack, &[]), Err(DropReason::TcpSequence));
}

#[test]
fn both_ends_may_open_at_once() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.ends[FAR].tcp.unlisten(address(FAR));
    let config = Arc::new(TcpConfig::default());
    let far = &mut pair.ends[FAR];
    far.id = Some(far.tcp.connect(at(0), address(FAR), address(NEAR), config).unwrap());
    pair.connect().run_for(ms(200));
    for end in [NEAR, FAR] {
        assert_eq!(pair.connection(end).state(), TcpState::Established, "{:#?}", pair.timeline);
        assert!(pair.ends[end].events.contains(&TcpEvent::Connected));
    }
    pair.transfer(50_000, Duration::from_secs(5));
}

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = Pair::with(TcpConfig::default());
    for end in [NEAR, FAR] {
        let id = pair.ends[end].id.unwrap();
        pair.ends[end].tcp.shutdown(id).unwrap();
    }
    pair.run_for(ms(15));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::Closing; 2]);
    pair.run_for(ms(15));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::TimeWait; 2]);
    pair.run_for(Duration::from_secs(61));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::Closed; 2]);
}

#[test]
fn one_end_may_go_on_after_the_other_has_finished() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.ends[FAR].follows = false;
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.shutdown(id).unwrap();
    pair.run_for(ms(100));
    assert_eq!(pair.connection(NEAR).state(), TcpState::FinWait2);
    assert_eq!(pair.connection(FAR).state(), TcpState::CloseWait);
    pair.send(FAR, 100_000).run_for(Duration::from_secs(2));
    assert_eq!(pair.ends[NEAR].incoming.len(), 100_000);
}

#[test]
fn a_closed_window_is_probed_for_as_long_as_it_is_answered() {
    let config = TcpConfig::default().with(|it| it.receive_buffer = 4_000.into());
    let mut pair = Pair::with(config);
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 10_000).run_for(Duration::from_secs(24 * 3600));
    assert_eq!(pair.connection(FAR).readable(), 4_000);
    assert_eq!(pair.connection(NEAR).state(), TcpState::Established);
    let probes = pair.connection(NEAR).operations().probes;
    // Every minute once backed off.
    assert!((1_400..1_460).contains(&probes), "{probes}");
    pair.ends[FAR].reads = true;
    while pair.read(FAR, 1_000) > 0 {}
    pair.run_for(Duration::from_secs(70));
    assert_eq!(pair.ends[FAR].incoming.len(), 10_000, "{:#?}", pair.timeline.last());
}

//= S2.1
#[test]
fn the_window_is_neither_taken_back_nor_opened_in_silly_steps() {
    let config = TcpConfig::default().with(|it| {
        it.receive_buffer = 8_000.into();
        it.nagle = false;
    });
    let mut pair = Pair::with(config);
    pair.ends[FAR].reads = false;
    pair.send(NEAR, 60_000);
    for _ in 0..2_000 {
        pair.run_for(ms(7));
        pair.read(FAR, 53);
    }
    let mut edge = 0;
    for seen in pair.sent(FAR).skip(1) {
        assert!(seen.ack + u32::from(seen.header.window) >= edge);
        edge = seen.ack + u32::from(seen.header.window);
    }
    let short = pair.sent(NEAR).filter(|seen| seen.is_data() && seen.len < 1_000).count();
    let long = pair.sent(NEAR).filter(|seen| seen.len >= 1_000).count();
    assert!(short * 3 < long, "{short} short, {long} long");
}

#[test]
fn small_writes_wait_for_an_acknowledgment_unless_told_otherwise() {
    let segments = |nagle| {
        let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = nagle));
        for _ in 0..20 {
            pair.send(NEAR, 10).run_for(ms(1));
        }
        pair.run_for(ms(200));
        pair.sent(NEAR).filter(|seen| seen.is_data()).count()
    };
    assert_eq!(segments(false), 20);
    assert!(segments(true) <= 3);
}

#[test]
fn a_connection_in_time_wait_gives_way_to_a_new_one() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.ends[FAR].finishes = true;
    pair.send(FAR, 10).run_for(ms(100));
    assert_eq!(pair.connection(FAR).state(), TcpState::TimeWait);
    let mut syn = pair.forged(FAR, TcpFlags::SYN);
    syn.seq = syn.seq + 100_000;
    assert_eq!(pair.inject(FAR, &syn, &[]), Ok(()));
    let answer = pair.sent(FAR).last().unwrap();
    assert_eq!(answer.header.flags, TcpFlags::SYN | TcpFlags::ACK);
}

fn stranger(n: u32, header: &TcpRepr) -> (SegmentMeta, Vec<u8>) {
    let src = core::net::Ipv4Addr::from_bits(0x0a01_0000 + n);
    let addresses = Addresses::V4 { src, dst: core::net::Ipv4Addr::new(10, 0, 0, 2) };
    let mut bytes = header.emit(&CorruptionKinds::default()).unwrap().to_vec();
    fill_checksum(&addresses, &mut bytes, &[]);
    (SegmentMeta { addresses, ecn: Ecn::NotCapable, missing: 0, lost_before: 0 }, bytes)
}

#[test]
fn a_flood_of_syns_costs_a_bounded_memory_and_honest_peers_still_connect() {
    for overflow in [Overflow::Drop, Overflow::Cookies] {
        let mut tcp = TcpEndpoint::new(Seed(3), "flooded", Lookup::Hashed);
        let config = Arc::new(TcpConfig::default());
        let listener = Listener { backlog: 100, overflow, ..Listener::new(config) };
        tcp.listen(address(FAR), listener).unwrap();
        let syn = |port: u16| TcpRepr {
            src_port: port,
            dst_port: 5001,
            seq: Seq32(77),
            flags: TcpFlags::SYN,
            window: 5_000,
            options: TcpOptions { mss: Some(1460), ..TcpOptions::default() },
            ..TcpRepr::default()
        };
        for n in 0..20_000 {
            let (arrival, bytes) = stranger(n, &syn(1));
            let _ = tcp.handle_segment(at(0), &arrival, &bytes.into());
            if n % 100 == 0 {
                while tcp.poll_transmit(at(0)).is_some() {}
            }
        }
        assert_eq!(tcp.len(), 100);
        while tcp.poll_transmit(at(0)).is_some() {}
        let (arrival, bytes) = stranger(50_000, &syn(9));
        let result = tcp.handle_segment(at(1), &arrival, &bytes.into());
        if overflow == Overflow::Drop {
            assert_eq!(result, Err(DropReason::TcpBacklog));
            continue;
        }
        let answer = tcp.poll_transmit(at(1)).unwrap();
        let packet = windfall_wire_net::TcpPacket::new(&answer.header).unwrap();
        let mut ack = TcpRepr { flags: TcpFlags::ACK, ack: packet.seq().next(), ..syn(9) };
        (ack.seq, ack.options) = (Seq32(78), TcpOptions::default());
        let (arrival, bytes) = stranger(50_000, &ack);
        assert_eq!(tcp.handle_segment(at(2), &arrival, &bytes.into()), Ok(()));
        assert!(matches!(tcp.poll_event(), Some((_, TcpEvent::Accepted))));
        // A made-up cookie is worth nothing.
        ack.ack = ack.ack + 1;
        let (arrival, bytes) = stranger(50_001, &ack);
        let result = tcp.handle_segment(at(2), &arrival, &bytes.into());
        assert_eq!(result, Err(DropReason::TcpAcknowledgment));
    }
}

#[test]
fn a_cookie_agrees_on_accurate_ecn_by_the_acknowledgment_alone() {
    let config = TcpConfig::default().with(|it| it.accurate_ecn = true);
    for (asks, says, agreed) in [(TcpFlags::ACE, 2, true), (TcpFlags::NONE, 0, false)] {
        let mut tcp = TcpEndpoint::new(Seed(3), "flooded", Lookup::Hashed);
        let listener = Listener::new(Arc::new(config.clone()));
        tcp.listen(address(FAR), Listener { backlog: 0, ..listener }).unwrap();
        let syn = TcpRepr {
            src_port: 9,
            dst_port: 5001,
            seq: Seq32(77),
            flags: TcpFlags::SYN | asks,
            window: 5_000,
            ..TcpRepr::default()
        };
        let (arrival, bytes) = stranger(1, &syn);
        assert_eq!(tcp.handle_segment(at(0), &arrival, &bytes.into()), Ok(()));
        let answer = tcp.poll_transmit(at(0)).unwrap();
        let packet = windfall_wire_net::TcpPacket::new(&answer.header).unwrap();
        assert_eq!(packet.flags().ace(), says);
        let flags = TcpFlags::ACK.with_ace(says);
        let ack = TcpRepr { flags, seq: Seq32(78), ack: packet.seq().next(), ..syn };
        let (arrival, bytes) = stranger(1, &ack);
        assert_eq!(tcp.handle_segment(at(1), &arrival, &bytes.into()), Ok(()));
        let Some((id, TcpEvent::Accepted)) = tcp.poll_event() else { panic!("it is accepted") };
        let negotiated = tcp.connection(id).unwrap().negotiated();
        assert_eq!((negotiated.accurate_ecn, negotiated.ecn), (agreed, agreed));
    }
}

#[test]
fn half_open_connections_that_come_to_nothing_are_forgotten() {
    let syn = |port: u16| TcpRepr {
        src_port: port,
        dst_port: 5001,
        flags: TcpFlags::SYN,
        window: 5_000,
        ..TcpRepr::default()
    };
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    for port in 1..100 {
        assert_eq!(pair.inject(FAR, &syn(port), &[]), Ok(()));
        if port % 2 == 0 {
            let reset = TcpRepr { seq: Seq32(1), flags: TcpFlags::RST, ..syn(port) };
            assert_eq!(pair.inject(FAR, &reset, &[]), Ok(()));
            // A new SYN between these sockets may follow at once.
            assert_eq!(pair.inject(FAR, &syn(port), &[]), Ok(()));
        }
    }
    assert_eq!(pair.ends[FAR].tcp.len(), 99);
    // No peer answers: each is given up after its SYNs, without a reset.
    pair.fate = Box::new(|_| Fate::lost());
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.ends[FAR].tcp.len(), 0);
    assert_eq!(pair.ends[FAR].events, []);
}

#[test]
fn whenever_the_peer_vanishes_everything_ends() {
    // The wire is cut after every millisecond of a connection that carries data both ways.
    for cut in 0..150 {
        let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
        pair.connect();
        for end in [NEAR, FAR] {
            pair.ends[end].outgoing = pattern(end, 30_000);
            // One end in three goes on after it has sent everything.
            pair.ends[end].finishes = !(cut + end as u64).is_multiple_of(3);
            pair.ends[end].follows = false;
        }
        pair.run_for(ms(cut));
        pair.fate = Box::new(|_| Fate::lost());
        // What is on the wire arrives.
        pair.run_for(pair.delay);
        for end in [NEAR, FAR] {
            if let Some(id) = pair.ends[end].id {
                pair.ends[end].tcp.close(pair.now, id).unwrap();
            }
        }
        pair.run_for(Duration::from_secs(7_200));
        for end in [NEAR, FAR] {
            assert_eq!(pair.ends[end].tcp.len(), 0, "cut at {cut} ms: {:#?}", pair.timeline);
            assert_eq!(pair.ends[end].tcp.poll_timeout(), None);
        }
    }
}

#[test]
fn a_connection_that_is_never_closed_ends_when_its_peer_has_vanished() {
    // By retransmission where data are on their way, by keepalive where there is silence.
    let config = TcpConfig::default().with(|it| it.keepalive = Some(Keepalive::default()));
    for cut in (0..150).step_by(7) {
        let mut pair = Pair::new(config.clone(), config.clone());
        pair.connect();
        for end in [NEAR, FAR] {
            pair.ends[end].outgoing = pattern(end, 30_000);
        }
        pair.run_for(ms(cut));
        pair.fate = Box::new(|_| Fate::lost());
        pair.run_for(Duration::from_secs(3 * 3600));
        for end in pair.ends.iter().filter(|end| !end.events.is_empty()) {
            let ended = TcpEvent::Closed(Some(TcpError::TimedOut));
            assert_eq!(end.events.last(), Some(&ended), "cut at {cut} ms");
            assert_eq!(end.tcp.poll_timeout(), None);
        }
    }
}

#[test]
fn a_week_of_one_busy_connection_holds_memory_flat() {
    let config = TcpConfig::default().with(|it| it.keepalive = Some(Keepalive::default()));
    let mut pair = Pair::with(config);
    let held = |pair: &Pair| pair.ends.iter().map(|end| end.tcp.held_entries()).sum::<usize>();
    // A slot and a wake-up at each end, whatever has happened.
    assert_eq!(held(&pair), 4);
    for minute in 0..7 * 24 * 60_u64 {
        pair.send((minute % 2) as usize, 3_000).run_for(ms(100));
        if minute % 7 == 0 {
            pair.fate =
                Box::new(|seen| if seen.index % 3 == 0 { Fate::lost() } else { Fate::default() });
        }
        pair.run_for(Duration::from_secs(60));
        pair.fate = Box::new(|_| Fate::default());
        assert!(held(&pair) <= 4, "{} after {minute} minutes", held(&pair));
        for end in [NEAR, FAR] {
            pair.ends[end].incoming.clear();
            pair.ends[end].events.clear();
        }
        (pair.steps, pair.timeline, pair.seen) = (0, Vec::new(), Vec::new());
    }
    pair.run_for(Duration::from_secs(600));
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).held_bytes()), [0; 2]);
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::Established; 2]);
}

#[test]
fn segments_from_a_changed_address_belong_to_no_connection() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.send(NEAR, 1_000).run_for(ms(100));
    let segment = pair.forged(FAR, TcpFlags::ACK);
    // These ports and numbers from another address; and from this address at another port.
    let (arrival, bytes) = stranger(7, &segment);
    let now = pair.now;
    let result = pair.ends[FAR].tcp.handle_segment(now, &arrival, &bytes.into());
    assert_eq!(result, Err(DropReason::TcpAcknowledgment));
    let moved = TcpRepr { src_port: 41_000, ..segment.clone() };
    assert_eq!(pair.inject(FAR, &moved, b"moved"), Err(DropReason::TcpAcknowledgment));
    let elsewhere = TcpRepr { dst_port: 9, ..segment };
    assert_eq!(pair.inject(FAR, &elsewhere, b"moved"), Err(DropReason::NoListener));
    // The strangers are reset, and the connection goes on.
    pair.ends[FAR].incoming.clear();
    assert_eq!(pair.connection(FAR).state(), TcpState::Established);
    pair.transfer(10_000, Duration::from_secs(1));
}

/// With what stands on the heap beside it, ten thousand that wait hold less than 20 MB.
#[test]
fn a_connection_that_waits_is_small() {
    let size = size_of::<windfall_tcp::Connection>();
    assert!(size <= 1536, "{size}");
}

#[test]
fn a_week_of_connections_holds_memory_flat() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let config = Arc::new(TcpConfig::default());
    let mut most = 0;
    let mut entries = 0;
    // One connection in five minutes, each closed by both sides; one in three loses its peer.
    for n in 0..2_016_u64 {
        let now = pair.now;
        let near = &mut pair.ends[NEAR];
        let local = "10.0.0.1:0".parse().unwrap();
        let id = near.tcp.connect(now, local, address(FAR), Arc::clone(&config)).unwrap();
        near.id = Some(id);
        pair.ends[FAR].id = None;
        pair.run_for(ms(100));
        pair.send(NEAR, 2_000).run_for(ms(100));
        if n % 3 == 0 {
            pair.fate = Box::new(|_| Fate::lost());
        }
        for end in [NEAR, FAR] {
            let id = pair.ends[end].id.unwrap();
            pair.ends[end].tcp.close(pair.now, id).unwrap();
        }
        pair.run_for(Duration::from_secs(300));
        pair.fate = Box::new(|_| Fate::default());
        most = most.max(pair.ends[NEAR].tcp.len() + pair.ends[FAR].tcp.len());
        entries = entries.max(pair.ends[NEAR].tcp.held_entries());
        pair.timeline.clear();
        pair.seen.clear();
    }
    assert!(entries <= 20, "{entries}");
    // A peer that is lost is given up after 15 timeouts, some thirteen minutes.
    assert!(most <= 8, "{most}");
    pair.run_for(Duration::from_secs(3_600));
    assert_eq!(pair.ends[NEAR].tcp.len() + pair.ends[FAR].tcp.len(), 0);
}

#[test]
fn a_smaller_packet_size_is_obeyed_when_the_network_names_it() {
    let mut pair = Pair::with(TcpConfig::default().with(|it| it.nagle = false));
    pair.send(NEAR, 50_000).run_for(ms(1));
    let id = pair.ends[NEAR].id.unwrap();
    let seq = pair.sent(NEAR).last().unwrap().header.seq;
    // Out of the window: a stranger guesses.
    assert!(!pair.ends[NEAR].tcp.handle_too_big(id, seq + 9_000_000, 600).unwrap());
    assert!(pair.ends[NEAR].tcp.handle_too_big(id, seq, 1_000).unwrap());
    assert_eq!(pair.connection(NEAR).segment_size(), 1_000 - 40 - 12);
    let from = pair.seen.len();
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.ends[FAR].incoming.len(), 50_000);
    let most = pair.seen[from..].iter().map(|seen| seen.len).max();
    assert_eq!(most, Some(948));
}

fn any_header() -> impl Strategy<Value = TcpRepr> {
    // Numbers near the right ones as well as anywhere.
    let number = prop_oneof![(0_u32..200_000).prop_map(|n| n.wrapping_sub(100_000)), any::<u32>()];
    (number.clone(), number, 0..512_u16, any::<u16>(), vec(any::<u8>(), 0..38)).prop_map(
        |(seq, ack, flags, window, unknown)| TcpRepr {
            seq: Seq32(seq),
            ack: Seq32(ack),
            flags: TcpFlags(flags),
            window,
            options: TcpOptions { unknown: unknown.into_iter().collect(), ..TcpOptions::default() },
            ..TcpRepr::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn arbitrary_segments_never_panic_and_never_corrupt_the_stream(
        segments in vec((any_header(), 0_usize..2_000, 0_usize..2, 0_u64..300), 1..60)
    ) {
        let mut pair = Pair::with(TcpConfig::default());
        for end in [NEAR, FAR] {
            pair.send(end, 100_000);
        }
        for (mut header, len, to, wait) in segments {
            pair.run_for(ms(wait));
            let right = pair.forged(to, header.flags);
            (header.src_port, header.dst_port) = (right.src_port, right.dst_port);
            (header.seq, header.ack) = (right.seq + header.seq.0, right.ack + header.ack.0);
            // What a stranger makes the stream say is his; that nothing breaks is ours.
            let _ = pair.inject(to, &header, &vec![0; len]);
        }
        pair.run_for(Duration::from_secs(5_000));
        for end in [NEAR, FAR] {
            prop_assert!(pair.connection(end).held_bytes() <= 2 << 20);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let mut pair = Pair::with(TcpConfig::default());
        let addresses = Addresses::new(address(NEAR).ip(), address(FAR).ip()).unwrap();
        let arrival = SegmentMeta { addresses, ecn: Ecn::NotCapable, missing: 0, lost_before: 0 };
        let now = pair.now;
        let _ = pair.ends[FAR].tcp.handle_segment(now, &arrival, &bytes.into());
        pair.settle();
    }
}

#[test]
fn a_report_of_a_size_that_fits_already_sends_nothing_again() {
    // RFC 1191, section 6.3: only a smaller size than before asks for anything.
    let mut pair = Pair::with(TcpConfig::new_reno());
    pair.send(NEAR, 10_000).settle();
    let seq = pair.sent(NEAR).last().unwrap().header.seq;
    let id = pair.ends[NEAR].id.unwrap();
    for (mtu, again) in [(1_500, 0), (1_000, 10), (1_000, 10)] {
        assert!(pair.ends[NEAR].tcp.handle_too_big(id, seq, mtu).unwrap());
        pair.settle();
        assert_eq!(pair.retransmissions(NEAR).len(), again, "{mtu}");
    }
}

#[test]
fn a_segment_may_lie_in_two_pieces_wherever_it_is_parted() {
    let config = std::sync::Arc::new(TcpConfig::default());
    let seed = windfall_base::Seed(1);
    let lookup = windfall_tcp::Lookup::Hashed;
    let mut near = windfall_tcp::TcpEndpoint::new(seed, "near", lookup);
    let [from, to] = [address(NEAR), address(FAR)];
    let now = windfall_base::Instant::START;
    near.connect(now, from, to, std::sync::Arc::clone(&config)).unwrap();
    let syn = near.poll_transmit(now).unwrap();
    for cut in [1, 10, 20, syn.len() - 1] {
        let mut far = windfall_tcp::TcpEndpoint::new(seed, "far", lookup);
        far.listen(to, windfall_tcp::Listener::new(std::sync::Arc::clone(&config))).unwrap();
        let (head, body) = syn.header.split_at(cut);
        let copy = bytes::Bytes::copy_from_slice;
        let parted = windfall_base::Payload::new(copy(head), copy(body));
        assert_eq!(far.handle_segment(now, &syn.meta(), &parted), Ok(()), "{cut}");
        assert!(far.poll_transmit(now).is_some());
    }
}
