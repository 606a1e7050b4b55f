//! `windfall trace compare`: the bytes of the two ends of a line.

use std::path::PathBuf;

use windfall_trace::ByteComparison;

use super::{print, read};
use crate::exit::Result;
use crate::{input, json};

/// Compare the bytes sent on a line with the bytes received
///
/// `windfall link --record DIR` writes both files at each end. Any files of bytes can be compared.
#[derive(Debug, clap::Args)]
pub(super) struct Compare {
    /// Bytes that one end sent, - for the standard input
    sent: PathBuf,
    /// Bytes that its peer received
    received: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
}

//= S1.33
pub(super) fn compare(args: &Compare) -> Result {
    let mut budget = input::budget()?;
    let sent = read(&args.sent, &mut budget)?;
    let received = read(&args.received, &mut budget)?;
    let found = ByteComparison::of(&sent, &received);
    let text = if args.json {
        json::line(json::TRACE_BYTES, serde_json::to_value(found)?)
    } else {
        found.to_text()
    };
    print(text.as_bytes())
}
