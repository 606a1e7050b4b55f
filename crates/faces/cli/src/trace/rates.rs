//! `windfall trace changes` and `rates`: what others have measured, for links and for mahimahi.

use std::path::PathBuf;

use windfall_base::Duration;
use windfall_files::traces::RateTrace;
use windfall_scenario::{Change, Side};
use windfall_trace::table::{Assignment, Column, Filter, TableChanges};
use windfall_trace::{changes_of_netem, is_netem_model};

use super::{Output, read, unzipped};
use crate::exit::{CliError, Result, tell};
use crate::input;
use crate::times::with_unit;

/// Make a file for --changes from measurements or netem-trace
///
/// The input is a table (CSV) or a model of netem-trace. Commas, semicolons, tabs or blanks
/// separate the cells of a table. A column is COLUMN, COLUMN:UNIT or COLUMN*FACTOR:UNIT. COLUMN is
/// a name from the first line, or a number from 1 if there are no names.
#[derive(Debug, clap::Args)]
pub(super) struct Changes {
    /// Table, or model of delay or loss of netem-trace (JSON, TOML). - is the standard input
    table: PathBuf,
    /// Column of the times: calendar times, or numbers in s if no unit is given. The first row is
    /// the start
    #[arg(long, value_name = "COLUMN")]
    time: Option<Column>,
    /// Setting and its column: 'downlink rate=dl_rate:kbps' or delay=rtt*0.5:ms. Repeat the option
    /// for more settings
    #[arg(long = "set", value_name = "SETTING=COLUMN")]
    settings: Vec<Assignment>,
    /// Use only rows with this text in this column. Repeat the option for more columns
    #[arg(long = "where", value_name = "COLUMN=TEXT")]
    filters: Vec<Filter>,
    /// netem-trace: time for which an endless model is repeated
    #[arg(long = "for", value_name = "TIME", value_parser = with_unit)]
    length: Option<Duration>,
    /// netem-trace: direction that the model describes, uplink or downlink [default: both]
    #[arg(long, value_name = "DIRECTION", value_parser = side)]
    direction: Option<Side>,
    #[command(flatten)]
    output: Output,
}

/// Convert a rate trace to mahimahi's format
///
/// The output has one line for each 1500 bytes.
#[derive(Debug, clap::Args)]
pub(super) struct Rates {
    /// Rate trace of mahimahi or netem-trace, - for the standard input
    trace: PathBuf,
    /// Length of the part to write, from the start [default: one period of the trace]
    #[arg(long = "for", value_name = "TIME", value_parser = with_unit)]
    length: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

pub(super) fn changes(args: &Changes) -> Result {
    let mut budget = input::budget()?;
    let bytes = unzipped(&args.table, &mut budget)?;
    let at = |error: String| CliError::new(format!("{}: {error}", args.table.display()));
    let text = String::from_utf8_lossy(&bytes);
    let text = if is_netem_model(&text) {
        let side = args.direction.map_or(String::new(), |side| format!("{side} "));
        changes_of_netem(&text, args.length, &side).map_err(at)?
    } else {
        args.of_table(&bytes)?
    };
    for line in text.lines() {
        let change = line.parse::<Change>();
        change.map_err(|error| at(format!("it gives {line:?}, and {error}")))?;
    }
    args.output.write(text.as_bytes())
}

impl Changes {
    /// Returns the changes of a table, and says what was done about its rows.
    fn of_table(&self, bytes: &[u8]) -> Result<String> {
        let args = self;
        let at = |error: String| CliError::new(format!("{}: {error}", args.table.display()));
        let (Some(time), false) = (args.time.clone(), args.settings.is_empty()) else {
            let message = "a table needs --time COLUMN and --set SETTING=COLUMN";
            return Err(CliError::usage(message));
        };
        let table = TableChanges {
            time,
            assignments: args.settings.clone(),
            filters: args.filters.clone(),
        };
        let mut check = |change: &str| {
            let parsed = format!("0s: {change}").parse::<Change>();
            parsed.map(|_| ()).map_err(|error| error.to_string())
        };
        let changes = table.read_checked(bytes, &mut check);
        let changes = changes.map_err(|error| at(error.to_string()))?;
        for note in &changes.notes {
            tell(format_args!("{}: {note}", args.table.display()));
        }
        Ok(changes.text)
    }
}

/// Reads the name of a direction.
fn side(text: &str) -> std::result::Result<Side, String> {
    Side::named(text).ok_or_else(|| "use uplink or downlink".to_owned())
}

pub(super) fn rates(args: &Rates) -> Result {
    let mut budget = input::budget()?;
    let bytes = read(&args.trace, &mut budget)?;
    let at = |error| CliError::new(format!("{}: {error}", args.trace.display()));
    let trace = RateTrace::from_bytes_within(&bytes, &mut budget).map_err(at)?;
    let length = args.length.unwrap_or(trace.period());
    args.output.write(trace.to_mahimahi(length).map_err(at)?.as_bytes())
}
