//! Tests that cannot run on this machine say so, and are counted.

use std::fs::OpenOptions;
use std::io::Write;

/// The variable that names the file to which every skipped test adds a line.
pub const VARIABLE: &str = "WINDFALL_SKIPPED";

/// Ends the test here because this machine lacks what it needs; the reason is formatted as by
/// [`format!`]. The test harness counts such a test as passed, `make test` as skipped.
///
/// ```
/// fn needs_a_device() {
///     if !std::path::Path::new("/dev/net/tun").exists() {
///         windfall_testkit::skip!("there is no /dev/net/tun");
///     }
/// }
/// # needs_a_device();
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => {{
        $crate::skip::announce(&format!($($reason)*));
        return;
    }};
}

/// Prints and counts one skipped test.
///
/// # Panics
/// If the line cannot be added to the file that [`VARIABLE`] names: a skipped test is never silent.
pub fn announce(reason: &str) {
    let current = std::thread::current();
    let line = format!("SKIPPED: {}: {reason}\n", current.name().unwrap_or("a test"));
    // Written to the stream itself: the harness swallows what the printing macros say.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os(VARIABLE) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "cannot note the skipped test in {}", path.display());
    }
}
