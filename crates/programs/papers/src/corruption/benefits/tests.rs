use super::*;

//= S4.31
#[test]
fn each_benefit_remains_with_the_careful_reaction() {
    let context = || Context::simulated(Extent::Quick, Seed(1));
    let finding = FIGURE.run(&context()).unwrap();
    assert_eq!(finding.claims.len(), 6);
    assert!(finding.is_as_recorded(), "{}", finding.claims_table().to_text());
    let deaf = FIGURE.run(&Context { is_mutated: true, ..context() }).unwrap();
    assert!(!deaf.is_as_recorded(), "{}", deaf.claims_table().to_text());
}

#[test]
fn nothing_is_gained_where_nothing_is_damaged() {
    let undamaged = |wire: Wire, _: &mut Stream| {
        let mut wire = wire;
        let began = wire.now;
        wire.send(NEAR, 10 * SEGMENT);
        wire.run_until(Duration::from_secs(1), |wire| wire.arrived(FAR) == 10 * SEGMENT);
        Some(milliseconds(wire.now.saturating_since(began)))
    };
    let all = |notify| measure_all("S4.31", notify, "undamaged", undamaged, Seed(1), 3).unwrap();
    assert_eq!(all("on"), [10.0; 3]);
    assert_eq!(all("off"), [10.0; 3]);
}
