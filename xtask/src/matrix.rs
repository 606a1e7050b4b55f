//! Which requirement is implemented where, tested where, and shown by which figure.
//!
//! Marks of the form `//= S3.8` stand above the code that implements a requirement and above the
//! tests that touch it. A requirement counts as tested only if a test or a judged claim asserts
//! what it is accepted by: `docs/requirements.tsv` lists the ids, and in its last column
//!
//! - `test NAME, …`: the tests that assert it, each in a file with a mark of the requirement;
//! - `claim FIGURE, …`: the figures whose claims judge it;
//! - `construction: …`: why it follows from what was put in;
//! - `part: …`: what is not asserted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use crate::rust;
use crate::workspace::{File, Workspace};

const REQUIREMENTS: &str = "docs/requirements.tsv";
const PAGE: &str = "docs/measurements/matrix.md";

/// The places of the marks of one requirement.
#[derive(Debug, Default)]
struct Marks {
    implemented: BTreeSet<String>,
    tested: BTreeSet<String>,
    figure: BTreeSet<String>,
}

/// A row of the list: id, kind, title, and what shows that it is accepted.
type Row<'a> = [&'a str; 4];

/// The evidence that a requirement is accepted.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    /// Tests of these names.
    Tests(Vec<&'a str>),
    /// The claims of these figures.
    Claims(Vec<&'a str>),
    /// It follows from what was put in.
    Construction,
    /// Only in part.
    Part,
    /// There is no evidence.
    Not,
}

impl<'a> Shown<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let list = |names: &'a str| names.split(", ").collect();
        match text.split_once(' ') {
            None if text.is_empty() => Some(Self::Not),
            Some(("test", names)) => Some(Self::Tests(list(names))),
            Some(("claim", names)) => Some(Self::Claims(list(names))),
            Some(("construction:", _)) => Some(Self::Construction),
            Some(("part:", _)) => Some(Self::Part),
            _ => None,
        }
    }

    const fn is_tested(&self) -> bool {
        matches!(self, Self::Tests(_) | Self::Claims(_))
    }
}

/// Writes the page.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let page = page(&Workspace::load(root)?)?;
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("matrix: wrote {PAGE}");
    Ok(())
}

/// Fails if the page is not what the marks say, or a mark names no requirement.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let workspace = Workspace::load(root)?;
    let page = page(&workspace)?;
    if workspace.file(PAGE).is_some_and(|file| file.text == page) {
        println!("matrix: {PAGE} is up to date");
        return Ok(());
    }
    Err(format!("{PAGE} is stale; run cargo xtask matrix"))
}

fn page(workspace: &Workspace) -> Result<String, String> {
    let list = workspace.file(REQUIREMENTS).ok_or(format!("there is no {REQUIREMENTS}"))?;
    let rows = list.text.lines().skip(1).map(|line| {
        let row: Vec<&str> = line.split('\t').collect();
        let row = Row::try_from(row).ok().filter(|row| Shown::parse(row[3]).is_some());
        row.ok_or(format!("{REQUIREMENTS}: {line:?} should be id, kind, title and what shows it"))
    });
    let rows = rows.collect::<Result<Vec<Row<'_>>, _>>()?;
    let mut marks: BTreeMap<&str, Marks> =
        rows.iter().map(|row| (row[0], Marks::default())).collect();
    let mut unknown = String::new();
    for file in workspace.files.iter().filter(|file| file.is_rust()) {
        collect(file, &mut marks, &mut unknown);
    }
    for row in &rows {
        check_shown(workspace, row, &marks[row[0]], &mut unknown);
    }
    if unknown.is_empty() { Ok(render(&rows, &marks)) } else { Err(unknown) }
}

/// Adds a line for each test or figure that does not show a requirement although the list says so.
fn check_shown(workspace: &Workspace, row: &Row<'_>, marks: &Marks, unknown: &mut String) {
    let has = |places: &BTreeSet<String>, text: &str| {
        places.iter().any(|path| workspace.file(path).is_some_and(|file| file.text.contains(text)))
    };
    let (names, is_there): (_, &dyn Fn(&str) -> bool) = match Shown::parse(row[3]) {
        Some(Shown::Tests(names)) => (names, &|name| has(&marks.tested, &format!("fn {name}("))),
        // A figure may be put together from files beside the one that names it.
        Some(Shown::Claims(names)) => (names, &|name| {
            let figure = format!("\"{name}\"");
            let mut named = workspace.files.iter().filter(|file| reproduces(&file.path));
            !marks.figure.is_empty() && named.any(|file| file.text.contains(&figure))
        }),
        _ => return,
    };
    for name in names.into_iter().filter(|name| !is_there(name)) {
        let _ = writeln!(unknown, "{REQUIREMENTS}: nothing called {name} has a mark of {}", row[0]);
    }
}

/// Tells whether a file is part of the experiments.
fn reproduces(path: &str) -> bool {
    let is_figure = |rest: &str| !rest.starts_with("experiment");
    path.strip_prefix("crates/programs/papers/src/").is_some_and(is_figure)
        || path.split('/').any(|part| part.starts_with("reproduce"))
}

/// Adds the marks of one file.
fn collect(file: &File, marks: &mut BTreeMap<&str, Marks>, unknown: &mut String) {
    let tests = rust::test_regions(&file.code);
    for (number, line) in file.text.lines().enumerate() {
        let Some(id) = line.trim_start().strip_prefix("//= ") else { continue };
        let Some(marks) = marks.get_mut(id.trim()) else {
            let _ = writeln!(unknown, "{}:{}: no requirement {id}", file.path, number + 1);
            continue;
        };
        let in_test = file.is_test() || tests.iter().any(|region| region.contains(&number));
        let set = match (in_test, reproduces(&file.path)) {
            (true, _) => &mut marks.tested,
            (false, true) => &mut marks.figure,
            (false, false) => &mut marks.implemented,
        };
        set.insert(file.path.clone());
    }
}

const HEAD: &str = "# Requirements\n\n\
    Written by `cargo xtask matrix` from the marks in the source and from the last column of\n\
    [requirements.tsv](../requirements.tsv); do not edit. The\n\
    letters of the kinds: M mechanism, A interface or format, P parameter, App application,\n\
    T tool or metric, X experiment, L limit, F future work, E erratum. A requirement counts as\n\
    tested only if a test or a judged claim asserts what it is accepted by; the last column says\n\
    which, or what is missing. Requirements that no mark claims are listed below each table.\n";

fn render(rows: &[Row<'_>], marks: &BTreeMap<&str, Marks>) -> String {
    let mut page = String::from(HEAD);
    for paper in ["S0", "S1", "S2", "S3", "S4"] {
        let prefix = format!("{paper}.");
        let of: Vec<_> = rows.iter().filter(|row| row[0].starts_with(&prefix)).collect();
        let count = |has: fn(&Marks) -> bool| of.iter().filter(|row| has(&marks[row[0]])).count();
        let is_tested = |row: &&&Row<'_>| Shown::parse(row[3]).is_some_and(|it| it.is_tested());
        let _ = writeln!(
            page,
            "\n## {paper}: {} requirements, {} implemented, {} tested, {} with a figure\n",
            of.len(),
            count(|it| !it.implemented.is_empty()),
            of.iter().filter(is_tested).count(),
            count(|it| !it.figure.is_empty()),
        );
        let touched = |it: &Marks| {
            !(it.implemented.is_empty() && it.tested.is_empty() && it.figure.is_empty())
        };
        if count(touched) > 0 {
            page += "| id | kind | title | implemented | tests | figure | accepted by |\n";
            page += "|---|---|---|---|---|---|---|\n";
        }
        for row in of.iter().filter(|row| touched(&marks[row[0]])) {
            let Marks { implemented, tested, figure } = &marks[row[0]];
            let [id, kind, title, shown] = row;
            let [implemented, tested, figure] = [implemented, tested, figure].map(links);
            let shown = if shown.is_empty() { "nothing" } else { shown };
            let _ = writeln!(
                page,
                "| {id} | {kind} | {title} | {implemented} | {tested} | {figure} | {shown} |"
            );
        }
        let unclaimed: Vec<_> = of.iter().filter(|row| !touched(&marks[row[0]])).collect();
        if !unclaimed.is_empty() {
            page += "\nNot claimed by any mark:\n\n";
        }
        for row in unclaimed {
            let _ = writeln!(page, "- {} ({}): {}", row[0], row[1], row[2]);
        }
    }
    page
}

/// Links to files, named without what every path has in common.
fn links(paths: &BTreeSet<String>) -> String {
    let link = |path: &String| {
        let short = path.trim_end_matches(".rs");
        let short = match short.strip_prefix("crates/").and_then(|it| it.split_once('/')) {
            Some((_floor, below)) => below,
            None => short,
        };
        format!("[{}](../../{path})", short.replace("/src/", "/"))
    };
    paths.iter().map(link).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(code: &str) -> Workspace {
        let list = "id\tkind\ttitle\tshown by\nS3.8\tX\tbursts\t\nS3.9\tX\tsmooth\t\n";
        workspace_with(list, code)
    }

    fn workspace_with(list: &str, code: &str) -> Workspace {
        let files = vec![
            File::new(REQUIREMENTS, list),
            File::new("crates/machines/link/src/arq.rs", code),
            File::new("crates/machines/link/src/arq/tests.rs", "//= S3.8\nfn f() {}\n"),
            File::new("crates/programs/papers/src/link/fig3.rs", "//= S3.8\nfn f() {}\n"),
        ];
        Workspace { files, packages: Vec::new() }
    }

    #[test]
    fn marks_are_sorted_into_their_columns() {
        let page = page(&workspace("    //= S3.8\nfn f() {}\n")).unwrap();
        let row = "| S3.8 | X | bursts | [link/arq](../../crates/machines/link/src/arq.rs) | \
                   [link/arq/tests](../../crates/machines/link/src/arq/tests.rs) | \
                   [papers/link/fig3](../../crates/programs/papers/src/link/fig3.rs) | \
                   nothing |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("## S3: 2 requirements, 1 implemented, 0 tested, 1 with a figure"));
        assert!(!page.contains("S3.9 |"));
    }

    #[test]
    fn a_table_has_the_line_that_makes_it_one_in_markdown() {
        let page = page(&workspace("//= S3.8\nfn f() {}\n")).unwrap();
        let lines: Vec<_> = page.lines().collect();
        let head = lines.iter().position(|line| line.starts_with("| id |")).unwrap();
        let columns = lines[head].matches('|').count();
        assert_eq!(lines[head - 1], "");
        assert_eq!(lines[head + 1], "|---".repeat(columns - 1) + "|");
        assert_eq!(lines[head + 2].matches('|').count(), columns);
    }

    #[test]
    fn what_nothing_claims_is_listed() {
        let page = page(&workspace("//= S3.8\nfn f() {}\n")).unwrap();
        assert!(page.contains("\nNot claimed by any mark:\n\n- S3.9 (X): smooth\n"), "{page}");
        let all = page_of_all_claimed();
        assert!(!all.contains("Not claimed"), "{all}");
    }

    fn page_of_all_claimed() -> String {
        page(&workspace("//= S3.8\nfn f() {}\n//= S3.9\nfn g() {}\n")).unwrap()
    }

    #[test]
    fn marks_in_inline_tests_count_as_tests() {
        let code = "#[cfg(test)]\nmod tests {\n    //= S3.9\n    fn f() {}\n}\n";
        let page = page(&workspace(code)).unwrap();
        assert!(page.contains("| S3.9 | X | smooth |  | [link/arq]"), "{page}");
    }

    #[test]
    fn a_requirement_is_tested_if_a_test_or_a_claim_asserts_its_acceptance() {
        let with = |shown: &str| {
            let list = format!("id\tkind\ttitle\tshown by\nS3.8\tX\tbursts\t{shown}\n");
            page(&workspace_with(&list, "//= S3.8\nfn f() {}\n"))
        };
        let tested = |shown: &str| with(shown).unwrap().contains(" 1 tested,");
        assert!(tested("test f"));
        assert!(!tested("part: the other half"));
        assert!(!tested("construction: it was fitted"));
        assert!(!tested(""));
        let error = with("test f, g").unwrap_err();
        assert_eq!(error, "docs/requirements.tsv: nothing called g has a mark of S3.8\n");
        let error = with("claim S3.fig9").unwrap_err();
        assert_eq!(error, "docs/requirements.tsv: nothing called S3.fig9 has a mark of S3.8\n");
        assert!(with("surely").unwrap_err().contains("what shows it"));
    }

    #[test]
    fn an_unknown_id_fails() {
        let error = page(&workspace("//= S3.99\n")).unwrap_err();
        assert_eq!(error, "crates/machines/link/src/arq.rs:1: no requirement S3.99\n");
    }
}
