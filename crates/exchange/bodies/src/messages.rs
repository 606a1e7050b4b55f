//! The control messages of a transfer: precise messages on stream 0.
//!
//! Numbers are in network byte order. The first byte is the kind, the next two are the transfer.

use core::ops::Range;

use bytes::{Buf, BufMut, Bytes, BytesMut};

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
    /// The server describes the body.
    Plan(BodyPlan),
    /// The next bytes of the exact ranges.
    Exact(Bytes),
    /// Everything was sent, or is about to be.
    End(End),
}

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// All approximate messages of the transfer were sent before, so that those that have not
    /// arrived are lost, or behind only as far as the path changes the order.
    pub is_last: bool,
}

const ASK: u8 = 1;
const UNKNOWN: u8 = 2;
const PLAN: u8 = 3;
const EXACT: u8 = 4;
const END: u8 = 5;

/// The bytes before those of [`Control::Exact`].
pub(crate) const EXACT_HEADER: usize = 3;
/// The bytes of a plan without ranges, and of each range.
const PLAN_FIXED: usize = 3 + 16 + 4 + 4;
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
    len.saturating_sub(PLAN_FIXED) / PLAN_RANGE
}

impl Control {
    /// Returns the bytes of a message of this transfer.
    #[must_use]
    pub fn encode(&self, transfer: u16) -> Bytes {
        let mut out = BytesMut::new();
        let kind = match self {
            Self::Ask(_) => ASK,
            Self::Unknown => UNKNOWN,
            Self::Plan(_) => PLAN,
            Self::Exact(_) => EXACT,
            Self::End(_) => END,
        };
        out.put_u8(kind);
        out.put_u16(transfer);
        match self {
            Self::Ask(token) => out.put_slice(token),
            Self::Plan(plan) => {
                out.put_slice(&plan.token);
                out.put_u32(plan.piece);
                out.put_u32(plan.length);
                for range in &plan.exact {
                    out.put_u32(range.start);
                    out.put_u32(range.end);
                }
            }
            Self::Exact(data) => out.put_slice(data),
            Self::End(end) => out.put_u8(end.is_last.into()),
            Self::Unknown => {}
        }
        out.freeze()
    }

    /// Reads a message and its transfer; `None` if it is malformed. Bytes after the fields of a
    /// message other than a plan and exact bytes are ignored.
    #[must_use]
    pub fn decode(mut bytes: Bytes) -> Option<(u16, Self)> {
        let kind = bytes.try_get_u8().ok()?;
        let transfer = bytes.try_get_u16().ok()?;
        let control = match kind {
            ASK => Self::Ask(token(&mut bytes)?),
            UNKNOWN => Self::Unknown,
            PLAN => Self::Plan(plan(bytes)?),
            EXACT => Self::Exact(bytes),
            // Senders that do not say so may be about to send more.
            END => Self::End(End { is_last: bytes.try_get_u8().is_ok_and(|it| it == 1) }),
            _ => return None,
        };
        Some((transfer, control))
    }
}

fn token(bytes: &mut Bytes) -> Option<TransferToken> {
    let mut token = TransferToken::default();
    bytes.try_copy_to_slice(&mut token).ok()?;
    Some(token)
}

fn plan(mut bytes: Bytes) -> Option<BodyPlan> {
    let token = token(&mut bytes)?;
    let (piece, length) = (bytes.try_get_u32().ok()?, bytes.try_get_u32().ok()?);
    let ranges = bytes.chunks_exact(PLAN_RANGE);
    let is_whole = ranges.remainder().is_empty();
    let number = |field: &[u8]| u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
    let exact: Vec<Range<u32>> =
        ranges.map(|field| number(&field[..4])..number(&field[4..])).collect();
    let mut before = None;
    let in_order = exact.iter().all(|range| {
        let follows = before.replace(range.end).is_none_or(|end| end < range.start);
        follows && range.start < range.end && range.end <= length
    });
    let is_sound = is_whole && in_order && (1..=LONGEST_PIECE).contains(&piece);
    (is_sound && u64::from(length) <= LONGEST_BODY).then_some(BodyPlan {
        token,
        piece,
        length,
        exact,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of one range.
    fn only(range: Range<u32>) -> Vec<Range<u32>> {
        core::iter::once(range).collect()
    }

    fn plan(exact: Vec<Range<u32>>) -> BodyPlan {
        BodyPlan { token: [7; 16], piece: 10, length: 100, exact }
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let exact = Control::Exact(Bytes::from_static(b"abc"));
        assert_eq!(exact.encode(515)[..EXACT_HEADER], exact_header(515));
        assert_eq!(exact.encode(1).len(), 3 + EXACT_HEADER);
        let described = Control::Plan(plan(vec![0..5, 7..100]));
        assert_eq!(ranges_of_plan(described.encode(1).len()), 2);
        let [early, last] = [false, true].map(|is_last| Control::End(End { is_last }));
        for control in [exact, described, Control::Ask([9; 16]), Control::Unknown, early, last] {
            assert_eq!(Control::decode(control.encode(515)), Some((515, control)));
        }
    }

    #[test]
    fn malformed_messages_are_refused() {
        let whole = Control::Plan(plan(vec![0..5, 7..100])).encode(1);
        assert_eq!(Control::decode(whole.slice(..whole.len() - 1)), None);
        for end in 0..PLAN_FIXED {
            assert_eq!(Control::decode(whole.slice(..end)), None, "{end}");
        }
        let backwards = Range { start: 9, end: 3 };
        let several = [vec![0..5, 5..9], vec![7..9, 0..5]];
        for exact in several.into_iter().chain([5..5, 0..101, backwards].map(only)) {
            let bytes = Control::Plan(plan(exact.clone())).encode(1);
            assert_eq!(Control::decode(bytes), None, "{exact:?}");
        }
        for piece in [0, LONGEST_PIECE + 1] {
            let bytes = Control::Plan(BodyPlan { piece, ..plan(Vec::new()) }).encode(1);
            assert_eq!(Control::decode(bytes), None);
        }
        assert_eq!(Control::decode(Bytes::from_static(&[9, 0, 1])), None);
        assert_eq!(Control::decode(Bytes::from_static(&[ASK, 0, 1, 5])), None);
        let early = Control::End(End { is_last: false });
        assert_eq!(Control::decode(Bytes::from_static(&[END, 0, 7])), Some((7, early)));
    }

    #[test]
    fn gaps_are_what_is_between_exact_ranges() {
        assert_eq!(plan(vec![0..5, 7..100]).gaps(), only(5..7));
        assert_eq!(plan(only(3..5)).gaps(), [0..3, 5..100]);
        assert_eq!(plan(only(3..5)).pieces(), 10);
        assert_eq!(plan(Vec::new()).pieces(), 10);
        assert_eq!(plan(only(0..100)).pieces(), 0);
    }
}
