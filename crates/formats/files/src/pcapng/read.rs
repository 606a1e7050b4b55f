//! Reads captures: the packets with time, interface, tag and comment; all other blocks are skipped.

mod classic;

use bytes::Bytes;
use windfall_base::{Instant, MemoryBudget, OverBudget, Tag};

use super::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, EPB_FLAGS, EPB_PACKET_ID, IF_NAME, IF_TIMESTAMP_RESOLUTION,
    INTERFACE_DESCRIPTION, OBSOLETE_PACKET, OPT_COMMENT, OPT_END, SECTION_HEADER, SIMPLE_PACKET,
    Seen,
};

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When it was seen, in nanoseconds since 1970 or since the start of a simulated run.
    pub at: Instant,
    /// The place where it was seen.
    pub seen: Seen,
    /// The number of the interface in its section.
    pub interface: u32,
    /// The name of the packet.
    pub tag: Option<Tag>,
    /// The type of the headers with which the bytes begin, by its number in the registry of pcap.
    pub link_type: u16,
    /// The captured bytes.
    pub data: Bytes,
    /// The length of the packet on the wire, of which the capture may have kept less.
    pub original: u32,
    /// The first comment.
    pub comment: String,
}

/// Why a file is not a capture that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It begins neither as pcapng does nor as the older pcap.
    #[error(
        "this is no pcapng or pcap file{}; write one with --pcap DIR",
        if found.is_empty() { ": it is empty" } else { "" }
    )]
    NotACapture {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// A block is cut short, or its length makes no sense.
    #[error(
        "byte {at}: a block of {length} bytes does not fit in the file of {size} bytes; \
             the file was cut short or is damaged"
    )]
    Block {
        /// The offset of the block.
        at: usize,
        /// Its length, as it says.
        length: usize,
        /// The length of the file.
        size: usize,
    },
    /// The capture is too long to be read.
    #[error(transparent)]
    TooLong(#[from] OverBudget),
    /// A packet refers to an interface that was not described, or does not fit in its block.
    #[error("byte {at}: a packet that makes no sense; the file is damaged")]
    Packet {
        /// The offset of the block.
        at: usize,
    },
}

/// Reads all packets of a capture as [`read_within`] with the default budget.
///
/// # Errors
/// As there.
pub fn read(file: &Bytes) -> Result<Vec<CapturedPacket>, ReadError> {
    read_within(file, &mut MemoryBudget::default())
}

/// Counts the interfaces that a capture describes: the most of any section of it, and one in the
/// older pcap.
#[must_use]
pub fn interfaces(file: &Bytes) -> u32 {
    if classic::Format::of(file).is_some() {
        return 1;
    }
    let mut section = Section::default();
    let mut at = 0;
    let mut here = 0_u32;
    let mut most = 0;
    while let Some(rest) = file.get(at..).filter(|rest| rest.len() >= 12) {
        if section.begin(rest) {
            here = 0;
        }
        here += u32::from(section.word(rest, 0) == Some(INTERFACE_DESCRIPTION));
        most = most.max(here);
        at += (section.word(rest, 4).unwrap_or(0) as usize).max(12);
    }
    most
}

/// Reads all packets of a capture in pcapng or in the older pcap, of either byte order, and takes
/// from `budget` the memory that they take beside the file. Takes time linear in the file.
///
/// # Errors
/// Where the blocks of the file make no sense, or the memory does not suffice; the packets before
/// that place are lost with it.
pub fn read_within(
    file: &Bytes,
    budget: &mut MemoryBudget,
) -> Result<Vec<CapturedPacket>, ReadError> {
    if let Some(format) = classic::Format::of(file) {
        return format.read(file, budget);
    }
    if file.len() < 12 || file[..4] != SECTION_HEADER.to_le_bytes() {
        return Err(ReadError::NotACapture { found: file[..file.len().min(8)].to_vec() });
    }
    let mut section = Section::default();
    let mut packets = Vec::<CapturedPacket>::new();
    let mut at = 0;
    let mut comments = 0;
    while at < file.len() {
        let rest = &file[at..];
        section.begin(rest);
        let length = section.word(rest, 4).unwrap_or(0) as usize;
        if length < 12 || !length.is_multiple_of(4) || length > rest.len() {
            return Err(ReadError::Block { at, length, size: file.len() });
        }
        let body = file.slice(at + 8..at + length - 4);
        match section.word(rest, 0) {
            Some(INTERFACE_DESCRIPTION) => section.describe(&body),
            Some(kind @ (ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET)) => {
                let before = packets.last().map_or(Instant::START, |packet| packet.at);
                let packet = match kind {
                    SIMPLE_PACKET => section.simple_packet(&body, before),
                    _ => section.packet(&body, kind == OBSOLETE_PACKET),
                };
                let packet = packet.ok_or(ReadError::Packet { at })?;
                comments += packet.comment.capacity();
                packets.push(packet);
                budget.check(memory(&packets) + comments)?;
            }
            _ => {}
        }
        at += length;
    }
    budget.take(memory(&packets) + comments)?;
    Ok(packets)
}

/// The memory that packets take without their bytes and comments.
fn memory(packets: &Vec<CapturedPacket>) -> usize {
    packets.capacity() * size_of::<CapturedPacket>()
}

/// The byte order and the interfaces of a section.
#[derive(Debug, Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Default)]
struct Interface {
    /// The units of its clock in a second, as the option encodes them.
    resolution: Option<u8>,
    holds_dropped: bool,
    link_type: u16,
    /// The most bytes that are kept of a packet; 0 for all.
    snap_length: u32,
}

impl Section {
    /// Starts over if the block at the beginning of `rest` is the header of a section.
    fn begin(&mut self, rest: &[u8]) -> bool {
        let is_header = rest.starts_with(&SECTION_HEADER.to_le_bytes()) && rest.len() >= 12;
        if is_header {
            let big_endian = rest[8..12] == BYTE_ORDER_MAGIC.to_be_bytes();
            *self = Self { big_endian, interfaces: Vec::new() };
        }
        is_header
    }

    fn describe(&mut self, body: &[u8]) {
        let mut interface = Interface {
            link_type: self.half(body, 0).unwrap_or_default(),
            snap_length: self.word(body, 4).unwrap_or_default(),
            ..Interface::default()
        };
        for (code, value) in self.options(body.get(8..).unwrap_or_default()) {
            match code {
                IF_NAME => interface.holds_dropped = value.ends_with(b":dropped"),
                IF_TIMESTAMP_RESOLUTION => interface.resolution = value.first().copied(),
                _ => {}
            }
        }
        self.interfaces.push(interface);
    }

    /// Reads a simple packet, which has neither a time nor options; `at` is the time before it.
    fn simple_packet(&self, body: &Bytes, at: Instant) -> Option<CapturedPacket> {
        let interface = self.interfaces.first()?;
        let original = self.word(body, 0)?;
        let limit = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let captured = original.min(limit) as usize;
        let data = body.slice(4..4_usize.checked_add(captured).filter(|end| *end <= body.len())?);
        Some(CapturedPacket {
            at,
            seen: Seen::Arrived,
            interface: 0,
            tag: None,
            link_type: interface.link_type,
            data,
            original,
            comment: String::new(),
        })
    }

    /// Reads a packet; one of the first drafts has a number of drops beside its interface's.
    fn packet(&self, body: &Bytes, is_obsolete: bool) -> Option<CapturedPacket> {
        let word = |at| self.word(body, at);
        let number = if is_obsolete { self.half(body, 0)?.into() } else { word(0)? };
        let interface = self.interfaces.get(number as usize)?;
        let units = (u64::from(word(4)?) << 32) | u64::from(word(8)?);
        let captured = word(12)? as usize;
        let data = body.slice(20..20_usize.checked_add(captured).filter(|end| *end <= body.len())?);
        let after = body.get(20 + captured.next_multiple_of(4)..).unwrap_or_default();
        let mut flags = 0;
        let mut tag = None;
        let mut comment = String::new();
        for (code, value) in self.options(after) {
            match code {
                EPB_FLAGS => flags = self.word(value, 0).unwrap_or(0),
                EPB_PACKET_ID if value.len() >= 8 && !is_obsolete => {
                    let low = self.word(value, 0)?;
                    let high = self.word(value, 4)?;
                    let (low, high) = if self.big_endian { (high, low) } else { (low, high) };
                    tag = Some(Tag((u64::from(high) << 32) | u64::from(low)));
                }
                OPT_COMMENT if comment.is_empty() => {
                    comment = String::from_utf8_lossy(value).into_owned();
                }
                _ => {}
            }
        }
        let seen = match (interface.holds_dropped, flags & 3) {
            (true, _) => Seen::Dropped,
            (false, 2) => Seen::Sent,
            _ => Seen::Arrived,
        };
        let at = Instant::from_nanos(nanos(units, interface.resolution));
        // Some writers leave the length on the wire at 0.
        let link_type = interface.link_type;
        let original = word(16)?.max(captured as u32);
        Some(CapturedPacket {
            at,
            seen,
            interface: number,
            tag,
            link_type,
            data,
            original,
            comment,
        })
    }

    /// The options in `bytes`, up to the first that makes no sense.
    fn options<'a>(&self, mut bytes: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> {
        core::iter::from_fn(move || {
            let code = self.half(bytes, 0)?;
            let length = usize::from(self.half(bytes, 2)?);
            let value = bytes.get(4..4 + length).filter(|_| code != OPT_END)?;
            bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
            Some((code, value))
        })
    }

    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }
}

/// A time in nanoseconds; without a resolution the unit is a microsecond.
fn nanos(units: u64, resolution: Option<u8>) -> u64 {
    let power = u32::from(resolution.unwrap_or(6));
    let nanos = if power & 0x80 != 0 {
        // The resolution is a negative power of two.
        let shift = power & 0x7f;
        if shift < 64 { (u128::from(units) * 1_000_000_000) >> shift } else { 0 }
    } else if power <= 9 {
        u128::from(units) * 10_u128.pow(9 - power)
    } else {
        u128::from(units) / 10_u128.checked_pow(power - 9).unwrap_or(u128::MAX)
    };
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
