use std::collections::{BTreeMap, VecDeque};

use core::net::SocketAddr;

use bytes::Bytes;
use windfall_base::{Damage, Duration, Instant, Rate, Seed};
use windfall_sap::{Mode, SapConfig};
use windfall_stack::socket_api::{Application, SocketCommand, SocketError, SocketEvent};

use super::*;
use crate::sender::SOCKET;
use crate::spacing::{Departures, Pace};

const SEED: Seed = Seed(5);
/// The time that each datagram takes.
const DELAY: Duration = Duration::from_millis(5);

fn address(end: usize) -> SocketAddr {
    ([10, 0, 0, 1 + end as u8], 9000).into()
}

fn sender(mode: Mode, bytes: u64) -> SapSenderConfig {
    let sap = SapConfig::standard().with(|it| it.max_datagram = 1_472);
    SapSenderConfig {
        to: address(1),
        sap,
        mode,
        size: 1_000,
        bytes: Some(bytes),
        transfers: 1,
        pace: SapPace::Greedy,
        newest_first: false,
        lateness: Duration::ZERO,
        start: Instant::START,
        stop: None,
        number: 0,
    }
}

fn sink(sap: SapConfig) -> SapSinkConfig {
    SapSinkConfig { local: address(1), sap, tolerance: None, lifetime: None, number: 0 }
}

/// Messages at even intervals.
fn every(millis: u64) -> SapPace {
    let pace = Pace::Every(Duration::from_millis(millis));
    SapPace::Timed(Departures::exact(Instant::START, pace))
}

type Report = BTreeMap<&'static str, f64>;

fn report(app: &dyn Application, end: Instant) -> Report {
    app.report(end).into_iter().map(|(name, it)| (name, it.number())).collect()
}

/// Joins the two by a wire for a minute; `air` may change each datagram and tells whether it
/// arrives, by its number and its sender.
fn run(
    sender: SapSenderConfig,
    sink: SapSinkConfig,
    mut air: impl FnMut(u64, usize, &mut Vec<u8>) -> bool,
) -> [Report; 2] {
    let mut sender = SapSender::new(sender, SEED);
    let mut sink = SapSink::new(sink, SEED);
    let mut wire: VecDeque<(Instant, usize, Bytes)> = VecDeque::new();
    let mut now = Instant::START;
    let mut number = 0;
    let end = Instant::START + Duration::from_secs(60);
    loop {
        let ends: [&mut dyn Application; 2] = [&mut sender, &mut sink];
        for (place, end) in ends.into_iter().enumerate() {
            end.handle_timeout(now);
            while let Some(command) = end.poll_command(now) {
                let SocketCommand::SendCovered { data, .. } = command else { continue };
                let mut data = data.to_vec();
                number += 1;
                if air(number, place, &mut data) {
                    wire.push_back((now + DELAY, 1 - place, data.into()));
                }
            }
        }
        let timers = [sender.poll_timeout(), sink.poll_timeout()].into_iter().flatten();
        let due = timers.map(|(at, _)| at).chain(wire.front().map(|(at, ..)| *at)).min();
        let Some(due) = due.filter(|due| *due <= end) else { break };
        assert!(due > now, "a drained application waits for {due:?}");
        now = due;
        while wire.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, to, data)) = wire.pop_front() else { break };
            let socket = SOCKET;
            let from = address(1 - to);
            let damage = Damage::default();
            let event = SocketEvent::Received { socket, from, data, damage };
            match to {
                0 => sender.handle_event(now, event),
                _ => sink.handle_event(now, event),
            }
        }
    }
    [report(&sender, end), report(&sink, end)]
}

fn values<const N: usize>(report: &Report, names: [&str; N]) -> [f64; N] {
    names.map(|name| report[name])
}

#[test]
fn precise_transfers_arrive_whole_over_a_wire_that_loses_datagrams() {
    let config = SapSenderConfig { transfers: 3, ..sender(Mode::Precise, 50_500) };
    let receiver = sink(config.sap);
    let [sent, received] = run(config, receiver, |number, _, _| number % 9 != 4);
    let names = ["sent", "sent_bytes", "transfers", "failed", "undelivered"];
    assert_eq!(values(&sent, names), [153.0, 151_500.0, 3.0, 0.0, 0.0], "{sent:?}");
    let names = ["accepted", "finished", "received", "received_bytes", "byte_errors", "lost"];
    assert_eq!(values(&received, names), [3.0, 3.0, 153.0, 151_500.0, 0.0, 0.0], "{received:?}");
    assert!(sent["transfer_min_seconds"] >= 4.0 * DELAY.as_secs_f64(), "{sent:?}");
}

#[test]
fn loss_damage_and_age_of_a_stream_are_known_to_the_message() {
    let pace = every(20);
    let config = SapSenderConfig { pace, ..sender(Mode::Approximate { protected: 16 }, 100_000) };
    let lifetime = Some(Duration::from_millis(4));
    let receiver = SapSinkConfig { lifetime, ..sink(config.sap) };
    let mut lost = 0;
    let mut damaged = 0;
    // Its messages are the only ones so long from this end; the first of them opens the search for
    // a larger datagram.
    let [sent, received] = run(config, receiver, |number, from, data| {
        let is_message = from == 0 && (1_000..1_100).contains(&data.len());
        if !is_message {
            return true;
        }
        if number % 7 == 3 {
            lost += 1;
            return false;
        }
        if number % 5 == 2 {
            damaged += 1;
            let last = data.len() - 1;
            (data[last], data[last - 300]) = (data[last] ^ 0x18, data[last - 300] ^ 1);
        }
        true
    });
    assert!(lost > 5 && damaged > 5, "{lost} {damaged}");
    assert_eq!(values(&sent, ["sent", "failed"]), [100.0, 0.0], "{sent:?}");
    let lost = f64::from(lost);
    let damaged = f64::from(damaged);
    let names = ["received", "lost", "damaged", "marked_damaged", "bit_errors", "byte_errors"];
    let expected = [100.0 - lost, lost, damaged, damaged, 3.0 * damaged, 2.0 * damaged];
    assert_eq!(values(&received, names), expected, "{received:?}");
    // Nothing waits for anything but the wire.
    for age in ["age_min_seconds", "age_p50_seconds", "age_p99_seconds", "age_max_seconds"] {
        assert!((received[age] - DELAY.as_secs_f64()).abs() < 1e-9, "{age}: {received:?}");
    }
    assert!(received["late"] == received["received"], "{received:?}");
}

#[test]
fn a_tolerance_has_damaged_blocks_sent_again() {
    let repaired = |tolerance| {
        let config = SapSenderConfig {
            pace: every(20),
            ..sender(Mode::Approximate { protected: 0 }, 100_000)
        };
        let receiver = SapSinkConfig { tolerance, ..sink(config.sap) };
        let mut hits = 0;
        let [_, received] = run(config, receiver, |number, from, data| {
            if from == 0 && number % 5 == 2 && (1_000..1_100).contains(&data.len()) {
                let last = data.len() - 1;
                data[last] ^= 0x18;
                hits += 1;
            }
            true
        });
        assert_eq!(received["received"], 100.0, "{received:?}");
        assert!(hits > 5, "{hits}");
        let of_hits = ["damaged", "repairs_requested"].map(|name| received[name] / f64::from(hits));
        (of_hits, received["age_max_seconds"])
    };
    assert_eq!(repaired(None), ([1.0, 0.0], 0.005));
    // The request and the repair take one way each.
    assert_eq!(repaired(Some(0.0)), ([0.0, 1.0], 0.015));
}

#[test]
fn a_peer_that_does_not_answer_is_a_failure() {
    let config = sender(Mode::Precise, 5_000);
    let receiver = sink(config.sap);
    let [sent, received] = run(config, receiver, |_, from, _| from == 0);
    assert_eq!(values(&sent, ["sent", "failed", "transfers"]), [0.0, 1.0, 0.0], "{sent:?}");
    assert_eq!(values(&received, ["received", "finished"]), [0.0, 0.0], "{received:?}");
}

#[test]
fn what_a_link_that_falls_silent_leaves_behind_is_counted() {
    let config = SapSenderConfig {
        sap: SapConfig::standard().with(|it| it.idle_timeout = Duration::from_secs(5)),
        pace: every(100),
        ..sender(Mode::Precise, 100_000)
    };
    let receiver = sink(config.sap);
    let [sent, received] = run(config, receiver, |number, _, _| number < 100);
    assert_eq!(values(&sent, ["failed", "transfers"]), [1.0, 0.0], "{sent:?}");
    let arrived = sent["sent"] - sent["undelivered"];
    assert!(sent["undelivered"] > 0.0 && received["received"] >= arrived, "{sent:?} {received:?}");
    assert!((4.9..7.0).contains(&silence(&received)), "{received:?}");
}

/// The seconds after the last message that count towards the goodput.
fn silence(received: &Report) -> f64 {
    let bits = 8.0 * (received["received_bytes"] - 1_000.0);
    let carried = received["gap_mean_seconds"] * (received["received"] - 1.0);
    bits / received["goodput_bps"] - carried
}

#[test]
fn the_goodput_of_a_stream_counts_the_time_in_which_it_stands_still() {
    let config = SapSenderConfig { pace: every(100), ..sender(Mode::Precise, 10_000_000) };
    let receiver = sink(config.sap);
    let [_, received] = run(config.clone(), receiver.clone(), |number, _, _| number < 100);
    // It stands still after a few seconds of a minute, and neither end has given up.
    assert!((50.0..60.0).contains(&silence(&received)), "{received:?}");
    let finite = SapSenderConfig { bytes: Some(10_000), ..config };
    let [_, received] = run(finite, receiver, |_, _, _| true);
    assert!(silence(&received).abs() < 1e-6, "{received:?}");
}

#[test]
fn messages_that_give_way_to_newer_ones_are_counted() {
    let config = SapSenderConfig {
        newest_first: true,
        size: 20_000,
        ..sender(Mode::Approximate { protected: 0 }, 10_000_000)
    };
    let receiver = sink(config.sap);
    // Greedy as it is, it offers more than goes at once.
    let [sent, received] = run(config, receiver, |number, _, _| number % 50 != 49);
    let [all, displaced] = values(&sent, ["sent", "displaced"]);
    let [arrived, lost] = values(&received, ["received", "lost"]);
    assert!(displaced > 100.0, "{sent:?}");
    assert_eq!(all, arrived + lost + displaced, "{sent:?} {received:?}");
}

#[test]
fn a_message_that_no_datagram_carries_ends_the_sender() {
    let sap = SapConfig::paper();
    let config = SapSenderConfig { sap, size: 9_000, ..sender(Mode::Precise, 90_000) };
    let [sent, _] = run(config, sink(sap), |_, _, _| true);
    assert_eq!(values(&sent, ["sent", "refused"]), [0.0, 1.0], "{sent:?}");
}

#[test]
fn a_rate_and_an_end_bound_what_is_sent() {
    let rate = Rate::from_mbps(1).expect("a rate");
    let timing = Departures::exact(Instant::START, Pace::Rate(rate));
    let config = SapSenderConfig {
        pace: SapPace::Timed(timing),
        bytes: None,
        stop: Some(Instant::START + Duration::from_millis(1_000)),
        ..sender(Mode::Precise, 0)
    };
    let receiver = sink(config.sap);
    let [sent, received] = run(config, receiver, |_, _, _| true);
    // 8 ms for each, from the time at which the connection stood, after 10 ms.
    assert_eq!(values(&sent, ["sent", "transfers"]), [124.0, 1.0], "{sent:?}");
    assert_eq!(received["received"], 124.0, "{received:?}");
}

#[test]
fn a_socket_that_cannot_be_opened_ends_the_sender() {
    let mut app = SapSender::new(sender(Mode::Precise, 1), SEED);
    assert!(matches!(app.poll_command(Instant::START), Some(SocketCommand::Open { .. })));
    let error = SocketError::AddressInUse;
    app.handle_event(Instant::START, SocketEvent::Failed { socket: SOCKET, error });
    assert_eq!(app.poll_command(Instant::START), None);
    assert_eq!(report(&app, Instant::START)["failed"], 1.0);
}
