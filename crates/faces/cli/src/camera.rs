//! `windfall camera`: a camera's stream whose every bit the receiver knows, and schemes of error
//! control compared by it.

mod compare;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use windfall_base::{Duration, Rate};
use windfall_video::camera::{CameraListening, CameraNews, CameraPlan, CameraProtocol};

use crate::exchange::completed;
use crate::exit::{CliError, Completion, Result, tell};
use crate::json;
use crate::times::with_unit;
use crate::usage::{real, whole};

/// Send the stream of a camera, measure what is usable of it, and compare schemes of error control
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Send(Send),
    Receive(Receive),
    Compare(Box<compare::Args>),
}

/// Options that describe the stream.
#[derive(Debug, clap::Args)]
struct StreamOptions {
    /// Rate of the stream's data; a bare number is in Mbps
    #[arg(long, value_name = "RATE", default_value = "4Mbps", help_heading = "Stream")]
    bit_rate: Rate,
    /// Pictures a second
    #[arg(long, value_name = "N", default_value = "30", value_parser = real,
          help_heading = "Stream")]
    frame_rate: f64,
    /// Bytes of data in a datagram
    #[arg(long, value_name = "BYTES", default_value_t = 1_200, help_heading = "Stream",
          value_parser = whole(1..=60_000_u32))]
    datagram: u32,
    /// Length of the stream
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Stream",
          value_parser = with_unit)]
    time: Duration,
}

/// Send a camera's stream
#[derive(Debug, clap::Args)]
struct Send {
    /// Address of the receiver
    to: IpAddr,
    /// Port of the receiver
    #[arg(long, default_value_t = 5004, value_parser = whole(1..=u16::MAX))]
    port: u16,
    /// Protocol of the stream: udp, udplite (in UDP) or sap, as approximate messages
    #[arg(long, value_name = "PROTOCOL", default_value = "udp")]
    over: CameraProtocol,
    /// Time to stay after the last picture, longer than the link delays
    #[arg(long, value_name = "TIME", default_value = "1500ms",
          value_parser = with_unit)]
    wait: Duration,
    #[command(flatten)]
    stream: StreamOptions,
}

/// Wait for one camera's stream, and report delays and usable bytes
#[derive(Debug, clap::Args)]
struct Receive {
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = 5004, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Protocol of the stream: udp, udplite (in UDP) or sap, as approximate messages
    #[arg(long, value_name = "PROTOCOL", default_value = "udp")]
    over: CameraProtocol,
    /// Age from which on a datagram is of no use
    #[arg(long, value_name = "TIME", default_value = "100ms",
          value_parser = with_unit)]
    deadline: Duration,
    /// End when nothing has come for so long after the last picture
    #[arg(long, value_name = "TIME", default_value = "1s",
          value_parser = with_unit)]
    wait: Duration,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.command {
        Command::Send(args) => args.run(),
        Command::Receive(args) => args.run(),
        Command::Compare(args) => compare::run(args),
    }
}

impl StreamOptions {
    fn plan(&self) -> Result<CameraPlan> {
        let bits = self.bit_rate.as_bps() as f64;
        CameraPlan::of_rate(self.frame_rate, bits, self.time, self.datagram)
            .map_err(CliError::usage)
    }
}

impl Send {
    fn run(&self) -> Result {
        let to = SocketAddr::new(self.to, self.port);
        windfall_video::camera::send(self.over, &self.stream.plan()?, to, self.wait)?;
        Ok(Completion::Success)
    }
}

impl Receive {
    fn run(&self) -> Result {
        let on = SocketAddr::new(self.on, self.port);
        let protocol = self.over;
        let deadline = self.deadline;
        let wait = self.wait;
        let listening = CameraListening { protocol, on, deadline, wait };
        let report = windfall_video::camera::receive(&listening, &mut |news| match news {
            CameraNews::Waiting(at) => tell(format!("waiting on {at}")),
            CameraNews::Begun(count) => tell(format!("a stream of {count} datagrams has begun")),
        })?;
        json::print(self.json, json::CAMERA, report.to_json(), &report.to_text(self.deadline))?;
        Ok(completed(Completion::Success))
    }
}
