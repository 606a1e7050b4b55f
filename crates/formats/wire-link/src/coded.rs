//! Frames whose packet is cut into coded blocks, and what their receiver reports of each block.
//!
//! The *stream* of a packet is the packet with its frame check behind it. A frame carries one to
//! five blocks; each holds a stretch of the stream, its own check of 2 bytes, and parity. A whole
//! block has 255 bytes; one that ends a stretch is shorter unless the frame is padded.
//!
//! An *uncoded* frame carries one stretch of any length, a check of 2 bytes, and no parity. It is
//! reported as if it were one block.
//!
//! | byte | header field |
//! |---|---|
//! | 0 | kind 6, or 7 in a window of frames, 8 with a place in a flow; flags as of other frames with packets |
//! | 1 | level (3 bits), whole, padded, blocks − 1 or 5 for uncoded (3 bits) |
//! | 2, 3 | number of the packet; in a window order and settled follow, as of other frames: 10 bytes; then the place in the flow: 8 bytes |
//! | then | bytes of the packet, 2 bytes |
//! | then | of each block where in the stream it begins, 2 bytes, and how much it holds, 1 byte, or 2 in an uncoded frame |
//! | last 2 | header check |
//!
//! Behind it the link puts [`HEADER_PARITY`] bytes of parity over the whole header.
//!
//! | byte | report field |
//! |---|---|
//! | 0 | state: 0 more is wanted, 1 the packet is complete, 2 all of it is wanted again |
//! | 1, 2 | number of the packet |
//! | 3 … | of each block: 0…251 corrected symbols, 252 combined, 253 taken damaged, 254 failed, 255 missing |

use arrayvec::ArrayVec;
use windfall_base::seq::{Seq16, Seq32};

use crate::check::{FCS_LEN, HEADER_CHECK_LEN, frame_check, header_check};
use crate::pipe::{FlowPlace, HeaderBytes, Wish, put};
use crate::wavelan::Feedback;
use crate::{HeaderError, flag};

/// Bytes of a whole block (S3.18).
pub const BLOCK: usize = 255;
/// The most blocks in a frame (S3.18, S3.21).
pub const MAX_BLOCKS: usize = 5;
/// Bytes of parity behind the header: six wrong bytes of at most 51 are put right.
pub const HEADER_PARITY: usize = 12;
/// Bytes of the check that each block has of its own.
pub const BLOCK_CHECK: usize = HEADER_CHECK_LEN;

/// The most bytes of a record.
const MAX_RECORD: usize = 5 + MAX_BLOCKS;
/// Bytes before the stretches beside the number.
const FIXED: usize = 4;
const WHOLE: u8 = 0x10;
const PADDED: u8 = 0x08;
/// The value in place of the number of blocks in an uncoded frame.
const UNCODED: u8 = MAX_BLOCKS as u8;
const AGAIN: u8 = 0x80;

/// The amount of parity in each block of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    //= S3.19
    //= S3.20
    //= S3.21
    /// Bytes of parity at each level: from none to 78 % of a block (S3.18–S3.21).
    pub const PARITY: [u8; 8] = [0, 13, 26, 50, 74, 100, 150, 199];
    /// No parity (BOLD).
    pub const NONE: Self = Self(0);
    /// Thirteen bytes, 5 % of a block (LIGHT).
    pub const LIGHT: Self = Self(1);
    /// Seventy-four bytes, 29 % of a block (ROBUST).
    pub const ROBUST: Self = Self(4);
    /// The strongest: 78 % of a block.
    pub const STRONGEST: Self = Self(7);

    /// All levels, the weakest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..8).map(Self)
    }

    /// The number of the level, 0..=7.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The weakest level whose blocks survive `errors` wrong bytes; the strongest if none does.
    #[must_use]
    pub fn correcting(errors: usize) -> Self {
        Self::all().find(|level| level.correctable() >= errors).unwrap_or(Self::STRONGEST)
    }

    /// The next stronger level, or this one if it is the strongest.
    #[must_use]
    pub const fn stronger(self) -> Self {
        if self.0 < 7 { Self(self.0 + 1) } else { self }
    }

    /// The next weaker level, or this one if it is the weakest.
    #[must_use]
    pub const fn weaker(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Bytes of parity in a block.
    #[must_use]
    pub const fn parity(self) -> usize {
        Self::PARITY[self.0 as usize] as usize
    }

    /// Wrong bytes that a block survives.
    #[must_use]
    pub const fn correctable(self) -> usize {
        self.parity() / 2
    }

    /// Bytes of the stream in a whole block.
    #[must_use]
    pub const fn data(self) -> usize {
        BLOCK - BLOCK_CHECK - self.parity()
    }
}

/// The header of a coded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The sender's wish about acceptance; `last` speaks of the blocks of this frame.
    pub wish: Wish,
    /// The parity of its blocks.
    pub level: Level,
    /// The receiver takes all blocks or none: only whole frames are repeated.
    pub whole: bool,
    /// Every block has 255 bytes, also one that holds less or nothing.
    pub padded: bool,
    /// The frame carries one stretch of any length without parity; it is of level
    /// [`Level::NONE`] and not padded.
    pub uncoded: bool,
    /// Which packet it is, and which transmission.
    pub number: Number,
    /// Bytes of the packet.
    pub length: u16,
    /// The contents of each block; one to five of them, or that of an uncoded frame.
    pub stretches: ArrayVec<Stretch, MAX_BLOCKS>,
}

/// The numbering of a coded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// By packet, for an exchange of one packet at a time.
    Unit(Seq16),
    /// By packet and by transmission, for a window of frames.
    Window(WindowNumber),
    /// As in a window, for a packet that keeps order only with others of its flow.
    Flow(WindowNumber, FlowPlace),
}

/// A frame's place in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowNumber {
    /// The number of the packet.
    pub seq: Seq32,
    /// The number of the transmission: each frame on the pipe has the next.
    pub order: Seq32,
    /// The distance before `seq` of the first packet that the sender may still send;
    /// [`UNTOLD`](crate::pipe::UNTOLD) if it is further.
    pub settled: u16,
}

/// The part of the stream that a block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Its first byte.
    pub start: u16,
    /// The number of bytes; none in a block that is only padding, at most 253 in any block.
    pub len: u16,
}

impl Stretch {
    /// Returns the bytes of the block.
    #[must_use]
    pub const fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

impl Head {
    /// Bytes of the stream: the packet and its frame check.
    #[must_use]
    pub fn stream(&self) -> usize {
        usize::from(self.length) + FCS_LEN
    }

    /// Bytes of the stream that this frame carries.
    #[must_use]
    pub fn carried(&self) -> usize {
        self.stretches.iter().map(|stretch| usize::from(stretch.len)).sum()
    }

    /// Bytes of block `index` on the air, or of all that an uncoded frame has behind its header.
    ///
    /// # Panics
    /// If there is no such block.
    #[must_use]
    pub fn block_len(&self, index: usize) -> usize {
        if self.padded {
            return BLOCK;
        }
        usize::from(self.stretches[index].len) + BLOCK_CHECK + self.level.parity()
    }

    /// Writes the header with its check, without parity.
    #[must_use]
    pub fn encode(&self) -> HeaderBytes {
        let mut bytes = HeaderBytes::new();
        let blocks =
            if self.uncoded { UNCODED } else { (self.stretches.len() as u8).saturating_sub(1) };
        let shape =
            self.level.0 << 5 | flag(self.whole, WHOLE) | flag(self.padded, PADDED) | blocks;
        let kind: u8 = match self.number {
            Number::Unit(_) => 6,
            Number::Window(_) => 7,
            Number::Flow(..) => 8,
        };
        put(&mut bytes, &[kind << 4 | self.wish.bits(), shape]);
        match self.number {
            Number::Unit(seq) => bytes.extend(seq.0.to_be_bytes()),
            Number::Window(place) | Number::Flow(place, _) => {
                let WindowNumber { seq, order, settled } = place;
                put(&mut bytes, &seq.0.to_be_bytes());
                put(&mut bytes, &order.0.to_be_bytes());
                put(&mut bytes, &settled.to_be_bytes());
            }
        }
        if let Number::Flow(_, place) = self.number {
            place.put(&mut bytes);
        }
        put(&mut bytes, &self.length.to_be_bytes());
        for Stretch { start, len } in &self.stretches {
            put(&mut bytes, &start.to_be_bytes());
            if self.uncoded {
                put(&mut bytes, &len.to_be_bytes());
            } else {
                // A block holds fewer than 256 bytes.
                bytes.push(*len as u8);
            }
        }
        let check = header_check(&bytes);
        put(&mut bytes, &check);
        bytes
    }

    /// Reads a header with its check, whose parity has been taken off.
    ///
    /// # Errors
    /// If the bytes are too few, fail their check, or have a value that no sender writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let least = FIXED + 2 + 3 + HEADER_CHECK_LEN;
        if bytes.len() < least {
            return Err(HeaderError::Short { have: bytes.len(), need: least });
        }
        let (fields, check) = bytes.split_at(bytes.len() - HEADER_CHECK_LEN);
        if header_check(fields) != check {
            return Err(HeaderError::Check);
        }
        let (number, rest) = parse_number(fields[0] >> 4, &fields[2..])?;
        let Some((length, rest)) = rest.split_first_chunk() else {
            return Err(HeaderError::Short { have: bytes.len(), need: least });
        };
        let shape = fields[1];
        let uncoded = shape & 0x7 == UNCODED;
        let stretches = parse_stretches(shape & 0x7, rest)?;
        let head = Self {
            wish: Wish::from_bits(fields[0] & 0xf)?,
            level: Level(shape >> 5),
            whole: shape & WHOLE != 0,
            padded: shape & PADDED != 0,
            uncoded,
            number,
            length: u16::from_be_bytes(*length),
            stretches,
        };
        if uncoded && (head.padded || head.level != Level::NONE) {
            return Err(HeaderError::Field("level"));
        }
        let fits = |stretch: &Stretch| {
            stretch.range().end <= head.stream()
                && (uncoded || usize::from(stretch.len) <= head.level.data())
                && (stretch.len > 0 || head.padded)
        };
        if !head.stretches.iter().all(fits) {
            return Err(HeaderError::Field("stretch"));
        }
        Ok(head)
    }
}

/// The number at the beginning of `bytes`, and what follows it.
fn parse_number(kind: u8, bytes: &[u8]) -> Result<(Number, &[u8]), HeaderError> {
    let short = |need| HeaderError::Short { have: bytes.len(), need };
    match kind {
        6 => {
            let (seq, rest) = bytes.split_first_chunk().ok_or(short(2))?;
            Ok((Number::Unit(Seq16(u16::from_be_bytes(*seq))), rest))
        }
        7 | 8 => {
            let (&[a, b, c, d, e, f, g, h, i, j], rest) =
                bytes.split_first_chunk().ok_or(short(10))?;
            let place = WindowNumber {
                seq: Seq32(u32::from_be_bytes([a, b, c, d])),
                order: Seq32(u32::from_be_bytes([e, f, g, h])),
                settled: u16::from_be_bytes([i, j]),
            };
            if kind == 7 {
                return Ok((Number::Window(place), rest));
            }
            let (flow, rest) = rest.split_first_chunk().ok_or(short(18))?;
            Ok((Number::Flow(place, FlowPlace::parse(flow)), rest))
        }
        kind => Err(HeaderError::Kind(kind)),
    }
}

/// Reads the stretches of the blocks, or of an uncoded frame; `count` is the field of the header.
fn parse_stretches(count: u8, bytes: &[u8]) -> Result<ArrayVec<Stretch, MAX_BLOCKS>, HeaderError> {
    if count == UNCODED {
        let &[a, b, c, d] = bytes else { return Err(HeaderError::Field("blocks")) };
        let stretch =
            Stretch { start: u16::from_be_bytes([a, b]), len: u16::from_be_bytes([c, d]) };
        return Ok([stretch].into_iter().collect());
    }
    let (stretches, rest) = bytes.as_chunks::<3>();
    let blocks = usize::from(count) + 1;
    if blocks > MAX_BLOCKS || stretches.len() != blocks || !rest.is_empty() {
        return Err(HeaderError::Field("blocks"));
    }
    let stretch = |&[high, low, len]: &[u8; 3]| Stretch {
        start: u16::from_be_bytes([high, low]),
        len: len.into(),
    };
    Ok(stretches.iter().map(stretch).collect())
}

/// The fate of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver has it, after correcting this number of symbols.
    Good(u8),
    /// Its checks rejected it, but the receiver has the block from this copy and earlier ones.
    Combined,
    /// Its checks rejected it, and it was taken all the same because damage was asked for.
    Damaged,
    /// Its checks rejected it.
    Failed,
    /// The frame was cut short before its end.
    Missing,
}

impl Fate {
    /// Returns `true` if the receiver has taken the block.
    #[must_use]
    pub const fn is_taken(self) -> bool {
        matches!(self, Self::Good(_) | Self::Combined | Self::Damaged)
    }

    const fn byte(self) -> u8 {
        match self {
            Self::Good(corrected) if corrected < 252 => corrected,
            Self::Good(_) => 251,
            Self::Combined => 252,
            Self::Damaged => 253,
            Self::Failed => 254,
            Self::Missing => 255,
        }
    }

    const fn from_byte(byte: u8) -> Self {
        match byte {
            252 => Self::Combined,
            253 => Self::Damaged,
            254 => Self::Failed,
            255 => Self::Missing,
            corrected => Self::Good(corrected),
        }
    }
}

/// The state of a packet at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Stretches of it are still wanted.
    Partial,
    /// It is complete, and was passed up.
    Complete,
    /// Its blocks passed their checks, but the whole did not: all of it is wanted again.
    Again,
}

/// The receiver's report on one transmission in a window; such records stand behind an ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number of the transmission.
    pub order: Seq32,
    /// The packet's blocks passed their checks, but the whole did not: all of it is wanted again.
    pub again: bool,
    /// The fate of each block.
    pub fates: ArrayVec<Fate, MAX_BLOCKS>,
}

/// The records behind an ACK as its payload, with a frame check of their own behind them.
///
/// Of each record: the transmission, 4 bytes; how many blocks, with the high bit for *again*; the
/// blocks' fates as in a report.
#[must_use]
pub fn encode_records(records: &[Record]) -> Vec<u8> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(records.len() * MAX_RECORD + FCS_LEN);
    for Record { order, again, fates } in records {
        bytes.extend(order.0.to_be_bytes());
        bytes.push(fates.len() as u8 | if *again { AGAIN } else { 0 });
        bytes.extend(fates.iter().map(|fate| fate.byte()));
    }
    let check = frame_check(&[&bytes]);
    bytes.extend(check);
    bytes
}

/// Reads the records behind an ACK.
///
/// # Errors
/// If their check fails, or they are not whole.
pub fn parse_records(bytes: &[u8]) -> Result<Vec<Record>, HeaderError> {
    let mut records = Vec::new();
    if bytes.is_empty() {
        return Ok(records);
    }
    let Some((mut rest, check)) = bytes.split_last_chunk::<FCS_LEN>() else {
        return Err(HeaderError::Short { have: bytes.len(), need: FCS_LEN });
    };
    if frame_check(&[rest]) != *check {
        return Err(HeaderError::Check);
    }
    while let Some((&[a, b, c, d, count], tail)) = rest.split_first_chunk() {
        let order = Seq32(u32::from_be_bytes([a, b, c, d]));
        let blocks = count & !AGAIN;
        if usize::from(blocks) > MAX_BLOCKS || tail.len() < usize::from(blocks) {
            return Err(HeaderError::Field("blocks"));
        }
        let (fates, tail) = tail.split_at(usize::from(blocks));
        let fates = fates.iter().map(|byte| Fate::from_byte(*byte)).collect();
        records.push(Record { order, again: count & AGAIN != 0, fates });
        rest = tail;
    }
    if rest.is_empty() { Ok(records) } else { Err(HeaderError::Field("records")) }
}

/// The receiver's report of one frame, which rides in the immediate ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The state of the packet.
    pub progress: Progress,
    /// The number of the packet.
    pub seq: Seq16,
    /// The fate of each block; none for a packet that was complete before.
    pub fates: ArrayVec<Fate, MAX_BLOCKS>,
}

impl Report {
    /// Writes the report: at most 8 bytes.
    #[must_use]
    pub fn encode(&self) -> Feedback {
        let state: u8 = match self.progress {
            Progress::Partial => 0,
            Progress::Complete => 1,
            Progress::Again => 2,
        };
        let [high, low] = self.seq.0.to_be_bytes();
        [state, high, low].into_iter().chain(self.fates.iter().map(|fate| fate.byte())).collect()
    }

    /// Reads a report.
    ///
    /// # Errors
    /// If the bytes are too few or too many, or the state is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let &[state, high, low, ref fates @ ..] = bytes else {
            return Err(HeaderError::Short { have: bytes.len(), need: 3 });
        };
        let progress = match state {
            0 => Progress::Partial,
            1 => Progress::Complete,
            2 => Progress::Again,
            _ => return Err(HeaderError::Field("state")),
        };
        if fates.len() > MAX_BLOCKS {
            return Err(HeaderError::Field("blocks"));
        }
        let fates = fates.iter().map(|byte| Fate::from_byte(*byte)).collect();
        Ok(Self { progress, seq: Seq16(u16::from_be_bytes([high, low])), fates })
    }
}

#[cfg(test)]
mod tests;
