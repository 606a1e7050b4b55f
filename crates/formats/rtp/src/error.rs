//! Errors of packets and payloads.

/// The reason for which bytes are no RTP or RTCP packet, or no payload of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RtpError {
    /// The bytes end before the header does.
    #[error("the packet is cut short")]
    Short,
    /// The contributing sources are longer than the packet.
    #[error("the contributing sources are longer than the packet")]
    Contributing,
    /// The extension of the header is longer than the packet.
    #[error("the extension of the header is longer than the packet")]
    Extension,
    /// The version is not 2.
    #[error("the version is {0}, not 2")]
    Version(u8),
    /// The padding is longer than the packet.
    #[error("the padding is longer than the packet")]
    Padding,
    /// A compound packet of RTCP does not begin with a report.
    #[error("the compound packet does not begin with a sender or receiver report")]
    NoReport,
    /// A text item of RTCP is cut off.
    #[error("an item of the source description is cut off")]
    Item,
    /// A payload is not of its format.
    #[error("the payload is malformed: {0}")]
    Payload(&'static str),
}
