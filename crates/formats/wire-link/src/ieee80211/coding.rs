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
//!
//! Where its receiver holds a damaged copy and asks for it, an [`Increment`] follows in place of
//! another copy: behind the same MAC header further parity, and its number three times.

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
/// Symbols of further parity of each block up to the end of each increment.
pub const LEVELS: [usize; 6] = [0, 4, 8, 16, 32, 64];

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

/// Further parity of a frame of which the receiver holds a damaged copy.
///
/// A second code, over all that such a frame has before its marks (its check too), is dealt out to
/// blocks as the first is; the retry flag and the duration count as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Increment {
    /// The code of the copy.
    pub code: Code,
    /// The place in [`LEVELS`] from which on the symbols are sent.
    pub first: u8,
    /// The place up to which they are: a later one.
    pub last: u8,
}

impl Increment {
    /// The bit that tells its number from that of a code.
    const MARK: u8 = 0x80;

    /// Returns the marks of a frame that carries it.
    #[must_use]
    pub const fn marks(self) -> [u8; MARK_LEN] {
        // Of each last place there are as many first ones.
        let pair = self.last * (self.last - 1) / 2 + self.first;
        [Self::MARK | self.code.0 << 4 | pair; MARK_LEN]
    }

    /// Returns the increment that most of the marks at the end of a frame agree on.
    #[must_use]
    pub fn marked(bytes: &[u8]) -> Option<Self> {
        let [a, b, c] = *bytes.last_chunk::<MARK_LEN>()?;
        let number = a & b | a & c | b & c;
        let code = *Code::ALL.get(usize::from((number ^ Self::MARK) >> 4))?;
        let all = (1..LEVELS.len() as u8)
            .flat_map(|last| (0..last).map(move |first| Self { code, first, last }));
        all.into_iter().find(|it| it.marks() == [number; MARK_LEN])
    }

    /// Returns the symbols of each block that it carries, of all further ones.
    #[must_use]
    pub const fn symbols(self) -> core::ops::Range<usize> {
        LEVELS[self.first as usize]..LEVELS[self.last as usize]
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
    /// The receiver holds the frame damaged, and further parity up to this place in [`LEVELS`]
    /// should make it whole.
    pub wanted: Option<u8>,
    /// The strength of the signal in dBm; `None` if the receiver does not know it.
    pub signal: Option<i8>,
}

impl Report {
    /// The number in place of the symbols of a frame that stayed damaged.
    const FAILED: u8 = 0xff;
    /// The number in place of the symbols of a frame that was made of several copies.
    const COMBINED: u8 = 0xfe;
    /// The number above which those count that stand for a frame that is held: the place up to
    /// which it wants further parity.
    const HELD: u8 = 0xf8;
    /// The number in place of a signal that is not known: no receiver hears one so weak.
    const UNKNOWN_SIGNAL: i8 = i8::MIN;

    /// The two bytes of the report.
    #[must_use]
    pub const fn encode(self) -> [u8; REPORT_LEN] {
        let corrected = match self.corrected {
            Some(corrected) => corrected,
            None if self.combined => Self::COMBINED,
            None => match self.wanted {
                Some(place) => Self::HELD + place,
                None => Self::FAILED,
            },
        };
        let signal = match self.signal {
            Some(signal) => signal,
            None => Self::UNKNOWN_SIGNAL,
        };
        [corrected, signal as u8]
    }

    /// Reads the report of two bytes. Any bytes are one.
    #[must_use]
    pub fn parse([corrected, signal]: [u8; REPORT_LEN]) -> Self {
        let combined = corrected == Self::COMBINED;
        let wanted = corrected.checked_sub(Self::HELD);
        let wanted = wanted.filter(|it| (1..LEVELS.len()).contains(&usize::from(*it)));
        let corrected = Some(corrected).filter(|it| *it <= Self::HELD);
        let signal = Some(signal as i8).filter(|it| *it != Self::UNKNOWN_SIGNAL);
        Self { corrected, combined, wanted, signal }
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
        for (corrected, signal) in [(Some(0), Some(-95)), (Some(32), Some(20)), (None, None)] {
            for combined in [false, corrected.is_none()] {
                let report = Report { corrected, combined, wanted: None, signal };
                assert_eq!(Report::parse(report.encode()), report);
                assert_eq!(report.is_acknowledgement(), corrected.is_some() || combined);
            }
        }
        for byte in 0..=255 {
            assert_eq!(Report::parse([byte, byte]).encode(), [byte, byte]);
        }
        for place in 1..LEVELS.len() as u8 {
            let report =
                Report { corrected: None, combined: false, wanted: Some(place), signal: Some(-70) };
            assert_eq!(Report::parse(report.encode()), report);
            assert!(!report.is_acknowledgement());
        }
    }

    #[test]
    fn increments_read_back_from_two_marks_of_three_and_are_no_codes() {
        let mut all = std::collections::BTreeSet::new();
        for code in Code::ALL {
            for last in 1..LEVELS.len() as u8 {
                for first in 0..last {
                    let increment = Increment { code, first, last };
                    let mut marks = increment.marks();
                    marks[1] ^= 0x5a;
                    assert_eq!(Increment::marked(&marks), Some(increment));
                    assert_eq!(Code::marked(&increment.marks()), None);
                    all.insert(increment.marks());
                }
            }
            assert_eq!(Increment::marked(&code.marks()), None);
        }
        assert_eq!(all.len(), 5 * 15);
        assert_eq!(Increment::marked(&[0xff; 3]), None);
        assert_eq!(Increment::marked(&[0x8f; 3]), None);
    }
}
