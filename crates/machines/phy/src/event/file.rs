//! The file of tables: deflated, little-endian.
//!
//! `WFEV`, a version, then for each of the twelve rates: the lowest ratio and the step in decibels
//! (`f32`), the number of points (`u16`); for each point: the mean gap in words, the share and the
//! relative mean of short gaps (`f32`), the number of events (`u16`); for each event: the number of
//! its bit errors (`u16`), the place of the first within its word, and the distances between them
//! (one byte each, all below 256).

use std::io::{Read, Write};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use windfall_wire_link::ieee80211::PhyRate;

use super::gaps::GapLaw;
use super::table::{RateTable, TablePoint, Tables};
use super::word;

const MAGIC: [u8; 4] = *b"WFEV";
const VERSION: u8 = 2;
/// No file of tables is longer when unpacked.
const LONGEST: u64 = 64 << 20;

/// The bytes are no tables of error events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Not such a file, or one that was damaged.
    #[error("no tables of error events: make them with `make tables`")]
    Format,
    /// A version that is not known here.
    #[error("tables of version {0}, known is 2: make them with `make tables`")]
    Version(u8),
}

impl Tables {
    /// The tables that come with this crate, as `make tables` has made them.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Tables> = OnceLock::new();
        SHIPPED.get_or_init(|| {
            let file = include_bytes!("../../tables/events.bin");
            read(file).expect("the file in this crate is whole")
        })
    }

    /// The tables as a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        write(self)
    }

    /// The tables in a file.
    ///
    /// # Errors
    /// If it is no such file, of another version, or cut short.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TableError> {
        read(bytes)
    }
}

fn write(tables: &Tables) -> Vec<u8> {
    let mut plain = Vec::new();
    for table in &tables.rates {
        plain.extend((table.first as f32).to_le_bytes());
        plain.extend((table.step as f32).to_le_bytes());
        plain.extend((table.points.len() as u16).to_le_bytes());
        for point in &table.points {
            let law = point.law();
            for value in [law.mean, law.share, law.short] {
                plain.extend(value.to_le_bytes());
            }
            plain.extend((point.events().count() as u16).to_le_bytes());
            for event in point.events() {
                plain.extend((event.len() as u16).to_le_bytes());
                plain.push(event[0] as u8);
                plain.extend(event.windows(2).map(|pair| (pair[1] - pair[0]).min(255) as u8));
            }
        }
    }
    let mut packed = MAGIC.to_vec();
    packed.push(VERSION);
    let mut encoder = DeflateEncoder::new(packed, Compression::best());
    let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
    written.expect("memory takes all")
}

fn read(bytes: &[u8]) -> Result<Tables, TableError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(TableError::Format)?;
    let (&version, rest) = rest.split_first().ok_or(TableError::Format)?;
    if version != VERSION {
        return Err(TableError::Version(version));
    }
    let mut plain = Vec::new();
    let read = DeflateDecoder::new(rest).take(LONGEST).read_to_end(&mut plain);
    let mut reader = Reader(&plain);
    let mut tables = Vec::new();
    for rate in PhyRate::ALL {
        let table = read.as_ref().ok().and_then(|_| reader.table(word(rate)));
        tables.push(table.ok_or(TableError::Format)?);
    }
    match tables.try_into() {
        Ok(rates) if reader.0.is_empty() => Ok(Tables { rates }),
        _ => Err(TableError::Format),
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn count(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn number(&mut self) -> Option<f32> {
        self.take().map(f32::from_le_bytes).filter(|value| value.is_finite())
    }

    fn table(&mut self, word: u32) -> Option<RateTable> {
        let first = self.number()?;
        let step = self.number()?;
        let points: Option<Vec<_>> = (0..self.count()?).map(|_| self.point(word)).collect();
        let points = points.filter(|points| !points.is_empty() && step > 0.0)?;
        Some(RateTable::new(f64::from(first), f64::from(step), points))
    }

    fn point(&mut self, word: u32) -> Option<TablePoint> {
        let [mean, share, short] = [self.number()?, self.number()?, self.number()?];
        let legal = mean >= 0.0 && (0.0..1.0).contains(&share) && (0.0..=1.0).contains(&short);
        let events: Option<Vec<_>> = (0..self.count()?).map(|_| self.event(word)).collect();
        let events = events?;
        let slices: Vec<&[u64]> = events.iter().map(Vec::as_slice).collect();
        legal.then(|| TablePoint::new(GapLaw { mean, share, short }, word, &slices))
    }

    fn event(&mut self, word: u32) -> Option<Vec<u64>> {
        let count = usize::from(self.count()?);
        let [first] = self.take()?;
        let (distances, rest) = self.0.split_at_checked(count.checked_sub(1)?)?;
        self.0 = rest;
        let mut place = u64::from(first);
        let next = distances.iter().map(|&distance| {
            place += u64::from(distance);
            place
        });
        let event: Vec<u64> = core::iter::once(u64::from(first)).chain(next).collect();
        let legal = u32::from(first) < word && *event.last()? <= u64::from(u16::MAX);
        legal.then_some(event)
    }
}
