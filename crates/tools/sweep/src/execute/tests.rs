use windfall_scenario::Scenario;
use windfall_testkit::folder::Folder;

use super::*;
use crate::result::SweepResult;
use crate::values::Variation;

const SCENARIO: &str = r#"
format = 1
[[station]]
name = "near"
[[station]]
name = "far"
[[link]]
stations = ["near", "far"]
"#;

fn grid() -> Grid {
    let scenario = Scenario::parse("test.toml", SCENARIO).expect("a scenario");
    let variation = Variation::parse(&scenario, "mtu=500..1000:lin6").expect("a variation");
    Grid::new(&scenario, vec![variation], 10).expect("a grid")
}

/// Measures that depend on the scenario alone.
fn measured(run: &SweepRun) -> Measures {
    let mtu = f64::from(run.scenario.links[0].mtu());
    [("seconds".to_owned(), mtu * (1.0 + run.seed.0 as f64 / 7.0))].into()
}

type Simulate<'a> = &'a (dyn Fn(&SweepRun, &AtomicBool) -> Result<Measures, String> + Sync);

fn sweep(folder: &Folder, jobs: usize, run: Simulate<'_>) -> (Vec<RunFailure>, [String; 2], usize) {
    let grid = grid();
    let runs = grid.checked_runs("", &mut |_, _| Ok(())).expect("runs");
    let mut store = RunStore::open(folder.path()).unwrap();
    let mut last = 0;
    let mut execution = Execution {
        run,
        jobs: NonZeroUsize::new(jobs).unwrap(),
        progress: &mut |progress| last = progress.done,
        is_interrupted: &mut || false,
    };
    let failures = execute(&grid, &runs, &mut store, &mut execution).unwrap();
    store.settle().unwrap();
    let table = SweepResult::new(&grid, &runs, &store).long().to_text();
    let kept = std::fs::read_to_string(folder.path().join("runs.jsonl")).unwrap();
    (failures, [table, kept], last)
}

#[test]
fn the_result_does_not_depend_on_the_number_of_jobs() {
    let all = [1, 2, 7].map(|jobs| {
        let (failures, result, done) =
            sweep(&Folder::new("sweep"), jobs, &|run, _| Ok(measured(run)));
        assert!(failures.is_empty());
        assert_eq!(done, 60);
        result
    });
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
}

#[test]
fn runs_that_fail_end_no_other_and_are_done_again() {
    let folder = Folder::new("sweep");
    let (failures, partly, _) = sweep(&folder, 2, &|run, _| match run.seed.0 {
        3 => panic!("out of luck"),
        4 => Err("no route".to_owned()),
        _ => Ok(measured(run)),
    });
    assert_eq!(failures.len(), 12);
    assert_eq!(failures[0].run, "mtu=500, seed 3");
    assert_eq!(failures[0].message, "it panicked: out of luck");
    assert_eq!(failures[1].message, "no route");
    let again = AtomicUsize::new(0);
    let count = |run: &SweepRun, _: &AtomicBool| {
        again.fetch_add(1, Ordering::Relaxed);
        Ok(measured(run))
    };
    let (failures, whole, _) = sweep(&folder, 2, &count);
    assert!(failures.is_empty());
    assert_eq!(again.into_inner(), 12, "what had finished does not run again");
    assert_ne!(partly, whole);
    let (_, fresh, _) = sweep(&Folder::new("sweep"), 1, &|run, _| Ok(measured(run)));
    assert_eq!(whole, fresh);
}

#[test]
fn a_sweep_that_is_interrupted_keeps_what_has_finished() {
    let folder = Folder::new("sweep");
    let grid = grid();
    let runs = grid.checked_runs("", &mut |_, _| Ok(())).expect("runs");
    let mut store = RunStore::open(folder.path()).unwrap();
    let asked = std::cell::Cell::new(0);
    let mut execution = Execution {
        run: &|run, stopped| {
            if stopped.load(Ordering::Relaxed) { Err(String::new()) } else { Ok(measured(run)) }
        },
        jobs: NonZeroUsize::MIN,
        progress: &mut |_| {},
        is_interrupted: &mut || {
            asked.set(asked.get() + 1);
            asked.get() > 20
        },
    };
    let failures = execute(&grid, &runs, &mut store, &mut execution).unwrap();
    assert!(failures.is_empty());
    assert!(store.len() >= 20, "{}", store.len());
    drop(store);
    let (_, whole, _) = sweep(&folder, 2, &|run, _| Ok(measured(run)));
    let (_, fresh, _) = sweep(&Folder::new("sweep"), 2, &|run, _| Ok(measured(run)));
    assert_eq!(whole, fresh);
}
