//! The disciplines: one file for each scheduler, which has their rows of the table too.
//!
//! - [`fifo`], [`priority`]: the order of arrival, the order of flows.
//! - [`deficit`]: deficit round robin.
//! - [`elf`]: effort-limited fairness, and fair queueing.

pub mod deficit;
pub mod elf;
pub mod fifo;
pub mod priority;

use core::fmt;
use core::str::FromStr;

use windfall_base::ParseUnitError;

use crate::scheduler::Scheduler;

/// The unit of effort and outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Each attempt counts as one: the packet slots of the paper.
    Packets,
    /// Bytes of packets.
    Bytes,
    /// Seconds of air time.
    AirTime,
}

impl Measure {
    /// Returns the typical cost of an attempt, to within some powers of ten.
    const fn typical_cost(self) -> f64 {
        match self {
            Self::Packets => 1.0,
            Self::Bytes => 1_000.0,
            Self::AirTime => 1e-4,
        }
    }
}

/// The part of a link without errors that a busy flow gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The share of its weight. Reserved flows come first, up to their reservations.
    ByWeight,
    /// The packets that it sends, in the order of arrival.
    ByArrival,
    /// All that the flows that were added before it leave.
    ByRank,
}

/// In which order flows are served: a row of the table of disciplines; equal if the names are.
#[derive(Clone, Copy)]
pub struct Discipline {
    /// The name in options and scenarios.
    pub name: &'static str,
    /// The unit of its effort and outcome.
    pub measure: Measure,
    /// The parts of the link that its flows get.
    pub sharing: Sharing,
    /// Makes a scheduler without flows; the number is the typical cost of an attempt.
    pub scheduler: fn(f64) -> Box<dyn Scheduler>,
}

impl Discipline {
    /// In the order of arrival, whatever the flow.
    pub const FIFO: Self = fifo::FIFO;
    /// Weighted round robin, packet by packet.
    pub const WRR: Self = deficit::WRR;
    /// Weighted fair queueing of bytes.
    pub const WFQ: Self = elf::WFQ;
    /// In the order in which flows were added; packets of no flow come last.
    pub const PRIORITY: Self = priority::PRIORITY;
    /// Air time in proportion to weights, by deficit round robin.
    pub const AIRTIME: Self = deficit::AIRTIME;
    /// Effort-limited fairness in air time.
    pub const ELF: Self = elf::ELF;
    /// Effort-limited fairness in packets, as in the paper's section 7.
    pub const ELF_PACKETS: Self = elf::ELF_PACKETS;

    /// The disciplines of this crate, in the order of the documents.
    pub const BUILT_IN: &[Self] = &[
        Self::FIFO,
        Self::WRR,
        Self::WFQ,
        Self::PRIORITY,
        Self::AIRTIME,
        Self::ELF,
        Self::ELF_PACKETS,
    ];

    /// Returns `true` if it serves reserved flows first, up to their reservations.
    #[must_use]
    pub const fn keeps_reservations(self) -> bool {
        matches!(self.sharing, Sharing::ByWeight)
    }

    /// Creates a scheduler without flows.
    #[must_use]
    pub fn build(self) -> Box<dyn Scheduler> {
        (self.scheduler)(self.measure.typical_cost())
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::ELF
    }
}

impl PartialEq for Discipline {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Discipline {}

impl fmt::Debug for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Discipline {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        Self::BUILT_IN.iter().copied().find(|it| it.name == text.trim()).ok_or_else(|| {
            let names: Vec<_> = Self::BUILT_IN.iter().map(|it| it.name).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            let fix = format!("use {} or {last}", others.join(", "));
            ParseUnitError::new("queue discipline", text, fix)
        })
    }
}

#[cfg(test)]
mod tests;
