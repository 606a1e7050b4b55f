use super::*;

const BEGAN: u64 = 1_000_000_000_000;
const DEADLINE: Duration = Duration::from_millis(100);

/// Ten pictures of five datagrams of 100 bytes, a picture each 100 ms.
fn header(number: u32) -> CameraHeader {
    let plan = CameraPlan::of_rate(10.0, 40_000.0, Duration::from_secs(1), 100).expect("a plan");
    assert_eq!((plan.per_picture, plan.stream.count), (5, 50));
    CameraHeader { plan, began: BEGAN, number }
}

/// The instant `millis` after the picture of a datagram.
fn after(number: u32, millis: u64) -> u64 {
    BEGAN + header(number).plan.due(number).as_nanos() + millis * 1_000_000
}

#[test]
fn a_stream_that_arrives_whole_is_usable() {
    let mut arrivals = CameraArrivals::new(DEADLINE);
    assert_eq!((arrivals.report(), arrivals.end()), (None, None));
    for number in 0..50 {
        arrivals.take(after(number, 1 + u64::from(number)), &header(number).datagram());
    }
    let report = arrivals.report().expect("a stream");
    assert_eq!((report.sent, report.arrived, report.damaged, report.late), (50, 50, 0, 0));
    assert_eq!((report.usable_bytes, report.bytes, report.wrong_bytes), (5_000, 5_000, 0));
    assert_eq!((report.pictures, report.whole_pictures), (10, 10));
    assert_eq!(report.delay, [0.025, 0.048, 0.050]);
    assert_eq!(arrivals.end(), Some(BEGAN + 1_000_000_000));
}

#[test]
fn what_is_late_or_wrong_is_not_usable() {
    let mut arrivals = CameraArrivals::new(DEADLINE);
    arrivals.take(after(0, 100), &header(0).datagram());
    arrivals.take(after(1, 101), &header(1).datagram());
    let mut damaged = header(2).datagram();
    damaged[CameraHeader::LEN + 7] ^= 1;
    damaged[CameraHeader::LEN + 99] ^= 0x80;
    arrivals.take(after(2, 10), &damaged);
    let report = arrivals.report().expect("a stream");
    assert_eq!((report.arrived, report.damaged, report.late), (3, 1, 1));
    assert_eq!((report.usable_bytes, report.wrong_bytes), (198, 2));
    assert_eq!(report.whole_pictures, 0);
}

#[test]
fn the_best_copy_in_time_counts() {
    let mut arrivals = CameraArrivals::new(DEADLINE);
    let mut damaged = header(3).datagram();
    damaged[CameraHeader::LEN] ^= 1;
    arrivals.take(after(3, 2), &damaged);
    arrivals.take(after(3, 9), &header(3).datagram());
    // A copy that comes too late improves nothing.
    damaged[3] = 0;
    let mut other = header(4).datagram();
    other[CameraHeader::LEN] ^= 1;
    arrivals.take(after(4, 2), &other);
    arrivals.take(after(4, 200), &header(4).datagram());
    arrivals.take(after(4, 2), &damaged);
    let report = arrivals.report().expect("a stream");
    assert_eq!((report.copies, report.foreign, report.usable_bytes), (2, 1, 199));
    // Delays are those of first copies.
    assert_eq!(report.delay[2], 0.002);
}

#[test]
fn a_picture_is_whole_if_all_its_datagrams_are() {
    let mut arrivals = CameraArrivals::new(DEADLINE);
    for number in (0..5).chain(6..15) {
        arrivals.take(after(number, 1), &header(number).datagram());
    }
    let report = arrivals.report().expect("a stream");
    assert_eq!((report.whole_pictures, report.pictures), (2, 10));
}

#[test]
fn another_stream_is_foreign() {
    let mut arrivals = CameraArrivals::new(DEADLINE);
    arrivals.take(after(0, 1), &header(0).datagram());
    let other = CameraHeader { began: BEGAN + 1, ..header(1) };
    arrivals.take(after(1, 1), &other.datagram());
    arrivals.take(after(1, 1), b"something else");
    let report = arrivals.report().expect("a stream");
    assert_eq!((report.arrived, report.foreign), (1, 2));
}
