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
    assert_eq!(valid(&mut statistics, 30_001), 30_001);
    assert_eq!((statistics.expected(), statistics.received()), (1, 1));
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
