//! `windfall video`: video in RTP over UDP or UDP-Lite, in real time.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use windfall_base::Duration;
use windfall_socket::Carrier;
use windfall_system::interrupt;
use windfall_video::{
    AdaptiveClip, AdaptiveVideo, ClipQuality, EncodeConfig, OWN_CLIP, Overrun, PAYLOAD_TYPE,
    VIDEO_PORT, VideoCodec, VideoError, VideoFormat, VideoProtocol, VideoReceiverConfig,
    VideoSenderConfig, VideoSource, WsimProtocol, clip_sheet, parse_rate, parse_size,
    receive_video, send_adaptive, send_video, stream_codec,
};

use crate::exchange::{End, Output, completed};
use crate::exit::{CliError, Completion, Result, tell};
use crate::input::{self, cannot_read};
use crate::json;
use crate::times::with_unit;
use crate::usage::whole;

/// Send a video in real time, and measure what arrives
///
/// The video is sent in RTP over UDP or UDP-Lite.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    end: End<Send, Receive>,
}

/// Options of both ends.
#[derive(Debug, clap::Args)]
struct Common {
    /// Port of the receiver, 1 to 65534. Reports go to the next port
    #[arg(long, default_value_t = VIDEO_PORT, value_parser = whole(1..=65_534_u16))]
    #[arg(help_heading = "Network")]
    port: u16,
    /// Transport protocol
    #[arg(long, value_enum, default_value = "udp", value_name = "PROTOCOL")]
    #[arg(help_heading = "Network")]
    protocol: ProtocolName,
    /// Carrier of UDP-Lite: kernel, raw or udp. Both ends need the same one
    ///
    /// [default: udp]
    #[arg(long, value_name = "CARRIER")]
    #[arg(help_heading = "Network")]
    carrier: Option<Carrier>,
    /// Codec of the stream
    ///
    /// [default: h263]
    #[arg(long, value_enum, value_name = "FORMAT")]
    #[arg(help_heading = "Video")]
    codec: Option<CodecName>,
    /// Width and height of the pictures, in pixels
    ///
    /// [default: 176x144]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    #[arg(help_heading = "Video")]
    size: Option<(u32, u32)>,
    /// Pictures per second
    #[arg(long, value_name = "N", default_value_t = 5.0, value_parser = parse_rate)]
    #[arg(help_heading = "Video")]
    rate: f64,
    /// RTP payload type, 0 to 127
    ///
    /// [default: 96; a receiver accepts any]
    #[arg(long, value_name = "N", value_parser = whole(0..=127_u8))]
    #[arg(help_heading = "Video")]
    payload_type: Option<u8>,
    /// Number of pictures at most
    #[arg(long, default_value_t = 150, value_name = "N", value_parser = whole(1..=100_000_u32))]
    #[arg(help_heading = "Video")]
    pictures: u32,
}

/// Send a video
#[derive(Debug, clap::Args)]
struct Send {
    /// Video to send: talking-head, an elementary stream (.h263, .264, .265), or any file that
    /// ffmpeg reads
    video: PathBuf,
    /// Address of the receiver
    to: IpAddr,
    #[command(flatten)]
    common: Common,
    /// Bit rate of the encoder in bit/s, 1000 to 100000000
    ///
    /// [default: 4200]
    #[arg(long, value_name = "BPS", value_parser = whole(1_000..=100_000_000_u32))]
    bit_rate: Option<u32>,
    /// Longest payload of a packet in bytes, 100 to 1400
    #[arg(long, default_value_t = 242, value_name = "BYTES", value_parser = whole(100..=1_400_u16))]
    payload: u16,
    /// Bytes of each packet that the UDP-Lite checksum covers, from the RTP header on
    ///
    /// [default: up to the header of the picture or slice]
    #[arg(long, value_name = "BYTES", value_parser = whole(12..=1_500_u16))]
    coverage: Option<u16>,
    /// Repeat the header of a picture in its later packets
    #[arg(long)]
    repeat: bool,
    /// Encode a stream again, in slices that fit a packet
    #[arg(long, conflicts_with = "adapt")]
    recode: bool,
    /// Encode while sending, at a lower rate after reports of loss or of a slow line
    ///
    /// The rate is then 70, 50, 35 or 25 % of --bit-rate.
    #[arg(long, conflicts_with = "sdp")]
    adapt: bool,
    /// Write a session description (SDP) for players to this file, and send nothing
    #[arg(long, value_name = "FILE")]
    sdp: Option<PathBuf>,
}

/// Receive one video, and report its delay, loss and quality
#[derive(Debug, clap::Args)]
struct Receive {
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    #[command(flatten)]
    common: Common,
    /// Playout delay of the jitter buffer
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = with_unit)]
    buffer: Duration,
    /// Time without a packet that ends the stream. Before the first packet, six times as long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = with_unit)]
    idle: Duration,
    /// Write the stream to this file as it arrived
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Video that was sent, to compare with
    #[arg(long, value_name = "VIDEO")]
    compare: Option<PathBuf>,
    /// Draw the sent and the received pictures into this SVG file
    #[arg(long, value_name = "FILE", requires = "compare")]
    sheet: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum ProtocolName {
    /// UDP: a packet with any damage is dropped
    Udp,
    /// UDP-Lite: a packet is dropped if its headers are damaged
    Udplite,
}

impl From<ProtocolName> for WsimProtocol {
    fn from(name: ProtocolName) -> Self {
        match name {
            ProtocolName::Udp => Self::Udp,
            ProtocolName::Udplite => Self::UdpLite,
        }
    }
}

/// The format of a stream.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CodecName {
    /// H.263+ (RFC 4629)
    H263,
    /// H.264 (RFC 6184)
    H264,
    /// H.265 (RFC 7798)
    H265,
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.end {
        End::Send(args) => args.run(),
        End::Receive(args) => args.run(),
    }
}

/// Opens the video of an argument.
pub(crate) fn source(path: &Path) -> Result<VideoSource> {
    if path.as_os_str() == OWN_CLIP {
        return Ok(VideoSource::TalkingHead);
    }
    let cannot = |error| cannot_read(path, &error);
    let Some(codec) = stream_codec(path) else {
        // The codec opens it by its name: what the user may not read is refused here.
        input::open(path).map_err(cannot)?;
        return Ok(VideoSource::File(path.to_owned()));
    };
    let bytes = input::read(path, &mut input::budget()?).map_err(cannot)?;
    Ok(VideoSource::Stream(path.display().to_string(), codec, bytes))
}

impl Common {
    /// Returns the protocol, with `options` of UDP-Lite and whether they are given.
    fn protocol(&self, options: &[(&str, bool)]) -> Result<VideoProtocol> {
        let is_lite = matches!(self.protocol, ProtocolName::Udplite);
        VideoProtocol::of(is_lite, self.carrier, options).map_err(CliError::usage)
    }

    fn codec(&self) -> VideoCodec {
        match self.codec {
            None | Some(CodecName::H263) => VideoCodec::H263Plus,
            Some(CodecName::H264) => VideoCodec::H264,
            Some(CodecName::H265) => VideoCodec::H265,
        }
    }

    fn format(&self) -> Result<VideoFormat> {
        let VideoFormat { width, height, .. } = EncodeConfig::NARROW.format;
        let (width, height) = self.size.unwrap_or((width, height));
        let format = VideoFormat { width, height, rate: self.rate };
        format.check().map_err(|error| CliError::from(error).into_usage())
    }
}

impl Send {
    fn run(&self) -> Result {
        let Common { port, pictures, rate, .. } = self.common;
        let encoder = EncodeConfig {
            codec: self.common.codec(),
            format: self.common.format()?,
            bit_rate: self.bit_rate.unwrap_or(EncodeConfig::NARROW.bit_rate),
            slice: u32::from(self.payload) / 2,
            key_interval: (10.0 * rate).ceil() as u32,
        };
        let reports =
            if self.adapt { VideoSenderConfig::OFTEN } else { VideoSenderConfig::REPORTS };
        let sender = VideoSenderConfig {
            to: self.to,
            port,
            protocol: self.common.protocol(&[("--coverage", self.coverage.is_some())])?,
            payload_type: self.common.payload_type.unwrap_or(PAYLOAD_TYPE),
            payload: self.payload.into(),
            coverage: self.coverage.map(usize::from),
            repeat: self.repeat,
            reports,
        };
        let named = [("the video", Some(&*self.video)), ("--sdp", self.sdp.as_deref())];
        windfall_system::files::distinct(&named).map_err(CliError::usage)?;
        let source = source(&self.video)?;
        self.check_effect(&source)?;
        if self.adapt {
            return self.send_adapted(&sender, &source, encoder);
        }
        let clip = if self.recode {
            source.coded_anew(&encoder, pictures as usize)
        } else {
            source.coded(&encoder, pictures as usize)
        };
        let clip = clip.map_err(|error| cannot_read(&self.video, &error))?;
        if let Some(path) = &self.sdp {
            Output::open(path)?.write(sender.description(&clip).as_bytes())?;
            return Ok(Completion::Success);
        }
        if !clip.original.is_empty() {
            let asked = f64::from(encoder.bit_rate);
            Overrun::of(asked, clip.len(), clip.seconds()).into_iter().for_each(tell);
        }
        if let (long @ 1.., all) = clip.long_slices(self.payload.into()) {
            let fix = match (clip.original.is_empty(), clip.codec) {
                (true, _) => "--recode --codec h264 cuts them, a larger --payload holds more",
                (false, VideoCodec::H265) => {
                    "--codec h264 makes small ones, a larger --payload holds more"
                }
                (false, _) => "a larger --payload holds more",
            };
            tell(format!(
                "{long} of {all} slices are longer than a packet, and lose what is behind a lost \
                 one; {fix}"
            ));
        }
        tell(format!("{:.0} b/s with the headers of IP, UDP and RTP", sender.load(&clip)));
        let packets = send_video(&sender, &clip)?.packets;
        tell(format!("{packets} packets of {} pictures sent", clip.coded.len()));
        Ok(Completion::Success)
    }

    /// Refuses options that would change nothing.
    fn check_effect(&self, source: &VideoSource) -> Result<()> {
        let given = [
            ("--codec", self.common.codec.is_some()),
            ("--size", self.common.size.is_some() && self.sdp.is_none()),
            ("--bit-rate", self.bit_rate.is_some()),
        ];
        if self.recode && !matches!(source, VideoSource::Stream(..)) {
            let message = "--recode codes a stream anew, and other videos always are: remove it";
            return Err(CliError::usage(message));
        }
        let coded_anew = source.check_effect(
            self.common.codec(),
            self.adapt || self.recode,
            self.repeat,
            &given,
        );
        coded_anew.map_err(CliError::usage)
    }

    //= S1.57
    fn send_adapted(
        &self,
        sender: &VideoSenderConfig,
        source: &VideoSource,
        config: EncodeConfig,
    ) -> Result {
        let original = source.pictures(config.format, self.common.pictures as usize);
        let original = original.map_err(|error| cannot_read(&self.video, &error))?;
        let clip = AdaptiveClip { original: &original, config };
        let pictures = original.len();
        let rate = config.format.rate;
        let encode = &mut |first, bit_rate: u32| {
            if first > 0 {
                tell(format!("picture {first}: {bit_rate} b/s"));
            }
            let coded = clip.encode(first, bit_rate)?;
            let bytes = coded.iter().map(Vec::len).sum();
            let seconds = coded.len() as f64 / rate;
            Overrun::of(bit_rate.into(), bytes, seconds).into_iter().for_each(tell);
            Ok(coded)
        };
        let codec = config.codec;
        let video = AdaptiveVideo { codec, pictures, rate, highest: config.bit_rate };
        let sent = send_adaptive(sender, &video, encode)?;
        let changes = sent.rates.len().saturating_sub(1);
        let packets = sent.packets;
        tell(format!("{packets} packets of {pictures} pictures sent, {changes} changes of rate"));
        Ok(Completion::Success)
    }
}

impl Receive {
    fn run(&self) -> Result {
        let format = self.common.format()?;
        let codec = self.common.codec();
        let count = self.common.pictures as usize;
        let compared = self.compare.as_ref().map(|path| source(path).map(|it| (path, it)));
        let compared = compared.transpose()?;
        let [compare, out, sheet] = [&self.compare, &self.out, &self.sheet].map(Option::as_deref);
        windfall_system::files::distinct(&[
            ("--compare", compare),
            ("--out", out),
            ("--sheet", sheet),
        ])
        .map_err(CliError::usage)?;
        let (out, sheet) =
            (out.map(Output::open).transpose()?, sheet.map(Output::open).transpose()?);
        let config = VideoReceiverConfig {
            on: self.on,
            port: self.common.port,
            protocol: self.common.protocol(&[])?,
            codec,
            payload_type: self.common.payload_type,
            buffer: self.buffer,
            idle: self.idle,
        };
        interrupt::note_requests()?;
        let mut received = match receive_video(&config, &mut || interrupt::noted().is_some()) {
            // A request to end is no failure.
            Err(error @ VideoError::Stopped(_)) => {
                tell(error);
                return Ok(completed(Completion::Success));
            }
            received => received?,
        };
        if let Some(out) = out {
            out.write(&received.stream())?;
        }
        if let Some((path, sent)) = compared {
            // Not before: the sender may have begun.
            let original = sent.pictures(format, count);
            let original = original.map_err(|error| cannot_read(path, &error))?;
            let clip = received.decode(codec, format, original.len())?;
            received.report.set_quality(&ClipQuality::of(&clip, &original));
            if let Some(sheet) = sheet {
                let clips = [("sent".to_owned(), &original[..]), ("received".to_owned(), &clip)];
                sheet.write(clip_sheet("windfall video", format, &clips)?.as_bytes())?;
            }
        }
        let object = serde_json::to_value(&received.report)?;
        json::print(self.json, json::VIDEO, object, &received.report.to_text())?;
        Ok(completed(Completion::Success))
    }
}
