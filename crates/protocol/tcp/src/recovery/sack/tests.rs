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
