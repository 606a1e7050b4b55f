//! Messages that are longer than a datagram.

use super::super::*;
use super::network::{A, B, CLEAN, Impairments, Network, SECOND, address};
use crate::connection::BASE;
use crate::message::{Integrity, MessageKind, Mode};

/// A path of Ethernet.
const NARROW: Impairments = Impairments { mtu: 1460, ..CLEAN };

/// Two ends connected by Ethernet, whose search for the path's size is over.
pub(super) fn ethernet(config: SapConfig, seed: u64) -> (Network, [ConnectionId; 2]) {
    let mut network = Network::new(config, NARROW, seed);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND * 2);
    let b = network.accepted().expect("it was accepted");
    (network, [a, b])
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Sends a message as soon as there is room for it.
fn send(network: &mut Network, a: ConnectionId, mode: &Mode, data: &[u8]) {
    let message = Message::new(mode.clone(), data.to_vec());
    for _ in 0..10_000 {
        match network.ends[A].send(a, &message) {
            Err(SapSendError::Full) => network.run(Duration::from_millis(10)),
            result => return result.expect("it is possible"),
        }
    }
    panic!("there was never room");
}

#[test]
fn precise_messages_of_any_length_arrive_whole_and_in_order() {
    for seed in 0..10 {
        let rough = Impairments { loss: 0.05, damage: 0.05, reordering: 0.05, ..NARROW };
        let rough = Impairments { duplication: 0.05, intact_prefix: 20, ..rough };
        let (mut network, [a, b]) = ethernet(SapConfig::standard(), seed);
        network.impairments = rough;
        let lengths = [1, 1400, 1401, 5_000, 0, 66_000, 300_000, 1 << 20, 3];
        for len in lengths {
            send(&mut network, a, &Mode::Precise, &pattern(len));
        }
        network.run(SECOND * 60);
        let received = network.receive(B, b);
        let found: Vec<usize> = received.iter().map(|it| it.data.len()).collect();
        assert_eq!(found, lengths, "seed {seed}");
        for message in received {
            assert_eq!(message.data, pattern(message.data.len()), "seed {seed}");
            assert!(message.missing.is_empty() && message.kind == MessageKind::Precise);
        }
    }
}

#[test]
fn the_longest_message_does_not_depend_on_the_path() {
    let (mut network, [a, _]) = ethernet(SapConfig::standard(), 1);
    for _ in 0..20 {
        assert_eq!(network.ends[A].max_message(a), 1 << 20);
        network.run(Duration::from_millis(100));
    }
    let error = network.ends[A].send(a, &Message::new(Mode::Precise, vec![0; (1 << 20) + 1]));
    assert_eq!(error, Err(SapSendError::TooLong { len: (1 << 20) + 1, most: 1 << 20 }));
}

#[test]
fn parts_of_a_message_that_is_longer_than_its_receiver_takes_are_malformed() {
    const MOST: usize = 1 << 20;
    let mut network = Network::new(SapConfig::standard(), NARROW, 1);
    let longer = SapConfig { max_message: 2 * MOST, ..SapConfig::standard() };
    network.ends[A] = SapEndpoint::new(longer, Secret::new([9; 32]));
    let a = network.ends[A].connect(network.now, address(B));
    network.run(SECOND * 2);
    let b = network.accepted().expect("it was accepted");
    let drops = |network: &Network| network.ends[B].drops().get(&Dropped::Malformed).copied();
    for (len, arrives) in [(MOST, true), (MOST + 1, false)] {
        network.send(A, a, Mode::Approximate { protected: 0 }, &pattern(len));
        network.run(SECOND * 5);
        assert_eq!(!network.receive(B, b).is_empty(), arrives, "{len}");
        assert_eq!(drops(&network).is_none(), arrives, "{len}");
    }
}

#[test]
fn an_approximate_message_arrives_with_its_holes_named() {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    let whole = pattern(20_000);
    network.impairments.loss = 0.2;
    let mut holes = 0;
    let mut complete = 0;
    for _ in 0..50 {
        network.send(A, a, Mode::Approximate { protected: 2_000 }, &whole);
        network.run(SECOND);
        for message in network.receive(B, b) {
            assert_eq!(message.data.len(), whole.len());
            let missing: usize = message.missing.iter().map(Range::len).sum();
            holes += usize::from(missing > 0);
            complete += usize::from(missing == 0);
            let mut expected = whole.clone();
            message.missing.iter().for_each(|hole| expected[hole.clone()].fill(0));
            assert_eq!(message.data, expected);
            let is_there = |at: &usize| !message.missing.iter().any(|hole| hole.contains(at));
            let exact = (0..2_000).filter(is_there).count();
            assert_eq!(message.exact.iter().map(Range::len).sum::<usize>(), exact);
            assert_eq!(message.integrity, Integrity::Intact);
        }
    }
    assert!(holes > 30 && holes + complete >= 48, "{holes} with holes, {complete} without");
}

#[test]
fn a_part_that_comes_after_its_message_was_delivered_is_late() {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    network.impairments.loss = 0.3;
    network.send(A, a, Mode::Approximate { protected: 0 }, &pattern(20_000));
    network.run(SECOND);
    let received = network.receive(B, b);
    let [message] = &received[..] else { panic!("{} messages", received.len()) };
    assert!(!message.missing.is_empty());
    // Everything comes once more: what had arrived is known by its number.
    let meta = DatagramMeta::new(network.outside);
    let again = network.sent(A, SapKind::Data);
    let again: Vec<Bytes> = again.iter().map(OutgoingDatagram::to_bytes).collect();
    again.iter().for_each(|bytes| network.ends[B].handle_datagram(network.now, &meta, bytes));
    let count = |reason| network.ends[B].drops().get(&reason).copied().unwrap_or(0);
    let missing: usize = message.missing.iter().map(Range::len).sum();
    let late = count(Dropped::Late);
    let known = count(Dropped::Duplicate);
    assert_eq!(late + known, again.len() as u64);
    assert!(late as usize * 1_460 >= missing && known > 0, "{late} {known}");
    assert!(network.receive(B, b).is_empty());
}

#[test]
fn damage_and_repairs_are_placed_within_the_whole_message() {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 3);
    let whole = pattern(200_000);
    network.impairments.damage = 0.5;
    network.impairments.intact_prefix = 200;
    let ranges = vec![10..20, 70_000..70_100, 199_990..200_000];
    network.send(A, a, Mode::Ranges(ranges.clone()), &whole);
    network.run(SECOND * 5);
    network.impairments = NARROW;
    let received = network.receive(B, b);
    let [message] = &received[..] else { panic!("{} messages", received.len()) };
    let Integrity::Suspect(suspect) = &message.integrity else { panic!("nothing was damaged") };
    for range in &ranges {
        let has = |it: &Range<usize>| it.start <= range.start && range.end <= it.end;
        assert!(message.exact.iter().any(has) || message.missing.iter().any(has), "{range:?}");
    }
    let mut mended = message.data.to_vec();
    let differs = |at: &usize| mended[*at] != whole[*at];
    let wrong: Vec<usize> = (0..whole.len()).filter(differs).collect();
    let explained = suspect.iter().chain(&message.missing);
    let explained: Vec<Range<usize>> = explained.cloned().collect();
    assert!(wrong.iter().all(|at| explained.iter().any(|range| range.contains(at))));
    network.ends[B].repair(b, 0, message.number, &explained).expect("it is open");
    network.run(SECOND * 10);
    for repair in network.receive(B, b) {
        assert_eq!(repair.kind, MessageKind::Repair);
        let mut from = 0;
        for range in &repair.exact {
            mended[range.clone()].copy_from_slice(&repair.data[from..from + range.len()]);
            from += range.len();
        }
    }
    assert!(mended == whole, "the repairs make it whole");
}

#[test]
fn the_answer_to_each_request_for_repair_fits_into_one_datagram() {
    // The longest of the sizes that are probed.
    const CARRIED: usize = 1_392;
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    network.send(A, a, Mode::Approximate { protected: 0 }, &pattern(20_000));
    network.run(SECOND);
    let number = network.receive(B, b)[0].number;
    network.log.clear();
    network.ends[B].repair(b, 0, number, &[10..9_000, 9_100..9_101, 9_200..20_000]).expect("open");
    network.run(SECOND);
    let answers = network.sent(A, SapKind::Data);
    let lengths: Vec<usize> = answers.iter().map(OutgoingDatagram::len).collect();
    assert_eq!(lengths.len(), network.sent(B, SapKind::Repair).len());
    assert!(lengths.iter().all(|len| *len <= CARRIED), "{lengths:?}");
    assert!(lengths.len() <= 20_000 / (CARRIED - 100) + 2, "{lengths:?}");
    assert_eq!(network.receive(B, b).len(), lengths.len());
}

#[test]
fn a_path_that_becomes_narrow_costs_no_message() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.run(SECOND * 2);
    network.impairments.mtu = 1300;
    for len in [60_000, 9_000, 1_290, 20] {
        network.send(A, a, Mode::Precise, &pattern(len));
    }
    network.run(SECOND * 30);
    let found: Vec<usize> = network.receive(B, b).iter().map(|it| it.data.len()).collect();
    assert_eq!(found, [60_000, 9_000, 1_290, 20]);
}

/// Lets time pass while `A` sends a short message on a stream of its own every 20 ms.
fn chat(network: &mut Network, a: ConnectionId, span: Duration) {
    let end = network.now + span;
    while network.now < end {
        let message = Message { stream: 9, ..Message::new(Mode::Precise, pattern(20)) };
        network.ends[A].send(a, &message).expect("there is room");
        network.run(Duration::from_millis(20));
    }
}

/// The lengths of the messages that wait at `B`, short ones left out.
fn long(network: &mut Network, b: ConnectionId) -> Vec<usize> {
    let all = network.receive(B, b).into_iter();
    all.map(|it| it.data.len()).filter(|len| *len > 20).collect()
}

#[test]
fn a_path_that_becomes_narrow_costs_no_long_message_while_short_ones_pass() {
    for (mtu, seed) in [(1250, 1), (1300, 2), (1464, 3), (4100, 4), (9000, 5)] {
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, seed);
        network.run(SECOND * 2);
        network.impairments.mtu = mtu;
        for len in [60_000, 9_001, 1_400, 30] {
            network.send(A, a, Mode::Precise, &pattern(len));
        }
        chat(&mut network, a, SECOND * 5);
        assert_eq!(long(&mut network, b), [60_000, 9_001, 1_400, 30], "{mtu}");
        // The largest size that still arrives is found, and longer ones go on.
        let whole = network.ends[A].max_whole(a);
        let least = [1232, 1464, 4072, 8944].into_iter().rev().find(|it| *it <= mtu);
        assert!(whole + 400 > least.expect("a size") && whole < mtu, "{mtu}: {whole}");
        network.send(A, a, Mode::Precise, &pattern(100_000));
        chat(&mut network, a, SECOND * 2);
        assert_eq!(long(&mut network, b), [100_000], "{mtu}");
    }
}

#[test]
fn a_path_that_becomes_narrow_costs_no_repair() {
    for takes_parts in [true, false] {
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
        network.run(SECOND * 2);
        if !takes_parts {
            network.send_whole_messages([a, b]);
        }
        network.send(A, a, Mode::Approximate { protected: 0 }, &pattern(20_000));
        network.run(SECOND);
        let number = network.receive(B, b)[0].number;
        network.impairments.mtu = 1300;
        let ranges = [10..4_000, 5_000..5_001, 6_000..19_999];
        network.ends[B].repair(b, 0, number, &ranges).expect("it is open");
        chat(&mut network, a, SECOND * 5);
        let mut mended = vec![0; 20_000];
        for repair in network.receive(B, b).iter().filter(|it| it.kind == MessageKind::Repair) {
            let mut from = 0;
            for range in &repair.exact {
                mended[range.clone()].copy_from_slice(&repair.data[from..from + range.len()]);
                from += range.len();
            }
        }
        for range in ranges {
            assert!(mended[range.clone()] == pattern(20_000)[range], "parts: {takes_parts}");
        }
    }
}

#[test]
fn a_path_that_becomes_wide_again_is_used_again() {
    for silence in [false, true] {
        let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
        network.run(SECOND * 2);
        let wide = network.ends[A].max_whole(a);
        network.impairments.mtu = if silence { 0 } else { 1300 };
        network.send(A, a, Mode::Precise, &pattern(60_000));
        network.run(SECOND * 10);
        assert!(network.ends[A].max_whole(a) < 1300, "it has fallen back");
        network.impairments.mtu = CLEAN.mtu;
        // What failed is tried again after ten minutes.
        network.run(SECOND * 605);
        assert_eq!(network.ends[A].max_whole(a), wide, "silence: {silence}");
        network.send(A, a, Mode::Precise, &pattern(60_000));
        network.run(SECOND * 5);
        assert_eq!(long(&mut network, b), [60_000, 60_000]);
    }
}

#[test]
fn losses_alone_do_not_make_a_path_narrow() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), CLEAN, 1);
    network.run(SECOND * 2);
    let wide = network.ends[A].max_whole(a);
    network.impairments.loss = 0.2;
    for _ in 0..10 {
        long(&mut network, b);
        chat(&mut network, a, SECOND * 2);
        network.send(A, a, Mode::Precise, &pattern(9_000));
        assert_eq!(network.ends[A].max_whole(a), wide);
    }
}

#[test]
fn a_path_that_does_not_carry_the_base_size_carries_messages() {
    for mtu in [260, 540, 700, 972, 1_200] {
        for mode in [Mode::Precise, Mode::Approximate { protected: 10 }] {
            let narrow = Impairments { mtu, ..CLEAN };
            let mut network = Network::new(SapConfig::standard(), narrow, 1);
            let a = network.ends[A].connect(network.now, address(B));
            network.ends[A].set_lateness(a, SECOND * 20);
            network.run(Duration::from_millis(12));
            for len in [60_000, 9_000, 1_290, 20] {
                network.send(A, a, mode.clone(), &pattern(len));
            }
            network.run(SECOND * 30);
            let b = network.accepted().expect("it was accepted");
            let found = network.receive(B, b);
            let whole = found.iter().filter(|it| it.missing.is_empty());
            let mut lengths: Vec<usize> = whole.map(|it| it.data.len()).collect();
            lengths.sort_unstable();
            assert_eq!(lengths, [20, 1_290, 9_000, 60_000], "{mode:?}, {mtu}");
        }
    }
}

/// Returns the number of probes above `mtu` that an end sends until precise messages have crossed a
/// path that carries no more than `mtu` from some time on, and the time that it takes.
fn through_a_black_hole(mtu: usize) -> (usize, Duration) {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    // The round trip is that of a full queue, and some are lost as such queues lose them.
    network.impairments.overtaking = (1e-9, Duration::from_millis(100));
    network.impairments.loss = 0.01;
    let messages = 12;
    for _ in 0..messages {
        network.send(A, a, Mode::Precise, &pattern(250_000));
    }
    network.run(Duration::from_millis(1_200));
    network.impairments.mtu = mtu;
    let began = network.now;
    let before = network.sent(A, SapKind::Probe).len();
    let mut came = network.receive(B, b).len();
    assert!(came < messages, "the path shrinks amid them");
    while came < messages {
        assert!(network.now < began + SECOND * 200, "{came} messages have come");
        network.run(Duration::from_millis(100));
        came += network.receive(B, b).len();
    }
    let probes = network.sent(A, SapKind::Probe).split_off(before);
    let failed = probes.iter().filter(|probe| probe.len() > mtu).count();
    (failed, network.now - began)
}

#[test]
fn a_path_that_shrinks_amid_precise_messages_is_searched_once_and_carries_the_rest() {
    for mtu in [260, 284, 414] {
        let (failed, took) = through_a_black_hole(mtu);
        // No more than eight sizes above the least, three times each, and that of the start.
        assert!(failed <= 27, "{mtu}: {failed} probes, {took:?}");
    }
}

#[test]
fn an_interface_that_does_not_carry_the_base_size_costs_no_timeout() {
    let mut network = Network::new(SapConfig::standard(), Impairments { mtu: 972, ..CLEAN }, 1);
    let a = network.ends[A].connect(network.now, address(B));
    network.run(Duration::from_millis(12));
    network.send(A, a, Mode::Precise, &pattern(9_000));
    network.run(Duration::from_millis(1));
    network.ends[A].handle_too_long(address(B), 1_232);
    network.run(Duration::from_millis(60));
    let b = network.accepted().expect("it was accepted");
    assert_eq!(network.receive(B, b).len(), 1);
}

#[test]
fn an_interface_that_does_not_carry_a_ping_ends_the_attempt() {
    let mut network = Network::new(SapConfig::standard(), CLEAN, 1);
    let open = network.ends[A].connect(network.now, address(B));
    network.run(SECOND);
    let attempt = network.ends[A].connect(network.now, address(B));
    network.ends[A].handle_too_long(address(B), 261);
    network.run(Duration::from_micros(1));
    let gone = SapEvent::Closed(CloseReason::Unreachable);
    assert!(!network.happened(A, &gone), "a shorter datagram may pass");
    network.ends[A].handle_too_long(address(B), 200);
    network.run(Duration::from_micros(1));
    assert!(network.happened(A, &gone));
    assert!(network.ends[A].is_open(open) && !network.ends[A].is_open(attempt));
}

#[test]
fn what_waits_goes_in_longer_datagrams_once_the_path_is_known() {
    const COUNT: usize = 300;
    const LEN: usize = 2_000;
    for (mode, lateness, exact) in [
        (Mode::Precise, Duration::ZERO, LEN),
        (Mode::Approximate { protected: 100 }, Duration::ZERO, 100),
        (Mode::Approximate { protected: 1_300 }, SECOND, 1_300),
    ] {
        let mut network =
            Network::new(SapConfig::standard(), Impairments { mtu: 2_400, ..CLEAN }, 1);
        let a = network.ends[A].connect(network.now, address(B));
        network.ends[A].set_lateness(a, lateness);
        network.run(Duration::from_millis(12));
        for number in 0..COUNT {
            network.send(A, a, mode.clone(), &pattern(LEN + number)[number..]);
        }
        network.run(SECOND * 20);
        let b = network.accepted().expect("it was accepted");
        let received = network.receive(B, b);
        assert_eq!(received.len(), COUNT, "{mode:?}");
        for (number, message) in received.iter().enumerate() {
            assert_eq!(message.data, pattern(LEN + number)[number..], "{mode:?}");
        }
        let is_data = |(end, sent): &&(usize, OutgoingDatagram)| *end == A && sent.len() > 150;
        let sent = network.log.iter().filter(is_data).count();
        assert!(sent < COUNT + 60, "{mode:?}: {sent} datagrams");
        let longest = network.log.iter().filter(is_data).map(|(_, sent)| sent.exact).max();
        assert!(longest >= Some(exact), "{mode:?}: {longest:?} exact bytes");
        assert!(network.ends[A].is_flushed(a), "{mode:?}");
        let (queued, gone) = network.ends[A].approximate_progress(a);
        assert_eq!(queued, gone, "{mode:?}");
        if lateness > Duration::ZERO {
            assert_eq!(network.ends[A].take_fate(a, 0), Some(true));
        }
    }
}

#[test]
fn parts_of_many_streams_do_not_lock_a_small_buffer() {
    let config = SapConfig { receive_buffer: 100_000, ..SapConfig::standard() };
    let (mut network, [a, b]) = ethernet(config, 1);
    for stream in 0..8 {
        let data = pattern(90_000 + usize::from(stream));
        let message = Message { stream, ..Message::new(Mode::Precise, data) };
        network.ends[A].send(a, &message).expect("there is room");
    }
    let mut lengths = Vec::new();
    for _ in 0..300 {
        network.run(SECOND);
        lengths.extend(network.receive(B, b).iter().map(|it| it.data.len()));
    }
    lengths.sort_unstable();
    assert_eq!(lengths, (90_000..90_008).collect::<Vec<_>>());
    // Its packets and its streams are remembered.
    let held = network.ends[B].held;
    assert!((BASE..BASE + 4096).contains(&held), "{held}");
}

#[test]
fn newest_first_never_blocks_and_delivers_the_newest() {
    let (mut network, [a, b]) = ethernet(SapConfig::standard(), 1);
    let config = network.ends[A].config;
    network.ends[A].set_newest_first(a, true);
    network.ends[B].set_newest_first(b, true);
    network.impairments.loss = 1.0;
    let message = |number: u32| {
        let mode = Mode::Approximate { protected: 4 };
        Message::new(mode, [&number.to_be_bytes()[..], &[7; 4_996]].concat())
    };
    // Twice what the send buffer holds, while the path carries nothing.
    let count = (2 * config.send_buffer / 5_000) as u32;
    for number in 0..count {
        network.ends[A].send(a, &message(number)).expect("it never waits");
    }
    network.run(SECOND * 5);
    network.impairments.loss = 0.0;
    network.ends[A].send(a, &message(count)).expect("it never waits");
    network.run(SECOND * 20);
    let numbers: Vec<u32> = network
        .receive(B, b)
        .iter()
        .filter(|it| it.missing.is_empty())
        .map(|it| u32::from_be_bytes(it.data[..4].try_into().expect("four bytes")))
        .collect();
    assert!(numbers.contains(&count) && numbers.len() > 20, "{numbers:?}");
    assert!(numbers.len() < 100, "old ones were dropped");
    let (unsent, unread) = network.ends[A].displaced(a);
    assert!(unsent > u64::from(count) - 100 && unread == 0, "{unsent} {unread}");
    // A reader that is late gets the newest, whatever the buffer held.
    for number in 0..3_000 {
        network.ends[A].send(a, &message(number)).expect("it never waits");
        network.run(Duration::from_millis(20));
    }
    network.run(SECOND * 5);
    let first = network.ends[B].receive(network.now, b).expect("the newest");
    assert_eq!(first.data[..4], 2_999_u32.to_be_bytes());
    assert!(network.ends[B].displaced(b).1 > 1_000, "{:?}", network.ends[B].displaced(b));
    // The count outlives the connection.
    let unsent = network.ends[A].displaced(a).0;
    network.ends[A].abort(a, CloseReason::Closed);
    assert_eq!(network.ends[A].displaced(a).0, unsent);
}
