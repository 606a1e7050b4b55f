//! A segment as a script writes it, and as it is on the wire.

use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;

use arrayvec::ArrayVec;
use windfall_base::seq::Seq32;
use windfall_wire_net::tcp::{
    CorruptionKinds, Notification, Packing, SackBlock, Timestamps, corruption,
};
use windfall_wire_net::{Addresses, Ecn, TcpFlags, TcpOptions, TcpPacket, TcpRepr, tcp};

use super::{PEER, Packet, SUBJECT};

/// The byte that both ends send at `position` of their stream, the first being 1.
#[must_use]
pub fn byte(position: u64) -> u8 {
    (position as u32).wrapping_mul(2_654_435_761).rotate_left(9) as u8
}

/// The data of a segment; on a SYN they begin behind it.
fn data(start: u32, flags: TcpFlags, len: usize) -> impl Iterator<Item = u8> {
    let first = u64::from(start) + u64::from(flags.has(TcpFlags::SYN));
    (first..first + len as u64).map(byte)
}

/// The damage of a segment on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Harm {
    #[default]
    None,
    /// The checksum fails.
    Damaged,
    /// The checksum and the detection option fail.
    Corrupted,
    /// Bytes are missing at the end.
    Cut(u32),
}

/// An option, as a script writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Mss(u16),
    Scale(u8),
    SackPermitted,
    /// `None` stands for any values.
    Timestamps(Option<(u32, u32)>),
    Sack(Vec<(u32, u32)>),
    Detection,
    Notification(Option<u32>),
    Raw(Vec<u8>),
}

/// A segment of a script; numbers count from the first of their direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    flags: TcpFlags,
    start: u32,
    len: u32,
    ack: Option<u32>,
    window: Option<u16>,
    ecn: Ecn,
    options: Vec<Item>,
    harm: Harm,
    /// The reason for which it must be discarded.
    pub(super) refused: Option<String>,
}

/// The description of an error in the text of a segment.
#[derive(Debug, thiserror::Error)]
#[error("{part:?} is not {wanted}")]
pub struct SegmentError {
    part: String,
    wanted: &'static str,
}

fn wrong(part: &str, wanted: &'static str) -> SegmentError {
    SegmentError { part: part.to_owned(), wanted }
}

impl Segment {
    /// The names of the parts in which `found` is not as this says.
    pub(super) fn differences(&self, found: &Self) -> Vec<&'static str> {
        let fits = |(wanted, found): (&Item, &Item)| {
            let any = matches!((wanted, found), (Item::Timestamps(None), Item::Timestamps(_)));
            any || wanted == found
        };
        let options = self.options.len() == found.options.len()
            && self.options.iter().zip(&found.options).all(fits);
        [
            ("flags", self.flags == found.flags),
            ("sequence number", self.start == found.start),
            ("length", self.len == found.len),
            ("acknowledgment number", self.ack == found.ack),
            ("window", self.window.is_none() || self.window == found.window),
            ("mark", self.ecn == found.ecn),
            ("options", options),
        ]
        .into_iter()
        .filter_map(|(name, same)| (!same).then_some(name))
        .collect()
    }
}

impl FromStr for Segment {
    type Err = SegmentError;

    fn from_str(text: &str) -> Result<Self, SegmentError> {
        let (text, refused) = match text.split_once('!') {
            Some((text, reason)) => (text, Some(reason.trim().to_owned())),
            None => (text, None),
        };
        let (head, options, tail) = match text.split_once('<') {
            Some((head, rest)) => {
                let (options, tail) = rest.split_once('>').ok_or_else(|| wrong(rest, "closed"))?;
                (head, options, tail)
            }
            None => (text, "", ""),
        };
        let mut words = head.split_whitespace().chain(tail.split_whitespace());
        let mut next = |wanted| words.next().ok_or_else(|| wrong(text, wanted));
        let flags = read_flags(next("a segment: flags are missing")?)?;
        let (start, len) = read_range(next("a segment: START:END(LEN) is missing")?)?;
        let mut segment = Self { flags, start, len, refused, ..Self::default() };
        while let Some(word) = words.next() {
            let mut number = |wanted| {
                let word = words.next().unwrap_or("");
                word.parse::<u32>().map_err(|_| wrong(word, wanted))
            };
            match word {
                "ack" => segment.ack = Some(number("an acknowledgment number")?),
                "win" => segment.window = Some(number("a window")? as u16),
                "cut" => segment.harm = Harm::Cut(number("a count of bytes")?),
                "damaged" => segment.harm = Harm::Damaged,
                "corrupted" => segment.harm = Harm::Corrupted,
                "ect0" => segment.ecn = Ecn::Capable0,
                "ect1" => segment.ecn = Ecn::Capable1,
                "ce" => segment.ecn = Ecn::Congested,
                _ => {
                    return Err(wrong(word, "ack, win, cut, damaged, corrupted, ect0, ect1 or ce"));
                }
            }
        }
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            segment.options.push(option.parse()?);
        }
        Ok(segment)
    }
}

/// The letters of the flags, in the order in which they are written.
const LETTERS: [(TcpFlags, char); 9] = [
    (TcpFlags::SYN, 'S'),
    (TcpFlags::FIN, 'F'),
    (TcpFlags::RST, 'R'),
    (TcpFlags::PSH, 'P'),
    (TcpFlags::URG, 'U'),
    (TcpFlags::ECE, 'E'),
    (TcpFlags::CWR, 'W'),
    (TcpFlags::AE, 'A'),
    (TcpFlags::ACK, '.'),
];

fn read_flags(text: &str) -> Result<TcpFlags, SegmentError> {
    let mut flags = TcpFlags::NONE;
    for letter in text.chars().filter(|letter| *letter != '-') {
        let known = LETTERS.into_iter().find(|(_, it)| *it == letter);
        flags |= known.ok_or_else(|| wrong(text, "flags of S F R P U E W A . or -"))?.0;
    }
    Ok(flags)
}

fn read_range(text: &str) -> Result<(u32, u32), SegmentError> {
    let read = || {
        let (start, rest) = text.split_once(':')?;
        let (end, len) = rest.strip_suffix(')')?.split_once('(')?;
        let (start, end, len): (u32, u32, u32) =
            (start.parse().ok()?, end.parse().ok()?, len.parse().ok()?);
        (end.wrapping_sub(start) == len).then_some((start, len))
    };
    read().ok_or_else(|| wrong(text, "START:END(LEN) with END - START = LEN"))
}

impl FromStr for Item {
    type Err = SegmentError;

    fn from_str(text: &str) -> Result<Self, SegmentError> {
        const KNOWN: &str = "an option: mss N, wscale N, sackOK, TS, TS val A ecr B, sack A:B, \
                             cdo, cno, cno N, FO, FO HEX or raw HEX";
        let words: Vec<&str> = text.split_whitespace().collect();
        let read = || {
            Some(match words[..] {
                ["mss", size] => Self::Mss(size.parse().ok()?),
                ["wscale", shift] => Self::Scale(shift.parse().ok()?),
                ["sackOK"] => Self::SackPermitted,
                ["TS"] => Self::Timestamps(None),
                ["TS", "val", value, "ecr", echo] => {
                    Self::Timestamps(Some((value.parse().ok()?, echo.parse().ok()?)))
                }
                ["sack", ref blocks @ ..] => {
                    let block = |text: &&str| {
                        let (left, right) = text.split_once(':')?;
                        Some((left.parse().ok()?, right.parse().ok()?))
                    };
                    Self::Sack(blocks.iter().map(block).collect::<Option<_>>()?)
                }
                ["cdo"] => Self::Detection,
                ["cno"] => Self::Notification(None),
                ["cno", seq] => Self::Notification(Some(seq.parse().ok()?)),
                ["FO"] => Self::Raw(vec![FAST_OPEN, 2]),
                ["FO", cookie] => {
                    let cookie = hex(cookie)?;
                    let head = [FAST_OPEN, cookie.len() as u8 + 2];
                    Self::Raw(head.into_iter().chain(cookie).collect())
                }
                ["raw", bytes] => Self::Raw(hex(bytes)?),
                _ => return None,
            })
        };
        read().ok_or_else(|| wrong(text, KNOWN))
    }
}

/// The kind of the TCP Fast Open cookie option (RFC 7413).
const FAST_OPEN: u8 = 34;

fn hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mss(size) => write!(f, "mss {size}"),
            Self::Scale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Timestamps(None) => f.write_str("TS"),
            Self::Timestamps(Some((value, echo))) => write!(f, "TS val {value} ecr {echo}"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Detection => f.write_str("cdo"),
            Self::Notification(None) => f.write_str("cno"),
            Self::Notification(Some(seq)) => write!(f, "cno {seq}"),
            Self::Raw(bytes) => {
                let (name, bytes) = match bytes.split_first() {
                    Some((&FAST_OPEN, rest)) => ("FO", &rest[1..]),
                    _ => ("raw", &bytes[..]),
                };
                f.write_str(name)?;
                f.write_str(if bytes.is_empty() { "" } else { " " })?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = LETTERS.into_iter().filter(|(flag, _)| self.flags.has(*flag));
        let letters: String = set.map(|(_, letter)| letter).collect();
        let letters = if letters.is_empty() { "-" } else { &letters };
        let end = self.start.wrapping_add(self.len);
        write!(f, "{letters} {}:{end}({})", self.start, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        f.write_str(match self.ecn {
            Ecn::NotCapable => "",
            Ecn::Capable0 => " ect0",
            Ecn::Capable1 => " ect1",
            Ecn::Congested => " ce",
        })?;
        if !self.options.is_empty() {
            let options: Vec<String> = self.options.iter().map(ToString::to_string).collect();
            write!(f, " <{}>", options.join(", "))?;
        }
        match self.harm {
            Harm::None => Ok(()),
            Harm::Damaged => f.write_str(" damaged"),
            Harm::Corrupted => f.write_str(" corrupted"),
            Harm::Cut(bytes) => write!(f, " cut {bytes}"),
        }
    }
}

/// The first sequence numbers of both directions.
#[derive(Debug)]
pub(super) struct Numbers {
    peer: Seq32,
    subject: Option<Seq32>,
    clock: Option<u32>,
    kinds: CorruptionKinds,
}

impl Default for Numbers {
    fn default() -> Self {
        let peer = Seq32(0);
        let kinds = CorruptionKinds::default();
        Self { peer, subject: None, clock: None, kinds }
    }
}

impl Numbers {
    /// Sets the first number of the peer.
    pub(super) fn set_peer(&mut self, text: &str) -> Result<(), String> {
        let number = text.parse().map_err(|_| format!("{text:?} is not a sequence number"))?;
        self.peer = Seq32(number);
        Ok(())
    }

    fn addresses() -> (Addresses, u16, u16) {
        let [subject, peer] = [SUBJECT, PEER].map(str::parse::<SocketAddr>);
        match (subject, peer) {
            (Ok(subject), Ok(peer)) => match Addresses::new(peer.ip(), subject.ip()) {
                Some(addresses) => (addresses, peer.port(), subject.port()),
                None => unreachable!("both are IPv4"),
            },
            _ => unreachable!("the constants are addresses"),
        }
    }

    /// Puts a segment of the peer on the wire.
    pub(super) fn write(&self, segment: &Segment) -> Result<Packet, String> {
        let (addresses, src_port, dst_port) = Self::addresses();
        let own = self.subject.unwrap_or_default();
        let repr = TcpRepr {
            src_port,
            dst_port,
            seq: self.peer + segment.start,
            ack: segment.ack.map_or(Seq32(0), |ack| own + ack),
            flags: segment.flags,
            window: segment.window.unwrap_or(65_535),
            urgent: 0,
            options: self.options(segment),
        };
        let header = repr.emit(&self.kinds).map_err(|error| error.to_string())?;
        let mut bytes = header.to_vec();
        let at = corruption::find_crc(&bytes, &self.kinds);
        // The detection option speaks of the packet as its sender made it.
        let ecn = if segment.ecn == Ecn::Congested { Ecn::Capable0 } else { segment.ecn };
        corruption::seal(&self.kinds, Packing::default(), ecn, &addresses, &mut bytes);
        let data: Vec<u8> = data(segment.start, segment.flags, segment.len as usize).collect();
        tcp::fill_checksum(&addresses, &mut bytes, &data);
        bytes.extend(data);
        let mut missing = 0;
        match segment.harm {
            Harm::None => {}
            Harm::Damaged | Harm::Corrupted => {
                // With data the last byte suffers, without them the checksum itself.
                let last = bytes.len() - 1;
                bytes[if segment.len > 0 { last } else { tcp::CHECKSUM_AT }] ^= 1;
                if let Some(at) = at.filter(|_| segment.harm == Harm::Corrupted) {
                    bytes[at.start] ^= 0x10;
                }
            }
            Harm::Cut(count) => {
                missing = count.min(segment.len);
                bytes.truncate(bytes.len() - missing as usize);
            }
        }
        Ok(Packet { addresses, ecn: segment.ecn, missing, bytes: bytes.into() })
    }

    fn options(&self, segment: &Segment) -> TcpOptions {
        let mut options = TcpOptions::default();
        let own = self.subject.unwrap_or_default();
        for item in &segment.options {
            match item {
                Item::Mss(size) => options.mss = Some(*size),
                Item::Scale(shift) => options.window_scale = Some(*shift),
                Item::SackPermitted => options.sack_permitted = true,
                Item::Timestamps(values) => {
                    let (value, echo) = values.unwrap_or_default();
                    let echo = echo.wrapping_add(self.clock.unwrap_or(0));
                    options.timestamps = Some(Timestamps { value, echo });
                }
                Item::Sack(blocks) => {
                    let block = |(left, right): &(u32, u32)| SackBlock {
                        left: own + *left,
                        right: own + *right,
                    };
                    options.sack = blocks.iter().take(4).map(block).collect();
                }
                Item::Detection => options.detection = Some(0),
                Item::Notification(None) => options.notification = Some(Notification::Plain),
                Item::Notification(Some(seq)) => {
                    options.notification = Some(Notification::Extended(own + *seq));
                }
                Item::Raw(bytes) => options.unknown = bytes.iter().copied().take(40).collect(),
            }
        }
        options
    }

    /// Reads a segment of the subject; its checksum, its detection option and its data must hold.
    pub(super) fn read(&mut self, packet: &Packet) -> Result<Segment, String> {
        let view = TcpPacket::new(&packet.bytes).map_err(|error| error.to_string())?;
        let repr = TcpRepr::parse(&view, &self.kinds).map_err(|error| error.to_string())?;
        if !tcp::checksum_holds(&packet.addresses, [&packet.bytes, &[]]) {
            return Err(format!("a segment left with a wrong checksum: {repr:?}"));
        }
        let kinds = &self.kinds;
        let packing = Packing::default();
        if corruption::holds(kinds, packing, packet.ecn, &packet.addresses, &view) == Some(false) {
            return Err(format!("a segment left with a wrong detection option: {repr:?}"));
        }
        if repr.flags.has(TcpFlags::SYN) {
            self.subject = Some(repr.seq);
        }
        let own = self.subject.unwrap_or_default();
        let start = repr.seq.0.wrapping_sub(own.0);
        if !view.payload().iter().copied().eq(data(start, repr.flags, view.payload().len())) {
            return Err(format!("a segment left with wrong data from {start} on"));
        }
        let acks = repr.flags.has(TcpFlags::ACK);
        Ok(Segment {
            flags: repr.flags,
            start,
            len: view.payload().len() as u32,
            ack: acks.then(|| repr.ack.0.wrapping_sub(self.peer.0)),
            window: Some(repr.window),
            ecn: packet.ecn,
            options: self.items(&repr.options),
            harm: Harm::None,
            refused: None,
        })
    }

    fn items(&mut self, options: &TcpOptions) -> Vec<Item> {
        let relative = |seq: Seq32| seq.0.wrapping_sub(self.peer.0);
        let mut items: ArrayVec<Item, 8> = ArrayVec::new();
        items.extend(options.mss.map(Item::Mss));
        if options.sack_permitted {
            items.push(Item::SackPermitted);
        }
        if let Some(timestamps) = options.timestamps {
            let base = *self.clock.get_or_insert(timestamps.value);
            let value = timestamps.value.wrapping_sub(base);
            items.push(Item::Timestamps(Some((value, timestamps.echo))));
        }
        items.extend(options.window_scale.map(Item::Scale));
        if options.detection.is_some() {
            items.push(Item::Detection);
        }
        items.extend(options.notification.map(|notification| match notification {
            Notification::Plain => Item::Notification(None),
            Notification::Extended(seq) => Item::Notification(Some(relative(seq))),
        }));
        if !options.sack.is_empty() {
            let block = |block: &SackBlock| (relative(block.left), relative(block.right));
            items.push(Item::Sack(options.sack.iter().map(block).collect()));
        }
        if let Some(cookie) = &options.fast_open {
            let head = [FAST_OPEN, cookie.len() as u8 + 2];
            items.push(Item::Raw(head.into_iter().chain(cookie.iter().copied()).collect()));
        }
        if !options.unknown.is_empty() {
            items.push(Item::Raw(options.unknown.to_vec()));
        }
        items.into_iter().collect()
    }
}
