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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tunnel_gives_once_it_is_filled_and_fills_again_after_it_ran_empty() {
        let mut tunnel = BlockTunnel::new(2);
        tunnel.put(1);
        assert_eq!(tunnel.take(), None);
        tunnel.put(2);
        assert_eq!([tunnel.take(), tunnel.take()], [Some(1), Some(2)]);
        assert_eq!((tunnel.underruns(), tunnel.overruns()), (0, 0));
        assert_eq!([tunnel.take(), tunnel.take()], [None, None]);
        assert_eq!(tunnel.underruns(), 1, "it is filling again");
        tunnel.put(3);
        assert_eq!(tunnel.take(), None);
        tunnel.put(4);
        assert_eq!(tunnel.take(), Some(3));
        // Once it gives, a single block is enough.
        tunnel.take();
        tunnel.put(5);
        assert_eq!((tunnel.take(), tunnel.underruns()), (Some(5), 1));
    }

    #[test]
    fn the_oldest_block_gives_way_where_there_are_twice_as_many_as_it_begins_with() {
        let mut tunnel = BlockTunnel::new(2);
        (0..7).for_each(|block| tunnel.put(block));
        assert_eq!((tunnel.overruns(), tunnel.underruns()), (3, 0));
        assert_eq!(std::iter::from_fn(|| tunnel.take()).collect::<Vec<_>>(), [3, 4, 5, 6]);
        let mut least = BlockTunnel::new(0);
        least.put('a');
        assert_eq!(least.take(), Some('a'));
    }
}
