use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn every_fate_is_reported_even_if_two_reports_in_a_row_are_lost(
        start: u32,
        steps in prop::collection::vec((0_u32..200, any::<bool>(), any::<bool>()), 1..60),
    ) {
        let mut history = History::new(false);
        history.end = Seq32(start);
        history.reported = [Seq32(start); 3];
        let mut truth = Vec::new();
        let mut lost_reports = 0;
        let mut known = 0;
        for (skip, arrives, report) in steps {
            truth.resize(truth.len() + skip as usize, false);
            let order = Seq32(start) + truth.len() as u32;
            prop_assert!(history.hear(order));
            if arrives {
                history.arrive(order);
            }
            truth.push(arrives);
            if !report {
                continue;
            }
            loop {
                let (first, fates, _, more) = history.report();
                let first = first.distance_from(Seq32(start)) as usize;
                let fates: Vec<_> = fates.iter().collect();
                prop_assert_eq!(&fates[..], &truth[first..first + fates.len()]);
                // A run of small reports overlaps; a backlog is reported piece by piece.
                lost_reports = if more || lost_reports == 2 { 0 } else { lost_reports + 1 };
                if more || lost_reports == 0 {
                    prop_assert!(first <= known || truth.len() - known >= ACK_MAX_COUNT);
                    known = first + fates.len();
                }
                if !more {
                    break;
                }
            }
        }
    }

    #[test]
    fn any_number_is_heard_without_panic(orders in prop::collection::vec(any::<u32>(), 0..50)) {
        let mut history = History::new(false);
        for order in orders {
            let _ = history.hear(Seq32(order));
            history.arrive(Seq32(order));
            let _ = history.report();
        }
    }
}

#[test]
fn what_is_too_far_ahead_is_not_of_our_peer() {
    let mut history = History::new(false);
    assert!(!history.hear(Seq32(FARTHEST as u32)));
    assert_eq!(history.end, Seq32(0), "it changes nothing");
    assert!(history.hear(Seq32(FARTHEST as u32 - 1)));
    assert_eq!(history.end, Seq32(FARTHEST as u32));
}

#[test]
fn what_is_kept_is_told_beside_what_arrived_and_not_after_it_was_skipped() {
    let mut history = History::new(true);
    for n in 0..6 {
        assert!(history.hear(Seq32(n)));
    }
    history.arrive(Seq32(1));
    [0, 4].into_iter().for_each(|n| history.keep(Seq32(n)));
    let (first, arrived, kept, more) = history.report();
    assert_eq!((first, more), (Seq32(0), false));
    assert_eq!(arrived.iter().collect::<Vec<_>>(), [false, true, false, false, false, false]);
    let kept = kept.expect("it is told").iter().collect::<Vec<_>>();
    assert_eq!(kept, [true, false, false, false, true, false]);
    // The place of an old transmission is that of a new one.
    assert!(history.hear(Seq32(4_096)));
    let (first, kept) = loop {
        let (first, _, kept, more) = history.report();
        if !more {
            break (first, kept.expect("it is told"));
        }
    };
    assert_eq!(kept.iter().nth((4_096 - first.0) as usize), Some(false));
}
