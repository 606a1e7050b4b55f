//! The file format: a header in JSON, a short line per event, an end; perhaps compressed.

use core::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use windfall_base::{MemoryBudget, OverBudget};

use crate::traces::LineError;

use super::{BitOrder, ErrorTrace, Fault, Index, NEWEST, TraceHeader, VERSION};

/// The part of the memory which the text may take, decompressed: one in this many.
const TEXT_PART: usize = 4;
const FORMAT: &str = "windfall-error-trace";

/// Bytes that are no error trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorTraceError {
    /// The first line is not the header of an error trace.
    #[error(
        "line 1: no error trace begins like this: write \
         {{\"format\":\"windfall-error-trace\",\"version\":1}}, or convert the file"
    )]
    Foreign,
    /// The trace was written by another version of the format.
    #[error("line 1: version {0} of the format is not known: this program reads versions 1 and 2")]
    Version(u32),
    /// The header has a field that it should not have, or a wrong value.
    #[error("line 1: {0}")]
    Header(String),
    /// A line is not what the format wants.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The trace is not as long as its end says.
    #[error(
        "line {line}: the trace should end after {told} frames or bits, but the lines above make \
         {counted}: it is damaged"
    )]
    Length {
        /// The number of the line that ends the trace, from 1.
        line: usize,
        /// The number that it states.
        told: u64,
        /// The sum of the events.
        counted: u64,
    },
    /// The trace breaks off.
    #[error("the trace breaks off after line {0}: its last line must be \"end\" and its length")]
    NoEnd(usize),
    /// The bytes are not UTF-8.
    #[error("byte {0}: no text, and not compressed by gzip either")]
    NotText(usize),
    /// The compressed bytes are damaged.
    #[error("the compressed trace is damaged after {readable} bytes of its text: {cause}")]
    Gzip {
        /// Bytes that could be decompressed.
        readable: usize,
        /// The message of the decompressor.
        cause: String,
    },
    /// The trace is too long to be read.
    #[error(transparent)]
    TooLong(#[from] OverBudget),
}

#[derive(Deserialize)]
struct Mark {
    format: String,
    version: u32,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    header: &'a TraceHeader,
}

impl ErrorTrace {
    /// The trace as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let header =
            HeaderLine { format: FORMAT, version: self.header.version(), header: &self.header };
        let mut text = serde_json::to_string(&header).unwrap_or_default();
        text.push('\n');
        let mut place = 0;
        for entry in &self.entries {
            if entry.at > place {
                let _ = writeln!(text, "{}", entry.at - place);
            }
            write_fault(&mut text, &entry.fault, entry.count);
            place = entry.at + entry.count;
        }
        if self.length > place {
            let _ = writeln!(text, "{}", self.length - place);
        }
        let _ = writeln!(text, "end {}", self.length);
        text
    }

    /// The trace as text, compressed by gzip.
    #[must_use]
    pub fn to_gzip(&self) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(self.to_text().as_bytes());
        encoder.finish().unwrap_or_default()
    }

    /// Reads a trace as [`from_bytes_within`](Self::from_bytes_within) with the default budget.
    ///
    /// # Errors
    /// As there.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ErrorTraceError> {
        Self::from_bytes_within(bytes, &mut MemoryBudget::default())
    }

    /// Reads a trace from text, compressed or not, and takes from `budget` the memory that it
    /// keeps.
    ///
    /// # Errors
    /// If the bytes are not exactly a trace of the version that this program writes, or the memory
    /// does not suffice.
    pub fn from_bytes_within(
        bytes: &[u8],
        budget: &mut MemoryBudget,
    ) -> Result<Self, ErrorTraceError> {
        if !bytes.starts_with(&[0x1f, 0x8b]) {
            return Self::from_utf8(bytes, budget);
        }
        let most = budget.left() / TEXT_PART;
        let mut plain = Vec::new();
        let mut decoder = MultiGzDecoder::new(bytes).take(most as u64 + 1);
        if let Err(error) = decoder.read_to_end(&mut plain) {
            let readable = plain.len();
            let cause = error.to_string();
            return Err(ErrorTraceError::Gzip { readable, cause });
        }
        budget.check(plain.len().saturating_mul(TEXT_PART))?;
        budget.take(plain.len())?;
        let trace = Self::from_utf8(&plain, budget);
        budget.give_back(plain.len());
        trace
    }

    fn from_utf8(bytes: &[u8], budget: &mut MemoryBudget) -> Result<Self, ErrorTraceError> {
        let text = core::str::from_utf8(bytes);
        let text = text.map_err(|error| ErrorTraceError::NotText(error.valid_up_to()))?;
        Self::from_text_within(text.trim_start_matches('\u{feff}'), budget)
    }

    /// Reads a trace from text.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_text(text: &str) -> Result<Self, ErrorTraceError> {
        Self::from_text_within(text, &mut MemoryBudget::default())
    }

    fn from_text_within(text: &str, budget: &mut MemoryBudget) -> Result<Self, ErrorTraceError> {
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let mut trace = Self::new(parse_header(first)?);
        let mut last = 1;
        let mut end = None;
        for (i, line) in lines {
            last = i + 1;
            if line.starts_with('#') {
                continue;
            }
            let fail = |fix| ErrorTraceError::Line(LineError::new(i, line, fix));
            if end.is_some() {
                return Err(fail("stands after the end of the trace"));
            }
            if let Some(length) = line.strip_prefix("end ") {
                let length: u64 = parse(length).map_err(fail)?;
                if length != trace.length {
                    let told = length;
                    let counted = trace.length;
                    return Err(ErrorTraceError::Length { line: last, told, counted });
                }
                end = Some(length);
            } else {
                // The bits of a line are listed before the trace has them: 4 bytes for 2 of text,
                // and as much again while the list grows.
                budget.check(trace.memory().saturating_add(4 * line.len()))?;
                parse_event(&mut trace, line).map_err(fail)?;
            }
        }
        match end {
            None => Err(ErrorTraceError::NoEnd(last)),
            Some(_) => {
                budget.take(trace.memory())?;
                Ok(trace)
            }
        }
    }
}

fn write_fault(text: &mut String, fault: &Fault, count: u64) {
    let letter = match fault {
        Fault::Lost => 'l',
        Fault::Inverted => 'x',
        Fault::Damaged { truncated, inverted } => {
            if let Some(bit) = truncated {
                let _ = write!(text, "t {bit}");
                text.push_str(if inverted.is_empty() { "" } else { " " });
            }
            if !inverted.is_empty() {
                text.push('b');
            }
            let mut before = 0;
            for &bit in inverted {
                let _ = write!(text, " {}", bit - before);
                before = bit;
            }
            text.push('\n');
            return;
        }
    };
    let _ =
        if count == 1 { writeln!(text, "{letter}") } else { writeln!(text, "{letter} {count}") };
}

fn parse_header(line: &str) -> Result<TraceHeader, ErrorTraceError> {
    let mark: Mark = serde_json::from_str(line).map_err(|_| ErrorTraceError::Foreign)?;
    if mark.format != FORMAT {
        return Err(ErrorTraceError::Foreign);
    }
    if !(VERSION..=NEWEST).contains(&mark.version) {
        return Err(ErrorTraceError::Version(mark.version));
    }
    let fail = |error: serde_json::Error| ErrorTraceError::Header(error.to_string());
    // The marks are checked; what is left must be exactly a header.
    let mut fields: serde_json::Map<_, _> = serde_json::from_str(line).map_err(fail)?;
    fields.remove("format");
    fields.remove("version");
    let header: TraceHeader = serde_json::from_value(fields.into()).map_err(fail)?;
    let refuse = |why: &str| Err(ErrorTraceError::Header(why.to_owned()));
    if header.version() > mark.version {
        return refuse("bit_order belongs to version 2 of the format");
    }
    if header.index == Index::Bit && header.bit_order != BitOrder::Msb {
        return refuse("bit_order: a stream of bits has no bytes: leave it out");
    }
    Ok(header)
}

fn parse_event(trace: &mut ErrorTrace, line: &str) -> Result<(), &'static str> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match (trace.header.index, word) {
        (_, word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
            let count = count(trace, line)?;
            trace.push_ok(count);
        }
        (Index::Frame, "l") => {
            let count = if rest.is_empty() { count(trace, "1")? } else { count(trace, rest)? };
            trace.push(Fault::Lost, count);
        }
        (Index::Bit, "x") => {
            let count = if rest.is_empty() { count(trace, "1")? } else { count(trace, rest)? };
            trace.push(Fault::Inverted, count);
        }
        (Index::Frame, "t" | "b") => {
            count(trace, "1")?;
            let fault = parse_damage(line)?;
            trace.push(fault, 1);
        }
        (Index::Frame, _) => {
            return Err(
                "is no event: write a number of whole frames, l [n], t bit, b bits, or end",
            );
        }
        (Index::Bit, _) => {
            return Err("is no event: write a number of right bits, x [n], or end");
        }
    }
    Ok(())
}

/// Parses a count that still fits into the trace's length.
fn count(trace: &ErrorTrace, text: &str) -> Result<u64, &'static str> {
    let count: u64 = parse(text)?;
    if count == 0 {
        return Err("counts nothing: leave the line out");
    }
    trace.length.checked_add(count).ok_or("makes the trace too long")?;
    Ok(count)
}

/// Parses `t BIT`, `b BIT GAP…` or `t BIT b BIT GAP…`.
fn parse_damage(line: &str) -> Result<Fault, &'static str> {
    let mut words = line.split(' ').peekable();
    let truncated = match words.next_if_eq(&"t") {
        Some(_) => Some(parse(words.next().unwrap_or(""))?),
        None => None,
    };
    let mut inverted = Vec::new();
    if words.next_if_eq(&"b").is_some() {
        let mut bit: u32 = 0;
        for (i, word) in words.by_ref().enumerate() {
            let gap: u32 = parse(word)?;
            if i > 0 && gap == 0 {
                return Err("names a bit twice: each number after the first is a distance above 0");
            }
            bit = bit.checked_add(gap).ok_or("names a bit beyond 2^32")?;
            inverted.push(bit);
        }
        if inverted.is_empty() {
            return Err("names no bits");
        }
    }
    if words.next().is_some() {
        return Err("goes on after the event");
    }
    if truncated.is_some_and(|cut| inverted.last().is_some_and(|&bit| bit >= cut)) {
        return Err("inverts a bit that it also cuts off");
    }
    Ok(Fault::Damaged { truncated, inverted: inverted.into() })
}

/// Parses decimal digits, nothing else.
fn parse<T: core::str::FromStr>(text: &str) -> Result<T, &'static str> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits).ok_or("is not a whole number that fits")
}
