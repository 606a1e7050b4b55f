//! BBR against an independent model: `tests/bbr/bbr.py`, the draft in Python, wrote the script.

use std::path::{Path, PathBuf};
use std::process::Command;

use windfall_conformance::ScriptOutcome;

use super::run;

const NAMES: [&str; 1] = ["cycle"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bbr")
}

fn script(folder: &Path, name: &str) -> String {
    let path = folder.join(format!("{name}.pkt"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every segment leaves when the model says, and the window is the model's in each phase.
#[test]
fn the_engine_goes_through_the_phases_as_the_model_does() {
    for name in NAMES {
        let text = script(&folder(), name);
        assert_eq!(run(&text), ScriptOutcome::Passed, "{name}");
        // One segment more in one phase is noticed.
        let (before, probe) = text.split_once("// PROBE_BW_UP").expect("it probes");
        let (assertion, rest) = probe.split_once(" }%").expect("it says the window");
        let (said, window) = assertion.rsplit_once(' ').expect("a number");
        let window: u64 = window.parse().expect("a number");
        let changed = format!("{before}// PROBE_BW_UP{said} {} }}%{rest}", window + 1);
        assert!(matches!(run(&changed), ScriptOutcome::Failed(_)), "{name}");
    }
}

#[test]
fn the_scripts_are_those_that_the_model_writes() {
    let new = std::env::temp_dir().join(format!("bbr-scripts-{}", std::process::id()));
    std::fs::create_dir_all(&new).expect("a folder");
    let model = Command::new("python3").arg(folder().join("bbr.py")).arg(&new).status();
    assert!(model.expect("python3 is there").success());
    for name in NAMES {
        assert_eq!(script(&new, name), script(&folder(), name), "{name}");
    }
    std::fs::remove_dir_all(&new).expect("it was made");
}
