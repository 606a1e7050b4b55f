//! The option kinds that mark the corruption options of draft-welzl-tcp-corruption-00.
//!
//! The draft assigns the kinds 27 and 28 itself; today they are Quick-Start and the user timeout,
//! whose lengths differ, so an option of another length is left among the unknown ones. Where the
//! kinds are in the way, the experimental kind of RFC 4727 with an identifier (RFC 6994) serves.

use arrayvec::ArrayVec;
use windfall_base::seq::Seq32;

use crate::field::{u16_at, u32_at};

/// A corruption notification: which segment arrived damaged (S4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// The one that the acknowledgment number names; on a SYN, the wish to use the other form.
    Plain,
    /// The one with this sequence number (this project's extension).
    Extended(Seq32),
}

/// The option kinds that mark the two corruption options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorruptionKinds {
    /// A kind of its own for each.
    Assigned {
        /// The kind of CDO.
        detection: u8,
        /// The kind of CNO.
        notification: u8,
    },
    /// One experimental kind with a 16-bit identifier after the length (RFC 6994).
    Experimental {
        /// The kind, 253 or 254.
        kind: u8,
        /// The identifier of CDO.
        detection: u16,
        /// The identifier of CNO.
        notification: u16,
    },
}

impl Default for CorruptionKinds {
    /// Returns the draft's own: 27 and 28.
    fn default() -> Self {
        Self::Assigned { detection: 27, notification: 28 }
    }
}

impl CorruptionKinds {
    /// The experimental kind 253 with identifiers of this project's choice.
    pub const EXPERIMENTAL: Self =
        Self::Experimental { kind: 253, detection: 0xcd0c, notification: 0xc40c };

    /// Returns the number of bytes that a CDO takes in a segment, padding included (S4.6).
    #[must_use]
    pub const fn detection_room(&self) -> usize {
        // Six bytes and two of padding; eight with an identifier.
        8
    }

    /// Returns the number of bytes that a CNO takes in a segment, padding included.
    #[must_use]
    pub const fn notification_room(&self, extended: bool) -> usize {
        if extended { 8 } else { 4 }
    }

    /// Returns the body of an option that is a CDO.
    pub(super) fn detection_body<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        match *self {
            Self::Assigned { detection, .. } => body(raw, detection, None),
            Self::Experimental { kind, detection, .. } => body(raw, kind, Some(detection)),
        }
    }

    //= S4.1
    /// Returns the CRC of a whole option, if it is a CDO.
    pub(super) fn read_detection(&self, raw: &[u8]) -> Option<u32> {
        let crc: [u8; 4] = self.detection_body(raw)?.try_into().ok()?;
        // RFC 3309 puts the CRC on the wire with its least significant byte first.
        Some(u32::from_le_bytes(crc))
    }

    //= S4.3
    /// Returns the notification of a whole option, if it is a CNO.
    pub(super) fn read_notification(&self, raw: &[u8]) -> Option<Notification> {
        let body = match *self {
            Self::Assigned { notification, .. } => body(raw, notification, None),
            Self::Experimental { kind, notification, .. } => body(raw, kind, Some(notification)),
        }?;
        match body.len() {
            0 => Some(Notification::Plain),
            4 => Some(Notification::Extended(Seq32(u32_at(body, 0)))),
            _ => None,
        }
    }

    pub(super) fn write_detection(&self, crc: u32) -> ArrayVec<u8, 8> {
        match *self {
            Self::Assigned { detection, .. } => option(detection, None, &crc.to_le_bytes()),
            Self::Experimental { kind, detection, .. } => {
                option(kind, Some(detection), &crc.to_le_bytes())
            }
        }
    }

    pub(super) fn write_notification(&self, notification: Notification) -> ArrayVec<u8, 8> {
        let seq = match notification {
            Notification::Plain => ArrayVec::<u8, 4>::new(),
            Notification::Extended(seq) => seq.0.to_be_bytes().into(),
        };
        match *self {
            Self::Assigned { notification, .. } => option(notification, None, &seq),
            Self::Experimental { kind, notification, .. } => option(kind, Some(notification), &seq),
        }
    }
}

/// The experimental kind (RFC 4727), and the identifier of a data check (RFC 6994).
const EXPERIMENTAL: u8 = 253;
const DATA_CHECK: u16 = 0xdc32;

/// A data check option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataCheck {
    /// On a SYN: the sender wants to use the option.
    Wanted,
    /// The CRC-32C of this segment.
    Crc(u32),
}

impl DataCheck {
    /// The number of bytes that the CRC takes in a segment with data.
    pub const ROOM: usize = 8;

    /// Reads a whole option, if it is this one.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        match *body(raw, EXPERIMENTAL, Some(DATA_CHECK))? {
            [] => Some(Self::Wanted),
            [a, b, c, d] => Some(Self::Crc(u32::from_le_bytes([a, b, c, d]))),
            _ => None,
        }
    }

    pub(super) fn write(self) -> ArrayVec<u8, 8> {
        let crc = match self {
            Self::Wanted => ArrayVec::<u8, 4>::new(),
            Self::Crc(crc) => crc.to_le_bytes().into(),
        };
        option(EXPERIMENTAL, Some(DATA_CHECK), &crc)
    }
}

/// Returns what follows kind, length and identifier, if kind and identifier are these.
fn body(raw: &[u8], kind: u8, id: Option<u16>) -> Option<&[u8]> {
    if raw.first() != Some(&kind) {
        return None;
    }
    match id {
        None => raw.get(2..),
        Some(id) => (raw.len() >= 4 && u16_at(raw, 2) == id).then(|| &raw[4..]),
    }
}

fn option(kind: u8, id: Option<u16>, body: &[u8]) -> ArrayVec<u8, 8> {
    let id = id.map(u16::to_be_bytes);
    let id = id.as_ref().map_or(&[][..], |id| &id[..]);
    let head = [kind, (2 + id.len() + body.len()) as u8];
    head.iter().chain(id).chain(body).copied().collect()
}
