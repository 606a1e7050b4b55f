//! What an endpoint and a connection tell of themselves, and what processing costs.

use std::net::SocketAddr;
use std::sync::Arc;

use windfall_base::{Duration, Instant, Seed};
use windfall_tcp::{
    AckPolicy, Listener, Lookup, OpenError, TcpConfig, TcpEndpoint, TcpError, TcpEvent,
};
use windfall_wire_net::TcpFlags;

use crate::pair::*;

fn any_port() -> SocketAddr {
    "10.0.0.1:0".parse().unwrap()
}

#[test]
fn every_port_that_is_free_is_given_once() {
    // RFC 6335, section 6: the dynamic ports are 49152 to 65535.
    let mut tcp = TcpEndpoint::new(Seed(1), "ports", Lookup::Hashed);
    let config = Arc::new(TcpConfig::default());
    // Every even one is listening.
    for port in (49_152..=65_535).step_by(2) {
        let local = SocketAddr::new(any_port().ip(), port);
        tcp.listen(local, Listener::new(Arc::clone(&config))).unwrap();
    }
    let mut connect = |remote: SocketAddr| {
        let id = tcp.connect(Instant::START, any_port(), remote, Arc::clone(&config))?;
        Ok(tcp.connection(id).unwrap().path().local.port())
    };
    let mut given: Vec<u16> = (0..8_192).map(|_| connect(address(FAR)).unwrap()).collect();
    given.sort_unstable();
    assert!(given.into_iter().eq((49_153..=65_535).step_by(2)));
    assert_eq!(connect(address(FAR)), Err(OpenError::NoPort(any_port().ip())));
    // Towards another end they are free.
    let mut other = address(FAR);
    other.set_port(5_002);
    assert!(connect(other).is_ok());
}

#[test]
fn an_endpoint_counts_what_it_holds() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let held = |pair: &Pair| pair.ends[NEAR].tcp.held_entries();
    assert_eq!(held(&pair), 0);
    pair.connect();
    assert_eq!(held(&pair), 2, "the connection, which wants to send");
    pair.run_for(ms(11));
    assert_eq!(held(&pair), 2, "the connection, and when to wake it");
    // The answer is taken and not yet looked at.
    let syn = pair.sent(NEAR).next().unwrap().header.clone();
    let mut answer = pair.forged(NEAR, TcpFlags::SYN | TcpFlags::ACK);
    (answer.ack, answer.seq) = (syn.seq + 1, pair.sent(FAR).next().unwrap().header.seq);
    let payload = |header: &windfall_wire_net::TcpRepr| {
        let addresses = windfall_wire_net::Addresses::new(address(FAR).ip(), address(NEAR).ip());
        let addresses = addresses.unwrap();
        let mut bytes = header.emit(&Default::default()).unwrap().to_vec();
        windfall_wire_net::tcp::fill_checksum(&addresses, &mut bytes, &[]);
        let ecn = windfall_wire_net::Ecn::NotCapable;
        let missing = 0;
        (windfall_tcp::SegmentMeta { addresses, ecn, missing, lost_before: 0 }, bytes.into())
    };
    let (arrival, bytes) = payload(&answer);
    pair.ends[NEAR].tcp.handle_segment(pair.now, &arrival, &bytes).unwrap();
    assert_eq!(held(&pair), 4, "it wants to send, too, and something happened to it");
    // A segment for no socket is answered with a reset.
    answer.dst_port = 9;
    let (arrival, bytes) = payload(&answer);
    assert!(pair.ends[NEAR].tcp.handle_segment(pair.now, &arrival, &bytes).is_err());
    assert_eq!(held(&pair), 5, "and a reset waits");
    assert_eq!(pair.ends[NEAR].tcp.lookup_counts().lookups, 2);
}

#[test]
fn a_connection_is_found_by_its_ends() {
    let pair = Pair::with(TcpConfig::default());
    let [near, far] = pair.addresses;
    let tcp = &pair.ends[NEAR].tcp;
    assert_eq!(tcp.find(near, far), pair.ends[NEAR].id);
    assert_eq!(tcp.find(far, near), None);
}

#[test]
fn syns_answered_without_memory_are_counted() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    let far = &mut pair.ends[FAR].tcp;
    far.unlisten(address(FAR));
    let config = Arc::new(TcpConfig::default());
    let listener = Listener { backlog: 0, ..Listener::new(config) };
    far.listen(address(FAR), listener).unwrap();
    assert_eq!(far.cookies_sent(), 0);
    pair.connect().run_for(ms(100));
    assert_eq!(pair.ends[FAR].tcp.cookies_sent(), 1);
}

#[test]
fn a_connection_tells_what_it_holds_when_the_stream_ends_and_why_it_is_over() {
    let mut pair = Pair::with(TcpConfig::default());
    pair.ends[NEAR].reads = false;
    pair.ends[NEAR].follows = false;
    pair.ends[FAR].follows = false;
    assert!(!pair.connection(NEAR).at_end());
    pair.send(FAR, 50).run_for(ms(100));
    pair.ends[FAR].finishes = true;
    pair.send(FAR, 0).run_for(ms(100));
    pair.send(NEAR, 100);
    assert_eq!(pair.connection(NEAR).held_bytes(), 150);
    assert!(!pair.connection(NEAR).at_end(), "not before it was read");
    assert_eq!(pair.read(NEAR, 100), 50);
    assert!(pair.connection(NEAR).at_end());
    assert_eq!(pair.connection(NEAR).error(), None);
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.abort(id).unwrap();
    assert_eq!(pair.connection(NEAR).error(), Some(TcpError::Aborted));
}

/// Returns the steps that an end has taken, without those that it never took.
fn steps(pair: &Pair, end: usize) -> String {
    let operations = pair.connection(end).operations();
    let taken = operations.iter().filter(|(_, count)| *count > 0);
    taken.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// Opens and sends three segments, of which the second may be lost; returns the steps.
fn small_exchange(config: &TcpConfig, loses: bool) -> [String; 2] {
    let mut pair = Pair::with(config.clone().with(|it| {
        it.mss = 1_000;
        it.nagle = false;
    }));
    let mut count = 0;
    pair.fate = Box::new(move |seen| {
        count += u64::from(seen.from == NEAR && seen.is_data());
        Fate { lost: loses && seen.from == NEAR && count == 2, ..Fate::default() }
    });
    let len = 3 * pair.connection(NEAR).segment_size() as usize;
    pair.send(NEAR, len).run_for(ms(1_000));
    assert_eq!(pair.ends[FAR].incoming.len(), len);
    [NEAR, FAR].map(|end| steps(&pair, end))
}

/// A connection over which everything is counted as a reader would: headers of 20 bytes, or 32 with
/// timestamps, SYNs with all their options, and a SACK block of 12.
#[test]
fn every_step_of_a_small_exchange_is_counted() {
    //= S2.6
    //= S2.7
    let plain = TcpConfig::new_reno().with(|it| it.timestamps = false);
    let [near, far] = small_exchange(&plain, false);
    // Two acknowledgments: of the first two segments at once, of the third after a while.
    assert_eq!(
        near,
        "segments_received 3, segments_sent 5, lookups 3, keys_compared 3, checksum_bytes 3184, \
         mispredicted 2, templates 3, headers 2, acks_sent 1, acks_received 2, data_sent 3"
    );
    assert_eq!(
        far,
        "segments_received 4, segments_sent 3, lookups 4, keys_compared 4, checksum_bytes 3152, \
         predicted_data 3, headers 3, acks_sent 2, acks_received 1, data_received 3"
    );
    let [near, far] = small_exchange(&TcpConfig::new_reno(), true);
    // The third is reported by SACK, and the second leaves again after a timeout.
    assert_eq!(
        near,
        "segments_received 4, segments_sent 6, lookups 4, keys_compared 4, checksum_bytes 4300, \
         paws_checks 3, mispredicted 3, templates 4, headers 2, timestamps 11, sack_blocks 1, \
         acks_sent 1, acks_received 3, data_sent 4, retransmissions 1, timeouts 1, reductions 1"
    );
    assert_eq!(
        far,
        "segments_received 4, segments_sent 4, lookups 4, keys_compared 4, checksum_bytes 3240, \
         paws_checks 4, predicted_data 1, mispredicted 2, headers 4, timestamps 7, sack_blocks 1, \
         acks_sent 3, acks_received 1, data_received 3"
    );
}

#[test]
fn what_is_written_in_pieces_is_copied_and_counted() {
    let mut pair = Pair::with(TcpConfig::default());
    let id = pair.ends[NEAR].id.unwrap();
    assert_eq!(pair.ends[NEAR].tcp.write(id, &[7; 100]), Ok(100));
    assert_eq!(pair.connection(NEAR).operations().copied_bytes, 100);
}

#[test]
fn what_arrives_in_small_pieces_is_copied_and_counted() {
    for prediction in [true, false] {
        let mut pair = Pair::with(TcpConfig::default().with(|it| it.prediction = prediction));
        pair.send(NEAR, 100).run_for(ms(100));
        assert_eq!(pair.connection(FAR).operations().copied_bytes, 100, "{prediction}");
    }
}

#[test]
fn every_segment_sent_has_a_header_and_every_acknowledgment_arrives() {
    //= S2.7
    for template in [true, false] {
        let mut pair = Pair::with(TcpConfig::new_reno().with(|it| {
            it.template = template;
            it.timestamps = false;
        }));
        pair.transfer(100_000, Duration::from_secs(10));
        pair.run_for(ms(200));
        // A reset, too, where one end gives up.
        let id = pair.ends[FAR].id.unwrap();
        let _ = pair.ends[FAR].tcp.abort(id);
        pair.run_for(ms(200));
        let [near, far] = [NEAR, FAR].map(|end| pair.ends[end].tcp.operations());
        for steps in [near, far] {
            assert_eq!(steps.segments_sent, steps.headers + steps.templates);
        }
        assert_eq!(near.templates > 0, template);
        assert_eq!(near.acks_received, far.acks_sent);
    }
}

#[test]
fn a_reset_has_a_header_too() {
    let mut pair = Pair::with(TcpConfig::default());
    let id = pair.ends[NEAR].id.unwrap();
    let before = pair.ends[NEAR].tcp.operations();
    pair.ends[NEAR].tcp.abort(id).unwrap();
    pair.run_for(ms(100));
    let after = pair.ends[NEAR].tcp.operations();
    assert_eq!(
        (after.headers, after.segments_sent),
        (before.headers + 1, before.segments_sent + 1)
    );
}

#[test]
fn as_many_sack_blocks_as_fit_beside_the_other_options() {
    //= S2.5
    // Forty bytes of options: RFC 2018, section 3.
    for (timestamps, most) in [(true, 3), (false, 4)] {
        let mut pair = Pair::with(TcpConfig::new_reno().with(|it| {
            it.timestamps = timestamps;
            it.nagle = false;
        }));
        let mut count = 0;
        pair.fate = Box::new(move |seen| {
            let data = seen.from == NEAR && seen.is_data();
            count += u64::from(data);
            Fate { lost: data && count % 2 == 1, ..Fate::default() }
        });
        pair.send(NEAR, 10 * 1_460).run_for(ms(25));
        let blocks = pair.sent(FAR).map(|seen| seen.header.options.sack.len()).max();
        assert_eq!(blocks, Some(most));
    }
}

#[test]
fn a_connection_that_never_spoke_ends_in_silence() {
    let mut pair = Pair::new(TcpConfig::default(), TcpConfig::default());
    pair.connect();
    let near = &mut pair.ends[NEAR];
    near.tcp.shutdown(near.id.unwrap()).unwrap();
    assert!(near.tcp.poll_transmit(Instant::START).is_none());
    let event = near.tcp.poll_event().map(|(_, event)| event);
    assert_eq!(event, Some(TcpEvent::Closed(None)));
}

#[test]
fn a_third_of_the_buffer_must_be_free_before_the_writer_is_called() {
    for (acked, called) in [(500, false), (1_000, true)] {
        let each = AckPolicy::EverySegments { segments: 1, delay: ms(40), tick: Duration::ZERO };
        let far = TcpConfig::new_reno().with(|it| it.acks = each);
        let near = far.clone().with(|it| {
            it.mss = 500;
            it.send_buffer = 3_000.into();
            it.timestamps = false;
        });
        let mut pair = Pair::established(near, far);
        // What acknowledges more is lost.
        pair.fate = Box::new(move |seen| Fate {
            lost: seen.from == FAR && seen.ack > 1 + acked,
            ..Fate::default()
        });
        pair.send(NEAR, 4_000).run_for(ms(50));
        assert_eq!(pair.ends[NEAR].events.contains(&TcpEvent::Writable), called, "{acked}");
    }
}
