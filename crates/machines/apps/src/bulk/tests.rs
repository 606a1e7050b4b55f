use super::*;

const SEED: Seed = Seed(5);

fn to() -> SocketAddr {
    ([10, 0, 0, 2], 80).into()
}

/// Lets a bulk sender send `bytes` to a sink directly; `spoil` may change what arrives.
fn transfer(bytes: u64, spoil: impl Fn(&mut Vec<u8>)) -> (Bulk, BulkSink) {
    let config = BulkConfig { to: to(), bytes: Some(bytes), start: Instant::START, stop: None };
    let mut bulk = Bulk::new(config, SEED);
    let mut sink = BulkSink::new(BulkSinkConfig { local: to() }, SEED);
    let listener = SOCKET;
    let socket = SocketId(7);
    let now = Instant::START;
    sink.handle_event(now, SocketEvent::Accepted { listener, socket, from: to() });
    while let Some(command) = bulk.poll_command(now) {
        match command {
            SocketCommand::Connect { socket, .. } => {
                bulk.handle_event(now, SocketEvent::Connected { socket });
            }
            SocketCommand::Send { data, .. } => {
                let mut data = data.to_vec();
                spoil(&mut data);
                // The host cuts the stream where it likes.
                for piece in data.chunks(777) {
                    let data = Bytes::copy_from_slice(piece);
                    sink.handle_event(now, SocketEvent::Stream { socket, data });
                }
                bulk.handle_event(now, SocketEvent::Writable { socket: SOCKET });
            }
            SocketCommand::Finish { .. } => {
                sink.handle_event(now, SocketEvent::Finished { socket });
            }
            _ => {}
        }
    }
    (bulk, sink)
}

fn value(report: &[(&'static str, Measured)], name: &str) -> f64 {
    report.iter().find(|(other, _)| *other == name).expect("a value of this name").1.number()
}

#[test]
fn every_byte_arrives_and_is_known() {
    for bytes in [0, 1, 1024, 65_536, 200_001] {
        let (bulk, sink) = transfer(bytes, |_| {});
        assert_eq!(value(&bulk.report(Instant::START), "sent_bytes"), bytes as f64);
        assert_eq!(value(&sink.report(Instant::START), "received_bytes"), bytes as f64);
        assert_eq!(value(&sink.report(Instant::START), "byte_errors"), 0.0);
        assert_eq!(value(&sink.report(Instant::START), "finished"), 1.0);
    }
}

#[test]
fn wrong_bytes_are_counted() {
    let (_, sink) = transfer(5_000, |data| data[3_000] ^= 1);
    assert_eq!(value(&sink.report(Instant::START), "byte_errors"), 1.0);
}

#[test]
fn a_failure_ends_the_sender() {
    let config = BulkConfig { to: to(), bytes: None, start: Instant::START, stop: None };
    let mut bulk = Bulk::new(config, SEED);
    while bulk.poll_command(Instant::START).is_some() {}
    let error = SocketError::PortClosed;
    bulk.handle_event(Instant::START, SocketEvent::Failed { socket: SOCKET, error });
    assert_eq!(bulk.poll_command(Instant::START), None);
    assert_eq!(value(&bulk.report(Instant::START), "failed"), 1.0);
}
