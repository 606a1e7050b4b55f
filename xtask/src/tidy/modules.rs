//! Names of modules, and files that no module declares.

use super::Breach;
use crate::workspace::{File, Workspace};

/// Names that say nothing.
const EMPTY: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "manager", "misc", "mod"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in workspace.files.iter().filter(|file| file.is_rust()) {
        let name = file.name().trim_end_matches(".rs");
        if EMPTY.contains(&name) {
            breaches.push(Breach::new(&file.path, 0, "name the file after what it holds"));
        }
        if !declared(workspace, file) {
            breaches.push(Breach::new(&file.path, 0, "no module declares this file"));
        }
    }
    breaches
}

/// Tells whether the file is a root that cargo finds, or some file declares it as a module.
fn declared(workspace: &Workspace, file: &File) -> bool {
    let Some((folder, _)) = file.path.rsplit_once('/') else { return true };
    let name = file.name().trim_end_matches(".rs");
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let root = matches!(name, "lib" | "main" | "build")
        || matches!(last, "bin" | "tests" | "benches" | "examples" | "fuzz_targets");
    if root {
        return true;
    }
    let parents = [
        format!("{folder}.rs"),
        format!("{folder}/lib.rs"),
        format!("{folder}/main.rs"),
        format!("{folder}/mod.rs"),
    ];
    let parents = parents.iter().filter_map(|path| workspace.file(path));
    let declaration = format!("mod {name};");
    parents.into_iter().any(|parent| {
        parent.code.lines().any(|line| {
            let line = line.trim();
            line.ends_with(&declaration)
                && line[..line.len() - declaration.len()]
                    .chars()
                    .all(|c| c.is_alphanumeric() || " ():_".contains(c))
        })
    })
}
