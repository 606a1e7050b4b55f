//! The control messages of a transfer: precise messages.
//!
//! Numbers are in network byte order. The first byte is the kind, the next two are the transfer.

use core::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

/// The stream of a client's control messages; approximate messages go on the stream of their
/// transfer.
pub const CONTROL_STREAM: u16 = 0;
/// The streams of a server's control messages: a transfer waits for lost ones of few others.
const CONTROL_STREAMS: u16 = 32;
/// The longest body that a transfer carries, in bytes.
pub const LONGEST_BODY: u64 = 256 << 20;
/// The longest approximate message that a plan may announce.
const LONGEST_PIECE: u32 = 1 << 20;

/// A random value that only the two ends of a request know.
pub type TransferToken = [u8; 16];

/// The description of a body: its exact ranges travel as control messages, the bytes between them,
/// joined, as approximate messages of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyPlan {
    /// The name of the body.
    pub token: TransferToken,
    /// The length of each approximate message but the last, in bytes.
    pub piece: u32,
    /// The length of the body, in bytes.
    pub length: u32,
    /// The exact ranges, in order and not touching.
    pub exact: Vec<Range<u32>>,
}

impl BodyPlan {
    /// Returns the ranges between the exact ones.
    #[must_use]
    pub fn gaps(&self) -> Vec<Range<u32>> {
        let starts = core::iter::once(0).chain(self.exact.iter().map(|range| range.end));
        let ends = self.exact.iter().map(|range| range.start).chain([self.length]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }

    /// Returns the number of approximate messages.
    #[must_use]
    pub fn pieces(&self) -> u32 {
        let approximate: u32 = self.gaps().iter().map(|gap| gap.end - gap.start).sum();
        approximate.div_ceil(self.piece)
    }
}

/// A control message of one transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The client asks for the body of this token.
    Ask(TransferToken),
    /// The server has no body of this token.
    Unknown,
    /// The server describes the body; with it come the first bytes of the exact ranges.
    Plan(BodyPlan, Bytes),
    /// The next bytes of the exact ranges.
    Exact(Bytes),
    /// All approximate messages of the transfer were sent before, so that those that have not
    /// arrived are lost, or behind only as far as the path changes the order. It is sent where the
    /// last of them may not have arrived, which says the same.
    End,
}

/// The reason for which a control message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BodyMessageError {
    /// It has this number of bytes.
    #[error("{0} bytes are too few for a message of its kind")]
    Short(usize),
    /// No message has this kind.
    #[error("its kind {0} is none of {ASK} to {END}")]
    Kind(u8),
    /// This number of bytes follows its last field.
    #[error("{0} bytes follow its last field")]
    Excess(usize),
    /// The approximate messages of its plan would have this length.
    #[error("its pieces of {0} bytes are not of 1 to {LONGEST_PIECE} bytes")]
    Piece(u32),
    /// The body of its plan would have this length.
    #[error("its body of {0} bytes is longer than {LONGEST_BODY} bytes")]
    Length(u32),
    /// The first and the last boundary of an exact range.
    #[error("its exact range {0} to {1} is empty, outside the body or out of order")]
    Range(u32, u32),
    /// The number of exact bytes that come with it, and of those in its ranges.
    #[error("{0} exact bytes come with it, but its ranges have {1}")]
    Exact(usize, u32),
}

const ASK: u8 = 1;
const UNKNOWN: u8 = 2;
const PLAN: u8 = 3;
const EXACT: u8 = 4;
const END: u8 = 5;

/// The bytes before those of [`Control::Exact`].
pub(crate) const EXACT_HEADER: usize = 3;
/// The bytes of a plan without ranges and exact bytes, and of each range.
const PLAN_FIXED: usize = 3 + 16 + 4 + 4 + 2;
const PLAN_RANGE: usize = 8;

/// Returns the bytes before those of [`Control::Exact`].
pub(crate) fn exact_header(transfer: u16) -> [u8; EXACT_HEADER] {
    let [high, low] = transfer.to_be_bytes();
    [EXACT, high, low]
}

/// Returns the stream of a server's control messages of a transfer.
pub(crate) fn control_stream(transfer: u16) -> u16 {
    transfer % CONTROL_STREAMS
}

/// Returns the number of exact ranges that a plan in one message of `len` bytes can name.
pub(crate) fn ranges_of_plan(len: usize) -> usize {
    (len.saturating_sub(PLAN_FIXED) / PLAN_RANGE).min(u16::MAX.into())
}

/// Returns the number of exact bytes that a plan with this number of ranges has room for, in one
/// message of `len` bytes.
pub(crate) fn bytes_of_plan(len: usize, ranges: usize) -> usize {
    len.saturating_sub(PLAN_FIXED + ranges * PLAN_RANGE)
}

impl Control {
    /// Returns the bytes of a message of this transfer.
    #[must_use]
    pub fn encode(&self, transfer: u16) -> Bytes {
        let mut out = BytesMut::new();
        let kind = match self {
            Self::Ask(_) => ASK,
            Self::Unknown => UNKNOWN,
            Self::Plan(..) => PLAN,
            Self::Exact(_) => EXACT,
            Self::End => END,
        };
        out.put_u8(kind);
        out.put_u16(transfer);
        match self {
            Self::Ask(token) => out.put_slice(token),
            Self::Plan(plan, exact) => {
                out.put_slice(&plan.token);
                out.put_u32(plan.piece);
                out.put_u32(plan.length);
                out.put_u16(plan.exact.len() as u16);
                for range in &plan.exact {
                    out.put_u32(range.start);
                    out.put_u32(range.end);
                }
                out.put_slice(exact);
            }
            Self::Exact(data) => out.put_slice(data),
            Self::Unknown | Self::End => {}
        }
        out.freeze()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn decode(mut bytes: Bytes) -> Result<(u16, Self), BodyMessageError> {
        let short = BodyMessageError::Short(bytes.len());
        let kind = bytes.try_get_u8().map_err(|_| short)?;
        let transfer = bytes.try_get_u16().map_err(|_| short)?;
        let control = match kind {
            ASK => Self::Ask(token(&mut bytes).ok_or(short)?),
            UNKNOWN => Self::Unknown,
            PLAN => return Ok((transfer, plan(bytes, short)?)),
            EXACT => return Ok((transfer, Self::Exact(bytes))),
            END => Self::End,
            _ => return Err(BodyMessageError::Kind(kind)),
        };
        match bytes.len() {
            0 => Ok((transfer, control)),
            more => Err(BodyMessageError::Excess(more)),
        }
    }

    /// Returns the transfer of a message, also of one that is otherwise malformed.
    #[must_use]
    pub fn transfer_of(bytes: &[u8]) -> Option<u16> {
        bytes.get(1..)?.first_chunk().copied().map(u16::from_be_bytes)
    }
}

fn token(bytes: &mut Bytes) -> Option<TransferToken> {
    let mut token = TransferToken::default();
    bytes.try_copy_to_slice(&mut token).ok()?;
    Some(token)
}

/// Reads the fields of a plan, and takes the rest for exact bytes.
fn plan(mut bytes: Bytes, short: BodyMessageError) -> Result<Control, BodyMessageError> {
    let token = token(&mut bytes).ok_or(short)?;
    let mut number = || bytes.try_get_u32().map_err(|_| short);
    let piece = number()?;
    let length = number()?;
    let count = usize::from(bytes.try_get_u16().map_err(|_| short)?);
    if !(1..=LONGEST_PIECE).contains(&piece) {
        return Err(BodyMessageError::Piece(piece));
    }
    if u64::from(length) > LONGEST_BODY {
        return Err(BodyMessageError::Length(length));
    }
    // Nothing is reserved for ranges that are not there.
    if bytes.len() < count * PLAN_RANGE {
        return Err(short);
    }
    let mut exact = Vec::<Range<u32>>::with_capacity(count);
    let mut most = 0;
    for _ in 0..count {
        let start = bytes.get_u32();
        let end = bytes.get_u32();
        let follows = exact.last().is_none_or(|before| before.end < start);
        if !follows || start >= end || end > length {
            return Err(BodyMessageError::Range(start, end));
        }
        most += end - start;
        exact.push(start..end);
    }
    let found = bytes.len();
    if found > most as usize {
        return Err(BodyMessageError::Exact(found, most));
    }
    Ok(Control::Plan(BodyPlan { token, piece, length, exact }, bytes))
}

#[cfg(test)]
mod tests;
