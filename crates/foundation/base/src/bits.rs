//! A reader of bits, most significant first.

/// Reads bits from the front of some bytes, in the order of transmission.
///
/// ```
/// use windfall_base::Bits;
///
/// let mut bits = Bits::new(&[0b1010_0000, 0xff]);
/// assert_eq!(bits.flag(), Some(true));
/// assert_eq!(bits.take(4), Some(0b0100));
/// assert_eq!(bits.take(12), None);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    /// Begins at the first bit of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the position in bits.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Reads `count` bits, 32 at most; `None` if fewer are left, which are read then.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// Reads one bit as a flag; `None` at the end.
    pub fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)? == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_what_it_reads_and_ends_with_the_bytes() {
        let mut bits = Bits::new(&[0x12, 0x34, 0x56, 0x78, 0x9a]);
        assert_eq!(bits.take(0), Some(0));
        assert_eq!(bits.take(3), Some(0));
        assert_eq!(bits.take(32), Some(0x91a2_b3c4));
        assert_eq!((bits.position(), bits.flag()), (35, Some(true)));
        assert_eq!(bits.take(4), Some(0b1010));
        assert_eq!((bits.flag(), bits.position()), (None, 40));
    }
}
