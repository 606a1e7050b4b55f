//! When the other end hears of what arrived.

use super::super::*;
use super::network::{A, B, DELAY, FAIR, Network, SECOND, Weather};
use crate::message::Mode;

const MS: Duration = Duration::from_millis(1);

/// Connected ends that have nothing to say any more.
fn quiet() -> (Network, ConnectionId) {
    let (mut network, [a, _]) = Network::connected(SapConfig::standard(), FAIR, 1);
    network.run(SECOND);
    network.log.clear();
    (network, a)
}

fn acks(network: &Network) -> usize {
    network.sent(B, SapKind::Ack).len()
}

#[test]
fn what_comes_in_turn_is_acknowledged_after_the_delay() {
    let (mut network, a) = quiet();
    network.send(A, a, Mode::Precise, b"one");
    network.run(DELAY + MS * 9);
    assert_eq!(acks(&network), 0);
    network.run(MS * 2);
    assert_eq!(acks(&network), 1);
}

#[test]
fn what_comes_out_of_turn_is_acknowledged_at_once() {
    let (mut network, a) = quiet();
    network.weather = Weather { loss: 1.0, ..FAIR };
    network.send(A, a, Mode::Precise, b"lost");
    network.weather = FAIR;
    network.send(A, a, Mode::Precise, b"two");
    network.run(DELAY);
    assert_eq!(acks(&network), 1);
}

#[test]
fn an_approximate_message_is_reported_after_twice_the_delay() {
    let (mut network, a) = quiet();
    network.send(A, a, Mode::Approximate { protected: 0 }, b"perhaps");
    network.run(DELAY + MS * 19);
    assert_eq!(acks(&network), 0);
    network.run(MS * 2);
    assert_eq!(acks(&network), 1);
}

#[test]
fn an_end_that_has_closed_lingers_for_the_repetition_of_the_last_word() {
    let (mut network, [a, b]) = Network::connected(SapConfig::standard(), FAIR, 1);
    network.ends[A].finish(a);
    network.run(SECOND);
    network.ends[B].close(network.now, b);
    network.run(DELAY);
    // The last word of the other end has just come, and the answer to it may be lost.
    network.ends[A].close(network.now, a);
    network.run(MS * 10);
    assert!(!network.ends[A].is_empty(), "three timeouts have not passed");
    network.run(SECOND);
    assert!(network.ends.iter().all(SapEndpoint::is_empty));
}
