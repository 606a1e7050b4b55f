//! Modules of a crate that import each other in a circle.

use super::Breach;
use crate::imports::Modules;
use crate::workspace::Workspace;

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        for root in ["lib.rs", "main.rs"] {
            let source = format!("{}/src", package.folder);
            let Some(file) = workspace.file(&format!("{source}/{root}")) else { continue };
            for knot in Modules::of(&workspace.files, &source, root).cycles() {
                let what = format!("these modules import each other: {}", knot.join(", "));
                breaches.push(Breach::new(&file.path, 0, what));
            }
        }
    }
    breaches
}
