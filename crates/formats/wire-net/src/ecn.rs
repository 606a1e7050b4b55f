//! Explicit congestion notification: two bits of every IP header.

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotCapable,
    /// ECN-capable, code point 1.
    Capable1,
    /// ECN-capable, code point 0 (binary 10).
    Capable0,
    /// A router has marked congestion.
    Congested,
}

impl Ecn {
    /// Returns the field with these two low bits.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Congested,
        }
    }

    /// Returns the two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns `true` if a router may mark the packet and has not.
    #[must_use]
    pub const fn can_be_marked(self) -> bool {
        matches!(self, Self::Capable0 | Self::Capable1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_low_bits_are_the_field() {
        let fields = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested];
        for bits in 0..=255 {
            let ecn = Ecn::from_bits(bits);
            assert_eq!((ecn, ecn.bits()), (fields[usize::from(bits & 3)], bits & 3));
        }
    }
}
