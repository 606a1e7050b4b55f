//! Runs the Python programs against the extension module of this build.

use std::path::{Path, PathBuf};
use std::process::Command;

use windfall_testkit::built;

/// Compiles the lossy path of the C library's tests, to be preloaded; `None` without a compiler.
fn lossy_path(folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../c/tests/lossy.c");
    let library = folder.join("lossy.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    compiler.status().is_ok_and(|status| status.success()).then_some(library)
}

/// Runs a program that imports the module; returns its output, or `None` if it cannot be run here.
fn run(name: &str, program: &str) -> Option<String> {
    run_over(name, program, |_| Some(Vec::new()))
}

/// Runs a program with the environment variables that `variables` returns for its folder.
fn run_over(
    name: &str,
    program: &str,
    variables: impl FnOnce(&Path) -> Option<Vec<(&'static str, PathBuf)>>,
) -> Option<String> {
    let folder = built::folder().join(format!("sap-python-{name}"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    if !built::python_module(&folder) {
        return None;
    }
    let script = folder.join("program.py");
    std::fs::write(&script, program).expect("the folder can be written to");
    let Some(variables) = variables(&folder) else {
        windfall_testkit::skip::announce("there is no C compiler (cc)");
        return None;
    };
    let output = Command::new("python3")
        .arg(&script)
        .env("PYTHONPATH", &folder)
        .envs(variables)
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

//= S0.19
#[test]
fn messages_sent_just_before_a_close_arrive_over_a_lossy_path() {
    let program = include_str!("close.py");
    let preload = |folder: &Path| Some(vec![("LD_PRELOAD", lossy_path(folder)?)]);
    if let Some(text) = run_over("close", program, preload) {
        assert_eq!(text, "all messages arrived\n");
    }
}

//= S0.27
//= S1.55
#[test]
fn a_file_in_parts_is_restored_in_python() {
    if let Some(text) = run("protected", include_str!("protected.py")) {
        assert_eq!(text, "restored\n");
    }
}

/// Returns a Python that has NumPy, pandas and Dask, as `.ci/prepare` fetches them, or else any.
fn python_with_libraries() -> PathBuf {
    let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/python/bin/python3");
    if prepared.exists() { prepared } else { PathBuf::from("python3") }
}

#[test]
fn scenarios_run_in_python_and_sweeps_on_any_executor() {
    let folder = built::folder().join("sap-python-simulation");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    if !built::python_module(&folder) {
        return;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../python");
    let path = format!("{}:{}", folder.display(), package.display());
    let script = folder.join("program.py");
    std::fs::write(&script, include_str!("simulation.py")).expect("the folder can be written to");
    let mut program = Command::new(python_with_libraries());
    let output = program.arg(&script).env("PYTHONPATH", path).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "equal\n");
    for line in said.lines().filter(|line| line.starts_with("there is no ")) {
        windfall_testkit::skip::announce(line);
    }
}

/// The lines of the block of Python in a document that contains `part`.
fn block_with(document: &str, part: &str) -> String {
    let blocks = document.split("```python\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    blocks.into_iter().find(|block| block.contains(part)).expect("a block").to_owned()
}

#[test]
fn the_simulation_in_the_documents_runs_as_printed() {
    let folder = built::folder().join("sap-python-documents");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    if !built::python_module(&folder) {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let document =
        std::fs::read_to_string(root.join("docs/guides/python.md")).expect("it is there");
    let program = block_with(&document, "windfall.run(");
    let python = python_with_libraries();
    let has = Command::new(&python).args(["-c", "import pandas"]).output();
    if !has.is_ok_and(|it| it.status.success()) {
        windfall_testkit::skip::announce("there is no pandas");
        return;
    }
    let path = format!("{}:{}", folder.display(), root.join("python").display());
    let mut run = Command::new(python);
    run.args(["-c", &program]).current_dir(&root).env("PYTHONPATH", path);
    let printed = output(&mut run).unwrap_or_else(|error| panic!("{error}"));
    assert!(printed.contains("links.sky/dish.delivered"), "{printed}");
}

#[test]
fn the_stubs_describe_the_package() {
    if let Some(text) = run("stubs", include_str!("stubs.py")) {
        assert_eq!(text, "typed\n");
    }
}

/// Runs a command; returns what it printed, or why it failed.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Returns the program maturin: that of `.ci/prepare`, or one in the path.
fn maturin() -> Option<PathBuf> {
    let prepared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/python/bin/maturin");
    let answers = |program: &PathBuf| output(Command::new(program).arg("--version")).is_ok();
    [prepared, PathBuf::from("maturin")].into_iter().find(answers)
}

/// A cargo for maturin: where that one asks for the library alone, with the features that it has
/// then, it builds the whole workspace as tests do, of which nearly everything is built already.
fn cargo(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let target = built::folder();
    let target = target.parent().expect("a folder").display();
    let script = format!(
        "#!/bin/sh\ncargo='{cargo}'\n[ \"$1\" = rustc ] || exec \"$cargo\" \"$@\"\n\
         exec \"$cargo\" build --workspace --lib --bins --examples --target-dir '{target}' \\\n  \
         --message-format json-render-diagnostics\n",
        cargo = env!("CARGO"),
    );
    let path = folder.join("cargo");
    std::fs::write(&path, script).expect("the folder can be written to");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, open).expect("it is ours");
    path
}

#[test]
fn a_wheel_can_be_installed() {
    let Some(maturin) = maturin() else {
        windfall_testkit::skip::announce("there is no maturin (.ci/prepare fetches it)");
        return;
    };
    let folder = built::folder().join("sap-python-wheel");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let mut build = Command::new(maturin);
    let wheels = folder.join("wheels");
    build.args(["build", "--quiet", "--locked", "--profile", "dev", "--out"]).arg(&wheels);
    build.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO", cargo(&folder));
    output(&mut build).expect("a wheel is built");
    let wheel = std::fs::read_dir(&wheels).expect("it is there").flatten().next();
    let wheel = wheel.expect("there is a wheel").path();
    assert!(wheel.to_string_lossy().contains("windfall_sap-0.1.0-cp311-abi3-"), "{wheel:?}");
    let installed = folder.join("installed");
    let mut install = Command::new("python3");
    install.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&installed);
    output(&mut install).expect("a wheel is an archive");
    let script = folder.join("program.py");
    std::fs::write(&script, include_str!("stubs.py")).expect("the folder can be written to");
    let mut program = Command::new("python3");
    let printed = output(program.arg(&script).env("PYTHONPATH", &installed));
    assert_eq!(printed.as_deref(), Ok("typed\n"));
}

#[test]
fn the_readme_runs_as_printed() {
    let text = include_str!("../../../../docs/guides/sap-sockets.md");
    let block = text.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    if let Some(text) = run("readme", block.expect("the guide shows SAP in Python")) {
        assert_eq!(text, "precise b'exact, in order, acknowledged'\n");
    }
}
