//! Carriers of UDP-Lite datagrams.

use core::fmt;
use core::str::FromStr;

/// The protocol that carries UDP-Lite datagrams, and the layer that builds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// The kernel's own UDP-Lite socket, protocol 136; Linux up to 7.0.
    Kernel,
    /// A raw socket, protocol 136, which needs the capability `CAP_NET_RAW`.
    Raw,
    /// UDP with a checksum of zero and the partial checksum inside (docs/reference/udplite.md).
    Udp,
}

impl Carrier {
    /// All carriers, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Raw, Self::Udp];

    /// Returns the name of the carrier.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Raw => "raw",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no carrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no carrier: write kernel, raw or udp")]
pub struct UnknownCarrier(pub String);

impl FromStr for Carrier {
    type Err = UnknownCarrier;

    fn from_str(text: &str) -> Result<Self, UnknownCarrier> {
        let found = Self::ALL.into_iter().find(|carrier| carrier.name() == text);
        found.ok_or_else(|| UnknownCarrier(text.to_owned()))
    }
}
