//! An address with the length of its network part, such as `10.0.0.1/24`.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use windfall_base::ParseUnitError;

/// An address and how many of its leading bits name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// Creates the prefix; `None` if `len` exceeds the bits of the address.
    #[must_use]
    pub const fn new(address: IpAddr, len: u8) -> Option<Self> {
        if len <= width(address) { Some(Self { address, len }) } else { None }
    }

    /// Returns one address alone.
    #[must_use]
    pub const fn host(address: IpAddr) -> Self {
        Self { address, len: width(address) }
    }

    /// Every IPv4 address.
    pub const ALL_V4: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), len: 0 };
    /// Every IPv6 address.
    pub const ALL_V6: Self = Self { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), len: 0 };

    /// Returns the address with all its bits.
    #[must_use]
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Bits that name the network.
    #[must_use]
    pub const fn bits(&self) -> u8 {
        self.len
    }

    /// Returns whether `address` lies in the network.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && network(self.address, self.len) == network(address, self.len)
    }

    /// Returns the address of the network: every bit behind the prefix zero.
    #[must_use]
    pub fn network(&self) -> IpAddr {
        network(self.address, self.len)
    }

    /// Returns the address that reaches everyone in an IPv4 network; none for networks of two or
    /// fewer (RFC 3021).
    #[must_use]
    pub fn broadcast(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) if self.len < 31 => {
                Some(Ipv4Addr::from(u32::from(address) | u32::MAX >> self.len))
            }
            _ => None,
        }
    }
}

const fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns `address` with every bit after the first `len` zero.
pub(crate) fn network(address: IpAddr, len: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl FromStr for Prefix {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write an address and a prefix length, such as 10.0.0.1/24 or fd00::1/64";
        let fault = || ParseUnitError::new("address with prefix", text, fix);
        let (address, len) = text.trim().split_once('/').ok_or_else(fault)?;
        let (address, len) = (address.parse().ok(), len.parse().ok());
        let prefix = address.zip(len).and_then(|(address, len)| Self::new(address, len));
        prefix.ok_or_else(fault)
    }
}

#[cfg(test)]
mod tests;
