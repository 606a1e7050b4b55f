//! The two directions of a link.

use core::fmt;

/// One of the two directions of a link.
///
/// [`Link::side_of`](crate::Link::side_of) decides it for everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// From the first station of a pipe or a circuit; to the base station of a radio.
    Uplink,
    /// From the second station of a pipe or a circuit; from the base station of a radio.
    Downlink,
}

impl Side {
    /// The two directions, uplink first.
    pub const BOTH: [Self; 2] = [Self::Uplink, Self::Downlink];

    /// Returns the word by which settings name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uplink => "uplink",
            Self::Downlink => "downlink",
        }
    }

    /// Returns the direction of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|side| side.name() == name)
    }

    /// Returns the other direction.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Uplink => Self::Downlink,
            Self::Downlink => Self::Uplink,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
