//! RTCP packets (RFC 3550, section 6): reports, source descriptions, goodbyes.

use crate::error::RtpError;

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const GOODBYE: u8 = 203;
/// The most entries that the five-bit count of a packet can hold.
const MAX_COUNT: usize = 31;
/// The cumulative number of packets lost has 24 bits.
const MAX_LOST: i32 = 0x7f_ffff;

/// The kinds of items of a source description.
pub mod sdes {
    /// The canonical name of a source.
    pub const CNAME: u8 = 1;
    /// The name of the program.
    pub const TOOL: u8 = 6;
}

/// The sender's part of a sender report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// The time of the report, in the format of NTP: seconds since 1900 and 32 bits of fraction.
    pub ntp: u64,
    /// That time by the clock of the media: the RTP timestamp.
    pub timestamp: u32,
    /// Packets sent since the source began.
    pub packets: u32,
    /// Bytes of payload sent.
    pub octets: u32,
}

/// A receiver's account of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source that the block is about.
    pub ssrc: u32,
    /// Packets lost since the last report, in 256ths of those expected.
    pub fraction_lost: u8,
    /// Packets lost altogether; negative with duplicates. 24 bits go over the wire.
    pub lost: i32,
    /// The highest sequence number received, extended by the count of its cycles.
    pub highest: u32,
    /// The interarrival jitter in ticks of the media clock.
    pub jitter: u32,
    /// The middle 32 bits of the time of the last sender report.
    pub last_report: u32,
    /// The time since that report in 65536ths of a second.
    pub delay: u32,
}

/// An item of a source description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SdesItem {
    /// Its kind, as in [`sdes`].
    pub kind: u8,
    /// Its text, UTF-8 by the standard, 255 bytes at most.
    pub text: Vec<u8>,
}

/// The description of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceChunk {
    /// The source that is described.
    pub ssrc: u32,
    /// The items in their order.
    pub items: Vec<SdesItem>,
}

/// One packet of a compound packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RtcpPacket {
    /// A sender report, or without `sender` a receiver report.
    Report {
        /// The source of the report.
        ssrc: u32,
        /// The account of its own packets.
        sender: Option<SenderInfo>,
        /// An account of each source that it receives; 31 at most.
        blocks: Vec<ReportBlock>,
    },
    /// Descriptions of sources; 31 at most.
    Description(Vec<SourceChunk>),
    /// Sources that leave.
    Goodbye {
        /// The sources; 31 at most.
        sources: Vec<u32>,
        /// Why they leave, 255 bytes at most.
        reason: Option<Vec<u8>>,
    },
    /// A packet of another type, as it stands.
    Other {
        /// The packet type.
        kind: u8,
        /// The five bits beside the version.
        count: u8,
        /// The content, a multiple of four bytes.
        body: Vec<u8>,
    },
}

impl RtcpPacket {
    /// Parses a compound packet, by the checks of RFC 3550, appendix A.2.
    ///
    /// # Errors
    /// If a part is malformed or the first is no report.
    pub fn parse_compound(bytes: &[u8]) -> Result<Vec<Self>, RtpError> {
        let mut rest = bytes;
        let mut packets = Vec::new();
        while !rest.is_empty() {
            let ([first, kind, high, low], after) =
                rest.split_first_chunk::<4>().ok_or(RtpError::Short)?;
            if first >> 6 != 2 {
                return Err(RtpError::Version(first >> 6));
            }
            let is_report = matches!(*kind, SENDER_REPORT | RECEIVER_REPORT);
            if packets.is_empty() && !is_report {
                return Err(RtpError::NoReport);
            }
            let length = 4 * usize::from(u16::from_be_bytes([*high, *low]));
            let (body, after) = after.split_at_checked(length).ok_or(RtpError::Short)?;
            rest = after;
            let is_padded = first & 0x20 != 0;
            // Only the last packet may be padded, and the first is padded only if it is the last.
            if is_padded && !rest.is_empty() {
                return Err(RtpError::Padding);
            }
            let padding = if is_padded { usize::from(*body.last().unwrap_or(&0)) } else { 0 };
            let length = body.len().checked_sub(padding).ok_or(RtpError::Padding)?;
            if is_padded && (padding == 0 || !padding.is_multiple_of(4)) {
                return Err(RtpError::Padding);
            }
            packets.push(parse_one(*kind, first & 0x1f, &body[..length])?);
        }
        if packets.is_empty() { Err(RtpError::Short) } else { Ok(packets) }
    }

    /// Encodes a compound packet. Entries beyond 31 of a packet are left out, and texts are cut
    /// after 255 bytes.
    #[must_use]
    pub fn encode_compound(packets: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        packets.iter().for_each(|packet| packet.encode(&mut out));
        out
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; 4]);
        let (kind, count) = match self {
            Self::Report { ssrc, sender, blocks } => encode_report(out, *ssrc, *sender, blocks),
            Self::Description(chunks) => {
                chunks.iter().take(MAX_COUNT).for_each(|chunk| encode_chunk(out, chunk));
                (SOURCE_DESCRIPTION, chunks.len().min(MAX_COUNT))
            }
            Self::Goodbye { sources, reason } => {
                for source in sources.iter().take(MAX_COUNT) {
                    out.extend(source.to_be_bytes());
                }
                if let Some(reason) = reason {
                    encode_text(out, reason);
                }
                (GOODBYE, sources.len().min(MAX_COUNT))
            }
            Self::Other { kind, count, body } => {
                out.extend(&body[..body.len().min(4 * usize::from(u16::MAX))]);
                (*kind, usize::from(*count & 0x1f))
            }
        };
        out.resize(begin + (out.len() - begin).next_multiple_of(4), 0);
        let words = ((out.len() - begin) / 4 - 1) as u16;
        let [high, low] = words.to_be_bytes();
        out[begin..begin + 4].copy_from_slice(&[0x80 | count as u8, kind, high, low]);
    }
}

fn encode_report(
    out: &mut Vec<u8>,
    ssrc: u32,
    sender: Option<SenderInfo>,
    blocks: &[ReportBlock],
) -> (u8, usize) {
    out.extend(ssrc.to_be_bytes());
    if let Some(sender) = sender {
        out.extend(sender.ntp.to_be_bytes());
        for word in [sender.timestamp, sender.packets, sender.octets] {
            out.extend(word.to_be_bytes());
        }
    }
    for block in blocks.iter().take(MAX_COUNT) {
        let lost = block.lost.clamp(-MAX_LOST - 1, MAX_LOST) as u32 & 0xff_ffff;
        let loss = u32::from(block.fraction_lost) << 24 | lost;
        let rest = [block.highest, block.jitter, block.last_report, block.delay];
        for word in [block.ssrc, loss].into_iter().chain(rest) {
            out.extend(word.to_be_bytes());
        }
    }
    let kind = if sender.is_some() { SENDER_REPORT } else { RECEIVER_REPORT };
    (kind, blocks.len().min(MAX_COUNT))
}

fn encode_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(255)];
    out.push(text.len() as u8);
    out.extend(text);
}

/// Items, then at least one null byte up to the next word.
fn encode_chunk(out: &mut Vec<u8>, chunk: &SourceChunk) {
    out.extend(chunk.ssrc.to_be_bytes());
    let begin = out.len();
    // A kind of 0 would end the list.
    for item in chunk.items.iter().filter(|item| item.kind != 0) {
        out.push(item.kind);
        encode_text(out, &item.text);
    }
    let length = (out.len() - begin + 1).next_multiple_of(4);
    out.resize(begin + length, 0);
}

fn parse_one(kind: u8, count: u8, body: &[u8]) -> Result<RtcpPacket, RtpError> {
    match kind {
        SENDER_REPORT | RECEIVER_REPORT => parse_report(kind == SENDER_REPORT, count, body),
        SOURCE_DESCRIPTION => parse_description(count, body),
        GOODBYE => parse_goodbye(count, body),
        _ => Ok(RtcpPacket::Other { kind, count, body: body.to_vec() }),
    }
}

/// Takes a word from the front.
fn word(bytes: &mut &[u8]) -> Result<u32, RtpError> {
    let (word, rest) = bytes.split_first_chunk::<4>().ok_or(RtpError::Short)?;
    *bytes = rest;
    Ok(u32::from_be_bytes(*word))
}

fn parse_report(is_sender: bool, count: u8, mut body: &[u8]) -> Result<RtcpPacket, RtpError> {
    let body = &mut body;
    let ssrc = word(body)?;
    let mut sender = None;
    if is_sender {
        let ntp = u64::from(word(body)?) << 32 | u64::from(word(body)?);
        let timestamp = word(body)?;
        let packets = word(body)?;
        let octets = word(body)?;
        sender = Some(SenderInfo { ntp, timestamp, packets, octets });
    }
    let mut block = || -> Result<ReportBlock, RtpError> {
        let ssrc = word(body)?;
        let loss = word(body)?;
        Ok(ReportBlock {
            ssrc,
            fraction_lost: (loss >> 24) as u8,
            // Shifted up and down, so that the sign of 24 bits is kept.
            lost: (loss << 8) as i32 >> 8,
            highest: word(body)?,
            jitter: word(body)?,
            last_report: word(body)?,
            delay: word(body)?,
        })
    };
    let blocks = (0..count).map(|_| block()).collect::<Result<_, _>>()?;
    Ok(RtcpPacket::Report { ssrc, sender, blocks })
}

/// Takes a text with its length from the front.
fn text<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], RtpError> {
    let (length, rest) = bytes.split_first().ok_or(RtpError::Item)?;
    let (text, rest) = rest.split_at_checked(usize::from(*length)).ok_or(RtpError::Item)?;
    *bytes = rest;
    Ok(text)
}

fn parse_description(count: u8, mut body: &[u8]) -> Result<RtcpPacket, RtpError> {
    let mut chunks = Vec::new();
    for _ in 0..count {
        let ssrc = word(&mut body)?;
        let whole = body.len();
        let mut items = Vec::new();
        loop {
            let (kind, rest) = body.split_first().ok_or(RtpError::Item)?;
            body = rest;
            if *kind == 0 {
                break;
            }
            items.push(SdesItem { kind: *kind, text: text(&mut body)?.to_vec() });
        }
        let used = whole - body.len();
        let filling = used.next_multiple_of(4) - used;
        body = body.get(filling..).ok_or(RtpError::Item)?;
        chunks.push(SourceChunk { ssrc, items });
    }
    Ok(RtcpPacket::Description(chunks))
}

fn parse_goodbye(count: u8, mut body: &[u8]) -> Result<RtcpPacket, RtpError> {
    let sources = (0..count).map(|_| word(&mut body)).collect::<Result<_, _>>()?;
    let reason = if body.is_empty() { None } else { Some(text(&mut body)?.to_vec()) };
    Ok(RtcpPacket::Goodbye { sources, reason })
}

#[cfg(test)]
mod tests;
