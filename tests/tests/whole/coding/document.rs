//! Tables that a full run compares with `docs/measurements/coding.md`, or writes there.

use std::fs;
use std::path::Path;

/// The variable that asks for all channels: `full`.
pub(crate) const FULL: &str = "WINDFALL_TEST_GRID";

/// Compares the table between two marks of the document; with `WINDFALL_BLESS=1` writes it there.
pub(crate) fn hold_table(begin: &str, end: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measurements/coding.md");
    let document = fs::read_to_string(&path).expect("docs/measurements/coding.md");
    let parts = document
        .split_once(begin)
        .and_then(|(before, rest)| rest.split_once(end).map(|(old, after)| (before, old, after)));
    let (before, old, after) = parts.expect("the marks of the table");
    if std::env::var_os("WINDFALL_BLESS").is_some() {
        let text = format!("{before}{begin}{table}{end}{after}");
        fs::write(&path, text).expect("docs/measurements/coding.md can be written");
    } else {
        assert_eq!(
            old, table,
            "docs/measurements/coding.md: WINDFALL_BLESS=1 writes the table anew"
        );
    }
}
