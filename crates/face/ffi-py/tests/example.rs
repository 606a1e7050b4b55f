//! The Python examples run against the extension module of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The shared library of this crate, built with the profile of this test: cargo builds none for the
/// tests of a library that Rust cannot link to.
fn library() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let folder = test.parent()?.parent()?;
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "windfall-ffi-py", "--target-dir"]);
    build.arg(folder.parent()?);
    if folder.ends_with("release") {
        build.arg("--release");
    }
    let output = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(folder.join("libwindfall_sap.so")).filter(|library| library.exists())
}

/// Runs a program with the module in reach; gives what it printed, or nothing if it cannot be run.
fn run(name: &str, program: &str) -> Option<String> {
    let Some(library) = library() else {
        windfall_testkit::skip::announce("this build made no extension module");
        return None;
    };
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    let found = Command::new("python3").args(["-c", version]).status();
    if !found.is_ok_and(|status| status.success()) {
        windfall_testkit::skip::announce("there is no Python 3.11 or later (python3)");
        return None;
    }
    let folder = library.parent().expect("a folder").join(format!("sap-python-{name}"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    std::fs::copy(&library, folder.join("windfall_sap.abi3.so")).expect("it can be copied");
    let script = folder.join("program.py");
    std::fs::write(&script, program).expect("the folder can be written to");
    let output = Command::new("python3")
        .arg(&script)
        .env("PYTHONPATH", &folder)
        .output()
        .expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_python_example_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example.py");
    let program = std::fs::read_to_string(path).expect("the example is there");
    if let Some(text) = run("example", &program) {
        assert_eq!(text, "done\n");
    }
}

#[test]
fn the_readme_runs_as_printed() {
    let text = include_str!("../../../../README.md");
    let block = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    if let Some(text) = run("readme", block.expect("the README shows SAP in Python")) {
        assert_eq!(text, "precise b'exact, in order, acknowledged'\n");
    }
}
