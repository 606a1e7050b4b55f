//! `windfall sweep` as a user calls it.

use std::process::Output;

use crate::sim::SCENARIO;
use crate::support::Folder;

/// The files of a sweep, whose bytes must not depend on how it was run.
const FILES: [&str; 8] = [
    "out/sweep.csv",
    "out/sweep-wide.csv",
    "out/runs.csv",
    "out/sweep.parquet",
    "out/runs.parquet",
    "out/sweep.json",
    "out/runs.jsonl",
    "out/links.air-near.delivered.svg",
];

impl Folder {
    /// Runs the program in the folder on a scenario of half a second over a bad link.
    fn sweep(&self, line: &str) -> Output {
        self.write("a.toml", SCENARIO);
        let words = ["sweep", "a.toml", "--out", "out", "--chart", "links.air/near.delivered"];
        let words = [&words, line.split_whitespace().collect::<Vec<_>>().as_slice()].concat();
        self.windfall(&words).output().expect("the program")
    }

    fn swept(&self) -> Vec<Vec<u8>> {
        FILES.iter().map(|name| self.read(name)).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const VARIED: &str = "--vary link.ber=1e-6..1e-4:log3 --vary arq=none,3 --seeds 4";

#[test]
fn a_sweep_is_the_same_bytes_for_any_number_of_jobs_and_after_it_was_killed() {
    let alone = Folder::new("sweep-alone");
    let output = alone.sweep(&format!("{VARIED} --jobs 1"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.starts_with("link.ber  arq   links.air/near.delivered\n"), "{table}");
    assert_eq!(table.matches(" ± ").count(), 6, "{table}");
    let together = Folder::new("sweep-together");
    assert!(together.sweep(&format!("{VARIED} --jobs 4")).status.success());
    // Killed in the middle of a line: what was whole counts, and nothing twice.
    let killed = Folder::new("sweep-killed");
    killed.write("a.toml", SCENARIO);
    assert!(killed.sweep(&format!("{VARIED} --jobs 2")).status.success());
    let whole = killed.read("out/runs.jsonl");
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 1 + 3 * 2 * 4);
    let cut = [&lines[..9].concat(), &lines[9][..lines[9].len() / 2]].concat();
    killed.write("out/runs.jsonl", cut);
    assert!(killed.sweep(&format!("{VARIED} --jobs 2")).status.success());
    for ((name, one), (two, three)) in
        FILES.iter().zip(alone.swept()).zip(together.swept().into_iter().zip(killed.swept()))
    {
        assert!(one == two, "{name} depends on the jobs");
        assert!(one == three, "{name} depends on an interruption");
    }
    let runs = text(&alone.read("out/runs.csv"));
    assert_eq!(runs.lines().filter(|line| !line.starts_with('#')).count(), 1 + 3 * 2 * 4);
}

#[test]
fn more_seeds_run_only_what_is_missing() {
    let folder = Folder::new("sweep-more");
    assert!(folder.sweep("--vary ber=1e-5 --seeds 2").status.success());
    let before = text(&folder.read("out/runs.jsonl"));
    assert!(folder.sweep("--vary ber=1e-5,1e-4 --seeds 3").status.success());
    let after = text(&folder.read("out/runs.jsonl"));
    assert_eq!((before.lines().count(), after.lines().count()), (1 + 2, 1 + 6));
    assert!(before.lines().all(|line| after.contains(line)));
}

#[test]
fn without_variations_every_measure_has_a_row_and_a_chart_of_nothing_is_named() {
    let folder = Folder::new("sweep-alone-or-nothing");
    folder.write("a.toml", SCENARIO);
    let sweep = |line: &str, code: i32| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = folder.windfall(&words).output().expect("the program");
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (table, _) = sweep("sweep a.toml --seeds 2 --out out", 0);
    assert!(table.starts_with("measure"), "{table}");
    assert!(table.lines().filter(|line| line.starts_with("applications.")).count() > 2, "{table}");
    let (_, said) = sweep("sweep a.toml --seeds 2 --out out --chart *.dilevered", 1);
    assert!(said.contains("--chart *.dilevered: no run has such a measure"), "{said}");
    let silent = SCENARIO.split_once("[[app]]").expect("an application").0;
    folder.write("silent.toml", silent);
    let (_, said) = sweep("sweep silent.toml --seeds 1 --out out", 0);
    let expected = "no application measures anything, so nothing is shown: add [[app]], or choose";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_runs() {
    let folder = Folder::new("sweep-refused");
    for (line, said) in [
        ("--vary link.bre=1", "unknown key \"link.bre\": did you mean \"link.ber\"?"),
        ("--vary link.wire.ber=1", "there is no link \"wire\""),
        ("--vary ber=much", "\"much\" is no value of ber"),
        ("--vary ber=1e-5 --vary ber=1e-4", "ber is varied twice"),
        ("--vary seed=1,2", "--seeds"),
        ("--vary error-trace=none.trace", "with error-trace=none.trace: "),
        ("--vary link=pipe,wifi-g", "with link=wifi-g: "),
        ("--seeds 0", "--seeds"),
    ] {
        let output = folder.sweep(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).contains(said), "{line}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("out").exists(), "nothing has run");
}
