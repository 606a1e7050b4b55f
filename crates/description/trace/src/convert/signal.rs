//! Tables of frames with the signal of each, as measurements of CRAWDAD and others have them: a
//! frame arrives with the probability that its ratio of signal to noise gives it.

use windfall_base::{Dbm, MemoryBudget, Rate, Seed, Stream};
use windfall_channel_trace::error_trace::{Fault, TraceHeader, Unit};
use windfall_channel_trace::{ErrorTrace, LineError};

use super::{ConvertError, MAX_FRAMES, frame_trace, not_empty, success_of};

/// Fields that say that there is no value, beside empty ones.
const NO_VALUE: [&str; 4] = ["-", "nan", "na", "null"];

/// The frames of a table, and what it does not say of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalFrames {
    /// The name of the column with the signal or the ratio.
    pub column: String,
    /// The noise, if the column has the power of the signal in dBm; `None` if it has the ratio of
    /// signal to noise in dB.
    pub noise: Option<Dbm>,
    /// The length of the frames in bytes.
    pub length: u32,
    /// Their rate, one of 802.11b/g.
    pub rate: Rate,
    /// The seed of what is drawn.
    pub seed: Seed,
}

/// Draws a trace from a table of frames, a line for each below a line with the names of the
/// columns, which may be a comment; fields are separated by commas, semicolons or tabs, or by
/// blanks where a line has none of these, and other lines that begin with `#` or `%` are comments.
///
/// A frame without a value was not received. Takes from `budget` the memory that the trace keeps.
///
/// # Errors
/// If no column has the name, a field is no number, or there is no frame, or the memory does not
/// suffice.
pub fn from_signal(
    text: &str,
    frames: &SignalFrames,
    budget: &mut MemoryBudget,
) -> Result<ErrorTrace, ConvertError> {
    let (head, place) = head(text, &frames.column)?;
    let noise = frames.noise.map_or(0.0, |noise| noise.0);
    let stream = Stream::new(frames.seed, "signal");
    let mut trace = frame_trace("a table of frames with their signal");
    for (i, line) in text.lines().enumerate().skip(head + 1) {
        let line = line.trim_end();
        if line.trim().is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let fail = |fix| LineError::new(i, line, fix);
        let fields = fields(line);
        let field = fields.get(place).ok_or_else(|| fail("has no such column"))?;
        let is_missing = field.is_empty() || NO_VALUE.contains(&&*field.to_ascii_lowercase());
        let arrives = !is_missing && {
            let value = field.parse::<f64>().ok().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| fail("has no number in its column"))?;
            stream.unit_at(trace.len()) < success_of(frames.rate, value - noise, frames.length)?
        };
        if arrives {
            trace.push_ok(1);
        } else {
            trace.push(Fault::Lost, 1);
        }
        if trace.len() > MAX_FRAMES {
            return Err(ConvertError::TooLong(trace.len()));
        }
        budget.check(trace.memory())?;
    }
    let SignalFrames { seed, rate, length, .. } = *frames;
    let header = TraceHeader {
        seed: Some(seed),
        unit: Unit::Frame,
        rate: Some(rate),
        workload: format!("converted from a table, its column {}, {length} bytes", frames.column),
        ..trace.header().clone()
    };
    let trace = trace.with_header(header);
    budget.take(trace.memory())?;
    not_empty(trace)
}

/// The number of the line that names the columns, and the place of this one.
fn head(text: &str, column: &str) -> Result<(usize, usize), ConvertError> {
    let mut names = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let is_comment = line.starts_with(['#', '%']);
        let found = fields(line.trim_start_matches(['#', '%', ' ']).trim_end());
        if let Some(place) = found.iter().position(|name| name.eq_ignore_ascii_case(column)) {
            return Ok((i, place));
        }
        if !line.trim().is_empty() && !is_comment {
            names = found;
            break;
        }
    }
    let names = names.join(", ");
    Err(ConvertError::Whole(format!("no column is called {column:?}: there are {names}")))
}

/// The fields of a line; those that commas, semicolons or tabs separate may be empty.
fn fields(line: &str) -> Vec<&str> {
    let line = line.trim_matches(' ');
    let separator = [',', ';', '\t'].into_iter().find(|it| line.contains(*it));
    match separator {
        Some(separator) => line.split(separator).map(|it| it.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}
