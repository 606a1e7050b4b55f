//! Packets of IP in the frames of IEEE 802.11 that a monitor interface captures.
//!
//! Only first transmissions count. The sender's capture says which packets there were, so each has
//! one fate. Retransmissions are a biased sample: nothing tells how many of them were lost.

use std::collections::BTreeMap;

use bytes::Bytes;

use windfall_files::pcapng::LINKTYPE_RAW;
use windfall_files::pcapng::read::CapturedPacket;
use windfall_wire_link::check::{FCS_LEN, frame_check};
use windfall_wire_link::ieee80211::header::DATA_HEADER;
use windfall_wire_link::ieee80211::{Flags, snap};

use super::RecordError;

/// The types of headers, by their numbers in the registry of pcap.
const IEEE80211: u16 = 105;
const PRISM: u16 = 119;
const RADIOTAP: u16 = 127;
const AVS: u16 = 163;
const PPI: u16 = 192;

/// The magic numbers of the headers of Prism and AVS.
const PRISM_MAGIC: u32 = 0x44;
const AVS_MAGIC: u32 = 0x8021_1001;

/// Fewer bytes of a damaged frame do not show which packet it carried.
const LEAST: usize = 20;

/// The frames of a capture that need a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Monitored {
    /// The number of retransmitted frames, which were left out.
    retries: usize,
    /// The number of frames that failed their check.
    damaged: usize,
}

/// The words of a capture on a frame, before the first byte of the frame.
#[derive(Clone, Copy, Debug, Default)]
struct CaptureHeader {
    length: usize,
    /// The check follows the frame; `None` if the header does not say so.
    has_check: Option<bool>,
    is_damaged: bool,
    /// The contents begin at a multiple of four bytes.
    is_aligned: bool,
}

/// A captured frame without its check.
struct MonitoredFrame {
    bytes: Bytes,
    original: u32,
    is_damaged: bool,
    is_aligned: bool,
}

/// The contents of a frame, as its header tells them.
enum Contents {
    /// A packet of IP begins at this byte.
    Packet(usize),
    Encrypted,
    Aggregate,
    Fragment,
    Other,
}

/// Replaces the frames in the capture of an `end` by their packets of IP; leaves out all frames
/// that have none.
///
/// # Errors
/// If frames are encrypted, or carry not exactly one packet each.
pub(super) fn unwrap_frames(
    packets: &mut Vec<CapturedPacket>,
    end: &'static str,
) -> Result<Monitored, RecordError> {
    let mut monitored = Monitored::default();
    // The captures that `--pcap` makes of a radio tell each attempt by its name.
    let is_monitored = |it: &CapturedPacket| {
        it.tag.is_none() && [IEEE80211, PRISM, RADIOTAP, AVS, PPI].contains(&it.link_type)
    };
    if packets.is_empty() || !packets.iter().all(is_monitored) {
        return Ok(monitored);
    }
    let has_checks = have_checks(packets);
    let frames: Vec<_> = packets.iter().map(|packet| frame(packet, has_checks)).collect();
    let mut encrypted = 0;
    for frame in frames.iter().flatten().filter(|frame| !frame.is_damaged) {
        match contents(frame) {
            Contents::Encrypted => encrypted += 1,
            Contents::Aggregate => return Err(RecordError::AggregatedFrames(end)),
            Contents::Fragment => return Err(RecordError::FragmentedFrames(end)),
            Contents::Packet(_) | Contents::Other => {}
        }
    }
    let starts = starts(frames.iter().flatten().filter(|frame| !frame.is_damaged));
    if starts.is_empty() && encrypted > 0 {
        return Err(RecordError::EncryptedFrames(end));
    }
    let usual = most_frequent(&starts)
        .or_else(|| most_frequent(&self::starts(frames.iter().flatten())))
        .unwrap_or(DATA_HEADER + snap::LEN);
    let captured = core::mem::take(packets);
    for (packet, frame) in captured.into_iter().zip(frames) {
        let Some(frame) = frame else { continue };
        let start = match contents(&frame) {
            Contents::Packet(start) if !frame.is_damaged || starts.contains_key(&start) => start,
            // Its header may be damaged.
            _ if frame.is_damaged && frame.bytes.len() >= usual + LEAST => usual,
            _ => continue,
        };
        if frame.bytes.get(1).is_some_and(|flags| Flags(*flags).has(Flags::RETRY)) {
            monitored.retries += 1;
            continue;
        }
        monitored.damaged += usize::from(frame.is_damaged);
        packets.push(CapturedPacket {
            link_type: LINKTYPE_RAW,
            data: frame.bytes.slice(start..),
            original: frame.original.saturating_sub(start as u32),
            ..packet
        });
    }
    Ok(monitored)
}

impl Monitored {
    /// Says what was left out, and what the trace does not show.
    pub(super) fn notes(self, end: &str) -> impl Iterator<Item = String> {
        let retries = (self.retries > 0).then(|| {
            format!(
                "{} retransmitted frames in the capture of {end} are left out: the trace is of \
                 first transmissions",
                self.retries
            )
        });
        let damaged = (self.damaged > 0).then(|| {
            format!(
                "{} frames in the capture of {end} failed their check: the trace has the damage \
                 to their packets of IP, not that to their headers of 802.11",
                self.damaged
            )
        });
        retries.into_iter().chain(damaged)
    }
}

/// Counts the frames by the place at which their packets begin.
fn starts<'a>(frames: impl Iterator<Item = &'a MonitoredFrame>) -> BTreeMap<usize, usize> {
    let mut starts = BTreeMap::new();
    for frame in frames {
        if let Contents::Packet(start) = contents(frame) {
            *starts.entry(start).or_default() += 1;
        }
    }
    starts
}

fn most_frequent(starts: &BTreeMap<usize, usize>) -> Option<usize> {
    starts.iter().max_by_key(|(_, count)| **count).map(|(start, _)| *start)
}

/// Tells whether checks follow the frames of a capture whose headers do not say so.
fn have_checks(packets: &[CapturedPacket]) -> bool {
    let whole = packets.iter().filter(|it| it.data.len() == it.original as usize);
    let mut with = 0;
    let mut without = 0;
    for packet in whole {
        let Some(header) = capture_header(packet) else { continue };
        let holds = packet.data.get(header.length..).is_some_and(holds);
        *(if holds { &mut with } else { &mut without }) += 1;
    }
    with > without
}

/// Tells whether the last bytes of a frame are its check.
fn holds(frame: &[u8]) -> bool {
    frame
        .split_last_chunk::<FCS_LEN>()
        .is_some_and(|(frame, check)| frame_check(&[frame]) == *check)
}

/// Returns the frame of a captured packet, if the header of the capture can be read.
fn frame(packet: &CapturedPacket, has_checks: bool) -> Option<MonitoredFrame> {
    let header = capture_header(packet)?;
    let mut bytes = packet.data.slice(header.length.min(packet.data.len())..);
    let mut original = packet.original.saturating_sub(header.length as u32);
    let mut is_damaged = header.is_damaged;
    if header.has_check.unwrap_or(has_checks) {
        is_damaged |= bytes.len() == original as usize && !holds(&bytes);
        original = original.saturating_sub(FCS_LEN as u32);
        bytes.truncate(original as usize);
    }
    Some(MonitoredFrame { bytes, original, is_damaged, is_aligned: header.is_aligned })
}

/// Reads the header of the capture before a frame.
fn capture_header(packet: &CapturedPacket) -> Option<CaptureHeader> {
    let data = &packet.data;
    let word = |at: usize| Some(*data.get(at..)?.first_chunk::<4>()?);
    match packet.link_type {
        IEEE80211 => Some(CaptureHeader::default()),
        RADIOTAP => radiotap(data),
        PPI => ppi(data),
        // Both are captured as either type. Prism has the byte order of the machine.
        PRISM | AVS => {
            let read = match u32::from_be_bytes(word(0)?) {
                AVS_MAGIC | PRISM_MAGIC => u32::from_be_bytes,
                _ if u32::from_le_bytes(word(0)?) == PRISM_MAGIC => u32::from_le_bytes,
                _ => return None,
            };
            Some(CaptureHeader { length: read(word(4)?) as usize, ..CaptureHeader::default() })
        }
        _ => None,
    }
}

/// Reads a radiotap header: of its fields, the flags.
fn radiotap(data: &[u8]) -> Option<CaptureHeader> {
    const TSFT: u32 = 1;
    const FLAGS: u32 = 1 << 1;
    const MORE: u32 = 1 << 31;
    let present = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
    let length = usize::from(u16::from_le_bytes([*data.get(2)?, *data.get(3)?]));
    let first = present(4)?;
    let mut fields = 8;
    while present(fields - 4)? & MORE != 0 {
        fields += 4;
    }
    if first & FLAGS == 0 {
        return Some(CaptureHeader { length, ..CaptureHeader::default() });
    }
    // A time is at a multiple of its eight bytes.
    let at = if first & TSFT == 0 { fields } else { fields.next_multiple_of(8) + 8 };
    let flags = *data.get(at)?;
    Some(CaptureHeader {
        length,
        has_check: Some(flags & 0x10 != 0),
        is_aligned: flags & 0x20 != 0,
        is_damaged: flags & 0x40 != 0,
    })
}

/// Reads a header of PPI before a frame of 802.11: of its fields, the flags of 802.11-Common.
fn ppi(data: &[u8]) -> Option<CaptureHeader> {
    const COMMON: u16 = 2;
    let half = |at: usize| Some(u16::from_le_bytes(*data.get(at..)?.first_chunk()?));
    if half(4)? != IEEE80211 || half(6)? != 0 {
        return None;
    }
    let mut header = CaptureHeader { length: half(2)?.into(), ..CaptureHeader::default() };
    let mut at = 8;
    while at + 4 <= header.length {
        if half(at)? == COMMON {
            let flags = half(at + 12)?;
            header.has_check = Some(flags & 1 != 0);
            header.is_damaged = flags & 4 != 0;
        }
        at += 4 + usize::from(half(at + 2)?);
    }
    Some(header)
}

/// Reads the header of a frame, and what is before the packet in it.
fn contents(frame: &MonitoredFrame) -> Contents {
    const QOS: u8 = 0x80;
    let Some(header) = frame.bytes.get(..DATA_HEADER) else { return Contents::Other };
    let control = header[0];
    // Only data frames with contents, of version 0.
    if control & 0x4f != 0x08 {
        return Contents::Other;
    }
    let flags = Flags(header[1]);
    let has_four = flags.has(Flags::TO_DS) && flags.has(Flags::FROM_DS);
    let qos = DATA_HEADER + if has_four { 6 } else { 0 };
    let is_qos = control & QOS != 0;
    let high_throughput = if flags.has(Flags::ORDER) { 4 } else { 0 };
    let length = qos + if is_qos { 2 + high_throughput } else { 0 };
    if flags.has(Flags::PROTECTED) {
        return Contents::Encrypted;
    }
    if flags.has(Flags::MORE_FRAGMENTS) || header[22] & 0x0f != 0 {
        return Contents::Fragment;
    }
    if is_qos && frame.bytes.get(qos).is_some_and(|it| it & 0x80 != 0) {
        return Contents::Aggregate;
    }
    let start = if frame.is_aligned { length.next_multiple_of(4) } else { length };
    match frame.bytes.get(start..).and_then(snap::parse) {
        Some(snap::IPV4 | snap::IPV6) => Contents::Packet(start + snap::LEN),
        _ => Contents::Other,
    }
}
