//! The shipped traces of the five environments: equal to what their generator makes, and refused
//! with numbers when damaged.

use std::path::PathBuf;

use windfall_base::Seed;
use windfall_channel::environment::{ENVIRONMENT_FRAMES, Environment};
use windfall_files::traces::ErrorTrace;

/// The seed of the shipped traces, that of the uplink.
const SEED: Seed = Seed(1);
/// The variable that rewrites the files instead of comparing with them.
const VARIABLE: &str = "WINDFALL_BLESS";

fn file(environment: Environment) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../traces/paper-003");
    folder.join(format!("{environment}.trace.gz"))
}

//= S3.17
#[test]
fn shipped_traces_are_what_the_generator_makes() {
    for environment in Environment::ALL {
        let made = environment.synthesize(SEED, ENVIRONMENT_FRAMES);
        let path = file(environment);
        if std::env::var_os(VARIABLE).is_some() {
            std::fs::write(&path, made.to_gzip()).expect("the folder is there");
        }
        let bytes = std::fs::read(&path).expect("the trace is shipped");
        let shipped = ErrorTrace::from_bytes(&bytes).expect("a whole trace");
        assert!(shipped == made, "{}: `make traces` writes it anew", path.display());
    }
}

//= S3.17
#[test]
fn a_damaged_trace_is_refused_with_numbers() {
    let bytes = std::fs::read(file(Environment::Walls)).expect("the trace is shipped");
    for (damaged, message) in [
        (bytes[..bytes.len() / 2].to_vec(), "the compressed trace is damaged after "),
        (
            bytes.iter().enumerate().map(|(i, b)| if i == 9_000 { b ^ 0x10 } else { *b }).collect(),
            "the compressed trace is damaged after ",
        ),
    ] {
        let error = ErrorTrace::from_bytes(&damaged).expect_err("it is damaged").to_string();
        assert!(error.starts_with(message), "{error}");
        let rest = error.trim_start_matches(message);
        assert!(rest.split(' ').next().is_some_and(|n| n.parse::<u64>().is_ok()), "{error}");
    }
    let whole = ErrorTrace::from_bytes(&bytes).expect("a whole trace").to_text();
    let cut: String = whole.lines().take(900).map(|line| format!("{line}\n")).collect();
    let error = ErrorTrace::from_text(&cut).expect_err("it is cut").to_string();
    assert!(error.contains("breaks off after line 900"), "{error}");
}
