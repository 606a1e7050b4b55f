//! `windfall track`: positions of a walker, and the speed that the receiver computes from them.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use windfall_apps::tracker::{SPRINT, TrackPoint, Tracker, mean_speed, walk};
use windfall_base::Duration;

use crate::exchange::{DestinationOptions, End, ListenOptions};
use crate::exit::{CliError, Completion, Result};
use crate::json;
use crate::transfer::{self, ArrivalTimes, completed};
use crate::usage::{real, whole};

/// Send positions of a walker, and compute the mean speed from those that arrive
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
    /// A GPX file [default: a walk of 945 points at 1.56 m/s]
    #[arg(long, value_name = "FILE")]
    gpx: Option<PathBuf>,
    /// Time between two points of the walk; a bare number is in ms
    #[arg(long, default_value = "1s", value_name = "TIME")]
    spacing: Duration,
    /// Time between two points on the wire; a bare number is in ms
    #[arg(long, default_value = "5ms", value_name = "TIME")]
    interval: Duration,
    /// Bytes at the front of each point that must arrive undamaged: 2 protect the sign and the size
    /// of the latitude
    #[arg(long, value_name = "BYTES", value_parser = whole(0..=65_000_usize))]
    protected: Option<usize>,
}

/// Wait for one walk, and print the mean speed
#[derive(Debug, clap::Args)]
struct Receive {
    #[command(flatten)]
    on: ListenOptions,
    /// The greatest plausible speed, in m/s; the default is a sprinter's
    #[arg(long, default_value_t = SPRINT, value_name = "SPEED", value_parser = speed)]
    bound: f64,
}

/// Reads a speed above 0.
fn speed(text: &str) -> std::result::Result<f64, String> {
    let refused = || "use a speed above 0, such as 10".to_owned();
    real(text).ok().filter(|speed| *speed > 0.0).ok_or_else(refused)
}

/// The plan of a walk: points (4 bytes), microseconds between them (8), the true speed (8).
const PLAN: usize = 20;
/// The most points that a receiver believes in, the longest time between two of them in
/// microseconds (a day), and the greatest speed in m/s (that of light).
const MOST: (u32, u64, f64) = (100_000_000, 86_400_000_000, 299_792_458.0);

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
            Some(path) => read_gpx(path)?,
            None => walk(),
        };
        let speed = mean_speed(&points, self.spacing.as_secs_f64());
        let mut plan = Vec::with_capacity(PLAN);
        plan.extend((points.len() as u32).to_be_bytes());
        plan.extend(self.spacing.as_micros().to_be_bytes());
        plan.extend(speed.to_be_bytes());
        if read_plan(&plan).is_none() {
            let text = format!("{} points {} apart make no walk", points.len(), self.spacing);
            return Err(CliError::new(text + ": use --spacing from 1us to a day"));
        }
        self.protected.map_or(Ok(()), |_| self.to.check_sap("--protected"))?;
        transfer::check_protected(self.protected, TrackPoint::LEN)?;
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
        let (plan, mut receiver) = self.on.accept(PLAN)?;
        let (count, spacing, speed) = read_plan(&plan).ok_or_else(|| {
            CliError::new("the sender is no windfall track: its plan cannot be read")
        })?;
        let mut tracker = Tracker::new(spacing, self.bound);
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
        let completion = self.print(&tracker, (count, arrived, speed), &arrivals)?;
        receiver.close();
        Ok(completed(completion))
    }

    fn print(&self, tracker: &Tracker, counts: (u32, u64, f64), arrivals: &ArrivalTimes) -> Result {
        let (count, arrived, speed) = counts;
        let mean = tracker.mean();
        // Of a walker who stands there is no share.
        let error = mean.map(|mean| (mean - speed).abs() / speed).filter(|it| it.is_finite());
        let (gap, variance) = arrivals.interarrival().unzip();
        let mut out = std::io::stdout();
        if self.on.json {
            let report = json!({
                "points": count, "arrived": arrived, "taken": tracker.taken,
                "implausible": tracker.implausible, "mean_speed_mps": mean,
                "true_speed_mps": speed, "error": error, "seconds": arrivals.seconds(),
                "gap_mean_seconds": gap, "gap_variance_square_seconds": variance,
            });
            out.write_all(json::line(json::TRACK, report).as_bytes())?;
            return Ok(Completion::Success);
        }
        writeln!(out, "{arrived} of {count} points, {} implausible", tracker.implausible)?;
        let Some(mean) = mean else {
            writeln!(out, "too few points for a speed")?;
            return Ok(Completion::Success);
        };
        let off = error.map(|error| format!(": {:.2} % off", 100.0 * error)).unwrap_or_default();
        writeln!(out, "mean speed {mean:.3} m/s, in truth {speed:.3} m/s{off}")?;
        Ok(Completion::Success)
    }
}

/// Points, seconds between them, and the true speed; `None` if no walk is like this.
fn read_plan(plan: &[u8]) -> Option<(u32, f64, f64)> {
    let (most, longest, light) = MOST;
    let (count, rest) = plan.split_first_chunk::<4>()?;
    let (micros, speed) = rest.split_first_chunk::<8>()?;
    let speed: [u8; 8] = speed.try_into().ok()?;
    let (count, micros) = (u32::from_be_bytes(*count), u64::from_be_bytes(*micros));
    let speed = f64::from_be_bytes(speed);
    let is_walk = (1..=most).contains(&count)
        && (1..=longest).contains(&micros)
        && (0.0..=light).contains(&speed);
    is_walk.then(|| (count, Duration::from_micros(micros).as_secs_f64(), speed))
}

/// The track points of a GPX file, in their order.
fn read_gpx(path: &Path) -> Result<Vec<TrackPoint>> {
    let cannot = |what: &str| CliError::usage(format!("cannot read {}: {what}", path.display()));
    let text = crate::input::read_tree(path, "track")?;
    let document = roxmltree::Document::parse(&text).map_err(|error| {
        let at = error.pos();
        cannot(&format!("it is no GPX: no XML from line {}, column {} on", at.row, at.col))
    })?;
    let mut points = Vec::new();
    for node in document.descendants().filter(|node| node.has_tag_name_local("trkpt")) {
        let number = |name: &str| node.attribute(name).and_then(|text| text.parse().ok());
        let point = number("lat").zip(number("lon"));
        let point = point.map(|(latitude, longitude)| TrackPoint { latitude, longitude });
        let at = document.text_pos_at(node.range().start);
        points.push(point.and_then(|point| TrackPoint::from_bytes(&point.to_bytes())).ok_or_else(
            || cannot(&format!("the point at {at} has no lat and lon that are degrees")),
        )?);
    }
    if points.len() < 2 {
        return Err(cannot("it has fewer than two track points (trkpt)"));
    }
    Ok(points)
}

/// Names without their namespace, which differs between versions of GPX.
trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for roxmltree::Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}
