//! Links in documents and names of scenarios that lead nowhere.

use std::collections::BTreeSet;

use super::Breach;
use crate::workspace::{File, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in &workspace.files {
        for (number, line) in file.text.lines().enumerate() {
            let mut breach = |what| breaches.push(Breach::new(&file.path, number + 1, what));
            if file.path.ends_with(".md") {
                for target in targets(line) {
                    if !leads(workspace, file, target) {
                        breach(format!("the link to {target} leads nowhere"));
                    }
                }
            }
            for scenario in scenarios(line) {
                if !file.path.starts_with("xtask/") && workspace.file(scenario).is_none() {
                    breach(format!("there is no {scenario}"));
                }
            }
        }
    }
    unlisted(workspace, &mut breaches);
    repeated(workspace, &mut breaches);
    breaches
}

/// Finds names that have more than one entry in a section of the list of changes.
fn repeated(workspace: &Workspace, breaches: &mut Vec<Breach>) {
    let Some(changes) = workspace.file("CHANGELOG.md") else { return };
    let mut seen = BTreeSet::new();
    for (number, line) in changes.text.lines().enumerate() {
        if line.starts_with("## ") || line.starts_with("### ") {
            seen.clear();
        }
        for name in line.split("**").skip(1).step_by(2) {
            if !seen.insert(name) {
                let what = format!("{name} already has an entry in this section");
                breaches.push(Breach::new(&changes.path, number + 1, what));
            }
        }
    }
}

/// Finds documents that the list of documents leaves out, or lists more than once.
fn unlisted(workspace: &Workspace, breaches: &mut Vec<Breach>) {
    let Some(list) = workspace.file("docs/README.md") else { return };
    for file in &workspace.files {
        let Some(name) = file.path.strip_prefix("docs/") else { continue };
        if !name.ends_with(".md") || name == "README.md" {
            continue;
        }
        let target = format!("({name})");
        match list.text.lines().filter(|line| line.contains(&target)).count() {
            0 => breaches.push(Breach::new(&file.path, 0, "docs/README.md does not list it")),
            1 => {}
            n => {
                let what = format!("docs/README.md lists it {n} times");
                breaches.push(Breach::new(&file.path, 0, what));
            }
        }
    }
}

/// The targets of the links on one line of Markdown, those to other hosts left out.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    ends.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

fn leads(workspace: &Workspace, from: &File, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let resolved = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    let folder = format!("{}/", resolved.trim_end_matches('/'));
    let is_folder = workspace.files.iter().any(|file| file.path.starts_with(&folder));
    match workspace.file(&resolved) {
        Some(file) if !anchor.is_empty() && resolved.ends_with(".md") => {
            file.text.lines().any(|line| line.starts_with('#') && slug(line) == anchor)
        }
        Some(_) => true,
        // A picture is no text, so it is not among the files that were read.
        None => is_folder || path.ends_with(".png"),
    }
}

/// The path from the root that `target` means in the file `from`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The anchor that a heading gets: lower case, hyphens for blanks, no other signs.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Paths such as `scenarios/NAME.toml` on one line, those with a gap to fill in left out.
fn scenarios(line: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let starts = line.match_indices("scenarios/").map(|(at, _)| at);
    let whole = starts.filter(move |at| !line[..*at].ends_with(is_path));
    let paths = whole.map(move |at| {
        let rest = &line[at..];
        &rest[..rest.find(|c| !is_path(c)).unwrap_or(rest.len())]
    });
    paths.filter(|path| path.ends_with(".toml"))
}
