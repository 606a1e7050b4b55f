//! The quantities of netem-trace's configurations.

use serde::Deserialize;
use windfall_base::Duration;

/// A time: `{secs, nanos}`, a text such as `1s 500ms` or `2min`, or a number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawTime")]
pub struct Time(pub Duration);

#[derive(Deserialize)]
#[serde(untagged, expecting = "a time such as \"500ms\" or {\"secs\": 0, \"nanos\": 500000000}")]
enum RawTime {
    Parts { secs: u64, nanos: u32 },
    Text(String),
    Millis(f64),
}

impl TryFrom<RawTime> for Time {
    type Error = String;

    fn try_from(raw: RawTime) -> Result<Self, String> {
        let span = match raw {
            RawTime::Parts { secs, nanos } => {
                Duration::from_secs(secs).saturating_add(Duration::from_nanos(nanos.into()))
            }
            RawTime::Millis(millis) if millis >= 0.0 => Duration::from_secs_f64(millis / 1e3),
            RawTime::Millis(millis) => return Err(format!("{millis} is no time: use 0 or more")),
            RawTime::Text(text) => parse_time(&text).ok_or_else(|| {
                format!("\"{text}\" is no time: write ns, us, ms, s, min or h, such as 1s 500ms")
            })?,
        };
        Ok(Self(span))
    }
}

/// Reads `1s 500ms`.
fn parse_time(text: &str) -> Option<Duration> {
    let mut nanos = 0.0;
    for (number, unit) in quantities(text)? {
        nanos += number
            * match unit {
                "ns" | "nsec" | "nanos" => 1.0,
                "us" | "usec" | "micros" | "\u{b5}s" | "\u{3bc}s" => 1e3,
                "ms" | "msec" | "millis" => 1e6,
                "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
                "m" | "min" | "mins" | "minute" | "minutes" => 60e9,
                "h" | "hr" | "hour" | "hours" => 3600e9,
                "d" | "day" | "days" => 86_400e9,
                _ => return None,
            };
    }
    (nanos < u64::MAX as f64).then(|| Duration::from_nanos(nanos.round() as u64))
}

/// Cuts a text such as `1s 500ms` into numbers and their units, of which there is at least one.
pub(crate) fn quantities(text: &str) -> Option<Vec<(f64, &str)>> {
    let mut rest = text.trim();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number = rest[..digits].parse().ok()?;
        let behind = rest[digits..].trim_start();
        let end = behind.find(|c: char| c.is_whitespace() || c.is_ascii_digit());
        let (unit, after) = behind.split_at(end.unwrap_or(behind.len()));
        all.push((number, unit));
        rest = after.trim_start();
    }
    (!all.is_empty()).then_some(all)
}
