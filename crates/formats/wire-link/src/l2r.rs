//! The layer 2 relay for characters, L2RCOP (3GPP TS 27.002): characters and the state of the
//! interface's lines in the information field of RLP.
//!
//! A status octet is SA, SB, X and an address of five bits: the number of characters to the next
//! status octet, or how the rest of the field is used. So a full frame carries 24 characters.

use arrayvec::ArrayVec;

use crate::rlp::{RLP_INFO_LEN, RlpInfo};

/// The most characters in an information field.
pub const L2R_CHARACTERS: usize = RLP_INFO_LEN - 1;

const ADDRESS: u8 = 0x1f;
const BREAK_ACKNOWLEDGE: u8 = 28;
const BREAK: u8 = 29;
const REST_FULL: u8 = 30;
const REST_EMPTY: u8 = 31;

/// The state of the lines at the sender; a set bit is a line in the state OFF (SA, SB) or flow
/// control that is active (X).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct L2rStatus {
    /// The line that V.24 calls 108 or 107.
    pub sa: bool,
    /// The line that V.24 calls 105 or 109.
    pub sb: bool,
    /// Flow control: the peer has to pause.
    pub x: bool,
}

impl L2rStatus {
    fn octet(self, address: u8) -> u8 {
        u8::from(self.sa) << 7 | u8::from(self.sb) << 6 | u8::from(self.x) << 5 | address
    }

    fn of(octet: u8) -> Self {
        Self { sa: octet & 0x80 != 0, sb: octet & 0x40 != 0, x: octet & 0x20 != 0 }
    }
}

/// The contents of an information field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct L2rContent {
    /// The last state of the lines in it.
    pub status: L2rStatus,
    /// Its characters in order.
    pub characters: ArrayVec<u8, L2R_CHARACTERS>,
    /// The sender breaks: all characters under way are void.
    pub is_break: bool,
    /// The sender acknowledges a break.
    pub is_break_acknowledge: bool,
}

/// The information field with one status and up to 24 characters; more are left out.
#[must_use]
pub fn encode_characters(status: L2rStatus, characters: &[u8]) -> RlpInfo {
    let characters = &characters[..characters.len().min(L2R_CHARACTERS)];
    let mut info = [0; RLP_INFO_LEN];
    let behind = 1 + characters.len();
    info[1..behind].copy_from_slice(characters);
    info[0] = match characters.len() {
        0 => status.octet(REST_EMPTY),
        L2R_CHARACTERS => status.octet(REST_FULL),
        len => {
            info[behind] = status.octet(REST_EMPTY);
            status.octet(len as u8)
        }
    };
    info
}

/// Reads an information field; `None` if an address is none or leads out of the field.
#[must_use]
pub fn parse_characters(info: &RlpInfo) -> Option<L2rContent> {
    let mut content = L2rContent::default();
    let mut rest = &info[..];
    while let [octet, behind @ ..] = rest {
        content.status = L2rStatus::of(*octet);
        let address = octet & ADDRESS;
        let characters = match address {
            REST_EMPTY => return Some(content),
            BREAK => {
                content.is_break = true;
                return Some(content);
            }
            BREAK_ACKNOWLEDGE => {
                content.is_break_acknowledge = true;
                return Some(content);
            }
            REST_FULL => behind,
            0 => return None,
            len => behind.get(..usize::from(len))?,
        };
        content.characters.try_extend_from_slice(characters).ok()?;
        rest = &behind[characters.len()..];
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    //= S1.14
    #[test]
    fn a_full_field_carries_24_characters() {
        let info = encode_characters(L2rStatus::default(), &[7; 24]);
        assert_eq!(info[0], 30);
        assert_eq!(info[1..], [7; 24]);
        let few = encode_characters(L2rStatus { x: true, ..L2rStatus::default() }, &[1, 2]);
        assert_eq!(few[..5], [0x22, 1, 2, 0x3f, 0]);
        assert_eq!(encode_characters(L2rStatus::default(), &[])[..2], [31, 0]);
    }

    #[test]
    fn several_stretches_and_breaks_are_read() {
        let mut info = [0; RLP_INFO_LEN];
        info[..6].copy_from_slice(&[0x82, 1, 2, 0x41, 3, 29]);
        let content = parse_characters(&info).expect("a field");
        assert_eq!(content.characters[..], [1, 2, 3]);
        assert!(content.is_break && !content.is_break_acknowledge);
        assert_eq!(content.status, L2rStatus::default());
        info[0] = 28;
        assert!(parse_characters(&info).is_some_and(|it| it.is_break_acknowledge));
        info[0] = 25;
        assert_eq!(parse_characters(&info), None);
        info[0] = 0;
        assert_eq!(parse_characters(&info), None);
    }

    proptest! {
        #[test]
        fn characters_survive(
            [sa, sb, x] in any::<[bool; 3]>(),
            characters in prop::collection::vec(any::<u8>(), 0..=L2R_CHARACTERS),
        ) {
            let status = L2rStatus { sa, sb, x };
            let content = parse_characters(&encode_characters(status, &characters));
            let content = content.expect("it was written here");
            prop_assert_eq!(content.status, status);
            prop_assert_eq!(content.characters.to_vec(), characters);
        }

        #[test]
        fn any_field_parses_without_panic(info in any::<RlpInfo>()) {
            let _ = parse_characters(&info);
        }
    }
}
