use super::*;

const BEGAN: u64 = 1_000_000_000_000;
const DEADLINE: Duration = Duration::from_millis(100);
const WAIT: Duration = Duration::from_secs(1);

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
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    assert_eq!((arrivals.report(CameraEnd::Silence), arrivals.ended(u64::MAX)), (None, None));
    for number in 0..50 {
        arrivals
            .take(after(number, 1 + u64::from(number)), &header(number).datagram())
            .expect("clocks that agree");
    }
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.sent, report.arrived, report.damaged, report.late), (50, 50, 0, 0));
    assert_eq!((report.usable_bytes, report.bytes, report.wrong_bytes), (5_000, 5_000, 0));
    assert_eq!((report.pictures, report.whole_pictures), (10, 10));
    assert_eq!(report.delay, [0.025, 0.048, 0.050]);
    assert_eq!(arrivals.ended(after(49, 50)), Some(CameraEnd::Complete));
}

#[test]
fn what_is_late_or_wrong_is_not_usable() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    arrivals.take(after(0, 100), &header(0).datagram()).expect("clocks that agree");
    arrivals.take(after(1, 101), &header(1).datagram()).expect("clocks that agree");
    let mut damaged = header(2).datagram();
    damaged[CameraHeader::LEN + 7] ^= 1;
    damaged[CameraHeader::LEN + 99] ^= 0x80;
    arrivals.take(after(2, 10), &damaged).expect("clocks that agree");
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.arrived, report.damaged, report.late), (3, 1, 1));
    assert_eq!((report.usable_bytes, report.wrong_bytes), (198, 2));
    assert_eq!(report.whole_pictures, 0);
}

#[test]
fn the_best_copy_in_time_counts() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    let mut damaged = header(3).datagram();
    damaged[CameraHeader::LEN] ^= 1;
    arrivals.take(after(3, 2), &damaged).expect("clocks that agree");
    arrivals.take(after(3, 9), &header(3).datagram()).expect("clocks that agree");
    // A copy that comes too late improves nothing.
    damaged[3] = 0;
    let mut other = header(4).datagram();
    other[CameraHeader::LEN] ^= 1;
    arrivals.take(after(4, 2), &other).expect("clocks that agree");
    arrivals.take(after(4, 200), &header(4).datagram()).expect("clocks that agree");
    arrivals.take(after(4, 2), &damaged).expect("clocks that agree");
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.copies, report.foreign, report.usable_bytes), (2, 1, 199));
    // Delays are those of first copies.
    assert_eq!(report.delay[2], 0.002);
}

#[test]
fn a_picture_is_whole_if_all_its_datagrams_are() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    for number in (0..5).chain(6..15) {
        arrivals.take(after(number, 1), &header(number).datagram()).expect("clocks that agree");
    }
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.whole_pictures, report.pictures), (2, 10));
}

#[test]
fn another_stream_is_foreign() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    arrivals.take(after(0, 1), &header(0).datagram()).expect("clocks that agree");
    let other = CameraHeader { began: BEGAN + 1, ..header(1) };
    arrivals.take(after(1, 1), &other.datagram()).expect("clocks that agree");
    arrivals.take(after(1, 1), b"something else").expect("clocks that agree");
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.arrived, report.foreign), (1, 2));
}

/// The first datagram of a stream that takes weeks.
fn endless() -> CameraHeader {
    let mut plan = header(0).plan;
    (plan.interval, plan.stream.count) = (Duration::from_secs(10), 1_000_000);
    CameraHeader { plan, began: BEGAN, number: 0 }
}

#[test]
fn one_datagram_of_a_stranger_neither_ends_a_stream_nor_keeps_the_receiver() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    // A stream of weeks, and one of ten minutes ago.
    let stale = CameraHeader { began: BEGAN - 600_000_000_000, ..header(0) };
    for stranger in [endless(), stale] {
        arrivals.take(BEGAN, &stranger.datagram()).expect("a stranger's");
    }
    for number in 0..49 {
        let is_news = arrivals.take(after(number, 1), &header(number).datagram());
        assert!(is_news.expect("clocks that agree"));
    }
    let end = BEGAN + 1_000_000_000;
    assert_eq!(arrivals.ended(end + 999_999_999), None);
    assert_eq!(arrivals.ended(end + 1_000_000_000), Some(CameraEnd::Silence));
    let report = arrivals.report(CameraEnd::Silence).expect("a stream");
    assert_eq!((report.arrived, report.sent, report.foreign), (49, 50, 2));
}

#[test]
fn a_stream_that_comes_late_is_waited_for_as_long_as_it_comes() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    // Four seconds late, three after its end.
    for number in 0..49 {
        assert_eq!(arrivals.ended(after(number, 4_000)), None, "{number}");
        arrivals.take(after(number, 4_000), &header(number).datagram()).expect("it is late");
    }
    assert_eq!(arrivals.ended(after(48, 4_999)), None);
    assert_eq!(arrivals.ended(after(48, 5_000)), Some(CameraEnd::Silence));
}

#[test]
fn a_stream_that_falls_silent_before_its_end_is_given_up() {
    let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
    arrivals.take(BEGAN, &endless().datagram()).expect("clocks that agree");
    assert_eq!(arrivals.ended(BEGAN + 59_999_999_999), None);
    assert_eq!(arrivals.ended(BEGAN + 60_000_000_000), Some(CameraEnd::Silence));
}

#[test]
fn a_clock_that_differs_is_an_error_in_words() {
    let difference = 600_000_000_000;
    for (began, said) in [(BEGAN + difference, "600s before"), (BEGAN - difference, "600s after")] {
        let mut arrivals = CameraArrivals::new(DEADLINE, WAIT);
        let takes = (0..10).map(|number| {
            let header = CameraHeader { began, ..header(number) };
            arrivals.take(after(number, 0), &header.datagram())
        });
        let takes: Vec<_> = takes.collect();
        assert!(takes[..9].iter().all(|it| matches!(it, Ok(false))), "{takes:?}");
        let error = takes[9].as_ref().expect_err("ten are enough").to_string();
        assert!(error.contains(said) && error.contains("time server"), "{error}");
        assert_eq!(arrivals.failure().to_string(), error);
    }
}
