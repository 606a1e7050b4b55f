//! How large frames are and how much parity their blocks have (S3.18–S3.21).
//!
//! One trait, one file for each way of choosing:
//!
//! - [`Fixed`]: BOLD, LIGHT and ROBUST never change.
//! - [`Flex`]: simple rules, as the paper says; which ones it does not say, so they are ours.
//! - [`Best`]: estimates the air and takes what promises most for the air time.
//! - [`PolicyTable`]: a table of one's own.
//!
//! [`PolicyChoice`] names any of them, or another implementation of [`Policy`].
//!
//! `docs/coding.md` describes them and the reasons.

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

/// The facts by which a policy chooses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes of the packet, its frame check included, that the receiver lacks.
    pub bytes: usize,
    /// Bytes of the whole packet, its frame check included.
    pub packet: usize,
    /// Until an attempt must have had its answer so that the packet is in time, if ever.
    pub time_left: Option<Duration>,
    /// It has waited for more than half of its lifetime before its first frame: the load exceeds
    /// the air time, so a surer delivery costs other packets.
    pub is_scarce: bool,
    /// The time between an attempt and the next at its lost parts, without their air time.
    pub round_trip: Duration,
    /// Frames that may still be sent for it if none is taken whole, this one included; without
    /// limit if `None`.
    pub tries_left: Option<u32>,
    /// The owner of the packet takes it damaged.
    pub welcomes_damage: bool,
    /// The bytes are in one piece, which a frame may carry uncoded.
    pub may_be_uncoded: bool,
}

/// The plan of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Blocks at most, 1..=5; of an uncoded frame 1.
    pub blocks: u8,
    /// The parity of each.
    pub level: Level,
    /// The frame is taken or repeated as a whole; else only its failed blocks are repeated.
    pub whole: bool,
    /// All bytes go without parity in one piece, however many they are.
    pub uncoded: bool,
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// No ACK came: the frame was lost, or its header, or the ACK.
    Silence,
    /// The receiver's report of each block; empty if it had the packet already.
    Report(&'a [Fate]),
}

/// Chooses size and parity from the receiver's reports alone.
pub trait Policy: fmt::Debug + Send {
    /// Chooses the next frame; `None` if the packet is not worth one, because it would be late.
    fn plan(&mut self, request: &Request) -> Option<Plan>;

    /// Learns the outcome of a frame so made, which carried `bytes` of its packet.
    fn learn(&mut self, plan: Plan, bytes: usize, outcome: Outcome<'_>);
}

/// The cost of a frame in air time, its ACK included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// For each frame: headers, preamble, turn-around, ACK.
    pub per_frame: Duration,
    /// For each byte of its blocks.
    pub per_byte: Duration,
}

impl Cost {
    /// Returns the air time of a frame whose blocks have this number of bytes.
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
    /// Size and parity follow the reports by simple rules (S3.21).
    Flex,
    /// [`Flex`](Self::Flex) with whole frames repeated, as [`Bold`](Self::Bold) repeats them.
    FlexWhole,
    /// Size and parity follow estimates of loss, truncation and symbol errors.
    Best,
}

/// A policy of another crate.
#[derive(Clone, Copy)]
pub struct OwnPolicy {
    /// Its name; policies of one name are taken for the same.
    pub name: &'static str,
    /// Builds it for one sender, at its beginning.
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

/// The policy of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChoice {
    /// One of those that have names.
    Named(PolicyKind),
    /// A table of one's own.
    Table(Arc<PolicyTable>),
    /// One of another crate.
    Own(OwnPolicy),
}

impl PolicyChoice {
    /// The policy at its beginning.
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

/// The name is none of a policy.
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

    /// The policy at its beginning.
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
