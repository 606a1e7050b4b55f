//! The disciplines by name, and the machine of each.

use core::fmt;
use core::str::FromStr;

use windfall_base::ParseUnitError;

use crate::deficit::Deficit;
use crate::elf::{Elf, Memory};
use crate::fifo::Fifo;
use crate::priority::Priority;
use crate::scheduler::Scheduler;

/// The greatest lag that ELF makes good on a link, in seconds of the link for each unit of weight.
///
/// Spells of errors on a radio last for seconds, and a flow gets back what it lost in one. After a
/// path was dead for minutes others would pay for as long again, and longer at a power factor near
/// 1: at most for LAG / (P − 1), 50 s for best effort.
const LAG: f64 = 10.0;

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

/// In which order flows are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// In the order of arrival, whatever the flow.
    Fifo,
    /// Weighted round robin, packet by packet.
    Wrr,
    /// Weighted fair queueing of bytes.
    Wfq,
    /// In the order in which flows were added; packets of no flow come last.
    Priority,
    /// Air time in proportion to weights, by deficit round robin.
    Airtime,
    /// Effort-limited fairness in air time.
    #[default]
    Elf,
    /// Effort-limited fairness in packets, as in the paper's section 7.
    ElfPackets,
}

impl Discipline {
    /// All disciplines, in the order of the documents.
    pub const ALL: [Self; 7] = [
        Self::Fifo,
        Self::Wrr,
        Self::Wfq,
        Self::Priority,
        Self::Airtime,
        Self::Elf,
        Self::ElfPackets,
    ];

    /// Its name in options and scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Wrr => "wrr",
            Self::Wfq => "wfq",
            Self::Priority => "priority",
            Self::Airtime => "airtime",
            Self::Elf => "elf",
            Self::ElfPackets => "elf-packets",
        }
    }

    /// Returns `true` if it serves reserved flows first, up to their reservations.
    #[must_use]
    pub const fn keeps_reservations(self) -> bool {
        !matches!(self, Self::Fifo | Self::Priority)
    }

    /// The unit of its effort and outcome.
    #[must_use]
    pub const fn measure(self) -> Measure {
        match self {
            Self::Wrr | Self::ElfPackets => Measure::Packets,
            Self::Wfq => Measure::Bytes,
            Self::Fifo | Self::Priority | Self::Airtime | Self::Elf => Measure::AirTime,
        }
    }

    /// A scheduler without flows.
    ///
    /// Fair queueing is effort-limited fairness whose limit is the share itself: every power
    /// factor counts as 1.
    #[must_use]
    pub fn build(self) -> Box<dyn Scheduler> {
        // The typical cost of an attempt, to within some powers of ten.
        let unit = match self.measure() {
            Measure::Packets => 1.0,
            Measure::Bytes => 1_000.0,
            Measure::AirTime => 1e-4,
        };
        match self {
            Self::Fifo => Box::new(Fifo::default()),
            Self::Priority => Box::new(Priority::default()),
            Self::Wrr | Self::Airtime => Box::new(Deficit::new(unit)),
            Self::Wfq => Box::new(Elf::without_power(unit)),
            Self::Elf => Box::new(Elf::new(Memory { lag: LAG, ..Memory::default() }, unit)),
            Self::ElfPackets => Box::new(Elf::new(Memory::default(), unit)),
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Discipline {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        Self::ALL.into_iter().find(|discipline| discipline.name() == text.trim()).ok_or_else(|| {
            let fix = "use fifo, wrr, wfq, priority, airtime, elf or elf-packets";
            ParseUnitError::new("queue discipline", text, fix)
        })
    }
}

#[cfg(test)]
mod tests;
