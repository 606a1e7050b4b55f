//! The outcome of files that may hold scripts, in words and as JSON, and how many passed.

use core::fmt::{self, Write as _};

use serde_json::{Value, json};
use windfall_base::text::visible;
use windfall_files::packet_script::{Place, Script};

use crate::{Conformance, ScriptFailure, ScriptOutcome};

/// Lines of the timeline that are printed before a failure.
const SHOWN: usize = 12;

/// The outcome of a file.
#[derive(Debug)]
pub enum ScriptVerdict {
    /// It is a script, which ran.
    Ran(ScriptOutcome),
    /// It is no script, for this reason, from this place on.
    Unreadable(Option<Place>, String),
}

/// The numbers of files by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptCounts {
    passed: u32,
    failed: u32,
    unsupported: u32,
    unreadable: u32,
}

impl Conformance {
    /// Runs the script that the bytes of a file are, if they are one.
    #[must_use]
    pub fn verdict(&self, bytes: Vec<u8>) -> ScriptVerdict {
        let Ok(text) = String::from_utf8(bytes) else {
            return unreadable("the file is no text in UTF-8");
        };
        match text.parse::<Script>() {
            Ok(script) if script.events.is_empty() => unreadable("it has no event"),
            Ok(script) => ScriptVerdict::Ran(self.run(&script)),
            Err(error) => ScriptVerdict::Unreadable(Some(error.place), error.what),
        }
    }
}

/// Returns the verdict on a file that cannot be read.
fn unreadable(what: &str) -> ScriptVerdict {
    ScriptVerdict::Unreadable(None, what.to_owned())
}

impl ScriptVerdict {
    /// Tells whether it failed or is no script; what is not supported is no failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Self::Ran(ScriptOutcome::Passed | ScriptOutcome::Unsupported { .. }))
    }

    /// Returns it in words, as lines about the file of this name.
    #[must_use]
    pub fn to_text(&self, name: &str) -> String {
        match self {
            Self::Ran(ScriptOutcome::Passed) => format!("{name}: passed\n"),
            Self::Ran(ScriptOutcome::Unsupported { place, feature }) => {
                format!("{name}:{place}: not supported: {}\n", visible(feature))
            }
            Self::Ran(ScriptOutcome::Failed(failure)) => {
                let mut text = String::new();
                // Nothing fails that writes to memory.
                let _ = tell_failure(&mut text, name, failure);
                text
            }
            Self::Unreadable(Some(place), what) => {
                format!("{name}:{place}: not readable: {}\n", visible(what))
            }
            Self::Unreadable(None, what) => format!("{name}: not readable: {what}\n"),
        }
    }

    /// Returns it as JSON, with the name of the file.
    #[must_use]
    pub fn to_json(&self, name: &str) -> Value {
        let placed = |outcome: &str, place: Option<Place>, rest: Value| {
            let mut report = json!({ "file": name, "outcome": outcome });
            if let Some(place) = place {
                report["line"] = place.line.into();
                report["column"] = place.column.into();
            }
            if let (Some(report), Value::Object(rest)) = (report.as_object_mut(), rest) {
                report.extend(rest);
            }
            report
        };
        match self {
            Self::Ran(ScriptOutcome::Passed) => placed("passed", None, Value::Null),
            Self::Ran(ScriptOutcome::Unsupported { place, feature }) => {
                let reason = format!("not supported: {feature}");
                placed(
                    "not_supported",
                    Some(*place),
                    json!({ "feature": feature, "reason": reason }),
                )
            }
            Self::Ran(ScriptOutcome::Failed(failure)) => {
                let ScriptFailure { place, what, expected, got, timeline } = &**failure;
                let timeline = timeline.join("\n");
                let mut rest = json!({ "reason": what, "timeline": timeline });
                rest["expected"] = expected.as_deref().into();
                rest["got"] = got.as_deref().into();
                placed("failed", Some(*place), rest)
            }
            Self::Unreadable(place, what) => {
                placed("not_readable", *place, json!({ "reason": what }))
            }
        }
    }
}

fn tell_failure(out: &mut String, name: &str, failure: &ScriptFailure) -> fmt::Result {
    writeln!(out, "{name}:{}: failed: {}", failure.place, visible(&failure.what))?;
    let timeline = &failure.timeline;
    let from = timeline.len().saturating_sub(SHOWN);
    for line in &timeline[from..] {
        writeln!(out, "            {}", visible(line))?;
    }
    for (label, text) in [("expected", &failure.expected), ("got", &failure.got)] {
        if let Some(text) = text {
            writeln!(out, "  {label:9} {}", visible(text))?;
        }
    }
    Ok(())
}

impl ScriptCounts {
    /// Counts one more.
    pub fn add(&mut self, verdict: &ScriptVerdict) {
        *match verdict {
            ScriptVerdict::Ran(ScriptOutcome::Passed) => &mut self.passed,
            ScriptVerdict::Ran(ScriptOutcome::Failed(_)) => &mut self.failed,
            ScriptVerdict::Ran(ScriptOutcome::Unsupported { .. }) => &mut self.unsupported,
            ScriptVerdict::Unreadable(..) => &mut self.unreadable,
        } += 1;
    }

    /// Tells whether every file held a script that passed.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        self.failed + self.unsupported + self.unreadable == 0
    }
}

impl fmt::Display for ScriptCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        write!(f, ", {} not supported, {} not readable", self.unsupported, self.unreadable)
    }
}
