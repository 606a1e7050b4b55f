//! The settings of an application.

use windfall_base::{ByteCount, Duration, Rate};
use windfall_sap::Profile;
use windfall_settings::{Choice, Placeholder, Settings, settings};

use crate::values::{DURATIONS, Target};

/// The work of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppKind {
    /// Sends echo requests and times the replies.
    #[default]
    Ping,
    /// Sends datagrams as fast as the link takes them (S3.24).
    Spray,
    /// Sends datagrams at a constant rate.
    Cbr,
    /// Receives datagrams and counts them.
    Sink,
    /// Sends bytes over a TCP connection as fast as it takes them.
    Bulk,
    /// Sends messages over a SAP connection as fast as it takes them.
    SapBulk,
    /// Sends messages over a SAP connection at their times.
    SapStream,
}

impl AppKind {
    /// Tells whether it sends messages of SAP.
    #[must_use]
    pub const fn is_sap(self) -> bool {
        matches!(self, Self::SapBulk | Self::SapStream)
    }
}

impl Placeholder for AppKind {
    fn blank() -> Self {
        Self::default()
    }
}

impl Choice for AppKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("ping", Self::Ping, "sends echo requests and times the replies"),
        ("spray", Self::Spray, "sends datagrams as fast as the link takes them"),
        ("cbr", Self::Cbr, "sends datagrams at a constant rate"),
        ("sink", Self::Sink, "receives datagrams and counts them"),
        (
            "bulk",
            Self::Bulk,
            "sends bytes over a TCP connection as fast as it takes them, to a receiver that is \
             added by itself",
        ),
        (
            "sap-bulk",
            Self::SapBulk,
            "sends messages over a SAP connection as fast as it takes them, to a receiver that is \
             added by itself",
        ),
        (
            "sap-stream",
            Self::SapStream,
            "sends messages over a SAP connection at their times, to a receiver that is added by \
             itself",
        ),
    ];
}

/// The transport of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppTransport {
    /// The User Datagram Protocol.
    #[default]
    Udp,
    /// The lightweight variant with partial coverage.
    Udplite,
}

impl Choice for AppTransport {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("udp", Self::Udp, "UDP"), ("udplite", Self::Udplite, "UDP-Lite")];
}

/// The arrival process of the datagrams of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppArrivals {
    /// Arrivals at even intervals.
    #[default]
    Even,
    /// A Poisson process.
    Poisson,
    /// Even arrivals in periods of exponential length, with pauses between them.
    OnOff,
}

impl Choice for AppArrivals {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("even", Self::Even, "at even intervals"),
        ("poisson", Self::Poisson, "at random times of which `rate` or `interval` is the mean"),
        ("on-off", Self::OnOff, "evenly in periods with pauses between them"),
    ];
}

/// The mode of the messages of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppMode {
    /// Retransmitted until they have arrived whole.
    Precise,
    /// Sent once, perhaps damaged outside their protected bytes.
    Approximate,
}

impl Choice for AppMode {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("precise", Self::Precise, "in order, whole, retransmitted until they have arrived"),
        ("approximate", Self::Approximate, "sent once, perhaps damaged behind `protected` bytes"),
    ];
}

/// Applications that send at times of their own.
const SENDERS: &[AppKind] = &[AppKind::Spray, AppKind::Cbr, AppKind::SapStream];
/// Applications that a rate may limit.
const WITH_RATE: &[AppKind] = &[AppKind::Spray, AppKind::Cbr, AppKind::SapBulk, AppKind::SapStream];
/// Applications that send or receive datagrams.
pub(crate) const DATAGRAMS: &[AppKind] = &[AppKind::Spray, AppKind::Cbr, AppKind::Sink];
/// Applications that send packet by packet.
const PACKETS: &[AppKind] = &[AppKind::Ping, AppKind::Spray, AppKind::Cbr, AppKind::SapStream];
/// Applications whose packets have a size.
const SIZED: &[AppKind] =
    &[AppKind::Ping, AppKind::Spray, AppKind::Cbr, AppKind::SapBulk, AppKind::SapStream];
/// Applications that send bytes as fast as they can.
const BULKS: &[AppKind] = &[AppKind::Bulk, AppKind::SapBulk];
/// Applications that speak SAP.
const SAP: &[AppKind] = &[AppKind::SapBulk, AppKind::SapStream];
/// Applications that send.
const SENDING: &[AppKind] = &[
    AppKind::Ping,
    AppKind::Spray,
    AppKind::Cbr,
    AppKind::Bulk,
    AppKind::SapBulk,
    AppKind::SapStream,
];
/// Applications with a port.
const WITH_PORT: &[AppKind] = &[
    AppKind::Spray,
    AppKind::Cbr,
    AppKind::Sink,
    AppKind::Bulk,
    AppKind::SapBulk,
    AppKind::SapStream,
];

settings! {
    /// The settings of an application.
    pub struct App with &'static [AppKind] {
        /// Destination: a station or an address, for datagrams also a group such as 224.0.0.5
        "to" to: Target {
            value: "STATION", example: "far", unset: "required", metadata: Some(SENDING),
        }
        /// Port of the destination, or of a sink
        "port" port: u16 [1..=65_535] {
            value: "NUMBER", example: "5000", default: "9000", metadata: Some(WITH_PORT),
            detail: "A station that a flow goes to has a sink even if none is named.",
        }
        /// Transport of datagrams
        "transport" transport: AppTransport {
            value: "NAME", example: "udplite", default: "udp", metadata: Some(DATAGRAMS),
        }
        /// Bytes of payload in each packet
        "size" size: u32 [0..=65_507] {
            value: "BYTES", example: "500", metadata: Some(SIZED),
            unset: "56 for `ping`, 160 for `cbr`, as fits the MTU for `spray`, 1024 for the \
                    messages of SAP",
        }
        /// Rate of the payload
        "rate" rate: Rate {
            value: "RATE", example: "64kbps", excludes: "interval", metadata: Some(WITH_RATE),
            unset: "of a spray without `interval` that of its fastest link; `cbr` and \
                    `sap-stream` need one of the two; as SAP permits for `sap-bulk`",
        }
        /// Arrival process of the datagrams
        "arrivals" arrivals: AppArrivals {
            value: "NAME", example: "poisson", default: "even", metadata: Some(SENDERS),
        }
        /// Most by which the time between two datagrams differs from their pace, at random
        "jitter" jitter: Duration {
            value: "TIME", example: "0s", metadata: Some(SENDERS),
            unset: "a tenth of the time between two datagrams",
            detail: "The pace holds all the same: none goes as late as the next is due. None with \
                     `poisson`. With 0s, of senders of one pace always the same ones find room in \
                     a full queue.",
        }
        /// Mean length of the periods of on-off arrivals
        "on" on: Duration {
            value: "TIME", example: "1s", unset: "required by `on-off`", metadata: Some(SENDERS),
            detail: "Exponentially distributed; it sends at `rate` in them.",
        }
        /// Mean length of the pauses of on-off arrivals
        "off" off: Duration {
            value: "TIME", example: "1s", unset: "required by `on-off`", metadata: Some(SENDERS),
            detail: "Exponentially distributed.",
        }
        /// Time between two packets
        "interval" interval: Duration {
            value: "TIME", example: "20ms", excludes: "rate", metadata: Some(PACKETS),
            unset: "1s for `ping`",
        }
        /// Bytes of the stream
        "bytes" bytes: ByteCount {
            value: "SIZE", example: "5MB", unset: "no end", metadata: Some(BULKS),
        }
        /// Number of transfers, each over a connection of its own
        "repeat" repeat: u64 [1..=u64::MAX] {
            value: "NUMBER", example: "10", default: "1", needs: "bytes",
            metadata: Some(&[AppKind::SapBulk]),
        }
        /// Number of packets
        "count" count: u64 [1..=u64::MAX] {
            value: "NUMBER", example: "10", unset: "no end", metadata: Some(PACKETS),
        }
        /// Time at which it begins
        "start" start: Duration {
            value: "TIME", example: "1s", unset: "at once", metadata: Some(SENDING),
            detail: "Of several `spray` and `cbr` without a start, all but the first begin at a \
                     random moment within the time between two of their datagrams, so that they \
                     are not in step.",
        }
        /// Time at which it ends
        "stop" stop: Duration [DURATIONS] {
            value: "TIME", example: "9s", unset: "at the end", metadata: Some(SENDING),
        }
        /// Covered bytes of a UDP-Lite datagram, header included: 0 for all, or 8 and more
        "coverage" coverage: u16 {
            value: "BYTES", example: "8", default: "0", metadata: Some(DATAGRAMS),
        }
        /// Mode of the messages
        "mode" mode: AppMode {
            value: "NAME", example: "approximate", metadata: Some(SAP),
            unset: "`precise` for `sap-bulk`, `approximate` for `sap-stream`",
        }
        /// Profile of SAP
        "profile" profile: Profile {
            value: "NAME", example: "paper", default: "standard", metadata: Some(SAP),
        }
        /// Bytes at the front of each approximate message that must arrive undamaged
        "protected" protected: u32 [0..=65_507] {
            value: "BYTES", example: "12", default: "0", metadata: Some(SAP),
        }
        /// Greatest bit error rate that the receiver accepts in approximate messages
        "tolerance" tolerance: f64 [0.0..=0.5] {
            value: "RATE", example: "1e-4", metadata: Some(SAP), requirement: "S1.67",
            unset: "any",
            detail: "The blocks of worse ones are requested again.",
        }
        /// Age above which the receiver counts a message as late
        "lifetime" lifetime: Duration [DURATIONS] {
            value: "TIME", example: "100ms", unset: "no limit", metadata: Some(SAP),
            detail: "It is delivered all the same; the `lifetime` of a [flow](flow.md) is what \
                     links drop.",
        }
        /// Time for which approximate messages that were lost are sent again
        "lateness" lateness: Duration {
            value: "TIME", example: "200ms", metadata: Some(SAP),
            unset: "`2s` for `sap-bulk`, `0s` for `sap-stream`",
            detail: "With 0s they are sent once. Those that arrive damaged are not sent again.",
        }
        /// Send approximate messages newest first, and drop the oldest where the link is too slow
        "newest-first" newest_first: bool {
            value: "SWITCH", example: "on", default: "off",
            metadata: Some(&[AppKind::SapStream]),
        }
    }
    required {
        /// Work of the application
        "kind" kind: AppKind { value: "NAME", example: "ping" }
        /// Station that it runs on
        "station" station: String { value: "STATION", example: "near" }
    }
}

impl App {
    /// An application of this kind on the station `name` without any other setting.
    #[must_use]
    pub fn new(kind: AppKind, name: &str) -> Self {
        let kind = toml::Spanned::new(0..0, kind);
        let station = name.to_owned();
        Self { kind, station: toml::Spanned::new(0..0, station), ..Self::unset() }
    }
}
