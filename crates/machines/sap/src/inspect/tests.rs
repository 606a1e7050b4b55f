use bytes::Bytes;

use super::*;

fn message(number: u32, suspect: &[Range<usize>]) -> Received {
    let integrity = match suspect {
        [] => Integrity::Intact,
        ranges => Integrity::Suspect(ranges.to_vec()),
    };
    let kind = MessageKind::Approximate;
    let data = Bytes::from(vec![number as u8; 1024]);
    Received { stream: 0, kind, number, data, exact: Vec::new(), integrity, missing: Vec::new() }
}

fn repair(number: u32, ranges: &[Range<usize>]) -> Received {
    let len = ranges.iter().map(Range::len).sum();
    let kind = MessageKind::Repair;
    let data = Bytes::from(vec![0xee; len]);
    Received { kind, data, exact: ranges.to_vec(), ..message(number, &[]) }
}

fn numbers(inspector: &mut Inspector) -> Vec<u32> {
    std::iter::from_fn(|| inspector.pop()).map(|received| received.number).collect()
}

fn tolerant(bit_errors: f64, in_order: bool) -> Inspector {
    let mut inspector = Inspector::default();
    let tolerance = Tolerance { bit_errors, loss: true, in_order, protected: 0 };
    inspector.set_tolerance(Some(tolerance));
    inspector
}

//= S1.67
#[test]
fn a_tolerance_chooses_coverage_and_retransmission() {
    let tolerance = Tolerance { bit_errors: 1e-2, loss: true, in_order: true, protected: 4 };
    assert_eq!(tolerance.mode(100), Mode::Approximate { protected: 4 });
    assert_eq!(
        Tolerance { bit_errors: 0.0, ..tolerance }.mode(100),
        Mode::Approximate { protected: 100 }
    );
    assert_eq!(Tolerance { loss: false, ..tolerance }.mode(100), Mode::Precise);
    assert_eq!(Tolerance::NONE.mode(100), Mode::Precise);
    for wrong in [-1.0, 0.6, f64::NAN] {
        let tolerance = Tolerance { bit_errors: wrong, ..tolerance };
        assert_eq!(tolerance.validated(), Err(SapSendError::Tolerance), "{wrong}");
    }
}

//= S1.67
#[test]
fn damage_beyond_the_tolerance_is_repaired_and_blocks_later_messages() {
    let mut inspector = tolerant(1e-4, true);
    let second = 256..512;
    let first = 0..256;
    let bad = std::slice::from_ref(&second);
    let asked = inspector.push(message(0, bad)).expect("a block of four");
    assert_eq!((asked.number, &asked.ranges[..]), (0, bad));
    assert_eq!(inspector.push(message(1, &[])), None);
    assert_eq!(inspector.pop(), None, "the first one comes first");
    assert_eq!(inspector.push(repair(0, bad)), None);
    let mended = inspector.pop().expect("it is whole");
    assert_eq!(
        (mended.integrity, &mended.data[255..258]),
        (Integrity::Intact, &[0, 0xee, 0xee][..])
    );
    assert_eq!(numbers(&mut inspector), [1]);
    // After many whole blocks one bad one is within the tolerance.
    (2..40).for_each(|number| assert_eq!(inspector.push(message(number, &[])), None));
    assert_eq!(inspector.push(message(40, &[first])), None);
    assert_eq!(numbers(&mut inspector), Vec::from_iter(2..=40));
}

#[test]
fn a_repair_without_ranges_releases_its_message() {
    let mut inspector = tolerant(0.0, true);
    let bad = 0..256;
    assert!(inspector.push(message(0, &[bad])).is_some());
    assert_eq!(inspector.push(repair(0, &[])), None);
    assert!(matches!(inspector.pop().expect("as it came").integrity, Integrity::Suspect(_)));
}

#[test]
fn a_repair_that_the_application_requested_itself_leaves_the_message_as_it_came() {
    let mut inspector = tolerant(0.1, false);
    assert_eq!(inspector.push(message(3, &[])), None);
    let first = 0..1;
    assert_eq!(inspector.push(repair(3, &[first])), None);
    let popped: Vec<_> = std::iter::from_fn(|| inspector.pop()).collect();
    let found: Vec<_> = popped.iter().map(|it| (it.kind, it.data[0])).collect();
    assert_eq!(found, [(MessageKind::Approximate, 3), (MessageKind::Repair, 0xee)]);
}

#[test]
fn without_further_repairs_waiting_messages_are_delivered() {
    let mut inspector = tolerant(0.0, true);
    let bad = 0..256;
    inspector.push(message(0, &[bad]));
    inspector.push(message(1, &[]));
    assert!(!inspector.is_ready() && !inspector.is_empty());
    inspector.give_up();
    assert!(inspector.is_ready());
    assert_eq!(numbers(&mut inspector), [0, 1]);
    assert!(inspector.is_empty());
}

#[test]
fn late_messages_are_dropped_if_order_is_required() {
    for (in_order, expected) in [(true, &[0, 2, 3][..]), (false, &[0, 2, 1, 3])] {
        let mut inspector = tolerant(0.1, in_order);
        for number in [0, 2, 1, 3] {
            inspector.push(message(number, &[]));
        }
        assert_eq!(numbers(&mut inspector), expected);
        assert_eq!(inspector.discarded(), u64::from(in_order));
    }
}

#[test]
fn a_missing_repair_blocks_a_bounded_number_of_messages() {
    let mut inspector = tolerant(0.0, true);
    let bad = 0..256;
    inspector.push(message(0, &[bad]));
    (1..=WAITING as u32).for_each(|number| drop(inspector.push(message(number, &[]))));
    assert_eq!(numbers(&mut inspector).len(), WAITING + 1);
}

//= S0.26
#[test]
fn an_application_check_decides() {
    // Values that move by at most ten from one message to the next.
    let mut last = None;
    let mut inspector = Inspector::default();
    inspector.set_check(Some(Box::new(move |received| {
        let value = received.data[0];
        let whole = 0..1;
        match last {
            Some(last) if value.abs_diff(last) > 100 => Decision::Discard,
            Some(last) if value.abs_diff(last) > 10 => Decision::Repair(vec![whole]),
            _ => {
                last = Some(value);
                Decision::Accept
            }
        }
    })));
    let requests: Vec<_> =
        [1, 5, 200, 40, 9].map(|number| inspector.push(message(number, &[]))).to_vec();
    assert_eq!(requests.iter().flatten().map(|it| it.number).collect::<Vec<_>>(), [40]);
    assert_eq!(numbers(&mut inspector), [1, 5, 9]);
    // The repaired byte is 0xee, which the check rejects.
    let whole = 0..1;
    inspector.push(repair(40, &[whole]));
    assert_eq!((numbers(&mut inspector), inspector.discarded()), (vec![], 2));
}

#[test]
fn the_estimate_is_the_rate_that_damages_so_many_blocks() {
    for rate in [1e-4, 5e-4, 1e-3_f64] {
        let damaged = 1.0 - (1.0 - rate).powi(8 * BLOCK as i32);
        let bad = (damaged * WINDOW as f64).round() as usize;
        let estimate = Estimate((0..WINDOW).map(|block| block < bad).collect()).bit_errors();
        // Half a block of so few is up to a twentieth.
        assert!((estimate / rate - 1.0).abs() < 0.05, "{rate}: {estimate}");
    }
    let intact = Estimate(vec![false; WINDOW].into());
    assert_eq!(intact.bit_errors(), 0.0);
}
