//! Captures in pcapng: what one device saw, with notes on damage and drops.
//!
//! One file per device, and beside it one of the packets that the device sent and that never
//! arrived, each at the moment of its drop: so that no packet is twice in a file. Older captures
//! have both in one file, the dropped ones at an interface of their own, and are read as well.
//! Written here, because what is needed are three kinds of block; the format is
//! draft-ietf-opsawg-pcapng.

pub mod read;

use std::io::{self, Write};

use bytes::Bytes;
use windfall_base::{Frame, Instant, Payload, Tag};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
/// The packet of the first drafts of the format.
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// The type of packets that begin with the IP header, IPv4 or IPv6.
pub const LINKTYPE_RAW: u16 = 101;
/// Frames begin with a radiotap header, behind which stands that of 802.11.
const LINKTYPE_RADIOTAP: u16 = 127;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
const EPB_FLAGS: u16 = 2;
const EPB_PACKET_ID: u16 = 5;

/// An option longer than this is cut: readers refuse longer ones.
const MAX_OPTION: usize = 0xfff0;

/// The place where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It came out of the link and arrived at the device.
    Arrived,
    /// The device sent it into the link.
    Sent,
    /// The device had sent it, and the link dropped it.
    Dropped,
}

/// Writes the capture of one device, or of a radio.
#[derive(Debug)]
pub struct Capture<W> {
    out: W,
    link_type: u16,
    /// The interfaces that are described; dropped packets are at the last one.
    interfaces: u32,
    /// Nanoseconds between the epoch and the start of the run.
    epoch: u64,
    block: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of `device`.
    ///
    /// `epoch` is the start of the run in nanoseconds since 1970; zero in simulated time.
    /// `comment` stands in the head of the file: the seed and the command.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(out: W, device: &str, epoch: u64, comment: &str) -> io::Result<Self> {
        let mut capture = Self::begin_file(out, LINKTYPE_RAW, epoch, comment)?;
        capture.interface(device, "the device")?;
        Ok(capture)
    }

    /// Begins a capture of the packets that `device` sent and the link dropped.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn dropped(out: W, device: &str, epoch: u64, comment: &str) -> io::Result<Self> {
        let mut capture = Self::begin_file(out, LINKTYPE_RAW, epoch, comment)?;
        capture.dropped_interface(device)?;
        Ok(capture)
    }

    fn dropped_interface(&mut self, device: &str) -> io::Result<()> {
        self.interface(&format!("{device}:dropped"), "sent by the device, dropped by the link")
    }

    /// Begins a capture of the frames of an 802.11 radio, each behind a radiotap header.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn radio(out: W, name: &str, epoch: u64, comment: &str) -> io::Result<Self> {
        let mut capture = Self::begin_file(out, LINKTYPE_RADIOTAP, epoch, comment)?;
        capture.interface(name, "the radio")?;
        Ok(capture)
    }

    fn begin_file(out: W, link_type: u16, epoch: u64, comment: &str) -> io::Result<Self> {
        let block = Vec::with_capacity(2048);
        let mut capture = Self { out, link_type, interfaces: 0, epoch, block };
        capture.section(comment)?;
        Ok(capture)
    }

    /// Adds a frame of a radio behind its radiotap header.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn frame(
        &mut self,
        at: Instant,
        seen: Seen,
        radiotap: Bytes,
        frame: &Frame,
    ) -> io::Result<()> {
        let bytes = Payload::new(radiotap, frame.to_vec().into());
        self.packet(at, seen, frame.tag, &bytes, "")
    }

    /// Adds a packet; equal tags in two captures mean the same packet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn packet(
        &mut self,
        at: Instant,
        seen: Seen,
        tag: Option<Tag>,
        payload: &Payload,
        comment: &str,
    ) -> io::Result<()> {
        let interface = if seen == Seen::Dropped { self.interfaces.saturating_sub(1) } else { 0 };
        let time = self.epoch.saturating_add(at.as_nanos());
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        self.begin(ENHANCED_PACKET);
        self.word(interface);
        self.word((time >> 32) as u32);
        self.word(time as u32);
        self.word(length);
        self.word(length);
        for slice in payload.slices() {
            self.block.extend_from_slice(slice);
        }
        self.pad();
        let inbound = 1_u32;
        let outbound = 2_u32;
        let direction = if seen == Seen::Arrived { inbound } else { outbound };
        self.option(EPB_FLAGS, &direction.to_le_bytes());
        if let Some(tag) = tag {
            self.option(EPB_PACKET_ID, &tag.0.to_le_bytes());
        }
        if !comment.is_empty() {
            self.text(OPT_COMMENT, comment);
        }
        self.option(OPT_END, &[]);
        self.end()
    }

    /// Hands all that is buffered on.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The writer behind the capture.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn section(&mut self, comment: &str) -> io::Result<()> {
        self.begin(SECTION_HEADER);
        self.word(BYTE_ORDER_MAGIC);
        // Version 1.0.
        self.word(1);
        // The length of the section is not known yet.
        self.word(u32::MAX);
        self.word(u32::MAX);
        self.text(OPT_COMMENT, comment);
        let program = concat!("windfall ", env!("CARGO_PKG_VERSION"));
        self.text(SHB_APPLICATION, program);
        self.option(OPT_END, &[]);
        self.end()
    }

    fn interface(&mut self, name: &str, description: &str) -> io::Result<()> {
        self.interfaces += 1;
        self.begin(INTERFACE_DESCRIPTION);
        self.word(u32::from(self.link_type));
        // No limit on the length of what is captured.
        self.word(0);
        self.text(IF_NAME, name);
        self.text(IF_DESCRIPTION, description);
        // Ten to the power of minus nine.
        self.option(IF_TIMESTAMP_RESOLUTION, &[9]);
        self.option(OPT_END, &[]);
        self.end()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.word(kind);
        // Room for the length.
        self.word(0);
    }

    /// Writes the block, which carries its length at both ends.
    fn end(&mut self) -> io::Result<()> {
        let total = self.block.len() as u32 + 4;
        self.block[4..8].copy_from_slice(&total.to_le_bytes());
        self.word(total);
        self.out.write_all(&self.block)
    }

    fn word(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, code: u16, text: &str) {
        let mut end = text.len().min(MAX_OPTION);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.option(code, &text.as_bytes()[..end]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    /// Blocks and options end on multiples of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}

/// The note on inverted bits: how many, and their positions in the packet.
///
/// Bit 0 is the most significant bit of the first byte of the IP header. Long lists are cut after
/// `MAX_LISTED` positions; the event log has them all.
#[must_use]
pub fn damage_note(inverted: &[u32], missing: u32) -> String {
    const MAX_LISTED: usize = 4_000;
    let mut note = String::new();
    if !inverted.is_empty() {
        let bits = if inverted.len() == 1 { "bit" } else { "bits" };
        note = format!("damaged: {} inverted {bits}:", inverted.len());
        for bit in inverted.iter().take(MAX_LISTED) {
            note.push_str(&format!(" {bit}"));
        }
        if inverted.len() > MAX_LISTED {
            note.push_str(" …");
        }
    }
    if missing > 0 {
        let begin = if note.is_empty() { "damaged: " } else { "; " };
        let bytes = if missing == 1 { "byte" } else { "bytes" };
        note.push_str(&format!("{begin}{missing} {bytes} cut off the end"));
    }
    note
}

#[cfg(test)]
mod tests;
