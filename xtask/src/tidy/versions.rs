//! One version of each dependency: members of the workspace name none of their own.

use super::Breach;
use crate::workspace::{File, Workspace};

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        if let Some(file) = workspace.file(&format!("{}/Cargo.toml", package.folder)) {
            versions(file, &mut breaches);
        }
    }
    breaches
}

/// The lines below the headings of dependencies that give a version.
fn versions(file: &File, breaches: &mut Vec<Breach>) {
    let mut dependencies = false;
    for (number, line) in file.text.lines().enumerate() {
        if line.starts_with('[') {
            dependencies = line.contains("dependencies");
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| dependencies)
            && (value.trim_start().starts_with('"') || value.contains("version"))
        {
            let what =
                format!("move the version of {} to [workspace.dependencies]", name.trim_end());
            breaches.push(Breach::new(&file.path, number + 1, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    #[test]
    fn a_version_of_ones_own_is_found() {
        let text = "[package]\nversion = \"0.1.0\"\n[dev-dependencies]\na = \"1\"\n\
                    b = { version = \"1\", optional = true }\nc = { workspace = true }\n";
        let files = vec![File::new("crates/machines/mac/Cargo.toml", text)];
        let package = Package { folder: "crates/machines/mac".to_owned(), ..Package::default() };
        let lines = check(&Workspace { files, packages: vec![package] });
        assert_eq!(lines.iter().map(|it| it.line).collect::<Vec<_>>(), [4, 5]);
    }
}
