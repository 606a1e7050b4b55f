//! Runs every test and counts what passed, failed and was skipped, true to the facts.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable that tells tests where to note that they were skipped.
const SKIPPED: &str = "WINDFALL_SKIPPED";

/// The results of the test programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Count {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`; says whether it is
    /// one.
    fn read(&mut self, line: &str) -> bool {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return false };
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
        true
    }

    /// Prints a line of the output, and adds it.
    fn print(&mut self, line: &str) {
        println!("{line}");
        self.read(line);
    }

    /// Returns both counts together.
    fn with(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }

    /// Counts a failure for a run without `success` that has counted none.
    fn checked(mut self, success: bool) -> Self {
        if !success && self.failed == 0 {
            println!("a test program died, or did not build");
            self.failed = 1;
        }
        self
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// The targets whose tests start programs, which wait for each other most of the time.
const PROGRAMS: [&str; 2] = ["--test", "*"];
/// The targets whose tests compute; they run beside the others and give way to them.
const COMPUTING: [&[&str]; 2] = [&["--lib", "--bins"], &["--doc"]];

/// Runs `cargo test` over the workspace with `arguments`, and prints the count as the last line;
/// says whether nothing failed. Without arguments the tests that compute run beside the others.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let list = root.join("target/skipped-tests.txt");
    let _ = std::fs::create_dir_all(root.join("target"));
    let _ = std::fs::remove_file(&list);
    let count = if arguments.is_empty() {
        run_all(&root, &list)?
    } else {
        let mut count = Count::default();
        let success = test(&root, &list, &[], arguments, &mut |line| count.print(line))?;
        count.checked(success)
    };
    let noted = std::fs::read_to_string(&list).unwrap_or_default();
    let line = conclude(count, &noted).to_string();
    std::fs::write(root.join("target/test-count.txt"), format!("{line}\n"))
        .map_err(|error| format!("cannot write the count: {error}"))?;
    // The count is the last line in every case, so a failure shows in the exit code alone.
    println!("{line}");
    Ok(count.failed == 0)
}

/// Builds all tests, then runs those that compute beside those that start programs.
fn run_all(root: &Path, list: &Path) -> Result<Count, String> {
    if !test(root, list, &[], &["--no-run"], &mut |line| println!("{line}"))? {
        return Ok(Count::default().checked(false));
    }
    std::thread::scope(|scope| {
        let computing = scope.spawn(|| run_computing(root, list));
        let mut count = Count::default();
        let success = test(root, list, &[], &PROGRAMS, &mut |line| count.print(line))?;
        let computing = computing.join().expect("it does not panic")?;
        Ok(count.checked(success).with(computing))
    })
}

/// Runs the tests that compute, and prints what each test program says when it has ended.
fn run_computing(root: &Path, list: &Path) -> Result<Count, String> {
    let mut count = Count::default();
    let mut success = true;
    for targets in COMPUTING {
        let mut waiting = String::new();
        let mut hold = |line: &str| {
            waiting.push_str(line);
            waiting.push('\n');
            if count.read(line) {
                print!("{}", std::mem::take(&mut waiting));
            }
        };
        success &= test(root, list, &["nice", "-n", "19"], targets, &mut hold)?;
        print!("{waiting}");
    }
    Ok(count.checked(success))
}

/// Runs `cargo test`, started by the command `by` if there is one, and hands on each line of its
/// output; says whether it succeeded.
fn test(
    root: &Path,
    list: &Path,
    by: &[&str],
    arguments: &[&str],
    output: &mut dyn FnMut(&str),
) -> Result<bool, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut words = by.iter().map(OsString::from).chain([cargo]);
    let mut child = Command::new(words.next().expect("cargo at least"))
        .args(words)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(arguments)
        .current_dir(root)
        .env(SKIPPED, list)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    for line in BufReader::new(child.stdout.take().expect("it is piped")).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read what cargo says: {error}"))?;
        output(&String::from_utf8_lossy(&line));
    }
    let status = child.wait().map_err(|error| format!("cannot wait for cargo: {error}"))?;
    Ok(status.success())
}

/// Prints who was skipped, and gives the count with them.
fn conclude(mut count: Count, noted: &str) -> Count {
    for line in noted.lines() {
        println!("{line}");
    }
    // The harness counts a test that ended early as passed.
    let noted = noted.lines().count() as u64;
    count.skipped += noted;
    count.passed = count.passed.saturating_sub(noted);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let mut count = Count::default();
        count.read("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out");
        count.read("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured");
        count.read("test result_parser ... ok");
        assert!(!count.read("9 passed; 9 failed"));
        assert_eq!(count, Count { passed: 5, failed: 4, skipped: 1 });
    }

    #[test]
    fn a_program_that_died_is_a_failure() {
        assert_eq!(Count::default().checked(true).failed, 0);
        assert_eq!(Count::default().checked(false).failed, 1);
        assert_eq!(Count { failed: 3, ..Count::default() }.checked(false).failed, 3);
    }

    #[test]
    fn a_test_that_ended_early_was_not_passed() {
        let count = Count { passed: 2, failed: 0, skipped: 0 };
        let count = conclude(count, "SKIPPED: a: no device\n");
        assert_eq!(count.to_string(), "1 passed, 0 failed, 1 skipped");
    }
}
