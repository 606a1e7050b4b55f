//! The video that is sent: the clip of the project's own, a stream as it is, or any file.

use std::path::{Path, PathBuf};

use windfall_media::{TALKING_HEAD, VideoFormat, YuvPicture, h264_output_places, talking_head};
use windfall_rtp::{VideoCodec, nal_units};

use crate::contents::{is_h264_slice, is_h265_slice};
use crate::error::VideoError;
use crate::ffmpeg::{
    EncodeConfig, FfmpegError, cut, decode, decode_reordered, decode_some, encode, read_clip,
};

/// The name of the clip of the project's own on command lines.
pub const OWN_CLIP: &str = "talking-head";
/// The most bytes of raw pictures.
const RAW: usize = 1 << 30;

/// A video to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VideoSource {
    /// The clip of the project's own.
    TalkingHead,
    /// The bytes of an elementary stream, by its name.
    Stream(String, VideoCodec, Vec<u8>),
    /// Any file that ffmpeg reads.
    File(PathBuf),
}

/// A video as coded pictures.
#[derive(Clone, Debug)]
pub struct CodedClip {
    /// The name of the source, with its version where it is the project's own.
    pub name: String,
    /// The format of the stream.
    pub codec: VideoCodec,
    /// The size and rate of the pictures.
    pub format: VideoFormat,
    /// The pictures in order.
    pub coded: Vec<Vec<u8>>,
    /// The pictures before coding; none of an elementary stream.
    pub original: Vec<YuvPicture>,
}

/// Returns the format of an elementary stream by the ending of its name.
#[must_use]
pub fn stream_codec(path: &Path) -> Option<VideoCodec> {
    let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
    match ending.as_str() {
        "h263" => Some(VideoCodec::H263Plus),
        "264" | "h264" => Some(VideoCodec::H264),
        "265" | "h265" | "hevc" => Some(VideoCodec::H265),
        _ => None,
    }
}

impl VideoSource {
    /// Returns the name, with its version where it is the project's own.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::TalkingHead => TALKING_HEAD.to_owned(),
            Self::Stream(name, ..) => name.clone(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Encodes the first pictures, also those of a stream that is coded already.
    ///
    /// # Errors
    /// If the source cannot be read, or there is no picture in it, or the encoder is missing.
    pub fn coded_anew(
        &self,
        config: &EncodeConfig,
        pictures: usize,
    ) -> Result<CodedClip, VideoError> {
        let name = self.name();
        let format = config.format;
        let original = self.pictures(format, pictures)?;
        let coded = encode(config, &original)?;
        Ok(CodedClip { name, codec: config.codec, format, coded, original })
    }

    /// Encodes the first pictures as [`coded_anew`](Self::coded_anew) does, or cuts the stream,
    /// whose own format goes before that of `config`.
    ///
    /// # Errors
    /// As [`coded_anew`](Self::coded_anew).
    pub fn coded(&self, config: &EncodeConfig, pictures: usize) -> Result<CodedClip, VideoError> {
        if let Self::Stream(_, codec, bytes) = self {
            let name = self.name();
            let format = config.format;
            let mut coded = cut(*codec, bytes);
            coded.truncate(pictures);
            if coded.is_empty() {
                return Err(VideoError::Empty);
            }
            return Ok(CodedClip { name, codec: *codec, format, coded, original: Vec::new() });
        }
        self.coded_anew(config, pictures)
    }

    /// Returns the first pictures as they are before coding, or, of a stream, as a receiver without
    /// losses sees them.
    ///
    /// # Errors
    /// If the source cannot be read, or there is no picture in it, or too many are asked for.
    pub fn pictures(
        &self,
        format: VideoFormat,
        pictures: usize,
    ) -> Result<Vec<YuvPicture>, VideoError> {
        let most = RAW / format.check()?.picture_len();
        if pictures > most {
            return Err(VideoError::TooLong { pictures, most });
        }
        match self {
            Self::TalkingHead => own_clip(format, pictures),
            Self::Stream(_, codec, bytes) => {
                let mut coded = cut(*codec, bytes);
                coded.truncate(pictures);
                Ok(decode_coded(*codec, format, &coded, decode_some)?)
            }
            Self::File(path) => Ok(read_clip(path, format, pictures)?),
        }
    }
}

/// Returns the place of each coded picture in the order in which they are shown.
fn output_places(codec: VideoCodec, coded: &[Vec<u8>]) -> Vec<usize> {
    match codec {
        VideoCodec::H264 => h264_output_places(coded.iter().map(|it| &it[..])),
        VideoCodec::H263Plus | VideoCodec::H263 | VideoCodec::H265 => (0..coded.len()).collect(),
    }
}

/// Decodes all pictures of a stream, by `decode` if they are shown in the order in which they come.
fn decode_coded(
    codec: VideoCodec,
    format: VideoFormat,
    coded: &[Vec<u8>],
    decode: impl Fn(VideoCodec, VideoFormat, &[Vec<u8>]) -> Result<Vec<YuvPicture>, FfmpegError>,
) -> Result<Vec<YuvPicture>, FfmpegError> {
    if output_places(codec, coded).is_sorted() {
        return decode(codec, format, coded);
    }
    let all: Vec<usize> = (0..coded.len()).collect();
    decode_reordered(codec, format, &coded.concat(), &all, coded.len())
}

fn own_clip(format: VideoFormat, pictures: usize) -> Result<Vec<YuvPicture>, VideoError> {
    if (format.width, format.height) != (VideoFormat::QCIF.width, VideoFormat::QCIF.height) {
        return Err(VideoError::Size);
    }
    let step = VideoFormat::QCIF.rate / format.rate;
    Ok((0..pictures).map(|number| talking_head((number as f64 * step) as u32)).collect())
}

impl CodedClip {
    /// Returns the pictures to compare with: those before coding, else the stream without losses.
    ///
    /// # Errors
    /// If ffmpeg is missing.
    pub fn reference(&self) -> Result<Vec<YuvPicture>, VideoError> {
        if self.original.is_empty() {
            return Ok(decode_coded(self.codec, self.format, &self.coded, decode)?);
        }
        Ok(self.original.clone())
    }

    /// Returns the place of each coded picture in the order in which they are shown.
    #[must_use]
    pub fn places(&self) -> Vec<usize> {
        output_places(self.codec, &self.coded)
    }

    /// Returns the number of slices that are longer than a payload of `longest` bytes, and of all
    /// slices. A lost packet of a long slice loses the rest of it.
    #[must_use]
    pub fn long_slices(&self, longest: usize) -> (usize, usize) {
        let is_slice = |unit: &&[u8]| match self.codec {
            VideoCodec::H264 => is_h264_slice(unit[0] & 0x1f),
            VideoCodec::H265 => is_h265_slice(unit[0] >> 1 & 0x3f),
            VideoCodec::H263Plus | VideoCodec::H263 => false,
        };
        let slices = self.coded.iter().flat_map(|it| nal_units(it)).filter(is_slice);
        slices.fold((0, 0), |(long, all), unit| (long + usize::from(unit.len() > longest), all + 1))
    }

    /// Returns the bytes of all pictures.
    #[must_use]
    pub fn len(&self) -> usize {
        self.coded.iter().map(Vec::len).sum()
    }

    /// Returns `true` if there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time that it plays, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.coded.len() as f64 / self.format.rate
    }
}
