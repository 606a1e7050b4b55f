//! The settings of a link, of its directions and of the paths of its air.

use toml::Spanned;
use windfall_settings::{Choice, Get, Settings, settings};
use windfall_wire_link::ieee80211::Phy;

use crate::direction::Direction;
use crate::side::Side;
use crate::wifi::Radio;

/// The MTU of a link where it is unset.
pub const DEFAULT_MTU: u16 = 1500;
/// Bytes of the headers of IPv4 and of IPv6 with the header of a datagram.
pub(crate) const HEADERS: [u32; 2] = [28, 48];

/// The medium of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkKind {
    /// A wire for each direction: rate, delay, queue.
    #[default]
    Pipe,
    /// The radio of S3.2: 2 Mb/s, poll and response, an acknowledgement for every frame.
    Wavelan,
    /// A radio of 802.11b: 1 to 11 Mb/s.
    WifiB,
    /// A radio of 802.11g: 6 to 54 Mb/s.
    WifiG,
    /// A circuit of GSM: 9.6 kb/s in radio blocks of 20 ms, with PPP on it.
    Gsm,
}

impl Choice for LinkKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("pipe", Self::Pipe, "A wire for each direction: rate, delay, queue"),
        (
            "wavelan",
            Self::Wavelan,
            "A radio of 2 Mb/s with poll and response and an acknowledgement for every frame",
        ),
        ("wifi-b", Self::WifiB, "802.11b: 1 to 11 Mb/s, with stations at places"),
        ("wifi-g", Self::WifiG, "802.11g: 6 to 54 Mb/s, with stations at places"),
        ("gsm", Self::Gsm, "A GSM circuit of 9.6 kb/s in blocks of 20 ms, with PPP"),
    ];
}

/// The modems of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modem {
    /// Class 4: error control.
    Mnp4,
    /// Class 5: compression too.
    Mnp5,
}

impl Choice for Modem {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("mnp4", Self::Mnp4, "Error control after MNP class 4"),
        ("mnp5", Self::Mnp5, "Also compression, after MNP class 5"),
    ];
}

impl LinkKind {
    /// Returns the version of 802.11, if it is one.
    #[must_use]
    pub const fn phy(self) -> Option<Phy> {
        match self {
            Self::Pipe | Self::Wavelan | Self::Gsm => None,
            Self::WifiB => Some(Phy::B),
            Self::WifiG => Some(Phy::G),
        }
    }

    /// Tells whether each direction is a wire of its own, which may change while a scenario runs.
    #[must_use]
    pub const fn is_wire(self) -> bool {
        match self {
            Self::Pipe => true,
            Self::Wavelan | Self::WifiB | Self::WifiG | Self::Gsm => false,
        }
    }

    /// Tells whether it is a circuit, which may have modems or a tunnel.
    pub(crate) const fn is_circuit(self) -> bool {
        match self {
            Self::Gsm => true,
            Self::Pipe | Self::Wavelan | Self::WifiB | Self::WifiG => false,
        }
    }

    /// Tells whether a base station polls the others.
    pub(crate) const fn is_polled(self) -> bool {
        match self {
            Self::Wavelan => true,
            Self::Pipe | Self::WifiB | Self::WifiG | Self::Gsm => false,
        }
    }
}

settings! {
    /// The settings of a link between stations.
    pub struct Link {
        /// Name of the link, unique in the scenario
        "name" name: String {
            value: "NAME", example: "air", unset: "the names of its stations, with hyphens",
            is_key_only: true,
        }
        /// Kind of link
        "kind" kind: LinkKind {
            option: "link", value: "KIND", example: "pipe", default: "pipe", short: "Kind of link",
        }
        /// Base station of a radio: uplink is the direction to it, downlink from it
        "base" base: String {
            value: "STATION", example: "far", is_key_only: true,
            unset: "the second of two stations, the first of more",
        }
        /// Longest packet, in bytes
        "mtu" mtu: u16 [68..=65_535] {
            value: "BYTES", example: "1400", default: "1500",
            detail: "On wifi links at most 2296.",
        }
        /// Blocks that wait in the tunnel behind the base station of a gsm circuit, each way
        "tunnel" tunnel: u16 [1..=1_000] {
            value: "BLOCKS", example: "4", unset: "the circuit ends at the base station",
            detail: "RLP then runs on a machine with a clock of its own; a block lasts 20 ms.",
            is_key_only: true,
        }
        /// Difference of that machine's clock to the base station's, in millionths
        "clock-skew" clock_skew: f64 [-10_000.0..=10_000.0] {
            value: "PPM", example: "50", default: "0", needs: "tunnel", is_key_only: true,
            detail: "Positive where it is slower.",
        }
        /// Error-correcting modems at the ends of a transparent gsm circuit
        "modem" modem: Modem {
            value: "CLASS", example: "mnp4", unset: "none",
            detail: "Both ends have the same; \
                     [gsm.md](gsm.md#modems-that-correct-errors) says what they \
                     do. Only on gsm, without `arq`.",
        }
    }
    required {
        /// Stations at its ends; of a pipe, uplink is from the first to the second
        "stations" stations: Vec<Spanned<String>> {
            value: "STATIONS", example: "near,far", detail: "A list, `[\"near\", \"far\"]`.",
        }
    }
    parts {
        /// The radio of an 802.11 link.
        "radio" radio: Radio
        /// The settings that differ from the first station, or to the base station.
        "uplink" uplink: Direction
        /// The settings that differ to the first station, or from the base station.
        "downlink" downlink: Direction
        /// Paths on which the air differs; of several that match, the last wins.
        "path" paths: Vec<Path>
    }
    inline {
        /// The settings of both directions.
        both: Direction
    }
}

settings! {
    /// The air between two stations of a radio; what is unset is as the link has it.
    pub struct Path {
        /// Station that sends
        "from" from: String { value: "STATION", example: "near", unset: "every station" }
        /// Station that receives
        "to" to: String { value: "STATION", example: "far", unset: "every station" }
    }
    inline {
        /// The settings of the air.
        air: Direction
    }
}

impl Link {
    /// A link between two stations without any setting.
    #[must_use]
    pub fn between(first: &str, second: &str) -> Self {
        let ends = [first, second].map(|name| Spanned::new(0..0, name.to_owned()));
        Self { stations: Spanned::new(0..0, ends.into()), ..Self::unset() }
    }

    /// Returns the kind of the link.
    #[must_use]
    pub fn kind(&self) -> LinkKind {
        self.kind.value().unwrap_or_default()
    }

    /// Returns the longest packet, in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.mtu.value().unwrap_or(DEFAULT_MTU)
    }

    /// Returns the name, or one made of the names of the stations.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.value().unwrap_or_else(|| {
            let stations = self.stations.get_ref().iter();
            stations.map(|name| name.get_ref().as_str()).collect::<Vec<_>>().join("-")
        })
    }

    /// Returns the place of the base station among the stations of a radio.
    #[must_use]
    pub fn base(&self) -> usize {
        let stations = self.stations.get_ref();
        let named = self.base.as_ref().and_then(|base| stations.iter().position(|it| it == base));
        named.unwrap_or(usize::from(stations.len() == 2))
    }

    /// Returns the direction in which the station of this place on the link sends.
    #[must_use]
    pub fn side_of(&self, place: usize) -> Side {
        let sends_down = match self.kind() {
            LinkKind::Pipe | LinkKind::Gsm => place > 0,
            LinkKind::Wavelan | LinkKind::WifiB | LinkKind::WifiG => place == self.base(),
        };
        if sends_down { Side::Downlink } else { Side::Uplink }
    }

    /// Returns the settings of the uplink or the downlink.
    #[must_use]
    pub fn direction(&self, side: Side) -> Direction {
        let mut direction = self.both.clone();
        direction.overlay(match side {
            Side::Uplink => &self.uplink,
            Side::Downlink => &self.downlink,
        });
        direction
    }

    /// Returns the settings of the air of a radio between the stations of two places.
    #[must_use]
    pub fn air_between(&self, from: usize, to: usize) -> Direction {
        let mut direction = self.direction(self.side_of(from));
        for path in &self.paths {
            if self.stands_at(path.from.as_ref(), from) && self.stands_at(path.to.as_ref(), to) {
                direction.overlay(&path.air);
            }
        }
        direction
    }

    /// Tells whether the station of a place has this name, or no name is asked for.
    fn stands_at(&self, name: Option<&Spanned<String>>, place: usize) -> bool {
        name.is_none_or(|name| self.stations.get_ref().get(place) == Some(name))
    }

    /// Returns the settings that are made anew for each direction and path, to change them.
    pub fn directions_mut(&mut self) -> impl Iterator<Item = &mut Direction> {
        let paths = self.paths.iter_mut().map(|path| &mut path.air);
        [&mut self.both, &mut self.uplink, &mut self.downlink].into_iter().chain(paths)
    }
}
