//! The event queue: the next wake-up of each element of a network.
//!
//! It is a winner tree over the elements. Each leaf holds the wake-up of one element, each inner
//! node the earlier of its two children, and the root the earliest of all. Setting, moving and
//! cancelling a wake-up are one operation: write a leaf, then update the path to the root. The
//! nodes on the path are known before any comparison, so the loads overlap without branches.

use windfall_base::Instant;

use crate::ElementId;

/// No wake-up. It is later than every key, because elements are numbered below `u32::MAX`.
const NONE: u128 = u128::MAX;

/// The wake-ups of a fixed number of elements, at most one each, in order of (instant, element).
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Node 1 is the root, the children of `i` are `2i` and `2i + 1`, and the leaves begin at
    /// `leaves`.
    nodes: Vec<u128>,
    leaves: usize,
}

impl Agenda {
    /// Creates an empty agenda for elements 0 to `elements - 1`.
    #[must_use]
    pub fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two();
        Self { nodes: vec![NONE; 2 * leaves], leaves }
    }

    /// Sets, moves or cancels the wake-up of `element`. The time is logarithmic in the number of
    /// elements.
    ///
    /// # Panics
    /// If `element` is not below the number of elements.
    pub fn set(&mut self, element: ElementId, at: Option<Instant>) {
        let key = at.map_or(NONE, |at| (u128::from(at.as_nanos()) << 32) | u128::from(element.0));
        let mut place = self.leaves + element.0 as usize;
        if self.nodes[place] == key {
            return;
        }
        self.nodes[place] = key;
        let mut winner = key;
        while place > 1 {
            winner = winner.min(self.nodes[place ^ 1]);
            place /= 2;
            self.nodes[place] = winner;
        }
    }

    /// Returns the earliest wake-up, of the lowest element if several share the instant; `None` if
    /// there is no wake-up.
    #[must_use]
    pub fn next(&self) -> Option<(Instant, ElementId)> {
        let key = self.nodes[1];
        (key != NONE).then(|| (Instant::from_nanos((key >> 32) as u64), ElementId(key as u32)))
    }
}

#[cfg(test)]
mod tests;
