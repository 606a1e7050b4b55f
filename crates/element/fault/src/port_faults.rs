//! The faults of a port, as text.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, ParseUnitError, Probability, Rate};

/// The longest time that a fault may hold something up.
const LONGEST: Duration = Duration::from_secs(3_600);

/// One fault, by the names that toxiproxy has for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConnectionFault {
    /// Connections are refused, and those that are there are reset.
    Down,
    /// A connection is reset this long after its first packet.
    Reset(Duration),
    /// No data passes; after this time the connection ends, after 0 never.
    Timeout(Duration),
    /// The end of a connection passes so much later.
    SlowClose(Duration),
    /// Data passes in segments of as many bytes, with a pause between them.
    Slice(u16, Duration),
    /// The connection ends after as many bytes.
    Limit(u64),
    /// Packets pass so much later.
    Delay(Duration),
    /// Data passes at this rate.
    Rate(Rate),
}

/// The faults of the connections to one port of a station.
#[derive(Clone, Debug, PartialEq)]
pub struct PortFaults {
    /// The name of the station whose port it is.
    pub station: String,
    /// The port of TCP.
    pub port: u16,
    /// The faults, applied in this order; an empty list clears the port.
    pub faults: Vec<ConnectionFault>,
    /// The faults are of what clients send, not of what they receive.
    pub upstream: bool,
    /// The share of connections that have them.
    pub share: Probability,
}

/// The advice for whatever cannot be read.
const FIX: &str = "write STATION:PORT and faults, such as \"far:80 reset 1s\", \"far:80 delay \
                   100ms, rate 1Mbps\" or \"far:80 none\": down, reset [AFTER], timeout TIME, \
                   slow-close TIME, slice BYTES [PAUSE], limit BYTES, delay TIME, rate RATE; \
                   before them upstream, and a share of the connections such as 30%";

impl FromStr for PortFaults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |what: &str| format!("\"{text}\": {what}: {FIX}");
        let (place, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (station, port) = place.rsplit_once(':').ok_or_else(|| refused("it names no port"))?;
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| refused("it names no port from 1 to 65535"))?;
        let (station, faults) = (station.to_owned(), Vec::new());
        let mut read = Self { station, port, faults, upstream: false, share: Probability::ONE };
        let mut rest = rest.trim();
        loop {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            if word == "upstream" || word == "downstream" {
                read.upstream = word == "upstream";
            } else if word.ends_with('%') {
                let none = || refused(&format!("\"{word}\" is no share from 0% to 100%"));
                read.share = word.parse().map_err(|_| none())?;
            } else {
                break;
            }
            rest = behind.trim();
        }
        if rest == "none" {
            return Ok(read);
        }
        for part in rest.split(',') {
            read.faults.push(fault(part).map_err(|what| refused(&what))?);
        }
        Ok(read)
    }
}

/// Reads a fault; an error says what is wrong about it.
fn fault(text: &str) -> Result<ConnectionFault, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match *words.as_slice() {
        ["down"] => ConnectionFault::Down,
        ["reset"] => ConnectionFault::Reset(Duration::ZERO),
        ["reset", after] => ConnectionFault::Reset(time(after)?),
        ["timeout", after] => ConnectionFault::Timeout(time(after)?),
        ["slow-close", later] => ConnectionFault::SlowClose(time(later)?),
        ["slice", size] => ConnectionFault::Slice(part(size)?, Duration::ZERO),
        ["slice", size, pause] => ConnectionFault::Slice(part(size)?, time(pause)?),
        ["limit", most] => ConnectionFault::Limit(bytes(most)?),
        ["delay", later] => ConnectionFault::Delay(time(later)?),
        ["rate", rate] => ConnectionFault::Rate(
            rate.parse().map_err(|error: ParseUnitError| format!("rate {error}"))?,
        ),
        _ => return Err(format!("\"{}\" is no fault", text.trim())),
    })
}

fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().filter(|time: &Duration| *time <= LONGEST);
    time.ok_or_else(|| format!("\"{text}\" is no time from 0s to {LONGEST}"))
}

fn bytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse().map_err(|_| format!("\"{text}\" is no number of bytes"));
    bytes.map(|it: ByteCount| it.0)
}

/// The bytes of a part, if a segment can have as many.
fn part(text: &str) -> Result<u16, String> {
    let part = bytes(text).ok().and_then(|it| u16::try_from(it).ok()).filter(|it| *it > 0);
    part.ok_or_else(|| format!("\"{text}\" is no size of a slice, from 1B to {}B", u16::MAX))
}

impl fmt::Display for ConnectionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("down"),
            Self::Reset(after) => write!(f, "reset {after}"),
            Self::Timeout(after) => write!(f, "timeout {after}"),
            Self::SlowClose(later) => write!(f, "slow-close {later}"),
            Self::Slice(size, pause) => write!(f, "slice {size}B {pause}"),
            Self::Limit(most) => write!(f, "limit {most}B"),
            Self::Delay(later) => write!(f, "delay {later}"),
            Self::Rate(rate) => write!(f, "rate {rate}"),
        }
    }
}

impl fmt::Display for PortFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.station, self.port)?;
        if self.upstream {
            f.write_str(" upstream")?;
        }
        if self.share.get() < 1.0 {
            write!(f, " {}%", 100.0 * self.share.get())?;
        }
        if self.faults.is_empty() {
            return f.write_str(" none");
        }
        let faults: Vec<String> = self.faults.iter().map(ConnectionFault::to_string).collect();
        write!(f, " {}", faults.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_written_the_same() {
        for text in [
            "far:80 down",
            "far:80 reset 1s",
            "a b:443 timeout 0s",
            "far:80 upstream slow-close 2s",
            "far:80 50% slice 100B 10ms",
            "far:80 limit 10000B",
            "far:80 delay 100ms, rate 1Mbps",
            "far:80 none",
        ] {
            // Names of stations have no blanks.
            let text = text.replace("a b", "a-b");
            let read: PortFaults = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.to_string(), text);
        }
        let limit: PortFaults = "far:80 limit 10kB".parse().expect("a limit");
        assert_eq!(limit.faults, [ConnectionFault::Limit(10_000)]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_fix() {
        for text in [
            "",
            "far",
            "far:80",
            "far:0 down",
            "far:x down",
            "far:80 dance",
            "far:80 reset 2h",
            "far:80 slice 0B",
            "far:80 down,",
            "far:80 200% down",
            "far:80 limit",
            "far:80 rate 0",
        ] {
            let refusal = text.parse::<PortFaults>().expect_err(text);
            assert!(refusal.contains("far:80 reset 1s"), "{refusal}");
        }
    }

    #[test]
    fn a_refusal_names_the_wrong_value_and_the_range() {
        for (text, said) in [
            ("far:80 slice 100kB", "\"100kB\" is no size of a slice, from 1B to 65535B"),
            ("far:80 slice 10B 2h", "\"2h\" is no time from 0s to 3600s"),
            ("far:80 limit lots", "\"lots\" is no number of bytes"),
            ("far:80 delay 1s, dance", "\"dance\" is no fault"),
            ("far:80 200% down", "\"200%\" is no share from 0% to 100%"),
            ("far:99999 down", "it names no port from 1 to 65535"),
            ("far:80 rate 0", "rate \"0\" is not a rate"),
        ] {
            let refusal = text.parse::<PortFaults>().expect_err(text);
            assert!(refusal.contains(said), "{refusal}");
        }
    }
}
