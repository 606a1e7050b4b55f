//! Policies that never change.

use windfall_wire_link::coded::Level;

use super::{Outcome, Plan, Policy, Request};

/// A policy with one frame format, which retransmits failed frames as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(Plan);

impl Fixed {
    //= S3.18
    /// Frames of five blocks without parity: pure local retransmission.
    pub const BOLD: Self = Self::new(5, Level::NONE);
    //= S3.19
    /// Frames of five blocks, 5 % of them parity.
    pub const LIGHT: Self = Self::new(5, Level::LIGHT);
    //= S3.20
    /// Frames of one block, 29 % of it parity.
    pub const ROBUST: Self = Self::new(1, Level::ROBUST);

    const fn new(blocks: u8, level: Level) -> Self {
        Self(Plan { blocks, level, whole: true, uncoded: false })
    }
}

impl Policy for Fixed {
    fn plan(&mut self, _request: &Request) -> Option<Plan> {
        Some(self.0)
    }

    fn learn(&mut self, _plan: Plan, _bytes: usize, _outcome: Outcome<'_>) {}
}
