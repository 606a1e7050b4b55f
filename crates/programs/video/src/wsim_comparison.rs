//! Video over a trace of radio blocks, by the algorithm of paper 001 and as real packets.

use serde::Serialize;
use windfall_base::{MemoryBudget, Seed, Stream};
use windfall_files::traces::ErrorTrace;
use windfall_media::{ClipQuality, PictureError, YuvPicture};
use windfall_report::Table;
use windfall_trace::convert;

use crate::clip::CodedClip;
use crate::error::VideoError;
use crate::ffmpeg::decode;
use crate::sheet::clip_sheet;
use crate::wsim::{
    BlockCorruption, BlockErrors, BlockTraceError, CircuitConfig, CircuitService, LiteralConfig,
    WsimOutcome, WsimProtocol, WsimRun, circuit, literal,
};

/// The settings of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WsimSettings {
    /// The transport protocols.
    pub protocols: Vec<WsimProtocol>,
    /// Bytes of the stream in each packet, at least 1.
    pub adu: usize,
    /// The bytes of a damaged block that the algorithm changes.
    pub corruption: BlockCorruption,
    /// The first block of the trace.
    pub first: u64,
    /// The seed of the changes.
    pub seed: Seed,
}

/// A clip sent over a trace, by each protocol and both algorithms.
#[derive(Clone, Debug, Serialize)]
pub struct WsimComparison {
    /// The name of the clip.
    pub video: String,
    /// The name of the format in session descriptions.
    pub codec: &'static str,
    /// The pictures that were sent.
    pub pictures: usize,
    /// The bytes of the stream.
    pub bytes: usize,
    /// The blocks of the trace.
    pub blocks: u64,
    /// The share of its blocks that are damaged.
    pub block_error_rate: f64,
    /// Each simulation: of each protocol first the algorithm of the paper, then real packets.
    pub runs: Vec<WsimResult>,
    #[serde(skip)]
    seconds: f64,
}

/// One simulation and the quality of what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct WsimResult {
    /// `literal` or `circuit`.
    pub algorithm: &'static str,
    /// `udp` or `udplite`.
    pub protocol: &'static str,
    /// The packets sent.
    pub packets: usize,
    /// The packets that did not arrive.
    pub dropped: usize,
    /// The packets that arrived with damage.
    pub damaged: usize,
    /// The share of the packets that did not arrive.
    pub loss: f64,
    /// The blocks that passed.
    pub blocks: u64,
    /// The mean time from the picture to the arrival of its packets, where a clock runs.
    pub delay_seconds: Option<f64>,
    /// The mean PSNR against the original.
    pub psnr_db: Option<f64>,
    /// The mean structural similarity.
    pub ssim: Option<f64>,
    /// The pictures that repeat the one before although the original moves.
    pub frozen: usize,
    /// The pictures in the longest run of those.
    pub longest_freeze: usize,
    /// The simulation itself.
    #[serde(skip)]
    pub run: WsimRun,
    #[serde(skip)]
    clip: Vec<YuvPicture>,
}

/// Reads an error trace of radio blocks, or a list with a line for each block.
///
/// # Errors
/// A message, if it is neither, or none of blocks.
pub fn read_blocks(
    bytes: &[u8],
    seed: Seed,
    budget: &mut MemoryBudget,
) -> Result<BlockErrors, String> {
    let is_list = matches!(bytes.first(), Some(b'0' | b'1'));
    let trace = if is_list {
        let text = convert::text(bytes).map_err(|error| error.to_string())?;
        convert::from_loss_list(text, budget).map_err(|error| error.to_string())?
    } else {
        ErrorTrace::from_bytes_within(bytes, budget).map_err(|error| error.to_string())?
    };
    let blocks = BlockErrors::new(&trace, Stream::new(seed, "noise"));
    blocks.map_err(|error: BlockTraceError| error.to_string())
}

impl WsimComparison {
    //= S1.36
    /// Sends a clip over the blocks, and compares what arrives with `reference`, if there is one.
    ///
    /// # Errors
    /// If there is a reference, and ffmpeg is missing or fails.
    pub fn of(
        clip: &CodedClip,
        reference: &[YuvPicture],
        errors: &BlockErrors,
        settings: &WsimSettings,
    ) -> Result<Self, VideoError> {
        let mut runs = Vec::new();
        for protocol in &settings.protocols {
            for (algorithm, run) in simulate(clip, errors, settings, *protocol) {
                let arrived = match reference {
                    [] => Vec::new(),
                    _ => decode(clip.codec, clip.format, &run.pictures)?,
                };
                let quality = ClipQuality::of(&arrived, reference);
                runs.push(WsimResult::new(algorithm, *protocol, run, arrived, &quality));
            }
        }
        Ok(Self {
            video: clip.name.clone(),
            codec: clip.codec.name(),
            pictures: clip.coded.len(),
            bytes: clip.len(),
            blocks: errors.len(),
            block_error_rate: errors.block_error_rate(),
            runs,
            seconds: clip.seconds(),
        })
    }

    /// Draws the same instants of the reference and of all that arrived.
    ///
    /// # Errors
    /// If a picture cannot be drawn.
    pub fn sheet(
        &self,
        clip: &CodedClip,
        reference: &[YuvPicture],
    ) -> Result<String, PictureError> {
        let mut rows = vec![("sent".to_owned(), reference)];
        for it in &self.runs {
            let psnr = it.psnr_db.unwrap_or(0.0);
            rows.push((format!("{} {}, {psnr:.1} dB", it.protocol, it.algorithm), &it.clip));
        }
        clip_sheet(&self.video, clip.format, &rows)
    }

    /// Returns the comparison as a table, and the difference of the algorithms.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {} pictures in {} s, {} bytes of {}\n{} blocks, {:.2} % of them damaged\n\n",
            self.video,
            self.pictures,
            self.seconds,
            self.bytes,
            self.codec,
            self.blocks,
            100.0 * self.block_error_rate,
        );
        text += &self.table().to_text();
        for pair in self.runs.chunks_exact(2) {
            let difference = pair[1].psnr_db.zip(pair[0].psnr_db).map(|(a, b)| a - b);
            text += &format!(
                "\n{}: real packets against the algorithm: {:+.1} points of loss, {} dB of PSNR",
                pair[0].protocol,
                100.0 * (pair[1].loss - pair[0].loss),
                difference.map_or_else(|| "-".to_owned(), |it| format!("{it:+.1}")),
            );
        }
        text + "\n"
    }

    fn table(&self) -> Table {
        let columns = [
            "algorithm",
            "protocol",
            "packets",
            "dropped",
            "damaged",
            "loss %",
            "delay s",
            "PSNR dB",
            "SSIM",
            "frozen",
        ];
        let mut table = Table::new(columns);
        for it in &self.runs {
            table.push([
                it.algorithm.to_owned(),
                it.protocol.to_owned(),
                it.packets.to_string(),
                it.dropped.to_string(),
                it.damaged.to_string(),
                format!("{:.1}", 100.0 * it.loss),
                digits(it.delay_seconds, 2),
                digits(it.psnr_db, 1),
                digits(it.ssim, 3),
                it.frozen.to_string(),
            ]);
        }
        table
    }
}

fn digits(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

//= S1.43
//= S1.44
/// Sends a clip by both algorithms.
fn simulate(
    clip: &CodedClip,
    errors: &BlockErrors,
    settings: &WsimSettings,
    protocol: WsimProtocol,
) -> [(&'static str, WsimRun); 2] {
    let pictures: Vec<&[u8]> = clip.coded.iter().map(Vec::as_slice).collect();
    let &WsimSettings { adu, corruption, first, seed, .. } = settings;
    let config = LiteralConfig { protocol, adu, corruption, seed };
    let by_algorithm = literal(&config, &pictures, errors, first);
    let rate = clip.format.rate;
    let codec = clip.codec;
    let service = CircuitService::Transparent;
    let config = CircuitConfig { protocol, adu, rate, codec, repeat: false, service };
    let as_packets = circuit(&config, &pictures, errors, first);
    [("literal", by_algorithm), ("circuit", as_packets)]
}

impl WsimResult {
    fn new(
        algorithm: &'static str,
        protocol: WsimProtocol,
        run: WsimRun,
        clip: Vec<YuvPicture>,
        quality: &ClipQuality,
    ) -> Self {
        let count = |outcome: WsimOutcome| {
            run.packets.iter().filter(|packet| packet.outcome == outcome).count()
        };
        let delays = || run.packets.iter().filter_map(|it| Some(it.delay?.as_secs_f64()));
        let arrived = delays().count();
        Self {
            algorithm,
            protocol: match protocol {
                WsimProtocol::Udp => "udp",
                WsimProtocol::UdpLite => "udplite",
            },
            packets: run.packets.len(),
            dropped: count(WsimOutcome::Dropped),
            damaged: count(WsimOutcome::Damaged),
            loss: run.loss(),
            blocks: run.blocks,
            delay_seconds: (arrived > 0).then(|| delays().sum::<f64>() / arrived as f64),
            psnr_db: quality.mean_psnr(),
            ssim: quality.mean_ssim(),
            frozen: quality.frozen.len(),
            longest_freeze: quality.longest_freeze(),
            run,
            clip,
        }
    }

    /// Returns a row for each packet.
    #[must_use]
    pub fn packet_table(&self) -> String {
        let columns = ["packet", "data", "bytes", "block", "blocks", "damaged", "outcome", "delay"];
        let mut table = Table::new(columns);
        for (number, it) in self.run.packets.iter().enumerate() {
            table.push([
                number.to_string(),
                it.data_len.to_string(),
                it.packet_len.to_string(),
                it.first_block.to_string(),
                it.blocks.to_string(),
                it.damaged_blocks.to_string(),
                it.outcome.name().to_owned(),
                it.delay.map_or_else(String::new, |delay| delay.as_secs_f64().to_string()),
            ]);
        }
        table.to_csv()
    }
}
