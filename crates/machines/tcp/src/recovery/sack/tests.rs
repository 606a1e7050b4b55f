use windfall_base::Instant;
use windfall_wire_net::tcp::SackBlock;

use super::super::tests::ECHO;
use super::*;

fn report(recovery: &mut Recovery, left: u32, right: u32) -> Reported {
    let block = SackBlock { left: Seq32(left), right: Seq32(right) };
    let flow = SendSequence { una: 1, nxt: 100_001, max: 100_001, mss: 1_000 };
    recovery.on_sack(&[block], &flow, |seq| Some(u64::from(seq.0)), &ECHO)
}

#[test]
fn a_peer_that_reports_single_bytes_costs_a_bounded_memory() {
    let mut recovery = Recovery::new(LossRecovery::Sack, true);
    let refused: u64 =
        (0..10_000).map(|n| report(&mut recovery, 2 * n + 2, 2 * n + 3).refused).sum();
    assert_eq!((recovery.sacked.len(), refused), (RANGES, 10_000 - RANGES as u64));
    // As soon as there is room, reports count again.
    recovery.sacked.remove(0..4_000);
    assert_eq!(
        report(&mut recovery, 50_000, 51_000),
        Reported { added: 1_000, ..Reported::default() }
    );
}

const FLOW: SendSequence = SendSequence { una: 1, nxt: 100_001, max: 100_001, mss: 1_000 };

/// A recovery in which these blocks were reported.
fn told(blocks: &[(u32, u32)]) -> Recovery {
    let mut recovery = Recovery::new(LossRecovery::Sack, false);
    blocks.iter().for_each(|(left, right)| _ = report(&mut recovery, *left, *right));
    recovery
}

#[test]
fn three_blocks_above_or_more_than_two_segments_tell_a_loss() {
    // RFC 6675, section 4, IsLost.
    for (blocks, below) in [
        (&[][..], 1),
        (&[(9_001, 9_101), (7_001, 7_101)], 1),
        (&[(9_001, 9_101), (7_001, 7_101), (5_001, 5_101)], 5_001),
        (&[(9_001, 9_101), (7_001, 7_101), (5_001, 5_101), (3_001, 3_101)], 5_001),
        (&[(9_001, 11_001)], 1),
        (&[(9_001, 11_002)], 9_001),
        (&[(9_001, 10_001), (7_001, 8_002)], 7_001),
    ] {
        assert_eq!(told(blocks).lost_below(&FLOW), below, "{blocks:?}");
    }
}

#[test]
fn what_is_lost_leaves_first_then_what_may_be_and_last_the_end_once() {
    // RFC 6675, section 4, NextSeg.
    let mut recovery = told(&[(5_001, 8_001), (20_001, 20_501)]);
    recovery.begin(&FLOW, 0);
    let window = 1 << 20;
    for start in [1, 1_001, 2_001, 3_001, 4_001] {
        let range = recovery.next_repair(&FLOW, window).expect("a loss");
        assert_eq!(range, start..start + 1_000);
        recovery.on_sent(Instant::START, &range, &FLOW, true);
    }
    assert_eq!(recovery.next_repair(&FLOW, window), None);
    for start in (8_001..20_001).step_by(1_000) {
        let range = recovery.next_doubtful(&FLOW, window).expect("a hole");
        assert_eq!(range, start..start + 1_000);
        recovery.on_sent(Instant::START, &range, &FLOW, true);
    }
    assert_eq!(recovery.next_doubtful(&FLOW, window), Some(99_001..100_001));
    assert_eq!(recovery.next_doubtful(&FLOW, window), None);
    // The end does not repeat what the peer has.
    let mut recovery = told(&[(5_001, 99_501)]);
    recovery.begin(&FLOW, 0);
    recovery.repaired = 5_001;
    assert_eq!(recovery.next_doubtful(&FLOW, window), Some(99_501..100_001));
    let mut recovery = told(&[(5_001, 100_001)]);
    recovery.begin(&FLOW, 0);
    recovery.repaired = 5_001;
    assert_eq!(recovery.next_doubtful(&FLOW, window), None);
}

#[test]
fn a_retransmission_needs_room_for_a_segment_in_the_window() {
    let mut recovery = told(&[(5_001, 8_001)]);
    assert_eq!(recovery.next_doubtful(&FLOW, 1 << 20), None, "nothing is being recovered");
    recovery.begin(&FLOW, 0);
    recovery.pending = None;
    // Lost are 5 000 bytes, reported 3 000: the pipe holds the other 92 000.
    assert_eq!(recovery.measure_pipe(&FLOW), 92_000);
    assert_eq!(recovery.next_repair(&FLOW, 92_999), None);
    assert_eq!(recovery.next_repair(&FLOW, 93_000), Some(1..1_001));
    recovery.on_sent(Instant::START, &(1..1_001), &FLOW, true);
    assert_eq!(recovery.measure_pipe(&FLOW), 93_000);
    assert_eq!((recovery.next_repair(&FLOW, 93_999), recovery.pipe), (None, 93_000));
}

#[test]
fn sending_from_a_position_goes_on_behind_what_the_peer_has() {
    let recovery = told(&[(5_001, 8_001)]);
    assert_eq!(
        [5_000, 5_001, 8_000, 8_001].map(|at| recovery.skip(at)),
        [5_000, 8_001, 8_001, 8_001]
    );
    assert_eq!([1, 5_000].map(|at| recovery.hole_end(at)), [Some(5_001); 2]);
    assert_eq!(recovery.hole_end(8_001), None);
}
