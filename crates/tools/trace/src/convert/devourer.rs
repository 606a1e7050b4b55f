//! devourer's JSON lines: `rx.frame` for a frame that passed its check, `rx.corrupt` for one that
//! did not.

use core::fmt::Write as _;

use serde::Deserialize;
use windfall_base::MemoryBudget;
use windfall_files::traces::error_trace::Fault;
use windfall_files::traces::{ErrorTrace, LineError};

use super::{ConvertError, frame_trace, line_for_each, not_empty};

/// The longest line that is written.
const LINE: usize = "{\"ev\":\"rx.corrupt\",\"len\":4294967295,\"crc\":1}\n".len();

#[derive(Deserialize)]
struct Line {
    ev: Option<String>,
    len: Option<u32>,
}

/// Reads a log: a damaged frame counts as lost, since the log does not say which bits are wrong.
///
/// Other events are skipped. Frames of which the receiver saw nothing are not in such a log. Takes
/// from `budget` the memory that the trace keeps.
///
/// # Errors
/// If a line is no JSON object, or none tells of a frame, or the memory does not suffice.
pub fn from_devourer(text: &str, budget: &mut MemoryBudget) -> Result<ErrorTrace, ConvertError> {
    let mut trace = frame_trace("a log of devourer");
    let mut lengths = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fix = "is no JSON object with an \"ev\"";
        let Line { ev, len } =
            serde_json::from_str(line).map_err(|_| LineError::new(i, line, fix))?;
        match ev.as_deref() {
            Some("rx.frame") => trace.push_ok(1),
            Some("rx.corrupt") => trace.push(Fault::Lost, 1),
            _ => continue,
        }
        lengths.push(len);
        budget.check(trace.memory() + lengths.capacity() * size_of::<Option<u32>>())?;
    }
    budget.take(trace.memory())?;
    let mut trace = not_empty(trace)?;
    if let Some(&Some(length)) = lengths.first()
        && lengths.iter().all(|other| *other == Some(length))
    {
        let mut header = trace.header().clone();
        header.frame_length = Some(length);
        trace = trace.with_header(header);
    }
    Ok(trace)
}

/// Writes a log; lost frames are not in it, since the receiver saw nothing of them.
///
/// # Errors
/// If the trace counts bits, or the log does not fit in the budget.
pub fn to_devourer(trace: &ErrorTrace, budget: &MemoryBudget) -> Result<String, ConvertError> {
    let length = trace.header().frame_length;
    let field = length.map_or(String::new(), |length| format!(",\"len\":{length}"));
    let mut text = line_for_each(trace, LINE, budget)?;
    let mut place = 0;
    let good = |text: &mut String, count: u64| {
        for _ in 0..count {
            let _ = writeln!(text, "{{\"ev\":\"rx.frame\"{field}}}");
        }
    };
    for entry in trace.entries() {
        good(&mut text, entry.at - place);
        place = entry.at + entry.count;
        if let Fault::Damaged { truncated, .. } = entry.fault {
            let cut = truncated.map(|bit| bit / 8);
            let field = match cut.or(length) {
                Some(bytes) => format!(",\"len\":{bytes}"),
                None => String::new(),
            };
            let _ = writeln!(text, "{{\"ev\":\"rx.corrupt\"{field},\"crc\":1}}");
        }
    }
    good(&mut text, trace.len() - place);
    Ok(text)
}
