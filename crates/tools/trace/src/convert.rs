//! Traces in the formats of others: what they can tell of frames becomes one of ours, and back.

mod devourer;
mod netem;
mod sequence;
mod signal;
mod wmediumd;

use windfall_base::{MemoryBudget, OverBudget, Rate};
use windfall_files::traces::error_trace::{Fault, Index, TraceHeader, Unit};
use windfall_files::traces::{ErrorTrace, ErrorTraceError, LineError};
use windfall_phy::formula;
use windfall_wire_link::ieee80211::PhyRate;

pub use devourer::{from_devourer, to_devourer};
pub(crate) use netem::read_config;
pub use netem::{LossTiming, from_netem, to_netem};
pub use sequence::{SequenceColumn, from_sequence};
pub use signal::{SignalFrames, from_signal};
pub use wmediumd::{MediumFrames, from_wmediumd};

/// More frames than any sensible trace has.
const MAX_FRAMES: u64 = 100_000_000;

/// Why a file cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// The error trace itself is wrong.
    #[error(transparent)]
    Trace(#[from] ErrorTraceError),
    /// A line is not what the format wants.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The file as a whole is not what the format wants.
    #[error("{0}")]
    Whole(String),
    /// The file, or what would be written, is too long.
    #[error(transparent)]
    TooMuchMemory(#[from] OverBudget),
    /// A format with a line for each frame would need too many.
    #[error("the trace covers {0} frames, and a line for each is too much beyond 100000000")]
    TooLong(u64),
    /// The trace counts bits, and the format knows only frames.
    #[error("the trace counts bits, and this format tells only of frames")]
    CountsBits,
}

/// Returns the probability that a frame arrives whole at a ratio of signal to noise in dB.
fn success_of(rate: Rate, ratio: f64, length: u32) -> Result<f64, ConvertError> {
    let rate = PhyRate::from_rate(rate).ok_or_else(|| {
        let all: Vec<_> = PhyRate::ALL.iter().map(|it| it.rate().to_string()).collect();
        let all = all.join(", ");
        ConvertError::Whole(format!("802.11b/g has no rate of {rate}: use one of {all}"))
    })?;
    let ratio = 10_f64.powf(ratio / 10.0);
    Ok(formula::success(rate, ratio, f64::from(length) * 8.0).clamp(0.0, 1.0))
}

/// Returns the text that `bytes` are, without the mark of their order.
///
/// # Errors
/// If they are none.
pub fn text(bytes: &[u8]) -> Result<&str, ConvertError> {
    let text = core::str::from_utf8(bytes);
    let text = text.map_err(|error| ErrorTraceError::NotText(error.valid_up_to()))?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// Reads a loss list: a line for each frame, 0 if it arrived and 1 if it was lost; takes from
/// `budget` the memory that the trace keeps.
///
/// # Errors
/// If a line is neither, or there is none, or the memory does not suffice.
pub fn from_loss_list(text: &str, budget: &mut MemoryBudget) -> Result<ErrorTrace, ConvertError> {
    let mut trace = frame_trace("a loss list");
    for (i, line) in text.lines().enumerate() {
        match line.trim() {
            "0" => trace.push_ok(1),
            "1" => trace.push(Fault::Lost, 1),
            comment if comment.starts_with('#') => {}
            other => {
                let fix = "is neither 0 (arrived) nor 1 (lost)";
                return Err(LineError::new(i, other, fix).into());
            }
        }
        budget.check(trace.memory())?;
    }
    budget.take(trace.memory())?;
    not_empty(trace)
}

/// Writes a loss list; a frame that did not arrive whole counts as lost.
///
/// # Errors
/// If the trace counts bits, or the list does not fit in the budget.
pub fn to_loss_list(trace: &ErrorTrace, budget: &MemoryBudget) -> Result<String, ConvertError> {
    let mut text = line_for_each(trace, "0\n".len(), budget)?;
    for (is_faulty, count) in stretches(trace)? {
        for _ in 0..count {
            text.push_str(if is_faulty { "1\n" } else { "0\n" });
        }
    }
    Ok(text)
}

/// Returns an empty text with room for a line of `length` bytes for each frame.
fn line_for_each(
    trace: &ErrorTrace,
    length: usize,
    budget: &MemoryBudget,
) -> Result<String, ConvertError> {
    match (trace.header().index, trace.len()) {
        (Index::Bit, _) => Err(ConvertError::CountsBits),
        (Index::Frame, frames) if frames > MAX_FRAMES => Err(ConvertError::TooLong(frames)),
        (Index::Frame, frames) => {
            let bytes = frames as usize * length;
            budget.check(bytes)?;
            Ok(String::with_capacity(bytes))
        }
    }
}

/// An empty trace that will tell of frames alone.
fn frame_trace(workload: &str) -> ErrorTrace {
    let workload = format!("converted from {workload}");
    ErrorTrace::new(TraceHeader { unit: Unit::Frame, workload, ..TraceHeader::default() })
}

fn not_empty(trace: ErrorTrace) -> Result<ErrorTrace, ConvertError> {
    if trace.is_empty() {
        return Err(ConvertError::Whole("the file tells of no frames".to_owned()));
    }
    Ok(trace)
}

/// Stretches of frames that all arrived whole, or all did not.
fn stretches(trace: &ErrorTrace) -> Result<Vec<(bool, u64)>, ConvertError> {
    if trace.header().index == Index::Bit {
        return Err(ConvertError::CountsBits);
    }
    let mut all = Vec::new();
    let mut place = 0;
    for entry in trace.entries() {
        if entry.at > place {
            all.push((false, entry.at - place));
        }
        match all.last_mut() {
            Some((true, count)) => *count += entry.count,
            _ => all.push((true, entry.count)),
        }
        place = entry.at + entry.count;
    }
    if trace.len() > place {
        all.push((false, trace.len() - place));
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
