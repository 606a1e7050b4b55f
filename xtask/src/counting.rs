//! Runs every test and counts what passed, failed and was skipped, true to the facts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable that tells tests where to note that they were skipped.
const SKIPPED: &str = "WINDFALL_SKIPPED";

/// What the test programs said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Count {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

/// Runs `cargo test` over the workspace with `arguments`, and prints the count as the last line.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let list = root.join("target/skipped-tests.txt");
    let _ = std::fs::create_dir_all(root.join("target"));
    let _ = std::fs::remove_file(&list);
    let mut child = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .current_dir(&root)
        .env(SKIPPED, &list)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let mut count = Count::default();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read what cargo says: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        count.add(&line);
    }
    let status = child.wait().map_err(|error| format!("cannot wait for cargo: {error}"))?;
    let noted = std::fs::read_to_string(&list).unwrap_or_default();
    conclude(count, &noted, status.success())
}

/// Prints who was skipped and the count; fails unless every test passed or was skipped.
fn conclude(mut count: Count, noted: &str, success: bool) -> Result<(), String> {
    for line in noted.lines() {
        println!("{line}");
    }
    // The harness counts a test that ended early as passed.
    let noted = noted.lines().count() as u64;
    count.skipped += noted;
    count.passed = count.passed.saturating_sub(noted);
    if !success && count.failed == 0 {
        println!("a test program died, or did not build");
        count.failed = 1;
    }
    let Count { passed, failed, skipped } = count;
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { Ok(()) } else { Err(format!("{failed} tests failed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let mut count = Count::default();
        count.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out");
        count.add("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured");
        count.add("test result_parser ... ok");
        count.add("9 passed; 9 failed");
        assert_eq!(count, Count { passed: 5, failed: 4, skipped: 1 });
    }

    #[test]
    fn a_program_that_died_is_a_failure() {
        assert!(conclude(Count::default(), "", true).is_ok());
        assert!(conclude(Count::default(), "", false).is_err());
        let count = Count { passed: 2, failed: 0, skipped: 0 };
        assert!(conclude(count, "SKIPPED: a: no device\n", true).is_ok());
    }
}
