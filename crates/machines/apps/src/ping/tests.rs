use bytes::Bytes;
use windfall_base::Damage;

use super::*;

fn ping(size: usize) -> Ping {
    let config = PingConfig {
        to: [10, 0, 0, 2].into(),
        size,
        interval: Duration::from_secs(1),
        count: Some(4),
        start: Instant::START,
        stop: None,
    };
    Ping::new(config, Seed(1))
}

fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_millis(millis)
}

fn reply(data: &Bytes) -> SocketEvent {
    let from = ([10, 0, 0, 2], 0).into();
    let data = data.clone();
    SocketEvent::Received { socket: SOCKET, from, data, damage: Damage::default() }
}

fn value(ping: &Ping, name: &str) -> f64 {
    let report = ping.report(Instant::START);
    report.iter().find(|(key, _)| *key == name).expect("a value of that name").1.number()
}

#[test]
fn replies_are_timed_and_the_rest_is_lost() {
    let mut ping = ping(56);
    let mut sent = Vec::new();
    for second in 0..4 {
        let now = at(second * 1000);
        while let Some(command) = ping.poll_command(now) {
            if let SocketCommand::Send { data, .. } = command {
                sent.push(data);
            }
        }
    }
    // After the last request it waits until the first is no longer awaited.
    assert_eq!(ping.poll_timeout(), Some((at(10_000), "ping")));
    ping.handle_event(at(3010), reply(&sent[3]));
    ping.handle_event(at(3020), reply(&sent[1]));
    ping.handle_event(at(3021), reply(&sent[1]));
    ping.handle_event(at(10_000), reply(&sent[0]));
    let values = ["sent", "received", "lost", "loss", "unexpected"].map(|name| value(&ping, name));
    assert_eq!(values, [4.0, 2.0, 2.0, 0.5, 2.0]);
    let times =
        ["rtt_min_seconds", "rtt_mean_seconds", "rtt_max_seconds"].map(|name| value(&ping, name));
    for (time, expected) in times.into_iter().zip([0.01, 1.015, 2.02]) {
        assert!((time - expected).abs() < 1e-12);
    }
}

#[test]
fn requests_that_may_still_be_answered_are_not_lost() {
    let mut ping = ping(56);
    assert_eq!(ping.report(Instant::START)[4], ("loss", Measured::Absent));
    let mut sent = Vec::new();
    for second in 0..4 {
        while let Some(command) = ping.poll_command(at(second * 1000)) {
            if let SocketCommand::Send { data, .. } = command {
                sent.push(data);
            }
        }
    }
    let names = ["received", "pending", "lost", "loss"];
    assert_eq!(names.map(|name| value(&ping, name)), [0.0, 4.0, 0.0, 0.0]);
    assert_eq!(ping.report(Instant::START)[9], ("rtt_min_seconds", Measured::Absent));
    ping.handle_event(at(3001), reply(&sent[1]));
    assert_eq!(names.map(|name| value(&ping, name)), [1.0, 2.0, 1.0, 0.5]);
    ping.handle_timeout(at(12_000));
    assert_eq!(names.map(|name| value(&ping, name)), [1.0, 1.0, 2.0, 2.0 / 3.0]);
    ping.handle_timeout(at(13_000));
    assert_eq!(names.map(|name| value(&ping, name)), [1.0, 0.0, 3.0, 0.75]);
    assert_eq!(ping.poll_timeout(), None);
}

#[test]
fn damage_in_a_reply_is_counted_to_the_bit() {
    let mut ping = ping(100);
    ping.poll_command(at(0));
    let Some(SocketCommand::Send { data, .. }) = ping.poll_command(at(0)) else { panic!("sent") };
    let mut data = data.to_vec();
    (data[0], data[99]) = (data[0] ^ 0x80, data[99] ^ 0x03);
    ping.handle_event(at(5), reply(&data.into()));
    assert_eq!([value(&ping, "bit_errors"), value(&ping, "byte_errors")], [3.0, 2.0]);
    ping.handle_event(at(6), reply(&Bytes::from_static(b"another ping's")));
    assert_eq!(value(&ping, "unexpected"), 1.0);
}
