use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SIZE: usize = 1000;
const LEAST_ROUND: u64 = 10;

/// The shortest round trips in milliseconds, of all and of the last ones.
fn round_trips(least: u64, recent: u64) -> RoundTrips {
    RoundTrips { least: MS(least), recent: MS(recent) }
}

const fn tally(all: f64, lost: f64) -> Tally {
    Tally { all, lost }
}

fn lost(number: u64, round: u64) -> LostPacket {
    LostPacket {
        number,
        next: number + 20,
        is_exact: true,
        in_flight: 100 * SIZE,
        round_trips: round_trips(LEAST_ROUND, round),
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
    congestion.on_arrival(largest, packets, 0, round_trips(LEAST_ROUND, round), &ack);
}

/// A window of a hundred datagrams.
fn grown() -> Congestion {
    let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
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
    congestion.on_loss(&lost(98, 2 * LEAST_ROUND));
    congestion.on_loss(&lost(99, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 100 * SIZE, "slow start that overflows a queue loses more");
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
    let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
    congestion.leave_slow_start(Instant::START);
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
fn the_gentle_window_shrinks_as_reno_does_where_many_share_a_short_queue() {
    // Of a hundred datagrams these are lost, the last one now.
    let kept = |lost_of_hundred: u32| {
        let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
        congestion.leave_slow_start(Instant::START);
        let before = f64::from(lost_of_hundred - 1);
        congestion.count(99.0 - before, before);
        let gentle = congestion.gentle;
        congestion.on_loss(&lost(100, 10 * LEAST_ROUND));
        congestion.gentle / gentle
    };
    let rounded = |lost| (kept(lost) * 1000.0).round() as u32;
    // Its beginning and its end are gradual.
    assert_eq!([1, 2, 3, 4, 12, 14, 16, 30].map(rounded), [850, 850, 710, 570, 570, 710, 850, 850]);
}

#[test]
fn the_least_window_is_two_datagrams_where_many_share_a_short_queue() {
    let least = |lost: f64| {
        let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
        congestion.count(100.0 - lost, lost);
        congestion.collapse(Instant::START, BTreeSet::new());
        congestion.window()
    };
    assert_eq!(
        [0.0, 2.0, 3.0, 4.0, 12.0, 16.0, 30.0].map(least),
        [4, 4, 3, 2, 2, 4, 4].map(|it| it * SIZE)
    );
}

#[test]
fn the_datagrams_of_others_fill_a_queue_too() {
    let mut congestion = grown();
    acknowledge(&mut congestion, 91, 1, 4 * LEAST_ROUND);
    congestion.collapse(Instant::START, BTreeSet::new());
    // Of four datagrams less than three wait up to 39 ms, and the longest round trip was 40 ms.
    let filling = |millis| congestion.filling(round_trips(LEAST_ROUND, millis));
    let fillings = [11, 15, 17, 30, 32, 39].map(filling);
    let expected = [0, 0, 1, 1, 2, 2].map(|it| [Filling::Empty, Filling::Part, Filling::Full][it]);
    assert_eq!(fillings, expected);
    // What adds less than a tenth to the round trip is no queue.
    let mut congestion = grown();
    acknowledge(&mut congestion, 91, 1, LEAST_ROUND);
    congestion.collapse(Instant::START, BTreeSet::new());
    assert_eq!(congestion.filling(round_trips(100, 110)), Filling::Empty);
    assert_eq!(congestion.filling(round_trips(100, 112)), Filling::Full);
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
    let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
    congestion.set_size(2000);
    assert_eq!(congestion.window(), 10 * 2000);
}

#[test]
fn a_link_that_loses_only_approximate_datagrams_is_told_from_a_full_queue() {
    let mut link = LinkLosses::default();
    link.count(true, 100.0, 0.0);
    link.count(false, 200.0, 3.0);
    assert!(link.is_suspect() && !link.is_noisy(), "too few");
    link.count(false, 20.0, 1.0);
    assert!(link.is_noisy());
    link.count(true, 10.0, 2.0);
    assert!(!link.is_noisy(), "exact ones are lost as well");
}

#[test]
fn of_a_run_of_losses_one_counts_and_the_third_tells_that_it_is_one() {
    let mut link = LinkLosses::default();
    let runs = [100, 101, 120, 300, 330, 350].map(|number| {
        let loss = LostPacket { is_exact: false, ..lost(number, LEAST_ROUND) };
        link.on_loss(&loss, Filling::Full)
    });
    assert_eq!(runs, [false, false, true, false, false, false]);
    assert_eq!(link.approximate, tally(6.0, 3.0));
}

#[test]
fn the_loss_of_an_approximate_datagram_tells_nothing_on_a_noisy_link_and_what_it_cost_returns() {
    let mut congestion = grown();
    congestion.leave_slow_start(Instant::START);
    let approximate = |number| LostPacket { is_exact: false, ..lost(number, 2 * LEAST_ROUND) };
    for number in [100, 200, 300] {
        congestion.on_loss(&approximate(number));
    }
    assert_eq!(congestion.window(), 34 * SIZE);
    acknowledge(&mut congestion, 390, 200, 2 * LEAST_ROUND);
    congestion.on_loss(&approximate(500));
    assert_eq!(congestion.window(), 100 * SIZE);
    congestion.on_loss(&lost(600, 2 * LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE, "an exact one tells of the queue");
}

#[test]
fn a_queue_filled_in_part_explains_losses_unless_as_many_are_lost_without_one() {
    let mut congestion = grown();
    congestion.leave_slow_start(Instant::START);
    acknowledge(&mut congestion, 91, 1, 4 * LEAST_ROUND);
    let part = 2 * LEAST_ROUND;
    assert_eq!(congestion.filling(round_trips(LEAST_ROUND, part)), Filling::Part);
    congestion.on_loss(&lost(100, part));
    assert_eq!(congestion.window(), 70 * SIZE);
    congestion.on_loss(&lost(200, LEAST_ROUND));
    congestion.on_loss(&lost(300, LEAST_ROUND));
    congestion.link.count_at(Filling::Part, 100.0, 0.0);
    congestion.on_loss(&lost(400, part));
    assert_eq!(congestion.window(), 100 * SIZE, "the reduction was without need");
    congestion.on_loss(&lost(500, 4 * LEAST_ROUND));
    assert_eq!(congestion.window(), 70 * SIZE);
    congestion.on_loss(&lost(600, part));
    assert_eq!(congestion.window(), 70 * SIZE, "that one was due to the queue");
}

#[test]
fn a_full_queue_explains_what_was_lost_at_a_shorter_one_before() {
    let mut congestion = grown();
    congestion.leave_slow_start(Instant::START);
    acknowledge(&mut congestion, 91, 1, 4 * LEAST_ROUND);
    congestion.on_loss(&lost(100, 2 * LEAST_ROUND));
    congestion.on_loss(&lost(200, 4 * LEAST_ROUND));
    assert_eq!(congestion.window(), 49 * SIZE);
    congestion.on_loss(&lost(300, LEAST_ROUND));
    congestion.on_loss(&lost(400, LEAST_ROUND));
    congestion.link.count_at(Filling::Part, 100.0, 0.0);
    congestion.on_loss(&lost(500, LEAST_ROUND));
    assert_eq!(congestion.window(), 49 * SIZE);
}

#[test]
fn a_reduction_is_taken_back_once_all_that_caused_it_has_arrived() {
    let mut congestion = grown();
    for number in [98, 99, 100, 103] {
        congestion.on_loss(&lost(number, 2 * LEAST_ROUND));
    }
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

#[test]
fn the_counts_of_a_link_are_halved_so_that_they_follow_it() {
    let mut link = LinkLosses::default();
    link.count(true, 95.0, 10.0);
    link.count(false, 4000.0, 100.0);
    assert_eq!((link.exact, link.approximate), (tally(95.0, 10.0), tally(4000.0, 100.0)));
    link.count(true, 1.0, 0.0);
    assert_eq!((link.exact, link.approximate), (tally(48.0, 5.0), tally(2000.0, 50.0)));
    link.count_at(Filling::Empty, 95.0, 10.0);
    link.count_at(Filling::Part, 4000.0, 100.0);
    link.count_at(Filling::Full, 7000.0, 100.0);
    assert_eq!((link.empty, link.part), (tally(95.0, 10.0), tally(4000.0, 100.0)));
    link.count_at(Filling::Empty, 1.0, 0.0);
    assert_eq!((link.empty, link.part), (tally(48.0, 5.0), tally(2000.0, 50.0)));
    link.on_late(true);
    link.on_late(false);
    assert_eq!((link.exact.lost, link.approximate.lost), (4.0, 49.0));
    (0..9).for_each(|_| link.on_late(true));
    assert_eq!((link.exact.lost, link.approximate.lost), (0.0, 49.0));
}

#[test]
fn a_link_is_blind_that_loses_half_as_much_without_a_queue_as_with_one() {
    let is_blind = |empty, part| {
        let link = LinkLosses { empty, part, ..LinkLosses::default() };
        link.is_blind()
    };
    assert!(is_blind(tally(100.0, 2.0), tally(100.0, 4.0)));
    assert!(!is_blind(tally(100.0, 2.0), tally(100.0, 5.0)));
    assert!(!is_blind(tally(10.0, 1.0), tally(100.0, 0.0)), "one loss tells nothing");
    assert!(is_blind(tally(100.0, 2.0), tally(0.0, 0.0)));
}

#[test]
fn a_link_is_noisy_that_loses_approximate_datagrams_twice_as_often() {
    let is_noisy = |exact, approximate| {
        let link = LinkLosses { exact, approximate, ..LinkLosses::default() };
        link.is_noisy()
    };
    // One half is added to the losses of exact ones: 2.5 of 100, twice 5 %.
    assert!(
        is_noisy(tally(100.0, 2.0), tally(100.0, 5.1))
            && !is_noisy(tally(100.0, 2.0), tally(100.0, 5.0))
    );
    assert!(
        is_noisy(tally(8.0, 0.0), tally(30.0, 4.0)) && !is_noisy(tally(7.9, 0.0), tally(30.0, 4.0))
    );
    assert!(!is_noisy(tally(8.0, 0.0), tally(20.0, 3.9)), "too few");
    let is_suspect =
        |lost| LinkLosses { approximate: tally(100.0, lost), ..LinkLosses::default() }.is_suspect();
    assert!(is_suspect(2.0) && !is_suspect(1.9));
}

#[test]
fn the_longest_round_trip_fades_in_four_seconds() {
    let mut link = LinkLosses::default();
    let at = |millis| Instant::START + MS(millis);
    let mut watch = |millis, sample| {
        link.watch(at(millis), MS(10), MS(sample));
        (link.most / 1e6, link.level(round_trips(10, 30)))
    };
    assert_eq!(watch(0, 50), (50.0, 0.5));
    assert_eq!(watch(1_000, 90), (90.0, 0.25));
    // After one second three quarters of the 80 ms beyond the least are left.
    assert_eq!(watch(2_000, 20), (70.0, 20.0 / 60.0));
    assert_eq!(watch(9_000, 20), (20.0, 2.0));
    // Without any queue the place is none.
    assert_eq!(watch(99_000, 10).0, 10.0);
}

#[test]
fn a_loss_near_the_one_before_does_not_count_again() {
    let counted = |numbers: [u64; 2]| {
        let mut link = LinkLosses::default();
        for number in numbers {
            link.on_loss(&lost(number, LEAST_ROUND), Filling::Empty);
        }
        assert_eq!(link.exact, link.empty);
        link.exact
    };
    assert_eq!(counted([100, 123]), tally(2.0, 1.0));
    assert_eq!(counted([100, 124]), tally(2.0, 2.0));
}

#[test]
fn eight_in_a_hundred_lost_are_much_and_their_counts_are_halved() {
    let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
    congestion.count(46.0, 4.0);
    assert!(!congestion.loses_much(), "exactly as many");
    congestion.count(0.0, 0.1);
    assert!(congestion.loses_much());
    let mut congestion = Congestion::new(SIZE, CongestionControl::CUBIC);
    congestion.count(10.0, 3.9);
    assert!(!congestion.loses_much(), "too few to tell");
    congestion.count(200.0, 42.0);
    assert_eq!((congestion.arrived, congestion.lost), (210.0, 45.9));
    congestion.count(0.1, 0.0);
    assert_eq!((congestion.arrived, congestion.lost), (105.05, 22.95));
    congestion.on_late(1, true);
    assert_eq!(congestion.lost, 21.95);
}

#[test]
fn another_algorithm_takes_the_place_of_cubic_and_reduces_in_its_own_way() {
    let grown = || {
        let mut congestion = Congestion::new(SIZE, CongestionControl::RENO);
        acknowledge(&mut congestion, 90, 90, LEAST_ROUND);
        assert_eq!(congestion.window(), 100 * SIZE);
        congestion
    };
    let mut congestion = grown();
    for number in [98, 99, 100] {
        congestion.on_loss(&lost(number, 2 * LEAST_ROUND));
    }
    assert_eq!(congestion.window(), 50 * SIZE);
    let mut congestion = grown();
    congestion.leave_slow_start(Instant::START);
    assert_eq!(congestion.window(), 100 * SIZE);
    assert!(!congestion.is_starting());
}
