//! One word for one thing: no two crates have a public type of the same name.

use std::collections::BTreeMap;

use super::Breach;
use crate::workspace::Workspace;

/// The line that begins a table of settings, from which a macro makes a struct.
const TABLE: &str = "settings! {";

/// Crates that others import without any further crate of the workspace: their words are those of
/// the command line.
const APART: [&str; 1] = ["windfall-test"];

/// The keywords that begin the definition of a type or a trait.
const KEYWORDS: [&str; 4] = ["struct", "enum", "trait", "type"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut homes: BTreeMap<&str, Vec<(&str, &str, usize)>> = BTreeMap::new();
    let packages = workspace.packages.iter().filter(|it| it.folder.starts_with("crates/"));
    for package in packages.filter(|it| !APART.contains(&it.name.as_str())) {
        let source = format!("{}/src/", package.folder);
        let files = workspace.files.iter();
        for file in files.filter(|it| it.path.starts_with(&source) && !it.is_test()) {
            for (number, name) in definitions(&file.code) {
                let place = (package.name.as_str(), file.path.as_str(), number);
                homes.entry(name).or_default().push(place);
            }
        }
    }
    let mut breaches = Vec::new();
    for (name, places) in &homes {
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

/// The public types and traits that a file defines, each with the number of its line.
fn definitions(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_table = false;
    for (number, line) in code.lines().enumerate() {
        // Else what is indented belongs to an implementation or to a private module.
        in_table = line == TABLE || in_table && line != "}";
        let line = if in_table { line.strip_prefix("    ").unwrap_or(line) } else { line };
        found.extend(defined(line).map(|name| (number + 1, name)));
    }
    found
}

/// The name of the public type or trait that a line defines.
fn defined(line: &str) -> Option<&str> {
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
        let files = [
            ("crates/machines/mac/src/lib.rs", "pub struct Gadget(u8);\npub struct Dcf;\n"),
            ("crates/machines/tcp/src/lib.rs", "pub enum Gadget {\n}\nstruct Dcf;\n"),
            ("crates/machines/tcp/src/tests.rs", "pub struct Dcf;\n"),
        ];
        let breaches = breaches(&files);
        assert_eq!(breaches.len(), 2, "{breaches:?}");
        assert!(breaches[0].what.contains("windfall-tcp has a public `Gadget` too"));
    }

    #[test]
    fn a_struct_that_a_table_of_settings_makes_is_public() {
        let table = "settings! {\n    pub struct Gadget with u8 {\n    }\n}\nmod m {\n    \
                     pub struct Dcf;\n}\n";
        let files = [
            ("crates/machines/mac/src/lib.rs", table),
            ("crates/machines/tcp/src/lib.rs", "pub enum Gadget {\n}\npub struct Dcf;\n"),
        ];
        let breaches = breaches(&files);
        assert_eq!(breaches.len(), 2, "{breaches:?}");
        assert_eq!(breaches[0].line, 2);
    }

    fn breaches(files: &[(&str, &str)]) -> Vec<Breach> {
        let package = |name: &str| Package {
            name: format!("windfall-{name}"),
            folder: format!("crates/machines/{name}"),
            ..Package::default()
        };
        let workspace = Workspace {
            files: files.iter().map(|(path, text)| File::new(path, text)).collect(),
            packages: vec![package("mac"), package("tcp")],
        };
        check(&workspace)
    }
}
