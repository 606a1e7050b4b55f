//! `windfall trace`: error traces, from the model to the picture and back.

mod compare;
mod foreign;
mod rates;

use std::borrow::Cow;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use windfall_base::{Duration, MemoryBudget, Seed};
use windfall_files::pcapng::read as read_capture;
use windfall_files::traces::error_trace::{BitOrder, Index, TraceHeader};
use windfall_files::traces::{ErrorTrace, gunzip_within};
use windfall_scenario::{
    AppliesTo, DEFAULT_SEED, Direction, ENVIRONMENT_FRAMES, Get, Setting, Settings,
};
use windfall_trace::convert::{self, ConvertError, LossTiming};
use windfall_trace::fit::{self, Fit, FitLevel, Steps};
use windfall_trace::record::{Captured, record, record_known};
use windfall_trace::{Statistics, synthesize_bits, synthesize_frames};

use crate::exit::{CliError, Completion, Result, tell};
use crate::face::{OptionGroup, Options};
use crate::options::as_options;
use crate::record::command_line;
use crate::times::with_unit;
use crate::usage::whole;
use crate::{input, json};

/// Record, make, inspect and convert traces of a link
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Synth(Box<Synth>),
    Show(Show),
    Fit(FitArgs),
    Convert(Convert),
    Record(Record),
    Compare(compare::Compare),
    Changes(rates::Changes),
    Rates(rates::Rates),
}

/// Make an error trace from a model
///
/// Several models act one after the other, in the order of this list.
#[derive(Debug, clap::Args)]
struct Synth {
    /// Number of frames
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "environment",
          value_parser = whole(1..=100_000_000_u64))]
    frames: u64,
    /// Length of a frame in bytes, 1 to 65535
    #[arg(long, value_name = "BYTES", default_value_t = 1500, conflicts_with = "environment",
          value_parser = whole(1..=65_535_u32))]
    length: u32,
    /// Make a stream of N bits instead of frames
    #[arg(long, value_name = "N", conflicts_with_all = ["frames", "length", "environment"],
          value_parser = whole(1..=1_000_000_000_000_u64))]
    bits: Option<u64>,
    #[command(flatten)]
    models: Options<Models>,
    /// Seed of all random draws
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_SEED)]
    seed: Seed,
    #[command(flatten)]
    output: Output,
}

/// The error models of a direction as options; the trace of an environment is all there is.
#[derive(Debug)]
struct Models;

impl Models {
    /// The names of the settings that are no models, and stand beside them.
    fn of_whole_air() -> [&'static str; 2] {
        [Direction::row(|it| &it.environment).name, Direction::row(|it| &it.range).name]
    }
}

impl OptionGroup for Models {
    type Object = Direction;
    const PREFIX: &'static str = "";
    const HEADING: &'static str = "Models";
    const IS_HIDDEN: bool = false;

    fn has(setting: &Setting<Direction>) -> bool {
        matches!(setting.metadata, Some(AppliesTo::Errors(_)))
            || Self::of_whole_air().contains(&setting.name)
    }

    fn conflicts(setting: &Setting<Direction>) -> Vec<String> {
        let others = Direction::TABLE.iter().filter(|it| Self::has(it) && it.name != setting.name);
        if setting.name == Direction::row(|it| &it.environment).name {
            return others.map(|it| it.name.to_owned()).collect();
        }
        Vec::new()
    }

    /// A trace is of no link.
    fn remark(_: &Setting<Direction>) -> &'static str {
        ""
    }
}

/// Print the statistics of a trace and a sketch of it
#[derive(Debug, clap::Args)]
struct Show {
    /// Trace file, - for the standard input
    trace: PathBuf,
    /// Print the statistics as JSON
    #[arg(long)]
    json: bool,
    /// Draw the trace into this SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Fit models to a trace: independent, Gilbert, Gilbert-Elliott
#[derive(Debug, clap::Args)]
struct FitArgs {
    /// Trace file, - for the standard input
    trace: PathBuf,
    /// Events that the models describe [default: loss, or bit if the trace has no frames]
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelName>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LevelName {
    /// A frame: lost or not
    Loss,
    /// A frame: arrived whole or not
    Frame,
    /// A bit of the frames that arrived: inverted or not
    Bit,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BitOrderName {
    /// The most significant bit
    Msb,
    /// The least significant bit, as 802.11 does
    Lsb,
}

/// Convert a trace from or to another format
///
/// In formats that record only losses, a damaged frame counts as lost.
#[derive(Debug, clap::Args)]
struct Convert {
    /// File to read, - for the standard input
    input: PathBuf,
    /// Format of the input [default: detected]
    #[arg(long, value_name = "FORMAT")]
    from: Option<Format>,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value = "trace")]
    to: Format,
    /// Time between frames, for formats that record times
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = with_unit)]
    interval: Duration,
    /// Seed of random draws, for formats that give probabilities
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_SEED)]
    seed: Seed,
    #[command(flatten)]
    foreign: foreign::Foreign,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Windfall's error trace
    Trace,
    /// A line for each frame: 0 arrived, 1 lost
    LossList,
    /// A loss configuration of netem-trace, in JSON
    NetemTrace,
    /// JSON lines of devourer: rx.frame and rx.corrupt
    Devourer,
    /// Read only: a line for each received frame, with its sequence number, as CRAWDAD has them
    Sequence,
    /// Read only: a line for each frame, with its signal in a column that the first line names
    Signal,
    /// Read only: a configuration of wmediumd, with error probabilities or signal-to-noise ratios
    Wmediumd,
}

/// Make an error trace from packet captures of a link
///
/// It reads the captures of both ends, or only that of the receiver. Packets are matched by the
/// names that --pcap gave them, otherwise by their likeness. The trace shows the link after its
/// drops and repairs. To record the channel itself, run with --arq none --accept-damaged.
#[derive(Debug, clap::Args)]
struct Record {
    /// Capture of the sending end, pcapng or pcap
    #[arg(long, value_name = "FILE", required_unless_present = "payload_seed")]
    sent: Option<PathBuf>,
    /// Instead of --sent: seed of the run whose `spray` or `cbr` application sent the datagrams
    #[arg(long, value_name = "NUMBER", conflicts_with = "sent")]
    payload_seed: Option<Seed>,
    /// Capture of the receiving end, pcapng or pcap
    #[arg(long, value_name = "FILE")]
    received: PathBuf,
    /// Number of the interface in the capture of the sender, if it has several
    #[arg(long, value_name = "NUMBER", requires = "sent")]
    sent_interface: Option<u32>,
    /// Number of the interface in the capture of the receiver, if it has several
    #[arg(long, value_name = "NUMBER")]
    received_interface: Option<u32>,
    /// IP address of the sender, if the captures record no directions (pcap does not)
    #[arg(long, value_name = "ADDRESS", requires = "sent")]
    sender: Option<std::net::IpAddr>,
    /// Bit of each byte that was sent first: msb, or lsb as in 802.11
    #[arg(long, value_name = "ORDER", default_value = "msb")]
    bit_order: BitOrderName,
    /// Description of the traffic, for the header of the trace
    #[arg(long, value_name = "TEXT", default_value = "")]
    workload: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, clap::Args)]
struct Output {
    /// File to write, compressed if its name ends in .gz [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.action {
        Action::Synth(args) => synth(args),
        Action::Show(args) => show(args),
        Action::Fit(args) => fit(args),
        Action::Convert(args) => convert(args),
        Action::Compare(args) => compare::compare(args),
        Action::Record(args) => record_captures(args),
        Action::Changes(args) => rates::changes(args),
        Action::Rates(args) => rates::rates(args),
    }
}

fn synth(args: &Synth) -> Result {
    let models = &args.models.0;
    if let Some(environment) = models.environment.value() {
        return args.output.write_trace(&environment.synthesize(args.seed, ENVIRONMENT_FRAMES));
    }
    let longest = args.bits.map_or(args.length, |_| u32::MAX);
    let checked = models.check_range(models.has_bit_errors(), longest);
    checked.map_err(|message| CliError::usage(as_options(&message)))?;
    let config = models.errors();
    let workload = command_line();
    let trace = match args.bits {
        Some(bits) => synthesize_bits(&config, args.seed, bits, &workload)?,
        None => synthesize_frames(&config, args.seed, args.frames, args.length, &workload),
    };
    args.output.write_trace(&trace)
}

fn show(args: &Show) -> Result {
    let trace = read_trace(&args.trace)?;
    let statistics = Statistics::of(&trace);
    if let Some(path) = &args.svg {
        let svg = windfall_report::trace_chart(&trace, &statistics).to_svg();
        windfall_system::files::write(path, svg.as_bytes())
            .map_err(|error| cannot("write", path, &error))?;
    }
    if args.json {
        let report = serde_json::json!({ "header": trace.header(), "statistics": statistics });
        return print(json::line(json::TRACE_STATISTICS, report).as_bytes());
    }
    let header = serde_json::to_string(trace.header())?;
    print(format!("{header}\n{}", statistics.to_text()).as_bytes())
}

fn fit(args: &FitArgs) -> Result {
    let trace = read_trace(&args.trace)?;
    let level = match args.level {
        None if trace.header().index == Index::Bit => FitLevel::Bit,
        None | Some(LevelName::Loss) => FitLevel::Loss,
        Some(LevelName::Frame) => FitLevel::Frame,
        Some(LevelName::Bit) => FitLevel::Bit,
    };
    let at = |error| CliError::new(format!("{}: {error}", args.trace.display()));
    let report = Fit::of(&Steps::of(&trace, level).map_err(at)?).map_err(at)?.report(level);
    if args.json {
        let report = serde_json::to_value(&report)?;
        return print(json::line(json::TRACE_FIT, report).as_bytes());
    }
    let mut text = report.to_text();
    if level == FitLevel::Loss && fit::holds_inverted_bits(&trace) {
        text += "The trace holds inverted bits too: --level bit fits those.\n";
    }
    print(text.as_bytes())
}

fn convert(args: &Convert) -> Result {
    let mut budget = input::budget()?;
    let bytes = unzipped(&args.input, &mut budget)?;
    let at = |error: ConvertError| CliError::new(format!("{}: {error}", args.input.display()));
    let text = || convert::text(&bytes);
    let trace = match args.from.unwrap_or_else(|| guess(&bytes)) {
        Format::Trace => {
            ErrorTrace::from_bytes_within(&bytes, &mut budget).map_err(ConvertError::from)
        }
        Format::LossList => text().and_then(|text| convert::from_loss_list(text, &mut budget)),
        Format::Devourer => text().and_then(|text| convert::from_devourer(text, &mut budget)),
        Format::NetemTrace => {
            let timing = LossTiming { interval: args.interval, seed: args.seed };
            text().and_then(|text| convert::from_netem(text, timing, &mut budget))
        }
        Format::Sequence => {
            let column = args.foreign.column;
            let modulo = args.foreign.modulo;
            let place = convert::SequenceColumn { column, modulo };
            text().and_then(|text| convert::from_sequence(text, place, &mut budget))
        }
        Format::Signal => {
            let frames = args.foreign.signal(args.seed)?;
            text().and_then(|text| convert::from_signal(text, &frames, &mut budget))
        }
        Format::Wmediumd => {
            let frames = args.foreign.frames(args.seed)?;
            text().and_then(|text| convert::from_wmediumd(text, &frames, &mut budget))
        }
    };
    let trace = trace.map_err(at)?;
    budget.give_back(bytes.len());
    drop(bytes);
    let text = match args.to {
        Format::Trace => return args.output.write_trace(&trace),
        Format::LossList => convert::to_loss_list(&trace, &budget).map_err(at)?,
        Format::Devourer => convert::to_devourer(&trace, &budget).map_err(at)?,
        Format::NetemTrace => convert::to_netem(&trace, args.interval).map_err(at)?,
        Format::Sequence | Format::Signal | Format::Wmediumd => {
            let name = args.to.to_possible_value().map(|it| it.get_name().to_owned());
            return Err(CliError::usage(format!(
                "--to {}: this format can only be read: write trace, loss-list, netem-trace or \
                 devourer",
                name.unwrap_or_default()
            )));
        }
    };
    args.output.write(text.as_bytes())
}

/// The bytes of a file by which its format is told.
const LOOKED_AT: usize = 1 << 20;

/// The format that a file looks like behind the comments with which it begins.
fn guess(bytes: &[u8]) -> Format {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LOOKED_AT)]);
    let start = behind_comments(&text);
    let line = start.lines().next().unwrap_or_default();
    if ["LossConfig", "LossPatternConfig"].iter().any(|name| start.contains(name)) {
        Format::NetemTrace
    } else if line.starts_with('{') && line.contains("\"ev\"") {
        Format::Devourer
    } else if line.starts_with("ifaces") || line.starts_with("model") {
        Format::Wmediumd
    } else if start.starts_with(['0', '1']) {
        Format::LossList
    } else {
        Format::Trace
    }
}

/// Returns what follows the comments with which a text begins, of the kinds that configurations
/// have.
fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = if rest.starts_with('#') || rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            return rest;
        };
        let Some(end) = end else { return "" };
        rest = rest[end..].trim_start();
    }
}

fn record_captures(args: &Record) -> Result {
    let mut budget = input::budget()?;
    let mut packets = |path: &Path| {
        let bytes = unzipped(path, &mut budget)?.into();
        let packets = read_capture::read_within(&bytes, &mut budget)
            .map_err(|error| CliError::new(format!("{}: {error}", path.display())))?;
        Ok::<_, CliError>((packets, read_capture::interfaces(&bytes)))
    };
    let bit_order = match args.bit_order {
        BitOrderName::Msb => BitOrder::Msb,
        BitOrderName::Lsb => BitOrder::Lsb,
    };
    let workload = args.workload.clone();
    let header = TraceHeader { workload, bit_order, ..TraceHeader::default() };
    let (received, interfaces) = packets(&args.received)?;
    let interface = args.received_interface;
    let received = Captured { packets: &received, interfaces, interface };
    let trace = match (&args.sent, args.payload_seed) {
        (Some(sent), _) => {
            let (sent, interfaces) = packets(sent)?;
            let interface = args.sent_interface;
            let sent = Captured { packets: &sent, interfaces, interface };
            let recording = record(sent, received, args.sender, header)?;
            recording.notes.iter().for_each(|note| tell(format_args!("{note}")));
            recording.trace
        }
        (None, seed) => record_known(received, seed.unwrap_or(DEFAULT_SEED), header)?,
    };
    args.output.write_trace(&trace)
}

impl Output {
    fn write_trace(&self, trace: &ErrorTrace) -> Result {
        let is_gzip =
            self.output.as_ref().is_some_and(|path| path.extension().is_some_and(|e| e == "gz"));
        if is_gzip { self.write(&trace.to_gzip()) } else { self.write(trace.to_text().as_bytes()) }
    }

    fn write(&self, bytes: &[u8]) -> Result {
        match &self.output {
            Some(path) if path.as_os_str() != "-" => {
                windfall_system::files::replace(path, bytes)
                    .map_err(|error| cannot("write", path, &error))?;
            }
            _ => return print(bytes),
        }
        Ok(Completion::Success)
    }
}

fn read_trace(path: &Path) -> Result<ErrorTrace> {
    let mut budget = input::budget()?;
    ErrorTrace::from_bytes_within(&read(path, &mut budget)?, &mut budget)
        .map_err(|error| CliError::new(format!("{}: {error}", path.display())))
}

fn read(path: &Path, budget: &mut MemoryBudget) -> Result<Vec<u8>> {
    input::read(path, budget).map_err(|error| cannot("read", path, &error))
}

/// Reads a file, which gzip may have compressed.
fn unzipped(path: &Path, budget: &mut MemoryBudget) -> Result<Vec<u8>> {
    let bytes = read(path, budget)?;
    let plain = match gunzip_within(&bytes, budget) {
        Ok(Cow::Owned(plain)) => Some(plain),
        Ok(Cow::Borrowed(_)) => None,
        Err(error) => return Err(cannot("read", path, &error)),
    };
    let Some(plain) = plain else { return Ok(bytes) };
    budget.give_back(bytes.len());
    Ok(plain)
}

/// Writes to the standard output; a reader that has seen enough is no trouble.
fn print(bytes: &[u8]) -> Result {
    match std::io::stdout().write_all(bytes) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Completion::Success),
    }
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::new(format!("cannot {what} {}: {error}", path.display()))
}
