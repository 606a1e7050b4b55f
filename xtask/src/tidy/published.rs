//! Published crates say what they are, show an example that is tested, and need no private crate.

use super::Breach;
use crate::workspace::{Package, Workspace};

/// The line by which the README is tested as documentation.
const TESTED: &str = "#[doc = include_str!(\"../README.md\")]";

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let published = workspace.packages.iter().filter(|it| it.published);
    published.flat_map(|it| breaches(it, workspace)).collect()
}

fn breaches(package: &Package, workspace: &Workspace) -> Vec<Breach> {
    let manifest = format!("{}/Cargo.toml", package.folder);
    let mut breaches: Vec<Breach> = package
        .unsaid
        .iter()
        .map(|field| Breach::new(&manifest, 0, format!("a published crate says its {field}")))
        .collect();
    let is_private = |name: &&String| {
        workspace.packages.iter().any(|other| other.name == **name && !other.published)
    };
    for name in package.dependencies.iter().filter(is_private) {
        let what = format!("{name} is not published: publish it too, or do without it");
        breaches.push(Breach::new(&manifest, 0, what));
    }
    let contains = |path: &str, words: &str| {
        let path = format!("{}/{path}", package.folder);
        workspace.file(&path).is_some_and(|file| file.text.contains(words))
    };
    if !contains("README.md", "```rust") {
        breaches.push(Breach::new(&manifest, 0, "a published crate has an example in README.md"));
    }
    if !contains("src/lib.rs", TESTED) {
        let place = format!("{}/src/lib.rs", package.folder);
        breaches.push(Breach::new(&place, 0, format!("test the README by {TESTED}")));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::File;

    #[test]
    fn what_a_published_crate_lacks_is_listed() {
        let files = vec![
            File::new("a/README.md", "```rust\n```"),
            File::new("a/src/lib.rs", &format!("#[cfg(doctest)]\n{TESTED}\nstruct Readme;\n")),
        ];
        let package = |folder: &str, dependencies: Vec<String>, published| {
            let name = folder.to_owned();
            let folder = folder.to_owned();
            Package { name, folder, dependencies, published, ..Package::default() }
        };
        let mut b = package("b", vec!["a".to_owned(), "c".to_owned()], true);
        b.unsaid.push("license");
        let packages = vec![package("a", vec![], true), b, package("c", vec![], false)];
        let breaches = check(&Workspace { files, packages });
        let what: Vec<&str> = breaches.iter().map(|it| &*it.what).collect();
        assert_eq!(what.len(), 4, "{what:?}");
        assert!(what[0].contains("license") && what[1].contains("c is not published"), "{what:?}");
        assert!(what[2].contains("README.md") && what[3].contains("test the README"), "{what:?}");
    }
}
