//! Data frames with parity, and acknowledgements that report: an addition of ours to 802.11.
//!
//! A coded data frame is one of 802.11 whose body ends in
//!
//! | bytes | field |
//! |---|---|
//! | 4 | CRC-32 of the MAC header and the body before it; not where there is no parity |
//! | parity of each block | Reed–Solomon parity, symbol by symbol of all blocks in turn |
//! | 3 | the number of the code, three times |
//!
//! The blocks take turns over the MAC header, the body and the CRC-32, so that a burst hits all
//! alike. An acknowledgement has two bytes more before its frame check: a [`Report`].

/// Bytes of the CRC-32 under the code.
const CHECK_LEN: usize = 4;
/// Bytes of the number of the code behind the parity.
pub const MARK_LEN: usize = 3;
/// Bytes of a report in an acknowledgement.
pub const REPORT_LEN: usize = 2;
/// Bytes of a block at most.
const MAX_BLOCK: usize = 255;
/// Parity symbols of each code.
const PARITY: [u8; 5] = [0, 8, 16, 32, 64];

/// The code of a data frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u8);

impl Code {
    /// The code without parity.
    pub const NONE: Self = Self(0);
    /// All codes, from the weakest.
    pub const ALL: [Self; 5] = [Self(0), Self(1), Self(2), Self(3), Self(4)];

    /// Returns its place in [`ALL`](Self::ALL).
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the parity symbols of each block of up to 255.
    #[must_use]
    pub const fn parity(self) -> usize {
        PARITY[self.0 as usize] as usize
    }

    /// Returns the code with `parity` parity symbols; `None` if there is none.
    #[must_use]
    pub fn of_parity(parity: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.parity() == parity)
    }

    /// Returns the weakest code that corrects `symbols` symbols of each block; `None` if none does.
    #[must_use]
    pub fn correcting(symbols: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.parity() / 2 >= symbols)
    }

    /// Returns the bytes that it adds to `len` bytes of MAC header and body.
    #[must_use]
    pub const fn overhead(self, len: usize) -> usize {
        let parity = self.parity();
        if parity == 0 {
            return MARK_LEN;
        }
        let blocks = (len + CHECK_LEN).div_ceil(MAX_BLOCK - parity);
        CHECK_LEN + blocks * parity + MARK_LEN
    }

    /// Returns the blocks of a frame with `len` bytes under this code, parity included and the
    /// marks not; `None` if no frame has this length.
    #[must_use]
    pub const fn blocks(self, len: usize) -> Option<usize> {
        let blocks = len.div_ceil(MAX_BLOCK);
        if len <= blocks * self.parity() + CHECK_LEN { None } else { Some(blocks) }
    }

    /// Returns the number that most of the marks at the end of a frame agree on.
    #[must_use]
    pub fn marked(bytes: &[u8]) -> Option<Self> {
        let [a, b, c] = *bytes.last_chunk::<MARK_LEN>()?;
        let number = a & b | a & c | b & c;
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns the marks of a frame.
    #[must_use]
    pub const fn marks(self) -> [u8; MARK_LEN] {
        [self.0; MARK_LEN]
    }
}

/// The report of a receiver on a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The symbols that were corrected in the worst block; `None` if the frame stayed damaged, so
    /// that this is no acknowledgement unless it is `combined`.
    pub corrected: Option<u8>,
    /// The frame stayed damaged by itself, and was made whole with earlier copies of it: this is
    /// an acknowledgement.
    pub combined: bool,
    /// The strength of the signal in dBm.
    pub signal: i8,
}

impl Report {
    /// The number in place of the symbols of a frame that stayed damaged.
    const FAILED: u8 = 0xff;
    /// The number in place of the symbols of a frame that was made of several copies.
    const COMBINED: u8 = 0xfe;

    /// The two bytes of the report.
    #[must_use]
    pub const fn encode(self) -> [u8; REPORT_LEN] {
        let corrected = match self.corrected {
            Some(corrected) => corrected,
            None if self.combined => Self::COMBINED,
            None => Self::FAILED,
        };
        [corrected, self.signal as u8]
    }

    /// Reads the report of two bytes. Any bytes are one.
    #[must_use]
    pub fn parse([corrected, signal]: [u8; REPORT_LEN]) -> Self {
        let combined = corrected == Self::COMBINED;
        let corrected = Some(corrected).filter(|it| *it < Self::COMBINED);
        Self { corrected, combined, signal: signal as i8 }
    }

    /// Returns `true` if the receiver has the frame.
    #[must_use]
    pub const fn is_acknowledgement(self) -> bool {
        self.corrected.is_some() || self.combined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_lead_to_the_blocks_and_back() {
        for code in Code::ALL {
            for len in 32..2400 {
                let all = len + code.overhead(len) - MARK_LEN;
                let blocks = code.blocks(all).expect("a length of frames");
                if code != Code::NONE {
                    let data = len + CHECK_LEN;
                    assert_eq!(blocks, data.div_ceil(MAX_BLOCK - code.parity()), "{len}");
                    assert_eq!(all - blocks * code.parity(), data, "{len}");
                }
            }
            assert_eq!(code.blocks(0), None);
        }
        assert_eq!(Code::of_parity(32).map(Code::index), Some(3));
        assert_eq!(Code::of_parity(7), None);
    }

    #[test]
    fn marks_survive_the_loss_of_one() {
        let code = Code::ALL[3];
        for place in 0..MARK_LEN {
            let mut marks = code.marks();
            marks[place] ^= 0xff;
            assert_eq!(Code::marked(&marks), Some(code));
        }
        assert_eq!(Code::marked(&[9; 3]), None);
        assert_eq!(Code::marked(&[0, 0]), None);
    }

    #[test]
    fn the_weakest_code_that_suffices_is_found() {
        let found = [0, 1, 4, 5, 16, 32].map(|symbols| Code::correcting(symbols).unwrap().index());
        assert_eq!(found, [0, 1, 1, 2, 3, 4]);
        assert_eq!(Code::correcting(33), None);
    }

    #[test]
    fn reports_read_back_and_any_two_bytes_are_one() {
        for (corrected, signal) in [(Some(0), -95), (Some(32), 20), (None, -128)] {
            for combined in [false, corrected.is_none()] {
                let report = Report { corrected, combined, signal };
                assert_eq!(Report::parse(report.encode()), report);
                assert_eq!(report.is_acknowledgement(), corrected.is_some() || combined);
            }
        }
        for byte in 0..=255 {
            assert_eq!(Report::parse([byte, byte]).encode(), [byte, byte]);
        }
    }
}
