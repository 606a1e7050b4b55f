//! Files of sound in chunks, of which one holds the samples: WAV with its relatives for long files
//! (RF64 and BW64 by EBU Tech 3306 and ITU-R BS.2088, Wave64) and in the other byte order (RIFX),
//! AIFF, AIFC, Core Audio; and those that have all before the samples, as AU and FLAC.

use core::ops::Range;

use super::{big, little};

/// The length of a chunk's name and length.
const HEADER: usize = 8;
/// A length that is written elsewhere, or not known.
const ELSEWHERE: usize = 0xffff_ffff;
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
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
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

    /// Returns everything but the samples; all where they are not found.
    pub(super) fn exact(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let samples = self.samples(bytes);
        let (mut exact, mut start) = (Vec::new(), 0);
        for samples in samples {
            exact.push(start..samples.start.min(bytes.len()));
            start = samples.end.min(bytes.len());
        }
        exact.push(start..bytes.len());
        exact
    }

    fn samples(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let all_from = |start: Option<usize>| start.map(|start| start..bytes.len());
        match self {
            Self::Other => Vec::new(),
            Self::Au => {
                let start = big(bytes, 4).filter(|it| *it >= 24);
                let end = |start: usize| match big(bytes, 8) {
                    None | Some(ELSEWHERE) => bytes.len(),
                    Some(length) => start.saturating_add(length),
                };
                start.map(|start| start..end(start)).into_iter().collect()
            }
            Self::Flac => all_from(behind_metadata(bytes)).into_iter().collect(),
            _ => self.chunks(bytes),
        }
    }

    /// Returns the samples of a file in chunks.
    fn chunks(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let (mut at, name_of_samples): (_, &[u8]) = match self {
            Self::Aiff => (12, b"SSND"),
            Self::Caf => (8, b"data"),
            Self::Wave64 => (HEADER_64 + 16, DATA_64),
            _ => (12, b"data"),
        };
        let mut found = Vec::new();
        while let Some(name) = bytes.get(at..at.saturating_add(name_of_samples.len())) {
            let Some((header, length)) = self.length(bytes, at, name) else { break };
            let start = at.saturating_add(header);
            let end = start.saturating_add(length);
            if name == name_of_samples {
                found.push(start.saturating_add(self.front())..end);
            }
            at = match self {
                Self::Caf => end,
                Self::Wave64 => end.checked_next_multiple_of(8).unwrap_or(end),
                // A chunk of odd length is padded.
                _ => end.saturating_add(length % 2),
            };
        }
        found.retain(|it| it.start < it.end);
        found
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
    fn length(self, bytes: &[u8], at: usize, name: &[u8]) -> Option<(usize, usize)> {
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
                ELSEWHERE => Some((HEADER, long_length(bytes, name)?)),
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

/// Returns the length of a chunk that the first one (`ds64`) tells: of the file, of the samples and
/// of frames eight bytes each, and a table of other chunks.
fn long_length(bytes: &[u8], name: &[u8]) -> Option<usize> {
    let begin = 12 + HEADER;
    bytes.get(12..)?.starts_with(b"ds64").then_some(())?;
    let number = |at: usize| long(little(bytes, at + 4)?, little(bytes, at)?);
    if name == b"data" {
        return number(begin + 8);
    }
    let entries = little(bytes, begin + 24)?.min(bytes.len() / 12);
    let mut entries = (0..entries).map(|entry| begin + 28 + 12 * entry);
    let entry = entries.find(|at| bytes.get(*at..at + 4) == Some(name))?;
    number(entry + 4)
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
