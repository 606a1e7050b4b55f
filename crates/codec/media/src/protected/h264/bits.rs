//! A reader of the bits and numbers of H.264 (section 9.1).

/// Reads bits from the front of some bytes, the most significant first.
#[derive(Clone, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the position in bits.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// Reads `count` bits, 32 at most; `None` if fewer are left.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// Reads one bit as a flag.
    pub(super) fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)? == 1)
    }

    /// Reads an unsigned number, `ue(v)`.
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1 << zeros) - 1 + self.take(zeros)?)
    }

    /// Reads `count` numbers, signed ones too, whose values do not matter.
    pub(super) fn skip(&mut self, count: u32) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    /// Reads a signed number, `se(v)`.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let code = i64::from(self.number()?);
        Some(if code % 2 == 1 { (code + 1) / 2 } else { -(code / 2) })
    }
}
