//! Replay of an error trace.

use std::sync::Arc;

use windfall_files::traces::error_trace::{ErrorTrace, Fault, Index, Origin};

use super::{FrameDamage, Target};

/// A trace being replayed.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    trace: Arc<ErrorTrace>,
    /// Exposed bits so far, for a trace that counts bits.
    passed: u64,
}

impl Replay {
    pub(super) fn new(trace: Arc<ErrorTrace>) -> Self {
        Self { trace, passed: 0 }
    }

    //= S3.3
    /// Does to the frame of this number what the trace says.
    pub(super) fn apply(&mut self, number: u64, target: &Target, damage: &mut FrameDamage) {
        if self.trace.header().index == Index::Bit {
            self.trace.sample_hits(self.passed, target.bits, |bit| damage.positions.push(bit));
            self.passed = self.passed.wrapping_add(u64::from(target.bits));
            return;
        }
        let origin = match self.trace.header().origin {
            Origin::Payload => target.origin,
            Origin::Frame => 0,
        };
        match self.trace.fault(number) {
            None | Some(Fault::Inverted) => {}
            Some(Fault::Lost) => damage.lost = true,
            Some(Fault::Damaged { truncated, inverted }) => {
                let shift = |bit: u32| bit.saturating_add(origin);
                if let Some(bit) = truncated.map(shift).filter(|&bit| bit < target.open.end) {
                    damage.whole_cut = Some(damage.whole_cut.map_or(bit, |cut| cut.min(bit)));
                }
                // A trace of longer frames, or of an air that spared less, hits what may be hit.
                let inverted = self.trace.header().bit_order.renumber(inverted.to_vec());
                let bits = inverted.into_iter().map(shift);
                damage.whole.extend(bits.filter(|bit| target.open.contains(bit)));
            }
        }
    }
}
