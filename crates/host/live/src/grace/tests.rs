use super::*;

const LOOK: Duration = Duration::from_millis(5);
const SPAN: Duration = Duration::from_secs(1);
const BOUND: Duration = Duration::from_secs(10);

fn one(state: char, ran: Option<u64>) -> Programs {
    Programs { threads: BTreeMap::from([(7, Thread { state, ran })]) }
}

/// After how many milliseconds the patience with programs ends that do this at each look.
fn ends(step: Duration, mut programs: impl FnMut(u64) -> Programs) -> u128 {
    let began = Duration::from_secs(100);
    let mut patience = GracePeriod::new(began, SPAN, BOUND);
    let mut now = began;
    for look in 1.. {
        now += step;
        if patience.is_over(now, programs(look)) {
            break;
        }
    }
    (now - began).as_millis()
}

#[test]
fn a_program_that_could_run_has_one_second() {
    assert_eq!(ends(LOOK, |_| Programs::default()), 1000, "none is there any more");
    assert_eq!(ends(LOOK, |_| one('S', Some(3))), 1000, "it sleeps");
    assert_eq!(ends(LOOK, |look| one('R', Some(look))), 1000, "it runs all the time");
    assert_eq!(ends(LOOK, |_| one('T', Some(3))), 1000, "it is stopped");
}

#[test]
fn time_without_a_processor_or_a_disk_does_not_count() {
    // Ready to run for 3 s before it gets a processor.
    let starved = |look| if look <= 600 { one('R', Some(0)) } else { one('S', Some(1)) };
    assert_eq!(ends(LOOK, starved), 4000);
    let paged = |look| if look <= 600 { one('D', Some(1)) } else { one('S', Some(1)) };
    assert_eq!(ends(LOOK, paged), 4000);
    // One look in two finds it waiting.
    assert_eq!(ends(LOOK, |look| one('R', Some(look / 2))), 2000);
    // Whoever looks only every 100 ms has no processor either.
    assert_eq!(ends(LOOK * 20, |_| one('S', None)), 5000);
}

#[test]
fn after_the_bound_nothing_is_awaited() {
    assert_eq!(ends(LOOK, |_| one('D', None)), 10_000);
    assert_eq!(ends(LOOK, |_| one('R', None)), 10_000);
}

#[test]
fn the_kernel_says_what_threads_do() {
    assert_eq!(state("7 (a) S) R 1 7"), Some('R'));
    assert_eq!(state("7 (a"), None);
    let own = threads_of(std::process::id());
    assert!(own.iter().any(|(_, thread)| thread.state == 'R'), "this thread runs: {own:?}");
    // Here another process is process 1, and whatever /proc shows is none of ours.
    assert_eq!(Programs::read(), Programs::default());
}
