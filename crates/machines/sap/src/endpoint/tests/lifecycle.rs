//! The lifecycle of a connection, from its ping to its end.

use windfall_wire_net::sap::{Reason, SapHeader};

use super::super::*;
use super::network::{A, B, CLEAN, DELAY, Impairments, Network, SECOND, address};
use super::parts::ethernet;
use crate::error::CloseReason;
use crate::message::{MessageKind, Mode};

const DEAD: Impairments = Impairments { loss: 1.0, ..CLEAN };

//= S0.18
#[test]
fn a_ping_without_an_answer_times_out_and_frees_its_memory() {
    let mut network = Network::new(SapConfig::standard(), DEAD, 1);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_millis(4900));
    assert!(network.events[A].is_empty() && network.sent(A, SapKind::Ping).len() > 3);
    network.run(SECOND);
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::NoAnswer)));
    network.ends[A].close(network.now, a);
    network.drain();
    assert!(network.ends[A].is_empty() && network.ends[A].poll_timeout().is_none());
}

//= S0.18
#[test]
fn lost_pings_and_accepts_are_retransmitted() {
    for seed in 0..50 {
        // Five pings in five seconds: all fail in one of 4000 attempts.
        let impairments = Impairments { loss: 0.1, ..CLEAN };
        let mut network = Network::new(SapConfig::standard(), impairments, seed);
        let a = network.ends[A].connect(network.now, address(B));
        network.run(Duration::from_secs(5));
        assert!(network.happened(A, &SapEvent::Connected), "seed {seed}");
        network.send(A, a, Mode::Precise, b"hello");
        network.run(Duration::from_secs(10));
        let b = network.accepted().expect("the message makes it known");
        assert_eq!(network.receive(B, b).len(), 1, "seed {seed}");
    }
}

#[test]
fn a_host_that_does_not_listen_refuses() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    network.ends[B].listen(false);
    network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::Refused(Reason::NotListening))));
}

#[test]
fn a_listener_of_another_version_is_reported() {
    let mut network = Network::new(SapConfig::standard(), DEAD, 1);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    let header =
        SapHeader { kind: SapKind::Refuse, flags: 0, exact: 0, connection: a.0, number: 0 };
    let body = [Reason::Version as u8];
    let refusal = [&header.emit([&body, &[]])[..], &body].concat();
    network.ends[A].handle_datagram(network.now, &DatagramMeta::new(address(B)), &refusal.into());
    network.drain();
    let error = CloseReason::Refused(Reason::Version);
    assert!(network.happened(A, &SapEvent::Closed(error)), "{:?}", network.events);
    assert_eq!(error.to_string(), "the peer refused: it speaks another version of SAP");
}

//= S0.19
#[test]
fn both_directions_end_independently_and_without_loss() {
    let impairments = Impairments { loss: 0.2, mtu: 1500, ..CLEAN };
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), impairments, 5);
    for _ in 0..100 {
        network.send(A, a, Mode::Precise, b"one of hundred");
        network.send(A, a, Mode::Approximate { protected: 0 }, b"perhaps");
    }
    network.ends[A].finish(a);
    let late = network.ends[A].send(a, &Message::new(Mode::Precise, &b"late"[..]));
    assert_eq!(late, Err(SapSendError::Finished));
    network.run(Duration::from_secs(10));
    let finished = network.happened(B, &SapEvent::Finished { approximate: 100 });
    let precise = network.receive(B, b).iter().filter(|it| it.kind == MessageKind::Precise).count();
    assert_eq!((finished, precise), (true, 100));
    network.send(B, b, Mode::Precise, b"the other direction goes on");
    network.run(Duration::from_secs(5));
    assert_eq!(network.receive(A, a).len(), 1);
    network.ends[B].close(network.now, b);
    network.run(Duration::from_secs(5));
    assert!(network.happened(A, &SapEvent::Finished { approximate: 0 }));
    network.ends[A].close(network.now, a);
    network.run(Duration::from_secs(5));
    assert!(network.ends.iter().all(SapEndpoint::is_empty), "{:?}", network.ends);
}

//= S0.19
#[test]
fn a_close_ends_in_time_without_an_answer() {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), DEAD, 1);
    network.send(A, a, Mode::Precise, b"into the void");
    network.ends[A].set_linger(a, Duration::from_secs(3));
    network.ends[A].close(network.now, a);
    network.run(Duration::from_millis(3100));
    assert!(network.ends[A].is_empty());
}

//= S0.19
#[test]
fn a_close_lasts_as_long_as_there_is_progress() {
    // One message for each round trip of 10 ms.
    let (mut network, [a, b]) = Network::connected(SapConfig::paper(), CLEAN, 1);
    for _ in 0..1000 {
        network.send(A, a, Mode::Precise, &[7; 1000]);
    }
    network.ends[A].close(network.now, a);
    network.run(Duration::from_secs(5));
    let left = network.ends[A].undelivered(a);
    assert!((300..700).contains(&left.messages) && left.bytes == left.messages * 1000, "{left:?}");
    network.run(Duration::from_secs(7));
    assert_eq!(network.receive(B, b).len(), 1000);
    assert!(network.ends[A].is_empty());
}

//= S0.19
#[test]
fn a_close_outlasts_a_dead_path_and_loses_nothing() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    for _ in 0..400 {
        network.send(A, a, Mode::Precise, &[7; 1200]);
    }
    network.ends[A].close(network.now, a);
    network.run(Duration::from_millis(5));
    network.impairments = DEAD;
    network.run(Duration::from_secs(20));
    assert!(network.ends[A].undelivered(a).messages > 0, "it was too fast to show anything");
    network.impairments = CLEAN;
    network.run(Duration::from_secs(20));
    assert_eq!(network.receive(B, b).len(), 400);
    assert!(network.ends[A].is_empty());
}

//= S0.19
#[test]
fn both_ends_close_without_an_error_at_20_percent_loss() {
    let mut errors = Vec::new();
    for seed in 0..500 {
        let impairments = Impairments { loss: 0.2, ..CLEAN };
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), impairments, seed);
        network.send(A, a, Mode::Precise, b"hello");
        network.run(Duration::from_secs(10));
        network.ends[A].close(network.now, a);
        network.ends[B].close(network.now, b);
        network.run(Duration::from_secs(20));
        let closed = |end: usize| network.happened(end, &SapEvent::Closed(CloseReason::Closed));
        if !closed(A) || !closed(B) {
            errors.push((seed, network.events.clone().map(|mut it| it.pop())));
        }
    }
    assert!(errors.is_empty(), "{} of 500: {errors:?}", errors.len());
}

#[test]
fn a_reset_after_everything_was_acknowledged_is_an_orderly_end() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, b"all there is");
    network.run(SECOND);
    // The FIN is on its way, and so is the reset of a peer that has read enough.
    network.ends[A].finish(a);
    network.drain();
    network.ends[B].abort(b, CloseReason::Closed);
    network.run(SECOND);
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::Closed)), "{:?}", network.events);
    // Without the announcement it is none.
    let (mut network, [_, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.ends[B].abort(b, CloseReason::Closed);
    network.run(SECOND);
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::ClosedByPeer)));
}

#[test]
fn undelivered_messages_are_known_after_the_end() {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), DEAD, 1);
    network.send(A, a, Mode::Precise, &[1; 1000]);
    network.send(A, a, Mode::Precise, &[2; 500]);
    network.ends[A].abort(a, CloseReason::TimedOut);
    network.drain();
    assert_eq!(network.ends[A].undelivered(a), Undelivered { messages: 2, bytes: 1500 });
}

#[test]
fn a_close_before_the_peer_has_finished_resets_it() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.ends[A].close(network.now, a);
    network.run(SECOND);
    let kinds: Vec<_> = network.events[B].iter().map(|(_, event)| event.clone()).collect();
    assert!(kinds.contains(&SapEvent::Closed(CloseReason::ClosedByPeer)), "{kinds:?}");
    let after = network.ends[B].send(b, &Message::new(Mode::Precise, &b"late"[..]));
    assert_eq!(after, Err(SapSendError::NotOpen));
}

#[test]
fn a_vanished_peer_is_detected() {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), DEAD, 1);
    network.run(Duration::from_secs(62));
    assert!(network.happened(A, &SapEvent::Closed(CloseReason::TimedOut)));
    assert!(network.sent(A, SapKind::Probe).len() > 3, "it was probed first");
    network.ends[A].close(network.now, a);
    network.drain();
    assert!(network.ends[A].is_empty());
}

#[test]
fn the_round_trip_is_that_of_the_path() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.send(A, a, Mode::Precise, b"measured");
    network.run(SECOND);
    for (end, id) in [(A, a), (B, b)] {
        let found = network.ends[end].round_trip(id).expect("it was measured");
        assert!(found >= DELAY * 2 && found < DELAY * 3, "{found:?}");
    }
    assert_eq!(network.ends[A].round_trip(ConnectionId(b.0 ^ 1)), None);
}

#[test]
fn a_size_that_is_too_long_concerns_the_path_to_its_address_only() {
    // Probes vanish, so that the search goes on.
    let lost = Impairments { mtu: 1400, ..CLEAN };
    for (other, changes) in [(address(B), true), (SocketAddr::from(([10, 9, 9, 9], 1)), false)] {
        let mut network = Network::new(SapConfig::standard(), lost, 1);
        network.ends[A].connect(network.now, address(B));
        network.run(Duration::from_millis(30));
        let begun = network.sent(A, SapKind::Probe).len();
        network.ends[A].handle_too_long(other, 2260);
        network.drain();
        let probes = network.sent(A, SapKind::Probe);
        let sizes: Vec<usize> = probes[begun..].iter().map(OutgoingDatagram::len).collect();
        assert_eq!(sizes, if changes { vec![1464] } else { vec![] });
    }
}

/// Returns the sizes of the probes that `A` has sent for path MTU discovery since `begun`.
fn probes_since(network: &Network, begun: usize) -> Vec<usize> {
    let probes = network.sent(A, SapKind::Probe);
    let sizes = probes[begun..].iter().map(OutgoingDatagram::len);
    sizes.filter(|size| *size > 100).collect()
}

#[test]
fn a_second_connection_does_not_probe_what_was_too_long_for_the_first() {
    let narrow = Impairments { mtu: 1464, ..CLEAN };
    let mut network = Network::new(SapConfig::standard(), narrow, 1);
    network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_secs(5));
    assert_eq!(probes_since(&network, 0), [2260, 2260, 2260, 1464]);
    let begun = network.sent(A, SapKind::Probe).len();
    network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_secs(5));
    // A size that arrives is probed by each connection: only its own peer can tell.
    assert_eq!(probes_since(&network, begun), [1464]);
    // Ten minutes after the first search the path may have changed. Both connections look.
    network.impairments = CLEAN;
    network.run(Duration::from_secs(600));
    let begun = network.sent(A, SapKind::Probe).len();
    network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_secs(5));
    assert_eq!(probes_since(&network, begun)[0], 2260);
}

#[test]
fn a_quiet_connection_is_kept_alive() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.run(Duration::from_secs(300));
    network.send(A, a, Mode::Precise, b"still here");
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 1);
}

/// Sends 50 messages of `len` bytes at this interval in milliseconds over a path on which a tenth
/// of the datagrams overtake the others by `longer` milliseconds, from the handshake on; returns
/// how many arrived, and how many of their bytes did not.
fn overtaken(seed: u64, longer: u64, len: usize, interval: u64) -> (usize, usize) {
    let overtaking = (0.1, Duration::from_millis(longer));
    let impairments = Impairments { overtaking, mtu: 1500, ..CLEAN };
    let mut network = Network::new(SapConfig::standard(), impairments, seed);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND * 5);
    let b = network.accepted().expect("it was accepted");
    let mut got = 0;
    let mut missing = 0;
    for number in 0..50 + 20_000 / interval {
        if number < 50 {
            network.send(A, a, Mode::Approximate { protected: 0 }, &vec![7; len]);
        }
        network.run(Duration::from_millis(interval));
        for message in network.receive(B, b) {
            got += 1;
            missing += message.missing.iter().map(Range::len).sum::<usize>();
        }
    }
    (got, missing)
}

#[test]
fn parts_that_overtake_the_others_by_the_delay_of_the_path_cost_no_message() {
    for (longer, len, interval) in
        [(150, 8_000, 100), (100, 20_000, 25), (100, 60_000, 50), (300, 20_000, 25), (30, 9_000, 5)]
    {
        for seed in 0..10 {
            let outcome = overtaken(seed, longer, len, interval);
            assert_eq!(outcome, (50, 0), "{len} bytes, {longer} ms, seed {seed}");
        }
    }
}

/// Sends `count` approximate messages of `len` bytes over a path that reorders, ends at once, and
/// returns how many arrived before the end was reported, and how many bytes of them were missing.
fn stream_and_end(seed: u64, count: usize, len: usize, closes: bool) -> (usize, usize) {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), seed);
    network.impairments.reordering = 0.5;
    for _ in 0..count {
        network.send(A, a, Mode::Approximate { protected: 0 }, &vec![7; len]);
        network.run(Duration::from_millis(2));
    }
    if closes {
        network.ends[A].close(network.now, a);
    } else {
        network.ends[A].finish(a);
    }
    let end = SapEvent::Finished { approximate: count as u32 };
    let mut got = 0;
    let mut missing = 0;
    for _ in 0..2_000 {
        network.run(Duration::from_millis(1));
        for message in network.receive(B, b) {
            got += 1;
            missing += message.missing.iter().map(Range::len).sum::<usize>();
        }
        if network.happened(B, &end) {
            return (got, missing);
        }
    }
    panic!("the end was not reported");
}

#[test]
fn an_end_that_overtakes_approximate_messages_costs_none() {
    for seed in 0..30 {
        for closes in [false, true] {
            assert_eq!(stream_and_end(seed, 50, 1000, closes), (50, 0), "{seed} {closes}");
            assert_eq!(stream_and_end(seed, 5, 20_000, closes), (5, 0), "{seed} {closes}");
        }
    }
}

/// Sends 60 messages over a path on which most datagrams take `longer` milliseconds more than the
/// others, ends at once, and returns how many arrived before the end was reported.
fn end_that_overtakes(config: SapConfig, seed: u64, longer: u64) -> usize {
    let (mut network, [a, b]) = Network::connected(config, CLEAN, seed);
    network.impairments.overtaking = (0.3, Duration::from_millis(longer));
    for _ in 0..60 {
        network.send(A, a, Mode::Approximate { protected: 0 }, &[7; 500]);
        network.run(Duration::from_millis(10));
    }
    network.ends[A].finish(a);
    let mut got = 0;
    while !network.happened(B, &SapEvent::Finished { approximate: 60 }) {
        network.run(Duration::from_millis(1));
        got += network.receive(B, b).len();
    }
    got
}

#[test]
fn an_end_waits_as_long_as_packets_have_come_late() {
    for config in [SapConfig::paper(), SapConfig::standard()] {
        for (seed, longer) in (0..10).flat_map(|seed| [150, 300, 600].map(|it| (seed, it))) {
            let got = end_that_overtakes(config, seed, longer);
            assert_eq!(got, 60, "{:?}, {longer} ms, seed {seed}", config.profile);
        }
    }
}

#[test]
fn an_end_waits_for_lost_messages_for_a_bounded_time() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.impairments.loss = 1.0;
    network.send(A, a, Mode::Approximate { protected: 0 }, b"never arrives");
    network.run(DELAY);
    network.impairments.loss = 0.0;
    network.ends[A].finish(a);
    let end = SapEvent::Finished { approximate: 1 };
    let begun = network.now;
    while !network.happened(B, &end) {
        network.run(DELAY);
    }
    let waited = network.now - begun;
    assert!(waited >= Duration::from_millis(100) && waited < SECOND, "{waited:?}");
    assert!(network.receive(B, b).is_empty() && network.ends[A].is_finished(a));
}

#[test]
fn an_end_on_a_path_that_keeps_the_order_waits_for_less() {
    for config in [SapConfig::paper(), SapConfig::standard()] {
        let (mut network, [a, b]) = Network::connected(config, CLEAN, 1);
        for _ in 0..100 {
            network.send(A, a, Mode::Approximate { protected: 0 }, b"arrives");
            network.run(Duration::from_millis(2));
        }
        network.run(DELAY);
        network.impairments.loss = 1.0;
        network.send(A, a, Mode::Approximate { protected: 0 }, b"never arrives");
        network.run(Duration::from_millis(1));
        network.impairments.loss = 0.0;
        network.ends[A].finish(a);
        let begun = network.now;
        while !network.happened(B, &SapEvent::Finished { approximate: 101 }) {
            network.run(Duration::from_millis(1));
        }
        let waited = network.now - begun - DELAY;
        assert!(waited >= DELAY * 2 && waited <= DELAY * 6, "{waited:?}");
        assert_eq!(network.receive(B, b).len(), 100);
    }
}

#[test]
fn a_repair_to_the_end_asks_for_what_there_is() {
    for len in [10, 1_000, 5_000, 70_000, 200_000] {
        for known in [true, false] {
            let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
            let data: Vec<u8> = (0..len).map(|at| (at * 7 + at / 251) as u8).collect();
            network.impairments.loss = if known { 0.0 } else { 1.0 };
            network.send(A, a, Mode::Approximate { protected: 0 }, &data);
            network.run(SECOND * 2);
            network.impairments.loss = 0.0;
            assert_eq!(network.receive(B, b).len(), usize::from(known), "{len}");
            let begun = network.sent(B, SapKind::Repair).len();
            for start in [0, len / 3] {
                let everything = start..usize::MAX;
                network.ends[B].repair(b, 0, 0, &[everything]).expect("it is open");
                network.run(SECOND * 5);
                let mut found = vec![None; len];
                for repair in network.receive(B, b) {
                    let mut from = 0;
                    for range in &repair.exact {
                        for at in range.clone() {
                            found[at] = Some(repair.data[from]);
                            from += 1;
                        }
                    }
                }
                let expected = |at: usize| (at >= start).then_some(data[at]);
                assert!((0..len).all(|at| found[at] == expected(at)), "{len} {known} {start}");
            }
            let asked = network.sent(B, SapKind::Repair).len() - begun;
            assert!(asked <= 4 + 2 * len / 1_000, "{asked} requests for {len} bytes");
        }
    }
}

//= S0.56
#[test]
fn damaged_ranges_can_be_repaired() {
    let impairments = Impairments { loss: 0.3, mtu: 1500, ..CLEAN };
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    let data: Vec<u8> = (0..600).map(|byte| byte as u8).collect();
    network.send(A, a, Mode::Approximate { protected: 0 }, &data);
    network.run(SECOND);
    let number = network.receive(B, b)[0].number;
    network.impairments = impairments;
    network.ends[B].repair(b, 0, number, &[10..20, 256..512]).expect("it is open");
    network.ends[B].repair(b, 0, 99, &[0..5, 9..10]).expect("it is open");
    network.run(Duration::from_secs(5));
    let mut repairs = network.receive(B, b);
    repairs.sort_by_key(|repair| repair.number);
    // A request whose acknowledgement is lost is answered twice.
    repairs.dedup();
    let [found, forgotten] = &repairs[..] else { panic!("{repairs:?}") };
    assert_eq!((found.kind, &found.exact), (MessageKind::Repair, &vec![10..20, 256..512]));
    assert_eq!(found.data, [&data[10..20], &data[256..512]].concat());
    assert_eq!((forgotten.number, forgotten.exact.len()), (99, 0), "it was never sent");
}

#[test]
fn streams_do_not_block_each_other() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    let send = |network: &mut Network, stream, text: &'static [u8]| {
        let message = Message { stream, ..Message::new(Mode::Precise, text) };
        network.ends[A].send(a, &message).expect("there is room");
        network.drain();
    };
    network.impairments = DEAD;
    send(&mut network, 1, b"lost at first");
    network.impairments = CLEAN;
    send(&mut network, 2, b"overtakes");
    network.run(Duration::from_millis(7));
    assert_eq!(network.receive(B, b)[0].stream, 2);
    network.run(SECOND);
    assert_eq!(network.receive(B, b)[0].stream, 1);
}

#[test]
fn a_stream_too_many_is_an_error_and_the_others_go_on() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    let message = |stream| Message { stream, ..Message::new(Mode::Precise, &b"one"[..]) };
    for stream in 100..164 {
        network.ends[A].send(a, &message(stream)).expect("the peer accepts them");
    }
    let error = network.ends[A].send(a, &message(7)).expect_err("one too many");
    assert_eq!(
        error.to_string(),
        "stream 7 is one too many: a connection has 64 with precise messages"
    );
    network.ends[A].send(a, &message(163)).expect("it is open");
    let approximate = Mode::Approximate { protected: 0 };
    let other = Message { stream: 7, ..Message::new(approximate, &b"perhaps"[..]) };
    network.ends[A].send(a, &other).expect("approximate ones need no order");
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 66);
}

#[test]
fn messages_to_a_peer_that_predates_parts_grow_as_far_as_the_path_allows() {
    let impairments = Impairments { mtu: 1464, ..CLEAN };
    let mut network = Network::new(SapConfig::standard(), impairments, 1);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_secs(3));
    let b = network.accepted().expect("it was accepted");
    network.send_whole_messages([a, b]);
    let most = network.ends[A].max_message(a);
    assert!(most > 1400 && most < 1464, "{most}");
    let error = network.ends[A].send(a, &Message::new(Mode::Precise, vec![0; 1465]));
    assert!(matches!(error, Err(SapSendError::TooLong { len: 1465, .. })), "{error:?}");
    network.send(A, a, Mode::Approximate { protected: 0 }, &vec![1; most]);
    network.run(SECOND);
    assert_eq!(network.receive(B, b)[0].data.len(), most);
}

#[test]
fn a_full_receive_buffer_stops_the_sender_without_loss() {
    let config =
        SapConfig { receive_buffer: 20_000, send_buffer: 1 << 20, ..SapConfig::standard() };
    let (mut network, [a, b]) = Network::connected(config, CLEAN, 1);
    for _ in 0..400 {
        network.send(A, a, Mode::Precise, &[9; 1000]);
    }
    network.run(Duration::from_secs(20));
    let mut read = network.receive(B, b).len();
    assert!(read <= 21, "{read} messages of 1000 bytes in a buffer of 20 000");
    for _ in 0..400 {
        network.run(Duration::from_millis(500));
        read += network.receive(B, b).len();
    }
    assert_eq!(read, 400);
}

#[test]
fn an_endpoint_has_work_until_it_is_drained() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    assert!(!network.ends[A].has_work());
    network.ends[A].connect(network.now, address(B));
    assert!(network.ends[A].has_work(), "the ping waits");
    network.drain();
    assert!(!network.ends[A].has_work());
    let ping = &network.log[0].1;
    assert!(!ping.is_empty() && ping.len() == ping.to_bytes().len());
}

#[test]
fn a_writer_is_told_once_that_half_of_the_send_buffer_is_free() {
    let config = SapConfig { send_buffer: 20_000, ..SapConfig::standard() };
    let (mut network, [a, _]) = Network::connected(config, CLEAN, 1);
    let message = Message::new(Mode::Precise, vec![7; 1_000]);
    for expected in 0..3 {
        let told = network.events[A].iter().filter(|(_, event)| *event == SapEvent::Writable);
        assert_eq!(told.count(), expected);
        network.impairments.loss = 1.0;
        while network.ends[A].send(a, &message).is_ok() {
            network.drain();
        }
        network.impairments.loss = 0.0;
        network.run(SECOND * 5);
    }
}

/// The buffer limits what waits, not the length of a message.
#[test]
fn a_message_beyond_the_send_buffer_is_sent_if_no_other_one_waits() {
    let config = SapConfig { send_buffer: 20_000, ..SapConfig::standard() };
    let (mut network, [a, b]) = Network::connected(config, CLEAN, 1);
    let message = Message::new(Mode::Precise, vec![7; 50_000]);
    assert_eq!(network.ends[A].send(a, &message), Ok(()));
    assert_eq!(network.ends[A].send(a, &message), Err(SapSendError::Full));
    network.run(SECOND);
    assert_eq!(network.receive(B, b).len(), 1);
}

#[test]
fn a_reader_is_told_once_that_there_are_messages() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    for expected in 1..=3 {
        for _ in 0..2 {
            network.send(A, a, Mode::Precise, b"hello");
        }
        network.run(SECOND);
        let told = network.events[B].iter().filter(|(_, event)| *event == SapEvent::Readable);
        assert_eq!(told.count(), expected, "two messages wait");
        assert_eq!(network.receive(B, b).len(), 2);
    }
}

#[test]
fn a_connection_tells_when_the_search_for_the_size_of_its_path_is_over() {
    let (network, [a, _]) = ethernet(SapConfig::standard(), 1);
    let settled = network.ends[A].path_settles_at(a);
    assert!(settled.is_some_and(|at| at <= network.now), "{settled:?}");
}
