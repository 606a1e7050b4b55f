//! A reader of bits, most significant first.

/// Reads bits from the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the position in bits.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// Reads `count` bits, 32 at most; `None` if fewer are left.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// Reads one bit as a flag.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)? == 1)
    }
}
