//! The errors of a link by the event log of a run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use windfall_base::{MemoryBudget, OverBudget, Rate};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Counted, Fault, TraceHeader};

/// The version of the format that is read.
const FORMAT: u32 = 1;

/// The reason for which a log has no channel.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A line is none of a log.
    #[error("line {number} is no event: {source}; write a log with --log FILE")]
    Line {
        /// The number of the line, from 1.
        number: usize,
        /// The fault in it.
        source: serde_json::Error,
    },
    /// It is of another version.
    #[error("the log has format {0}; this program reads format {FORMAT}")]
    Format(u32),
    /// It does not say of which version it is.
    #[error("the first line of the log has no format; write a log with --log FILE")]
    NoFormat,
    /// No frame crossed a medium.
    #[error("no frame crossed a medium in this log")]
    NoFrame,
    /// There is not enough memory for it.
    #[error(transparent)]
    TooLong(#[from] OverBudget),
}

#[derive(Deserialize)]
struct Line {
    ev: String,
    format: Option<u32>,
    #[serde(default)]
    at: String,
    #[serde(default)]
    len: u32,
    medium: Option<Medium>,
}

#[derive(Deserialize)]
struct Medium {
    from: u16,
    frame: Option<u64>,
    #[serde(default)]
    header: u32,
    began: Option<f64>,
    ended: Option<f64>,
    truncated: Option<u32>,
    #[serde(default)]
    inverted: Vec<u32>,
}

/// The frames of one direction of a medium.
#[derive(Default)]
struct Direction {
    faults: BTreeMap<u64, Fault>,
    /// The number behind the last frame.
    frames: u64,
    /// The bytes of the longest and of the shortest frame.
    lengths: Option<(u32, u32)>,
    /// Bits in a second of the fastest frame.
    rate: f64,
}

/// Tells whether a file begins as an event log does.
pub(crate) fn is_log(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<Line>(first).is_ok_and(|line| line.ev == "header")
}

/// Makes a trace of the direction of which the log tells the most frames.
pub(crate) fn trace_of(text: &str, budget: &mut MemoryBudget) -> Result<ErrorTrace, LogError> {
    let mut directions: BTreeMap<(String, u16), Direction> = BTreeMap::new();
    let mut listed = 0;
    let count = text.lines().count();
    for (at, line) in text.lines().enumerate() {
        let line: Line = match serde_json::from_str(line) {
            Ok(line) => line,
            // A run that was ended leaves a part of its last line.
            Err(_) if at > 0 && at + 1 == count && !text.ends_with('\n') => break,
            Err(source) => return Err(LogError::Line { number: at + 1, source }),
        };
        if at == 0 {
            match line.format.ok_or(LogError::NoFormat)? {
                FORMAT => {}
                other => return Err(LogError::Format(other)),
            }
        }
        let Some(medium) = line.medium.filter(|_| line.ev.starts_with("medium.")) else {
            continue;
        };
        let Some(number) = medium.frame else { continue };
        let direction = directions.entry((line.at, medium.from)).or_default();
        direction.take(&line.ev, line.len, number, medium, &mut listed);
        budget.check(4 * listed + 64 * size_of::<Fault>() / 16)?;
    }
    // Both ways of a circuit have as many blocks: the worse one counts.
    let busiest = directions.into_values().max_by_key(|it| (it.frames, it.faults.len()));
    let direction = busiest.ok_or(LogError::NoFrame)?;
    Ok(direction.into_trace())
}

impl Direction {
    fn take(&mut self, ev: &str, len: u32, number: u64, medium: Medium, listed: &mut usize) {
        // A frame beyond any run's is none.
        let number = number.min(1 << 40);
        self.frames = self.frames.max(number + 1);
        let whole = len;
        let len = len.saturating_sub(medium.header);
        let (longest, shortest) = self.lengths.unwrap_or((len, len));
        self.lengths = Some((longest.max(len), shortest.min(len)));
        if let Some(time) = medium.began.zip(medium.ended).map(|(began, ended)| ended - began)
            && time > 0.0
        {
            self.rate = self.rate.max(8.0 * f64::from(whole) / time);
        }
        let header = medium.header.saturating_mul(8);
        let end = len.saturating_mul(8);
        let behind = |bit: u32| bit.checked_sub(header);
        let fault = match ev {
            "medium.damaged" => Fault::Damaged {
                truncated: medium.truncated.map(|bit| bit.saturating_sub(header)),
                inverted: {
                    // What a trace needs, and a log that was tampered with need not keep.
                    let bits = medium.inverted.into_iter().filter_map(behind);
                    let bits: BTreeSet<u32> = bits.filter(|bit| *bit < end).collect();
                    bits.into_iter().collect()
                },
            },
            "medium.intact" => return,
            _ => Fault::Lost,
        };
        *listed += size_of::<Fault>() + 48;
        if let Fault::Damaged { inverted, .. } = &fault {
            *listed += inverted.len();
        }
        self.faults.insert(number, fault);
    }

    fn into_trace(self) -> ErrorTrace {
        let same = self.lengths.filter(|(longest, shortest)| longest == shortest);
        let mut trace = ErrorTrace::new(TraceHeader {
            rate: Rate::from_bps(self.rate.round() as u64),
            frames: Counted::Packets,
            frame_length: same.map(|(length, _)| length),
            workload: "an event log".to_owned(),
            ..TraceHeader::default()
        });
        for (number, fault) in self.faults {
            trace.push_ok(number - trace.len());
            trace.push(fault, 1);
        }
        trace.push_ok(self.frames - trace.len());
        trace
    }
}
