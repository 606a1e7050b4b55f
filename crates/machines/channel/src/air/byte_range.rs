//! The bytes of a packet that bit errors can hit.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use windfall_base::ParseUnitError;

/// Bytes of a packet, first to last but one, counted from 0: `0..40`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange(pub Range<u32>);

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

impl FromStr for ByteRange {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let range = text.split_once("..").and_then(|(start, end)| {
            let range = start.trim().parse().ok()?..end.trim().parse().ok()?;
            (range.start < range.end).then_some(range)
        });
        range.map(Self).ok_or_else(|| {
            let fix = "write the first byte and the first byte after it, such as 28..1500";
            ParseUnitError::new("range of bytes", text, fix)
        })
    }
}
