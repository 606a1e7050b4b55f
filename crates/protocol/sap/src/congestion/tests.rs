use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SIZE: usize = 1000;
const LEAST_ROUND: u64 = 10;

fn lost(number: u64, round: u64) -> LostPacket {
    LostPacket {
        number,
        next: number + 20,
        is_exact: true,
        in_flight: 100 * SIZE,
        round_trips: (MS(LEAST_ROUND), MS(round)),
        now: Instant::START,
    }
}

/// Acknowledges `packets` datagrams up to `largest`, after this round trip.
fn acknowledge(congestion: &mut Congestion, largest: u64, packets: usize, round: u64) {
    let ack = Acknowledged {
        now: Instant::START + MS(largest * 10),
        bytes: (packets * SIZE) as u64,
        rtt: Some(MS(round)),
        limited: true,
        sample: Some(MS(round)),
        una: largest,
        next: largest + 10,
    };
    congestion.on_arrival(largest, (packets, 0), MS(LEAST_ROUND), &ack);
}

/// A window of a hundred datagrams.
fn grown() -> Congestion {
    let mut congestion = Congestion::new(SIZE);
    acknowledge(&mut congestion, 90, 90, LEAST_ROUND);
    assert_eq!(congestion.window(), 100 * SIZE);
    congestion
}

#[test]
fn losses_without_a_queue_leave_the_window_and_end_slow_start() {
    let mut congestion = grown();
    congestion.on_loss(&lost(100, LEAST_ROUND));
    assert_eq!(congestion.window(), 100 * SIZE);
    assert!(congestion.is_starting());
    // Of a hundred datagrams fewer than three wait.
    congestion.on_loss(&lost(101, LEAST_ROUND * 1000 / 972));
    assert_eq!(congestion.window(), 100 * SIZE);
    assert!(congestion.is_starting());
    // Of the next ones few are lost, but slow start needs an end.
    for number in 102..116 {
        assert!(congestion.is_starting(), "{number}");
        congestion.count(20.0, 0.0);
        congestion.on_loss(&lost(number, LEAST_ROUND));
    }
    assert_eq!(congestion.window(), 100 * SIZE);
    assert!(!congestion.is_starting());
}

#[test]
fn a_loss_with_a_queue_shrinks_the_window_as_cubic_does_once_for_all_that_was_in_flight() {
    let mut congestion = grown();
    congestion.on_loss(&lost(100, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE);
    assert!(!congestion.is_starting());
    congestion.on_loss(&lost(120, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE, "it was in flight at the first loss");
    acknowledge(&mut congestion, 119, 10, LEAST_ROUND);
    assert_eq!(congestion.window(), 70 * SIZE, "so was this");
    congestion.on_loss(&lost(121, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 49 * SIZE);
}

#[test]
fn the_gentle_window_keeps_more_at_a_loss_and_grows_to_twenty_datagrams() {
    let mut congestion = Congestion::new(SIZE);
    for round in 0..4 {
        congestion.on_loss(&lost(100 * round, 10 * LEAST_ROUND));
    }
    // Ten, and 0.85 to the power of four.
    assert_eq!(congestion.window(), 5220);
    for round in 0..4 {
        acknowledge(&mut congestion, 1000 + round, 5, LEAST_ROUND);
    }
    assert!((8 * SIZE..10 * SIZE).contains(&congestion.window()), "{}", congestion.window());
    congestion.collapse(Instant::START, BTreeSet::new());
    assert_eq!(congestion.window(), LEAST * SIZE);
}

#[test]
fn all_losses_count_where_there_are_many() {
    let mut congestion = grown();
    // With 90 that arrived, up to 7 are few: 8 % of 97.
    for number in 0..7 {
        congestion.on_loss(&lost(200 + number, LEAST_ROUND));
    }
    assert_eq!(congestion.window(), 100 * SIZE);
    congestion.on_loss(&lost(300, LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE);
}

#[test]
fn longer_datagrams_leave_the_bytes_of_the_window_but_for_its_beginning() {
    let mut congestion = grown();
    congestion.set_size(1400);
    assert!(congestion.window().abs_diff(100 * SIZE) <= 1, "{}", congestion.window());
    let mut congestion = Congestion::new(SIZE);
    congestion.set_size(2000);
    assert_eq!(congestion.window(), 10 * 2000);
}

#[test]
fn a_link_that_loses_only_approximate_datagrams_is_told_from_a_full_queue() {
    let mut link = LinkLosses::default();
    link.count(true, 100.0, 0.0);
    link.count(false, 200.0, 7.0);
    assert!(!link.is_noisy(), "too few");
    link.count(false, 20.0, 1.0);
    assert!(link.is_noisy());
    link.count(true, 10.0, 2.0);
    assert!(!link.is_noisy(), "exact ones are lost as well");
}

#[test]
fn on_a_lossy_link_the_window_shrinks_once_at_each_peak_of_the_round_trips() {
    let mut link = LinkLosses::default();
    let peaks = [10, 50, 60, 60, 40, 59, 60, 59].map(|round| {
        link.watch(MS(LEAST_ROUND), MS(round));
        link.take_peak()
    });
    assert_eq!(peaks, [false, true, false, false, false, true, false, false]);
}

#[test]
fn a_reduction_is_taken_back_once_all_that_caused_it_has_arrived() {
    let mut congestion = grown();
    congestion.on_loss(&lost(100, 2 * LEAST_ROUND));
    congestion.on_loss(&lost(103, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE);
    congestion.on_late(103, true);
    congestion.on_late(99, true);
    assert_eq!(congestion.window(), 70 * SIZE, "one is still missing");
    congestion.on_late(100, true);
    assert_eq!(congestion.window(), 100 * SIZE);
    assert!(congestion.is_starting());
    congestion.collapse(Instant::START, BTreeSet::from([110, 111]));
    congestion.on_late(110, true);
    assert!(congestion.window() < 20 * SIZE);
    congestion.on_late(111, true);
    assert_eq!(congestion.window(), 100 * SIZE);
}
