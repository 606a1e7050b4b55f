//! Golden timelines: what happened, as text that a person reads once and then reviews as a diff.

use std::fmt::{Display, Write};
use std::path::Path;

use windfall_base::Instant;

/// The variable that rewrites the golden files instead of comparing with them.
pub const VARIABLE: &str = "WINDFALL_BLESS";

/// Lines of what happened, each with its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    text: String,
}

impl Timeline {
    /// An empty timeline.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line: the time in seconds, then what happened.
    pub fn note(&mut self, at: Instant, what: impl Display) {
        // Writing to a string never fails.
        let _ = writeln!(self.text, "{at} {what}");
    }

    /// The lines so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Compares a text with the golden file `goldens/NAME.txt` of the crate under test.
///
/// With `WINDFALL_BLESS=1` the file is rewritten instead.
#[macro_export]
macro_rules! assert_golden {
    ($name:expr, $text:expr) => {
        $crate::timeline::compare(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens"),
            AsRef::<str>::as_ref(&$name),
            AsRef::<str>::as_ref(&$text),
        )
    };
}

/// Compares `text` with the file `NAME.txt` in `folder`; [`assert_golden!`] names the folder.
///
/// # Panics
/// If they differ, with the first lines that do; if the file cannot be read or, when blessing,
/// written.
pub fn compare(folder: &Path, name: &str, text: &str) {
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os(VARIABLE).is_some() {
        let parent = path.parent().expect("the file lies in a folder");
        let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        assert!(written.is_ok(), "cannot write {}", path.display());
        return;
    }
    let Ok(golden) = std::fs::read_to_string(&path) else {
        panic!("cannot read {}; {VARIABLE}=1 writes it. The text is:\n{text}", path.display());
    };
    if let Some(difference) = difference(&golden, text) {
        panic!("{} differs; {VARIABLE}=1 rewrites it.\n{difference}", path.display());
    }
}

/// Shows the first difference of two texts: a few lines before, the first lines of either after.
fn difference(golden: &str, text: &str) -> Option<String> {
    const BEFORE: usize = 3;
    const AFTER: usize = 8;
    if golden == text {
        return None;
    }
    let (old, new): (Vec<_>, Vec<_>) = (golden.lines().collect(), text.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let mut out = format!("They part at line {} (- golden, + this run):\n", same + 1);
    for line in &old[same.saturating_sub(BEFORE)..same] {
        let _ = writeln!(out, "  {line}");
    }
    for line in old.iter().skip(same).take(AFTER) {
        let _ = writeln!(out, "- {line}");
    }
    for line in new.iter().skip(same).take(AFTER) {
        let _ = writeln!(out, "+ {line}");
    }
    Some(out)
}

#[cfg(test)]
mod tests;
