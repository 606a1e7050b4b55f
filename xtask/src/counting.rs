//! Runs every test and counts what passed, failed and was skipped, true to the facts.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable that tells tests where to note that they were skipped.
const SKIPPED: &str = "WINDFALL_SKIPPED";

/// The results of the test programs.
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

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Runs `cargo test` over the workspace with `arguments`, and prints the count as the last line;
/// says whether nothing failed.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
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
    let count = conclude(count, &noted, status.success());
    let line = count.to_string();
    std::fs::write(root.join("target/test-count.txt"), format!("{line}\n"))
        .map_err(|error| format!("cannot write the count: {error}"))?;
    // The count is the last line in every case, so a failure shows in the exit code alone.
    println!("{line}");
    Ok(count.failed == 0)
}

/// Prints who was skipped, and gives the count with them.
fn conclude(mut count: Count, noted: &str, success: bool) -> Count {
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
    count
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
        assert_eq!(conclude(Count::default(), "", true).failed, 0);
        assert_eq!(conclude(Count::default(), "", false).failed, 1);
    }

    #[test]
    fn a_test_that_ended_early_was_not_passed() {
        let count = Count { passed: 2, failed: 0, skipped: 0 };
        let count = conclude(count, "SKIPPED: a: no device\n", true);
        assert_eq!(count.to_string(), "1 passed, 0 failed, 1 skipped");
    }
}
