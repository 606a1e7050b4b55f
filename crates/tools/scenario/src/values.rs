//! Values of scenario keys and options that have a text form of their own.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use windfall_base::{Duration, ParseUnitError};
use windfall_settings::document::{DocumentNode, FormError, from_text, list};
use windfall_settings::{Placeholder, Value, by_text, own_text};
use windfall_stack::PacketList;

use crate::queue::Queue;

/// Implements the form in files by way of the text form.
macro_rules! serialize_by_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

/// The lengths of what must last: a simulation of 0 shows nothing, and a lifetime of 0 lets
/// nothing through.
pub(crate) const DURATIONS: core::ops::RangeInclusive<Duration> =
    Duration::from_nanos(1)..=Duration::from_secs(1_000_000_000);

/// A kernel parameter and its value: `net.ipv4.tcp_sack=0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// The name of the parameter, with dots.
    pub key: String,
    /// The value of the parameter.
    pub value: String,
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl FromStr for Sysctl {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write it as net.ipv4.tcp_sack=0";
        let (key, value) = text
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
            .filter(|(key, value)| !key.is_empty() && !value.is_empty())
            .ok_or_else(|| ParseUnitError::new("kernel parameter and value", text, fix))?;
        // As sysctl does, this takes a name with dots or with slashes.
        let rest = key.strip_prefix("net").and_then(|rest| rest.strip_prefix(['.', '/']));
        if !rest.is_some_and(|rest| rest.split(['.', '/']).all(|part| !part.is_empty())) {
            let fix = "a station has parameters only under net., such as net.ipv4.tcp_sack=0";
            return Err(ParseUnitError::new("kernel parameter of a station", text, fix));
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

/// Kernel parameters, of which the later ones win; lines as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sysctls(pub Vec<Sysctl>);

impl fmt::Display for Sysctls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl FromStr for Sysctls {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        // An empty text is a parameter without a name, and refused as one.
        let lines = text.lines().chain(text.is_empty().then_some(""));
        lines.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// Packets of a flow by their numbers: `3, 7..9, syn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketNumbers(pub PacketList);

impl fmt::Display for PacketNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PacketNumbers {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        text.parse().map(Self)
    }
}

/// An address of an interface with the length of its network's prefix: `10.77.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// The address; all of its bits are kept.
    pub address: IpAddr,
    /// The number of its bits that name the network.
    pub length: u8,
}

impl Prefix {
    /// Returns the address with its prefix, for arithmetic.
    #[must_use]
    pub fn net(&self) -> IpNet {
        IpNet::new(self.address, self.length).unwrap_or_else(|_| self.address.into())
    }

    /// Returns the address of the network: every bit behind the prefix zero.
    #[must_use]
    pub fn network(&self) -> IpAddr {
        self.net().network()
    }

    /// Tells whether `other` lies in this network.
    #[must_use]
    pub fn contains(&self, other: IpAddr) -> bool {
        self.net().contains(&other)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let prefix = text
            .trim()
            .parse()
            .map(|net: IpNet| Self { address: net.addr(), length: net.prefix_len() });
        prefix.map_err(|_| {
            let fix = "write address/length, such as 10.77.0.1/24 or fd77::1/64";
            ParseUnitError::new("network address", text, fix)
        })
    }
}

/// Whom an application speaks to: the name of a station, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The first address of the station of this name.
    Station(String),
    /// The address of a host.
    Address(IpAddr),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl FromStr for Target {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        Ok(text.parse().map_or_else(|_| Self::Station(text.to_owned()), Self::Address))
    }
}

serialize_by_text!(Queue, Prefix, Sysctl, Target);

by_text! {
    PacketNumbers: "packets",
    Prefix: "network",
    Queue: "queue",
    Target: "station or address",
}

/// Kernel parameters: a list in a file, lines on the command line.
impl Value for Sysctls {
    const KIND: &'static str = "kernel parameter and value";

    own_text!();

    fn read(node: &DocumentNode<'_>) -> Result<Self, FormError> {
        let values = list(node)?;
        values.iter().map(from_text::<Sysctl>).collect::<Result<_, _>>().map(Self)
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Placeholder for Prefix {
    fn blank() -> Self {
        Self { address: IpAddr::blank(), length: 0 }
    }
}
