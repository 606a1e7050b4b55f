//! Which requirement is implemented where, tested where, and shown by which figure.
//!
//! Marks of the form `//= S3.8` stand above the code that implements a requirement and above the
//! test that shows it; `docs/requirements.tsv` lists the ids.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use crate::rust;
use crate::workspace::{File, Workspace};

const REQUIREMENTS: &str = "docs/requirements.tsv";
const PAGE: &str = "docs/matrix.md";

/// The places of the marks of one requirement.
#[derive(Debug, Default)]
struct Marks {
    implemented: BTreeSet<String>,
    tested: BTreeSet<String>,
    figure: BTreeSet<String>,
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
    let rows: Vec<Vec<&str>> =
        list.text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    if let Some(row) = rows.iter().find(|row| row.len() != 3) {
        return Err(format!("{REQUIREMENTS}: {row:?} should be id, kind and title"));
    }
    let mut marks: BTreeMap<&str, Marks> =
        rows.iter().map(|row| (row[0], Marks::default())).collect();
    let mut unknown = String::new();
    for file in workspace.files.iter().filter(|file| file.is_rust()) {
        collect(file, &mut marks, &mut unknown);
    }
    if unknown.is_empty() { Ok(render(&rows, &marks)) } else { Err(unknown) }
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
        let reproduces = file.path.split('/').any(|part| part.starts_with("reproduce"));
        let set = match (in_test, reproduces) {
            (true, _) => &mut marks.tested,
            (false, true) => &mut marks.figure,
            (false, false) => &mut marks.implemented,
        };
        set.insert(file.path.clone());
    }
}

fn render(rows: &[Vec<&str>], marks: &BTreeMap<&str, Marks>) -> String {
    let mut page = String::from(
        "# Requirements\n\n\
         Written by `cargo xtask matrix` from the marks in the source; do not edit. The\n\
         letters of the kinds: M mechanism, A interface or format, P parameter, App application,\n\
         T tool or metric, X experiment, L limit, F future work, E erratum. Requirements that no\n\
         mark claims are listed below each table.\n",
    );
    for paper in ["S0", "S1", "S2", "S3", "S4"] {
        let prefix = format!("{paper}.");
        let of: Vec<_> = rows.iter().filter(|row| row[0].starts_with(&prefix)).collect();
        let count = |has: fn(&Marks) -> bool| of.iter().filter(|row| has(&marks[row[0]])).count();
        let _ = writeln!(
            page,
            "\n## {paper}: {} requirements, {} implemented, {} tested, {} with a figure\n",
            of.len(),
            count(|it| !it.implemented.is_empty()),
            count(|it| !it.tested.is_empty()),
            count(|it| !it.figure.is_empty()),
        );
        let touched = |it: &Marks| {
            !(it.implemented.is_empty() && it.tested.is_empty() && it.figure.is_empty())
        };
        if count(touched) > 0 {
            page += "| id | kind | title | implemented | tested | figure |\n";
            page += "|---|---|---|---|---|---|\n";
        }
        for row in of.iter().filter(|row| touched(&marks[row[0]])) {
            let Marks { implemented, tested, figure } = &marks[row[0]];
            let (id, kind, title) = (row[0], row[1], row[2]);
            let (implemented, tested, figure) = (links(implemented), links(tested), links(figure));
            let _ =
                writeln!(page, "| {id} | {kind} | {title} | {implemented} | {tested} | {figure} |");
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
        format!("[{}](../{path})", short.replace("/src/", "/"))
    };
    paths.iter().map(link).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(code: &str) -> Workspace {
        let list = "id\tkind\ttitle\nS3.8\tX\tbursts\nS3.9\tX\tsmooth\n";
        let files = vec![
            File::new(REQUIREMENTS, list),
            File::new("crates/protocol/link/src/arq.rs", code),
            File::new("crates/protocol/link/src/arq/tests.rs", "//= S3.8\nfn f() {}\n"),
            File::new("crates/runtime/report/src/reproduce/fig3.rs", "//= S3.8\nfn f() {}\n"),
        ];
        Workspace { files, packages: Vec::new() }
    }

    #[test]
    fn marks_are_sorted_into_their_columns() {
        let page = page(&workspace("    //= S3.8\nfn f() {}\n")).unwrap();
        let row = "| S3.8 | X | bursts | [link/arq](../crates/protocol/link/src/arq.rs) | \
                   [link/arq/tests](../crates/protocol/link/src/arq/tests.rs) | \
                   [report/reproduce/fig3](../crates/runtime/report/src/reproduce/fig3.rs) |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("## S3: 2 requirements, 1 implemented, 1 tested, 1 with a figure"));
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
    fn an_unknown_id_fails() {
        let error = page(&workspace("//= S3.99\n")).unwrap_err();
        assert_eq!(error, "crates/protocol/link/src/arq.rs:1: no requirement S3.99\n");
    }
}
