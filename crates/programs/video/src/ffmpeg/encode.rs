//! Raw pictures to coded ones.

use windfall_media::{VideoFormat, YuvPicture};
use windfall_rtp::{VideoCodec, access_units, h265_access_units, pictures};

use crate::ffmpeg::error::FfmpegError;
use crate::ffmpeg::program::{command, run};

//= S1.3
/// The settings of an encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodeConfig {
    /// The format of the stream.
    pub codec: VideoCodec,
    /// The size of the pictures and their rate.
    pub format: VideoFormat,
    /// Bits in a second.
    pub bit_rate: u32,
    /// Bytes of a slice, after which a decoder can resume: error resilience.
    pub slice: u32,
    /// Pictures from one that needs no other to the next.
    pub key_interval: u32,
}

impl EncodeConfig {
    /// The paper's setting at a rate that leaves room for headers on a line of 9.6 kb/s.
    pub const NARROW: Self = Self {
        codec: VideoCodec::H263Plus,
        format: VideoFormat { rate: 5.0, ..VideoFormat::QCIF },
        bit_rate: 4_200,
        slice: 120,
        key_interval: 50,
    };

    fn encoder(&self) -> &'static str {
        match self.codec {
            VideoCodec::H263Plus => "h263p",
            VideoCodec::H263 => "h263",
            VideoCodec::H264 => "libx264",
            VideoCodec::H265 => "libx265",
        }
    }
}

//= S1.1
//= S1.3
/// Encodes pictures to one coded picture each.
///
/// # Errors
/// If ffmpeg or its encoder is missing or refuses the settings.
pub fn encode(config: &EncodeConfig, clip: &[YuvPicture]) -> Result<Vec<Vec<u8>>, FfmpegError> {
    let VideoFormat { width, height, rate } = config.format.check()?;
    let mut command = command();
    command.args(["-f", "rawvideo", "-pix_fmt", "yuv420p"]);
    command.args(["-video_size", &format!("{width}x{height}"), "-framerate", &rate.to_string()]);
    command.args(["-i", "pipe:0", "-c:v", config.encoder(), "-threads", "1"]);
    command.args(["-b:v", &config.bit_rate.to_string(), "-g", &config.key_interval.to_string()]);
    match config.codec {
        VideoCodec::H263Plus | VideoCodec::H263 => {
            // Half a second of buffer, so that no picture takes the line for long.
            let buffer = (config.bit_rate / 2).max(4_000).to_string();
            command.args(["-maxrate", &config.bit_rate.to_string(), "-bufsize", &buffer]);
            command.args(["-ps", &config.slice.to_string(), "-f", "h263"]);
        }
        VideoCodec::H264 => {
            let slices = format!("slice-max-size={}:repeat-headers=1", config.slice.max(50));
            command.args(["-preset", "veryfast", "-tune", "zerolatency", "-profile:v", "baseline"]);
            command.args(["-x264-params", &slices, "-f", "h264"]);
        }
        VideoCodec::H265 => {
            // One slice of each picture: what the encoder makes of several is broken.
            let keys = config.key_interval;
            let options = format!(
                "repeat-headers=1:keyint={keys}:min-keyint={keys}:bframes=0:pools=none:\
                 frame-threads=1:log-level=none"
            );
            command.args(["-preset", "veryfast", "-tune", "zerolatency"]);
            command.args(["-x265-params", &options, "-f", "hevc"]);
        }
    }
    let input: Vec<u8> = clip.iter().flat_map(YuvPicture::bytes).copied().collect();
    let stream = run(command.arg("pipe:1"), &input).map_err(|error| match error {
        FfmpegError::Failed(why) if why.contains("encoder") && why.contains(config.encoder()) => {
            FfmpegError::Encoder(config.encoder())
        }
        error => error,
    })?;
    let pictures = cut(config.codec, &stream);
    if pictures.is_empty() { Err(FfmpegError::Nothing) } else { Ok(pictures) }
}

/// Cuts an elementary stream into its pictures; units of H.264 and H.265 get start codes of four
/// bytes.
#[must_use]
pub fn cut(codec: VideoCodec, stream: &[u8]) -> Vec<Vec<u8>> {
    match codec {
        VideoCodec::H263Plus | VideoCodec::H263 => pictures(stream).map(<[u8]>::to_vec).collect(),
        VideoCodec::H264 | VideoCodec::H265 => {
            let units = if codec == VideoCodec::H264 { access_units } else { h265_access_units };
            units(stream)
                .iter()
                .map(|units| {
                    units.iter().flat_map(|unit| [&[0, 0, 0, 1], *unit].concat()).collect()
                })
                .collect()
        }
    }
}
