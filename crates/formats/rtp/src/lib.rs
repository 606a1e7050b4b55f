//! RTP (RFC 3550): packets, reports, payload formats of video, and a jitter buffer.
//!
//! - [`RtpPacket`] and [`RtcpPacket`]: what goes over the wire.
//! - [`ReceptionStatistics`]: validation of sequence numbers, loss and interarrival jitter by the
//!   algorithms of RFC 3550, appendix A.
//! - [`JitterBuffer`]: packets in order, each at its playout time.
//! - [`packetize`] and [`Depacketizer`]: coded pictures to payloads and back: H.263+ (RFC 4629),
//!   H.263 (RFC 2190, on receipt), H.264 (RFC 6184), H.265 (RFC 7798).
//! - [`SdpSession`]: the session description by which players find a stream.
//!
//! Nothing here reads a clock; what may be damaged stays marked, byte range by byte range.

mod error;
mod h263;
mod h264;
mod h265;
mod jitter_buffer;
mod nal;
mod packet;
mod payload;
mod reception;
mod rtcp;
mod sdp;
mod video;

pub use error::RtpError;
pub use h263::{H263Mode, H263PlusHeader, Rfc2190Header, picture_header_bits, pictures};
pub use h264::access_units;
pub use h265::h265_access_units;
pub use jitter_buffer::{Buffered, JitterBuffer, JitterBufferConfig, JitterBufferCounters};
pub use nal::nal_units;
pub use packet::{RTP_HEADER_LEN, RtpExtension, RtpHeader, RtpPacket};
pub use payload::{VideoCodec, VideoPayload};
pub use reception::{ReceptionStatistics, SequenceCheck};
pub use rtcp::{ReportBlock, RtcpPacket, SdesItem, SenderInfo, SourceChunk, sdes};
pub use sdp::SdpSession;
pub use video::{CodedPicture, Depacketizer, packetize};

/// Ticks of the RTP clock of video in a second.
pub const VIDEO_CLOCK: u32 = 90_000;
