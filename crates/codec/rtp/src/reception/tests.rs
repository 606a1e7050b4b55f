use super::*;

fn valid(statistics: &mut ReceptionStatistics, sequence: u16) -> u32 {
    match statistics.update(sequence) {
        SequenceCheck::Valid(extended) => extended,
        other => panic!("{sequence} is {other:?}"),
    }
}

//= S1.6
#[test]
fn a_source_is_valid_after_two_packets_in_sequence() {
    let mut statistics = ReceptionStatistics::new(10);
    assert_eq!(statistics.update(10), SequenceCheck::Probation);
    assert_eq!(statistics.update(30), SequenceCheck::Probation);
    assert_eq!(statistics.update(31), SequenceCheck::Valid(31));
    assert_eq!((statistics.received(), statistics.expected(), statistics.lost()), (1, 1, 0));
}

#[test]
fn losses_copies_and_cycles_are_counted() {
    let mut statistics = ReceptionStatistics::trusted(65_533);
    for (sequence, extended) in [(65_533, 65_533), (65_535, 65_535), (1, 65_537), (0, 65_536)] {
        assert_eq!(valid(&mut statistics, sequence), extended);
    }
    // 65534 is missing.
    assert_eq!((statistics.expected(), statistics.received(), statistics.lost()), (5, 4, 1));
    let report = statistics.report(9);
    assert_eq!(
        (report.fraction_lost, report.lost, report.highest),
        (256_u32.div_euclid(5) as u8, 1, 65_537)
    );
    valid(&mut statistics, 1);
    valid(&mut statistics, 1);
    assert_eq!(statistics.lost(), -1, "copies are counted as received");
    assert_eq!(statistics.report(9).fraction_lost, 0);
}

#[test]
fn a_jump_restarts_the_source_only_if_it_is_confirmed() {
    let mut statistics = ReceptionStatistics::trusted(5);
    valid(&mut statistics, 5);
    assert_eq!(statistics.update(20_000), SequenceCheck::Jump);
    assert_eq!(valid(&mut statistics, 6), 6);
    assert_eq!(statistics.update(30_000), SequenceCheck::Jump);
    // The packet before counts too.
    assert_eq!(statistics.update(30_001), SequenceCheck::Restart(30_001, 1));
    assert_eq!((statistics.expected(), statistics.received(), statistics.lost()), (2, 2, 0));
    assert_eq!((statistics.total_expected(), statistics.total_received()), (4, 4));
    assert_eq!(statistics.total_lost(), 0);
}

#[test]
fn a_source_may_begin_with_any_number() {
    for first in [0, 1, 2, 65_534, 65_535] {
        let mut statistics = ReceptionStatistics::trusted(first);
        for step in 0..300 {
            let sequence = first.wrapping_add(step);
            assert_eq!(valid(&mut statistics, sequence), u32::from(first) + u32::from(step));
        }
        assert_eq!((statistics.expected(), statistics.lost()), (300, 0), "{first}");
        // The second packet overtook the first.
        let mut statistics = ReceptionStatistics::trusted(first.wrapping_add(1));
        for step in [1, 0, 2] {
            statistics.update(first.wrapping_add(step));
        }
        assert_eq!((statistics.expected(), statistics.received(), statistics.lost()), (3, 3, 0));
    }
}

#[test]
fn a_source_that_begins_anew_is_known_by_its_numbers_or_its_times() {
    // A stream of 200 packets, ten a second, and another from `first` on after a pause.
    let (mut arrival, mut received) = (0_u32, 0);
    for (first, offset) in [(0, 0), (150, 0), (150, 1 << 30), (210, 1 << 31), (199, 7 << 28)] {
        let mut statistics = ReceptionStatistics::trusted(0);
        let mut restarts = 0;
        let mut send = |statistics: &mut ReceptionStatistics, sequence: u16, timestamp: u32| {
            arrival = arrival.wrapping_add(9_000);
            let check = statistics.update_timed(sequence, timestamp, arrival);
            restarts += u32::from(matches!(check, SequenceCheck::Restart(..)));
            if check != SequenceCheck::Jump {
                statistics.record_transit(timestamp, arrival);
            }
        };
        for number in 0..200_u16 {
            send(&mut statistics, number, u32::from(number) * 9_000);
        }
        for number in 0..100_u16 {
            send(&mut statistics, first + number, u32::from(number) * 9_000 + offset);
        }
        received += 1;
        let found = (restarts, statistics.total_received(), statistics.total_lost());
        assert_eq!(found, (1, 300, 0), "{first} {offset}, number {received}");
    }
}

#[test]
fn copies_and_long_gaps_are_no_new_beginning() {
    let mut statistics = ReceptionStatistics::trusted(0);
    let mut send = |sequence: u16, timestamp: u32, arrival: u32| {
        let check = statistics.update_timed(sequence, timestamp, arrival);
        assert!(matches!(check, SequenceCheck::Valid(_)), "{sequence}: {check:?}");
        statistics.record_transit(timestamp, arrival);
    };
    for number in 0..100_u16 {
        // Each packet twice, and now and then five again.
        for _ in 0..2 {
            send(number, u32::from(number) * 9_000, u32::from(number) * 9_000);
        }
        for again in (0..5).filter(|_| number % 20 == 19) {
            let again = number - 4 + again;
            send(again, u32::from(again) * 9_000, u32::from(number) * 9_000);
        }
    }
    // The line is away for two minutes, and 1200 packets with it.
    send(1_300, 1_300 * 9_000, 1_300 * 9_000);
    assert_eq!((statistics.expected(), statistics.lost()), (1_301, 1_301 - 226));
}

/// The recurrence J += (|D| − J) / 16 in integers of appendix A.8, against one in real numbers.
#[test]
fn jitter_follows_the_recurrence_of_appendix_a_8() {
    let mut statistics = ReceptionStatistics::trusted(0);
    let (mut real, mut before) = (0.0_f64, None);
    for number in 0..400_u32 {
        let late = [0_u32, 900, 300, 4_000, 20][number as usize % 5];
        let sent = number.wrapping_mul(9_000).wrapping_sub(5_000);
        statistics.record_transit(sent, sent.wrapping_add(123_456).wrapping_add(late));
        if let Some(before) = before.replace(f64::from(late)) {
            real += ((f64::from(late) - before).abs() - real) / 16.0;
        }
        assert!((f64::from(statistics.jitter()) - real).abs() <= 2.0, "{number}: {real}");
    }
    assert!(real > 1_000.0);
}
