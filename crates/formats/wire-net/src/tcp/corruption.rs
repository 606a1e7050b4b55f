//! The corruption options of draft-welzl-tcp-corruption-00: what the CRC of a detection option
//! covers, and whether it holds.

use core::ops::Range;

use arrayvec::ArrayVec;

use super::kinds::CorruptionKinds;
use super::options::RawOptions;
use super::{FLAGS_AT, HEADER_LEN, TcpPacket};
use crate::addresses::Addresses;
use crate::ecn::Ecn;
use crate::field::u32_at;

/// The layout of the fields that the CRC covers; the draft leaves it open.
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

//= S4.2
/// Returns the CRC-32c over the fields that the draft lists and over the options (S4.2).
///
/// `header` is a TCP header with its options as they stand on the wire, padding included; the four
/// bytes of `crc_at`, the CRC's own place, count as zero.
///
/// # Panics
/// If `header` is shorter than a TCP header or `crc_at` reaches beyond it.
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
    let flags = covered_flags(header[FLAGS_AT]);
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

/// Returns CWR, ECE, ACK, RST, SYN and FIN as six low bits, in this order; AE is younger than the
/// draft.
const fn covered_flags(flags: u8) -> u8 {
    (flags & 0xc0) >> 2 | (flags & 0x10) >> 1 | flags & 0x07
}

/// Finds the CRC of a CDO in a header.
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

/// Checks the CDO over the fields that it covers; `None` if the header has none.
///
/// A router may set *congestion experienced* after the CRC was computed. Where that is what
/// arrived, the CRC may also hold for either of the code points that can become it.
#[must_use]
pub fn holds(
    kinds: &CorruptionKinds,
    packing: Packing,
    ecn: Ecn,
    addresses: &Addresses,
    packet: &TcpPacket<'_>,
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
