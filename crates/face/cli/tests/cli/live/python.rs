//! Links from Python: the package `windfall` against the program of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::live::{WINDFALL, require};

/// Runs a program of `ffi-py/tests` with `words` before its name.
fn python(words: &[&str], name: &str) -> String {
    run_by(Path::new("python3"), words, name)
}

/// Does the same with this interpreter.
fn run_by(interpreter: &Path, words: &[&str], name: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi-py");
    let mut command = Command::new(interpreter);
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
    example("test_quic.py", "niquests, hypercorn, aioquic");
}

/// Runs an example of pytest by the first Python that has its packages: that of `.ci/prepare`, or
/// the one on the path.
fn example(name: &str, packages: &str) {
    let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/python/bin/python3");
    let import = format!("import pytest, {packages}");
    let has = |python: &PathBuf| {
        let output = Command::new(python).args(["-c", &import]).output();
        output.is_ok_and(|it| it.status.success())
    };
    let Some(python) = [prepared, PathBuf::from("python3")].into_iter().find(has) else {
        windfall_testkit::skip::announce(&format!("there is no pytest or {packages}"));
        return;
    };
    let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "windfall.pytest_plugin"];
    let said = run_by(&python, &words, &format!("../../../../examples/{name}"));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn requests_fetches_over_jitter_reordering_and_a_trace() {
    require!("python3");
    example("test_requests.py", "requests");
}

#[test]
fn aiohttp_posts_over_jitter_reordering_and_a_trace() {
    require!("python3");
    example("test_aiohttp.py", "aiohttp");
}

#[test]
fn aiortc_speaks_webrtc_over_jitter_reordering_and_a_trace() {
    require!("python3");
    example("test_aiortc.py", "aiortc");
}

#[test]
fn gstreamer_sends_pictures_over_jitter_loss_and_a_trace() {
    require!("python3", "gst-launch-1.0");
    let known = Command::new("gst-inspect-1.0").args(["--exists", "rtpjpegpay"]).status();
    if !known.is_ok_and(|it| it.success()) {
        windfall_testkit::skip!("GStreamer has no rtpjpegpay: gstreamer1.0-plugins-good");
    }
    example("test_gstreamer.py", "pytest");
}
