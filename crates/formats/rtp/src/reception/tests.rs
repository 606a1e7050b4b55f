use proptest::prelude::*;

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
    for _ in 0..2 {
        assert_eq!(statistics.update(1), SequenceCheck::Copy(65_537));
    }
    assert_eq!(statistics.lost(), -1, "reports of RTCP count copies as received");
    assert_eq!(statistics.report(9).fraction_lost, 0);
    assert_eq!((statistics.total_distinct(), statistics.total_copies()), (4, 2));
    assert_eq!(statistics.total_missing(), 1, "copies hide no loss");
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
    assert_eq!((statistics.total_expected(), statistics.total_distinct()), (4, 4));
    assert_eq!((statistics.total_missing(), statistics.total_copies()), (0, 0));
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
    let mut arrival = 0_u32;
    let mut received = 0;
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
        let found = (restarts, statistics.total_distinct(), statistics.total_missing());
        assert_eq!(found, (1, 300, 0), "{first} {offset}, number {received}");
    }
}

#[test]
fn copies_and_long_gaps_are_no_new_beginning() {
    let mut statistics = ReceptionStatistics::trusted(0);
    let mut send = |sequence: u16, timestamp: u32, arrival: u32| {
        let check = statistics.update_timed(sequence, timestamp, arrival);
        let is_known = matches!(check, SequenceCheck::Valid(_) | SequenceCheck::Copy(_));
        assert!(is_known, "{sequence}: {check:?}");
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
    let mut real = 0.0_f64;
    let mut before = None;
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

#[test]
fn a_burst_that_comes_twice_at_once_is_no_new_beginning() {
    // Twelve packets in each burst, of which a path makes a copy 20 ms later.
    let mut statistics = ReceptionStatistics::trusted(0);
    for burst in 0..50_u16 {
        for copy in 0..2_u32 {
            for number in burst * 12..burst * 12 + 12 {
                let timestamp = u32::from(burst) * 9_000;
                statistics.update_timed(number, timestamp, timestamp + copy * 1_800);
            }
        }
    }
    assert_eq!((statistics.total_expected(), statistics.total_distinct()), (600, 600));
    assert_eq!((statistics.total_copies(), statistics.total_missing()), (600, 0));
}

#[test]
fn late_originals_and_late_copies_are_no_new_beginning_however_many_numbers_they_are_behind() {
    // Five hundred packets a second: 180 of them are 0.36 s.
    for (late, is_copied) in [(20..30, true), (50..52, true), (20..30, false), (50..52, false)] {
        for behind in [101_u16, 140, 180, 400].into_iter().filter(|it| !is_copied || *it < 250) {
            let held = |number: &u16| !is_copied && late.contains(number);
            let first = (0..late.start + behind).filter(|number| !held(number));
            let order = first.chain(late.clone()).chain(late.start + behind..1_000);
            let mut statistics = ReceptionStatistics::trusted(0);
            for (sent, number) in order.enumerate() {
                let check =
                    statistics.update_timed(number, u32::from(number) * 180, sent as u32 * 180);
                let is_known = matches!(check, SequenceCheck::Valid(_) | SequenceCheck::Copy(_));
                assert!(is_known, "{number}: {check:?}");
            }
            let copies = if is_copied { late.len() as u64 } else { 0 };
            assert_eq!(u64::from(statistics.total_copies()), copies);
            assert_eq!((statistics.total_distinct(), statistics.total_missing()), (1_000, 0));
        }
    }
}

#[test]
fn a_missing_number_is_received_however_late_and_slow_the_source_is() {
    // Ten packets a second by their timestamps, sent in the time that they state or all at once.
    for first in [1_000_u16, 65_500, 65_480, 65_436] {
        for (behind, gap) in
            [(64, 360), (99, 9_000), (100, 360), (120, 360), (150, 9_000), (590, 360)]
        {
            for held in [10..11, 10..14] {
                let late = 20 + behind;
                let order = (0..late).filter(|number| !held.contains(number));
                let order = order.chain(held.clone()).chain(late..700);
                let mut statistics = ReceptionStatistics::trusted(first);
                for (sent, number) in order.enumerate() {
                    let sequence = first.wrapping_add(number);
                    let timestamp = u32::from(number) * 9_000;
                    let check = statistics.update_timed(sequence, timestamp, sent as u32 * gap);
                    assert!(matches!(check, SequenceCheck::Valid(_)), "{number}: {check:?}");
                    statistics.record_transit(timestamp, sent as u32 * gap);
                }
                let found = (statistics.total_distinct(), statistics.total_missing());
                assert_eq!(found, (700, 0), "{first} {behind} {gap}");
            }
        }
    }
}

#[test]
fn late_copies_of_a_slow_source_are_copies_however_many_numbers_they_are_behind() {
    // Ten packets a second by their timestamps. A path makes copies of some, and keeps them: they
    // come at once, or in the times of their originals.
    for first in [1_000_u16, 65_480] {
        for (behind, gap, copied) in [
            (101, 9_000, 10..11),
            (101, 9_000, 10..12),
            (150, 9_000, 10..17),
            (590, 9_000, 10..14),
            (101, 90, 10..30),
            (560, 90, 10..30),
            (540, 0, 0..40),
        ] {
            let mut statistics = ReceptionStatistics::trusted(first);
            let mut judged = |number: u16, arrival: u32| {
                let sequence = first.wrapping_add(number);
                let timestamp = u32::from(number) * 9_000;
                let check = statistics.update_timed(sequence, timestamp, arrival);
                if !matches!(check, SequenceCheck::Jump | SequenceCheck::Copy(_)) {
                    statistics.record_transit(timestamp, arrival);
                }
                (check, statistics.total_distinct(), statistics.total_missing())
            };
            let now = copied.end + behind;
            for number in 0..now {
                judged(number, u32::from(number) * 9_000);
            }
            let mut arrival = u32::from(now - 1) * 9_000;
            for number in copied.clone() {
                arrival += gap;
                let (check, ..) = judged(number, arrival);
                assert!(matches!(check, SequenceCheck::Copy(_)), "{behind} {number}: {check:?}");
            }
            // The source goes on.
            for number in now..now + 50 {
                let (check, distinct, missing) = judged(number, u32::from(number) * 9_000);
                assert!(matches!(check, SequenceCheck::Valid(_)), "{behind} {number}: {check:?}");
                assert_eq!((distinct, missing), (u32::from(number) + 1, 0));
            }
            assert_eq!(statistics.total_copies(), copied.len() as u32);
        }
    }
}

/// The fate of a packet on a path: it is lost, displaced or copied; before some of them the sender
/// begins anew elsewhere.
#[derive(Clone, Debug)]
struct Fate {
    is_lost: bool,
    later: u16,
    copies: u8,
    begins_at: Option<u16>,
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate =
        (prop::bool::weighted(0.2), 0..90_u16, 0..4_u8, prop::option::weighted(0.01, 0..=u16::MAX));
    let fate = fate.prop_map(|(is_lost, later, copies, begins_at)| {
        let later = later.saturating_sub(60);
        Fate { is_lost, later, copies: copies.saturating_sub(1), begins_at }
    });
    prop::collection::vec(fate, 1..600)
}

proptest! {
    //= S1.6
    #[test]
    fn distinct_and_missing_packets_are_the_span_whatever_a_path_does(
        first in prop_oneof![0..=u16::MAX, 65_500..=u16::MAX, 0..3_u16],
        fates in fates(),
        is_timed: bool,
    ) {
        let mut arrivals = Vec::new();
        let mut sequence = first;
        let mut life = 0_u32;
        for (at, fate) in fates.iter().enumerate() {
            if let Some(begin) = fate.begins_at {
                (sequence, life) = (begin, life + 1);
            }
            let places = 0..=u32::from(fate.copies) * u32::from(!fate.is_lost);
            for copy in places.filter(|_| !fate.is_lost) {
                let place = at as u32 + u32::from(fate.later) + 7 * copy;
                arrivals.push((place, sequence, life.wrapping_mul(0x4123_4567) + at as u32 * 900));
            }
            sequence = sequence.wrapping_add(1);
        }
        arrivals.sort_by_key(|it| it.0);
        let mut statistics: Option<ReceptionStatistics> = None;
        let mut distinct = 0_u32;
        let mut copies = 0_u32;
        let mut jumps = 0_u32;
        for (place, sequence, timestamp) in arrivals {
            let known = statistics.get_or_insert_with(|| ReceptionStatistics::trusted(sequence));
            let check = if is_timed {
                known.update_timed(sequence, timestamp, place * 900)
            } else {
                known.update(sequence)
            };
            match check {
                SequenceCheck::Valid(_) => distinct += 1,
                SequenceCheck::Copy(_) => copies += 1,
                SequenceCheck::Jump => jumps += 1,
                SequenceCheck::Restart(_, before) => {
                    distinct += 1 + u32::from(before);
                    // One jump, or several copies.
                    let reclaimed = if before == 1 { &mut jumps } else { &mut copies };
                    *reclaimed -= u32::from(before);
                }
                SequenceCheck::Probation => prop_assert!(false, "it is trusted"),
            }
            if is_timed && !matches!(check, SequenceCheck::Jump | SequenceCheck::Copy(_)) {
                known.record_transit(timestamp, place * 900);
            }
            prop_assert_eq!(known.total_distinct(), distinct);
            prop_assert_eq!(known.total_copies(), copies);
            prop_assert!(known.total_expected() >= distinct, "less is expected than came");
            prop_assert_eq!(known.total_expected(), distinct + known.total_missing());
        }
    }

    #[test]
    fn without_a_new_beginning_the_account_is_that_of_a_set(
        first: u16,
        lost in prop::collection::vec(prop::bool::weighted(0.2), 2..2_000),
    ) {
        // Each packet that comes does so twice, up to twenty places later.
        let mut arrivals: Vec<(usize, usize)> = (0..lost.len())
            .filter(|at| !lost[*at])
            .flat_map(|at| [(at + at * 7 % 20, at), (at + at * 13 % 20, at)])
            .collect();
        arrivals.sort_unstable();
        let mut came: Vec<usize> = arrivals.iter().map(|it| it.1).collect();
        let mut statistics = None;
        for at in &came {
            let sequence = first.wrapping_add(*at as u16);
            let known = statistics.get_or_insert_with(|| ReceptionStatistics::trusted(sequence));
            known.update_timed(sequence, *at as u32 * 900, *at as u32 * 900);
        }
        came.sort_unstable();
        came.dedup();
        if let (Some(statistics), [low, .., high]) = (statistics, &came[..]) {
            let distinct = came.len() as u32;
            prop_assert_eq!(statistics.total_distinct(), distinct);
            prop_assert_eq!(statistics.total_copies(), distinct);
            prop_assert_eq!(statistics.total_expected(), (high - low + 1) as u32);
        }
    }
}
