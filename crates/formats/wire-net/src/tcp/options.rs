//! TCP options, read strictly or leniently, unknown ones kept.

use arrayvec::ArrayVec;
use windfall_base::seq::Seq32;

use super::kinds::{CorruptionKinds, DataCheck, Notification};
use crate::error::WireError;
use crate::field::{u16_at, u32_at};

/// The longest option area, in bytes.
pub const MAX_OPTIONS: usize = 40;
/// The most SACK blocks that fit (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const FAST_OPEN: u8 = 34;

/// A cookie of TCP Fast Open; empty where one is asked for (RFC 7413, section 4.1.1).
pub type FastOpenCookie = ArrayVec<u8, 16>;

/// The option area as it is written.
pub type OptionBytes = ArrayVec<u8, MAX_OPTIONS>;

/// One fault of the option area: names the place and the value found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The area ends where the length of the option belongs.
    #[error("TCP option {kind}: no length at byte {at} of the options")]
    NoLength {
        /// The kind of the option.
        kind: u8,
        /// The offset of the option, in bytes from the start of the options.
        at: usize,
    },
    /// The length is below two or reaches beyond the option area.
    #[error("TCP option {kind}: length {len} at byte {at}, where {most} bytes are left")]
    Length {
        /// The kind of the option.
        kind: u8,
        /// The offset of the option.
        at: usize,
        /// The length found.
        len: u8,
        /// The number of bytes left.
        most: usize,
    },
    /// A known option has a length that it cannot have.
    #[error("TCP option {kind}: length {len} at byte {at} is not a length of this option")]
    WrongLength {
        /// The kind of the option.
        kind: u8,
        /// The offset of the option.
        at: usize,
        /// The length found.
        len: u8,
    },
}

/// The two values of the timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub value: u32,
    /// The clock value that the sender received last; with ACK only.
    pub echo: u32,
}

/// One block of a SACK option: bytes that arrived out of order (RFC 2018, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// The first sequence number of the block.
    pub left: Seq32,
    /// The sequence number after the last of the block.
    pub right: Seq32,
}

/// The options of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// The largest segment that the sender takes, in bytes of data (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    //= S2.4
    /// The shift of the sender's windows (RFC 7323, section 2); as received, perhaps above 14.
    pub window_scale: Option<u8>,
    /// Set if the sender understands SACK (RFC 2018, section 2).
    pub sack_permitted: bool,
    //= S2.2
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    //= S2.5
    /// The SACK blocks, in the order of the segment.
    pub sack: ArrayVec<SackBlock, MAX_SACK_BLOCKS>,
    //= S4.1
    /// The CRC-32c of a corruption detection option.
    pub detection: Option<u32>,
    //= S4.3
    /// A corruption notification option.
    pub notification: Option<Notification>,
    /// A data check option.
    pub data_check: Option<DataCheck>,
    //= S2.17
    /// A cookie of TCP Fast Open, or the wish for one.
    pub fast_open: Option<FastOpenCookie>,
    /// Every other option, whole, in the order of the segment.
    pub unknown: OptionBytes,
}

impl TcpOptions {
    /// Reads an option area; a repeated option counts once, as it stood first.
    ///
    /// # Errors
    /// The first malformed option.
    pub fn parse(area: &[u8], kinds: &CorruptionKinds) -> Result<Self, OptionError> {
        let mut options = Self::default();
        options.read(area, kinds).map(|()| options)
    }

    /// Reads an option area as far as it makes sense.
    #[must_use]
    pub fn parse_lenient(area: &[u8], kinds: &CorruptionKinds) -> Self {
        let mut options = Self::default();
        // What stands before the malformed option is kept; that is what lenient means.
        let _ = options.read(area, kinds);
        options
    }

    #[inline]
    fn read(&mut self, area: &[u8], kinds: &CorruptionKinds) -> Result<(), OptionError> {
        // The layout that nearly every segment has: RFC 7323, appendix A.
        if area.len() == 12 && area[..4] == [NOP, NOP, TIMESTAMPS, 10] {
            self.timestamps = Some(Timestamps { value: u32_at(area, 4), echo: u32_at(area, 8) });
            return Ok(());
        }
        let mut options = RawOptions::new(area);
        while let Some((at, raw)) = options.next()? {
            self.take(at, raw, kinds)?;
        }
        Ok(())
    }

    fn take(&mut self, at: usize, raw: &[u8], kinds: &CorruptionKinds) -> Result<(), OptionError> {
        let kind = raw[0];
        let len = raw[1];
        let value_of = |expected: usize| {
            if raw.len() == expected {
                Ok(&raw[2..])
            } else {
                Err(OptionError::WrongLength { kind, at, len })
            }
        };
        match kind {
            MSS => {
                let mss = u16_at(value_of(4)?, 0);
                self.mss.get_or_insert(mss);
            }
            WINDOW_SCALE => {
                let shift = value_of(3)?[0];
                self.window_scale.get_or_insert(shift);
            }
            SACK_PERMITTED => {
                value_of(2)?;
                self.sack_permitted = true;
            }
            SACK => {
                if raw.len() < 10 || !(raw.len() - 2).is_multiple_of(8) {
                    return Err(OptionError::WrongLength { kind, at, len });
                }
                self.take_sack(&raw[2..]);
            }
            TIMESTAMPS => {
                let body = value_of(10)?;
                let read = Timestamps { value: u32_at(body, 0), echo: u32_at(body, 4) };
                self.timestamps.get_or_insert(read);
            }
            // A cookie of an illegal length is none (RFC 7413, section 4.1.1).
            FAST_OPEN
                if raw.len() == 2 || matches!(raw.len(), 6..=18 if raw.len().is_multiple_of(2)) =>
            {
                self.fast_open.get_or_insert(raw[2..].iter().copied().collect());
            }
            _ => {
                if let Some(crc) = kinds.read_detection(raw) {
                    self.detection.get_or_insert(crc);
                } else if let Some(notification) = kinds.read_notification(raw) {
                    self.notification.get_or_insert(notification);
                } else if let Some(check) = DataCheck::read(raw) {
                    self.data_check.get_or_insert(check);
                } else {
                    // The area is at most 40 bytes, so its unknown options always fit.
                    let _ = self.unknown.try_extend_from_slice(raw);
                }
            }
        }
        Ok(())
    }

    fn take_sack(&mut self, blocks: &[u8]) {
        if !self.sack.is_empty() {
            return;
        }
        for block in blocks.chunks_exact(8).take(MAX_SACK_BLOCKS) {
            let left = Seq32(u32_at(block, 0));
            let right = Seq32(u32_at(block, 4));
            self.sack.push(SackBlock { left, right });
        }
    }

    /// Writes the option area, aligned as RFC 7323 (appendix A) advises and padded to four bytes.
    ///
    /// # Errors
    /// The options are longer than 40 bytes.
    pub fn emit(&self, kinds: &CorruptionKinds) -> Result<OptionBytes, WireError> {
        let mut writer = Writer { area: OptionBytes::new(), wanted: 0 };
        if let Some(mss) = self.mss {
            writer.put(&[MSS, 4]);
            writer.put(&mss.to_be_bytes());
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => writer.put(&[SACK_PERMITTED, 2]),
            (true, false) => writer.put(&[NOP, NOP, SACK_PERMITTED, 2]),
            (false, true) => writer.put(&[NOP, NOP]),
            (false, false) => {}
        }
        if let Some(timestamps) = self.timestamps {
            writer.put(&[TIMESTAMPS, 10]);
            writer.put(&timestamps.value.to_be_bytes());
            writer.put(&timestamps.echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            writer.put(&[NOP, WINDOW_SCALE, 3, shift]);
        }
        if let Some(crc) = self.detection {
            writer.put_aligned(&kinds.write_detection(crc));
        }
        if let Some(notification) = self.notification {
            writer.put_aligned(&kinds.write_notification(notification));
        }
        if let Some(check) = self.data_check {
            writer.put_aligned(&check.write());
        }
        if let Some(cookie) = &self.fast_open {
            let head = [FAST_OPEN, 2 + cookie.len() as u8];
            let option: ArrayVec<u8, 18> = head.into_iter().chain(cookie.iter().copied()).collect();
            writer.put_aligned(&option);
        }
        if !self.sack.is_empty() {
            writer.put(&[NOP, NOP, SACK, (2 + self.sack.len() * 8) as u8]);
            for block in &self.sack {
                writer.put(&block.left.0.to_be_bytes());
                writer.put(&block.right.0.to_be_bytes());
            }
        }
        writer.put(&self.unknown);
        writer.finish()
    }
}

/// Collects option bytes and counts those that found no room.
struct Writer {
    area: OptionBytes,
    wanted: usize,
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.wanted += bytes.len();
        if self.wanted <= MAX_OPTIONS {
            let _ = self.area.try_extend_from_slice(bytes);
        }
    }

    /// Puts an option so that it ends on a boundary of four bytes.
    fn put_aligned(&mut self, option: &[u8]) {
        while !(self.wanted + option.len()).is_multiple_of(4) {
            self.put(&[NOP]);
        }
        self.put(option);
    }

    fn finish(mut self) -> Result<OptionBytes, WireError> {
        if self.wanted > MAX_OPTIONS {
            let header = "TCP options";
            return Err(WireError::TooLong { header, len: self.wanted, most: MAX_OPTIONS });
        }
        while !self.area.len().is_multiple_of(4) {
            self.area.push(END);
        }
        Ok(self.area)
    }
}

/// The options of an area one by one, kind and length included, padding left out.
#[derive(Clone, Debug)]
pub(super) struct RawOptions<'a> {
    area: &'a [u8],
    at: usize,
}

impl<'a> RawOptions<'a> {
    /// Creates the options of `area`.
    #[must_use]
    pub(super) const fn new(area: &'a [u8]) -> Self {
        Self { area, at: 0 }
    }

    /// Returns the next option and where it begins; `None` at the end of the list.
    ///
    /// # Errors
    /// The option's length is missing, below two, or reaches beyond the area; nothing follows it.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &'a [u8])>, OptionError> {
        while self.area.get(self.at) == Some(&NOP) {
            self.at += 1;
        }
        let at = self.at;
        let rest = &self.area[at..];
        let kind = match rest.first() {
            None | Some(&END) => return Ok(None),
            Some(&kind) => kind,
        };
        let Some(&len) = rest.get(1) else {
            return Err(OptionError::NoLength { kind, at });
        };
        if len < 2 || usize::from(len) > rest.len() {
            return Err(OptionError::Length { kind, at, len, most: rest.len() });
        }
        self.at += usize::from(len);
        Ok(Some((at, &rest[..usize::from(len)])))
    }
}

#[cfg(test)]
mod tests;
