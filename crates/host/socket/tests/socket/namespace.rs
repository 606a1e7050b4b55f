//! Tests that run once more in a network namespace of their own.

use std::process::Command;

/// The variable that marks the run inside the namespace.
const INSIDE: &str = "WINDFALL_TEST_INSIDE";

/// Runs `inside` in a network namespace that the shell commands `prepare` set up, by running test
/// `name` once more there; where no namespace can be made, says that the test is skipped.
pub(crate) fn run(name: &str, prepare: &str, inside: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", script]);
        command
    };
    if !namespace(prepare).status().is_ok_and(|status| status.success()) {
        return windfall_testkit::skip::announce("a network namespace cannot be made here");
    }
    let me = std::env::current_exe().expect("a test knows its file");
    let mut again = namespace(&format!("{prepare} && exec \"$0\" --exact {name} --nocapture"));
    let output = again.arg(me).env(INSIDE, "1").output().expect("it ran before");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
