//! The output of `--json`: an object a line, whose `format` names its kind.
//!
//! `docs/reference/json.md` lists the formats, the pages in `docs/reference/json` their members.
//!
//! The number behind a name grows when a member changes its meaning or goes.

use std::io::Write as _;

use serde_json::Value;

use crate::exit::Result;

/// The outcome of `windfall camera receive`.
pub(crate) const CAMERA: &str = "windfall-camera/1";
/// The outcome of `windfall camera compare`.
pub(crate) const CAMERA_COMPARISON: &str = "windfall-camera-comparison/1";
/// The outcome of a connection of `windfall tcp`.
pub(crate) const CONNECTION: &str = "windfall-connection/1";
/// The findings of `windfall doctor`.
pub(crate) const DOCTOR: &str = "windfall-doctor/1";
/// The list of `windfall links`.
pub(crate) const LINKS: &str = "windfall-links/1";
/// The advice of `windfall tune` for energy.
pub(crate) const ENERGY_TUNE: &str = "windfall-energy-tune/1";
/// The list of `windfall reproduce --list`.
pub(crate) const FIGURES: &str = "windfall-figures/2";
/// The findings of `windfall reproduce` and `windfall demo`.
pub(crate) const FINDINGS: &str = "windfall-findings/2";
/// The outcome of a file of `windfall get`.
pub(crate) const GET: &str = "windfall-get/1";
/// The outcome of `windfall image receive`.
pub(crate) const IMAGE: &str = "windfall-image/1";
/// The outcome of `windfall stream receive`.
pub(crate) const STREAM: &str = "windfall-stream/1";
/// The outcome of a script of `windfall tcp script`.
pub(crate) const TCP_SCRIPT: &str = "windfall-tcp-script/1";
/// The settings of the TCP.
pub(crate) const TCP_SETTINGS: &str = "windfall-tcp-settings/1";
/// The tally of `windfall reproduce --unseen`.
pub(crate) const UNSEEN: &str = "windfall-unseen/1";
/// The bytes of the two ends of a line.
pub(crate) const TRACE_BYTES: &str = "windfall-trace-bytes/1";
/// Models fitted to an error trace.
pub(crate) const TRACE_FIT: &str = "windfall-trace-fit/1";
/// The statistics of an error trace.
pub(crate) const TRACE_STATISTICS: &str = "windfall-trace-statistics/1";
/// The outcome of `windfall track receive`.
pub(crate) const TRACK: &str = "windfall-track/1";
/// The advice of `windfall tune`.
pub(crate) const TUNE: &str = "windfall-tune/1";
/// The outcome of `windfall video receive`.
pub(crate) const VIDEO: &str = "windfall-video/1";
/// The outcome of `windfall wsim`.
pub(crate) const WSIM: &str = "windfall-wsim/1";

/// The line that is printed: the members of an object, and its format.
pub(crate) fn line(format: &str, mut object: Value) -> String {
    if let Some(members) = object.as_object_mut() {
        members.insert("format".to_owned(), format.into());
    }
    format!("{object}\n")
}

/// Prints a report: the line of its format, or its text.
pub(crate) fn print(is_json: bool, format: &str, object: Value, text: &str) -> Result<()> {
    let line = if is_json { line(format, object) } else { text.to_owned() };
    Ok(std::io::stdout().write_all(line.as_bytes())?)
}
