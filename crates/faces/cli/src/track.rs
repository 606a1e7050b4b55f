//! `windfall track`: positions of a walker, and the speed that the receiver computes from them.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use windfall_apps::tracker::{SPRINT, TrackPoint, Tracker, mean_speed, walk};
use windfall_base::Duration;
use windfall_video::streams::track::{TrackPlan, read_gpx};
use windfall_video::streams::{ArrivalTimes, TrackReport, check_protected};

use crate::exchange::{DestinationOptions, End, ListenOptions, completed};
use crate::exit::{CliError, Completion, Result};
use crate::json;
use crate::times::with_unit;
use crate::usage::{real, whole};

/// Send the positions of a walk, and compute the mean speed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    end: End<Send, Receive>,
}

/// Send the positions of a walk
#[derive(Debug, clap::Args)]
struct Send {
    #[command(flatten)]
    to: DestinationOptions,
    /// GPX file of the walk [default: a walk of 945 points at 1.56 m/s]
    #[arg(long, value_name = "FILE")]
    gpx: Option<PathBuf>,
    /// Time between two points of the walk
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = with_unit)]
    spacing: Duration,
    /// Time between two points on the wire
    #[arg(long, default_value = "5ms", value_name = "TIME", value_parser = with_unit)]
    interval: Duration,
    /// Bytes at the front of each point that must arrive undamaged. 2 protect the sign and the size
    /// of the latitude
    #[arg(long, value_name = "BYTES", value_parser = whole(0..=65_000_usize))]
    protected: Option<usize>,
}

/// Receive one walk, and print the mean speed
#[derive(Debug, clap::Args)]
struct Receive {
    #[command(flatten)]
    on: ListenOptions,
    /// Greatest plausible speed in m/s. The default is that of a sprinter
    #[arg(long, default_value_t = SPRINT, value_name = "SPEED", value_parser = speed)]
    bound: f64,
}

/// Reads a speed above 0.
fn speed(text: &str) -> std::result::Result<f64, String> {
    let refused = || "use a speed above 0, such as 10".to_owned();
    real(text).ok().filter(|speed| *speed > 0.0).ok_or_else(refused)
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.end {
        End::Send(args) => args.run(),
        End::Receive(args) => args.run(),
    }
}

impl Send {
    //= S0.50
    fn run(&self) -> Result {
        let points = match &self.gpx {
            Some(path) => {
                let text = crate::input::read_tree(path, "track")?;
                read_gpx(&text).map_err(|why| {
                    CliError::usage(format!("cannot read {}: {why}", path.display()))
                })?
            }
            None => walk(),
        };
        let speed = mean_speed(&points, self.spacing.as_secs_f64());
        let plan = TrackPlan { points: points.len() as u32, spacing: self.spacing, speed };
        let plan = plan.to_bytes().ok_or_else(|| {
            let text = format!("{} points {} apart make no walk", points.len(), self.spacing);
            CliError::new(text + ": use --spacing from 1us to a day")
        })?;
        self.protected.map_or(Ok(()), |_| self.to.check_sap("--protected"))?;
        check_protected(self.protected, TrackPoint::LEN).map_err(CliError::usage)?;
        let mut sender = self.to.connect()?;
        sender.plan(&plan)?;
        let point = |number: u32| points[number as usize].to_bytes().to_vec();
        sender.records(points.len() as u32, self.interval, self.protected.unwrap_or(0), point)?;
        sender.close()?;
        Ok(Completion::Success)
    }
}

impl Receive {
    fn run(&self) -> Result {
        let (plan, mut receiver) = self.on.accept(TrackPlan::LEN)?;
        let plan = TrackPlan::from_bytes(&plan).ok_or_else(|| {
            CliError::new("the sender is not `windfall track send`: start that command there")
        })?;
        let TrackPlan { points: count, spacing, speed } = plan;
        let mut tracker = Tracker::new(spacing.as_secs_f64(), self.bound);
        let mut arrivals = ArrivalTimes::default();
        let is_live = std::io::stderr().is_terminal() && !self.on.json;
        let mut arrived = 0_u64;
        receiver.expect_records()?;
        while let Some((number, bytes)) = receiver.next(TrackPoint::LEN)? {
            arrivals.record();
            arrived += 1;
            if let Some(mean) = tracker.take(number, &bytes)
                && is_live
            {
                let _ = write!(std::io::stderr(), "\r{arrived} of {count} points, {mean:.3} m/s ");
            }
        }
        if is_live {
            let _ = writeln!(std::io::stderr());
        }
        let tracker = &tracker;
        let arrivals = &arrivals;
        let report = TrackReport { points: count, arrived, speed, tracker, arrivals };
        json::print(self.on.json, json::TRACK, report.to_json(), &report.to_text())?;
        receiver.close();
        Ok(completed(Completion::Success))
    }
}
