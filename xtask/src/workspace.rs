//! What the chores look at: the tracked text files and the packages, in memory.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::rust;

/// One tracked text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    /// For Rust: the text with comments and the contents of literals blanked.
    pub(crate) code: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { rust::blank(text) } else { String::new() };
        Self { path: path.to_owned(), text: text.to_owned(), code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tells whether the whole file is compiled for tests, benchmarks or fuzzing only.
    pub(crate) fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| matches!(part, "tests" | "tests.rs" | "benches" | "bench" | "fuzz"))
    }

    /// The file name without its folder.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// One package of the workspace, and the packages of the workspace that it names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    /// The package's name.
    pub(crate) name: String,
    /// The version that its manifest gives it.
    pub(crate) version: String,
    /// Its folder from the root.
    pub(crate) folder: String,
    /// Set if a registry may get it.
    pub(crate) published: bool,
    /// The fields for readers of a registry that its manifest does not have.
    pub(crate) unsaid: Vec<&'static str>,
    /// The dependencies, except for tests.
    pub(crate) dependencies: Vec<String>,
    /// The dependencies of tests.
    pub(crate) dev_dependencies: Vec<String>,
    /// The dependencies from outside of the workspace, except for tests.
    pub(crate) foreign: Vec<String>,
    /// Every dependency, also those from outside and of build scripts, as code names it.
    pub(crate) imports: Vec<String>,
}

/// The fields of a manifest for readers of a registry.
const FIELDS: [&str; 6] =
    ["description", "license", "readme", "rust_version", "keywords", "categories"];

/// Folders of what is made from the sources.
const MADE: [&str; 2] = ["target", "out"];

/// All that the checks look at.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    /// Reads the tracked and the new, not ignored, text files, and asks cargo for the packages.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        // What is not text (a corpus, a picture) or was deleted is skipped.
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let paths = paths(root)?;
        let mut files: Vec<File> =
            paths.iter().filter_map(|path| Some(File::new(path, &read(path)?))).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let metadata = output(
            Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
                .args(["metadata", "--no-deps", "--format-version", "1"])
                .current_dir(root),
        )?;
        Ok(Self { files, packages: packages(&metadata)? })
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// The paths of the tracked and of the new, not ignored files; of sources without a repository,
/// as an archive has them, those of all files that are not made.
fn paths(root: &Path) -> Result<Vec<String>, String> {
    if !root.join(".git").exists() {
        let mut paths = Vec::new();
        walk(root, "", &mut paths).map_err(|error| format!("cannot read the sources: {error}"))?;
        return Ok(paths);
    }
    let listing = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let listing = output(Command::new("git").args(listing).current_dir(root))?;
    Ok(listing.lines().map(str::to_owned).collect())
}

/// Adds the files below `folder`, a path from the root that is empty or ends with `/`.
fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() {
            paths.push(format!("{folder}{name}"));
        } else if !MADE.contains(&name.as_str()) {
            walk(root, &format!("{folder}{name}/"), paths)?;
        }
    }
    Ok(())
}

/// Runs a command and gives its output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{name} wrote what is not text"))
}

fn packages(metadata: &str) -> Result<Vec<Package>, String> {
    let metadata: Value =
        serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut all = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let folder = manifest.trim_start_matches(root).trim_start_matches('/');
        let folder = folder.trim_end_matches("/Cargo.toml").to_owned();
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        let version = package["version"].as_str().unwrap_or_default().to_owned();
        // Without a list any registry may get it.
        let published = package["publish"].as_array().is_none_or(|list| !list.is_empty());
        let is_unsaid = |field: &&str| match &package[*field] {
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => true,
        };
        let unsaid = FIELDS.into_iter().filter(is_unsaid).collect();
        let mut it = Package { name, version, folder, published, unsaid, ..Package::default() };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str());
            it.imports.extend(name.map(|name| name.replace('-', "_")));
            // Only packages of the workspace have a path.
            let is_own = dependency["path"].is_string();
            let Some(name) = dependency["name"].as_str() else { continue };
            let list = match dependency["kind"].as_str() {
                Some("dev") if is_own => &mut it.dev_dependencies,
                Some("dev") => continue,
                _ if is_own => &mut it.dependencies,
                _ => &mut it.foreign,
            };
            list.push(name.to_owned());
        }
        all.push(it);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
