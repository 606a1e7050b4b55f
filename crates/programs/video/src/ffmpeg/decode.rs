//! Coded pictures and files to raw pictures.

use std::path::Path;

use windfall_media::{AviClip, FourCc, VideoFormat, YuvPicture};
use windfall_rtp::VideoCodec;

use crate::ffmpeg::error::FfmpegError;
use crate::ffmpeg::program::{Temporary, command, run};

/// The most pictures that are read from a file, unless a caller asks for fewer.
const LONGEST: usize = 100_000;

//= S1.1
//= S1.2
/// Decodes coded pictures, of which one without bytes is missing. The result has one picture for
/// each: where none can be decoded it is the one before, and grey before the first.
///
/// # Errors
/// If ffmpeg is missing or fails; damage is no failure.
pub fn decode(
    codec: VideoCodec,
    format: VideoFormat,
    pictures: &[Vec<u8>],
) -> Result<Vec<YuvPicture>, FfmpegError> {
    match decode_some(codec, format, pictures) {
        Err(FfmpegError::Nothing) => Ok(vec![YuvPicture::grey(format)?; pictures.len()]),
        decoded => decoded,
    }
}

/// Decodes as [`decode`] does what a user gives, in which there ought to be a picture.
///
/// # Errors
/// If ffmpeg is missing or fails, or can decode no picture at all.
pub fn decode_some(
    codec: VideoCodec,
    format: VideoFormat,
    pictures: &[Vec<u8>],
) -> Result<Vec<YuvPicture>, FfmpegError> {
    let grey = YuvPicture::grey(format)?;
    let code = match codec {
        VideoCodec::H263Plus | VideoCodec::H263 => FourCc::H263,
        VideoCodec::H264 => FourCc::H264,
        VideoCodec::H265 => FourCc::H265,
    };
    if pictures.iter().all(Vec::is_empty) {
        return Err(FfmpegError::Nothing);
    }
    let container = AviClip { format, codec: code, pictures }.to_bytes();
    let clip = Temporary::create("avi", &container)?;
    let times = Temporary::create("framecrc", b"")?;
    let size = format!("{}:{}", format.width, format.height);
    let mut command = command();
    command.args(["-loglevel", "quiet", "-threads", "1", "-flags", "+output_corrupt"]);
    command.args(["-flags2", "+showall", "-copyts", "-i"]).arg(&clip.0);
    // One output has the pictures, the other the instant of each.
    for (muxer, to) in [("rawvideo", Path::new("pipe:1")), ("framecrc", &times.0)] {
        command.args(["-map", "0:v", "-vsync", "passthrough", "-copyts"]);
        command.args(["-vf", &format!("scale={size}"), "-pix_fmt", "yuv420p"]);
        command.args(["-c:v", "rawvideo", "-f", muxer]).arg(to);
    }
    let raw = match run(&mut command, &[]) {
        // It found nothing that it could decode.
        Err(FfmpegError::Failed(_)) => return Err(FfmpegError::Nothing),
        raw => raw?,
    };
    if raw.len() < format.picture_len() {
        return Err(FfmpegError::Nothing);
    }
    let places = places(&std::fs::read_to_string(&times.0)?, format.rate);
    Ok(spread(raw.chunks_exact(format.picture_len()), &places, grey, format, pictures.len()))
}

//= S1.2
/// Decodes a stream of H.264 or H.265 whose pictures are not shown in the order of decoding.
/// `places` are
/// those of its pictures in the order of output, ascending; the result has `count` pictures, each
/// of which repeats the one before where none is decoded. Where fewer can be decoded than there are
/// places, the first have none.
///
/// # Errors
/// If ffmpeg is missing or fails; damage is no failure.
pub fn decode_reordered(
    codec: VideoCodec,
    format: VideoFormat,
    stream: &[u8],
    places: &[usize],
    count: usize,
) -> Result<Vec<YuvPicture>, FfmpegError> {
    let grey = YuvPicture::grey(format)?;
    let size = format!("scale={}:{}", format.width, format.height);
    let demuxer = if codec == VideoCodec::H265 { "hevc" } else { "h264" };
    let mut command = command();
    command.args(["-loglevel", "quiet", "-threads", "1", "-flags", "+output_corrupt"]);
    command.args(["-flags2", "+showall", "-f", demuxer, "-i", "pipe:0", "-map", "0:v"]);
    command.args(["-vsync", "passthrough", "-vf", &size, "-pix_fmt", "yuv420p"]);
    command.args(["-c:v", "rawvideo", "-f", "rawvideo", "pipe:1"]);
    let raw = match run(&mut command, stream) {
        // It found nothing that it could decode.
        Err(FfmpegError::Failed(_)) => Vec::new(),
        raw => raw?,
    };
    let decoded = raw.chunks_exact(format.picture_len());
    let without = places.len().saturating_sub(decoded.len());
    Ok(spread(decoded, &places[without..], grey, format, count))
}

/// The number of the coded picture from which each decoded one is, by ffmpeg's list of instants.
fn places(list: &str, rate: f64) -> Vec<usize> {
    let mut base = 1.0 / rate;
    let mut places = Vec::new();
    for line in list.lines() {
        if let Some(fraction) = line.strip_prefix("#tb 0: ") {
            let parts: Vec<f64> =
                fraction.split('/').filter_map(|it| it.trim().parse().ok()).collect();
            if let [numerator, denominator] = parts[..] {
                base = numerator / denominator;
            }
        }
        let field = line.split(',').nth(2).filter(|_| !line.starts_with('#'));
        let instant: Option<f64> = field.and_then(|it| it.trim().parse().ok());
        places.extend(instant.map(|it| (it * base * rate).round().max(0.0) as usize));
    }
    places
}

/// Puts each decoded picture in its place and repeats it up to the next.
fn spread<'a>(
    decoded: impl Iterator<Item = &'a [u8]>,
    places: &[usize],
    grey: YuvPicture,
    format: VideoFormat,
    count: usize,
) -> Vec<YuvPicture> {
    let mut clip = Vec::with_capacity(count);
    let mut last = grey;
    for (raw, place) in decoded.zip(places) {
        while clip.len() < (*place).min(count) {
            clip.push(last.clone());
        }
        if let Ok(picture) = YuvPicture::new(format, raw.to_vec()) {
            last = picture;
        }
    }
    while clip.len() < count {
        clip.push(last.clone());
    }
    clip
}

/// Reads the pictures of any file of video, scaled to `format`, `limit` of them at most.
///
/// # Errors
/// If ffmpeg is missing or cannot read the file, or lacks the decoder of its video, or there is no
/// picture in it.
pub fn read_clip(
    path: &Path,
    format: VideoFormat,
    limit: usize,
) -> Result<Vec<YuvPicture>, FfmpegError> {
    let VideoFormat { width, height, rate } = format.check()?;
    let mut command = command();
    // The name is a file's, whatever protocol it looks like.
    let mut name = std::ffi::OsString::from("file:");
    name.push(path);
    command.arg("-i").arg(name).args(["-map", "0:v:0", "-an"]);
    command.args(["-vf", &format!("fps={rate},scale={width}:{height}"), "-pix_fmt", "yuv420p"]);
    command.args(["-frames:v", &limit.min(LONGEST).to_string(), "-f", "rawvideo", "pipe:1"]);
    let raw = run(&mut command, &[]).map_err(|error| match error {
        FfmpegError::Failed(why) if why.contains("Decoder (") => FfmpegError::Decoder,
        FfmpegError::Failed(why) if why.contains("trailing '?' to the map") => FfmpegError::NoVideo,
        error => error,
    })?;
    let pictures = raw.chunks_exact(format.picture_len());
    let clip: Result<Vec<_>, _> =
        pictures.map(|raw| YuvPicture::new(format, raw.to_vec())).collect();
    Some(clip?).filter(|clip| !clip.is_empty()).ok_or(FfmpegError::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_pictures_stand_at_their_instants() {
        let list = "#software: x\n#tb 0: 1/10\n0, 0, 0, 1, 4, 0x1\n0, 3, 3, 1, 4, 0x2\n";
        assert_eq!(places(list, 10.0), [0, 3]);
        let format = VideoFormat { width: 2, height: 2, rate: 10.0 };
        let raw = [[1; 6], [2; 6]];
        let grey = YuvPicture::grey(format).unwrap();
        let clip = spread(raw.iter().map(|it| &it[..]), &[1, 3], grey, format, 5);
        assert_eq!(clip.iter().map(|it| it.bytes()[0]).collect::<Vec<_>>(), [128, 1, 1, 2, 2]);
    }
}
