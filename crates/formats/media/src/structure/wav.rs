//! Files of sound in chunks, of which one holds the samples: WAV with its relatives for long files
//! (RF64 and BW64 by EBU Tech 3306 and ITU-R BS.2088, Wave64) and in the other byte order (RIFX),
//! AIFF, AIFC, Core Audio; and those that have all before the samples, as AU and FLAC.

use core::ops::Range;
use std::collections::BTreeMap;

use super::{Ranges, big, little};

/// The length of a chunk's name and length.
const HEADER: usize = 8;
/// A length that is written elsewhere, or not known.
const ELSEWHERE: usize = 0xffff_ffff;
/// The most entries of the table of long lengths that are read.
const LONGEST_TABLE: usize = 1024;
/// The names of the file, of sound and of the samples in Wave64.
const RIFF_64: &[u8] = b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\x00\x00";
const DATA_64: &[u8] = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a";
/// The length of a chunk's name and length there.
const HEADER_64: usize = 24;

/// A format of files in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoundFormat {
    Aiff,
    Au,
    Caf,
    Flac,
    Wav,
    /// RIFX: numbers are big-endian.
    WavBig,
    /// RF64, BW64 and what calls itself one: long lengths are in a chunk of their own.
    WavLong,
    Wave64,
    /// Chunks of something else, such as films and pictures.
    Other,
}

impl SoundFormat {
    /// Returns the format of a file by its first bytes.
    pub(super) fn by_first_bytes(bytes: &[u8]) -> Option<Self> {
        let form = bytes.get(8..12);
        Some(match bytes.first_chunk::<4>()? {
            b"RIFF" if form? == b"WAVE" => Self::Wav,
            b"RIFX" if form? == b"WAVE" => Self::WavBig,
            b"RF64" | b"BW64" if form? == b"WAVE" => Self::WavLong,
            b"FORM" if matches!(form?, b"AIFF" | b"AIFC") => Self::Aiff,
            b"RIFX" | b"RF64" | b"BW64" | b"FORM" => Self::Other,
            b"riff" if bytes.starts_with(RIFF_64) => Self::Wave64,
            b"caff" => Self::Caf,
            b".snd" => Self::Au,
            b"fLaC" => Self::Flac,
            _ => return None,
        })
    }

    /// Finds everything but the samples; all where they are not found.
    pub(super) fn exact(self, bytes: &[u8], found: &mut Ranges) {
        let mut start = 0;
        self.samples(bytes, |samples| {
            found.push(start..samples.start.min(bytes.len()));
            start = samples.end.min(bytes.len());
        });
        found.push(start..bytes.len());
    }

    /// Calls `each` with the samples, in order.
    fn samples(self, bytes: &[u8], each: impl FnMut(Range<usize>)) {
        match self {
            Self::Other => {}
            Self::Au => {
                let start = big(bytes, 4).filter(|it| *it >= 24);
                let end = |start: usize| match big(bytes, 8) {
                    None | Some(ELSEWHERE) => bytes.len(),
                    Some(length) => start.saturating_add(length),
                };
                start.map(|start| start..end(start)).into_iter().for_each(each);
            }
            Self::Flac => {
                behind_metadata(bytes).map(|start| start..bytes.len()).into_iter().for_each(each);
            }
            _ => self.chunks(bytes, each),
        }
    }

    /// Calls `each` with the samples of a file in chunks.
    fn chunks(self, bytes: &[u8], mut each: impl FnMut(Range<usize>)) {
        let (mut at, name_of_samples): (_, &[u8]) = match self {
            Self::Aiff => (12, b"SSND"),
            Self::Caf => (8, b"data"),
            Self::Wave64 => (HEADER_64 + 16, DATA_64),
            _ => (12, b"data"),
        };
        let elsewhere = if self == Self::WavLong { LongLengths::of(bytes) } else { None };
        while let Some(name) = bytes.get(at..at.saturating_add(name_of_samples.len())) {
            let Some((header, length)) = self.length(bytes, at, name, elsewhere.as_ref()) else {
                break;
            };
            let start = at.saturating_add(header);
            let end = start.saturating_add(length);
            let samples = start.saturating_add(self.front())..end;
            if name == name_of_samples && !samples.is_empty() {
                each(samples);
            }
            at = match self {
                Self::Caf => end,
                Self::Wave64 => end.checked_next_multiple_of(8).unwrap_or(end),
                // A chunk of odd length is padded.
                _ => end.saturating_add(length % 2),
            };
        }
    }

    /// The bytes before the samples in their chunk: an offset and a length of blocks, or a count of
    /// edits.
    const fn front(self) -> usize {
        match self {
            Self::Aiff => 8,
            Self::Caf => 4,
            _ => 0,
        }
    }

    /// Returns the length of a chunk's header, and that of what follows.
    fn length(
        self,
        bytes: &[u8],
        at: usize,
        name: &[u8],
        elsewhere: Option<&LongLengths>,
    ) -> Option<(usize, usize)> {
        match self {
            Self::Aiff | Self::WavBig => Some((HEADER, big(bytes, at + 4)?)),
            Self::Caf => {
                let [high, low] = [big(bytes, at + 4)?, big(bytes, at + 8)?];
                let is_open = [high, low] == [ELSEWHERE; 2];
                Some((12, if is_open { bytes.len() } else { long(high, low)? }))
            }
            Self::Wave64 => {
                let length = long(little(bytes, at + 20)?, little(bytes, at + 16)?)?;
                Some((HEADER_64, length.checked_sub(HEADER_64)?))
            }
            Self::WavLong => match little(bytes, at + 4)? {
                ELSEWHERE => Some((HEADER, elsewhere?.get(name)?)),
                length => Some((HEADER, length)),
            },
            _ => Some((HEADER, little(bytes, at + 4)?)),
        }
    }
}

/// Returns a number of eight bytes by its halves.
fn long(high: usize, low: usize) -> Option<usize> {
    high.checked_mul(1 << 32)?.checked_add(low)
}

/// The lengths of chunks that the first one (`ds64`) tells: of the file, of the samples and of
/// frames eight bytes each, and a table of other chunks.
#[derive(Debug)]
struct LongLengths {
    samples: Option<usize>,
    others: BTreeMap<[u8; 4], usize>,
}

impl LongLengths {
    /// Reads them once, so that each chunk finds its own in few steps.
    fn of(bytes: &[u8]) -> Option<Self> {
        let begin = 12 + HEADER;
        bytes.get(12..)?.starts_with(b"ds64").then_some(())?;
        let number = |at: usize| long(little(bytes, at + 4)?, little(bytes, at)?);
        let entries = little(bytes, begin + 24).unwrap_or(0).min(LONGEST_TABLE);
        let mut others = BTreeMap::new();
        for at in (0..entries).map(|entry| begin + 28 + 12 * entry) {
            let Some(name) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { break };
            if let Some(length) = number(at + 4) {
                others.entry(*name).or_insert(length);
            }
        }
        Some(Self { samples: number(begin + 8), others })
    }

    fn get(&self, name: &[u8]) -> Option<usize> {
        if name == b"data" { self.samples } else { self.others.get(name).copied() }
    }
}

/// Returns the end of the blocks that describe a FLAC file.
fn behind_metadata(bytes: &[u8]) -> Option<usize> {
    let mut at = 4;
    loop {
        let header = big(bytes, at)?;
        at = at.saturating_add(4 + (header & 0x00ff_ffff));
        if header >> 31 == 1 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_long_chunk_finds_its_length_in_a_table_that_is_read_once_and_bounded() {
        let entries = 5_000_u32;
        let mut file = b"RF64\xff\xff\xff\xffWAVEds64".to_vec();
        file.extend((28 + 12 * entries).to_le_bytes());
        file.extend([0; 24]);
        file.extend(u32::MAX.to_le_bytes());
        for entry in 0..entries {
            file.extend(entry.to_le_bytes());
            file.extend(u64::from(entry).to_le_bytes());
        }
        let long = LongLengths::of(&file).expect("lengths");
        assert_eq!(long.others.len(), LONGEST_TABLE);
        assert_eq!(long.get(&1_023_u32.to_le_bytes()), Some(1_023));
        assert_eq!(long.get(&1_024_u32.to_le_bytes()), None, "beyond what is read");
        // A table that is cut off has the entries that are there.
        let long = LongLengths::of(&file[..48 + 12 * 3 + 5]).expect("lengths");
        assert_eq!(long.others.len(), 3);
    }
}
