//! The rules of `ARCHITECTURE.md` that the compiler does not check.

use std::path::Path;

use crate::workspace::Workspace;

mod budgets;
mod cycles;
mod levels;
mod links;
mod modules;
mod names;
mod phrases;
mod published;
mod readability;
mod unused;
mod versions;
mod words;

/// A breach of a rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Breach {
    /// The file, or the package.
    place: String,
    /// The line from 1, or 0 if the whole file is meant.
    line: usize,
    /// The description of the breach.
    what: String,
}

impl Breach {
    fn new(place: &str, line: usize, what: impl Into<String>) -> Self {
        Self { place: place.to_owned(), line, what: what.into() }
    }
}

/// Checks everything; the error lists every breach.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let workspace = Workspace::load(root)?;
    let mut breaches = check(&workspace);
    breaches.sort();
    if breaches.is_empty() {
        println!("tidy: {} files, nothing to complain about", workspace.files.len());
        return Ok(());
    }
    let mut message = String::new();
    for Breach { place, line, what } in &breaches {
        message += &match line {
            0 => format!("{place}: {what}\n"),
            line => format!("{place}:{line}: {what}\n"),
        };
    }
    Err(format!("{message}tidy: {} breaches", breaches.len()))
}

/// Writes the list of floors and bans into `ARCHITECTURE.md`.
pub(crate) fn write_floors(root: &Path) -> Result<(), String> {
    let workspace = Workspace::load(root)?;
    let page = workspace.file("ARCHITECTURE.md").ok_or("there is no ARCHITECTURE.md")?;
    let text = levels::with_list(&page.text, &workspace).ok_or("it has no place for the floors")?;
    std::fs::write(root.join(&page.path), text).map_err(|error| format!("{}: {error}", page.path))
}

fn check(workspace: &Workspace) -> Vec<Breach> {
    let rules = [
        levels::check,
        budgets::check,
        words::check,
        modules::check,
        cycles::check,
        links::check,
        unused::check,
        versions::check,
        names::check,
        phrases::check,
        published::check,
        readability::check,
    ];
    rules.iter().flat_map(|rule| rule(workspace)).collect()
}

#[cfg(test)]
mod tests;
