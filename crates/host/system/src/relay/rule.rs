//! The text of a port that leads into a run, or out of it.

use core::num::NonZeroU16;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The protocol of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortProtocol {
    /// Connections of TCP.
    #[default]
    Tcp,
    /// Datagrams of UDP.
    Udp,
}

/// A port of the host whose connections begin in a station: `8080:near:80`,
/// `8080:near:far:80`, `0.0.0.0:8080:near:80`, `4433:near:far:4433/udp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The address on the host.
    pub listen: SocketAddr,
    /// The station in which connections begin.
    pub station: String,
    /// The host that they go to from there; the station itself if it is left out.
    pub host: Option<String>,
    /// The port that they go to.
    pub port: u16,
    /// The protocol of both ports.
    pub protocol: PortProtocol,
}

/// A port of a station whose connections go to the host: `far:80:8000`, `far:80:192.0.2.1:8000`,
/// `far:53:5353/udp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The station whose port it is.
    pub station: String,
    /// The port that programs in the run connect to.
    pub port: u16,
    /// The target on the host: an address or a name, and a port.
    pub target: String,
    /// The protocol of both ports.
    pub protocol: PortProtocol,
}

impl FromStr for Published {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fix = "write PORT:STATION:PORT, such as 8080:near:80, or PORT:STATION:HOST:PORT; an \
                   address of this machine may stand before, /udp behind";
        let (text, protocol) = protocol(text);
        let parts = parts(text).ok_or(fix)?;
        let (address, rest) = match parts.first().and_then(|it| it.parse::<IpAddr>().ok()) {
            Some(address) => (address, &parts[1..]),
            None => (IpAddr::V4(Ipv4Addr::LOCALHOST), &parts[..]),
        };
        let (listen, station, host, to) = match rest {
            [listen, station, to] => (listen, station, None, to),
            [listen, station, host, to] => (listen, station, Some(*host), to),
            _ => return Err(fix.to_owned()),
        };
        if station.is_empty() || host == Some("") {
            return Err(fix.to_owned());
        }
        Ok(Self {
            listen: SocketAddr::new(address, port(listen).ok_or(fix)?),
            station: (*station).to_owned(),
            host: host.map(str::to_owned),
            port: port(to).ok_or(fix)?,
            protocol,
        })
    }
}

impl FromStr for Reached {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fix = "write STATION:PORT:PORT, such as far:80:8000, or STATION:PORT:HOST:PORT; /udp \
                   may stand behind";
        let (text, protocol) = protocol(text);
        let (station, own, host, to) = match parts(text).ok_or(fix)?[..] {
            [station, own, to] => (station, own, "127.0.0.1", to),
            [station, own, host, to] => (station, own, host, to),
            _ => return Err(fix.to_owned()),
        };
        if station.is_empty() || host.is_empty() {
            return Err(fix.to_owned());
        }
        let target = target(host, port(to).ok_or(fix)?);
        Ok(Self { station: station.to_owned(), port: port(own).ok_or(fix)?, target, protocol })
    }
}

/// Takes the protocol off the end of a text, as container programs write it.
fn protocol(text: &str) -> (&str, PortProtocol) {
    match text.rsplit_once('/') {
        Some((ports, "udp")) => (ports, PortProtocol::Udp),
        Some((ports, "tcp")) => (ports, PortProtocol::Tcp),
        _ => (text, PortProtocol::Tcp),
    }
}

/// The parts of a text between its colons; an address of IPv6 stands in brackets.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, behind) = match rest.strip_prefix('[') {
            Some(inside) => inside.split_once(']').filter(|it| it.0.parse::<Ipv6Addr>().is_ok())?,
            None => rest.split_at(rest.find(':').unwrap_or(rest.len())),
        };
        parts.push(part);
        match behind.strip_prefix(':') {
            Some(next) => rest = next,
            None => return behind.is_empty().then_some(parts),
        }
    }
}

/// The text of an address or a name, and a port.
pub(crate) fn target(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn port(text: &str) -> Option<u16> {
    text.parse::<NonZeroU16>().ok().map(NonZeroU16::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_and_what_is_none_is_refused() {
        let published = |text: &str| text.parse::<Published>();
        let plain = published("8080:near:80").expect("one");
        assert_eq!(plain.listen.to_string(), "127.0.0.1:8080");
        assert_eq!((plain.station.as_str(), &plain.host, plain.port), ("near", &None, 80));
        let across = published("0.0.0.0:8080:near:far:80").expect("one");
        assert_eq!(across.listen.to_string(), "0.0.0.0:8080");
        assert_eq!((across.host.as_deref(), across.port), (Some("far"), 80));
        assert_eq!((plain.protocol, across.protocol), (PortProtocol::Tcp, PortProtocol::Tcp));
        let quic = published("4433:near:far:443/udp").expect("one");
        assert_eq!((quic.port, quic.protocol), (443, PortProtocol::Udp));
        assert_eq!(published("80:near:80/tcp").expect("one").protocol, PortProtocol::Tcp);
        let names = "far:53:[2001:db8::1]:5353/udp".parse::<Reached>().expect("one");
        assert_eq!(
            (names.target.as_str(), names.protocol),
            ("[2001:db8::1]:5353", PortProtocol::Udp)
        );
        let reached = "far:80:8000".parse::<Reached>().expect("one");
        assert_eq!((reached.station.as_str(), reached.port), ("far", 80));
        assert_eq!(reached.target, "127.0.0.1:8000");
        let elsewhere = "far:80:db.example:5432".parse::<Reached>().expect("one");
        assert_eq!(elsewhere.target, "db.example:5432");
        let six = published("[::1]:8080:near:[fd77::2]:80").expect("one");
        assert_eq!(six.listen.to_string(), "[::1]:8080");
        assert_eq!((six.host.as_deref(), six.port), (Some("fd77::2"), 80));
        let six = "far:80:[2001:db8::1]:443".parse::<Reached>().expect("one");
        assert_eq!(six.target, "[2001:db8::1]:443");
        for wrong in [
            "",
            "8080",
            "8080:near",
            "0:near:80",
            "8080::80",
            "8080:near:x",
            "a:b:c:d:e:f",
            "[::1]",
            "[x]:1:near:80",
            "[::1]8080:near:80",
            "8080:near:80/sctp",
            "8080/udp:near:80",
        ] {
            published(wrong).expect_err(wrong);
        }
        for wrong in ["", "far:80", "far:0:80", ":80:80", "far:80::80", "far:80:x", "a:1:b:2:3"] {
            wrong.parse::<Reached>().expect_err(wrong);
        }
    }
}
