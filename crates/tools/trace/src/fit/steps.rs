//! A trace as a row of right and wrong steps.

use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, Index};

use super::FitError;

/// The meaning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitLevel {
    /// A frame; wrong is one that was lost.
    Loss,
    /// A frame; wrong is one that did not arrive whole.
    Frame,
    /// A bit of an arrived frame; wrong is an inverted one.
    Bit,
}

/// A row of right and wrong steps, by stretches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Numbers of right steps and of wrong ones after them; only the first and last may be 0.
    pub(super) runs: Vec<(u64, u64)>,
    pub(super) count: u64,
    pub(super) wrong: u64,
}

impl Steps {
    /// The steps of `trace` at `level`.
    ///
    /// # Errors
    /// If the trace tells nothing of such steps.
    pub fn of(trace: &ErrorTrace, level: FitLevel) -> Result<Self, FitError> {
        let mut this = Self::default();
        match (trace.header().index, level) {
            (Index::Bit, FitLevel::Bit) => {
                for entry in trace.entries() {
                    this.push(entry.at - this.count, entry.count);
                }
                this.push(trace.len() - this.count, 0);
            }
            (Index::Bit, _) => return Err(FitError::NoFrames),
            (Index::Frame, FitLevel::Bit) => this.push_bits(trace)?,
            (Index::Frame, level) => {
                for entry in trace.entries() {
                    if level == FitLevel::Frame || entry.fault == Fault::Lost {
                        this.push(entry.at - this.count, entry.count);
                    }
                }
                this.push(trace.len() - this.count, 0);
            }
        }
        Ok(this)
    }

    /// The bits of all frames that arrived, as one row.
    fn push_bits(&mut self, trace: &ErrorTrace) -> Result<(), FitError> {
        if trace.header().unit == windfall_files::traces::error_trace::Unit::Frame {
            return Err(FitError::NoBits);
        }
        let length = trace.header().frame_length.ok_or(FitError::NoLength)?;
        let length = u64::from(length) * 8;
        let mut place = 0;
        for entry in trace.entries() {
            self.push((entry.at - place).saturating_mul(length), 0);
            place = entry.at + entry.count;
            let Fault::Damaged { truncated, inverted } = &entry.fault else { continue };
            // Of a byte that is cut nothing is left.
            let end = truncated.map_or(length, |cut| length.min(u64::from(cut) / 8 * 8));
            let mut done = 0;
            for bit in inverted.iter().map(|&bit| u64::from(bit)).take_while(|&bit| bit < end) {
                self.push(bit - done, 1);
                done = bit + 1;
            }
            self.push(end - done, 0);
        }
        self.push((trace.len() - place).saturating_mul(length), 0);
        Ok(())
    }

    /// Appends `right` right steps, then `wrong` wrong ones.
    fn push(&mut self, right: u64, wrong: u64) {
        self.count = self.count.saturating_add(right).saturating_add(wrong);
        self.wrong += wrong;
        match self.runs.last_mut() {
            Some((before, after)) if *after == 0 => {
                *before = before.saturating_add(right);
                *after = wrong;
            }
            Some((_, before)) if right == 0 => *before += wrong,
            _ => self.runs.push((right, wrong)),
        }
    }
}
