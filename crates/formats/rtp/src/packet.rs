//! RTP packets (RFC 3550, section 5.1).

use crate::error::RtpError;

/// The length of the header without contributing sources and extension, in bytes.
pub const RTP_HEADER_LEN: usize = 12;

const VERSION: u8 = 2;

//= S1.6
/// The fields of the header that a sender chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpHeader {
    /// Marks the last packet of a picture.
    pub marker: bool,
    /// The payload type, 0 to 127.
    pub payload_type: u8,
    /// The sequence number.
    pub sequence: u16,
    /// The sampling instant in ticks of the media clock.
    pub timestamp: u32,
    /// The synchronisation source.
    pub ssrc: u32,
}

/// An extension of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpExtension<'a> {
    /// The number that a profile defines.
    pub profile: u16,
    /// The content, a multiple of four bytes.
    pub data: &'a [u8],
}

/// A packet of RTP, as parsed or to be encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpPacket<'a> {
    /// The fixed part of the header.
    pub header: RtpHeader,
    /// The contributing sources, four bytes each and 15 at most.
    pub contributing: &'a [u8],
    /// The extension of the header, if there is one.
    pub extension: Option<RtpExtension<'a>>,
    /// The payload without padding.
    pub payload: &'a [u8],
    /// The number of bytes of padding, the count among them.
    pub padding: u8,
}

impl<'a> RtpPacket<'a> {
    /// Parses a packet.
    ///
    /// # Errors
    /// If it is cut short, of another version, or padded beyond its length.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RtpError> {
        let (fixed, rest) = bytes.split_first_chunk::<RTP_HEADER_LEN>().ok_or(RtpError::Short)?;
        if fixed[0] >> 6 != VERSION {
            return Err(RtpError::Version(fixed[0] >> 6));
        }
        let sources = usize::from(fixed[0] & 0x0f) * 4;
        let (contributing, rest) = rest.split_at_checked(sources).ok_or(RtpError::Contributing)?;
        let (extension, rest) =
            if fixed[0] & 0x10 == 0 { (None, rest) } else { parse_extension(rest)? };
        let padding = if fixed[0] & 0x20 == 0 {
            0
        } else {
            *rest.last().filter(|count| **count > 0).ok_or(RtpError::Padding)?
        };
        let length = rest.len().checked_sub(usize::from(padding)).ok_or(RtpError::Padding)?;
        let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| fixed[at + i]));
        let header = RtpHeader {
            marker: fixed[1] & 0x80 != 0,
            payload_type: fixed[1] & 0x7f,
            sequence: u16::from_be_bytes([fixed[2], fixed[3]]),
            timestamp: word(4),
            ssrc: word(8),
        };
        Ok(Self { header, contributing, extension, payload: &rest[..length], padding })
    }

    /// Encodes the packet. Sources beyond 15 are left out, an incomplete last word of the
    /// extension too.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let sources = (self.contributing.len() / 4).min(15);
        let flags = u8::from(self.padding > 0) << 5 | u8::from(self.extension.is_some()) << 4;
        let header = &self.header;
        let kind = u8::from(header.marker) << 7 | header.payload_type & 0x7f;
        let mut out = vec![VERSION << 6 | flags | sources as u8, kind];
        out.extend(header.sequence.to_be_bytes());
        out.extend(header.timestamp.to_be_bytes());
        out.extend(header.ssrc.to_be_bytes());
        out.extend(&self.contributing[..4 * sources]);
        if let Some(extension) = &self.extension {
            let words = (extension.data.len() / 4).min(usize::from(u16::MAX));
            out.extend(extension.profile.to_be_bytes());
            out.extend((words as u16).to_be_bytes());
            out.extend(&extension.data[..4 * words]);
        }
        out.extend(self.payload);
        if self.padding > 0 {
            out.resize(out.len() + usize::from(self.padding) - 1, 0);
            out.push(self.padding);
        }
        out
    }
}

fn parse_extension(bytes: &[u8]) -> Result<(Option<RtpExtension<'_>>, &[u8]), RtpError> {
    let ([a, b, c, d], rest) = bytes.split_first_chunk::<4>().ok_or(RtpError::Extension)?;
    let length = usize::from(u16::from_be_bytes([*c, *d])) * 4;
    let (data, rest) = rest.split_at_checked(length).ok_or(RtpError::Extension)?;
    Ok((Some(RtpExtension { profile: u16::from_be_bytes([*a, *b]), data }), rest))
}

#[cfg(test)]
mod tests;
