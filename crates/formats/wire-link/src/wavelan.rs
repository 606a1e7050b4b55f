//! The headers of poll and response: who speaks to whom, and the immediate ACK.
//!
//! | byte | field |
//! |---|---|
//! | 0 | kind in the high four bits (8 poll, 9 response, 10 ACK alone), flags in the low |
//! | 1, 2 | to, from |
//! | 3 … | if an ACK rides along: the station it is for, its length, the receiver's feedback |
//! | last 2 | header check |
//!
//! Behind it stands the header of the link, if the frame carries a unit of the link.

use arrayvec::ArrayVec;

use crate::check::{HEADER_CHECK_LEN, header_check};
use crate::pipe::HeaderBytes;
use crate::{HeaderError, flag};

/// The longest feedback in an ACK, in bytes.
pub const MAX_FEEDBACK: usize = 16;
/// Bytes of a header without an ACK.
pub const SHORT_LEN: usize = 5;

const ACK: u8 = 0x1;
const UNIT: u8 = 0x2;
const MORE: u8 = 0x4;

/// The message of a unit's receiver to its sender; only the link reads it.
pub type Feedback = ArrayVec<u8, MAX_FEEDBACK>;

/// A station on a polled medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u8);

/// The role of a frame in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The coordinator asks a station to answer.
    Poll,
    /// The station answers.
    Response,
    /// An ACK and nothing else.
    Ack,
}

/// The header of a frame of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The role of the frame.
    pub kind: Kind,
    /// Whom it is for.
    pub to: Address,
    /// The address of the sender.
    pub from: Address,
    /// Set if a unit of the link follows.
    pub unit: bool,
    /// Set if the sender goes on with another frame at once.
    pub more: bool,
    /// The ACK that rides along, and whom it is for.
    pub ack: Option<(Address, Feedback)>,
}

impl Head {
    /// Appends the header with its check to `bytes`, which must have room for 23 bytes.
    pub fn encode(&self, bytes: &mut HeaderBytes) {
        let kind: u8 = match self.kind {
            Kind::Poll => 8,
            Kind::Response => 9,
            Kind::Ack => 10,
        };
        let start = bytes.len();
        let flags = flag(self.ack.is_some(), ACK) | flag(self.unit, UNIT) | flag(self.more, MORE);
        bytes.extend([kind << 4 | flags, self.to.0, self.from.0]);
        if let Some((station, feedback)) = &self.ack {
            bytes.extend([station.0, feedback.len() as u8]);
            bytes.extend(feedback.iter().copied());
        }
        bytes.extend(header_check(&bytes[start..]));
    }

    /// Reads the header at the beginning of `bytes`, and tells its length.
    ///
    /// # Errors
    /// If the bytes are too few, fail their check, or have a value that no sender writes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        let short = |need| HeaderError::Short { have: bytes.len(), need };
        let &[first, to, from, ref rest @ ..] = bytes else { return Err(short(SHORT_LEN)) };
        let kind = match first >> 4 {
            8 => Kind::Poll,
            9 => Kind::Response,
            10 => Kind::Ack,
            kind => return Err(HeaderError::Kind(kind)),
        };
        let mut fields = 3;
        let mut ack = None;
        if first & ACK != 0 {
            let &[station, len, ref rest @ ..] = rest else { return Err(short(SHORT_LEN + 2)) };
            let len = usize::from(len);
            if len > MAX_FEEDBACK {
                return Err(HeaderError::Check);
            }
            let feedback = rest.get(..len).ok_or(short(SHORT_LEN + 2 + len))?;
            ack = Some((Address(station), feedback.iter().copied().collect()));
            fields += 2 + len;
        }
        let end = fields + HEADER_CHECK_LEN;
        let check = bytes.get(fields..end).ok_or(short(end))?;
        if header_check(&bytes[..fields]) != check {
            return Err(HeaderError::Check);
        }
        if first & 0x8 != 0 {
            return Err(HeaderError::Field("flags"));
        }
        let unit = first & UNIT != 0;
        let more = first & MORE != 0;
        Ok((Self { kind, to: Address(to), from: Address(from), unit, more, ack }, end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_head() -> impl Strategy<Value = Head> {
        let kind = prop_oneof![Just(Kind::Poll), Just(Kind::Response), Just(Kind::Ack)];
        let feedback = prop::collection::vec(any::<u8>(), 0..=MAX_FEEDBACK);
        let ack = prop::option::of((any::<u8>(), feedback));
        (kind, any::<[u8; 2]>(), any::<[bool; 2]>(), ack).prop_map(
            |(kind, [to, from], [unit, more], ack)| Head {
                kind,
                to: Address(to),
                from: Address(from),
                unit,
                more,
                ack: ack.map(|(station, bytes)| (Address(station), bytes.into_iter().collect())),
            },
        )
    }

    #[test]
    fn a_header_that_was_cut_says_how_much_it_needs() {
        let ack = 0x80 | ACK;
        for (bytes, need) in [
            (&[0x80, 1][..], SHORT_LEN),
            (&[0x80, 1, 2], SHORT_LEN),
            (&[ack, 1, 2, 3], SHORT_LEN + 2),
            (&[ack, 1, 2, 3, 5, 0], SHORT_LEN + 2 + 5),
            (&[ack, 1, 2, 3, 1, 0, 0], SHORT_LEN + 2 + 1),
        ] {
            let short = HeaderError::Short { have: bytes.len(), need };
            // What follows a field that is there is counted from its beginning.
            match Head::parse(bytes) {
                Err(HeaderError::Short { need: told, .. }) => assert_eq!(told, need, "{bytes:?}"),
                other => panic!("{other:?} instead of {short:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn headers_survive(
            head in any_head(),
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut bytes = HeaderBytes::new();
            head.encode(&mut bytes);
            let len = bytes.len();
            bytes.extend(behind);
            prop_assert_eq!(Head::parse(&bytes), Ok((head, len)));
        }

        #[test]
        fn any_bytes_parse_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Head::parse(&bytes);
        }

        #[test]
        fn an_inverted_bit_is_seen(head in any_head(), bit: usize) {
            let mut bytes = HeaderBytes::new();
            head.encode(&mut bytes);
            let bit = bit % (bytes.len() * 8);
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            // An inverted length may make the check read other bytes, so it may hold by chance.
            prop_assert!(Head::parse(&bytes).is_err() || head.ack.is_some());
        }
    }
}
