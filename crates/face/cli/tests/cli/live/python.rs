//! Links from Python: the package `windfall` against the program of this build.

use std::path::Path;
use std::process::Command;

use crate::live::{WINDFALL, require};

/// Runs a program of `ffi-py/tests` with `words` before its name.
fn python(words: &[&str], name: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi-py");
    let mut command = Command::new("python3");
    command.args(words).arg(package.join("tests").join(name));
    command.env("PYTHONPATH", package.join("python")).env("WINDFALL", WINDFALL);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn a_link_is_used_from_python() {
    require!("python3", "ping");
    assert_eq!(python(&[], "link.py"), "linked\n");
}

#[test]
fn a_fixture_of_pytest_makes_links() {
    require!("python3");
    let known = Command::new("python3").args(["-c", "import pytest"]).output();
    if !known.is_ok_and(|it| it.status.success()) {
        windfall_testkit::skip!("there is no pytest");
    }
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "windfall.pytest_plugin"];
    let said = python(&words, "test_link.py");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn programs_of_a_registry_speak_quic_over_jitter_reordering_and_a_trace() {
    require!("python3", "openssl");
    let mut known = Command::new("python3");
    known.args(["-c", "import pytest, niquests, hypercorn, aioquic"]);
    if !known.output().is_ok_and(|it| it.status.success()) {
        windfall_testkit::skip!("there is no pytest, niquests, hypercorn or aioquic");
    }
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "windfall.pytest_plugin"];
    let said = python(&words, "../../../../examples/test_quic.py");
    assert!(said.contains("1 passed"), "{said}");
}
