use windfall_base::seq::Seq32;
use windfall_wire_net::tcp::SackBlock;

use super::*;

const MSS: u64 = 1_000;
pub(super) const ECHO: Echo = Echo { now: Instant::START, age: None, least: None };

/// Returns a sender with ten segments in flight from `una`.
fn flow(una: u64) -> SendSequence {
    SendSequence { una, nxt: una + 10 * MSS, max: una + 10 * MSS, mss: MSS }
}

/// Returns the one of six duplicates at which recovery begins.
fn begins(recovery: &mut Recovery, flow: &SendSequence) -> Vec<usize> {
    (1..=6).filter(|_| recovery.on_duplicate(flow)).collect()
}

#[test]
fn the_third_duplicate_begins_a_recovery() {
    for repair in [LossRecovery::Net3, LossRecovery::NewReno] {
        let mut recovery = Recovery::new(repair, false);
        let flow = flow(0);
        assert_eq!([(); 3].map(|()| recovery.on_duplicate(&flow)), [false, false, true]);
        recovery.begin(&flow, 0);
        assert!(recovery.is_active());
        assert_eq!(recovery.next_repair(&flow, 10 * MSS), Some(0..MSS));
        assert_eq!(recovery.inflation(), 3 * MSS);
        // Each further duplicate says that a segment has left the network.
        assert!(!recovery.on_duplicate(&flow));
        assert_eq!(recovery.inflation(), 4 * MSS);
    }
}

#[test]
fn duplicates_that_a_timeout_caused_begin_none() {
    // RFC 6582, section 3.2, step 2: what was sent before the timeout may come back as duplicates.
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    recovery.on_timeout(Instant::START, &flow(0), None, true);
    for una in [0, 5 * MSS, 10 * MSS] {
        assert_eq!(begins(&mut recovery, &flow(una)), [0; 0], "{una}");
        assert_eq!(recovery.on_progress(MSS, &flow(una), &ECHO), RecoveryProgress::Normal);
    }
    // All of that is behind, so these are of a new loss.
    assert_eq!(begins(&mut recovery, &flow(11 * MSS)), [3, 4, 5, 6]);
}

#[test]
fn net3_counts_to_three_once() {
    let mut recovery = Recovery::new(LossRecovery::Net3, false);
    assert_eq!(begins(&mut recovery, &flow(0)), [3]);
}

#[test]
fn new_reno_ends_when_everything_sent_before_the_loss_is_acknowledged() {
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    assert_eq!(begins(&mut recovery, &flow(0)).first(), Some(&3));
    recovery.begin(&flow(0), 0);
    assert_eq!(recovery.next_repair(&flow(0), 20 * MSS), Some(0..MSS));
    let partial = SendSequence { una: 4 * MSS, ..flow(0) };
    assert_eq!(recovery.on_progress(4 * MSS, &partial, &ECHO), RecoveryProgress::Partial);
    assert_eq!(recovery.next_repair(&partial, 20 * MSS), Some(4 * MSS..5 * MSS));
    assert_eq!(recovery.next_repair(&partial, 20 * MSS), None);
    let whole = SendSequence { una: 10 * MSS, ..flow(0) };
    assert_eq!(recovery.on_progress(6 * MSS, &whole, &ECHO), RecoveryProgress::Complete);
    assert_eq!((recovery.is_active(), recovery.inflation()), (false, 0));
    assert!(recovery.is_quiet());
}

#[test]
fn the_first_partial_acknowledgment_alone_starts_the_timer_anew() {
    // RFC 6582, section 3.2, step 3: the impatient variant.
    for (repair, keeps) in [(LossRecovery::NewReno, true), (LossRecovery::Sack, false)] {
        let mut recovery = Recovery::new(repair, false);
        assert!(!recovery.keeps_timer());
        recovery.begin(&flow(0), 0);
        assert!(!recovery.keeps_timer());
        let partial = |una| SendSequence { una, ..flow(0) };
        recovery.on_progress(2 * MSS, &partial(2 * MSS), &ECHO);
        assert!(!recovery.keeps_timer(), "{repair:?}");
        recovery.on_progress(2 * MSS, &partial(4 * MSS), &ECHO);
        assert_eq!(recovery.keeps_timer(), keeps, "{repair:?}");
        recovery.on_progress(6 * MSS, &partial(10 * MSS), &ECHO);
        assert!(!recovery.keeps_timer(), "it is over");
    }
}

/// Reports these blocks to a sender that waits for position 1 000 and has sent up to 11 000.
fn report(blocks: &[(u32, u32)]) -> sack::Reported {
    let block = |&(left, right): &(u32, u32)| SackBlock { left: Seq32(left), right: Seq32(right) };
    let blocks: Vec<SackBlock> = blocks.iter().map(block).collect();
    let mut recovery = Recovery::new(LossRecovery::Sack, false);
    recovery.on_sack(&blocks, &flow(1_000), |seq| Some(u64::from(seq.0)), &ECHO)
}

#[test]
fn a_first_block_that_is_acknowledged_or_inside_the_second_reports_a_duplicate() {
    // RFC 2883, section 4.
    for (blocks, duplicate, added) in [
        (&[(500, 900)][..], true, 0),
        (&[(5_200, 5_400), (5_000, 6_000)], true, 1_000),
        (&[(5_000, 6_000), (5_000, 6_000)], true, 1_000),
        (&[(5_000, 6_000)], false, 1_000),
        (&[(5_000, 6_000), (8_000, 9_000)], false, 2_000),
        (&[(8_000, 9_000), (5_000, 6_000)], false, 2_000),
        (&[(5_000, 6_000), (5_200, 5_400)], false, 1_000),
        (&[(5_000, 6_000), (8_000, 9_000), (4_000, 7_000)], false, 4_000),
    ] {
        let reported = report(blocks);
        assert_eq!(reported.duplicate.is_some(), duplicate, "{blocks:?}");
        assert_eq!((reported.added, reported.refused), (added, 0), "{blocks:?}");
    }
}

#[test]
fn a_block_that_cannot_be_or_is_acknowledged_in_part_reports_no_duplicate() {
    // Turned around, empty, beyond what was sent, or across the acknowledged.
    for block in [(900, 500), (500, 500), (500, 11_001), (500, 1_001), (900, 5_000)] {
        for others in [&[][..], &[(5_000, 6_000)], &[(600, 500)]] {
            let blocks = [&[block][..], others].concat();
            assert_eq!(report(&blocks).duplicate, None, "{blocks:?}");
        }
    }
    assert_eq!(report(&[(500, 1_000), (600, 500)]).duplicate, Some(500..1_000));
}

#[test]
fn blocks_that_cannot_be_are_refused() {
    for block in [(6_000, 5_000), (5_000, 5_000), (5_000, 11_001), (12_000, 13_000)] {
        let reported = report(&[block, (2_000, 3_000)]);
        assert_eq!((reported.added, reported.refused), (1_000, 1), "{block:?}");
    }
    assert_eq!(report(&[(10_000, 11_000)]).added, 1_000);
}

#[test]
fn what_is_reported_does_not_count_as_in_flight_once_sending_starts_over() {
    let block = |left, right| SackBlock { left: Seq32(left), right: Seq32(right) };
    let sent = flow(0);
    for limited_transmit in [false, true] {
        let mut recovery = Recovery::new(LossRecovery::Sack, limited_transmit);
        assert_eq!(recovery.in_flight(&sent), 10_000);
        recovery.on_sack(&[block(5_000, 7_000)], &sent, |seq| Some(u64::from(seq.0)), &ECHO);
        let told = if limited_transmit { 8_000 } else { 10_000 };
        assert_eq!(recovery.in_flight(&sent), told, "{limited_transmit}");
        // After a timeout, with 6 000 bytes retransmitted: one of those was reported.
        let again = SendSequence { nxt: 6_000, ..sent };
        assert_eq!(recovery.in_flight(&again), 5_000, "{limited_transmit}");
    }
}

#[test]
fn beyond_where_sending_starts_over_nothing_counts_as_in_flight() {
    let sent = flow(1);
    let mut recovery = modelled();
    told(&mut recovery, &sent, 5_001, 7_001);
    assert_eq!(recovery.in_flight(&sent), 8_000);
    // Six segments have left again, of which one was reported.
    let again = SendSequence { nxt: 6_001, ..sent };
    assert_eq!(recovery.in_flight(&again), 5_000);
}

/// Reports that the peer has `left..right`.
fn told(recovery: &mut Recovery, flow: &SendSequence, left: u32, right: u32) {
    let block = SackBlock { left: Seq32(left), right: Seq32(right) };
    recovery.on_sack(&[block], flow, |seq| Some(u64::from(seq.0)), &ECHO);
}

#[test]
fn each_hint_at_a_loss_ends_the_quiet() {
    //= S2.6
    let quiet = |hint: fn(&mut Recovery)| {
        let mut recovery = Recovery::new(LossRecovery::Sack, false);
        hint(&mut recovery);
        recovery.is_quiet()
    };
    assert!(quiet(|_| {}));
    assert!(!quiet(|recovery| assert!(!recovery.on_duplicate(&flow(0)))));
    assert!(!quiet(|recovery| recovery.pending = Some(0)));
    assert!(!quiet(|recovery| told(recovery, &flow(0), 5_000, 6_000)));
    assert!(!quiet(|recovery| {
        recovery.begin(&flow(0), 0);
        assert_eq!(recovery.next_repair(&flow(0), 0), Some(0..MSS));
    }));
}

#[test]
fn duplicates_are_counted_until_something_new_is_acknowledged() {
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    let counts = [(); 3].map(|()| {
        let _ = recovery.on_duplicate(&flow(0));
        recovery.duplicates
    });
    assert_eq!(counts, [1, 2, 3]);
    recovery.on_progress(MSS, &flow(MSS), &ECHO);
    assert_eq!(recovery.duplicates, 0);
}

#[test]
fn the_first_two_duplicates_alone_let_new_data_through() {
    // RFC 3042, and the third where a timeout keeps it from beginning a recovery.
    let mut recovery = Recovery::new(LossRecovery::NewReno, true);
    recovery.on_timeout(Instant::START, &flow(0), None, true);
    let inflation = [(); 3].map(|()| {
        assert!(!recovery.on_duplicate(&flow(0)));
        recovery.inflation()
    });
    assert_eq!(inflation, [MSS, 2 * MSS, 2 * MSS]);
}

#[test]
fn a_pending_segment_leaves_once_and_ends_before_what_has_arrived() {
    let sent = flow(0);
    let repair = |at, block: Option<(u32, u32)>| {
        let mut recovery = Recovery::new(LossRecovery::Sack, false);
        block.into_iter().for_each(|(left, right)| told(&mut recovery, &sent, left, right));
        recovery.pending = Some(at);
        let repair = recovery.next_repair(&sent, 20 * MSS);
        assert_eq!(recovery.next_repair(&sent, 20 * MSS), None);
        repair
    };
    assert_eq!(repair(3 * MSS, None), Some(3 * MSS..4 * MSS));
    assert_eq!(repair(3 * MSS, Some((3_400, 5_000))), Some(3_000..3_400));
    // At least one byte, or nothing would come of it.
    assert_eq!(repair(3 * MSS, Some((3_000, 5_000))), Some(3_000..3_001));
    assert_eq!(repair(9_500, None), Some(9_500..10_000));
    assert_eq!(repair(10 * MSS, None), None);
}

#[test]
fn what_is_sent_is_in_the_pipe_and_only_repairs_count_as_repaired() {
    // RFC 6675, section 4 and 5: five segments of ten have arrived, two are missing below them.
    let sent = flow(0);
    let mut recovery = Recovery::new(LossRecovery::Sack, false);
    told(&mut recovery, &sent, 1_000, 2_000);
    told(&mut recovery, &sent, 3_000, 7_000);
    recovery.begin(&sent, 0);
    assert_eq!(recovery.next_repair(&sent, 20 * MSS), Some(0..MSS));
    let before = recovery.in_flight(&sent);
    recovery.on_sent(Instant::START, &(0..MSS), &sent, true);
    recovery.on_sent(Instant::START, &(10 * MSS..11 * MSS), &sent, false);
    assert_eq!(recovery.in_flight(&sent), before + 2 * MSS);
    assert_eq!(recovery.next_repair(&sent, 20 * MSS), Some(2 * MSS..3 * MSS));
}

#[test]
fn duplicates_inflate_the_window_by_no_more_than_was_in_flight() {
    // RFC 5681, section 3.2, step 4: otherwise a peer opens the window by sending acknowledgments.
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    assert_eq!(begins(&mut recovery, &flow(0)).first(), Some(&3));
    recovery.begin(&flow(0), 0);
    (0..50).for_each(|_| assert!(!recovery.on_duplicate(&flow(0))));
    assert_eq!(recovery.inflation(), 10 * MSS);
    // What was sent meanwhile may cause duplicates once there is progress.
    let partial = SendSequence { una: 2 * MSS, nxt: 15 * MSS, max: 15 * MSS, mss: MSS };
    assert_eq!(recovery.on_progress(2 * MSS, &partial, &ECHO), RecoveryProgress::Partial);
    (0..50).for_each(|_| assert!(!recovery.on_duplicate(&partial)));
    assert_eq!(recovery.inflation(), 13 * MSS);
}

#[test]
fn the_tail_is_probed_only_where_nothing_else_will_find_its_loss() {
    // RFC 8985, section 7.2: no probe out, nothing lost, no hole reported, no recovery.
    let sent = flow(0);
    let begin = || {
        let mut recovery = Recovery::new(LossRecovery::Sack, true);
        recovery.use_time(true, false);
        let before = SendSequence { nxt: 0, max: 0, ..sent };
        recovery.on_sent(Instant::START, &(0..10 * MSS), &before, false);
        recovery
    };
    let may_probe = |change: &dyn Fn(&mut Recovery)| {
        let mut recovery = begin();
        change(&mut recovery);
        recovery.may_probe(&sent)
    };
    assert!(may_probe(&|_| {}));
    assert!(!Recovery::new(LossRecovery::Sack, true).may_probe(&sent), "nothing noticed by time");
    assert!(!may_probe(&|recovery| recovery.on_probe(&(9 * MSS..10 * MSS), true)));
    assert!(!may_probe(&|recovery| told(recovery, &sent, 5_000, 6_000)));
    assert!(!may_probe(&|recovery| recovery.begin(&sent, 5 * MSS)));
    assert!(!may_probe(&|recovery| {
        recovery.on_timeout(Instant::START, &sent, None, true);
        recovery.forget_losses();
    }));
    // What was sent before the timeout has arrived.
    let mut recovery = begin();
    recovery.on_timeout(Instant::START, &sent, None, true);
    recovery.forget_losses();
    assert!(recovery.may_probe(&flow(10 * MSS + 1)));
}

/// Returns a sender that models the path and has sent ten segments from 1 on, one a millisecond.
fn modelled() -> Recovery {
    let mut recovery = Recovery::new(LossRecovery::Sack, true);
    recovery.use_time(false, true);
    for n in 0..10 {
        leave(&mut recovery, n, n);
    }
    recovery
}

/// The segment with this number leaves at that millisecond, after as many as have left in order.
fn leave(recovery: &mut Recovery, n: u64, ms: u64) {
    let max = if n < 10 { 1 + n * MSS } else { 1 + 10 * MSS };
    let flow = SendSequence { una: 1, nxt: max, max, mss: MSS };
    recovery.on_sent(after(ms), &(1 + n * MSS..1 + (n + 1) * MSS), &flow, false);
}

fn after(ms: u64) -> Instant {
    Instant::START.saturating_add(Duration::from_millis(ms))
}

/// An acknowledgment at that millisecond reports these segments.
fn arrive(recovery: &mut Recovery, flow: &SendSequence, ms: u64, numbers: Range<u64>) {
    let [left, right] = [numbers.start, numbers.end].map(|n| Seq32((1 + n * MSS) as u32));
    let echo = Echo { now: after(ms), ..ECHO };
    recovery.on_sack(&[SackBlock { left, right }], flow, |seq| Some(u64::from(seq.0)), &echo);
}

/// Undoes a reduction that proved spurious; returns whether a timeout had caused it.
fn spurious_by_timeout(recovery: &mut Recovery, flow: &SendSequence) -> Option<bool> {
    recovery.take_spurious(flow).map(|it| it.by_timeout)
}

#[test]
fn losses_that_prove_to_be_none_leave_the_account_of_the_model() {
    let mut recovery = modelled();
    let begun = flow(1);
    arrive(&mut recovery, &begun, 50, 4..9);
    assert!(recovery.judge(after(50), &begun, None).begins);
    recovery.begin(&begun, 0);
    assert_eq!(recovery.take_marked().iter().map(|loss| loss.len).sum::<u64>(), 4 * MSS);
    for n in 0..4 {
        recovery.on_sent(after(51), &(1 + n * MSS..1 + (n + 1) * MSS), &begun, true);
    }
    // This leaves while they seem lost.
    leave(&mut recovery, 10, 52);
    recovery.explain(1..1 + 4 * MSS);
    let more = SendSequence { nxt: 1 + 11 * MSS, max: 1 + 11 * MSS, ..begun };
    assert_eq!(spurious_by_timeout(&mut recovery, &more), Some(false));
    arrive(&mut recovery, &more, 100, 10..11);
    let (sample, totals) = recovery.take_rate(after(100), None).unwrap();
    assert_eq!((totals.lost, sample.then.lost), (0, 0));
}

#[test]
fn a_reduction_was_without_need_if_all_that_seemed_lost_arrived_damaged() {
    let segment = |n: u64| 1 + n * MSS..1 + (n + 1) * MSS;
    // Two segments seem lost; one or both leave again before the reports of damage come.
    for repeated in [1, 2] {
        let mut recovery = modelled();
        let begun = flow(1);
        arrive(&mut recovery, &begun, 50, 2..9);
        assert!(recovery.judge(after(50), &begun, None).begins);
        recovery.begin(&begun, 0);
        (0..repeated).for_each(|n| recovery.on_sent(after(51), &segment(n), &begun, true));
        recovery.explain_damage(segment(0));
        assert_eq!(spurious_by_timeout(&mut recovery, &begun), None, "{repeated}");
        recovery.explain_damage(segment(1));
        assert_eq!(spurious_by_timeout(&mut recovery, &begun), Some(false), "{repeated}");
    }
}

#[test]
fn what_overtakes_others_does_not_tell_the_round_trip_of_the_path() {
    let mut recovery = modelled();
    let begun = flow(1);
    arrive(&mut recovery, &begun, 10, 8..9);
    let (sample, _) = recovery.take_rate(after(10), None).unwrap();
    assert_eq!(sample.round_trip, None);
    // What it overtook is lost by now, so that the next one comes in its turn.
    assert!(recovery.judge(after(100), &begun, None).again_at.is_none());
    arrive(&mut recovery, &begun, 49, 9..10);
    let (sample, _) = recovery.take_rate(after(49), None).unwrap();
    assert_eq!(sample.round_trip, Some(Duration::from_millis(40)));
}

#[test]
fn a_byte_left_when_its_own_segment_left_last() {
    let mut recovery = modelled();
    for (position, ms) in [(1, 0), (MSS, 0), (1 + MSS, 1), (4 * MSS, 3), (1 + 4 * MSS, 4)] {
        assert_eq!(recovery.left_at(position), Some(after(ms)), "{position}");
    }
    assert_eq!(recovery.left_at(1 + 10 * MSS), None, "it has not left yet");
    recovery.on_sent(after(60), &(1 + 4 * MSS..1 + 5 * MSS), &flow(1), true);
    let times = [4 * MSS, 1 + 4 * MSS, 5 * MSS, 1 + 5 * MSS].map(|at| recovery.left_at(at));
    assert_eq!(times, [3, 60, 60, 5].map(|ms| Some(after(ms))));
}

#[test]
fn a_partial_acknowledgment_deflates_the_window_and_gives_a_segment_back() {
    // RFC 6582, section 3.2, step 3: only where it acknowledges at least one segment.
    for (acked, inflation) in
        [(2 * MSS, 2 * MSS), (MSS, 3 * MSS), (MSS - 1, 2 * MSS + 1), (5 * MSS, MSS)]
    {
        let mut recovery = Recovery::new(LossRecovery::NewReno, false);
        recovery.begin(&flow(0), 0);
        assert_eq!((recovery.inflation(), recovery.window(7 * MSS)), (3 * MSS, 10 * MSS));
        let partial = SendSequence { una: acked, ..flow(0) };
        assert_eq!(recovery.on_progress(acked, &partial, &ECHO), RecoveryProgress::Partial);
        assert_eq!(recovery.inflation(), inflation, "{acked}");
    }
    // Three duplicates stand for no more than was in flight.
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    let short = SendSequence { una: 0, nxt: 2 * MSS, max: 2 * MSS, mss: MSS };
    recovery.begin(&short, 0);
    assert_eq!(recovery.inflation(), 2 * MSS);
}

#[test]
fn what_was_reported_is_known_to_the_byte() {
    let mut recovery = Recovery::new(LossRecovery::Sack, false);
    assert!(!recovery.is_reported(5_000..7_000));
    assert_eq!(recovery.reported_below(u64::MAX), 0);
    told(&mut recovery, &flow(0), 5_000, 7_000);
    assert!(recovery.is_reported(5_000..7_000) && recovery.is_reported(5_500..6_000));
    assert!(!recovery.is_reported(4_999..7_000) && !recovery.is_reported(5_000..7_001));
    let below = [5_000, 5_001, 6_000, 7_000, 9_000].map(|at| recovery.reported_below(at));
    assert_eq!(below, [0, 1, 1_000, 2_000, 2_000]);
}

#[test]
fn the_answer_to_a_probe_tells_whether_it_has_repaired_a_loss() {
    // RFC 8985, section 7.4.2.
    const END: u64 = 1 + 10 * MSS;
    let answers = |repeated: bool, (ack, reported, bare): (u64, bool, bool)| {
        let mut recovery = modelled();
        assert_eq!(recovery.answer_probe(END, true, true), ProbeAnswer::None, "there is none");
        recovery.on_probe(&(END - MSS..END), repeated);
        let answer = recovery.answer_probe(ack, reported, bare);
        // It is awaited until it is answered.
        assert_eq!(recovery.may_probe(&flow(1)), answer != ProbeAnswer::None);
        answer
    };
    assert_eq!(answers(true, (END - 1, true, true)), ProbeAnswer::None);
    assert_eq!(answers(true, (END, true, false)), ProbeAnswer::Intact, "a D-SACK");
    assert_eq!(answers(true, (END, false, true)), ProbeAnswer::Intact, "a duplicate");
    assert_eq!(answers(true, (END, false, false)), ProbeAnswer::None);
    assert_eq!(answers(true, (END + 1, false, false)), ProbeAnswer::Repaired);
    assert_eq!(answers(true, (END + 1, true, false)), ProbeAnswer::Intact);
    assert_eq!(answers(false, (END, false, false)), ProbeAnswer::Intact, "it carried new data");
}

#[test]
fn what_seems_lost_has_an_extent_and_shrinks_as_it_leaves_again() {
    let begun = flow(1);
    let mut recovery = modelled();
    assert_eq!(recovery.lost_extent(&begun), 1..2, "nothing seems lost");
    assert_eq!(recovery.lost_and_repeated(&begun), (0, 0));
    arrive(&mut recovery, &begun, 50, 4..9);
    assert!(recovery.judge(after(50), &begun, None).found);
    assert_eq!(recovery.lost_extent(&begun), 1..1 + 4 * MSS);
    assert_eq!(recovery.lost_and_repeated(&begun), (4 * MSS, 0));
    let within = |recovery: &Recovery, ranges: &[Range<u64>]| {
        recovery.is_lost_within(ranges.iter().cloned())
    };
    assert!(within(&recovery, &[0..3_000, 3_000..5_000]));
    assert!(!within(&recovery, &[0..3_000, 3_001..5_000]) && !within(&recovery, &[]));
    recovery.begin(&begun, 0);
    recovery.on_sent(after(51), &(1..1 + MSS), &begun, true);
    assert_eq!(recovery.lost_extent(&begun), 1 + MSS..1 + 4 * MSS);
    assert_eq!(recovery.lost_and_repeated(&begun), (3 * MSS, MSS));
    // What is acknowledged in part was repeated in part.
    let partial = SendSequence { una: 401, ..begun };
    assert_eq!(recovery.lost_and_repeated(&partial), (3 * MSS, 600));
    recovery.forget_losses();
    assert!(within(&recovery, &[]));
}

/// As [`arrive`], where the least round trip so far was 40 ms.
fn arrive_over_40_ms(recovery: &mut Recovery, ms: u64, numbers: Range<u64>) {
    let [left, right] = [numbers.start, numbers.end].map(|n| Seq32((1 + n * MSS) as u32));
    let least = Some(Duration::from_millis(40));
    let echo = Echo { now: after(ms), least, ..ECHO };
    recovery.on_sack(&[SackBlock { left, right }], &flow(1), |seq| Some(u64::from(seq.0)), &echo);
}

#[test]
fn what_left_before_something_that_arrived_is_lost_after_a_round_trip_and_a_quarter() {
    // RFC 8985, section 6.2, step 5.
    let mut recovery = modelled();
    arrive_over_40_ms(&mut recovery, 49, 9..10);
    for ms in [49, 50, 51] {
        let judged = recovery.judge(after(ms), &flow(1), None);
        assert_eq!(judged.again_at, Some(after(ms.max(49) + 1)), "{ms}");
        assert_eq!((judged.found, judged.begins), (ms > 49, ms > 49), "{ms}");
        assert_eq!(recovery.lost_and_repeated(&flow(1)).0, (ms - 49) * MSS);
    }
    assert_eq!(recovery.judge(after(58), &flow(1), None).again_at, None);
    assert_eq!(recovery.lost_extent(&flow(1)), 1..1 + 9 * MSS);
}

#[test]
fn a_reordering_window_that_grew_returns_after_sixteen_recoveries() {
    // RFC 8985, section 6.2, step 4.
    for (recoveries, window) in [(0, 20), (15, 20), (16, 10)] {
        let mut recovery = modelled();
        recovery.on_duplicate_reported(&(1..1 + MSS), &flow(1));
        (0..recoveries).for_each(|_| recovery.note_recovered());
        arrive_over_40_ms(&mut recovery, 49, 9..10);
        let judged = recovery.judge(after(49), &flow(1), None);
        assert_eq!(judged.again_at, Some(after(40 + window)), "{recoveries}");
    }
}

#[test]
fn a_repeated_last_segment_keeps_no_later_loss_from_being_detected() {
    // RFC 8985, section 7.3: a tail loss probe repeats the last segment.
    let mut recovery = modelled();
    recovery.on_sent(after(60), &(1 + 9 * MSS..1 + 10 * MSS), &flow(1), false);
    let mut more = flow(1);
    for n in 10..14 {
        recovery.on_sent(after(60 + n), &(more.max..more.max + MSS), &more, false);
        (more.max, more.nxt) = (more.max + MSS, more.max + MSS);
    }
    arrive(&mut recovery, &more, 120, 13..14);
    assert!(recovery.judge(after(200), &more, None).found);
    assert_eq!(recovery.lost_extent(&more), 1..1 + 13 * MSS);
}

#[test]
fn nothing_is_waited_for_where_more_than_two_segments_were_reported() {
    // RFC 8985, section 6.2, step 4: in place of the three duplicates of RFC 5681.
    let mut recovery = modelled();
    arrive_over_40_ms(&mut recovery, 45, 8..10);
    assert!(!recovery.judge(after(45), &flow(1), None).found, "two segments");
    let mut recovery = modelled();
    arrive_over_40_ms(&mut recovery, 49, 7..10);
    let judged = recovery.judge(after(49), &flow(1), None);
    assert!(judged.begins && judged.again_at.is_none());
    assert_eq!(recovery.lost_extent(&flow(1)), 1..1 + 7 * MSS);
}

#[test]
fn an_echo_is_older_than_what_left_after_its_timestamp() {
    // RFC 3522, section 3.2, in milliseconds.
    let is_older = |age| rack::is_older(&Echo { now: after(100), age, least: None }, after(40));
    assert_eq!([None, Some(59), Some(60), Some(61)].map(is_older), [false, false, false, true]);
}

#[test]
fn the_rate_is_what_was_delivered_over_the_longer_of_sending_and_arriving() {
    // draft-ietf-ccwg-bbr, section 4.1.2.
    let mut recovery = modelled();
    let rate = |recovery: &mut Recovery, ms, number, least| {
        arrive(recovery, &flow(1), ms, number..number + 1);
        recovery.take_rate(after(ms), least).expect("a sample")
    };
    let (sample, totals) = rate(&mut recovery, 40, 0, None);
    assert!((sample.rate - 1_000.0 / 0.040).abs() < 1e-6, "{sample:?}");
    assert_eq!((sample.newly_delivered, sample.round_trip), (MSS, Some(Duration::from_millis(40))));
    assert_eq!((sample.then.in_flight, sample.then.is_app_limited), (MSS, true));
    assert_eq!((totals.delivered, totals.lost), (MSS, 0));
    let (sample, totals) = rate(&mut recovery, 41, 1, None);
    assert!((sample.rate - 2_000.0 / 0.041).abs() < 1e-6, "{sample:?}");
    assert_eq!((sample.then.in_flight, totals.delivered), (2 * MSS, 2 * MSS));
    // What took less than the least round trip tells no rate.
    let (sample, _) = rate(&mut recovery, 42, 2, Some(Duration::from_millis(43)));
    assert!(sample.rate == 0.0);
    let (sample, _) = rate(&mut recovery, 43, 3, Some(Duration::from_millis(43)));
    assert!((sample.rate - 4_000.0 / 0.043).abs() < 1e-6, "{sample:?}");
    // Without anything new there is no sample.
    assert!(recovery.take_rate(after(44), None).is_none());
}

#[test]
fn each_copy_of_a_segment_is_explained_by_a_report_of_its_own() {
    // RFC 3708: as many duplicates as retransmissions.
    let sent = flow(1);
    let segment = 1..1 + MSS;
    for by_echo in [false, true] {
        let mut recovery = Recovery::new(LossRecovery::Sack, false);
        recovery.on_timeout(after(100), &sent, None, true);
        recovery.on_sent(after(100), &segment, &sent, false);
        recovery.on_timeout(after(300), &sent, None, false);
        recovery.on_sent(after(300), &segment, &sent, false);
        let whole = SendSequence { una: sent.max, ..sent };
        if by_echo {
            // It answers what left before the first retransmission.
            let echo = Echo { now: after(400), age: Some(350), least: None };
            recovery.on_progress(10 * MSS, &whole, &echo);
        } else {
            recovery.on_progress(10 * MSS, &whole, &ECHO);
            recovery.explain(segment.clone());
            assert_eq!(recovery.take_spurious(&whole), None);
            recovery.explain(1 + MSS..1 + 2 * MSS);
            assert_eq!(recovery.take_spurious(&whole), None, "that was sent once");
            recovery.explain(1..1 + MSS / 2);
            recovery.explain(1 + MSS / 2..1 + MSS);
        }
        let spurious = recovery.take_spurious(&whole).unwrap();
        assert!(spurious.by_timeout && spurious.reductions == 2);
    }
}

#[test]
fn a_spurious_timeout_ends_no_repair_of_an_earlier_one() {
    // The first timeout is right, or there is none but the spurious one.
    for in_repair in [false, true] {
        let mut sent = flow(1);
        let mut recovery = Recovery::new(LossRecovery::NewReno, false);
        if in_repair {
            recovery.on_timeout(after(100), &sent, None, true);
            sent = SendSequence { una: 1 + 2 * MSS, nxt: 1 + 4 * MSS, ..sent };
            recovery.on_progress(2 * MSS, &sent, &ECHO);
        }
        recovery.on_timeout(after(300), &sent, None, true);
        recovery.on_sent(after(300), &(sent.una..sent.una + MSS), &sent, false);
        let later = SendSequence { una: 1 + 4 * MSS, ..sent };
        // It answers what left before the last timeout.
        let echo = Echo { now: after(400), age: Some(200), least: None };
        recovery.on_progress(later.una - sent.una, &later, &echo);
        let spurious = recovery.take_spurious(&later);
        let expected = undo::Spurious { by_timeout: true, snd_nxt: sent.nxt, reductions: 1 };
        assert_eq!(spurious, Some(expected));
        assert_eq!(recovery.repairs_timeout(&later), in_repair);
    }
}

/// Returns a sender without SACK whose first timeout has repeated the first segment.
fn timed_out(flow: &SendSequence) -> Recovery {
    let mut recovery = Recovery::new(LossRecovery::NewReno, false);
    assert!(recovery.may_begin_basic_frto(flow));
    recovery.on_timeout(after(100), flow, None, true);
    recovery.begin_basic_frto();
    assert!(!recovery.is_quiet());
    recovery.on_sent(after(100), &(flow.una..flow.una + MSS), flow, false);
    recovery
}

/// The verdict of an acknowledgment that `advanced` or is a duplicate, and of another one that
/// advances.
fn verdicts(recovery: &mut Recovery, una: u64, advanced: bool) -> [TimeoutVerdict; 2] {
    let flow = SendSequence { una, ..flow(1) };
    let first = recovery.judge_timeout(&flow, advanced, !advanced, true);
    let more = SendSequence { una: una + MSS, ..flow };
    [first, recovery.judge_timeout(&more, true, false, true)]
}

#[test]
fn a_timeout_is_spurious_if_two_acknowledgments_advance_and_one_segment_was_repeated() {
    // RFC 5682, section 2.1.
    use TimeoutVerdict::{None, Spurious};
    let judged = |una, advanced| verdicts(&mut timed_out(&flow(1)), una, advanced);
    assert_eq!(judged(1 + MSS, true), [None, Spurious]);
    assert_eq!(judged(1, false), [None, None], "a duplicate");
    assert_eq!(judged(MSS, true), [None, None], "only a part of what was repeated");
    assert_eq!(judged(1 + 10 * MSS, true), [None, None], "everything");
    let mut recovery = timed_out(&flow(1));
    recovery.on_sent(after(101), &(1 + MSS..1 + 2 * MSS), &flow(1), false);
    assert_eq!(verdicts(&mut recovery, 1 + MSS, true), [None, None], "two segments were repeated");
    let mut recovery = timed_out(&flow(1));
    assert!(!recovery.may_begin_basic_frto(&flow(1)), "a second timeout");
    recovery.begin(&flow(1), 0);
    assert!(!recovery.may_begin_basic_frto(&flow(1)), "in a recovery");
}

#[test]
fn new_data_leave_before_anything_else_is_repeated_after_a_timeout() {
    // RFC 5682, section 2.1, steps 2b and 3.
    let next = SendSequence { una: 1 + MSS, ..flow(1) };
    let sent = |n| SendSequence { max: next.max + n * MSS, ..next };
    let trial = || {
        let mut recovery = timed_out(&flow(1));
        assert!(!recovery.tries_new_data(&flow(1)));
        recovery.judge_timeout(&next, true, false, true);
        recovery
    };
    let verdict = |recovery: &mut Recovery, advanced: bool| {
        recovery.judge_timeout(&next, advanced, !advanced, true)
    };
    let mut recovery = trial();
    let tries = [0, 1, 2].map(|n| recovery.tries_new_data(&sent(n)));
    assert_eq!(tries, [true, true, false], "two leave");
    recovery.end_basic_trial(&sent(1));
    assert_eq!(verdict(&mut recovery, false), TimeoutVerdict::Right, "a duplicate");
    let mut recovery = trial();
    recovery.end_basic_trial(&next);
    assert_eq!(verdict(&mut recovery, false), TimeoutVerdict::None, "there were none");
    let mut recovery = trial();
    recovery.on_sent(after(200), &(1 + MSS..1 + 2 * MSS), &next, true);
    assert_eq!(verdict(&mut recovery, true), TimeoutVerdict::Right, "more was repeated");
}
