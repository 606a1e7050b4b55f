//! A file that was fetched, as people and programs read of it.

use hyper::Uri;
use serde_json::{Value, json};

use crate::assembly::BodyDamage;

/// A file that was fetched.
#[derive(Clone, Debug)]
pub struct FetchedFile {
    /// The address that was asked for.
    pub url: Uri,
    /// The address that brought it, another one after redirections.
    pub found: Uri,
    /// The name of the file that it was written to.
    pub file: String,
    /// The number of its bytes.
    pub bytes: u64,
    /// The time that it took.
    pub seconds: f64,
    /// Its media type, as the server says it.
    pub media_type: String,
    /// The damage of a body that came over SAP, by positions in the file.
    pub damage: Option<BodyDamage>,
    /// The bytes that were asked for once more.
    pub repaired: u64,
    /// The reason for which it came over TCP although SAP was asked for.
    pub fallback: Option<String>,
}

impl FetchedFile {
    /// Returns the file in a line, with its damage.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { bytes, seconds, .. } = self;
        // The name is of the server's making, and the terminal obeys control characters.
        let file = self.file.replace(char::is_control, "?");
        let way = match (&self.damage, &self.fallback) {
            (Some(_), _) => "SAP".to_owned(),
            (None, Some(reason)) => format!("TCP ({reason})"),
            (None, None) => "TCP".to_owned(),
        };
        let mut line = format!("{file}: {bytes} bytes over {way} in {seconds:.3} s");
        if let Some(damage) = &self.damage {
            let (missing, suspect) = damage.bytes();
            let gaps = damage.missing.len();
            let places = damage.suspect.len();
            if damage.is_none() {
                line += ", undamaged";
            } else {
                line += &format!(", {suspect} bytes suspect in {places} ranges");
                line += &format!(", {missing} missing in {gaps}");
            }
            if damage.unchecked > 0 {
                line += &format!(", {} without a check", damage.unchecked);
            }
        }
        if self.repaired > 0 {
            line += &format!(", {} repaired", self.repaired);
        }
        line + "\n"
    }

    /// Returns the file as JSON, in the members of `windfall-get/1` (docs/reference/json/data.md).
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut report = json!({
            "url": self.url.to_string(), "file": self.file, "bytes": self.bytes,
            "seconds": self.seconds, "media_type": self.media_type,
            "over": if self.damage.is_some() { "sap" } else { "tcp" },
            "repaired": self.repaired,
        });
        if self.found != self.url {
            report["found_at"] = self.found.to_string().into();
        }
        // What TCP brings has no damage that is known.
        let damage = self.damage.clone().unwrap_or_default();
        let (missing, suspect) = damage.bytes();
        report["missing"] = missing.into();
        report["suspect"] = suspect.into();
        report["unchecked"] = damage.unchecked.into();
        report["missing_ranges"] = pairs(&damage.missing).into();
        report["suspect_ranges"] = pairs(&damage.suspect).into();
        if let Some(reason) = &self.fallback {
            report["fallback"] = reason.as_str().into();
        }
        report
    }
}

/// Returns ranges as pairs of begin and end.
fn pairs(ranges: &[std::ops::Range<usize>]) -> Vec<[usize; 2]> {
    ranges.iter().map(|range| [range.start, range.end]).collect()
}
