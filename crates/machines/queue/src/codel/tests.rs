use super::*;

const WAIT: Duration = Duration::from_millis(6);
/// Bytes behind a packet, of which there are more than one.
const BEHIND: usize = 10_000;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_micros(us)
}

/// Judges a packet that leaves each `step`, in microseconds, after `wait`, and returns the times of
/// drops.
fn drops(codel: &mut Codel, from: u64, until: u64, step: usize, wait: Duration) -> Vec<u64> {
    (from..until).step_by(step).filter(|us| codel.judge(at(*us), wait, BEHIND)).collect()
}

#[test]
fn drops_begin_after_an_interval_and_come_closer_by_the_square_root() {
    let mut codel = Codel::new(CodelConfig::USUAL);
    let drops = drops(&mut codel, 0, 400_000, 1_000, WAIT);
    // By the RFC's law, from the first drop at 100 ms on: the next one is set from the last one's
    // own time, and falls on the packet that leaves then or is the next to.
    let mut expected = vec![100_000.0_f64];
    let mut next = 200_000.0_f64;
    for count in 2_u32.. {
        if next > 399_000.0 {
            break;
        }
        expected.push((next / 1_000.0).ceil() * 1_000.0);
        next += 100_000.0 / f64::from(count).sqrt();
    }
    let drops: Vec<f64> = drops.into_iter().map(|us| us as f64).collect();
    assert_eq!(drops, expected);
}

#[test]
fn a_short_wait_or_a_short_queue_ends_the_drops() {
    for (wait, behind) in [(Duration::from_millis(4), BEHIND), (WAIT, LONGEST_PACKET)] {
        let mut codel = Codel::new(CodelConfig::USUAL);
        assert_eq!(drops(&mut codel, 0, 150_000, 1_000, WAIT), [100_000]);
        assert!(!codel.judge(at(150_000), wait, behind));
        // It takes an interval of long waits until the next one.
        assert_eq!(drops(&mut codel, 151_000, 252_000, 1_000, WAIT), [251_000]);
    }
}

#[test]
fn a_phase_soon_after_another_goes_on_at_its_pace() {
    let mut codel = Codel::new(CodelConfig::USUAL);
    let first = drops(&mut codel, 0, 1_000_000, 1_000, WAIT);
    assert!(first.len() > 10, "{first:?}");
    assert!(!codel.judge(at(1_000_000), Duration::ZERO, BEHIND));
    let soon = drops(&mut codel, 1_001_000, 1_400_000, 1_000, WAIT);
    let gap = soon[1] - soon[0];
    assert!(gap < 50_000, "as the last phase ended, not 100 ms: {soon:?}");
}

#[test]
fn an_empty_queue_forgets_how_long_packets_waited() {
    let mut codel = Codel::new(CodelConfig::USUAL);
    assert!(drops(&mut codel, 0, 99_000, 1_000, WAIT).is_empty());
    codel.run_empty();
    assert!(drops(&mut codel, 99_000, 199_000, 1_000, WAIT).is_empty());
}
