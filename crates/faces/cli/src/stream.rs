//! `windfall stream`: datagrams whose every bit the receiver knows (S0.32, S0.33).

use std::path::PathBuf;

use windfall_apps::streamer::{Comparison, StreamPlan};
use windfall_base::Duration;
use windfall_video::streams::{ArrivalTimes, StreamReport, check_protected};

use crate::exchange::{DestinationOptions, End, ListenOptions, Output, completed};
use crate::exit::{CliError, Completion, Result};
use crate::record::command_line;
use crate::times::with_unit;
use crate::usage::whole;
use crate::{input, json};

/// Send known datagrams, and count losses and bit errors
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    end: End<Send, Receive>,
}

/// Send a stream
#[derive(Debug, clap::Args)]
struct Send {
    #[command(flatten)]
    to: DestinationOptions,
    /// Number of datagrams
    #[arg(long, default_value_t = 10_000, value_parser = whole(1..=StreamPlan::MAX_COUNT))]
    datagrams: u32,
    /// Size of each datagram in bytes
    #[arg(long, default_value_t = 1024, value_parser = whole(1..=StreamPlan::MAX_SIZE))]
    size: u32,
    /// Counter of the first datagram
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u32::MAX))]
    seed: u32,
    /// Bytes at the front of each datagram that must arrive undamaged
    #[arg(long, value_name = "BYTES", value_parser = whole(0..=65_000_usize))]
    protected: Option<usize>,
    /// Time between datagrams
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = with_unit)]
    interval: Duration,
}

/// Receive one stream, and report its losses and bit errors
#[derive(Debug, clap::Args)]
struct Receive {
    #[command(flatten)]
    on: ListenOptions,
    /// Write lost datagrams and inverted bits to this file, as an error trace
    #[arg(long, value_name = "FILE")]
    error_trace: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.end {
        End::Send(args) => args.run(),
        End::Receive(args) => args.run(),
    }
}

impl Send {
    fn run(&self) -> Result {
        let plan = StreamPlan { seed: self.seed, count: self.datagrams, size: self.size };
        self.protected.map_or(Ok(()), |_| self.to.check_sap("--protected"))?;
        check_protected(self.protected, plan.size as usize).map_err(CliError::usage)?;
        let mut sender = self.to.connect()?;
        sender.plan(&plan.to_bytes())?;
        sender.records(plan.count, self.interval, self.protected.unwrap_or(0), |n| {
            plan.datagram(n)
        })?;
        sender.close()?;
        Ok(Completion::Success)
    }
}

impl Receive {
    //= S0.32
    fn run(&self) -> Result {
        let output = self.error_trace.as_deref().map(Output::open).transpose()?;
        let (plan, mut receiver) = self.on.accept(StreamPlan::LEN)?;
        let plan = StreamPlan::from_bytes(&plan).ok_or_else(|| {
            CliError::new("the sender is not `windfall stream send`: start that command there")
        })?;
        let budget = input::budget()?;
        let mut comparison = Comparison::new(plan);
        let mut arrivals = ArrivalTimes::default();
        receiver.expect_records()?;
        while let Some((number, data)) = receiver.next(plan.size as usize)? {
            arrivals.record();
            comparison.take(number, &data);
            budget.check(comparison.memory())?;
        }
        let comparison = &comparison;
        let arrivals = &arrivals;
        let report = StreamReport { plan, comparison, arrivals, suspect: receiver.suspect() };
        if let Some(output) = output {
            output.write(report.trace(command_line()).to_text().as_bytes())?;
        }
        json::print(self.on.json, json::STREAM, report.to_json(), &report.to_text())?;
        receiver.close();
        Ok(completed(Completion::Success))
    }
}
