//! A request and its answer with data on the SYN, beside the ordinary handshake (S2.17).

use windfall_base::seq::Seq32;
use windfall_base::{DropReason, Duration, Instant};
use windfall_tcp::{TcpConfig, TcpEvent, TcpState};
use windfall_wire_net::tcp::FastOpenCookie;
use windfall_wire_net::{TcpFlags, TcpOptions, TcpRepr};

use crate::pair::*;

fn config(fast_open: bool) -> TcpConfig {
    TcpConfig::default().with(|it| {
        it.fast_open = fast_open;
        it.time_wait = Duration::from_secs(1);
    })
}

/// Returns a pair whose near end has spoken to the far one before.
fn acquainted(near: bool, far: bool) -> Pair {
    let mut pair = Pair::established(config(near), config(far));
    pair.ends[NEAR].finishes = true;
    pair.send(NEAR, 1).run_for(Duration::from_secs(100));
    for end in [NEAR, FAR] {
        let id = pair.ends[end].id.take().unwrap();
        pair.ends[end].tcp.close(pair.now, id).unwrap();
        pair.ends[end].incoming.clear();
        pair.ends[end].events.clear();
        pair.ends[end].finishes = false;
    }
    pair.run_for(Duration::from_secs(100));
    assert!(pair.ends.iter().all(|end| end.tcp.is_empty()));
    pair.seen.clear();
    pair
}

/// Sends a request of 200 bytes, which is answered by 600; returns when the answer was there.
fn ask(pair: &mut Pair) -> Duration {
    let began = pair.now;
    pair.ends[FAR].outgoing = pattern(FAR, 600);
    pair.ends[FAR].finishes = true;
    pair.connect().send(NEAR, 200);
    assert!(pair.run_until(ms(500), |pair| pair.ends[NEAR].incoming.len() == 600));
    let took = pair.now.saturating_since(began);
    pair.run_for(ms(500));
    assert_eq!(pair.ends[FAR].incoming, pattern(NEAR, 200)[..]);
    assert_eq!(pair.ends[NEAR].incoming, pattern(FAR, 600)[..]);
    assert_eq!(pair.connection(NEAR).state(), TcpState::Closed, "{:#?}", pair.timeline);
    took
}

#[test]
fn a_transaction_takes_one_round_trip_and_fewer_packets() {
    //= S2.17
    let mut counts = Vec::new();
    // The wire takes 10 ms in each direction; both ends answer at once.
    for (fast_open, expected) in [(false, ms(40)), (true, ms(20))] {
        let mut pair = acquainted(fast_open, fast_open);
        assert_eq!(ask(&mut pair), expected, "{:#?}", pair.timeline);
        let accepted = pair.ends[FAR].events.iter().filter(|it| **it == TcpEvent::Accepted).count();
        assert_eq!(accepted, 1);
        counts.push(pair.seen.len());
    }
    // SYN; SYN and ACK; request; answer and FIN; ACK; FIN; ACK. With data on the SYN: SYN and
    // request; SYN, ACK, answer and FIN; ACK; FIN; ACK.
    assert_eq!(counts, [7, 5], "packets without and with");
}

#[test]
fn a_transaction_takes_a_round_trip_and_the_time_of_the_server() {
    //= S2.17
    for processing in [ms(1), ms(30), ms(400)] {
        let mut pair = acquainted(true, true);
        let began = pair.now;
        pair.connect().send(NEAR, 200);
        assert!(pair.run_until(ms(500), |pair| pair.ends[FAR].incoming.len() == 200));
        pair.run_for(processing);
        pair.ends[FAR].finishes = true;
        pair.send(FAR, 600);
        assert!(pair.run_until(ms(500), |pair| pair.ends[NEAR].incoming.len() == 600));
        let took = pair.now.saturating_since(began);
        assert_eq!(took, ms(20) + processing, "{:#?}", pair.timeline);
    }
}

#[test]
fn the_syn_waits_for_data_unless_it_is_opened_without() {
    let mut pair = acquainted(true, true);
    pair.connect().run_for(ms(100));
    assert_eq!(pair.sent(NEAR).count(), 0);
    // A segment of 1460 bytes, less all the options that there may be.
    assert_eq!(pair.connection(NEAR).room_on_syn(), Some(1_420));
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.open_without_data(id).unwrap();
    pair.run_for(ms(100));
    let syn = pair.sent(NEAR).next().unwrap();
    assert_eq!((syn.header.flags, syn.len), (TcpFlags::SYN, 0));
    assert!(syn.header.options.fast_open.as_ref().is_some_and(|cookie| !cookie.is_empty()));
    assert_eq!(pair.connection(NEAR).state(), TcpState::Established);
    assert_eq!(pair.connection(NEAR).room_on_syn(), None, "it has left");
}

#[test]
fn the_size_that_a_server_names_later_bounds_the_data_of_the_next_syn() {
    let mut pair = acquainted(true, true);
    pair.fate = Box::new(|_| Fate::lost());
    pair.connect().send(NEAR, 10).run_for(ms(1));
    let syn = pair.sent(NEAR).last().unwrap();
    let answer = TcpRepr {
        src_port: address(FAR).port(),
        dst_port: address(NEAR).port(),
        ack: syn.header.seq + 11,
        flags: TcpFlags::SYN | TcpFlags::ACK,
        window: 9_000,
        options: TcpOptions { mss: Some(1_000), ..TcpOptions::default() },
        ..TcpRepr::default()
    };
    pair.inject(NEAR, &answer, &[]).unwrap();
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.abort(id).unwrap();
    pair.run_for(ms(100)).connect();
    assert_eq!(pair.connection(NEAR).room_on_syn(), Some(960));
}

#[test]
fn data_on_a_syn_are_copied_and_counted() {
    let mut pair = acquainted(true, true);
    pair.connect().send(NEAR, 200).run_for(ms(15));
    assert_eq!(pair.connection(FAR).operations().copied_bytes, 200);
}

#[test]
fn who_does_not_know_the_option_gets_an_ordinary_connection() {
    for (near, far) in [(true, false), (false, true)] {
        let mut pair = acquainted(near, far);
        assert_eq!(ask(&mut pair), ms(40));
        assert!(pair.sent(NEAR).all(|seen| seen.len == 0 || !seen.header.flags.has(TcpFlags::SYN)));
    }
}

#[test]
fn a_lost_or_swallowed_syn_is_retransmitted_without_its_data() {
    let mut pair = acquainted(true, true);
    // Something on the way drops every SYN that carries data.
    pair.fate = Box::new(|seen| {
        let hit = seen.header.flags.has(TcpFlags::SYN) && seen.is_data();
        if hit { Fate::lost() } else { Fate::default() }
    });
    pair.ends[FAR].outgoing = pattern(FAR, 600);
    pair.connect().send(NEAR, 200).run_for(Duration::from_secs(3));
    assert_eq!(pair.ends[FAR].incoming, pattern(NEAR, 200)[..]);
    assert_eq!(pair.ends[NEAR].incoming, pattern(FAR, 600)[..]);
    let syns: Vec<usize> = pair
        .sent(NEAR)
        .filter(|seen| seen.header.flags.has(TcpFlags::SYN))
        .map(|seen| seen.len)
        .collect();
    assert_eq!(syns, [200, 0]);
    // The next attempt does not try it again.
    let id = pair.ends[NEAR].id.unwrap();
    pair.ends[NEAR].tcp.abort(id).unwrap();
    pair.run_for(ms(100)).connect().run_for(ms(1));
    let last = pair.sent(NEAR).last().unwrap();
    assert_eq!((last.len, &last.header.options.fast_open), (0, &None));
}

/// Opens a connection that is not answered, and returns what its SYN asked for.
fn asked(pair: &mut Pair) -> Option<FastOpenCookie> {
    if let Some(id) = pair.ends[NEAR].id {
        pair.ends[NEAR].tcp.abort(id).unwrap();
    }
    pair.run_for(ms(100)).connect().send(NEAR, 10).run_for(ms(1));
    pair.sent(NEAR).last().unwrap().header.options.fast_open.clone()
}

#[test]
fn fast_open_remembers_a_path_without_an_answer_for_an_hour() {
    // RFC 7413, section 4.1.3.1: most importantly, no answer at all.
    let mut pair = acquainted(true, true);
    assert!(asked(&mut pair).is_some_and(|cookie| !cookie.is_empty()));
    pair.fate = Box::new(|_| Fate::lost());
    pair.run_for(ms(100)).run_for(Duration::from_secs(300));
    assert!(pair.ends[NEAR].events.iter().any(|event| matches!(event, TcpEvent::Closed(Some(_)))));
    assert_eq!(asked(&mut pair), None);
    // Another port of the same server may stand behind another firewall.
    let other = address(FAR).ip();
    let config = std::sync::Arc::new(config(true));
    let local = std::net::SocketAddr::new(address(NEAR).ip(), 0);
    let tcp = &mut pair.ends[NEAR].tcp;
    let id = tcp.connect(pair.now, local, (other, 81).into(), config).unwrap();
    tcp.write(id, b"ping").unwrap();
    pair.settle();
    assert!(pair.sent(NEAR).last().unwrap().header.options.fast_open.is_some());
    pair.run_for(Duration::from_secs(3_600));
    assert!(asked(&mut pair).is_some());
}

#[test]
fn fast_open_remembers_an_error_message_about_its_syn() {
    // RFC 7413, section 4.1.3.1, names ICMP errors; a number that is not in flight is a guess.
    let mut pair = acquainted(true, true);
    pair.fate = Box::new(|_| Fate::lost());
    for (offset, is_refused) in [(7, false), (0, true)] {
        assert!(asked(&mut pair).is_some_and(|cookie| !cookie.is_empty()));
        let seq = pair.sent(NEAR).last().unwrap().header.seq;
        let id = pair.ends[NEAR].id.unwrap();
        pair.ends[NEAR].tcp.handle_unreachable(pair.now, id, seq + 100_000 * offset);
        if is_refused {
            assert_eq!(asked(&mut pair), None);
        }
    }
}

#[test]
fn fast_open_remembers_data_left_aside_unless_the_server_names_another_cookie() {
    let mut pair = acquainted(true, true);
    pair.fate = Box::new(|_| Fate::lost());
    let other = FastOpenCookie::from([7; 16]);
    for (granted, expected) in [(Some(other), true), (None, false)] {
        assert!(asked(&mut pair).is_some());
        let syn = pair.sent(NEAR).last().unwrap();
        let answer = TcpRepr {
            src_port: address(FAR).port(),
            dst_port: address(NEAR).port(),
            ack: syn.header.seq.next(),
            flags: TcpFlags::SYN | TcpFlags::ACK,
            window: 9_000,
            options: TcpOptions { fast_open: granted, ..TcpOptions::default() },
            ..TcpRepr::default()
        };
        pair.inject(NEAR, &answer, &[]).unwrap();
        assert_eq!(asked(&mut pair).is_some(), expected);
    }
}

#[test]
fn a_syn_without_data_refuses_nothing_whatever_its_answer_grants() {
    // Only data that were left aside, or a SYN that was not answered, say anything of the path.
    for granted in [None, Some(FastOpenCookie::from([7; 16]))] {
        let mut pair = Pair::new(config(true), config(true));
        pair.fate = Box::new(|_| Fate::lost());
        pair.connect().run_for(ms(1));
        let syn = pair.sent(NEAR).last().unwrap();
        assert_eq!(syn.header.options.fast_open, Some(FastOpenCookie::new()), "it asks");
        let answer = TcpRepr {
            src_port: address(FAR).port(),
            dst_port: address(NEAR).port(),
            ack: syn.header.seq.next(),
            flags: TcpFlags::SYN | TcpFlags::ACK,
            window: 9_000,
            options: TcpOptions { fast_open: granted.clone(), ..TcpOptions::default() },
            ..TcpRepr::default()
        };
        pair.inject(NEAR, &answer, &[]).unwrap();
        assert_eq!(asked(&mut pair), Some(granted.unwrap_or_default()));
    }
}

#[test]
fn an_answer_that_is_lost_is_retransmitted_before_the_handshake_ends() {
    let mut pair = acquainted(true, true);
    let mut lost = 0;
    pair.fate = Box::new(move |seen| {
        lost += u32::from(seen.from == FAR);
        if seen.from == FAR && lost <= 2 { Fate::lost() } else { Fate::default() }
    });
    pair.ends[FAR].outgoing = pattern(FAR, 600);
    pair.connect().send(NEAR, 200).run_for(Duration::from_secs(10));
    assert_eq!(pair.ends[FAR].incoming, pattern(NEAR, 200)[..]);
    assert_eq!(pair.ends[NEAR].incoming, pattern(FAR, 600)[..]);
    assert_eq!([NEAR, FAR].map(|end| pair.connection(end).state()), [TcpState::Established; 2]);
}

/// Returns a SYN with four bytes of data and this cookie.
fn syn(seq: u32, cookie: &[u8]) -> TcpRepr {
    let fast_open = Some(cookie.iter().copied().collect());
    TcpRepr {
        src_port: address(NEAR).port(),
        dst_port: address(FAR).port(),
        seq: Seq32(seq),
        flags: TcpFlags::SYN,
        window: 9_000,
        options: TcpOptions { mss: Some(1_000), fast_open, ..TcpOptions::default() },
        ..TcpRepr::default()
    }
}

#[test]
fn data_are_taken_only_with_the_cookie_of_the_address_and_only_once() {
    //= S2.17
    let mut pair = acquainted(true, true);
    pair.connect().send(NEAR, 4).run_for(ms(1));
    let genuine = pair.sent(NEAR).last().unwrap().header.options.fast_open.clone().unwrap();
    let taken = |pair: &mut Pair, seq: u32, cookie: &[u8]| {
        let id = pair.ends[FAR].id.take();
        if let Some(id) = id {
            pair.ends[FAR].tcp.abort(id).unwrap();
            let _ = pair.ends[FAR].tcp.close(pair.now, id);
        }
        pair.ends[FAR].incoming.clear();
        pair.settle();
        assert_eq!(pair.inject(FAR, &syn(seq, cookie), b"ping"), Ok(()));
        // The answer to data waits a moment for the application's.
        pair.run_for(ms(50));
        let acked = pair.sent(FAR).last().unwrap().header.ack == Seq32(seq + 5);
        let reset = TcpRepr { seq: Seq32(seq + 1 + 4 * u32::from(acked)), ..syn(0, &[]) };
        let reset = TcpRepr { flags: TcpFlags::RST, options: TcpOptions::default(), ..reset };
        let read = pair.ends[FAR].incoming == b"ping";
        assert_eq!(pair.inject(FAR, &reset, &[]), Ok(()));
        assert_eq!(acked, read);
        read
    };
    pair.ends[NEAR].tcp.abort(pair.ends[NEAR].id.unwrap()).unwrap();
    pair.fate = Box::new(|_| Fate::lost());
    pair.run_for(ms(100));
    assert!(!taken(&mut pair, 7_000, &[]), "without a cookie");
    assert!(!taken(&mut pair, 8_000, &[1; 8]), "with a guess");
    assert!(taken(&mut pair, 9_000, &genuine));
    assert!(!taken(&mut pair, 9_000, &genuine), "a late copy of the same SYN");
    assert!(taken(&mut pair, 10_000, &genuine));
    // The cookie proves an address, not whoever else shows it.
    let mut other = Pair::established(config(true), config(true));
    let header = TcpRepr { src_port: 50_000, ..syn(1, &genuine) };
    assert_eq!(other.inject(FAR, &header, b"ping"), Ok(()));
    other.run_for(ms(50));
    assert_eq!(other.sent(FAR).last().unwrap().header.ack, Seq32(6), "the same secret and address");
}

#[test]
fn a_flood_of_syns_with_data_is_bounded_by_the_backlog() {
    let mut pair = acquainted(true, true);
    pair.connect().send(NEAR, 4).run_for(ms(1));
    let genuine = pair.sent(NEAR).last().unwrap().header.options.fast_open.clone().unwrap();
    pair.fate = Box::new(|_| Fate::lost());
    for port in 1..5_000 {
        let header = TcpRepr { src_port: port, ..syn(1, &genuine) };
        assert_ne!(pair.inject(FAR, &header, b"ping"), Err(DropReason::Malformed));
    }
    assert!(pair.ends[FAR].tcp.len() <= 130, "{}", pair.ends[FAR].tcp.len());
    assert!(pair.now > Instant::START);
}
