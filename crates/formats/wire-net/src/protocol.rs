//! Protocol numbers: IPv4's protocol field and IPv6's next header share one space (IANA).

use core::fmt;

/// The number of the protocol that an IP header names as the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200, section 4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP for IPv4 (RFC 792).
    pub const ICMP: Self = Self(1);
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
    /// IPv6 routing header (RFC 8200, section 4.4).
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200, section 4.5).
    pub const FRAGMENT: Self = Self(44);
    /// Encapsulating security payload (RFC 4303); opaque here.
    pub const ESP: Self = Self(50);
    /// Authentication header (RFC 4302).
    pub const AUTHENTICATION: Self = Self(51);
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
    /// Nothing follows (RFC 8200, section 4.7).
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// IPv6 destination options (RFC 8200, section 4.6).
    pub const DESTINATION_OPTIONS: Self = Self(60);
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: Self = Self(136);
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ICMP => f.write_str("ICMP"),
            Self::TCP => f.write_str("TCP"),
            Self::UDP => f.write_str("UDP"),
            Self::ICMPV6 => f.write_str("ICMPv6"),
            Self::UDP_LITE => f.write_str("UDP-Lite"),
            Self(number) => write!(f, "protocol {number}"),
        }
    }
}
