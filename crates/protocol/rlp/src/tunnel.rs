//! Blocks between two clocks: what the interworking function tunnels to another machine.

use std::collections::VecDeque;

use windfall_wire_link::rlp::RLP_FRAME_LEN;

/// The buffer between a source of blocks with one clock and a sink with another (S1.27).
///
/// One block goes in every 20 ms of the one clock, and one comes out every 20 ms of the other. A
/// difference of the clocks lets the buffer run over, and a block is discarded, or run empty, and a
/// slot has no block: RLP takes either for a loss on the air.
#[derive(Clone, Debug)]
pub struct BlockTunnel<T = [u8; RLP_FRAME_LEN]> {
    blocks: VecDeque<T>,
    depth: usize,
    capacity: usize,
    is_filling: bool,
    overruns: u64,
    underruns: u64,
}

impl<T> BlockTunnel<T> {
    /// A tunnel that starts to give when it has `depth` blocks and keeps up to twice that many.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        let depth = depth.max(1);
        Self {
            blocks: VecDeque::new(),
            depth,
            capacity: 2 * depth,
            is_filling: true,
            overruns: 0,
            underruns: 0,
        }
    }

    /// Takes a block; the oldest one is discarded where there is no room.
    pub fn put(&mut self, block: T) {
        if self.blocks.len() >= self.capacity {
            self.overruns += 1;
            self.blocks.pop_front();
        }
        self.blocks.push_back(block);
        self.is_filling &= self.blocks.len() < self.depth;
    }

    /// Gives the block of a slot; `None` before the first ones have come, and where the buffer has
    /// run empty.
    pub fn take(&mut self) -> Option<T> {
        if self.is_filling {
            return None;
        }
        let block = self.blocks.pop_front();
        if block.is_none() {
            self.underruns += 1;
            self.is_filling = true;
        }
        block
    }

    /// Blocks that were discarded because the sink is slower.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Times that the buffer ran empty because the sink is faster.
    #[must_use]
    pub fn underruns(&self) -> u64 {
        self.underruns
    }
}
