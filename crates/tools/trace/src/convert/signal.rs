//! Tables of frames with the signal of each, as measurements of CRAWDAD and others have them: a
//! frame arrives with the probability that its ratio of signal to noise gives it.

use windfall_base::{Dbm, MemoryBudget, Rate, Seed, Stream};
use windfall_files::traces::error_trace::{Fault, TraceHeader, Unit};
use windfall_files::traces::{ErrorTrace, LineError};

use crate::table::layout::Layout;
use crate::table::{MeasurementError, is_nothing, unified};

use super::{ConvertError, MAX_FRAMES, frame_trace, not_empty, success_of};

/// The frames of a table, and what it does not say of them.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalFrames {
    /// The name or the number of the column with the signal or the ratio.
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

/// Draws a trace from a table of frames, a line for each; of the forms that tables of changes have,
/// with a line of names first, which may be a comment, or a column by its number from 1.
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
    let text = &unified(text);
    let layout = Layout::of(text, &[&frames.column]).map_err(refused)?;
    let place = layout.places.first().copied().unwrap_or_default();
    let noise = frames.noise.map_or(0.0, |noise| noise.0);
    let stream = Stream::new(frames.seed, "signal");
    let mut trace = frame_trace("a table of frames with their signal");
    for (number, cells) in layout.rows(text) {
        let cells = cells.map_err(refused)?;
        let fail = |fix| {
            let i = usize::try_from(number - 1).unwrap_or(usize::MAX);
            LineError::new(i, text.lines().nth(i).unwrap_or_default().trim_end(), fix)
        };
        let cell = cells.get(place).ok_or_else(|| fail("has no such column"))?;
        let arrives = !is_nothing(cell) && {
            let value = layout.number(cell).ok_or_else(|| fail("has no number in its column"))?;
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

/// The refusal of a table.
fn refused(error: MeasurementError) -> ConvertError {
    ConvertError::Whole(match error {
        MeasurementError::NoColumn(name, there) => {
            format!("no column is called {name:?}: there are {there}")
        }
        error => error.to_string(),
    })
}
