//! What a scenario file says, key by key. `docs/scenario.md` is the reference of every key.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use windfall_base::{ByteCount, Duration, Probability, Rate, Seed};
use windfall_channel::environment::Environment;
use windfall_channel::{GilbertElliott, Pattern, Window};
use windfall_link::policy::Kind as Policy;
use windfall_stack::{AssistConfig, CorruptionFilter, SnoopConfig};
use windfall_wire_link::ieee80211::Phy;

use crate::flows::Flow;
use crate::tcp::TcpSettings;
use crate::values::{Arq, ByteRange, Prefix, Queue, Sysctl, Target, by_text, seed};
use crate::wireless::{Radio, StationRadio};

/// The version of the file format.
pub const FORMAT: u32 = 1;
/// The MTU of a link that says nothing of it.
pub const DEFAULT_MTU: u16 = 1500;
/// How long a simulation runs that says nothing of it.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// A whole scenario: stations, the links between them, applications, seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// The version of the file format; 1.
    pub format: Spanned<u32>,
    /// The seed of everything that is drawn.
    #[serde(default, with = "seed", skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// How long a simulation runs; 10 s if silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Spanned<Duration>>,
    /// Admit reservations that a link cannot keep at worst.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overcommit: bool,
    /// TCP's congestion control in the kernels of the stations; the system's own if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_congestion: Option<String>,
    /// Parameters of the kernels of the stations, such as `net.ipv4.tcp_sack=0`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sysctl: Vec<Sysctl>,
    /// The stations.
    #[serde(default, rename = "station")]
    pub stations: Vec<Station>,
    /// The links.
    #[serde(default, rename = "link")]
    pub links: Vec<Link>,
    /// Flows with a share of their own, on every link.
    #[serde(default, rename = "flow", skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Flow>,
    /// The applications.
    #[serde(default, rename = "app", skip_serializing_if = "Vec::is_empty")]
    pub apps: Vec<App>,
}

/// A station: a host with an interface on every link that names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Station {
    /// Its name, unique in the scenario.
    pub name: Spanned<String>,
    /// Whether it forwards packets between its interfaces.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forward: bool,
    /// Its host and its applications are simulated even where those of others are real.
    #[serde(default, skip_serializing_if = "is_false")]
    pub simulated: bool,
    /// Where it is, and its radio, on links of 802.11.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<StationRadio>,
    /// How its TCP behaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSettings>,
    /// Interfaces that are not as the links alone would make them.
    #[serde(default, rename = "interface", skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<StationInterface>,
    /// Routes; the shortest ways to every network if there are none.
    #[serde(default, rename = "route", skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// What a station says of its interface on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StationInterface {
    /// The link.
    pub link: Spanned<String>,
    /// The addresses, with the lengths of the prefixes; chosen automatically if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Spanned<Prefix>>,
    /// Drop damaged segments here whose corruption detection option does not hold (S4.11).
    #[serde(default, skip_serializing_if = "is_false")]
    pub corruption_filter: bool,
    /// Keep segments that go out here, repeat those that the link loses, and keep duplicate
    /// acknowledgments of them from the sender (S2.18).
    #[serde(default, skip_serializing_if = "is_false")]
    pub snoop: bool,
}

impl Station {
    /// What it says of its interface on `link`.
    pub(crate) fn interface(&self, link: &str) -> Option<&StationInterface> {
        self.interfaces.iter().find(|interface| interface.link.get_ref() == link)
    }
}

impl StationInterface {
    /// What it does for the TCP that crosses it.
    pub(crate) fn assist(&self) -> AssistConfig {
        AssistConfig {
            filter: self.corruption_filter.then(CorruptionFilter::default),
            snoop: self.snoop.then(SnoopConfig::default),
        }
    }
}

/// A route of a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Route {
    /// The network that the route leads to.
    pub to: Spanned<Prefix>,
    /// The next station on the way, by an address on a link of this station.
    pub via: Spanned<IpAddr>,
}

/// What kind of link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// A wire for each direction: rate, delay, queue.
    #[default]
    Pipe,
    /// The radio of S3.2: 2 Mb/s, poll and response, an acknowledgement for every frame.
    Wavelan,
    /// 802.11b: 1 to 11 Mb/s.
    WifiB,
    /// 802.11g: 6 to 54 Mb/s.
    WifiG,
}

impl LinkKind {
    /// Which 802.11 it is, if it is one.
    #[must_use]
    pub const fn phy(self) -> Option<Phy> {
        match self {
            Self::Pipe | Self::Wavelan => None,
            Self::WifiB => Some(Phy::B),
            Self::WifiG => Some(Phy::G),
        }
    }
}

/// What else of a frame the air may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exposed {
    /// The link header.
    Header,
    /// The link trailer, the frame check.
    Trailer,
    /// Frames that carry no packet: polls and acknowledgements.
    Control,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct App {
    /// What it does.
    pub kind: Spanned<AppKind>,
    /// The station that it runs on.
    pub station: Spanned<String>,
    /// Whom it speaks to: a station or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Spanned<Target>>,
    /// The port at the far end, or of a sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Spanned<u16>>,
    /// Which transport it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Spanned<AppTransport>>,
    /// Bytes of payload in each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Spanned<u32>>,
    /// The rate of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Spanned<Rate>>,
    /// How datagrams follow each other; evenly if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Spanned<ArrivalsWord>>,
    /// How long an on–off sender sends, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Spanned<Duration>>,
    /// How long it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Spanned<Duration>>,
    /// Time between two packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Spanned<Duration>>,
    /// How many bytes of a stream; no end if silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Spanned<ByteCount>>,
    /// How many packets; no end if silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Spanned<u64>>,
    /// When it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Spanned<Duration>>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Spanned<Duration>>,
    /// Covered bytes of a UDP-Lite datagram, header included; 0 covers all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Spanned<u16>>,
}

impl App {
    /// An application of this kind on the station `name` that says nothing else.
    #[must_use]
    pub fn new(kind: AppKind, name: &str) -> Self {
        Self {
            kind: Spanned::new(0..0, kind),
            station: Spanned::new(0..0, name.to_owned()),
            to: None,
            port: None,
            transport: None,
            size: None,
            rate: None,
            arrivals: None,
            on: None,
            off: None,
            interval: None,
            bytes: None,
            count: None,
            start: None,
            stop: None,
            coverage: None,
        }
    }
}

/// How the datagrams of an application follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalsWord {
    /// Evenly.
    Even,
    /// As a Poisson process.
    Poisson,
    /// Evenly in periods of exponential length, with pauses between them.
    OnOff,
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppKind {
    /// Sends echo requests and times the replies.
    Ping,
    /// Sends datagrams as fast as the link takes them (S3.24).
    Spray,
    /// Sends datagrams at a constant rate.
    Cbr,
    /// Receives datagrams and counts them.
    Sink,
    /// Sends bytes over a TCP connection as fast as it takes them.
    Bulk,
}

/// The transport of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppTransport {
    /// UDP.
    #[default]
    Udp,
    /// UDP-Lite.
    Udplite,
}

/// Defines the keys that a link has for both directions and for each of them.
macro_rules! directed_keys {
    ($($(#[$meta:meta])* $field:ident: $type:ty,)*) => {
        /// A link between stations.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Link {
            /// Its name, unique in the scenario; the names of its stations if silent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub name: Option<Spanned<String>>,
            /// What kind of link; a pipe if silent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub kind: Option<Spanned<LinkKind>>,
            /// The stations at its ends; of a pipe, uplink is from the first to the second.
            pub stations: Spanned<Vec<Spanned<String>>>,
            /// The base station of a radio: uplink is to it, downlink from it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub base: Option<Spanned<String>>,
            /// The longest packet, in bytes.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mtu: Option<Spanned<u16>>,
            $($(#[$meta])* #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
            /// The radio of an 802.11 link.
            #[serde(default, skip_serializing_if = "Radio::is_silent")]
            pub radio: Radio,
            /// What differs in the direction from the first station, or to the base station.
            #[serde(default, skip_serializing_if = "Direction::is_silent")]
            pub uplink: Direction,
            /// What differs in the direction to the first station, or from the base station.
            #[serde(default, skip_serializing_if = "Direction::is_silent")]
            pub downlink: Direction,
            /// Where the air differs from station to station; of several that speak of the same
            /// air, the last wins.
            #[serde(default, rename = "path", skip_serializing_if = "Vec::is_empty")]
            pub paths: Vec<Path>,
        }

        /// The air between two stations of a radio; silent keys leave it as the link says.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Path {
            /// Who sends; anybody if silent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub from: Option<Spanned<String>>,
            /// Who hears it; anybody if silent.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub to: Option<Spanned<String>>,
            $($(#[$meta])* #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
        }

        impl Path {
            /// What it says of the air.
            #[must_use]
            pub fn said(&self) -> Direction {
                Direction { $($field: self.$field.clone(),)* }
            }
        }

        /// What one direction of a link is like; silent keys leave it as the link says.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Direction {
            $($(#[$meta])* #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
        }

        impl Direction {
            /// Takes over every key that `other` sets.
            pub fn overlay(&mut self, other: &Self) {
                self.yield_rate(other);
                $(if other.$field.is_some() {
                    self.$field.clone_from(&other.$field);
                })*
            }

            /// The names of the keys that are set.
            pub(crate) fn said(&self) -> Vec<&'static str> {
                let mut said = Vec::new();
                $(if self.$field.is_some() {
                    said.push(stringify!($field));
                })*
                said
            }

            /// Silences every key that `other` sets.
            pub fn silence(&mut self, other: &Self) {
                self.yield_rate(other);
                $(if other.$field.is_some() {
                    self.$field = None;
                })*
            }
        }

        impl Link {
            /// A link between two stations that says nothing else.
            #[must_use]
            pub fn between(first: &str, second: &str) -> Self {
                let ends = [first, second].map(|name| Spanned::new(0..0, name.to_owned()));
                Self {
                    name: None,
                    kind: None,
                    stations: Spanned::new(0..0, ends.into()),
                    base: None,
                    mtu: None,
                    $($field: None,)*
                    radio: Radio::default(),
                    uplink: Direction::default(),
                    downlink: Direction::default(),
                    paths: Vec::new(),
                }
            }

            /// What the link says of both directions.
            #[must_use]
            pub fn both(&self) -> Direction {
                Direction { $($field: self.$field.clone(),)* }
            }

            /// Replaces what the link says of both directions.
            pub fn set_both(&mut self, both: &Direction) {
                $(self.$field.clone_from(&both.$field);)*
            }
        }
    };
}

directed_keys! {
    /// The rate; a pipe without one takes no time to send.
    rate: Spanned<Rate>,
    /// A trace of the rate over time, of mahimahi or netem-trace.
    rate_trace: Spanned<String>,
    /// How long a bit travels.
    delay: Spanned<Duration>,
    /// The probability that a frame is lost.
    loss: Spanned<Probability>,
    /// Frames lost in bursts, as netem's `gemodel`: `p [r [1-h [1-k]]]`.
    #[serde(with = "by_text")]
    gemodel: GilbertElliott,
    /// So many frames lost of every so many: `5/100`.
    #[serde(with = "by_text")]
    burst: Pattern,
    /// The probability that a bit is inverted.
    ber: Spanned<Probability>,
    /// Bits inverted in bursts, as `gemodel`, one step per bit.
    #[serde(with = "by_text")]
    bit_gemodel: GilbertElliott,
    /// Bits inverted within one bounded window of a frame: `p bits rate`, such as `10% 256 5%`.
    #[serde(with = "by_text")]
    window: Window,
    /// The probability that exactly one bit of a packet is inverted, as netem's `corrupt`.
    corrupt: Spanned<Probability>,
    /// The probability that a frame is cut short.
    truncate: Spanned<Probability>,
    /// A trace of losses, truncations and inverted bits.
    error_trace: Spanned<String>,
    /// A place of Table 1 whose synthetic trace says what happens to frames (S3.17).
    #[serde(with = "by_text")]
    environment: Environment,
    /// Bit errors strike only these bytes of a packet.
    range: Spanned<ByteRange>,
    /// What else of a frame the air may hit.
    expose: Vec<Exposed>,
    /// How often lost and damaged frames are repeated.
    arq: Spanned<Arq>,
    /// Who chooses the size and the parity of coded frames; frames are not coded if silent.
    #[serde(with = "by_text")]
    policy: Policy,
    /// Whether coded frames always have as many whole blocks as the policy says.
    padded: bool,
    /// Whether packets that fail the frame check are handed up, marked.
    accept_damaged: bool,
    /// The queue before the link: its discipline, and how long it may become.
    queue: Spanned<Queue>,
}

impl Direction {
    /// Gives up a rate or a rate trace when `other` sets the one or the other.
    fn yield_rate(&mut self, other: &Self) {
        if other.rate.is_some() || other.rate_trace.is_some() {
            self.rate = None;
            self.rate_trace = None;
        }
    }

    /// Whether no key is set.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}

impl Link {
    /// What kind of link; a pipe if silent.
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        self.kind.as_ref().map(|kind| *kind.get_ref()).unwrap_or_default()
    }

    /// The longest packet, in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu.as_ref().map_or(DEFAULT_MTU, |mtu| *mtu.get_ref())
    }

    /// The name, or one made of the names of the stations.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.name {
            Some(name) => name.get_ref().clone(),
            None => {
                let names: Vec<_> =
                    self.stations.get_ref().iter().map(|name| name.get_ref().as_str()).collect();
                names.join("-")
            }
        }
    }

    /// The place of the base station among the stations of a radio: the second of two, the first
    /// of more if the link is silent about it.
    #[must_use]
    pub fn base(&self) -> usize {
        let stations = self.stations.get_ref();
        let said = self.base.as_ref().map(Spanned::get_ref);
        let named = said.and_then(|name| stations.iter().position(|s| s.get_ref() == name));
        named.unwrap_or(usize::from(stations.len() == 2))
    }

    /// What the air of a radio is like from the station of one place to that of another.
    #[must_use]
    pub fn air_between(&self, from: usize, to: usize) -> Direction {
        let mut direction = self.direction(from != self.base());
        for path in &self.paths {
            if self.stands_at(path.from.as_ref(), from) && self.stands_at(path.to.as_ref(), to) {
                direction.overlay(&path.said());
            }
        }
        direction
    }

    /// Whether the station of a place has this name, or no name is asked for.
    fn stands_at(&self, name: Option<&Spanned<String>>, place: usize) -> bool {
        let own = self.stations.get_ref().get(place).map(Spanned::get_ref);
        name.is_none_or(|name| own == Some(name.get_ref()))
    }

    /// What the direction of the uplink or the downlink is like.
    #[must_use]
    pub fn direction(&self, is_uplink: bool) -> Direction {
        let mut direction = self.both();
        direction.overlay(if is_uplink { &self.uplink } else { &self.downlink });
        direction
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde prescribes the signature")]
fn is_false(value: &bool) -> bool {
    !*value
}
