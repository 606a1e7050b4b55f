//! The faults of a port, as text.

use core::fmt;
use core::str::FromStr;

use windfall_base::{ByteCount, Duration, LineRate, ParseUnitError, Probability, Rate};
use windfall_scenario::check_unit;

/// The longest time that a fault may hold something up.
const LONGEST: Duration = Duration::from_secs(3_600);

/// One fault, by the names that toxiproxy has for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConnectionFault {
    /// Connections are refused, and those that are there are reset.
    Down,
    /// A connection is reset this long after its first packet, or at its first data.
    Reset(Option<Duration>),
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
    /// The faults of what clients receive, applied in this order.
    pub faults: Vec<ConnectionFault>,
    /// The faults of what clients send. Without any of either the port is cleared.
    pub upstream: Vec<ConnectionFault>,
    /// The share of connections that have them.
    pub share: Probability,
}

/// The advice for whatever cannot be read.
const FIX: &str = "write STATION:PORT and faults, such as \"far:80 reset 1s\", \"far:80 delay \
                   100ms, rate 1Mbps\" or \"far:80 none\": down, reset [AFTER], timeout TIME, \
                   slow-close TIME, slice BYTES [PAUSE], limit BYTES, delay TIME, rate RATE; \
                   before the first of one direction upstream or downstream, before all a share \
                   of the connections such as 30%";

impl FromStr for PortFaults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |what: &str| format!("\"{text}\": {what}: {FIX}");
        let (place, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (station, port) = place.rsplit_once(':').ok_or_else(|| refused("it names no port"))?;
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| refused("it names no port from 1 to 65535"))?;
        let share = Probability::ONE;
        let mut is_upstream = false;
        let mut rest = rest.trim();
        let station = station.to_owned();
        let faults = Vec::new();
        let upstream = Vec::new();
        let mut read = Self { station, port, faults, upstream, share };
        loop {
            let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            if word == "upstream" || word == "downstream" {
                is_upstream = word == "upstream";
            } else if word.ends_with('%') {
                read.share = word
                    .parse()
                    .map_err(|_| refused(&format!("\"{word}\" is no share from 0% to 100%")))?;
            } else {
                break;
            }
            rest = behind.trim();
        }
        if rest == "none" {
            return Ok(read);
        }
        let mut names = [Vec::new(), Vec::new()];
        for part in rest.split(',') {
            let part = part.trim();
            let text = match part.split_once(' ') {
                Some((way @ ("upstream" | "downstream"), text)) => {
                    is_upstream = way == "upstream";
                    text
                }
                _ => part,
            };
            let fault = fault(text).map_err(|what| refused(&what))?;
            let faults = if is_upstream { &mut read.upstream } else { &mut read.faults };
            // A rate without a limit is a rate too.
            let name = fault.map_or("rate", |it| it.name());
            let number = usize::from(is_upstream);
            if names[number].contains(&name) || faults.iter().any(|it| it.name() == name) {
                return Err(refused(&format!("{name} is given twice: remove one")));
            }
            names[number].push(name);
            faults.extend(fault);
        }
        read.check().map_err(refused)?;
        Ok(read)
    }
}

impl PortFaults {
    /// All faults, of both directions.
    pub fn all(&self) -> impl Iterator<Item = &ConnectionFault> {
        self.faults.iter().chain(&self.upstream)
    }

    /// Refuses a fault that another one leaves no work.
    fn check(&self) -> Result<(), &'static str> {
        if self.all().any(|it| it.name() == "down") && self.all().count() > 1 {
            return Err("a port that is down can have no other fault: remove one");
        }
        // Both ends are reset whichever way it is written.
        let resets = |it: &&ConnectionFault| it.name() == "reset";
        if self.all().filter(resets).count() > 1 {
            return Err("reset is given twice: remove one");
        }
        Ok(())
    }
}

/// Reads a fault; a rate without a limit is none. An error says what is wrong about it.
fn fault(text: &str) -> Result<Option<ConnectionFault>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(Some(match *words.as_slice() {
        ["down"] => ConnectionFault::Down,
        ["reset"] => ConnectionFault::Reset(None),
        ["reset", after] => {
            ConnectionFault::Reset(Some(time(after)?).filter(|it| *it > Duration::ZERO))
        }
        ["timeout", after] => ConnectionFault::Timeout(time(after)?),
        ["slow-close", later] => ConnectionFault::SlowClose(time(later)?),
        ["slice", size] => ConnectionFault::Slice(part(size)?, Duration::ZERO),
        ["slice", size, pause] => ConnectionFault::Slice(part(size)?, time(pause)?),
        ["limit", most] => ConnectionFault::Limit(bytes(most)?),
        ["delay", later] => ConnectionFault::Delay(time(later)?),
        ["rate", rate] => {
            match rate.parse().map_err(|error: ParseUnitError| format!("rate {error}"))? {
                LineRate::At(rate) => ConnectionFault::Rate(rate),
                LineRate::Paused => ConnectionFault::Timeout(Duration::ZERO),
                LineRate::Unlimited => return Ok(None),
            }
        }
        _ => return Err(format!("\"{}\" is no fault", text.trim())),
    }))
}

fn time(text: &str) -> Result<Duration, String> {
    check_unit(text)?;
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

impl ConnectionFault {
    /// The bit by which it is noted that it has acted, on what clients receive or send.
    pub(crate) const fn bit(&self, from_client: bool) -> u16 {
        let place = match self {
            Self::Down => 0,
            Self::Reset(_) => 1,
            Self::Timeout(_) => 2,
            Self::SlowClose(_) => 3,
            Self::Slice(..) => 4,
            Self::Limit(_) => 5,
            Self::Delay(_) => 6,
            Self::Rate(_) => 7,
        };
        1 << (place + if from_client { 8 } else { 0 })
    }

    /// The word with which it begins.
    fn name(&self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Reset(_) => "reset",
            Self::Timeout(_) => "timeout",
            Self::SlowClose(_) => "slow-close",
            Self::Slice(..) => "slice",
            Self::Limit(_) => "limit",
            Self::Delay(_) => "delay",
            Self::Rate(_) => "rate",
        }
    }
}

impl fmt::Display for ConnectionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Down | Self::Reset(None) => Ok(()),
            Self::Reset(Some(time))
            | Self::Timeout(time)
            | Self::SlowClose(time)
            | Self::Delay(time) => write!(f, " {time}"),
            Self::Slice(size, pause) => write!(f, " {size}B {pause}"),
            Self::Limit(most) => write!(f, " {most}B"),
            Self::Rate(rate) => write!(f, " {rate}"),
        }
    }
}

impl PortFaults {
    /// Returns the port as text, with the share of its connections if not all have the faults.
    pub(super) fn place(&self) -> String {
        let place = format!("{}:{}", self.station, self.port);
        if self.share.get() < 1.0 {
            return format!("{place} {}%", 100.0 * self.share.get());
        }
        place
    }
}

impl fmt::Display for PortFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())?;
        if self.all().next().is_none() {
            return f.write_str(" none");
        }
        // Those of what clients receive come first and need no word for it.
        let between = if self.faults.is_empty() { "" } else { ", " };
        write!(f, " {}", list(&self.faults))?;
        if self.upstream.is_empty() {
            return Ok(());
        }
        write!(f, "{between}upstream {}", list(&self.upstream))
    }
}

/// Returns the texts of faults, separated by commas.
fn list(faults: &[ConnectionFault]) -> String {
    faults.iter().map(ConnectionFault::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_written_the_same() {
        for text in [
            "far:80 down",
            "far:80 reset",
            "far:80 reset 1s",
            "a b:443 timeout 0s",
            "far:80 upstream slow-close 2s",
            "far:80 50% slice 100B 10ms",
            "far:80 50% upstream slice 100B 10ms",
            "far:80 delay 100ms, upstream delay 50ms, rate 1Mbps",
            "far:80 limit 10000B",
            "far:80 delay 100ms, rate 1Mbps",
            "far:80 none",
        ] {
            // Names of stations have no blanks.
            let text = text.replace("a b", "a-b");
            let read: PortFaults = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(read.to_string(), text);
        }
        let pause: PortFaults = "far:80 rate 0".parse().expect("a pause");
        assert_eq!(pause.to_string(), "far:80 timeout 0s");
        // No limit is no fault, wherever a rate stands.
        for (text, read) in [
            ("far:80 rate none", "far:80 none"),
            ("far:80 upstream rate none", "far:80 none"),
            ("far:80 delay 1s, rate none", "far:80 delay 1s"),
            ("far:80 rate none, upstream rate 1Mbps", "far:80 upstream rate 1Mbps"),
        ] {
            let faults: PortFaults = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(faults.to_string(), read);
        }
        let limit: PortFaults = "far:80 limit 10kB".parse().expect("a limit");
        assert_eq!(limit.faults, [ConnectionFault::Limit(10_000)]);
        let both = "far:80 upstream 30% rate 1Mbps, downstream delay 1s, slow-close 2s";
        let both: PortFaults = both.parse().expect("faults of both directions");
        assert_eq!(both.to_string(), "far:80 30% delay 1s, slow-close 2s, upstream rate 1Mbps");
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
            "far:80 rate none,",
            "far:80 rate none, rate 1Mbps",
            "far:80 rate 1Mbps, rate none",
            "far:80 rate -1",
            "far:80 upstream",
            "far:80 delay 1s, upstream",
        ] {
            let refusal = text.parse::<PortFaults>().expect_err(text);
            assert!(refusal.contains("far:80 reset 1s"), "{refusal}");
        }
    }

    #[test]
    fn a_refusal_names_the_wrong_value_and_the_range() {
        for (text, said) in [
            ("far:80 delay 100", "write its unit: 100s or 100ms"),
            ("far:80 slice 100B 10", "write its unit: 10s or 10ms"),
            ("far:80 slice 100kB", "\"100kB\" is no size of a slice, from 1B to 65535B"),
            ("far:80 slice 10B 2h", "\"2h\" is no time from 0s to 3600s"),
            ("far:80 limit lots", "\"lots\" is no number of bytes"),
            ("far:80 delay 1s, dance", "\"dance\" is no fault"),
            ("far:80 200% down", "\"200%\" is no share from 0% to 100%"),
            ("far:99999 down", "it names no port from 1 to 65535"),
            ("far:80 rate 0.1bps", "rate \"0.1bps\" is not a rate"),
            ("far:80 delay 1s, delay 2s", "delay is given twice"),
            ("far:80 reset 1s, upstream reset 2s", "reset is given twice"),
            ("far:80 reset 1s, down", "can have no other fault"),
        ] {
            let refusal = text.parse::<PortFaults>().expect_err(text);
            assert!(refusal.contains(said), "{refusal}");
        }
    }
}
