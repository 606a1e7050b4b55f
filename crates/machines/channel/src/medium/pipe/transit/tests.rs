use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn at(us: u64) -> Instant {
    Instant::START + Duration::from_micros(us)
}

fn transit(config: &PathConfig) -> Transit {
    Transit::new(config, Seed(5), "pipe")
}

fn slotted(slots: &str) -> PathConfig {
    PathConfig { slot: Some(slots.parse().expect("slots")), ..PathConfig::default() }
}

/// When frames of 1000 bytes leave that come at these times, in microseconds.
fn left(transit: &mut Transit, came: &[u64]) -> Vec<u64> {
    let left = came.iter().map(|us| transit.next(at(*us), at(*us), 1000).0);
    left.map(|left| (left - Instant::START).as_nanos() / 1000).collect()
}

#[test]
fn frames_behind_the_end_of_slots_overtake_none_that_waits_for_one() {
    let mut before = transit(&slotted("50ms"));
    assert_eq!(left(&mut before, &[0, 1_000, 2_000]), [0, 51_000, 51_000]);
    let mut after = transit(&PathConfig::default()).behind(&before);
    assert_eq!(left(&mut after, &[3_000, 4_000, 60_000]), [51_000, 51_000, 60_000]);
}

#[test]
fn frames_behind_the_end_of_reordering_overtake_none_before_it() {
    let late = PathConfig {
        delay: Duration::from_millis(40),
        reorder: Some("0".parse().expect("a reordering")),
        ..PathConfig::default()
    };
    let mut before = transit(&late);
    assert_eq!(left(&mut before, &[0, 1_000]), [40_000, 41_000]);
    let mut after = transit(&PathConfig::default()).behind(&before);
    assert_eq!(left(&mut after, &[2_000, 50_000]), [41_000, 50_000]);
}

#[test]
fn copies_hold_up_nothing_and_keep_behind_what_left_before() {
    let jitter = Some("5ms".parse().expect("a jitter"));
    let delay = Duration::from_millis(20);
    let plain = PathConfig { delay, jitter, ..PathConfig::default() };
    let duplicate = Some("30%".parse().expect("a chance"));
    let [mut plain, mut copied] =
        [plain.clone(), PathConfig { duplicate, ..plain }].map(|config| transit(&config));
    let mut copies = 0;
    let mut latest = Instant::START;
    for number in 0..1_000 {
        let came = at(number * 1_000);
        let (alone, none) = plain.next(came, came, 1_000);
        let (original, copy) = copied.next(came, came, 1_000);
        assert_eq!((alone, none), (original, None), "frame {number}");
        latest = latest.max(original);
        copies += usize::from(copy.is_some());
        assert!(copy.is_none_or(|copy| copy >= latest), "{copy:?} before {latest:?}");
    }
    assert!((200..400).contains(&copies), "{copies}");
}

proptest! {
    /// Whatever a path becomes, frames that keep their order arrive behind all before them.
    #[test]
    fn order_is_kept_over_every_change(
        stages in vec((
            prop_oneof![Just(None), Just(Some("3ms 9ms packets 2")), Just(Some("20ms"))],
            prop_oneof![Just(None), Just(Some("2ms 50% normal"))],
            0_u64..30_000,
            any::<bool>(),
            vec(0_u64..4_000, 0..12),
        ), 1..6),
    ) {
        let mut now = 0;
        let mut latest = Instant::START;
        let mut before = transit(&PathConfig::default());
        for (slots, jitter, delay, reorders, gaps) in stages {
            let config = PathConfig {
                slot: slots.map(|text| text.parse().expect("slots")),
                jitter: jitter.map(|text| text.parse().expect("a jitter")),
                reorder: reorders.then(|| "30%".parse().expect("a reordering")),
                delay: Duration::from_micros(delay),
                ..PathConfig::default()
            };
            let mut path = transit(&config).behind(&before);
            for gap in gaps {
                now += gap;
                let (left, _) = path.next(at(now), at(now), 1000);
                prop_assert!(left >= at(now));
                prop_assert!(reorders || left >= latest, "{left:?} after {latest:?}");
                latest = latest.max(left);
            }
            before = path;
        }
    }
}
