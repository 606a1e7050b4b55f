//! The header of a JPEG: everything before the entropy-coded data (ITU-T T.81, annex B).

use core::ops::Range;

use crate::error::PictureError;

const SOI: u8 = 0xd8;
const APP0: u8 = 0xe0;
const SOF0: u8 = 0xc0;
const SOS: u8 = 0xda;
const DRI: u8 = 0xdd;

/// The header of a baseline JPEG of one scan with three components without subsampling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    bytes: Vec<u8>,
    /// The position of height and width.
    size: usize,
    /// The position of the scan's header.
    scan: usize,
    /// The position of the restart interval segment, if there is one.
    interval: Option<usize>,
}

impl Head {
    /// Parses a header; also returns the data after it.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), PictureError> {
        let wrong = PictureError::Layout;
        if bytes.get(..2) != Some(&[0xff, SOI]) {
            return Err(wrong("it is no JPEG"));
        }
        let mut at = 2;
        let mut size = None;
        let mut interval = None;
        loop {
            let segment = segment(bytes, at).ok_or(wrong("its head is broken"))?;
            let body = &bytes[segment.start + 4..segment.end];
            match bytes[at + 1] {
                SOF0 if is_plain(body) => size = Some(at + 5),
                0xc1..=0xc3 | 0xc5..=0xcf | SOF0 => {
                    return Err(wrong("it is no plain baseline JPEG"));
                }
                DRI if body.len() == 2 => interval = Some(at),
                SOS => {
                    let size = size.ok_or(wrong("it has no size"))?;
                    let head = bytes[..segment.end].to_vec();
                    return Ok((
                        Self { bytes: head, size, scan: at, interval },
                        &bytes[segment.end..],
                    ));
                }
                _ => {}
            }
            at = segment.end;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn number(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Returns the width and height.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.number(self.size + 2).into(), self.number(self.size).into())
    }

    /// Returns the restart interval in MCUs; 0 if there is none.
    pub(super) fn interval(&self) -> u16 {
        self.interval.map_or(0, |at| self.number(at + 4))
    }

    /// Returns the header with another size.
    pub(super) fn sized(&self, width: u32, height: u32) -> Self {
        let mut head = self.clone();
        let sides = [height as u16, width as u16];
        for (at, side) in sides.into_iter().enumerate() {
            head.bytes[self.size + 2 * at..][..2].copy_from_slice(&side.to_be_bytes());
        }
        head
    }

    /// Returns the header with further segments at its beginning, behind the one of JFIF, which
    /// must be the first.
    pub(super) fn with_segments(&self, segments: &[u8]) -> Self {
        let mut head = self.clone();
        let jfif = segment(&self.bytes, 2).filter(|_| self.bytes[3] == APP0);
        let at = jfif.map_or(2, |it| it.end);
        head.bytes.splice(at..at, segments.iter().copied());
        head.size += segments.len();
        head.scan += segments.len();
        head.interval = head.interval.map(|at| at + segments.len());
        head
    }

    /// Returns the header with another restart interval.
    pub(super) fn with_interval(&self, units: u16) -> Self {
        let mut head = self.clone();
        let [high, low] = units.to_be_bytes();
        match self.interval {
            Some(at) => head.bytes[at + 4..at + 6].copy_from_slice(&[high, low]),
            None => {
                head.bytes.splice(self.scan..self.scan, [0xff, DRI, 0, 4, high, low]);
                (head.interval, head.scan) = (Some(self.scan), self.scan + 6);
            }
        }
        head
    }
}

/// Returns the marker segment at `at`, including its marker and length.
fn segment(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let [0xff, _, high, low] = *bytes.get(at..at + 4)? else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let end = at + 2 + length;
    (length >= 2 && end <= bytes.len()).then_some(at..end)
}

/// Returns whether a frame has 8 bits per sample and three components without subsampling.
fn is_plain(frame: &[u8]) -> bool {
    let [8, _, _, _, _, 3, components @ ..] = frame else { return false };
    components.len() == 9 && components.chunks_exact(3).all(|component| component[1] == 0x11)
}
