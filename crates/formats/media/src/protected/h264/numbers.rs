//! A reader of the numbers of H.264 (section 9.1).

use windfall_base::Bits;

/// Reads fields of bits and exponential Golomb numbers from the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a>(Bits<'a>);

impl<'a> Numbers<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(Bits::new(bytes))
    }

    /// Returns the position in bits.
    pub(super) const fn position(&self) -> usize {
        self.0.position()
    }

    /// Reads `count` bits, 32 at most; `None` if fewer are left.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        self.0.take(count)
    }

    /// Reads one bit as a flag.
    pub(super) fn flag(&mut self) -> Option<bool> {
        self.0.flag()
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
