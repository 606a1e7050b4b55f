//! The corruption options of draft-welzl-tcp-corruption-00: detection (CDO) and notification (CNO).
//!
//! The draft assigns the kinds 27 and 28 itself; today they are Quick-Start and the user timeout,
//! whose lengths differ, so an option of another length is left among the unknown ones. Where the
//! kinds are in the way, the experimental kind of RFC 4727 with an identifier (RFC 6994) serves.

use core::ops::Range;

use arrayvec::ArrayVec;
use windfall_base::seq::Seq32;

use super::options::{Notification, RawOptions};
use super::{FLAGS_AT, Flags, HEADER_LEN, Packet};
use crate::addresses::Addresses;
use crate::ecn::Ecn;
use crate::field::{u16_at, u32_at};

/// How the two options are marked on the wire.
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
    /// The draft's own: 27 and 28.
    fn default() -> Self {
        Self::Assigned { detection: 27, notification: 28 }
    }
}

impl CorruptionKinds {
    /// The experimental kind 253 with identifiers of this project's choice.
    pub const EXPERIMENTAL: Self =
        Self::Experimental { kind: 253, detection: 0xcd0c, notification: 0xc40c };

    /// Bytes that a CDO takes in a segment, padding included (S4.6).
    #[must_use]
    pub const fn detection_room(&self) -> usize {
        // Six bytes and two of padding; eight with an identifier.
        8
    }

    /// Bytes that a CNO takes in a segment, padding included.
    #[must_use]
    pub const fn notification_room(&self, extended: bool) -> usize {
        if extended { 8 } else { 4 }
    }

    /// What follows the marks of an option that is a CDO.
    fn detection_body<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        match *self {
            Self::Assigned { detection, .. } => body(raw, detection, None),
            Self::Experimental { kind, detection, .. } => body(raw, kind, Some(detection)),
        }
    }

    /// The CRC of a whole option, if it is a CDO.
    //= S4.1
    pub(super) fn read_detection(&self, raw: &[u8]) -> Option<u32> {
        let crc: [u8; 4] = self.detection_body(raw)?.try_into().ok()?;
        // RFC 3309 puts the CRC on the wire with its least significant byte first.
        Some(u32::from_le_bytes(crc))
    }

    /// The notification of a whole option, if it is a CNO.
    //= S4.3
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

/// What follows kind, length and identifier, if kind and identifier are these.
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

/// How the fields that the CRC covers are laid side by side; the draft leaves it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// As a string of bits: the two of ECN first, the six flags last; 21 bytes with IPv4.
    ///
    /// The default: the widths that the draft states add up to whole bytes, so nothing needs to be
    /// invented.
    #[default]
    Packed,
    /// ECN right-aligned in a byte of its own, as the figure draws it, the flags left-aligned in
    /// the last; 22 bytes with IPv4.
    Aligned,
}

/// The CRC-32c over the fields that the draft lists and over the options (S4.2).
///
/// `header` is a TCP header with its options as they stand on the wire, padding included; the four
/// bytes of `crc_at`, the CRC's own place, count as zero.
///
/// # Panics
/// If `header` is shorter than a TCP header or `crc_at` reaches beyond it.
//= S4.2
#[must_use]
pub fn crc(
    packing: Packing,
    ecn: Ecn,
    addresses: &Addresses,
    header: &[u8],
    crc_at: Range<usize>,
) -> u32 {
    let mut fields = ArrayVec::<u8, 64>::new();
    match addresses {
        Addresses::V4 { src, dst } => {
            fields.extend(src.octets());
            fields.extend(dst.octets());
        }
        Addresses::V6 { src, dst } => {
            fields.extend(src.octets());
            fields.extend(dst.octets());
        }
    }
    fields.extend(header[..12].iter().copied());
    let flags = covered_flags(Flags(header[FLAGS_AT]));
    let mut covered = ArrayVec::<u8, 64>::new();
    match packing {
        Packing::Packed => {
            let mut carry = ecn.bits() << 6;
            for byte in fields {
                covered.push(carry | byte >> 2);
                carry = byte << 6;
            }
            covered.push(carry | flags);
        }
        Packing::Aligned => {
            covered.push(ecn.bits());
            covered.extend(fields);
            covered.push(flags << 2);
        }
    }
    let crc = crc32c::crc32c(&covered);
    let crc = crc32c::crc32c_append(crc, &header[HEADER_LEN..crc_at.start]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc32c::crc32c_append(crc, &header[crc_at.end..])
}

/// CWR, ECE, ACK, RST, SYN and FIN as six low bits, in this order.
const fn covered_flags(flags: Flags) -> u8 {
    (flags.0 & 0xc0) >> 2 | (flags.0 & 0x10) >> 1 | flags.0 & 0x07
}

/// Where the CRC of a CDO stands in a header, if there is one.
#[must_use]
pub fn find_crc(header: &[u8], kinds: &CorruptionKinds) -> Option<Range<usize>> {
    let mut options = RawOptions::new(header.get(HEADER_LEN..)?);
    while let Ok(Some((at, raw))) = options.next() {
        if kinds.detection_body(raw).is_some_and(|body| body.len() == 4) {
            let end = HEADER_LEN + at + raw.len();
            return Some(end - 4..end);
        }
    }
    None
}

/// Writes the CRC into the CDO of a finished header; `false` if it has none.
pub fn seal(
    kinds: &CorruptionKinds,
    packing: Packing,
    ecn: Ecn,
    addresses: &Addresses,
    header: &mut [u8],
) -> bool {
    let Some(at) = find_crc(header, kinds) else {
        return false;
    };
    let crc = crc(packing, ecn, addresses, header, at.clone());
    header[at].copy_from_slice(&crc.to_le_bytes());
    true
}

/// The verdict of a CDO over the fields that it covers; `None` if the header has none.
///
/// A router may set *congestion experienced* after the CRC was computed. Where that is what
/// arrived, the CRC may also hold for either of the code points that can become it.
#[must_use]
pub fn holds(
    kinds: &CorruptionKinds,
    packing: Packing,
    ecn: Ecn,
    addresses: &Addresses,
    packet: &Packet<'_>,
) -> Option<bool> {
    let header = packet.header();
    let at = find_crc(header, kinds)?;
    let expected = crc_bytes(header, &at);
    let candidates: &[Ecn] = match ecn {
        Ecn::Congested => &[Ecn::Congested, Ecn::Capable0, Ecn::Capable1],
        _ => &[ecn],
    };
    let matches = |ecn: &Ecn| crc(packing, *ecn, addresses, header, at.clone()) == expected;
    Some(candidates.iter().any(matches))
}

fn crc_bytes(header: &[u8], at: &Range<usize>) -> u32 {
    u32_at(header, at.start).swap_bytes()
}

#[cfg(test)]
mod tests;
