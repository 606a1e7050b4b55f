//! Video over lines that damage bits: sent and received in real time, and simulated beforehand.
//!
//! - [`VideoSource`] is what is sent: the clip of the project's own, a file, or a coded stream;
//!   [`CodedClip`] is the same as coded pictures.
//! - [`send_video`] and [`receive_video`] exchange it as RTP over UDP or UDP-Lite;
//!   [`send_adaptive`] codes it meanwhile, at the rate that [`EncoderRateControl`] chooses by the
//!   reports of the receiver.
//! - [`WsimComparison`] sends it over a trace of damaged radio blocks, by the algorithm of paper
//!   001 and as real packets.
//! - [`clip_sheet`] draws the same instants of several clips side by side.

mod adapt;
pub mod camera;
mod clip;
mod clock;
mod contents;
mod discards;
mod error;
pub mod ffmpeg;
mod intake;
mod missing;
mod options;
mod overrun;
mod receive;
mod send;
mod session;
mod sheet;
mod socket;
pub mod streams;
pub mod wsim;
mod wsim_comparison;

pub use crate::ffmpeg::{EncodeConfig, cut, decode};
pub use crate::wsim::{BlockCorruption, HeaderLayout, WsimProtocol};
pub use adapt::{AdaptiveClip, EncoderRateControl};
pub use clip::{CodedClip, OWN_CLIP, VideoSource, stream_codec};
pub use discards::VideoDiscards;
pub use error::VideoError;
pub use options::{parse_rate, parse_size};
pub use overrun::Overrun;
pub use receive::{ReceivedVideo, VideoReceiverConfig, VideoReport, receive_video};
pub use send::{AdaptiveVideo, SentVideo, VideoSenderConfig, send_adaptive, send_video};
pub use sheet::clip_sheet;
pub use socket::VideoProtocol;
pub use windfall_media::{ClipQuality, VideoFormat, YuvPicture};
pub use windfall_rtp::VideoCodec;
pub use wsim_comparison::{WsimComparison, WsimResult, WsimSettings, read_blocks};

/// The default port of RTP; RTCP has the next.
pub const VIDEO_PORT: u16 = 5_004;
/// The default payload type of a stream that is sent, one of the dynamic ones.
pub const PAYLOAD_TYPE: u8 = 96;
