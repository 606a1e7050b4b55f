//! `windfall status`: how a run fares.

use std::io::Write as _;
use std::time::Duration;

use windfall_base::text::visible;
use windfall_control::{ControlClient, text};
use windfall_view::terminal::Screen;

use crate::exit::{CliError, Completion, Result};

/// The time from one status to the next.
const TICK: Duration = Duration::from_secs(1);

/// Print rates, queues, losses and delays of a run
///
/// Counts are totals since the start of the run. Rates and delays are those of the last 250 ms.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the run, if several are active
    run: Option<String>,
    /// Print the status as JSON, on one line
    #[arg(long)]
    json: bool,
    /// Print the status every second until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Print a scenario that repeats the run, with the changes so far
    #[arg(long, conflicts_with_all = ["json", "follow"])]
    scenario: bool,
    /// Print measures in the text format of Prometheus, of all runs or of RUN
    #[arg(long, conflicts_with_all = ["json", "follow", "scenario"])]
    prometheus: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let name = args.run.as_deref();
    let mut out = std::io::stdout().lock();
    if args.prometheus {
        let statuses = ControlClient::all_statuses(name)?;
        out.write_all(text::prometheus(&statuses).as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut client = ControlClient::connect(name)?;
    if args.scenario {
        out.write_all(client.scenario()?.as_bytes())?;
        return Ok(Completion::Success);
    }
    let mut heard = client.measured_status()?;
    loop {
        let line = if args.json {
            format!("{}\n", heard.json)
        } else {
            visible(&text::of_status(&heard.answer)).into_owned()
        };
        out.write_all(line.as_bytes())?;
        out.flush()?;
        if !args.follow {
            return Ok(Completion::Success);
        }
        Screen::wait(TICK);
        heard = match client.status() {
            Ok(heard) => heard,
            // The end of the run is the end of what there is to follow.
            Err(_) if client.has_ended() => return Ok(Completion::Success),
            Err(error) => return Err(CliError::from(error)),
        };
    }
}
