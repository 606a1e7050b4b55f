//! One word for one thing: no two crates have a public type of the same name.

use std::collections::BTreeMap;

use super::Breach;
use crate::workspace::Workspace;

/// Names that still stand in several crates; the list only gets shorter.
const NOT_REVISED: &[&str] = &[
    "App",
    "Arq",
    "Arrival",
    "Flags",
    "Kind",
    "LinkConfig",
    "Network",
    "Pattern",
    "PipeConfig",
    "Plan",
    "Point",
    "Role",
    "Route",
    "Station",
    "Timing",
    "Verdict",
    "Window",
];

/// The keywords that begin the definition of a type or a trait.
const KEYWORDS: [&str; 4] = ["struct", "enum", "trait", "type"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut homes: BTreeMap<&str, Vec<(&str, &str, usize)>> = BTreeMap::new();
    for package in workspace.packages.iter().filter(|it| it.folder.starts_with("crates/")) {
        let source = format!("{}/src/", package.folder);
        let files = workspace.files.iter();
        for file in files.filter(|it| it.path.starts_with(&source) && !it.is_test()) {
            for (number, line) in file.code.lines().enumerate() {
                if let Some(name) = defined(line) {
                    let place = (package.name.as_str(), file.path.as_str(), number + 1);
                    homes.entry(name).or_default().push(place);
                }
            }
        }
    }
    let mut breaches = Vec::new();
    for (name, places) in homes.iter().filter(|(name, _)| !NOT_REVISED.contains(name)) {
        let elsewhere = |of: &str| places.iter().find(|(package, ..)| *package != of);
        for (package, path, line) in places {
            if let Some((other, ..)) = elsewhere(package) {
                let what = format!("{other} has a public `{name}` too: give each its own name");
                breaches.push(Breach::new(path, *line, what));
            }
        }
    }
    breaches
}

/// The name of the public type or trait that a line defines outside of an `impl`.
fn defined(line: &str) -> Option<&str> {
    // What is indented belongs to a trait's implementation or to a private module.
    let mut words = line.strip_prefix("pub ")?.split_whitespace();
    let keyword = words.find(|word| *word != "unsafe")?;
    let name = words.next().filter(|_| KEYWORDS.contains(&keyword))?;
    Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{File, Package};

    #[test]
    fn a_public_type_of_two_crates_is_found_in_both() {
        let package = |name: &str| Package {
            name: format!("windfall-{name}"),
            folder: format!("crates/protocol/{name}"),
            ..Package::default()
        };
        let files = [
            ("crates/protocol/mac/src/lib.rs", "pub struct Gadget(u8);\npub struct Dcf;\n"),
            ("crates/protocol/tcp/src/lib.rs", "pub enum Gadget {\n}\nstruct Dcf;\n"),
            ("crates/protocol/tcp/src/tests.rs", "pub struct Dcf;\n"),
        ];
        let workspace = Workspace {
            files: files.map(|(path, text)| File::new(path, text)).into(),
            packages: vec![package("mac"), package("tcp")],
        };
        let breaches = check(&workspace);
        assert_eq!(breaches.len(), 2, "{breaches:?}");
        assert!(breaches[0].what.contains("windfall-tcp has a public `Gadget` too"));
    }
}
