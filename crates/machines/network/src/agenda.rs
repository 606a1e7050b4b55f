//! The event queue: when each element of a network wants to be woken.
//!
//! A winner tree over the elements. Each leaf holds the wake-up of one element, each inner node the
//! earlier of its two children, the root the earliest of all. Setting, moving and cancelling a
//! wake-up are the same operation: write a leaf, then repair the path to the root. The places on
//! that path are known before anything is compared, so the loads overlap and nothing depends on a
//! branch.

use windfall_base::Instant;

use crate::ElementId;

/// No wake-up; later than every key, since elements are numbered below `u32::MAX`.
const NONE: u128 = u128::MAX;

/// The wake-ups of a fixed number of elements, at most one each, in order of (instant, element).
#[derive(Clone, Debug)]
pub struct Agenda {
    /// Node 1 is the root, the children of `i` are `2i` and `2i + 1`, the leaves begin at `leaves`.
    nodes: Vec<u128>,
    leaves: usize,
}

impl Agenda {
    /// An empty agenda for elements 0 to `elements - 1`.
    #[must_use]
    pub fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two();
        Self { nodes: vec![NONE; 2 * leaves], leaves }
    }

    /// Sets, moves or cancels the wake-up of `element`. Takes time logarithmic in the elements.
    ///
    /// # Panics
    /// If the agenda was not made for that many elements.
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

    /// The earliest wake-up, and of elements that share the instant the first; `None` if no element
    /// waits.
    #[must_use]
    pub fn next(&self) -> Option<(Instant, ElementId)> {
        let key = self.nodes[1];
        (key != NONE).then(|| (Instant::from_nanos((key >> 32) as u64), ElementId(key as u32)))
    }
}

#[cfg(test)]
mod tests;
