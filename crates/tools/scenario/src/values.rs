//! Values of scenario keys and options that have a text form of their own.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use std::borrow::Cow;

use ipnet::IpNet;
use serde::{Serialize, Serializer};
use toml::Spanned;
use toml::de::DeValue;
use windfall_base::{Duration, ParseUnitError};

use crate::document::{FormError, Node, by_serde, unlike};
use crate::queue::Queue;

/// The words of a switch in text; as a key of a scenario it is a boolean of TOML.
pub(crate) const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

/// Access to the value of a setting, wherever in a file it stands.
pub trait Get {
    /// The type of the value.
    type Value;

    /// Returns the value, if it is set.
    fn value(&self) -> Option<Self::Value>;
}

impl<T: Clone> Get for Option<Spanned<T>> {
    type Value = T;

    fn value(&self) -> Option<T> {
        self.as_ref().map(|value| value.get_ref().clone())
    }
}

/// Returns a value of those that may be taken away, if it is set and not taken away.
pub(crate) fn value_if_set<T: Clone>(value: &Option<Spanned<Option<T>>>) -> Option<T> {
    value.value().flatten()
}

/// Returns the same with its place in the file.
pub(crate) fn placed<T: Clone>(value: &Option<Spanned<Option<T>>>) -> Option<Spanned<T>> {
    let value = value.as_ref()?;
    Some(Spanned::new(value.span(), value.get_ref().clone()?))
}

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

/// Reads a value from its text form; numbers count as text.
pub(crate) fn from_text<T: FromStr<Err: fmt::Display>>(node: &Node<'_>) -> Result<T, FormError> {
    text_of(node)?.parse().map_err(FormError::new)
}

/// Returns the text form of a value; numbers count as text.
pub(crate) fn text_of<'a>(node: &'a Node<'_>) -> Result<Cow<'a, str>, FormError> {
    let not_text = || unlike(node, "text in quotes, or a whole number");
    Ok(match node.get_ref() {
        DeValue::String(text) => Cow::Borrowed(text),
        DeValue::Integer(_) => by_serde::<i64>(node).map_err(|_| not_text())?.to_string().into(),
        DeValue::Float(_) => abbreviated(by_serde::<f64>(node)?.to_string()).into(),
        _ => return Err(not_text()),
    })
}

/// The text of a value, which is short also for a number of hundreds of digits.
pub(crate) fn abbreviated(text: String) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.len() > LONGEST_NUMBER => format!("{number:e}"),
        _ => text,
    }
}

/// As many digits has the greatest whole number of 64 bits.
const LONGEST_NUMBER: usize = 20;

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
