//! Links from Python: the package `windfall` against the program of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::live::{Folder, WINDFALL, require};

/// Runs a program of `python/tests` with `words` before its name.
fn python(words: &[&str], name: &str) -> String {
    run_by(Path::new("python3"), words, name)
}

/// Does the same with this interpreter.
fn run_by(interpreter: &Path, words: &[&str], name: &str) -> String {
    let package = folder();
    let mut command = Command::new(interpreter);
    command.args(words).arg(package.join("tests").join(name));
    command.env("PYTHONPATH", &package).env("WINDFALL", WINDFALL);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The folder of the package `windfall`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python")
}

#[test]
fn the_link_in_the_documents_runs_as_printed() {
    require!("python3", "curl");
    let document =
        std::fs::read_to_string(folder().join("../docs/guides/python.md")).expect("it is");
    let blocks = document.split("```python\n").skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("```").next());
    let program = blocks.find(|block| block.contains("with Link(")).expect("a block");
    let place = Folder::new("python-documents");
    let file = place.write("program.py", program);
    assert!(run_by(Path::new("python3"), &[], &file).lines().count() >= 2, "{program}");
}

#[test]
fn the_package_is_installed_without_a_compiler() {
    let prepared = folder().join("../target/python/bin/python3");
    let has = Command::new(&prepared).args(["-c", "import pip, flit_core"]).output();
    if !has.is_ok_and(|it| it.status.success()) {
        windfall_testkit::skip!("there is no flit_core: .ci/prepare fetches it");
    }
    let place = Folder::new("python-package");
    let source = place.path().join("source");
    // What a build leaves beside the source is not for this clone.
    let copied = Command::new("cp").arg("-r").arg(folder()).arg(&source).status();
    assert!(copied.expect("cp runs").success());
    let target = place.path().join("installed");
    let mut install = Command::new(prepared);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]);
    install.args(["--no-index", "--target"]).arg(&target);
    let output = install.arg(&source).output().expect("pip runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = std::fs::read_dir(&target).expect("it is there").flatten();
    let names: Vec<_> = names.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.contains(&"windfall".to_owned()), "{names:?}");
    let wheel = target.join("windfall-0.1.0.dist-info/WHEEL");
    let wheel = std::fs::read_to_string(wheel).expect("it is there");
    assert!(wheel.contains("Root-Is-Purelib: true"), "{wheel}");
    let points = target.join("windfall-0.1.0.dist-info/entry_points.txt");
    let points = std::fs::read_to_string(points).expect("it is there");
    assert!(points.contains("windfall.pytest_plugin"), "{points}");
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
    let said = run_by(&python, &words, &format!("../../examples/{name}"));
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
