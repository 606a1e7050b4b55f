use bytes::Bytes;

use super::*;

fn sink() -> Sink {
    let config = SinkConfig { local: ([0, 0, 0, 0], 9).into(), transport: Transport::Udp };
    Sink::new(config, Seed(1))
}

fn value(sink: &Sink, name: &str) -> f64 {
    let report = sink.report(Instant::START);
    report.iter().find(|(key, _)| *key == name).expect("a value of that name").1.number()
}

fn receive(sink: &mut Sink, millis: u64, data: Bytes, damage: Damage) {
    let now = Instant::from_nanos(millis * 1_000_000);
    let from = ([10, 0, 0, 1], 5000).into();
    sink.handle_event(now, SocketEvent::Received { socket: SOCKET, from, data, damage });
}

//= S3.24
#[test]
fn what_arrived_is_counted_and_timed() {
    let mut sink = sink();
    let pattern = Pattern::new(Seed(1));
    for (number, millis) in [(0, 10), (1, 20), (4, 30), (3, 50), (3, 60)] {
        receive(&mut sink, millis, pattern.datagram(number, 100), Damage::default());
    }
    let names = ["received", "reordered", "duplicates", "unknown", "damaged"];
    let values = names.map(|name| value(&sink, name));
    assert_eq!(values, [5.0, 1.0, 1.0, 0.0, 0.0]);
    // Four datagrams of 800 bits in the 50 ms after the first.
    assert!((value(&sink, "goodput_bps") - 64_000.0).abs() < 1e-6);
    assert!((value(&sink, "gap_mean_seconds") - 0.0125).abs() < 1e-12);
    assert!((value(&sink, "gap_max_seconds") - 0.02).abs() < 1e-12);
}

#[test]
fn every_wrong_bit_is_known_whatever_the_layers_below_say() {
    let mut sink = sink();
    let pattern = Pattern::new(Seed(1));
    let mut data = pattern.datagram(0, 100).to_vec();
    (data[3], data[50]) = (data[3] ^ 0x10, data[50] ^ 0xff);
    receive(&mut sink, 1, data.into(), Damage::default());
    let mut cut = Damage { missing: 60, ..Damage::default() };
    cut.suspect.push(0..40);
    receive(&mut sink, 2, pattern.datagram(1, 100).slice(..40), cut);
    receive(&mut sink, 3, Pattern::new(Seed(2)).datagram(2, 100), Damage::default());
    let names =
        ["damaged", "marked_damaged", "bit_errors", "byte_errors", "truncated_bytes", "unknown"];
    assert_eq!(names.map(|name| value(&sink, name)), [2.0, 1.0, 9.0, 2.0, 60.0, 1.0]);
}

#[test]
fn what_cannot_be_measured_is_absent() {
    let mut sink = sink();
    let pattern = Pattern::new(Seed(1));
    receive(&mut sink, 1, pattern.datagram(0, 100), Damage::default());
    let report = sink.report(Instant::START);
    let absent = report.iter().filter(|(_, it)| *it == Measured::Absent).map(|(name, _)| *name);
    let gaps = ["gap_min_seconds", "gap_mean_seconds", "gap_max_seconds", "gap_sd_seconds"];
    assert_eq!(absent.collect::<Vec<_>>(), [&["goodput_bps"][..], &gaps].concat());
    assert_eq!(report[0], ("received", Measured::Count(1)));
}

#[test]
fn it_opens_its_socket_once() {
    let mut sink = sink();
    assert_eq!(sink.poll_timeout(), Some((Instant::START, "open")));
    assert!(matches!(sink.poll_command(Instant::START), Some(SocketCommand::Open { .. })));
    assert_eq!((sink.poll_command(Instant::START), sink.poll_timeout()), (None, None));
}
