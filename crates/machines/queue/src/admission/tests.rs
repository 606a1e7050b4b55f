use super::*;

fn kbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000).expect("above zero")
}

fn ask(rate: u64, power_factor: f64) -> Reservation {
    Reservation { rate: kbps(rate), power_factor }
}

//= S3.33
#[test]
fn reservations_are_admitted_until_the_link_is_full() {
    let mut admission = Admission::new(false);
    assert_eq!(admission.admit(kbps(800), ask(400, 1.0)), Ok(0.5));
    assert_eq!(admission.admit(kbps(800), ask(400, 1.0)), Ok(0.5));
    let refusal = admission.admit(kbps(800), ask(8, 1.0)).unwrap_err();
    assert!(matches!(refusal, Refusal::Rate { .. }));
    assert!(refusal.to_string().contains("1 % of the 800kbps link, and 0 % is left"), "{refusal}");
}

//= S3.33
#[test]
fn what_polls_take_cannot_be_reserved() {
    let mut admission = Admission::new(false).without(0.4);
    assert!(admission.admit(kbps(800), ask(640, 1.0)).is_err());
    let refusal = admission.admit(kbps(800), ask(400, 1.5)).unwrap_err();
    assert!(refusal.to_string().contains("115 %"), "{refusal}");
    assert_eq!(admission.admit(kbps(800), ask(400, 1.2)), Ok(0.5));
    let refusal = admission.admit(kbps(800), ask(160, 1.0)).unwrap_err();
    assert!(refusal.to_string().contains("10 % is left"), "{refusal}");
    assert!(!admission.is_overcommitted());
    let mut forced = Admission::new(true).without(0.4);
    forced.admit(kbps(800), ask(640, 1.0)).unwrap();
    assert!(forced.is_overcommitted());
}

//= S3.46
#[test]
fn figure_11_overcommits_by_its_own_parameters() {
    let flows = [ask(8, 3.0), ask(352, 2.23)];
    let mut strict = Admission::new(false);
    strict.admit(kbps(800), flows[0]).unwrap();
    let refusal = strict.admit(kbps(800), flows[1]).unwrap_err();
    assert!(refusal.to_string().contains("101.12 %"), "{refusal}");
    // What was refused leaves no trace.
    assert!((strict.reserved() - 0.01).abs() < 1e-12);

    let mut lenient = Admission::new(true);
    for flow in flows {
        lenient.admit(kbps(800), flow).unwrap();
    }
    assert!((lenient.worst_case() - 1.0112).abs() < 1e-9 && lenient.is_overcommitted());
}

#[test]
fn power_factors_below_one_are_refused() {
    let mut admission = Admission::new(true);
    for power in [0.99, 0.0, -1.0, f64::NAN] {
        assert!(
            matches!(admission.admit(kbps(800), ask(8, power)), Err(Refusal::PowerFactor(_))),
            "{power}"
        );
    }
}

//= S3.35
#[test]
fn the_class_table_is_the_papers() {
    let power = |rate| FlowClass::of(rate).power_factor();
    assert_eq!(power(Some(kbps(8))), 3.0);
    assert_eq!(power(Some(kbps(64))), 3.0);
    assert_eq!(power(Some(kbps(350))), 1.5);
    assert_eq!(power(None), 1.2);
    assert_eq!(power_factor_for(0.5), Some(2.0));
    assert_eq!(power_factor_for(1.0), None);
}

//= S3.33
#[test]
fn a_link_is_overcommitted_by_more_than_all_of_it() {
    assert!(!is_overcommitted(0.0));
    assert!(!is_overcommitted(1.0));
    // Ten tenths add up to a little less or more than one.
    assert!(!is_overcommitted(1.0 + 1e-12));
    assert!(is_overcommitted(1.000_001));

    let mut admission = Admission::new(true);
    assert!(!admission.is_overcommitted());
    admission.admit(kbps(800), ask(400, 2.0)).unwrap();
    assert!(!admission.is_overcommitted());
    admission.admit(kbps(800), ask(1, 1.0)).unwrap();
    assert!(admission.is_overcommitted());
    assert!((admission.reserved() - 401.0 / 800.0).abs() < 1e-12);
}

#[test]
fn a_refusal_says_what_was_asked_and_what_is_left() {
    let mut admission = Admission::new(false);
    admission.admit(kbps(800), ask(300, 1.5)).unwrap();
    let refusal = admission.admit(kbps(800), ask(600, 1.0)).unwrap_err();
    let text = "reserving 600kbps would take 75 % of the 800kbps link, and 62.5 % is left: \
                reserve less, or say overcommit";
    assert_eq!(refusal.to_string(), text);
    let refusal = admission.admit(kbps(800), ask(400, 2.0)).unwrap_err();
    let text = "reserving 400kbps at power factor 2 would bring the worst case to 156.25 % of \
                the link: lower the rate or the power factor, or say overcommit";
    assert_eq!(refusal.to_string(), text);
    // What is exactly left is admitted.
    assert_eq!(admission.admit(kbps(800), ask(350, 1.0)), Ok(0.4375));
}
