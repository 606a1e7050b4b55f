//! `windfall stream`: datagrams whose every bit the receiver knows (S0.32, S0.33).

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;
use windfall_apps::streamer::{Comparison, StreamPlan};
use windfall_base::{Duration, Seed};
use windfall_channel_trace::ErrorTrace;
use windfall_channel_trace::error_trace::{Fault, TraceHeader};
use windfall_transfer::{ArrivalTimes, check_protected};

use crate::exchange::{DestinationOptions, End, ListenOptions, Output, completed};
use crate::exit::{CliError, Completion, Result};
use crate::record::command_line;
use crate::usage::whole;
use crate::{input, json};

/// Send datagrams whose every bit the receiver knows, and count losses and bit errors
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
    /// Bytes of each
    #[arg(long, default_value_t = 1024, value_parser = whole(1..=StreamPlan::MAX_SIZE))]
    size: u32,
    /// The counter of the first datagram
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u32::MAX))]
    seed: u32,
    /// Bytes at the front of each that must arrive undamaged
    #[arg(long, value_name = "BYTES", value_parser = whole(0..=65_000_usize))]
    protected: Option<usize>,
    /// Time between datagrams; a bare number is in ms
    #[arg(long, default_value = "0s", value_name = "TIME")]
    interval: Duration,
}

/// Wait for one stream, and report its losses and bit errors
#[derive(Debug, clap::Args)]
struct Receive {
    #[command(flatten)]
    on: ListenOptions,
    /// Write the lost datagrams and the inverted bits as an error trace
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
            CliError::new("the sender is no windfall stream: its plan cannot be read")
        })?;
        let budget = input::budget()?;
        let (mut comparison, mut arrivals) = (Comparison::new(plan), ArrivalTimes::default());
        receiver.expect_records()?;
        while let Some((number, data)) = receiver.next(plan.size as usize)? {
            arrivals.record();
            comparison.take(number, &data);
            budget.check(comparison.memory())?;
        }
        if let Some(output) = output {
            output.write(trace(plan, &comparison).to_text().as_bytes())?;
        }
        let completion = self.print(plan, &comparison, (&arrivals, receiver.suspect()))?;
        receiver.close();
        Ok(completed(completion))
    }

    fn print(
        &self,
        plan: StreamPlan,
        comparison: &Comparison,
        how: (&ArrivalTimes, u64),
    ) -> Result {
        let (arrivals, suspect) = how;
        let figures = comparison.figures();
        let mut out = std::io::stdout();
        let (gap, variance) = arrivals.interarrival().unzip();
        let of_arrivals = |share: f64| (figures.arrived > 0).then_some(share);
        let of_damaged = |share: f64| (figures.damaged > 0).then_some(share);
        if self.on.json {
            let report = json!({
                "seed": plan.seed, "size": plan.size,
                "sent": figures.sent, "arrived": figures.arrived, "lost": figures.lost,
                "damaged": figures.damaged, "suspect": suspect,
                "reordered": figures.reordered,
                "duplicates": figures.repeated, "unknown": figures.foreign,
                "bit_errors": figures.wrong_bits,
                "bit_error_rate": of_arrivals(figures.bit_error_rate),
                "bit_error_rate_damaged": of_damaged(figures.bit_error_rate_damaged),
                "correct_bits": of_arrivals(figures.correct_bits),
                "loss": figures.loss, "loss_or_damage": figures.loss_or_damage,
                "seconds": arrivals.seconds(),
                "gap_mean_seconds": gap, "gap_variance_square_seconds": variance,
            });
            out.write_all(json::line(json::STREAM, report).as_bytes())?;
            return Ok(Completion::Success);
        }
        writeln!(
            out,
            "{} of {} datagrams arrived in {:.3} s, {} of them damaged, {} out of order",
            figures.arrived,
            figures.sent,
            arrivals.seconds(),
            figures.damaged,
            figures.reordered
        )?;
        if let Some(rate) = of_arrivals(figures.bit_error_rate) {
            write!(out, "bit error rate {rate:.3e}")?;
            if let Some(rate) = of_damaged(figures.bit_error_rate_damaged) {
                write!(out, ", in damaged datagrams {rate:.3e}")?;
            }
            writeln!(out, "; {:.4} % of the bits are correct", 100.0 * figures.correct_bits)?;
        }
        writeln!(
            out,
            "lost {:.4} %, lost or damaged {:.4} %",
            100.0 * figures.loss,
            100.0 * figures.loss_or_damage
        )?;
        Ok(Completion::Success)
    }
}

/// Returns the outcome of each datagram as an error trace.
fn trace(plan: StreamPlan, comparison: &Comparison) -> ErrorTrace {
    let mut trace = ErrorTrace::new(TraceHeader {
        seed: Some(Seed(plan.seed.into())),
        frame_length: Some(plan.size),
        workload: command_line(),
        ..TraceHeader::default()
    });
    for fate in comparison.fates() {
        match fate {
            None => trace.push(Fault::Lost, 1),
            Some([]) => trace.push_ok(1),
            Some(bits) => {
                trace.push(Fault::Damaged { truncated: None, inverted: bits.into() }, 1);
            }
        }
    }
    trace
}
