//! Formats of video, and payloads to be sent.

/// The format of a stream of video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoCodec {
    /// H.263+ in payloads of RFC 4629.
    H263Plus,
    /// H.263 in payloads of RFC 2190, which is only received.
    H263,
    /// H.264 in payloads of RFC 6184.
    H264,
    /// H.265 in payloads of RFC 7798.
    H265,
}

impl VideoCodec {
    /// The name of the encoding in session descriptions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::H263Plus => "H263-1998",
            Self::H263 => "H263",
            Self::H264 => "H264",
            Self::H265 => "H265",
        }
    }
}

/// A payload to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoPayload {
    /// The payload header and the coded bytes.
    pub bytes: Vec<u8>,
    /// The number of leading bytes without which the rest is of no use: headers of payload,
    /// picture, slice, and whole parameter sets.
    pub exact: usize,
    /// It is the last of its picture; its packet is marked.
    pub is_last: bool,
}
