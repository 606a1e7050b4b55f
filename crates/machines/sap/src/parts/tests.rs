use super::*;
use crate::message::MessageKind;

fn part(data: &[u8], exact: &[Range<usize>], integrity: Integrity) -> Received {
    Received {
        stream: 1,
        kind: MessageKind::Approximate,
        number: 2,
        data: data.to_vec().into(),
        exact: exact.to_vec(),
        integrity,
        missing: Vec::new(),
    }
}

#[test]
fn the_parts_of_a_message_tell_what_is_known_of_it() {
    let mut assembly = Assembly::new(40, Instant::START);
    let suspect = Integrity::Suspect(vec![4..8, 8..9]);
    for (offset, received) in [
        (30, part(&[3; 10], &[], Integrity::Unknown)),
        (0, part(&[1; 10], &[0..4, 4..10], Integrity::Intact)),
        (10, part(&[2; 10], &[0..3, 9..10], suspect)),
    ] {
        assembly.add(Instant::START, offset, received);
    }
    assert!(!assembly.is_complete() && assembly.parts() == 3);
    // Three parts, and zeros in place of what is missing.
    assert_eq!(assembly.charge(None, 8), BEGUN + 3 * weight(10) + 10);
    assert_eq!(assembly.charge(Some(10), 8), BEGUN + 4 * weight(10));
    assert!(assembly.overlaps(19, 5) && !assembly.overlaps(20, 10));
    let message = assembly.finish().expect("something arrived");
    let hole = 20..30;
    assert_eq!(message.data, [&[1; 10][..], &[2; 10], &[0; 10], &[3; 10]].concat());
    assert_eq!((&message.exact[..], &message.missing[..]), (&[0..13, 19..20][..], &[hole][..]));
    assert_eq!(message.integrity, Integrity::Suspect(vec![14..19, 30..40]));
}

#[test]
fn the_patience_covers_what_came_late_for_many_messages() {
    let ms = Duration::from_millis;
    let mut rhythm = Rhythm::default();
    (0..100).for_each(|_| rhythm.learn(ms(1)));
    assert_eq!(rhythm.patience(ms(20)), LEAST);
    assert_eq!(rhythm.patience(ms(400)), ms(500));
    rhythm.observe_disorder(ms(300));
    assert_eq!(rhythm.patience(ms(20)), ms(375));
    (0..100).for_each(|_| rhythm.learn(ms(1)));
    assert!(rhythm.patience(ms(20)) > ms(330), "it fades");
    (0..10_000).for_each(|_| rhythm.learn(ms(1)));
    assert_eq!(rhythm.patience(ms(20)), LEAST);
    rhythm.observe_disorder(ms(60_000));
    assert_eq!(rhythm.patience(ms(20)), MOST);
}

#[test]
fn the_patience_covers_four_times_the_mean_time_between_parts() {
    let ms = Duration::from_millis;
    let mut rhythm = Rhythm::default();
    assert_eq!(rhythm.patience(ms(20)), ms(400));
    // A moving average of 100 ms at first, with weight 1/8.
    rhythm.learn(ms(260));
    assert_eq!(rhythm.patience(ms(20)), ms(4 * 120));
    rhythm.learn(ms(40));
    assert_eq!(rhythm.patience(ms(20)), ms(4 * 110));
}

#[test]
fn much_is_not_delivered_for_little() {
    let mut assembly = Assembly::new(1_000, Instant::START);
    assembly.add(Instant::START, 0, part(&[1; 124], &[], Integrity::Unknown));
    assert!(!assembly.is_deliverable(8));
    assert_eq!(assembly.charge(None, 8), BEGUN + weight(124));
    assert_eq!(assembly.charge(Some(1), 8), BEGUN + weight(124) + weight(1) + 875);
    assembly.add(Instant::START, 500, part(&[1; 1], &[], Integrity::Unknown));
    assert!(assembly.is_deliverable(8) && !assembly.is_deliverable(7));
}
