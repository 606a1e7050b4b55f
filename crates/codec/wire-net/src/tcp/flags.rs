//! The control bits of a segment.

use core::fmt;
use core::ops::{BitOr, BitOrAssign, Sub};

/// The eight control bits, FIN the least significant (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Hand the data up without waiting for more.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment number means something.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer means something.
    pub const URG: Self = Self(0x20);
    /// Congestion was experienced on the way (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// The congestion window has been reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Returns whether every bit of `others` is set.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns whether any bit of `others` is set.
    #[must_use]
    pub const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl BitOr for TcpFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Sub for TcpFlags {
    type Output = Self;
    /// Returns these bits without those of `other`.
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Display for TcpFlags {
    /// In tcpdump's letters: `S` SYN, `F` FIN, `R` RST, `P` PSH, `U` URG, `E` ECE, `W` CWR, `.`
    /// ACK.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Self::SYN, "S"),
            (Self::FIN, "F"),
            (Self::RST, "R"),
            (Self::PSH, "P"),
            (Self::URG, "U"),
            (Self::ECE, "E"),
            (Self::CWR, "W"),
            (Self::ACK, "."),
        ];
        let set = letters.into_iter().filter(|(flag, _)| self.has(*flag));
        let text: String = set.map(|(_, letter)| letter).collect();
        f.write_str(if text.is_empty() { "none" } else { &text })
    }
}
