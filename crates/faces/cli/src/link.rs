//! `windfall link`: a network device over a serial line, or over datagrams.

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windfall_base::{Duration, Seed};
use windfall_live::line::LineRecord;
use windfall_live::{LineAddress, Signals};
use windfall_scenario::{Direction, ScenarioOptions, Setting, Settings as _};
use windfall_serial::{LineFraming, LineOutcome, LinePlan, LineReport, ModemCall};
use windfall_system::as_caller;

use crate::exit::{CliError, Completion, Result, tell};
use crate::face::{OptionGroup, Options};
use crate::input;
use crate::options::of_scenario;
use crate::times::with_unit;
use crate::usage::whole;

/// Connect two machines over a serial line or UDP
///
/// The line may damage packets. With COMMAND, the network device is in a network namespace of its
/// own, and the command runs there. Without COMMAND, the device is on the host until you interrupt
/// the program.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Line to use: serial:DEVICE, serial:DEVICE,SPEED with the speed in bit/s, udp:HOST:PORT, or
    /// udp::PORT to wait for the peer
    #[arg(long, value_name = "LINE")]
    over: LineAddress,
    /// Framing of the line. Both ends need the same one
    #[arg(long, value_enum, default_value = "ppp", value_name = "FRAMING")]
    framing: FramingName,
    /// IPv4 address of this end [default: the peer chooses it]
    #[arg(long, value_name = "ADDRESS", value_parser = host)]
    #[arg(help_heading = "Network device")]
    address: Option<Ipv4Addr>,
    /// IPv4 address of the peer [default: the peer chooses it]
    #[arg(long, value_name = "ADDRESS", value_parser = host)]
    #[arg(help_heading = "Network device")]
    peer: Option<Ipv4Addr>,
    /// With --framing rlp, wait for the peer to connect. Exactly one end must wait
    #[arg(long)]
    called: bool,
    /// Dial this number first, with the modem on the line
    #[arg(long, value_name = "NUMBER", value_parser = ModemCall::new)]
    dial: Option<ModemCall>,
    /// Name of the network device
    #[arg(long, value_name = "NAME", default_value = "wf0", value_parser = device_name)]
    #[arg(help_heading = "Network device")]
    device: String,
    /// Longest packet in bytes, 576 to 9000
    #[arg(long, value_name = "BYTES", default_value_t = 1_500)]
    #[arg(value_parser = whole(576..=9_000_u16))]
    #[arg(help_heading = "Network device")]
    mtu: u16,
    /// Time to wait for the peer [default: forever]
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    wait: Option<Duration>,
    /// Time after which PPP repeats a request
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = restart)]
    restart: Duration,
    /// Seed of the random choices of PPP [default: different each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Record the bytes on the line into sent.bytes and received.bytes in this folder
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    link: Options<OfLine>,
    /// Program and its arguments, to run over the line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The framing of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FramingName {
    /// PPP: packets with any damage are dropped
    Ppp,
    /// PPP Lite: damaged packets are delivered
    PppLite,
    /// PPP over RLP, which retransmits frames of 24 bytes
    Rlp,
    /// Windfall's own link; `--help` lists its options
    Link,
}

/// The settings of a link that are its sender's and receiver's own.
#[derive(Debug)]
pub(crate) struct OfLine;

impl OptionGroup for OfLine {
    type Object = Direction;
    const PREFIX: &'static str = "";
    const HEADING: &'static str = "With --framing link";
    const IS_HIDDEN: bool = true;

    fn has(setting: &Setting<Direction>) -> bool {
        let names = "policy padded combine increments arq fec accept-damaged queue";
        names.split(' ').any(|name| name == setting.name)
    }

    fn remark(_setting: &Setting<Direction>) -> &'static str {
        ""
    }
}

fn device_name(text: &str) -> std::result::Result<String, String> {
    let is_name = (1..16).contains(&text.len())
        && !text.starts_with('-')
        && ![".", "..", "lo"].contains(&text)
        && !text.contains(|letter: char| "/%:".contains(letter) || letter.is_whitespace());
    let advice = "use up to 15 letters without /, % and :, such as wf0";
    if is_name { Ok(text.to_owned()) } else { Err(advice.into()) }
}

/// Reads the time of a timer.
fn restart(text: &str) -> std::result::Result<Duration, String> {
    let time = with_unit(text)?;
    let is_fit = (Duration::from_millis(10)..=Duration::from_secs(600)).contains(&time);
    if is_fit { Ok(time) } else { Err("use a time from 10ms to 600s".to_owned()) }
}

/// Reads the address of one host on a link.
fn host(text: &str) -> std::result::Result<Ipv4Addr, String> {
    let advice = || "use the IPv4 address of a host, such as 10.77.0.1".to_owned();
    let address: Ipv4Addr = text.parse().map_err(|_| advice())?;
    let is_host = !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !address.is_broadcast();
    if is_host { Ok(address) } else { Err(advice()) }
}

pub(crate) fn run(args: &Args) -> Result {
    if args.address.is_some() && args.address == args.peer {
        return Err(CliError::usage("--address and --peer are the same: give each end its own"));
    }
    if args.framing == FramingName::Link && (args.address.is_none() || args.peer.is_none()) {
        let why = "--framing link negotiates no addresses: give both --address and --peer";
        return Err(CliError::usage(why));
    }
    let plan = LinePlan {
        address: args.over.clone(),
        framing: args.framing()?,
        call: args.dial.clone(),
        local: args.address,
        peer: args.peer,
        mtu: args.mtu,
        device: args.device.clone(),
        wait: args.wait,
        restart: args.restart,
        seed: args.seed.map_or_else(random_seed, Seed),
        record: args.record.as_deref().map(files_in).transpose()?,
    };
    let signals = Signals::take_over()?;
    let quiet = args.quiet;
    let report = move |report: &LineReport| {
        if !quiet {
            tell(report);
        }
    };
    let Some(outcome) = windfall_serial::run(&plan, args.command.clone(), &signals, report)? else {
        tell("told to end before the peer came: the command was not started");
        return Ok(Completion::Negative);
    };
    if !quiet {
        sum_up(&outcome);
    }
    Ok(Completion::Program(outcome.status))
}

/// Makes the files for the bytes of a line.
fn files_in(folder: &Path) -> Result<LineRecord> {
    windfall_system::files::make_folder(folder)
        .map_err(|error| input::cannot_write(folder, &error))?;
    let file = |name: &str| {
        let path = folder.join(name);
        let opened = as_caller(&path, || File::create(&path));
        opened.map(Arc::new).map_err(|error| input::cannot_write(&path, &error))
    };
    Ok(LineRecord { sent: file("sent.bytes")?, received: file("received.bytes")? })
}

impl Args {
    fn framing(&self) -> Result<LineFraming> {
        if self.called && self.framing != FramingName::Rlp {
            return Err(CliError::usage("--called changes nothing without --framing rlp"));
        }
        let is_set = Direction::TABLE.iter().find(|it| it.text(&self.link.0).is_some());
        if let Some(set) = is_set.filter(|_| self.framing != FramingName::Link) {
            let option = set.option();
            return Err(CliError::usage(format!(
                "--{option} changes nothing without --framing link"
            )));
        }
        Ok(match self.framing {
            FramingName::Ppp => LineFraming::Ppp,
            FramingName::PppLite => LineFraming::PppLite,
            FramingName::Rlp => LineFraming::Rlp { calls: !self.called },
            FramingName::Link => self.link_framing()?,
        })
    }
    /// The link of a pipe that is as the options say, and as fast as the line.
    fn link_framing(&self) -> Result<LineFraming> {
        let mut options = ScenarioOptions::default();
        options.link.both = self.link.0.clone();
        if let Some(characters) = self.over.characters() {
            let rate = Direction::row(|it| &it.rate);
            let bits = format!("{}bps", 8 * characters);
            rate.set(&mut options.link.both, &bits).map_err(CliError::new)?;
        }
        let scenario = options.scenario();
        scenario.check().map_err(of_scenario)?;
        let budget = input::budget()?;
        // The table of a policy, if one is named.
        let mut read = |name: &str| input::read_named(Path::new(name), &budget);
        let topology = scenario.topology(0, ("", ""), &mut read).map_err(of_scenario)?;
        let mut interface = topology.network.links[0].ends[0].interface.clone();
        interface.mtu = self.mtu.into();
        Ok(LineFraming::Link(Box::new(interface)))
    }
}

/// A seed that no other run has: two ends with the same one would take each other for an echo.
fn random_seed() -> Seed {
    Seed(RandomState::new().build_hasher().finish())
}

fn sum_up(outcome: &LineOutcome) {
    let LineOutcome { duration, counters, drops, .. } = outcome;
    let dropped: Vec<_> =
        drops.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
    let dropped = if dropped.is_empty() { "0".to_owned() } else { dropped.join(", ") };
    tell(format_args!(
        "{:.1} s: {} packets sent, {} received, {} of them damaged, {dropped} dropped; \
         {} bytes to the line, {} from it",
        duration.as_secs_f64(),
        counters.sent,
        counters.received,
        counters.damaged,
        counters.line_sent,
        counters.line_received,
    ));
}
