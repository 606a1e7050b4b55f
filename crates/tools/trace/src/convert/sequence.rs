//! Tables of received frames, a line for each, as measurements of CRAWDAD and others have them: a
//! number that is missing in their sequence is a frame that was lost.

use core::num::NonZeroU64;

use windfall_base::MemoryBudget;
use windfall_files::traces::error_trace::Fault;
use windfall_files::traces::{ErrorTrace, LineError};

use super::{ConvertError, MAX_FRAMES, frame_trace, not_empty};

/// The column of a table that has the sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceColumn {
    /// The number of the column, from 1.
    pub column: NonZeroU64,
    /// The number after which the sequence starts over at 0, such as 4096 for 802.11; `None`: it
    /// never does.
    pub modulo: Option<NonZeroU64>,
}

/// Reads a table of received frames; fields are separated by blanks, commas or semicolons, and
/// lines that begin with `#` or `%` are comments. The first line may name the columns.
///
/// A number that comes twice in a row is one frame. Takes from `budget` the memory that the trace
/// keeps.
///
/// # Errors
/// If a line has no such number, or a number lies before the one above and the sequence does not
/// start over, or there is none, or the memory does not suffice.
pub fn from_sequence(
    text: &str,
    column: SequenceColumn,
    budget: &mut MemoryBudget,
) -> Result<ErrorTrace, ConvertError> {
    let mut trace = frame_trace("a table of received frames");
    let mut last = None;
    let mut is_first = true;
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', '%']) {
            continue;
        }
        let fail = |fix| LineError::new(i, trimmed, fix);
        let mut fields = trimmed
            .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
            .filter(|it| !it.is_empty());
        let place = usize::try_from(column.column.get() - 1).unwrap_or(usize::MAX);
        let field = fields.nth(place).ok_or_else(|| fail("has no such column"))?;
        if core::mem::take(&mut is_first)
            && field.starts_with(|c: char| c.is_alphabetic() || c == '"' || c == '_')
        {
            continue;
        }
        let number = field.parse::<u64>();
        let number = number.map_err(|_| fail("has no whole number in its column"))?;
        let step = match (last, column.modulo) {
            (_, Some(modulo)) if number >= modulo.get() => {
                return Err(fail("has a number that is not below the modulus").into());
            }
            (None, _) => 1,
            (Some(last), Some(modulo)) => {
                let step = (number + modulo.get() - last) % modulo.get();
                // Serial numbers that are farther away are before the other (RFC 1982).
                if step > modulo.get() / 2 {
                    let fix = "has a number before that above it, or more than half of the numbers \
                               between them are missing: put the lines into the order of sending";
                    return Err(fail(fix).into());
                }
                step
            }
            (Some(last), None) => number
                .checked_sub(last)
                .ok_or_else(|| fail("has a number before that above it: sort, or say --modulo"))?,
        };
        last = Some(number);
        if step > 1 {
            trace.push(Fault::Lost, step - 1);
        }
        trace.push_ok(u64::from(step > 0));
        if trace.len() > MAX_FRAMES {
            return Err(ConvertError::TooLong(trace.len()));
        }
        budget.check(trace.memory())?;
    }
    budget.take(trace.memory())?;
    not_empty(trace)
}
