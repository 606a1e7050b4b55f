//! Errors of sending and receiving video.

use std::io;
use std::net::SocketAddr;

use windfall_media::PictureError;

use crate::ffmpeg::FfmpegError;

/// The reason for which video could not be prepared, sent or received.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The program behind the codec.
    #[error(transparent)]
    Codec(#[from] FfmpegError),
    /// A picture has an impossible size.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The clip has more raw bytes than the memory for it.
    #[error("{pictures} pictures of this size take too much memory; use at most {most}")]
    TooLong {
        /// The number of pictures asked for.
        pictures: usize,
        /// The most that fit.
        most: usize,
    },
    /// An elementary stream without pictures.
    #[error("there is no picture in it")]
    Empty,
    /// The clip of the project's own in another size.
    #[error("talking-head has 176x144 pixels; leave out the size")]
    Size,
    /// A socket cannot be had.
    #[error("cannot listen on {0}: {1}")]
    Bind(SocketAddr, io::Error),
    /// A socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing of RTP came.
    #[error("no video came to port {0}: no packet of RTP")]
    Silence(u16),
    /// Datagrams came, and none of them belongs to a stream.
    #[error(
        "no video came to port {port}: of {strangers} datagrams none is RTP{}; has the sender the \
         same --port and --protocol?",
        .kind.map(|kind| format!(" of payload type {kind}")).unwrap_or_default()
    )]
    Strangers {
        /// The port that was listened on.
        port: u16,
        /// The payload type that was waited for, if it was a certain one.
        kind: Option<u8>,
        /// The datagrams that came.
        strangers: u64,
    },
    /// Pictures of H.264 or H.265 came without what is needed to decode any of them.
    #[error(
        "no parameter sets came to port {0}, without which no picture can be decoded: let the \
         sender put them into the stream (ffmpeg: -bsf:v dump_extra; with -c copy of MP4 or MKV: \
         -bsf:v h264_mp4toannexb or hevc_mp4toannexb)"
    )]
    NoParameters(u16),
    /// Packets of a stream came, and none of them holds the beginning of a picture.
    #[error(
        "no picture came to port {port}: {packets} packets of RTP hold no beginning of one; has \
         the sender the same --codec?"
    )]
    NoPicture {
        /// The port that was listened on.
        port: u16,
        /// The packets that came.
        packets: u32,
    },
    /// The receiver was told to end before a picture came.
    #[error("ended before a picture came to port {0}")]
    Stopped(u16),
}
