//! `windfall dump`: the layers of a run by its event log, and the headers of a packet of video.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use windfall_base::{Duration, MemoryBudget};
use windfall_files::pcapng::read as read_capture;
use windfall_report::Table;
use windfall_system::as_caller;
use windfall_video::{HeaderLayout, WsimProtocol};
use windfall_view::layers::{LayerLog, LogLayer, LogWindow};

use crate::exit::{CliError, Completion, Result, tell};
use crate::input::{self, cannot_write};
use crate::times::with_unit;
use crate::video::ProtocolName;

/// Show what each layer did, from the event log of a run
///
/// Without a log, it prints the headers before a video packet, with their offsets.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Event log, written by --log of a run. - is the standard input
    log: Option<PathBuf>,
    /// Layers to print, separated by commas [default: all but block]
    #[arg(long, value_enum, value_name = "LAYERS", value_delimiter = ',', requires = "log")]
    layer: Vec<LayerName>,
    /// Print delay, time between arrivals, loss and throughput of each direction instead
    #[arg(long, requires = "log", conflicts_with = "layer")]
    measures: bool,
    /// Leave out events before this time of the run, such as 2s
    #[arg(long, value_name = "TIME", requires = "log", value_parser = with_unit)]
    begin: Option<Duration>,
    /// Leave out events after this time of the run, such as 5s
    #[arg(long, value_name = "TIME", requires = "log", value_parser = with_unit)]
    end: Option<Duration>,
    /// Folder of captures, written by --pcap of the run. They hold the RTP packets
    #[arg(long, value_name = "DIR", requires = "log")]
    captures: Option<PathBuf>,
    /// Draw all layers over one time axis into this file, and print nothing. A name that ends in
    /// .svg gives a drawing, any other name a page to zoom and pan
    #[arg(long, value_name = "FILE", requires = "log", conflicts_with_all = ["layer", "measures"])]
    view: Option<PathBuf>,
    /// Interface whose transmissions are drawn, such as air/near [default: the one with the most
    /// packets]
    #[arg(long, value_name = "INTERFACE", requires = "view")]
    sender: Option<String>,
    /// Transport protocol of the printed headers
    #[arg(long, value_enum, default_value = "udplite", value_name = "PROTOCOL")]
    #[arg(conflicts_with = "log")]
    protocol: ProtocolName,
    /// Count the headers as the paper does: 7 bytes each for PPP and RTP, 42 in all
    #[arg(long, conflicts_with = "log")]
    literal: bool,
}

/// A layer by name.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LayerName {
    /// Application datagrams, in simulations
    Application,
    /// RTP packets, with --captures
    Rtp,
    /// Packets at the devices
    Ip,
    /// RLP frames
    Rlp,
    /// Frames on a medium, such as radio blocks
    Block,
}

//= S1.30
//= S1.31
//= S1.32
//= S1.64
pub(crate) fn run(args: &Args) -> Result {
    let text = match &args.log {
        None => args.headers(),
        Some(path) => {
            let log = args.read(path)?;
            if let Some(file) = &args.view {
                windfall_system::files::distinct(&[
                    ("the log", Some(path)),
                    ("--view", Some(file)),
                ])
                .map_err(CliError::usage)?;
                args.draw(&log, file)?;
                return Ok(Completion::Success);
            }
            let window = args.window();
            let layers = args.layers();
            let measured = if args.measures { &[LogLayer::Ip] } else { &layers[..] };
            if let Some(why) = log.why_empty(measured, window) {
                tell(format!("nothing to show: {why}"));
            }
            if args.measures {
                log.measures_table(window).to_text()
            } else {
                log.table(&layers, window).to_text()
            }
        }
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Completion::Success)
}

impl Args {
    fn headers(&self) -> String {
        let count = if self.literal { HeaderLayout::literal } else { HeaderLayout::exact };
        let layout = count(WsimProtocol::from(self.protocol));
        let mut table = Table::new(["offset", "bytes", "field"]);
        for part in &layout.parts {
            table.push([part.offset.to_string(), part.length.to_string(), part.name.to_owned()]);
        }
        format!("{}{} bytes of headers\n", table.to_text(), layout.total())
    }

    fn window(&self) -> LogWindow {
        let seconds = |time: Option<Duration>, or: f64| time.map_or(or, Duration::as_secs_f64);
        let LogWindow { begin, end } = LogWindow::ALL;
        LogWindow { begin: seconds(self.begin, begin), end: seconds(self.end, end) }
    }

    fn layers(&self) -> Vec<LogLayer> {
        let of = |name: &LayerName| match name {
            LayerName::Application => LogLayer::Application,
            LayerName::Rtp => LogLayer::Rtp,
            LayerName::Ip => LogLayer::Ip,
            LayerName::Rlp => LogLayer::Rlp,
            LayerName::Block => LogLayer::Block,
        };
        match self.layer.as_slice() {
            [] => LogLayer::ALL.into_iter().filter(|layer| *layer != LogLayer::Block).collect(),
            names => names.iter().map(of).collect(),
        }
    }

    fn read(&self, path: &Path) -> Result<LayerLog> {
        let mut budget = input::budget()?;
        let cannot = |error: &dyn std::error::Error| input::cannot_read(path, error);
        let bytes = input::read(path, &mut budget).map_err(|error| cannot(&error))?;
        let text = core::str::from_utf8(&bytes).map_err(|error| cannot(&error))?;
        let mut log = LayerLog::read(text, &mut budget).map_err(|error| cannot(&error))?;
        if let Some(number) = log.cut {
            let name = path.display();
            tell(format!("{name} ends in the middle of line {number}; what is before it is shown"));
        }
        if let Some(folder) = &self.captures {
            add_captures(&mut log, folder, &mut budget)?;
        }
        Ok(log)
    }

    //= S1.32
    fn draw(&self, log: &LayerLog, file: &Path) -> Result<()> {
        let window = self.window();
        let sender = match &self.sender {
            None => log.busiest(window).ok_or_else(|| {
                let why = log.why_empty(&[LogLayer::Ip], window);
                let why = why.unwrap_or_else(|| "no packet entered in this part".to_owned());
                CliError::usage(format!("there is no packet to show: {why}"))
            })?,
            Some(name) => log.interface(name).map_err(CliError::usage)?,
        };
        let is_drawing = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("svg"));
        let text = if is_drawing {
            log.view(sender, window).to_svg()
        } else {
            log.page("A run, layer by layer", sender, window)
        };
        windfall_system::files::replace(file, text.as_bytes())
            .map_err(|error| cannot_write(file, &error))
    }
}

/// Adds the packets of RTP that the captures of a folder hold.
fn add_captures(log: &mut LayerLog, folder: &Path, budget: &mut MemoryBudget) -> Result<()> {
    let cannot = |error: &dyn std::error::Error| input::cannot_read(folder, error);
    let mut paths = Vec::new();
    let entries = as_caller(folder, || std::fs::read_dir(folder));
    for entry in entries.map_err(|error| cannot(&error))? {
        paths.push(entry.map_err(|error| cannot(&error))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "pcapng"));
    paths.sort();
    let mut packets = Vec::new();
    for path in paths {
        let bytes = input::read(&path, budget).map_err(|e| input::cannot_read(&path, &e))?;
        let found = read_capture::read_within(&bytes.into(), budget);
        packets.extend(found.map_err(|error| input::cannot_read(&path, &error))?);
    }
    if log.add_rtp(&packets) == 0 {
        return Err(CliError::usage(format!(
            "no capture in {} has RTP packets: name a folder that --pcap wrote during a video",
            folder.display()
        )));
    }
    Ok(())
}
