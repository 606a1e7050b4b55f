//! Dependencies that a manifest lists and no source of the package names.

use super::Breach;
use crate::workspace::{File, Package, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let unused = |package: &Package| {
        let sources: Vec<&File> = sources(workspace, package).collect();
        let is_named = |import: &&String| sources.iter().any(|file| names(&file.text, import));
        let unused = package.imports.iter().filter(|import| !is_named(import));
        let what = |import| format!("depends on {import} and never names it: remove it");
        unused.map(|import| Breach::new(&package.name, 0, what(import))).collect::<Vec<_>>()
    };
    workspace.packages.iter().flat_map(unused).collect()
}

/// The Rust files below the folder of a package.
fn sources<'a>(
    workspace: &'a Workspace,
    package: &'a Package,
) -> impl Iterator<Item = &'a File> + use<'a> {
    let below = |path: &str| path.strip_prefix(&package.folder).is_some_and(|p| p.starts_with('/'));
    workspace.files.iter().filter(move |file| file.is_rust() && below(&file.path))
}

/// Tells whether a text holds a name as a word; examples in comments count.
fn names(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}
