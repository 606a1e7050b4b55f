//! Checks over bits: CRC-32 for frames (IEEE 802.3), CRC-16 for headers (IBM-3740).

use crc32fast::Hasher;

/// Bytes of a frame check sequence.
pub const FCS_LEN: usize = 4;

/// Bytes of a header check.
pub const HEADER_CHECK_LEN: usize = 2;

/// The frame check sequence over `slices` in their order, as it is sent (IEEE 802.3, 3.2.9).
#[must_use]
pub fn frame_check(slices: &[&[u8]]) -> [u8; FCS_LEN] {
    let mut hasher = Hasher::new();
    for slice in slices {
        if !slice.is_empty() {
            hasher.update(slice);
        }
    }
    hasher.finalize().to_le_bytes()
}

/// The check of a coded block: the high half of its frame check, which is much faster than a CRC of
/// 16 bits and misses as little.
#[must_use]
pub fn block_check(bytes: &[u8]) -> [u8; HEADER_CHECK_LEN] {
    let [_, _, high @ ..] = frame_check(&[bytes]);
    high
}

/// The check of a header: CRC-16 with polynomial 0x1021, start all ones, high bit first.
#[must_use]
pub fn header_check(bytes: &[u8]) -> [u8; HEADER_CHECK_LEN] {
    let (steps, rest) = bytes.as_chunks::<STEP>();
    // Each byte goes by a table of its own, so that no look-up waits for the one before.
    let crc = steps.iter().fold(0xffff_u16, |crc, step| {
        let [high, low] = crc.to_be_bytes();
        let mut step = *step;
        step[0] ^= high;
        step[1] ^= low;
        CRC16.iter().zip(step).fold(0, |crc, (table, byte)| crc ^ table[usize::from(byte)])
    });
    let crc = rest
        .iter()
        .fold(crc, |crc, byte| (crc << 8) ^ CRC16[STEP - 1][usize::from((crc >> 8) as u8 ^ byte)]);
    crc.to_be_bytes()
}

/// Bytes of a header that are checked in one step.
const STEP: usize = 8;

/// The share of each byte in the check, by its place in a step; the last table is the usual one.
static CRC16: [[u16; 256]; STEP] = crc16_tables();

const fn crc16_tables() -> [[u16; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut place = STEP;
        while place > 0 {
            place -= 1;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
                bit += 1;
            }
            tables[place][index] = crc;
        }
        index += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_give_the_published_check_values() {
        // The catalogue's check values for CRC-32/ISO-HDLC and CRC-16/IBM-3740.
        assert_eq!(frame_check(&[b"123456789"]), 0xcbf4_3926_u32.to_le_bytes());
        assert_eq!(header_check(b"123456789"), 0x29b1_u16.to_be_bytes());
    }

    #[test]
    fn the_header_check_is_the_remainder_of_its_polynomial_at_every_length() {
        let bytes: Vec<u8> = (0..60).map(|i| (i * 89 + 7) as u8).collect();
        let mut crc = 0xffff_u16;
        for (len, byte) in bytes.iter().enumerate() {
            assert_eq!(header_check(&bytes[..len]), crc.to_be_bytes(), "{len} bytes");
            for bit in (0..8).rev() {
                let lead = crc >> 15 ^ u16::from(byte >> bit & 1);
                crc = (crc << 1) ^ (lead * 0x1021);
            }
        }
    }

    #[test]
    fn the_frame_check_does_not_depend_on_the_slices() {
        assert_eq!(frame_check(&[b"1234", b"", b"56789"]), frame_check(&[b"123456789"]));
    }
}
