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

/// Send a camera stream, or compare error control for it
///
/// The receiver measures how much of the stream is usable.
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
    /// Data rate of the stream. A bare number is in Mbps
    #[arg(long, value_name = "RATE", default_value = "4Mbps", help_heading = "Stream")]
    bit_rate: Rate,
    /// Pictures per second
    #[arg(long, value_name = "N", default_value = "30", value_parser = real,
          help_heading = "Stream")]
    frame_rate: f64,
    /// Data bytes in each datagram, 1 to 60000
    #[arg(long, value_name = "BYTES", default_value_t = 1_200, help_heading = "Stream",
          value_parser = whole(1..=60_000_u32))]
    datagram: u32,
    /// Duration of the stream, such as 10s
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Stream",
          value_parser = with_unit)]
    time: Duration,
}

/// Send a camera stream
#[derive(Debug, clap::Args)]
struct Send {
    /// Address of the receiver
    to: IpAddr,
    /// Port of the receiver
    #[arg(long, default_value_t = 5004, value_parser = whole(1..=u16::MAX))]
    port: u16,
    /// Protocol that carries the stream: udp, udplite (inside UDP), or sap (messages that may
    /// arrive damaged)
    #[arg(long, value_name = "PROTOCOL", default_value = "udp")]
    over: CameraProtocol,
    /// Time to stay after the last picture. It must exceed the delay of the link
    #[arg(long, value_name = "TIME", default_value = "1500ms",
          value_parser = with_unit)]
    wait: Duration,
    #[command(flatten)]
    stream: StreamOptions,
}

/// Receive one camera stream, and report delays and usable bytes
#[derive(Debug, clap::Args)]
struct Receive {
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// Port to listen on
    #[arg(long, default_value_t = 5004, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Protocol that carries the stream: udp, udplite (inside UDP), or sap (messages that may
    /// arrive damaged)
    #[arg(long, value_name = "PROTOCOL", default_value = "udp")]
    over: CameraProtocol,
    /// Age at which a datagram becomes useless
    #[arg(long, value_name = "TIME", default_value = "100ms",
          value_parser = with_unit)]
    deadline: Duration,
    /// Time without a datagram, after the last picture, that ends the stream
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
