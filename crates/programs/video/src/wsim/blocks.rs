//! The damage to radio blocks that a trace describes.

use windfall_base::Stream;
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Entry, Fault, Index};

/// Bytes of a radio block.
pub(crate) const BLOCK_LEN: usize = 30;

/// The reason for which a trace is none of radio blocks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockTraceError {
    /// It counts the bits of a stream.
    #[error("the trace counts bits, not radio blocks; make one with `windfall trace synth`")]
    OfBits,
    /// Its frames have another length than radio blocks.
    #[error("the frames of the trace have {0} bytes; radio blocks have 30")]
    Length(u32),
    /// It covers nothing.
    #[error("the trace covers no block")]
    Empty,
}

//= S1.36
//= S1.37
//= S1.58
/// A sequence of radio blocks, each correct or damaged, that starts over at its end.
#[derive(Clone, Debug)]
pub struct BlockErrors {
    entries: Vec<Entry>,
    length: u64,
    noise: Stream,
}

impl BlockErrors {
    /// Takes the frames of a trace as blocks. Where it does not say which bits of a damaged block
    /// are inverted, `noise` inverts half of them.
    ///
    /// # Errors
    /// If it is not one of blocks of 30 bytes.
    pub fn new(trace: &ErrorTrace, noise: Stream) -> Result<Self, BlockTraceError> {
        let header = trace.header();
        if header.index == Index::Bit {
            return Err(BlockTraceError::OfBits);
        }
        if let Some(length) = header.frame_length.filter(|it| *it as usize != BLOCK_LEN) {
            return Err(BlockTraceError::Length(length));
        }
        if trace.is_empty() {
            return Err(BlockTraceError::Empty);
        }
        Ok(Self { entries: trace.entries().to_vec(), length: trace.len(), noise })
    }

    /// Returns the number of blocks before the trace starts over.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Returns `true` if there are none, which [`new`](Self::new) refuses.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn fault(&self, number: u64) -> Option<&Fault> {
        let number = number % self.length;
        let behind = self.entries.partition_point(|entry| entry.at <= number);
        let entry = self.entries.get(behind.checked_sub(1)?)?;
        (number < entry.at + entry.count).then_some(&entry.fault)
    }

    //= S1.40
    /// Tells whether block `number` is damaged.
    #[must_use]
    pub fn is_damaged(&self, number: u64) -> bool {
        self.fault(number).is_some()
    }

    /// Returns the share of damaged blocks (BLER).
    #[must_use]
    pub fn block_error_rate(&self) -> f64 {
        let damaged: u64 = self.entries.iter().map(|entry| entry.count).sum();
        damaged as f64 / self.length as f64
    }

    /// Calls `invert` with each inverted bit of block `number`, in the order of transmission.
    pub(crate) fn inverted(&self, number: u64, mut invert: impl FnMut(usize)) {
        match self.fault(number) {
            None => {}
            Some(Fault::Damaged { truncated: None, inverted }) if !inverted.is_empty() => {
                let bits = inverted.iter().map(|bit| *bit as usize);
                bits.filter(|bit| *bit < 8 * BLOCK_LEN).for_each(invert);
            }
            Some(_) => {
                let mut noise = self.noise.at(number);
                (0..8 * BLOCK_LEN).filter(|_| noise.below(2) == 1).for_each(&mut invert);
            }
        }
    }
}
