use super::*;

const SCENARIO: &str = r#"
format = 1
seed = 7
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
stations = ["near", "far"]
"#;

fn scenario() -> Scenario {
    Scenario::parse("test.toml", SCENARIO).expect("a scenario")
}

fn grid(variations: &[&str], seeds: usize) -> Result<Grid, SweepError> {
    let scenario = scenario();
    let parse = |text: &&str| Variation::parse(&scenario, text);
    Grid::new(&scenario, variations.iter().map(parse).collect::<Result<_, _>>()?, seeds)
}

#[test]
fn every_combination_has_every_seed() {
    let grid = grid(&["ber=1e-6,1e-5", "policy=bold,flex"], 3).unwrap();
    let names: Vec<_> = (0..4).map(|it| grid.name_of(it)).collect();
    assert_eq!(names[1], "ber=1e-6, policy=flex");
    assert_eq!(names[2], "ber=1e-5, policy=bold");
    let runs = grid.checked_runs("", &mut |_, _| Ok(())).expect("runs");
    assert_eq!(runs.len(), 12);
    assert_eq!(runs.iter().map(|it| it.seed.0).take(4).collect::<Vec<_>>(), [7, 8, 9, 7]);
    assert_eq!(runs[4].scenario.seed(), Seed(8));
}

#[test]
fn a_run_is_known_by_its_scenario_seed_and_what_it_depends_on() {
    let identities = |variations: &[&str], depends: &[u8]| -> Vec<String> {
        let grid = grid(variations, 2).unwrap();
        grid.checked_runs("", &mut |_, seen| {
            seen(depends);
            Ok(())
        })
        .expect("runs")
        .into_iter()
        .map(|it| it.identity)
        .collect()
    };
    let few = identities(&["ber=1e-5"], b"1");
    let more = identities(&["ber=1e-6,0.00001"], b"1");
    assert_eq!(few, more[2..], "spelt otherwise, it is the same run");
    assert_ne!(few, identities(&["ber=1e-5"], b"2"));
    assert_ne!(few[0], few[1]);
}

#[test]
fn what_makes_no_grid_is_refused_before_anything_runs() {
    for (variations, seeds, said) in [
        (&["ber=1e-5", "ber=1e-6"][..], 1, "ber is varied twice"),
        (
            &["mtu=68..9000:lin2000", "ber=1e-6..1e-3:log1000"],
            9,
            "more than the 1000000 of a sweep",
        ),
        (&["ber=1e-5", "range=0..9,28..100", "ber-model=x"], 1, "unknown key"),
        (&["frame-errors=1,2"], 1, "unknown key"),
        (&["kind=pipe,wifi-g", "queue=fifo", "rate=7Mbps", "delay=1ms"], 1, "with kind=wifi-g"),
    ] {
        let error = grid(variations, seeds).expect_err(said).to_string();
        assert!(error.contains(said), "{variations:?}: {error}");
    }
}

#[test]
fn seeds_beyond_the_greatest_are_refused() {
    let mut scenario = scenario();
    scenario.run.seed = Some(without_span(Seed(u64::MAX - 1)));
    assert_eq!(Grid::new(&scenario, Vec::new(), 2).expect("they fit").seeds.len(), 2);
    let error = Grid::new(&scenario, Vec::new(), 3).expect_err("one is too many").to_string();
    assert!(error.starts_with("3 seeds from 18446744073709551614 on"), "{error}");
}

#[test]
fn a_key_that_a_later_one_replaces_is_refused() {
    for (variations, hidden, by) in [
        (&["ber=1e-6", "link.ber=1e-5"][..], "ber", "link.ber"),
        (&["uplink.ber=1e-6,1e-5", "delay=1ms", "ber=0,1e-5"], "uplink.ber", "ber"),
        (&["tcp.mss=500,1000", "tcp=sack,new-reno"], "tcp.mss", "tcp"),
        (&["station.*.tcp.mss=500", "tcp.mss=300"], "station.*.tcp.mss", "tcp.mss"),
    ] {
        let said = grid(variations, 1).expect_err(hidden).to_string();
        let start = format!("{hidden} has no effect: {by}, which is set after it, replaces it");
        assert!(said.starts_with(&start), "{variations:?}: {said}");
    }
    // Those that refine an earlier one, or repeat what the scenario says, are none of these.
    for variations in [
        &["ber=1e-6,1e-5", "uplink.ber=0,1e-5"][..],
        &["tcp=sack,new-reno", "tcp.mss=500,1000"],
        &["station.near.tcp.mss=500", "station.far.tcp.mss=300"],
        &["ber=0", "uplink.ber=1e-5"],
    ] {
        assert!(grid(variations, 1).is_ok(), "{variations:?}");
    }
}

#[test]
fn a_point_that_cannot_be_built_is_named() {
    let grid = grid(&["ber=1e-6,1e-5"], 1).unwrap();
    let mut build = |scenario: &Scenario, _: &mut dyn FnMut(&[u8])| {
        let is_good = scenario.to_toml().contains("1e-6");
        if is_good { Ok(()) } else { Err("no such trace".to_owned()) }
    };
    let error = grid.checked_runs("", &mut build).unwrap_err().to_string();
    assert_eq!(error, "with ber=1e-5: no such trace");
}
