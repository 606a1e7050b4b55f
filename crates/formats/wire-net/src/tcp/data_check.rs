//! The data check option (this project's own): a CRC-32C over the data of a segment.
//!
//! The checksum of TCP misses two inverted bits in one column of 16 that differ in value, a
//! thirty-second part of all pairs. Both ends name the option in their SYNs; from then on each
//! segment with data carries the CRC, least significant byte first as in RFC 3309. It covers the
//! sequence number, so that data cannot move in the stream, and the data; the fields of the header
//! have the corruption detection option. It uses the experimental kind (RFC 4727) with an
//! identifier (RFC 6994).

use core::ops::Range;

use super::kinds::DataCheck;
use super::options::RawOptions;
use super::{HEADER_LEN, SEQ_AT};

/// Returns the CRC of `data` in a segment with this header.
fn crc<'a>(header: &[u8], data: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let start = crc32c::crc32c(&header[SEQ_AT..SEQ_AT + 4]);
    data.into_iter().fold(start, crc32c::crc32c_append)
}

/// Writes the CRC of `data` into the option of a finished header; `false` if it has none.
pub fn seal(header: &mut [u8], data: &[u8]) -> bool {
    let Some(at) = find(header) else {
        return false;
    };
    let crc = crc(header, [data]);
    header[at].copy_from_slice(&crc.to_le_bytes());
    true
}

/// Checks the option of a segment with this header; without the option it does not hold.
#[must_use]
pub fn holds<'a>(header: &[u8], data: impl IntoIterator<Item = &'a [u8]>) -> bool {
    find(header).is_some_and(|at| header[at] == crc(header, data).to_le_bytes())
}

/// Finds the CRC in a header.
fn find(header: &[u8]) -> Option<Range<usize>> {
    let mut options = RawOptions::new(header.get(HEADER_LEN..)?);
    while let Ok(Some((at, raw))) = options.next() {
        if matches!(DataCheck::read(raw), Some(DataCheck::Crc(_))) {
            let end = HEADER_LEN + at + raw.len();
            return Some(end - 4..end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{CorruptionKinds, TcpOptions, TcpRepr};

    fn header(data_check: Option<DataCheck>) -> Vec<u8> {
        let options = TcpOptions { data_check, ..TcpOptions::default() };
        let repr = TcpRepr { options, ..TcpRepr::default() };
        repr.emit(&CorruptionKinds::default()).unwrap().to_vec()
    }

    #[test]
    fn both_forms_are_read_as_they_were_written() {
        for check in [DataCheck::Wanted, DataCheck::Crc(0x0102_0304)] {
            let bytes = header(Some(check));
            let area = &bytes[HEADER_LEN..];
            let read = TcpOptions::parse(area, &CorruptionKinds::default()).unwrap();
            assert_eq!(read.data_check, Some(check));
        }
        let crc = header(Some(DataCheck::Crc(0x0102_0304)));
        assert_eq!(crc[HEADER_LEN..], [253, 8, 0xdc, 0x32, 4, 3, 2, 1]);
    }

    #[test]
    fn the_crc_covers_the_sequence_number_and_the_data() {
        let data = *b"123456789";
        let mut sealed = header(Some(DataCheck::Crc(0)));
        assert!(seal(&mut sealed, &data));
        assert!(holds(&sealed, [&data[..4], &data[4..]]));
        // Behind four zero bytes; the data alone would give e3069283.
        let expected = crc32c::crc32c(b"\0\0\0\x00123456789");
        assert_eq!(sealed[HEADER_LEN + 4..HEADER_LEN + 8], expected.to_le_bytes());
        for bit in 0..data.len() * 8 {
            let mut damaged = data;
            damaged[bit / 8] ^= 0x80 >> (bit % 8);
            assert!(!holds(&sealed, [&damaged[..]]), "{bit}");
        }
        sealed[SEQ_AT] ^= 1;
        assert!(!holds(&sealed, [&data[..]]));
        assert!(!holds(&header(None), [&data[..]]));
        assert!(!seal(&mut header(Some(DataCheck::Wanted)), &data));
    }
}
