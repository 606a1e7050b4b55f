use super::*;

#[test]
fn a_rate_step_trace_integrates_over_the_wrap() {
    let rate = Rate::from_mbps(8);
    let second = Duration::from_secs(1);
    let trace = RateTrace::from_steps([(rate, second), (None, second)]).expect("a trace");
    let mut line = Progress::new(trace);
    // 1 MB takes one second at 8 Mb/s; the line is down in each second second.
    assert_eq!(line.finish(Instant::START, false, 1_000_000), Instant::from_nanos(1_000_000_000));
    assert_eq!(
        line.finish(Instant::from_nanos(500_000_000), false, 1_000_000),
        Instant::from_nanos(2_500_000_000)
    );
}
