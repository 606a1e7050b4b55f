//! The capacity of a line: logs show the traffic beside it.

use windfall_base::Instant;

use windfall_files::traces::rate_trace::{OPPORTUNITY, TracePosition};

use crate::medium::Line;

/// The moments at which a line that is never idle has carried another 1500 bytes; without end,
/// unless the line has a trace that is used once.
///
/// Empty for a line without a rate.
#[derive(Clone, Debug)]
pub struct Opportunities {
    line: Line,
    progress: Option<TracePosition>,
    last: Instant,
}

impl Opportunities {
    /// The opportunities of `line` from the start of the run.
    #[must_use]
    pub fn new(line: Line) -> Self {
        let progress = match &line {
            Line::Trace(trace) if trace.is_paused() => None,
            Line::Trace(trace) => Some(TracePosition::new(trace.clone())),
            Line::Rate(_) | Line::Paused | Line::Instant => None,
        };
        Self { line, progress, last: Instant::START }
    }
}

impl Iterator for Opportunities {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        self.last = match (&self.line, &mut self.progress) {
            (Line::Rate(rate), _) => self.last.saturating_add(rate.time_of(OPPORTUNITY)),
            (_, Some(progress)) => {
                let at = progress.finish(self.last, true, OPPORTUNITY);
                if progress.is_over(at) {
                    return None;
                }
                at
            }
            (_, None) => return None,
        };
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Rate;
    use windfall_files::traces::RateTrace;

    use super::*;

    fn millis(line: Line) -> Vec<u64> {
        Opportunities::new(line).take(4).map(|at| at.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn a_rate_has_one_for_every_1500_bytes() {
        let line = Line::Rate(Rate::from_mbps(12).unwrap());
        assert_eq!(millis(line), [1, 2, 3, 4]);
        assert!(millis(Line::Instant).is_empty());
        let pause: RateTrace = r#"{"StaticBwConfig":{"bw":"0bps"}}"#.parse().unwrap();
        assert!(millis(Line::Trace(pause)).is_empty());
    }

    #[test]
    fn a_trace_has_its_own_and_starts_over() {
        let trace = "2\n2\n5\n".parse().unwrap();
        assert_eq!(millis(Line::Trace(trace)), [2, 2, 5, 7]);
    }

    #[test]
    fn a_trace_that_is_used_once_has_no_more_after_its_end() {
        let trace: RateTrace = "2\n2\n5\n".parse().unwrap();
        assert_eq!(millis(Line::Trace(trace.once())), [2, 2, 5]);
    }
}
