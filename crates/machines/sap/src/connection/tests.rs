use windfall_wire_net::sap::Part;

use super::*;
use crate::congestion::LostPacket;
use crate::encode::Encoded;
use crate::error::SapSendError;
use crate::message::{Message, Mode};
use crate::rtt::RoundTrips;
use crate::sent::Load;

/// Returns a connection that a peer has opened, which accepts parts.
fn opened() -> Connection {
    let peer = Introduction { id: 1, max_datagram: u16::MAX, features: features::PARTS };
    let from = SocketAddr::from(([10, 0, 0, 1], 4000));
    Connection::accept(Instant::START, SapConfig::standard(), from, peer, None, [7; 16])
}

#[test]
fn each_message_that_was_delivered_incomplete_is_charged() {
    let mut connection = opened();
    let before = connection.charge();
    for number in 0..3 {
        let received = Received {
            stream: 0,
            kind: MessageKind::Approximate,
            number,
            data: Bytes::from_static(&[7; 100]),
            exact: Vec::new(),
            integrity: Integrity::Intact,
            missing: Vec::new(),
        };
        let part = Part { offset: 0, total: 200 };
        let taken = connection.take_approximate_part(Instant::START, part, received, false);
        assert_eq!(taken, Ok(()));
        connection.deliver_partial(None);
        assert!(connection.receive().is_some_and(|it| it.missing.len() == 1));
    }
    // The connection remembers the number, the length, and that later parts are late.
    let received = connection.inbox.received.charge();
    assert_eq!(connection.charge(), before + received + 2 * 3 * LENGTH);
}

#[test]
fn each_stream_of_either_direction_is_charged() {
    let mut connection = opened();
    let before = connection.charge();
    for stream in 1..=2 {
        assert!(connection.order(stream).is_ok());
    }
    assert_eq!(connection.charge(), before + 2 * STREAM);
    let message = Message { stream: 7, ..Message::new(Mode::Precise, vec![7; 10]) };
    connection.send(&message).expect("there is room");
    assert_eq!(connection.charge(), before + 3 * STREAM + connection.outbox.charge());
}

#[test]
fn the_packets_of_either_direction_are_charged() {
    let mut connection = opened();
    let before = connection.charge();
    connection.sent.push(Instant::START, Some((100, Load::Probe)), false);
    connection.seen.insert(Instant::START, 0);
    let seen = connection.seen.charge();
    let sent = connection.sent.charge();
    assert!(seen > 0 && sent > 0);
    assert_eq!(connection.charge(), before + seen + sent);
}

#[test]
fn a_send_buffer_takes_messages_up_to_its_last_byte() {
    let mut connection = opened();
    let message = Message::new(Mode::Precise, vec![7; 1_000]);
    connection.send(&message).expect("nothing waits");
    connection.outbox.limit = 2 * connection.outbox.bytes;
    assert_eq!(connection.send(&message), Ok(()));
    assert_eq!(connection.outbox.bytes, connection.outbox.limit);
    let more = Message::new(Mode::Precise, Vec::new());
    assert_eq!(connection.send(&more), Err(SapSendError::Full));
}

/// Returns which of the next datagrams needs its acknowledgement at once while `in_flight` bytes
/// are in flight; none if the first hundred do not.
fn urgent(connection: &mut Connection, in_flight: usize, reported: bool) -> Option<usize> {
    connection.sent.clear();
    connection.sent.push(Instant::START, Some((in_flight, Load::Probe)), false);
    connection.bytes_since_ack_request = 0;
    (1..=100).find(|_| connection.is_urgent(1_000, reported))
}

#[test]
fn parts_of_the_window_and_some_datagrams_of_a_full_one_are_acknowledged_at_once() {
    let mut connection = opened();
    // The window of ten of these datagrams has a hundred of those that are sent.
    connection.path.congestion.set_size(10_000);
    let window = 100_000;
    assert_eq!(connection.path.congestion.window(), window);
    assert_eq!(urgent(&mut connection, window / 4, true), None, "less than half is in use");
    assert_eq!(urgent(&mut connection, window * 3 / 4, true), Some(13), "an eighth in slow start");
    // Three losses with a queue end slow start.
    for number in 1..=3 {
        connection.path.congestion.on_loss(&LostPacket {
            number,
            next: number + 20,
            is_exact: true,
            in_flight: window,
            round_trips: RoundTrips {
                least: Duration::from_millis(10),
                recent: Duration::from_millis(20),
            },
            now: Instant::START,
        });
    }
    let window = connection.path.congestion.window();
    assert_eq!((window, connection.path.congestion.is_starting()), (85_000, false));
    assert_eq!(urgent(&mut connection, window * 3 / 4, true), Some(22), "a quarter");
    assert_eq!(urgent(&mut connection, window, true), Some(8), "the window is full");
    assert_eq!(urgent(&mut connection, window, false), Some(4), "its sender must wait");
}

#[test]
fn what_waits_is_cut_if_it_has_become_too_long_for_the_path() {
    let mut connection = opened();
    let now = Instant::START;
    assert!(connection.path.mtu.on_probe_arrival(now, 4072));
    // Their datagrams have 1233 bytes.
    for mode in [Mode::Precise, Mode::Approximate { protected: 1_205 }] {
        let message = Message::new(mode, vec![7; 1_205]);
        connection.send(&message).expect("there is room");
    }
    let outbox = &connection.outbox;
    let waiting: Vec<_> = outbox.precise.values().chain(&outbox.approximate).cloned().collect();
    assert!(waiting.iter().all(|it| HEADER_LEN + it.len() == 1_233));
    assert!(connection.refuse_size(4072));
    connection.shrink(now);
    assert_eq!(connection.path.size(), 1_232);
    let outbox = &connection.outbox;
    let waiting: Vec<_> = outbox.precise.values().chain(&outbox.approximate).cloned().collect();
    assert_eq!(waiting.len(), 4, "two parts of each");
    assert_eq!(outbox.bytes, waiting.iter().map(Encoded::len).sum::<usize>());
    assert!(waiting.iter().all(|it| HEADER_LEN + it.len() <= 1_232));
}
