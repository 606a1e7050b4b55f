//! The control bits of a segment.

use core::fmt;
use core::ops::{BitOr, BitOrAssign, Sub};

use crate::ecn::Ecn;

/// The nine control bits, FIN the least significant (RFC 9293, section 3.1; RFC 9768, section
/// 3.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

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
    /// The third bit of accurate ECN (RFC 9768).
    pub const AE: Self = Self(0x100);
    /// The bits of the field ACE: three flags of their own on a SYN, one number elsewhere.
    pub const ACE: Self = Self(0x1c0);

    /// Reads the two bytes of a header that hold the flags and the data offset.
    #[must_use]
    pub const fn from_header(high: u8, low: u8) -> Self {
        Self(u16::from_be_bytes([high & 1, low]))
    }

    /// Returns the field ACE, 0..=7 (RFC 9768, section 3.2.2).
    #[must_use]
    pub const fn ace(self) -> u8 {
        ((self.0 & Self::ACE.0) >> 6) as u8
    }

    /// Returns these bits with the last three of `count` as the field ACE.
    #[must_use]
    pub const fn with_ace(self, count: u8) -> Self {
        Self(self.0 & !Self::ACE.0 | ((count & 7) as u16) << 6)
    }

    /// Returns these bits with a field ACE that says how a SYN, or the answer to it, arrived (RFC
    /// 9768, tables 2 and 3).
    #[must_use]
    pub const fn reflecting(self, ecn: Ecn) -> Self {
        self.with_ace(match ecn {
            Ecn::NotCapable => 0b010,
            Ecn::Capable1 => 0b011,
            Ecn::Capable0 => 0b100,
            Ecn::Congested => 0b110,
        })
    }

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
    /// In tcpdump's letters: `S` SYN, `F` FIN, `R` RST, `P` PSH, `U` URG, `E` ECE, `W` CWR, `A`
    /// AE, `.` ACK.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Self::SYN, "S"),
            (Self::FIN, "F"),
            (Self::RST, "R"),
            (Self::PSH, "P"),
            (Self::URG, "U"),
            (Self::ECE, "E"),
            (Self::CWR, "W"),
            (Self::AE, "A"),
            (Self::ACK, "."),
        ];
        let set = letters.into_iter().filter(|(flag, _)| self.has(*flag));
        let text: String = set.map(|(_, letter)| letter).collect();
        f.write_str(if text.is_empty() { "none" } else { &text })
    }
}
