//! The clip that is sent: a minute of `talking-head`, coded once and for all.

use windfall_video::{
    EncodeConfig, VideoCodec, VideoError, VideoFormat, VideoSource, YuvPicture, cut,
};

/// The clip as `windfall wsim talking-head CLEAN.trace --pictures 300 --out wsim` writes it to
/// `wsim/circuit-udp.h263`: H.263+ of ffmpeg 5.1. So the same bytes are sent whatever encoder is
/// installed.
const STREAM: &[u8] = include_bytes!("talking-head-1.h263");
/// Pictures before it starts over.
const LOOP: usize = 300;

/// The most bytes of a packet of RTP.
pub(crate) const ADU: usize = 242;

/// The size of the pictures, and their rate.
pub(crate) const FORMAT: VideoFormat = EncodeConfig::NARROW.format;

/// Returns the coded pictures of the clip, once.
pub(crate) fn coded() -> Vec<Vec<u8>> {
    cut(VideoCodec::H263Plus, STREAM)
}

/// Returns the bits of the stream in a second.
pub(crate) fn bit_rate() -> f64 {
    8.0 * STREAM.len() as f64 * FORMAT.rate / LOOP as f64
}

/// Returns the first `count` of the pictures, which start over at the end of the clip.
pub(crate) fn repeated<T>(clip: &[T], count: usize) -> impl Iterator<Item = &T> {
    clip.iter().cycle().take(count)
}

/// Returns the pictures of the clip before coding, once.
///
/// # Errors
/// None that the format allows.
pub(crate) fn original() -> Result<Vec<YuvPicture>, VideoError> {
    VideoSource::TalkingHead.pictures(FORMAT, LOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= S1.3
    #[test]
    fn the_clip_has_a_minute_of_pictures_at_the_rate_of_the_narrow_line() {
        assert_eq!(coded().len(), LOOP);
        assert!((4_500.0..4_800.0).contains(&bit_rate()), "{}", bit_rate());
    }

    #[test]
    fn it_starts_over() {
        assert_eq!(repeated(&[1, 2, 3], 5).collect::<Vec<_>>(), [&1, &2, &3, &1, &2]);
    }
}
