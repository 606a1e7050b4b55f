use windfall_base::Seed;
use windfall_scenario::Scenario;
use windfall_testkit::folder::Folder;

use super::*;

fn run(number: u64) -> SweepRun {
    let text = "format = 1\n[[station]]\nname = \"a\"\n";
    let scenario = Scenario::parse("test.toml", text).expect("a scenario");
    SweepRun { point: 0, seed: Seed(number), scenario, identity: format!("{number:032x}") }
}

fn measures(value: f64) -> Measures {
    [("links.a.delivered".to_owned(), value), ("third".to_owned(), 1.0 / 3.0)].into()
}

#[test]
fn a_store_without_a_folder_keeps_runs_in_memory_and_a_closed_one_leaves_its_folder() {
    let folder = Folder::new("sweep");
    let keep = |mut store: RunStore| {
        store.keep(&run(1), "ber=1e-5".to_owned(), measures(1.0)).unwrap();
        store.settle().unwrap();
        store.close();
        assert_eq!(store.get(&run(1)), Some(&measures(1.0)));
        drop(RunStore::open(folder.path()).expect("no other store holds the folder"));
    };
    keep(RunStore::default());
    assert!(RunStore::open(folder.path()).unwrap().is_empty(), "nothing was written");
    keep(RunStore::open(folder.path()).unwrap());
    assert_eq!(RunStore::open(folder.path()).unwrap().len(), 1, "what was kept in it");
}

#[test]
fn a_run_is_kept_and_counted_once() {
    let folder = Folder::new("sweep");
    let mut store = RunStore::open(folder.path()).unwrap();
    assert!(store.is_empty());
    for value in [1.0, 2.0] {
        store.keep(&run(1), "ber=1e-5".to_owned(), measures(value)).unwrap();
    }
    drop(store);
    let store = RunStore::open(folder.path()).unwrap();
    assert_eq!(store.len(), 1);
    assert_eq!(store.get(&run(1)), Some(&measures(1.0)), "the very same numbers");
    assert_eq!(store.get(&run(2)), None);
}

#[test]
fn a_line_that_was_cut_is_run_again() {
    let folder = Folder::new("sweep");
    let mut store = RunStore::open(folder.path()).unwrap();
    for number in [1, 2] {
        store.keep(&run(number), String::new(), measures(1.0)).unwrap();
    }
    drop(store);
    let path = folder.path().join(RUNS);
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let mut store = RunStore::open(folder.path()).unwrap();
        for number in [1, 2] {
            store.keep(&run(number), String::new(), measures(1.0)).unwrap();
        }
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn the_file_does_not_tell_which_run_ended_first() {
    let of_order = |order: [u64; 3]| {
        let folder = Folder::new("sweep");
        let mut store = RunStore::open(folder.path()).unwrap();
        for number in order {
            store.keep(&run(number), String::new(), measures(number as f64)).unwrap();
        }
        store.settle().unwrap();
        store.keep(&run(9), String::new(), measures(9.0)).unwrap();
        fs::read(folder.path().join(RUNS)).unwrap()
    };
    assert_eq!(of_order([1, 2, 3]), of_order([3, 1, 2]));
}

#[test]
fn a_folder_that_cannot_be_used_is_refused() {
    let folder = Folder::new("sweep");
    let held = RunStore::open(folder.path()).unwrap();
    let error = RunStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("another sweep writes here"), "{error}");
    drop(held);
    fs::write(folder.path().join(RUNS), "a,b\n1,2\n").unwrap();
    let error = RunStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("line 1 is not of a sweep"), "{error}");
    fs::write(folder.path().join(RUNS), format!("{FORMAT}\n{{\"run\":3}}\n")).unwrap();
    let error = RunStore::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("line 2 is no finished run"), "{error}");
    let error = RunStore::open(&folder.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("choose another with --out"), "{error}");
}
