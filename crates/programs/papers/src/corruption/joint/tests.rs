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
    let crowd = PATHS.iter().find(|path| path.senders == 5).expect("there is one");
    let text = crowd.scenario(Control::Joint);
    let senders = ["near", "near2", "near3", "near4", "near5"];
    assert!(senders.iter().all(|name| text.contains(&format!("\nstation = \"{name}\""))), "{text}");
    assert!(text.contains("\"far\", \"near2\"") && text.matches("[[station]]").count() == 6);
}

#[test]
fn a_quick_run_tries_the_pairs_around_the_best_and_says_so() {
    let quick = Workload::new(Extent::Quick);
    assert_eq!(quick.pairs.len(), quick.paths.len());
    for (pairs, best) in quick.pairs.iter().zip(paths::BEST_OF_QUICK) {
        assert!(pairs.contains(&best) && pairs.len() < 40, "{pairs:?}");
    }
    let beside: Vec<Pair> = Pair(54, 32).and_beside().collect();
    assert_eq!(beside, [Pair(48, 32), Pair(54, 16), Pair(54, 32), Pair(54, 64)]);
    assert_eq!(quick.best(), "best of the 5 pairs tried");
    assert!(method(&quick).contains("the pair that carried most"), "{}", method(&quick));
    assert_eq!(Workload::new(Extent::Paper).best(), "best fixed pair");
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
