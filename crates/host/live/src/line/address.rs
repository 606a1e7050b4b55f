//! The name of a line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The speeds that the system knows, in bits a second, fastest last.
pub(super) const SPEEDS: [u32; 18] = [
    1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 57_600, 115_200, 230_400, 460_800, 500_000,
    576_000, 921_600, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000,
];

/// Which line to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineAddress {
    /// A serial device or pseudo-terminal: `serial:/dev/ttyUSB0,57600`.
    Serial {
        /// The path of the device.
        path: PathBuf,
        /// Bits a second, with start and stop bit ten for each character; unset: as it is.
        speed: Option<u32>,
    },
    /// Datagrams to a host: `udp:192.0.2.1:4444`.
    UdpTo {
        /// Host name or address, and port.
        host: String,
    },
    /// Datagrams from the first host that sends one to this port: `udp::4444`.
    UdpFrom {
        /// The port to listen at.
        port: u16,
    },
}

impl LineAddress {
    /// Characters that the line takes in a second, where it has a speed: 8 bits, start and stop.
    #[must_use]
    pub fn characters(&self) -> Option<u32> {
        match self {
            Self::Serial { speed, .. } => speed.map(|speed| speed / 10),
            _ => None,
        }
    }
}

impl FromStr for LineAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("serial:") {
            let (path, speed) = match rest.rsplit_once(',') {
                Some((path, speed)) => (path, Some(parse_speed(speed)?)),
                None => (rest, None),
            };
            if path.is_empty() {
                return Err("name the device: serial:/dev/ttyUSB0,57600".into());
            }
            return Ok(Self::Serial { path: path.into(), speed });
        }
        let Some(rest) = text.strip_prefix("udp:") else {
            return Err("use serial:DEVICE[,SPEED], udp:HOST:PORT or udp::PORT".into());
        };
        let split = rest.rsplit_once(':').and_then(|(host, text)| Some((host, port(text)?)));
        match split {
            Some(("", port)) => Ok(Self::UdpFrom { port }),
            Some((host, _)) if host.starts_with('[') || !host.contains(':') => {
                Ok(Self::UdpTo { host: rest.into() })
            }
            _ => Err("use udp:HOST:PORT, udp:[IPV6]:PORT, or udp::PORT to wait for a peer".into()),
        }
    }
}

/// Reads a port, which is not zero.
fn port(text: &str) -> Option<u16> {
    text.parse::<u16>().ok().filter(|port| *port > 0)
}

fn parse_speed(text: &str) -> Result<u32, String> {
    let speed = text.parse().ok().filter(|speed| SPEEDS.contains(speed));
    speed.ok_or_else(|| {
        let all = SPEEDS.map(|speed| speed.to_string()).join(", ");
        format!("\"{text}\" is no speed of a serial device; use one of {all}")
    })
}

impl fmt::Display for LineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { path, speed: None } => write!(f, "serial:{}", path.display()),
            Self::Serial { path, speed: Some(speed) } => {
                write!(f, "serial:{},{speed}", path.display())
            }
            Self::UdpTo { host } => write!(f, "udp:{host}"),
            Self::UdpFrom { port } => write!(f, "udp::{port}"),
        }
    }
}
