//! `windfall wsim`: video over a trace of damaged radio blocks, as paper 001 simulates it.

use std::path::{Path, PathBuf};

use windfall_base::Seed;
use windfall_scenario::DEFAULT_SEED;
use windfall_video::{
    BlockCorruption, EncodeConfig, VideoCodec, WsimComparison, WsimProtocol, WsimSettings,
    read_blocks,
};

use crate::exit::{CliError, Completion, Result, tell};
use crate::input::{self, cannot_read, cannot_write};
use crate::record::command_line;
use crate::usage::whole;
use crate::video::{ProtocolName, source};
use crate::{VERSION, json};

/// Simulate video over a GSM error trace, as in paper 001
///
/// Each run is made twice. The first uses the algorithm of the paper: 42 bytes of headers, and
/// blocks that are damaged as a whole. The second sends real packets, bit by bit, through a
/// transparent circuit of 9.6 kb/s.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Video to send: talking-head, an elementary stream (.h263, .264), or any file that ffmpeg
    /// reads
    video: PathBuf,
    /// Error trace of 30-byte frames, or a line for each block: 1 damaged, 0 correct
    trace: PathBuf,
    /// Transport protocol [default: both]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<ProtocolName>,
    /// Stream bytes in each packet, 1 to 1400
    #[arg(long, default_value_t = 242, value_name = "BYTES", value_parser = whole(1..=1_400_u16))]
    adu: u16,
    /// Bytes of a damaged block that the algorithm changes
    #[arg(long, value_enum, default_value = "all", value_name = "WHICH")]
    corruption: CorruptionName,
    /// Number of pictures of the video at most
    #[arg(long, default_value_t = 150, value_name = "N", value_parser = whole(1..=100_000_u32))]
    pictures: u32,
    /// Bit rate of the encoder in bit/s, 1000 to 10000000
    #[arg(long, default_value_t = EncodeConfig::NARROW.bit_rate, value_name = "BPS")]
    #[arg(value_parser = whole(1_000..=10_000_000_u32))]
    bit_rate: u32,
    /// First block of the trace to use, from 0
    #[arg(long, default_value_t = 0, value_name = "BLOCK", value_parser = whole(0..=u64::MAX >> 1))]
    first: u64,
    /// Seed of all random draws
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_SEED)]
    seed: Seed,
    /// Folder for the received streams, packet tables and a contact sheet
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CorruptionName {
    /// All 28 that carry data
    All,
    /// Six of the 30 at random
    Fifth,
}

//= S1.36
pub(crate) fn run(args: &Args) -> Result {
    let mut budget = input::budget()?;
    let cannot =
        |message| CliError::usage(format!("cannot read {}: {message}", args.trace.display()));
    let bytes = input::read(&args.trace, &mut budget);
    let bytes = bytes.map_err(|error| cannot_read(&args.trace, &error))?;
    let errors = read_blocks(&bytes, args.seed, &mut budget).map_err(cannot)?;
    let config = EncodeConfig { bit_rate: args.bit_rate, ..EncodeConfig::NARROW };
    let clip = source(&args.video)?.coded(&config, args.pictures as usize);
    let clip = clip.map_err(|error| cannot_read(&args.video, &error))?;
    let reference = clip.reference().unwrap_or_else(|error| {
        tell(format!("the pictures are not compared: {error}"));
        Vec::new()
    });
    if let Some(folder) = &args.out {
        windfall_system::files::make_folder(folder)
            .map_err(|error| cannot_write(folder, &error))?;
    }
    let comparison = WsimComparison::of(&clip, &reference, &errors, &args.settings())?;
    if let Some(folder) = &args.out {
        let write = |path: &Path, bytes: &[u8]| {
            windfall_system::files::replace(path, bytes).map_err(|error| cannot_write(path, &error))
        };
        let ending = match clip.codec {
            VideoCodec::H264 => "264",
            VideoCodec::H265 => "265",
            VideoCodec::H263Plus | VideoCodec::H263 => "h263",
        };
        let seed = args.seed;
        let command = command_line();
        let origin = format!("windfall {VERSION}\nseed: {seed}\ncommand: {command}\n");
        write(&folder.join("origin.txt"), origin.as_bytes())?;
        for it in &comparison.runs {
            let path = folder.join(format!("{}-{}", it.algorithm, it.protocol));
            write(&path.with_extension(ending), &it.run.stream())?;
            let packets = it.packet_table();
            write(&path.with_extension("csv"), packets.as_bytes())?;
        }
        if !reference.is_empty() {
            let sheet = comparison.sheet(&clip, &reference)?;
            write(&folder.join("sheet.svg"), sheet.as_bytes())?;
        }
    }
    let object = serde_json::to_value(&comparison)?;
    json::print(args.json, json::WSIM, object, &comparison.to_text())?;
    Ok(Completion::Success)
}

impl Args {
    fn settings(&self) -> WsimSettings {
        let both = || vec![WsimProtocol::Udp, WsimProtocol::UdpLite];
        WsimSettings {
            protocols: self.protocol.map_or_else(both, |name| vec![name.into()]),
            adu: self.adu.into(),
            corruption: match self.corruption {
                CorruptionName::All => BlockCorruption::All,
                CorruptionName::Fifth => BlockCorruption::Fifth,
            },
            first: self.first,
            seed: self.seed,
        }
    }
}
