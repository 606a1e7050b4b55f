//! Links in other simulations: the workspace `examples/simulated-time`.

use std::path::Path;
use std::process::Command;

/// The build from nothing takes more than a minute: only on request.
const VARIABLE: &str = "WINDFALL_TEST_SIMULATED";

#[test]
fn links_run_in_other_simulations_and_quic_crosses_them() {
    if std::env::var_os(VARIABLE).is_none() {
        windfall_testkit::skip!("{VARIABLE} is not set");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let cargo = |words: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(words)
            .args(["--quiet", "--locked", "--manifest-path"])
            .arg(root.join("examples/simulated-time/Cargo.toml"))
            .arg("--target-dir")
            .arg(root.join("target/simulated-time"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        text
    };
    assert!(cargo(&["test", "--workspace"]).contains("1 passed"));
    assert!(cargo(&["run", "--package", "quic-over-links"]).contains("1000 seeds, 0 failed"));
}
