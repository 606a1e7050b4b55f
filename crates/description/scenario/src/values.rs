//! Values of scenario keys and options that have a text form of their own.

use core::fmt;
use core::net::IpAddr;
use core::num::NonZeroU32;
use core::ops::Range;
use core::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;
use windfall_base::{ByteCount, Duration, ParseUnitError};
use windfall_queue::{Discipline, Limits};

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

/// Implements serde by way of the text form; whole numbers count as text.
macro_rules! serde_by_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                by_text::parse(deserializer)
            }
        }
    )*};
}

/// Reads values from their text form.
pub(crate) mod by_text {
    use core::fmt::{self, Display};
    use core::marker::PhantomData;
    use core::str::FromStr;

    use serde::Deserializer;
    use serde::de::{Error, Visitor};

    pub(crate) fn parse<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        struct Text<T>(PhantomData<T>);
        impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text in quotes, or a whole number")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
                super::brief(value.to_string()).parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text(PhantomData))
    }
}

/// The text of a value, which is short also for a number of hundreds of digits.
pub(crate) fn brief(text: String) -> String {
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

/// The queue before a link: in which order flows are served, how long it may become, and from which
/// length on it marks.
///
/// `elf`, `100` packets, `64kB`, or several as `wfq,100,64kB,mark:20`; `infinite` has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Whose packet is next.
    pub discipline: Option<Discipline>,
    /// The limit of its length; 1000 packets by default.
    pub length: Option<QueueLength>,
    /// The number of packets from which on those that join are marked (ECN); none by default.
    pub mark: Option<NonZeroU32>,
}

/// The limit of the length of a queue; unbounded by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// The greatest number of packets.
    pub packets: Option<NonZeroU32>,
    /// The greatest number of bytes.
    pub bytes: Option<ByteCount>,
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discipline = self.discipline.map(|discipline| discipline.to_string());
        let length = self.length.map(|length| length.to_string());
        let mark = self.mark.map(|packets| format!("mark:{packets}"));
        let parts: Vec<_> = [discipline, length, mark].into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

/// Bytes of the shortest packet that can be marked: a header of IPv4 without options.
const SHORTEST: u64 = 20;

impl QueueLength {
    /// The length of a queue of which only the mark or the discipline is given.
    fn usual() -> Self {
        let packets = u32::try_from(Limits::default().packets).ok().and_then(NonZeroU32::new);
        Self { packets, bytes: None }
    }

    /// Returns the greatest number of packets in it, however short they are, and what happens to
    /// one more; `None` if it has no bound.
    fn most_packets(&self) -> Option<(u64, String)> {
        let by_count = self.packets.map(|packets| u64::from(packets.get()));
        let by_bytes = self.bytes.map(|bytes| bytes.0 / SHORTEST);
        match (by_count, by_bytes) {
            (count, Some(most)) if count.is_none_or(|count| most < count) => {
                let drops =
                    format!("holds at most {most} of the shortest packets, {SHORTEST} bytes each");
                Some((most, drops))
            }
            (Some(most), _) => Some((most, format!("drops a packet that finds {most} waiting"))),
            (None, _) => None,
        }
    }

    /// Names it with its units.
    fn described(&self) -> String {
        match self.packets {
            None => self.to_string(),
            Some(packets) => match self.bytes {
                None => format!("{packets} packets"),
                Some(bytes) => format!("{packets} packets and {bytes}"),
            },
        }
    }
}

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.packets, self.bytes) {
            (None, None) => f.write_str("infinite"),
            (Some(packets), None) => packets.fmt(f),
            (None, Some(bytes)) => bytes.fmt(f),
            (Some(packets), Some(bytes)) => write!(f, "{packets},{bytes}"),
        }
    }
}

impl FromStr for Queue {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write a discipline, packets, bytes with a unit, mark:PACKETS, or several of \
                   these: elf, 100, 64kB, \"wfq,100,64kB,mark:20\"; disciplines are fifo, wrr, \
                   wfq, priority, airtime, elf and elf-packets; infinite has no bound";
        let mut queue = Self::default();
        for part in text.split(',') {
            queue.read(part.trim()).ok_or_else(|| ParseUnitError::new("queue", text, fix))?;
        }
        Ok(queue)
    }
}

impl Queue {
    /// Says why its marks would never be set, if they would not: a packet that joins finds at most
    /// one packet less than the queue holds.
    pub(crate) fn useless_mark(&self) -> Option<String> {
        let mark = u64::from(self.mark?.get());
        let length = self.length.unwrap_or_else(QueueLength::usual);
        let (most, drops) = length.most_packets()?;
        if mark < most {
            return None;
        }
        let default = if self.length.is_none() { ", its default" } else { "" };
        let fix = match most {
            0 | 1 => "make the queue longer".to_owned(),
            _ => format!("mark from 1 to {} packets on, or make the queue longer", most - 1),
        };
        Some(format!(
            "mark:{mark} never marks in a queue of {}{default}, which {drops}: {fix}",
            length.described()
        ))
    }

    /// Takes one part; `None` if it is none, or there was one like it.
    fn read(&mut self, part: &str) -> Option<()> {
        if let Ok(discipline) = part.parse() {
            return self.discipline.replace(discipline).is_none().then_some(());
        }
        if let Some(packets) = part.strip_prefix("mark:") {
            return self.mark.replace(packets.parse().ok()?).is_none().then_some(());
        }
        if part == "infinite" {
            return self.length.replace(QueueLength::default()).is_none().then_some(());
        }
        let mut length = self.length.unwrap_or_default();
        // Nothing can be added to what has no bound.
        self.length.is_none_or(|length| length != QueueLength::default()).then_some(())?;
        if let Ok(packets) = part.parse() {
            length.packets.replace(packets).is_none().then_some(())?;
        } else {
            part.ends_with(['B', 'b']).then_some(())?;
            let bytes: ByteCount = part.parse().ok().filter(|bytes: &ByteCount| bytes.0 > 0)?;
            length.bytes.replace(bytes).is_none().then_some(())?;
        }
        self.length = Some(length);
        Some(())
    }
}

/// Bytes of a packet, first to last but one, counted from 0: `0..40`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange(pub Range<u32>);

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.0.start, self.0.end)
    }
}

impl FromStr for ByteRange {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let range = text.split_once("..").and_then(|(start, end)| {
            let range = start.trim().parse().ok()?..end.trim().parse().ok()?;
            (range.start < range.end).then_some(range)
        });
        range.map(Self).ok_or_else(|| {
            let fix = "write the first byte and the first byte after it, such as 28..1500";
            ParseUnitError::new("range of bytes", text, fix)
        })
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

serde_by_text!(Queue, ByteRange, Prefix, Sysctl, Target);
