//! The C example is compiled and run against the static library, under the sanitizer too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that holds the libraries of this build.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    test.parent().expect("a folder").to_owned()
}

/// The newest static library of this crate there.
fn library() -> Option<PathBuf> {
    let folders = [libraries(), libraries().join("..")];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let archives = files.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libsap") && path.extension().is_some_and(|extension| extension == "a")
    });
    archives.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
}

/// The block of the README in this language.
fn readme(language: &str) -> String {
    let text = include_str!("../../../README.md");
    let start = format!("```{language}\n");
    let block = text.split(&start).nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the README shows SAP").to_owned()
}

/// Compiles and runs a program; gives what it printed, or nothing if that cannot be done here.
fn build_and_run(name: &str, source: &Path, flags: &[&str]) -> Option<String> {
    let Some(library) = library() else {
        windfall_testkit::skip::announce("this build made no static library");
        return None;
    };
    if Command::new("cc").arg("--version").output().is_err() {
        windfall_testkit::skip::announce("there is no C compiler (cc)");
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = libraries().join(format!("sap-c-{name}"));
    let built = Command::new("cc")
        .args(["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&folder.join("include"), source, &library])
        .args(flags)
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
        .arg(&program)
        .output()
        .expect("the compiler runs");
    let errors = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() && errors.contains("asan") {
        windfall_testkit::skip::announce("this compiler has no address sanitizer");
        return None;
    }
    assert!(built.status.success(), "{errors}");
    let output = Command::new(&program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?} {said}", output.status);
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn example(name: &str, flags: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/example.c");
    if let Some(text) = build_and_run(name, &source, flags) {
        assert!(text.contains("precise: exact") && text.contains("approximate: about"), "{text}");
    }
}

//= S0.16
#[test]
fn the_c_example_runs() {
    example("plain", &[]);
}

#[test]
fn the_c_example_runs_under_the_address_sanitizer() {
    example("asan", &["-fsanitize=address", "-g"]);
}

#[test]
fn the_readme_runs_as_printed() {
    let source = libraries().join("sap-c-readme.c");
    std::fs::write(&source, readme("c")).expect("the folder can be written to");
    if let Some(text) = build_and_run("readme", &source, &[]) {
        assert_eq!(text, "exact, in order, acknowledged\n");
    }
}

#[test]
fn the_readme_shows_the_rust_that_is_tested() {
    let tested = include_str!("../../socket/src/lib.rs");
    for line in readme("rust").lines().filter(|line| !line.is_empty()) {
        assert!(tested.contains(&format!("//! {line}\n")), "{line}");
    }
}

//= S0.23
#[test]
fn a_program_over_udp_is_ported_by_substitution() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let [udp, sap] = ["udp.c", "udp_ported.c"].map(|name| folder.join(name));
    for (name, source) in [("udp", &udp), ("udp-ported", &sap)] {
        if let Some(text) = build_and_run(name, source, &[]) {
            assert_eq!(text, "55\n");
        }
    }
    let Ok(output) = Command::new("diff")
        .args(["-U1", "--label=udp.c", "--label=udp_ported.c"])
        .args([&udp, &sap])
        .output()
    else {
        windfall_testkit::skip::announce("there is no diff");
        return;
    };
    let diff = String::from_utf8_lossy(&output.stdout).into_owned();
    let page = include_str!("../../../docs/porting.md");
    assert!(page.contains(&format!("```diff\n{diff}```")), "the page shows another diff:\n{diff}");
}
