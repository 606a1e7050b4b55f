use super::*;

#[test]
fn a_pair_is_what_the_scenario_says() {
    let path = &PATHS[paths::QUICK[1]];
    let text = path.scenario(Control::Fixed(Pair(12, 16)));
    assert!(text.contains("rate = \"12Mbps\"\npolicy = \"parity-16\""), "{text}");
    let walk = PATHS.iter().find(|path| path.moves()).expect("there is one");
    for control in [Control::Joint, Control::Minstrel, Control::Fixed(Pair(6, 0))] {
        let both = [path, walk].map(|path| path.scenario(control));
        let is_joint = matches!(control, Control::Joint);
        assert!(both.iter().all(|text| text.contains("policy = \"joint\"") == is_joint));
    }
    assert_eq!(Pair::all().count(), 40);
}

//= S0.66
#[test]
fn the_verdicts_are_those_on_record_and_others_without_reports() {
    let run = |is_mutated| {
        let context = Context { is_mutated, ..Context::simulated(Extent::Quick, Seed(1)) };
        FIGURE.run(&context).unwrap()
    };
    let measured = run(false);
    assert!(measured.is_as_recorded(), "{}", measured.to_text());
    assert_eq!(measured.tables[0].1.rows().len(), paths::QUICK.len());
    let mutated = run(true);
    assert!(!mutated.is_as_recorded(), "{}", mutated.to_text());
}
