//! The choice of frame size and parity (S3.18–S3.21).
//!
//! Each policy is one file with an implementation of [`Policy`]:
//!
//! - [`Fixed`]: BOLD, LIGHT and ROBUST, which never change.
//! - [`Flex`]: simple rules. The paper describes their effect, and the rules themselves are ours.
//! - [`Best`]: estimates the channel, and maximizes the expected yield of the air time.
//! - [`PolicyTable`]: a user-defined table.
//!
//! [`PolicyChoice`] selects one of them, or an implementation of [`Policy`] in another crate.
//!
//! `docs/explanation/coding.md` explains the policies, `docs/reference/coding.md` has the rules.

mod best;
mod beyond;
mod cuts;
mod estimate;
mod fixed;
mod flex;
mod needs;
mod table;
mod trials;
mod wholes;

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use windfall_base::Duration;
use windfall_wire_link::coded::{Fate, Level};

pub use best::Best;
pub use fixed::Fixed;
pub use flex::Flex;
pub use table::{
    MOST_FRAMES, MOST_RULES, MOST_STATES, PolicyTable, PolicyTableError, Sight, TableRule,
    TableState,
};

/// The facts from which a policy chooses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The bytes of the packet, frame check included, that the receiver lacks.
    pub bytes: usize,
    /// The bytes of the whole packet, frame check included.
    pub packet: usize,
    /// The time within which the ACK of an attempt must arrive; `None` without a lifetime.
    pub time_left: Option<Duration>,
    /// The packet waited for more than half of its lifetime before its first frame. The load
    /// exceeds the air time, so a more robust transmission delays other packets.
    pub is_scarce: bool,
    /// The time between an attempt and the next attempt at its lost parts, without their air time.
    pub round_trip: Duration,
    /// The number of frames that may still be sent if none is received completely, including this
    /// one; `None` for no limit.
    pub tries_left: Option<u32>,
    /// The owner accepts a damaged packet.
    pub welcomes_damage: bool,
    /// The bytes are contiguous, so a frame may carry them uncoded.
    pub may_be_uncoded: bool,
}

/// The format of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The maximum number of blocks, 1 to 5; 1 for an uncoded frame.
    pub blocks: u8,
    /// The parity of each block.
    pub level: Level,
    /// A failed frame is retransmitted as a whole; otherwise only its failed blocks are.
    pub whole: bool,
    /// The frame carries all bytes without blocks and parity.
    pub uncoded: bool,
}

/// The outcome of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// No ACK arrived: the frame, its header or the ACK was lost.
    Silence,
    /// The receiver's report of each block; empty if the receiver already had the packet.
    Report(&'a [Fate]),
}

/// Chooses frame size and parity from the receiver's reports alone.
pub trait Policy: fmt::Debug + Send {
    /// Chooses the next frame; `None` if the packet would be late, or is not worth its air time.
    fn plan(&mut self, request: &Request) -> Option<Plan>;

    /// Records the outcome of a frame with this plan, which carried `bytes` of its packet.
    fn learn(&mut self, plan: Plan, bytes: usize, outcome: Outcome<'_>);
}

/// The air time of a frame, including its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The time for each frame: headers, preamble, turn-around and ACK.
    pub per_frame: Duration,
    /// The time for each byte of its blocks.
    pub per_byte: Duration,
}

impl Cost {
    /// Returns the air time of a frame whose blocks have this number of bytes in total.
    #[must_use]
    pub fn of(&self, bytes: usize) -> Duration {
        self.per_frame.saturating_add(self.per_byte.saturating_mul(bytes as u64))
    }
}

/// The policies by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyKind {
    /// Frames of five blocks without parity (S3.18).
    Bold,
    /// Frames of five blocks with 5 % parity (S3.19).
    Light,
    /// Frames of one block with 29 % parity (S3.20).
    Robust,
    /// Frame size and parity follow the reports by simple rules (S3.21).
    Flex,
    /// [`Flex`](Self::Flex), but failed frames are retransmitted as a whole, as with
    /// [`Bold`](Self::Bold).
    FlexWhole,
    /// Frame size and parity follow estimates of loss, truncation and symbol errors.
    Best,
}

/// A policy that another crate implements.
#[derive(Clone, Copy)]
pub struct OwnPolicy {
    /// The name, by which two policies are compared.
    pub name: &'static str,
    /// Creates the policy for one sender, without observations.
    pub build: fn(Cost) -> Box<dyn Policy>,
}

impl PartialEq for OwnPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OwnPolicy {}

impl fmt::Debug for OwnPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The selected policy of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChoice {
    /// A policy with a name.
    Named(PolicyKind),
    /// A user-defined table.
    Table(Arc<PolicyTable>),
    /// A policy of another crate.
    Own(OwnPolicy),
}

impl PolicyChoice {
    /// Creates the policy for one sender, without observations.
    #[must_use]
    pub fn build(self, cost: Cost) -> Box<dyn Policy> {
        match self {
            Self::Named(kind) => kind.build(cost),
            Self::Table(table) => table.build(),
            Self::Own(own) => (own.build)(cost),
        }
    }
}

impl From<PolicyKind> for PolicyChoice {
    fn from(kind: PolicyKind) -> Self {
        Self::Named(kind)
    }
}

/// The text names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy \"{0}\": write bold, light, robust, flex or best, or a file that ends in .toml")]
pub struct UnknownPolicy(String);

impl PolicyKind {
    /// The policies that figures compare; the first four are those of the paper, in its order.
    pub const ALL: [Self; 5] = [Self::Bold, Self::Light, Self::Robust, Self::Flex, Self::Best];

    /// The name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bold => "bold",
            Self::Light => "light",
            Self::Robust => "robust",
            Self::Flex => "flex",
            Self::FlexWhole => "flex-whole",
            Self::Best => "best",
        }
    }

    /// Creates the policy for one sender, without observations.
    #[must_use]
    pub fn build(self, cost: Cost) -> Box<dyn Policy> {
        match self {
            Self::Bold => Box::new(Fixed::BOLD),
            Self::Light => Box::new(Fixed::LIGHT),
            Self::Robust => Box::new(Fixed::ROBUST),
            Self::Flex => Box::new(Flex::default()),
            Self::FlexWhole => Box::new(Flex::repeating_whole()),
            Self::Best => Box::new(Best::new(cost)),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        let mut all = Self::ALL.into_iter().chain([Self::FlexWhole]);
        let found = all.find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
