//! TCP segments.

use core::fmt;

use crate::packet_script::cursor::{Cursor, Read, is_of_name};

/// The letters of the flags, and their bits in the header; scripts are read in any order.
pub const FLAG_LETTERS: [(char, u16); 9] = [
    ('F', 0x01),
    ('S', 0x02),
    ('R', 0x04),
    ('P', 0x08),
    ('U', 0x20),
    ('E', 0x40),
    ('W', 0x80),
    ('A', 0x100),
    ('.', 0x10),
];

/// A TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptSegment {
    /// The ECN field of the IP header, where it is written.
    pub ecn: Option<u8>,
    /// The flags, as in the header.
    pub flags: u16,
    /// The first sequence number.
    pub seq: u32,
    /// Bytes of data.
    pub len: u32,
    /// The acknowledgment number, where it is written.
    pub ack: Option<u32>,
    /// The window, where it is written, as in the header.
    pub window: Option<u16>,
    /// The urgent pointer, where it is written.
    pub urgent: Option<u16>,
    /// The options of the header.
    pub options: OptionList,
    /// The protocol in whose packets the segment travels, such as `udp`; `None` is IP.
    pub encapsulation: Option<String>,
}

/// The options of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionList {
    /// `<...>`: whatever there is.
    Any,
    /// Exactly these options.
    These(Vec<SegmentOption>),
}

impl Default for OptionList {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

/// An option of TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentOption {
    /// The largest segment, in bytes.
    Mss(u16),
    /// The shift of windows.
    Scale(u8),
    /// Selective acknowledgment is permitted.
    SackPermitted,
    /// Selective acknowledgment of these ranges.
    Sack(Vec<(u32, u32)>),
    /// Timestamps of both ends.
    Timestamps {
        /// The sender's clock.
        value: u32,
        /// The timestamp that is echoed.
        echo: u32,
    },
    /// A cookie of Fast Open, or the letters of a name that stands for one; none asks for one.
    FastOpen(Vec<u8>),
    /// Padding of one byte.
    Nop,
    /// The end of the options.
    End,
    /// An option that is not known here; its first word.
    Foreign(String),
}

pub(crate) fn is_flag(it: char) -> bool {
    it.is_digit(8) || it == '-' || FLAG_LETTERS.iter().any(|(letter, _)| *letter == it)
}

pub(crate) fn is_flag_or_space(it: char) -> bool {
    it.is_whitespace() || FLAG_LETTERS.iter().any(|(letter, _)| *letter == it)
}

/// Reads a segment.
pub(crate) fn read(cursor: &mut Cursor<'_>, ecn: Option<u8>) -> Read<ScriptSegment> {
    cursor.skip_space();
    let word = cursor.peek_while(is_flag);
    if word.is_empty() {
        return cursor.expected("flags such as \"S.\", or \"icmp\"");
    }
    cursor.take_while(is_flag);
    let mut segment = ScriptSegment { ecn, ..ScriptSegment::default() };
    for (letter, bit) in FLAG_LETTERS {
        segment.flags |= if word.contains(letter) { bit } else { 0 };
    }
    // A digit is the field ACE of accurate ECN.
    if let Some(ace) = word.chars().find_map(|it| it.to_digit(8)) {
        segment.flags |= (ace as u16) << 6;
    }
    cursor.take_word("seq");
    (segment.seq, segment.len) = range(cursor)?;
    // "!ack" is an acknowledgment number that the script sets itself, without a flag.
    cursor.take_spaced("!");
    if cursor.take_word("ack") {
        segment.ack = Some(cursor.narrow("an acknowledgment number")?);
    }
    if cursor.take_word("win") {
        segment.window = Some(cursor.narrow("a window below 65536")?);
    }
    if cursor.take_word("urg") {
        segment.urgent = Some(cursor.narrow("an urgent pointer below 65536")?);
    }
    // A packet has a time before its "<", so that this one begins options.
    cursor.skip_space();
    if cursor.rest().starts_with('<') {
        segment.options = options(cursor)?;
    }
    segment.encapsulation = encapsulation(cursor)?;
    Ok(segment)
}

/// Reads `/udp(PORT > PORT)`: the datagram that carries the segment.
fn encapsulation(cursor: &mut Cursor<'_>) -> Read<Option<String>> {
    let mut after = cursor.clone();
    after.skip_space();
    if !after.take("/") {
        return Ok(None);
    }
    let word = after.name()?.to_owned();
    after.need("(")?;
    after.take_until(")")?;
    *cursor = after;
    Ok(Some(word))
}

/// Reads `START:END(LEN)`: the start and the length.
pub(crate) fn range(cursor: &mut Cursor<'_>) -> Read<(u32, u32)> {
    let wanted = "a sequence number below 4294967296";
    let start: u32 = cursor.narrow(wanted)?;
    cursor.need(":")?;
    let end: u32 = cursor.narrow(wanted)?;
    cursor.need("(")?;
    let len: u32 = cursor.narrow("a length")?;
    if start.wrapping_add(len) != end {
        return cursor.fail(format!("{start}:{end} are not {len} bytes"));
    }
    cursor.need(")")?;
    Ok((start, len))
}

fn options(cursor: &mut Cursor<'_>) -> Read<OptionList> {
    cursor.need("<")?;
    if cursor.take_spaced("...") {
        cursor.need(">")?;
        return Ok(OptionList::Any);
    }
    let mut options = Vec::new();
    while !cursor.take_spaced(">") {
        options.push(option(cursor)?);
        if !cursor.take_spaced(",") && !cursor.rest().starts_with('>') {
            return cursor.expected("\",\" or \">\"");
        }
    }
    Ok(OptionList::These(options))
}

fn option(cursor: &mut Cursor<'_>) -> Read<SegmentOption> {
    let name = cursor.name()?;
    Ok(match name {
        "mss" => SegmentOption::Mss(cursor.narrow("a segment size below 65536")?),
        "wscale" => SegmentOption::Scale(cursor.narrow("a shift below 256")?),
        "sackOK" => SegmentOption::SackPermitted,
        "nop" => SegmentOption::Nop,
        "eol" => SegmentOption::End,
        "TS" => timestamps(cursor)?,
        "sack" => sack(cursor)?,
        // The experimental option (RFC 6994) of the time before kind 34.
        "FO" | "FOEXP" => {
            cursor.skip_space();
            let word = cursor.take_while(is_of_name);
            // A name stands for a cookie, as its bytes.
            let named = || word.as_bytes().to_vec();
            SegmentOption::FastOpen(cookie(word).unwrap_or_else(named))
        }
        foreign => {
            cursor.take_while(|it| !matches!(it, ',' | '>' | '\n'));
            SegmentOption::Foreign(foreign.to_owned())
        }
    })
}

fn timestamps(cursor: &mut Cursor<'_>) -> Read<SegmentOption> {
    let wanted = "a timestamp below 4294967296";
    if !cursor.take_word("val") {
        return cursor.expected("\"val\" and a timestamp");
    }
    let value = cursor.narrow(wanted)?;
    if !cursor.take_word("ecr") {
        return cursor.expected("\"ecr\" and a timestamp");
    }
    Ok(SegmentOption::Timestamps { value, echo: cursor.narrow(wanted)? })
}

fn sack(cursor: &mut Cursor<'_>) -> Read<SegmentOption> {
    let mut blocks = Vec::new();
    loop {
        cursor.skip_space();
        if !cursor.rest().starts_with(|it: char| it.is_ascii_digit()) {
            return Ok(SegmentOption::Sack(blocks));
        }
        let left = cursor.narrow("a sequence number")?;
        cursor.need(":")?;
        blocks.push((left, cursor.narrow("a sequence number")?));
    }
}

/// Reads a cookie, two digits a byte; other words are names of cookies.
fn cookie(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect::<Option<_>>().filter(|_| digits.len().is_multiple_of(2))
}

impl fmt::Display for ScriptSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            let names = ["noecn", "ect1", "ect0", "ce"];
            write!(f, "[{}] ", names[usize::from(ecn & 3)])?;
        }
        let set = FLAG_LETTERS.iter().filter(|(_, bit)| self.flags & bit != 0);
        let letters: String = set.map(|(letter, _)| letter).collect();
        f.write_str(if letters.is_empty() { "-" } else { &letters })?;
        write!(f, " {}:{}({})", self.seq, self.seq.wrapping_add(self.len), self.len)?;
        for (name, number) in [
            ("ack", self.ack),
            ("win", self.window.map(u32::from)),
            ("urg", self.urgent.map(u32::from)),
        ] {
            if let Some(number) = number {
                write!(f, " {name} {number}")?;
            }
        }
        match &self.options {
            OptionList::Any => f.write_str(" <...>"),
            OptionList::These(options) if options.is_empty() => Ok(()),
            OptionList::These(options) => {
                let options: Vec<_> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", options.join(", "))
            }
        }
    }
}

impl fmt::Display for SegmentOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mss(size) => write!(f, "mss {size}"),
            Self::Scale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            Self::FastOpen(cookie) => {
                f.write_str(if cookie.is_empty() { "FO" } else { "FO " })?;
                cookie.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Nop => f.write_str("nop"),
            Self::End => f.write_str("eol"),
            Self::Foreign(name) => f.write_str(name),
        }
    }
}
