//! Video encoded and decoded by the program `ffmpeg` through pipes.
//!
//! - [`read_clip`]: the pictures of any file that ffmpeg reads, scaled to a format.
//! - [`encode()`]: pictures to an elementary stream, cut into coded pictures.
//! - [`decode()`]: coded pictures, some of them missing or damaged, to raw ones, one for each;
//!   [`decode_some`] wants one at least that can be decoded, [`decode_reordered`] takes B pictures.
//!
//! Nothing is linked: a program that is missing, or that lacks a codec, is an error with its name.

mod decode;
mod encode;
mod error;
mod program;

pub use decode::{decode, decode_reordered, decode_some, read_clip};
pub use encode::{EncodeConfig, cut, encode};
pub use error::FfmpegError;
