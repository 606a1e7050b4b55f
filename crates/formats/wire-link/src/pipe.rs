//! The headers of the link itself: what stands before the packet, and the ACKs of the window.
//!
//! Byte 0 of each: the kind in the high four bits, flags in the low four.
//!
//! | kind | fields after byte 0 | check |
//! |---|---|---|
//! | 1 plain | length 2 | header check 2, frame check as trailer |
//! | 2 unit | length 2, sequence 2 | header check 2, frame check as trailer |
//! | 3 window | length 2, sequence 4, order 4, settled 2 | header check 2, frame check as trailer |
//! | 4 probe | base 4, order 4 | frame check as trailer |
//! | 6 flow | length 2, sequence 4, order 4, settled 2, flow 2, number 4, open 2 | as for 3 |
//! | 5 ack | next 4, first 4, count 2, bitmap ⌈count / 8⌉ | frame check as trailer |
//! | 9 increment | length 2, sequence 4, order 4, settled 2, packet 2, first 1, count 1 | as for 3 |
//! | 10 ack | as 5, and a second bitmap, of what is kept damaged | frame check as trailer |
//! | 11 increment in a flow | as 9, then flow 2, number 4, open 2 | as for 3 |

use arrayvec::ArrayVec;
use windfall_base::frame::{MAX_HEADER, MAX_TRAILER};
use windfall_base::seq::{Seq16, Seq32};

use crate::HeaderError;
use crate::check::{HEADER_CHECK_LEN, frame_check, header_check};

/// Bytes that a link puts before a packet.
pub type HeaderBytes = ArrayVec<u8, MAX_HEADER>;
/// Bytes that a link puts after a packet.
pub type TrailerBytes = ArrayVec<u8, MAX_TRAILER>;

/// Bytes of the header of a plain frame.
pub const PLAIN_LEN: usize = 5;
/// Bytes of the header of a unit.
pub const UNIT_LEN: usize = 7;
/// Bytes of the header of a numbered frame.
pub const NUMBERED_LEN: usize = 15;
/// Bytes of the header of a numbered frame with its place in a flow.
pub const IN_FLOW_LEN: usize = 23;
/// Bytes of the header of an increment.
pub const INCREMENT_LEN: usize = 19;
/// Bytes of the header of an increment with the place of its packet in a flow.
pub const INCREMENT_IN_FLOW_LEN: usize = INCREMENT_LEN + FlowPlace::LEN;
/// Bytes of a probe, without its frame check.
pub const PROBE_LEN: usize = 9;
/// Bytes of an ACK before its bitmap.
pub const ACK_FIXED_LEN: usize = 11;
/// Transmissions that one ACK can report.
pub const ACK_MAX_COUNT: usize = (MAX_HEADER - ACK_FIXED_LEN) * 8;
/// Transmissions that one ACK can report which also tells of what is kept.
pub const KEPT_MAX_COUNT: usize = (MAX_HEADER - ACK_FIXED_LEN) / 2 * 8;

/// The distance that stands for none: the first packet lies too far before to be told.
pub const UNTOLD: u16 = u16::MAX;

const LAST: u8 = 0x8;

/// The sender's wish about the acceptance of a frame whose check fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// No further copy of this packet will come.
    pub last: bool,
    /// Hand the packet up even if damaged; the receiver's own choice if `None`.
    pub accept_damaged: Option<bool>,
}

impl Wish {
    pub(crate) fn bits(self) -> u8 {
        let accept = match self.accept_damaged {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        accept | if self.last { LAST } else { 0 }
    }

    pub(crate) fn from_bits(bits: u8) -> Result<Self, HeaderError> {
        let accept_damaged = match bits & 0x7 {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return Err(HeaderError::Field("flags")),
        };
        Ok(Self { last: bits & LAST != 0, accept_damaged })
    }
}

/// The header of a frame that carries one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The sender's wish about acceptance.
    pub wish: Wish,
    /// Bytes of the packet.
    pub length: u16,
    /// The numbering of the frame.
    pub number: Number,
}

/// The numbering of a frame that carries a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Not numbered: it is never retransmitted.
    Plain,
    /// By packet, for a stop-and-wait exchange.
    Unit(Seq16),
    /// By packet and by transmission, for a window of frames.
    Window {
        /// The number of the packet.
        seq: Seq32,
        /// The number of the transmission: each frame on the pipe has the next.
        order: Seq32,
        /// The distance before `seq` of the first packet that may still be sent; [`UNTOLD`] if
        /// it is further.
        settled: u16,
    },
    /// As in a window, for a packet that keeps order only with others of its flow.
    Flow {
        /// The number of the packet.
        seq: Seq32,
        /// The number of the transmission.
        order: Seq32,
        /// As in a window.
        settled: u16,
        /// The place of the packet among those of its flow.
        place: FlowPlace,
    },
    /// As in a window, for parity of a packet instead of the packet.
    Increment {
        /// The number of the packet.
        seq: Seq32,
        /// The number of the transmission.
        order: Seq32,
        /// As in a window.
        settled: u16,
        /// The parity that the frame carries.
        part: IncrementPart,
        /// The place of the packet in its flow, if it keeps order only with others of that.
        place: Option<FlowPlace>,
    },
}

/// The part of the parity of a packet that a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncrementPart {
    /// Bytes of the packet.
    pub packet: u16,
    /// The first of the parity symbols of each block.
    pub first: u8,
    /// Their number, of each block.
    pub count: u8,
}

/// The place of a packet in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPlace {
    /// The name of the flow at its sender.
    pub flow: u16,
    /// The number of the packet in the flow, from 0.
    pub number: Seq32,
    /// The distance before `number` of the first packet of the flow that may still be sent;
    /// [`UNTOLD`] if it is further.
    pub open: u16,
}

impl FlowPlace {
    /// Bytes of it in a header.
    pub(crate) const LEN: usize = 8;

    pub(crate) fn put(self, bytes: &mut HeaderBytes) {
        put(bytes, &self.flow.to_be_bytes());
        put(bytes, &self.number.0.to_be_bytes());
        put(bytes, &self.open.to_be_bytes());
    }

    pub(crate) fn parse(bytes: &[u8; Self::LEN]) -> Self {
        let number = Seq32(u32_at(bytes, 2));
        Self { flow: u16_at(bytes, 0), number, open: u16_at(bytes, 6) }
    }
}

/// A control frame that asks for an ACK and tells where the sender's window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The first packet that the sender may still send; none before it will come.
    pub base: Seq32,
    /// The number of this transmission.
    pub order: Seq32,
}

/// An ACK of a window: a bitmap over transmissions, not over packets.
///
/// A pipe keeps order, so a transmission older than the newest reported one either arrived or never
/// will: the sender learns the exact fate of each copy, and retransmits nothing needlessly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first packet that the receiver has not yet passed up or skipped.
    pub next: Seq32,
    /// The number of the first reported transmission.
    pub first: Seq32,
    /// For each reported transmission whether it arrived undamaged; not more than
    /// [`ACK_MAX_COUNT`].
    pub arrived: Bitmap,
    /// For each of them whether it arrived damaged and is kept until parity of its packet comes;
    /// `None` of a receiver that keeps nothing. Then they are not more than [`KEPT_MAX_COUNT`].
    pub kept: Option<Bitmap>,
}

/// Bits in the order of transmission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    bytes: ArrayVec<u8, { MAX_HEADER - ACK_FIXED_LEN }>,
    count: u16,
}

impl Bitmap {
    /// Returns the number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends a bit; a full bitmap stays as it is and gives `false`.
    pub fn push(&mut self, bit: bool) -> bool {
        if self.len() == ACK_MAX_COUNT {
            return false;
        }
        if self.count.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if bit && let Some(byte) = self.bytes.last_mut() {
            *byte |= 0x80 >> (self.count % 8);
        }
        self.count += 1;
        true
    }

    /// The bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len()).map(|bit| self.bytes[bit / 8] & (0x80 >> (bit % 8)) != 0)
    }
}

/// Any header of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// Before a packet.
    Data(Data),
    /// A control frame of the sender of packets.
    Probe(Probe),
    /// A control frame of their receiver.
    Ack(Ack),
}

impl Data {
    /// Bytes of the header of a frame so numbered.
    #[must_use]
    pub const fn len(number: Number) -> usize {
        match number {
            Number::Plain => PLAIN_LEN,
            Number::Unit(_) => UNIT_LEN,
            Number::Window { .. } => NUMBERED_LEN,
            Number::Flow { .. } => IN_FLOW_LEN,
            Number::Increment { place: None, .. } => INCREMENT_LEN,
            Number::Increment { place: Some(_), .. } => INCREMENT_IN_FLOW_LEN,
        }
    }

    /// Writes the header with its check.
    #[must_use]
    pub fn encode(&self) -> HeaderBytes {
        let kind: u8 = match self.number {
            Number::Plain => 1,
            Number::Unit(_) => 2,
            Number::Window { .. } => 3,
            Number::Flow { .. } => 6,
            Number::Increment { place: None, .. } => 9,
            Number::Increment { place: Some(_), .. } => 11,
        };
        let mut bytes = HeaderBytes::new();
        bytes.push(kind << 4 | self.wish.bits());
        put(&mut bytes, &self.length.to_be_bytes());
        match self.number {
            Number::Plain => {}
            Number::Unit(seq) => put(&mut bytes, &seq.0.to_be_bytes()),
            Number::Window { seq, order, settled }
            | Number::Flow { seq, order, settled, .. }
            | Number::Increment { seq, order, settled, .. } => {
                put(&mut bytes, &seq.0.to_be_bytes());
                put(&mut bytes, &order.0.to_be_bytes());
                put(&mut bytes, &settled.to_be_bytes());
            }
        }
        match self.number {
            Number::Flow { place, .. } => place.put(&mut bytes),
            Number::Increment { part, place, .. } => {
                put(&mut bytes, &part.packet.to_be_bytes());
                put(&mut bytes, &[part.first, part.count]);
                place.iter().for_each(|place| place.put(&mut bytes));
            }
            _ => {}
        }
        let check = header_check(&bytes);
        put(&mut bytes, &check);
        bytes
    }

    fn parse(bytes: &[u8], kind: u8) -> Result<Self, HeaderError> {
        let need = match kind {
            1 => PLAIN_LEN,
            2 => UNIT_LEN,
            3 => NUMBERED_LEN,
            9 => INCREMENT_LEN,
            11 => INCREMENT_IN_FLOW_LEN,
            _ => IN_FLOW_LEN,
        };
        let Some(bytes) = bytes.get(..need) else {
            return Err(HeaderError::Short { have: bytes.len(), need });
        };
        let (fields, check) = bytes.split_at(need - HEADER_CHECK_LEN);
        if header_check(fields) != check {
            return Err(HeaderError::Check);
        }
        let window = || (Seq32(u32_at(fields, 3)), Seq32(u32_at(fields, 7)), u16_at(fields, 11));
        let place_at = |at: usize| {
            let place = fields.get(at..).and_then(<[u8]>::first_chunk).map(FlowPlace::parse);
            place.ok_or(HeaderError::Short { have: bytes.len(), need })
        };
        let number = match kind {
            1 => Number::Plain,
            2 => Number::Unit(Seq16(u16_at(fields, 3))),
            3 => {
                let (seq, order, settled) = window();
                Number::Window { seq, order, settled }
            }
            9 | 11 => {
                let (seq, order, settled) = window();
                let first = fields[15];
                let count = fields[16];
                let part = IncrementPart { packet: u16_at(fields, 13), first, count };
                let place = (kind == 11).then(|| place_at(17)).transpose()?;
                Number::Increment { seq, order, settled, part, place }
            }
            _ => {
                let (seq, order, settled) = window();
                Number::Flow { seq, order, settled, place: place_at(13)? }
            }
        };
        Ok(Self { wish: Wish::from_bits(fields[0] & 0xf)?, length: u16_at(fields, 1), number })
    }
}

impl Probe {
    /// Writes the header and the trailer.
    #[must_use]
    pub fn encode(&self) -> (HeaderBytes, TrailerBytes) {
        let mut bytes = HeaderBytes::new();
        bytes.push(4 << 4);
        put(&mut bytes, &self.base.0.to_be_bytes());
        put(&mut bytes, &self.order.0.to_be_bytes());
        checked(bytes)
    }
}

impl Ack {
    /// Writes the header and the trailer.
    #[must_use]
    pub fn encode(&self) -> (HeaderBytes, TrailerBytes) {
        let mut bytes = HeaderBytes::new();
        bytes.push(if self.kept.is_some() { 10 << 4 } else { 5 << 4 });
        put(&mut bytes, &self.next.0.to_be_bytes());
        put(&mut bytes, &self.first.0.to_be_bytes());
        put(&mut bytes, &self.arrived.count.to_be_bytes());
        put(&mut bytes, &self.arrived.bytes);
        self.kept.iter().for_each(|kept| put(&mut bytes, &kept.bytes));
        checked(bytes)
    }
}

impl Header {
    /// Reads a header with its check; `trailer` holds the frame check, which control frames need.
    ///
    /// # Errors
    /// If the bytes are too few, fail their check, or have a value that no sender writes.
    pub fn parse(header: &[u8], trailer: &[u8]) -> Result<Self, HeaderError> {
        let Some(&first) = header.first() else {
            return Err(HeaderError::Short { have: 0, need: PLAIN_LEN });
        };
        match first >> 4 {
            kind @ (1..=3 | 6 | 9 | 11) => Data::parse(header, kind).map(Self::Data),
            kind @ (4 | 5 | 10) => {
                let need = if kind == 4 { PROBE_LEN } else { ACK_FIXED_LEN };
                if header.len() < need {
                    return Err(HeaderError::Short { have: header.len(), need });
                }
                if frame_check(&[header]) != trailer {
                    return Err(HeaderError::Check);
                }
                if first & 0xf != 0 {
                    return Err(HeaderError::Field("flags"));
                }
                if kind != 4 {
                    return parse_ack(header, kind == 10).map(Self::Ack);
                }
                if header.len() > PROBE_LEN {
                    return Err(HeaderError::Field("length"));
                }
                let base = Seq32(u32_at(header, 1));
                let order = Seq32(u32_at(header, 5));
                Ok(Self::Probe(Probe { base, order }))
            }
            kind => Err(HeaderError::Kind(kind)),
        }
    }
}

fn parse_ack(header: &[u8], tells_kept: bool) -> Result<Ack, HeaderError> {
    let count = u16_at(header, 9);
    let bits = &header[ACK_FIXED_LEN..];
    let (each, most) =
        if tells_kept { (bits.len() / 2, KEPT_MAX_COUNT) } else { (bits.len(), ACK_MAX_COUNT) };
    let is_whole = !tells_kept || bits.len().is_multiple_of(2);
    if each != usize::from(count).div_ceil(8) || usize::from(count) > most || !is_whole {
        return Err(HeaderError::Field("count"));
    }
    let bitmap = |bits: &[u8]| {
        let padding = bits.len() * 8 - usize::from(count);
        if bits.last().is_some_and(|last| last.trailing_zeros() < padding as u32) {
            return Err(HeaderError::Field("bitmap"));
        }
        Ok(Bitmap { bytes: bits.iter().copied().collect(), count })
    };
    let (arrived, kept) = bits.split_at(each);
    Ok(Ack {
        next: Seq32(u32_at(header, 1)),
        first: Seq32(u32_at(header, 5)),
        arrived: bitmap(arrived)?,
        kept: if tells_kept { Some(bitmap(kept)?) } else { None },
    })
}

/// A control frame's header with the frame check over it.
fn checked(header: HeaderBytes) -> (HeaderBytes, TrailerBytes) {
    let trailer = frame_check(&[&header]).into_iter().collect();
    (header, trailer)
}

/// Appends a field to a header, which has room for all of them.
pub(crate) fn put(bytes: &mut HeaderBytes, field: &[u8]) {
    bytes.try_extend_from_slice(field).expect("a header has room for its fields");
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
