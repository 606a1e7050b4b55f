//! Recording: the events of one direction become a trace that repeats them.

use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Counted, Fault, Index, Origin, TraceHeader};

use crate::event::MediumEvent;
use crate::exposure::Exposure;
use crate::fate::FrameFate;

/// Takes down what the air of one direction does, for an exact replay.
///
/// Give it every event of the direction, in order. A collision counts as a loss: a replay on the
/// same medium would collide again by itself. So does a frame that its receiver did not notice.
#[derive(Clone, Debug)]
pub struct Recorder {
    trace: ErrorTrace,
    /// The length of the first frame.
    length: Option<u32>,
    /// Set while all frames so far had that length.
    is_uniform: bool,
}

impl Recorder {
    /// A recorder for an air that exposes so much; `header` says the rest about the run.
    ///
    /// The index, the origin and which frames count follow from the exposure.
    #[must_use]
    pub fn new(mut header: TraceHeader, exposure: Exposure) -> Self {
        header.index = Index::Frame;
        let is_whole = exposure.header || exposure.trailer;
        header.origin = if is_whole { Origin::Frame } else { Origin::Payload };
        header.frames = if exposure.control { Counted::All } else { Counted::Packets };
        header.frame_length = None;
        Self { trace: ErrorTrace::new(header), length: None, is_uniform: true }
    }

    /// Takes down the fate of one frame; frames that the air skips, or that the header does not
    /// count, are not part of it.
    pub fn record(&mut self, event: &MediumEvent) {
        let header = self.trace.header();
        let is_counted = match header.frames {
            Counted::Packets => event.tag.is_some() || event.is_repair,
            Counted::All => true,
        };
        // Where no receiver noticed a frame, no receiver has numbered it.
        let is_judged = event.number.is_some() || matches!(event.fate, FrameFate::Missed(_));
        if !(is_counted && is_judged) {
            return;
        }
        let origin = match header.origin {
            Origin::Payload => event.header * 8,
            Origin::Frame => 0,
        };
        // Parts that the air spares do not count as exposed.
        let length = match header.origin {
            Origin::Payload => event.length - event.header - event.trailer,
            Origin::Frame => event.length,
        };
        self.is_uniform &= *self.length.get_or_insert(length) == length;
        match &event.fate {
            FrameFate::Intact => self.trace.push_ok(1),
            FrameFate::Lost | FrameFate::Collided | FrameFate::Missed(_) => {
                self.trace.push(Fault::Lost, 1);
            }
            FrameFate::Damaged { truncated, inverted } => {
                let inverted = inverted.iter().filter_map(|bit| bit.checked_sub(origin)).collect();
                let truncated = truncated.map(|bit| bit.saturating_sub(origin));
                let mut inverted = header.bit_order.renumber(inverted);
                // Of a byte that is cut nothing is left, in whatever order its bits were sent.
                inverted.retain(|bit| truncated.is_none_or(|cut| *bit < cut));
                self.trace.push(Fault::Damaged { truncated, inverted: inverted.into() }, 1);
            }
        }
    }

    /// The trace recorded so far.
    #[must_use]
    pub fn finish(self) -> ErrorTrace {
        let frame_length = self.length.filter(|_| self.is_uniform);
        let header = TraceHeader { frame_length, ..self.trace.header().clone() };
        self.trace.with_header(header)
    }
}

#[cfg(test)]
mod tests;
