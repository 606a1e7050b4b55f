//! The errors of a channel, from wherever they are known.

use std::num::NonZeroU64;

use serde::Serialize;
use windfall_base::{MemoryBudget, Rate, Seed, Stream};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{ErrorTraceError, Fault, Index, TraceHeader};
use windfall_scenario::{ENVIRONMENT_FRAMES, Surroundings};
use windfall_trace::convert::{self, ConvertError};

use crate::log::{self, LogError};

/// Bytes and bits of a radio block of GSM.
const BLOCK_LEN: u32 = 30;
const BLOCK_BITS: u32 = 8 * BLOCK_LEN;
/// Blocks of a trace that stands for a circuit of GSM: ten minutes.
const BLOCKS: u32 = 30_000;
/// The rate of a pipe of which nothing is known.
const PIPE_RATE: Rate = Rate::from_bps(2_000_000).expect("a rate");

/// A kind of link whose modes are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TunedLink {
    /// A circuit of 9.6 kb/s.
    Gsm,
    /// A wire of some rate.
    Pipe,
    /// The polled radio of 2 Mb/s.
    Wavelan,
}

impl TunedLink {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gsm, Self::Pipe, Self::Wavelan];

    /// Bytes of data in a datagram that are tried where the application does not say.
    #[must_use]
    pub const fn sizes(self) -> &'static [u32] {
        match self {
            Self::Gsm => &[40, 80, 160, 320, 640],
            Self::Pipe | Self::Wavelan => &[40, 160, 640, 1_280],
        }
    }

    /// The name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gsm => "gsm",
            Self::Pipe => "pipe",
            Self::Wavelan => "wavelan",
        }
    }
}

/// The reason for which a channel is not known.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// It is no error trace.
    #[error(transparent)]
    Trace(#[from] ErrorTraceError),
    /// It is no list of blocks.
    #[error(transparent)]
    List(#[from] ConvertError),
    /// It is no event log, or one without frames.
    #[error(transparent)]
    Log(#[from] LogError),
    /// It covers nothing.
    #[error("the trace covers no frame")]
    Empty,
    /// Its frames are no radio blocks.
    #[error("the frames of the trace have {0} bytes, and radio blocks of GSM 30: use --link pipe")]
    Length(u32),
}

/// The errors of a channel, frame by frame, and the link that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredChannel {
    /// The name of the environment or the file.
    pub name: String,
    /// The kind of the link.
    pub link: TunedLink,
    /// The rate of a pipe.
    pub rate: Rate,
    trace: ErrorTrace,
}

impl MeasuredChannel {
    /// The channel of an environment: of a circuit of GSM, or of the radio of paper 003.
    #[must_use]
    pub fn of_environment(surroundings: Surroundings, seed: Seed) -> Self {
        let (link, frames) = match surroundings {
            Surroundings::Gsm(_) => (TunedLink::Gsm, BLOCKS),
            Surroundings::Radio(_) => (TunedLink::Wavelan, ENVIRONMENT_FRAMES),
        };
        let trace = surroundings.synthesize(seed, frames);
        Self { name: surroundings.to_string(), link, rate: PIPE_RATE, trace }
    }

    /// Reads an error trace, a list with a line for each block (1 damaged, 0 correct), or an event
    /// log. A list is of radio blocks, and a trace or log is if its frames have 30 bytes, unless
    /// `link` says otherwise.
    ///
    /// # Errors
    /// If it is none of them, or covers nothing, or exceeds `budget`.
    pub fn read(
        name: &str,
        bytes: &[u8],
        link: Option<TunedLink>,
        budget: &mut MemoryBudget,
    ) -> Result<Self, ChannelError> {
        let is_list = matches!(bytes.first(), Some(b'0' | b'1'));
        let is_log = bytes.starts_with(b"{") && bytes.iter().take(200).any(|it| *it == b'\n')
            || bytes.starts_with(b"{\"ev\"");
        let trace = if is_list {
            convert::from_loss_list(convert::text(bytes)?, budget)?
        } else if is_log && log::is_log(bytes) {
            log::trace_of(convert::text(bytes)?, budget)?
        } else {
            ErrorTrace::from_bytes_within(bytes, budget)?
        };
        if trace.is_empty() {
            return Err(ChannelError::Empty);
        }
        let length = trace.header().frame_length;
        let is_gsm = is_list || length == Some(BLOCK_LEN);
        let link = link.unwrap_or(if is_gsm { TunedLink::Gsm } else { TunedLink::Pipe });
        if let Some(length) = length.filter(|it| link == TunedLink::Gsm && *it != BLOCK_LEN) {
            return Err(ChannelError::Length(length));
        }
        let rate = trace.header().rate.unwrap_or(PIPE_RATE);
        Ok(Self { name: name.to_owned(), link, rate, trace })
    }

    /// The number of frames, or of bits where the trace counts those.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.trace.len()
    }

    /// Returns `true` if it covers nothing, which [`read`](Self::read) refuses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trace.is_empty()
    }

    /// The share of frames, or bits, with an error.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let faulty: u64 = self.trace.entries().iter().map(|entry| entry.count).sum();
        faulty as f64 / self.len().max(1) as f64
    }

    /// Tells whether it counts single bits, not frames.
    #[must_use]
    pub fn counts_bits(&self) -> bool {
        self.trace.header().index == Index::Bit
    }

    /// The trace of the way there, and that of the way back, which begins half the trace later.
    /// Where a trace does not say which bits of a radio block are inverted, half of them are.
    pub(crate) fn both_ways(&self, seed: Seed) -> [ErrorTrace; 2] {
        let there = match self.link {
            TunedLink::Gsm if !self.counts_bits() => scattered(&self.trace, seed),
            _ => self.trace.clone(),
        };
        let back = rotated(&there, there.len() / 2);
        [there, back]
    }
}

/// The trace from a frame on, with what is before it behind.
fn rotated(trace: &ErrorTrace, first: u64) -> ErrorTrace {
    let mut turned = ErrorTrace::new(trace.header().clone());
    for (begin, end) in [(first, trace.len()), (0, first)] {
        let mut next = begin;
        for entry in trace.entries() {
            let from = entry.at.max(begin);
            let until = (entry.at + entry.count).min(end);
            if let Some(count) = until.checked_sub(from).and_then(NonZeroU64::new) {
                turned.push_ok(from - next);
                turned.push(entry.fault.clone(), count.get());
                next = until;
            }
        }
        turned.push_ok(end - next);
    }
    turned
}

/// The trace with half of the bits inverted in each block that is damaged as a whole.
fn scattered(trace: &ErrorTrace, seed: Seed) -> ErrorTrace {
    let noise = Stream::new(seed, "noise");
    let header = TraceHeader { frame_length: Some(BLOCK_LEN), ..trace.header().clone() };
    let mut blocks = ErrorTrace::new(header);
    for entry in trace.entries() {
        blocks.push_ok(entry.at - blocks.len());
        let names_bits = match &entry.fault {
            Fault::Damaged { truncated: None, inverted } => !inverted.is_empty(),
            _ => false,
        };
        if names_bits {
            blocks.push(entry.fault.clone(), 1);
            continue;
        }
        for number in entry.at..entry.at + entry.count {
            let mut random = noise.at(number);
            let inverted = (0..BLOCK_BITS).filter(|_| random.below(2) == 1).collect();
            blocks.push(Fault::Damaged { truncated: None, inverted }, 1);
        }
    }
    blocks.push_ok(trace.len() - blocks.len());
    blocks
}

#[cfg(test)]
mod tests;
