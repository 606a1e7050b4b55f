//! Chores of the workspace.
//!
//! - `cargo xtask tidy` checks what the compiler does not: levels, budgets, words, cycles, links.
//! - `cargo xtask floors` writes the floors and the bans into `ARCHITECTURE.md`.
//! - `cargo xtask matrix` writes `docs/measurements/matrix.md`; with `--check` it only compares.
//! - `cargo xtask publish --dry-run` packages the published crates and checks the packages.
//! - `cargo xtask features` checks the combinations of their features, by cargo-hack.
//! - `cargo xtask semver` compares their interfaces with the last version, by cargo-semver-checks.
//! - `cargo xtask test` runs all tests and counts what passed, failed and was skipped.

use std::path::Path;
use std::process::ExitCode;

mod counting;
mod imports;
mod matrix;
mod publish;
mod rust;
mod tidy;
mod workspace;

const USAGE: &str = "usage: cargo xtask tidy | floors | matrix [--check] | publish [--dry-run] | \
                     features | semver [REVISION] | test [ARGUMENTS OF CARGO TEST]";

fn main() -> ExitCode {
    // The manifest lies one level below the root of the workspace. Which one that is, cargo says
    // at run time: a target directory may have been built in another copy of the workspace.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    let manifest = manifest.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&manifest).join("..");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["tidy"] => tidy::run(&root).map(|()| true),
        ["floors"] => tidy::write_floors(&root).map(|()| true),
        ["matrix"] => matrix::write(&root).map(|()| true),
        ["matrix", "--check"] => matrix::check(&root).map(|()| true),
        ["publish"] => publish::publish(&root).map(|()| true),
        ["publish", "--dry-run"] => publish::dry_run(&root).map(|()| true),
        ["features"] => publish::features(&root).map(|()| true),
        ["semver"] => publish::semver(&root, None).map(|()| true),
        ["semver", revision] => publish::semver(&root, Some(revision)).map(|()| true),
        ["test", ref arguments @ ..] => counting::run(&root, arguments),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
