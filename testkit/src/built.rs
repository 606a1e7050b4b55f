//! Programs and libraries of the workspace that a test runs, from the build that it belongs to.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip;

/// Returns the folder of this build's programs and libraries.
///
/// # Panics
/// If the test does not stand in a target directory.
#[must_use]
pub fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    test.parent().and_then(Path::parent).expect("a folder").to_owned()
}

/// Builds the libraries, programs and examples of the workspace with the profile of this test, and
/// returns their folder.
///
/// All of them at once have the features that they have in a test of the workspace, in which
/// nearly everything is built already.
///
/// # Panics
/// If cargo fails.
#[must_use]
pub fn workspace() -> PathBuf {
    let folder = folder();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--lib", "--bins", "--examples"]);
    build.arg("--target-dir").arg(folder.parent().expect("a folder"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Returns the extension module of this build; announces a skipped test and returns `None` if it
/// cannot be used here.
fn python_library() -> Option<PathBuf> {
    let library = workspace().join("libwindfall_sap.so");
    if !library.exists() {
        skip::announce("this build made no extension module");
        return None;
    }
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    let found = Command::new("python3").args(["-c", version]).status();
    if !found.is_ok_and(|status| status.success()) {
        skip::announce("there is no Python 3.11 or later (python3)");
        return None;
    }
    Some(library)
}

/// Puts the package `windfall_sap` of this build into `folder`; announces a skipped test and
/// returns `false` if it cannot be used here.
///
/// # Panics
/// If cargo fails, or the folder cannot be written to.
#[must_use]
pub fn python_module(folder: &Path) -> bool {
    let Some(library) = python_library() else { return false };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let from = crates.join("faces/python/python/windfall_sap");
    let to = folder.join("windfall_sap");
    std::fs::create_dir_all(&to).expect("the folder can be made");
    let files = std::fs::read_dir(from).expect("the package is there").flatten();
    for file in files.map(|entry| entry.path()).filter(|path| path.is_file()) {
        std::fs::copy(&file, to.join(file.file_name().unwrap_or_default())).expect("copied");
    }
    std::fs::copy(&library, to.join("_native.abi3.so")).expect("it can be copied");
    true
}
