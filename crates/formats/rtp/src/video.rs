//! Coded pictures to payloads, and payloads to coded pictures with their damage.

use core::ops::Range;
use std::collections::VecDeque;

use crate::error::RtpError;
use crate::h263::{self, H263Mode, H263PlusHeader, Rfc2190Header};
use crate::nal::{self, nal_units};
use crate::packet::RtpHeader;
use crate::payload::{VideoCodec, VideoPayload};
use crate::{h264, h265};

/// The longest picture that is assembled; what exceeds it is cut.
const LONGEST: usize = 4 << 20;
/// Pictures that wait for their reader; the oldest is given up.
const WAITING: usize = 64;

//= S1.4
//= S1.55
/// Packs one picture of an elementary stream into payloads of about `longest` bytes at most, cut
/// where a decoder can resume. With `repeat`, payloads of H.263+ carry the header of the picture
/// again, so that a receiver that lost the first one can use the others.
#[must_use]
pub fn packetize(
    codec: VideoCodec,
    picture: &[u8],
    longest: usize,
    repeat: bool,
) -> Vec<VideoPayload> {
    let mut payloads = match codec {
        VideoCodec::H263Plus | VideoCodec::H263 => h263::packetize(picture, longest, repeat),
        VideoCodec::H264 => h264::packetize(&nal_units(picture).collect::<Vec<_>>(), longest),
        VideoCodec::H265 => h265::packetize(&nal_units(picture).collect::<Vec<_>>(), longest),
    };
    if let Some(last) = payloads.last_mut() {
        last.is_last = true;
    }
    payloads
}

/// A picture as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodedPicture {
    /// The sampling instant in ticks.
    pub timestamp: u32,
    /// The coded bytes of an elementary stream.
    pub data: Vec<u8>,
    /// The ranges of `data` that may be damaged, ascending.
    pub suspect: Vec<Range<u32>>,
    /// No packet of it is missing.
    pub is_whole: bool,
}

impl CodedPicture {
    /// Appends the bytes `range` of a payload, and what is suspect of them.
    fn append(&mut self, payload: &[u8], range: Range<usize>, suspect: &[Range<u32>]) {
        let room = LONGEST - self.data.len().min(LONGEST);
        let range = range.start..range.end.min(range.start + room);
        let base = self.data.len();
        for it in suspect {
            let start = (it.start as usize).max(range.start);
            let end = (it.end as usize).min(range.end);
            if start < end {
                let place = |at: usize| (base + at - range.start) as u32;
                self.mark(place(start)..place(end));
            }
        }
        self.data.extend(&payload[range]);
    }

    fn mark(&mut self, range: Range<u32>) {
        match self.suspect.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => self.suspect.push(range),
        }
    }
}

/// Joins payloads to pictures.
///
/// Packets come in order; those that are missing are seen by their sequence numbers. What cannot
/// be decoded without a missing packet is left out.
#[derive(Clone, Debug)]
pub struct Depacketizer {
    codec: VideoCodec,
    next: Option<u16>,
    picture: Option<CodedPicture>,
    finished: VecDeque<CodedPicture>,
    /// A packet is missing, and no place to resume has come since.
    is_cut: bool,
    /// The bits of the last byte that the next payload of RFC 2190 fills.
    open_bits: u8,
    malformed: u64,
}

impl Depacketizer {
    /// A receiver of streams of `codec`.
    #[must_use]
    pub fn new(codec: VideoCodec) -> Self {
        Self {
            codec,
            next: None,
            picture: None,
            finished: VecDeque::new(),
            is_cut: false,
            open_bits: 0,
            malformed: 0,
        }
    }

    //= S1.4
    /// Takes the payload of the next packet; `suspect` are the ranges of it that may be damaged,
    /// ascending.
    pub fn push(&mut self, header: &RtpHeader, payload: &[u8], suspect: &[Range<u32>]) {
        let has_gap = self.next.is_some_and(|next| next != header.sequence);
        self.next = Some(header.sequence.wrapping_add(1));
        if has_gap {
            self.is_cut = true;
            if let Some(picture) = &mut self.picture {
                picture.is_whole = false;
            }
        }
        if payload.is_empty() {
            // Padding only, with which senders probe or keep a path open: no part of a picture.
            return;
        }
        let is_over =
            |it: &CodedPicture| it.timestamp != header.timestamp || it.data.len() >= LONGEST;
        if self.picture.as_ref().is_some_and(is_over) {
            // Its end is missing, or its sender marks no packets.
            self.finish();
        }
        let timestamp = header.timestamp;
        let goes_on = self.finished.back().is_some_and(|it| it.timestamp == timestamp);
        if self.picture.is_none() && goes_on {
            // Its sender marks more than the last packet: the picture goes on.
            self.picture = self.finished.pop_back();
            if let Some(picture) = &mut self.picture {
                picture.is_whole &= !has_gap;
            }
        }
        let mut picture = self.picture.take().unwrap_or_else(|| CodedPicture {
            timestamp,
            is_whole: !has_gap,
            ..CodedPicture::default()
        });
        let result = match self.codec {
            VideoCodec::H263Plus => self.push_h263_plus(&mut picture, payload, suspect),
            VideoCodec::H263 => self.push_h263(&mut picture, payload, suspect),
            VideoCodec::H264 => self.push_h264(&mut picture, payload, suspect),
            VideoCodec::H265 => self.push_h265(&mut picture, payload, suspect),
        };
        if result.is_err() {
            self.malformed += 1;
            picture.is_whole = false;
        }
        self.picture = Some(picture);
        if header.marker {
            self.finish();
        }
    }

    /// Ends the picture under way, as at the end of the stream.
    pub fn finish(&mut self) {
        let Some(picture) = self.picture.take() else { return };
        self.open_bits = 0;
        if !picture.data.is_empty() {
            if self.finished.len() == WAITING {
                self.finished.pop_front();
            }
            self.finished.push_back(picture);
        }
    }

    /// Returns the next picture that is complete, or of which nothing more comes. A sender may mark
    /// several packets of a picture; those pushed before the picture is fetched are joined.
    pub fn poll_picture(&mut self) -> Option<CodedPicture> {
        self.finished.pop_front()
    }

    /// Takes the next packet as the first, whatever its number: its sender began anew.
    pub fn forget_sequence(&mut self) {
        self.next = None;
        self.is_cut = false;
    }

    /// Returns the number of payloads that were malformed.
    #[must_use]
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    fn push_h263_plus(
        &mut self,
        picture: &mut CodedPicture,
        payload: &[u8],
        suspect: &[Range<u32>],
    ) -> Result<(), RtpError> {
        let (header, coded) = H263PlusHeader::parse(payload)?;
        let mut begin = payload.len() - coded.len();
        if header.is_start {
            self.is_cut = false;
            begin_part(picture, &header, coded);
            picture.data.extend([0, 0]);
        } else if self.is_cut || picture.data.is_empty() {
            // Bits in the middle of a slice are of no use without those before them, but another
            // slice may begin among them.
            picture.is_whole = false;
            let next = h263::start_codes(coded).next().filter(|_| !picture.data.is_empty());
            let Some(start) = next else { return Ok(()) };
            self.is_cut = false;
            begin += start;
        }
        picture.append(payload, begin..payload.len(), suspect);
        Ok(())
    }

    fn push_h263(
        &mut self,
        picture: &mut CodedPicture,
        payload: &[u8],
        suspect: &[Range<u32>],
    ) -> Result<(), RtpError> {
        let (header, coded) = Rfc2190Header::parse(payload)?;
        let begin = payload.len() - coded.len();
        if header.mode == H263Mode::A {
            self.is_cut = false;
            if matches!(coded, [0, 0, 0x80..=0x83, ..]) {
                picture.is_whole = true;
            }
        } else if self.is_cut || picture.data.is_empty() {
            picture.is_whole = false;
            return Ok(());
        }
        let Some(first) = coded.first() else { return Ok(()) };
        let own = 0xff >> header.start_bits;
        let mut from = begin;
        if header.start_bits > 0 && self.open_bits + header.start_bits == 8 {
            // Both payloads hold a part of the byte in which one ends and the next begins.
            if let Some(last) = picture.data.last_mut() {
                *last = *last & !own | first & own;
                from += 1;
            }
        }
        picture.append(payload, from..payload.len(), suspect);
        self.open_bits = header.end_bits;
        Ok(())
    }

    fn push_h264(
        &mut self,
        picture: &mut CodedPicture,
        payload: &[u8],
        suspect: &[Range<u32>],
    ) -> Result<(), RtpError> {
        let first = *payload.first().ok_or(RtpError::Short)?;
        match first & h264::TYPE {
            1..=23 => {
                self.is_cut = false;
                append_unit(picture, payload, 0..payload.len(), suspect);
            }
            h264::STAP_A => {
                self.is_cut = false;
                append_aggregate(picture, payload, 1, suspect)?;
            }
            h264::FU_A => {
                let flags = *payload.get(1).ok_or(RtpError::Short)?;
                if flags & nal::START != 0 {
                    self.is_cut = false;
                    picture.data.extend([0, 0, 0, 1]);
                    if suspect.iter().any(|it| it.start < 2) {
                        let at = picture.data.len() as u32;
                        picture.mark(at..at + 1);
                    }
                    picture.data.push(first & h264::IMPORTANCE | flags & h264::TYPE);
                } else if self.is_cut || picture.data.is_empty() {
                    picture.is_whole = false;
                    return Ok(());
                }
                picture.append(payload, 2..payload.len(), suspect);
            }
            _ => return Err(RtpError::Payload("a unit of the interleaved mode of RFC 6184")),
        }
        Ok(())
    }
}

impl Depacketizer {
    fn push_h265(
        &mut self,
        picture: &mut CodedPicture,
        payload: &[u8],
        suspect: &[Range<u32>],
    ) -> Result<(), RtpError> {
        let [first, second, flags, ..] = *payload else { return Err(RtpError::Short) };
        match h265::kind(first) {
            0..h265::AGGREGATE => {
                self.is_cut = false;
                append_unit(picture, payload, 0..payload.len(), suspect);
            }
            h265::AGGREGATE => {
                self.is_cut = false;
                append_aggregate(picture, payload, h265::HEADER_LEN, suspect)?;
            }
            h265::FRAGMENT => {
                if flags & nal::START != 0 {
                    self.is_cut = false;
                    picture.data.extend([0, 0, 0, 1]);
                    let at = picture.data.len() as u32;
                    if suspect.iter().any(|it| it.start < 3) {
                        picture.mark(at..at + 2);
                    }
                    let kind = flags & h265::FRAGMENT_TYPE;
                    picture.data.extend([h265::with_kind(first, kind), second]);
                } else if self.is_cut || picture.data.is_empty() {
                    picture.is_whole = false;
                    return Ok(());
                }
                picture.append(payload, h265::HEADER_LEN + 1..payload.len(), suspect);
            }
            _ => return Err(RtpError::Payload("a unit that RFC 7798 has no place for")),
        }
        Ok(())
    }
}

/// Sees to the header of a picture of H.263+ where a part of it begins.
fn begin_part(picture: &mut CodedPicture, header: &H263PlusHeader<'_>, coded: &[u8]) {
    let is_picture = coded.first().is_some_and(|byte| byte & 0xfc == 0x80);
    if is_picture {
        // What is missing belongs to the picture before.
        picture.is_whole = picture.is_whole || picture.data.is_empty();
    } else if picture.data.is_empty() {
        picture.is_whole = false;
        if !header.picture_header.is_empty() {
            picture.data.extend(header.restored());
        }
    }
}

/// Appends a unit with a start code of four bytes.
fn append_unit(
    picture: &mut CodedPicture,
    payload: &[u8],
    range: Range<usize>,
    suspect: &[Range<u32>],
) {
    picture.data.extend([0, 0, 0, 1]);
    picture.append(payload, range, suspect);
}

fn append_aggregate(
    picture: &mut CodedPicture,
    payload: &[u8],
    header_len: usize,
    suspect: &[Range<u32>],
) -> Result<(), RtpError> {
    let mut at = header_len;
    while at < payload.len() {
        let length = payload[at..].first_chunk::<2>().ok_or(RtpError::Short)?;
        let start = at + 2;
        let end = at + 2 + usize::from(u16::from_be_bytes(*length));
        if end > payload.len() || end == start {
            return Err(RtpError::Payload("a unit of an aggregate is cut off or empty"));
        }
        append_unit(picture, payload, start..end, suspect);
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
