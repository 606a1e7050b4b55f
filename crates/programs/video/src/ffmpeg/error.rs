//! Errors of encoding and decoding.

use windfall_media::PictureError;

/// The reason for which video could not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
pub enum FfmpegError {
    /// The program is not there.
    #[error("ffmpeg is not installed (Debian: apt install ffmpeg): {0}")]
    Missing(std::io::Error),
    /// The program has not the encoder.
    #[error("this ffmpeg has no encoder {0}; Debian's package ffmpeg has it")]
    Encoder(&'static str),
    /// The program cannot decode the video of a file.
    #[error("this ffmpeg has no decoder for its video; recode it where there is one, as H.264")]
    Decoder,
    /// There is no video in a file.
    #[error("it has no video stream")]
    NoVideo,
    /// The program failed; its last words.
    #[error("ffmpeg failed: {0}")]
    Failed(String),
    /// A pipe or a temporary file failed.
    #[error("ffmpeg's files: {0}")]
    Io(#[from] std::io::Error),
    /// A picture has an impossible size.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// It read no picture.
    #[error("there is no picture in it")]
    Nothing,
}
