//! `windfall trace changes` and `rates`: what others have measured, for links and for mahimahi.

use std::path::PathBuf;

use windfall_base::Duration;
use windfall_channel_trace::RateTrace;
use windfall_scenario::Change;
use windfall_trace::table::{Assignment, Column, Filter, TableChanges};

use super::{Output, read};
use crate::exit::{CliError, Result};
use crate::input;

/// Make changes of a link from a measured table (CSV), for --changes
///
/// The table has a line of names first. A column is COLUMN, COLUMN:UNIT or COLUMN*FACTOR:UNIT.
#[derive(Debug, clap::Args)]
pub(super) struct Changes {
    /// The table; - is the standard input
    table: PathBuf,
    /// The column of the times, in s unless it has a unit; the first row counts as the start
    #[arg(long, value_name = "COLUMN")]
    time: Column,
    /// A setting and its column, such as 'downlink rate=dl_rate:kbps' or delay=rtt*0.5:ms; repeat
    #[arg(long = "set", value_name = "SETTING=COLUMN", required = true)]
    settings: Vec<Assignment>,
    /// Take only rows with this text in this column; repeat
    #[arg(long = "where", value_name = "COLUMN=TEXT")]
    filters: Vec<Filter>,
    #[command(flatten)]
    output: Output,
}

/// Write a rate trace of either format as mahimahi does, a line for each 1500 bytes
#[derive(Debug, clap::Args)]
pub(super) struct Rates {
    /// The rate trace, of mahimahi or netem-trace; - is the standard input
    trace: PathBuf,
    /// The part from the start that is written [default: one period of the trace]
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn changes(args: &Changes) -> Result {
    let mut budget = input::budget()?;
    let bytes = read(&args.table, &mut budget)?;
    let at = |error: String| CliError::new(format!("{}: {error}", args.table.display()));
    let table = TableChanges {
        time: args.time.clone(),
        assignments: args.settings.clone(),
        filters: args.filters.clone(),
    };
    let text = table.read(&bytes).map_err(|error| at(error.to_string()))?;
    for line in text.lines() {
        let change = line.parse::<Change>();
        change.map_err(|error| at(format!("it gives {line:?}, and {error}")))?;
    }
    args.output.write(text.as_bytes())
}

pub(super) fn rates(args: &Rates) -> Result {
    let mut budget = input::budget()?;
    let bytes = read(&args.trace, &mut budget)?;
    let at = |error| CliError::new(format!("{}: {error}", args.trace.display()));
    let trace = RateTrace::from_bytes_within(&bytes, &mut budget).map_err(at)?;
    let length = args.length.unwrap_or(trace.period());
    args.output.write(trace.to_mahimahi(length).map_err(at)?.as_bytes())
}
