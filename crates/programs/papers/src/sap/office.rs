//! The office of paper 000 (S0.29): two stations 1 to 15 m apart in ad hoc mode, walls, other
//! networks. All figures have it.

use windfall_base::{Dbm, Duration, Rate};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{Fading, Position, RadioConfig, Track};
use windfall_mac::wifi::{Config, Role, rate_control};
use windfall_network::NetworkConfig;
use windfall_scenario::{App, AppKind, Scenario};
use windfall_stack::Rule;
use windfall_stack::{LinkLayerConfig, Neighbour};
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

use crate::experiment::ExperimentInput;

//= S0.29
/// The office, with the moving station at its furthest position.
pub(crate) const SCENARIO: &str = include_str!("../../../../../scenarios/examples/sap-office.toml");
/// The distances from the fixed station to the moving one in metres.
pub(crate) const DISTANCES: [f64; 7] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.2];
//= S0.31
/// The rates of the authors' scripts, in Mb/s.
pub(crate) const RATES: [u64; 10] = [1, 2, 6, 9, 12, 18, 24, 36, 48, 54];
/// The number of other networks: four on the channels beside the office's, then three on its own.
pub(crate) const NETWORKS: usize = 7;
/// The first of those that are on the channel of the office.
const NEAR: usize = 4;
/// The power ratio of the steady part of a path to its echoes.
const STEADY: f64 = 10.0;
/// The Doppler frequency in hertz: people walking.
const DOPPLER: f64 = 11.0;
/// The centre frequency of channel 6.
const MEGAHERTZ: f64 = 2_437.0;
/// The bytes of the IPv4 and UDP headers of the other networks' packets.
const HEADERS: usize = 28;
/// The index of the moving station, which sends, and of the fixed one; others follow in pairs.
const MOVING: usize = 0;
const FIXED: usize = 1;

/// The argument for one office in all figures.
pub(crate) const DESCRIPTION: &str = "\
    All figures of this paper have the same office, that of scenarios/examples/sap-office.toml. \
    What was fitted in it was fitted to Figure 2 alone, the paper's only measurement of its \
    channel, and to no comparison of protocols. The authors' floor plan, channel and neighbours \
    are not known.";

/// Returns what went into the office, with the source of each value.
pub(crate) fn inputs() -> Vec<ExperimentInput> {
    let given = [
        (
            "path loss",
            "free space to 1 m, an exponent of 3 beyond",
            "same-floor offices: 2.6 to 3.3",
        ),
        (
            "walls",
            "5 dB at 5 m and every 3 m beyond",
            "section 4.2: through walls from 5 m on; light walls take 3 to 8 dB",
        ),
        ("transmit power", "15 dBm", "cards of the time"),
        ("noise figure and distortion", "10 dB, -25 dB", "what 802.11 assumes and allows"),
        ("slots and windows", "9 µs, 15 to 1023", "802.11g without 802.11b stations"),
        ("fading", "Rician, 11 Hz", "people walking"),
        ("bits that break", "from the coded chain, measured", "802.11's own code and interleaver"),
    ];
    let fitted = [
        ("steady part of the fading", "K = 10", "Figure 2: more than 30 % at 12.2 m and 54 Mb/s"),
        (
            "networks on channels 1 and 11",
            "four, 17 to 24 m away, 450 frames/s of 1000 bytes each",
            "Figure 2, as above",
        ),
        ("networks on channel 6", "three, 25 frames/s of 1000 bytes each", "Figure 2, as above"),
    ];
    let given = given.map(|(name, value, source)| ExperimentInput::given(name, value, source));
    let fitted = fitted.map(|(name, value, source)| ExperimentInput::fitted(name, value, source));
    given.into_iter().chain(fitted).collect()
}

/// The parameters of the office and its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Office {
    /// The distance from the fixed station to the moving one, in metres.
    pub(crate) metres: f64,
    /// The rate of both stations in Mb/s.
    pub(crate) mbps: u64,
    /// Lets the two stations choose the rate instead.
    pub(crate) adapts_rate: bool,
    /// Makes the receivers pass up damaged frames.
    pub(crate) accept_damaged: bool,
    /// The number of attempts of an approximate frame; those of any other if 0.
    pub(crate) attempts: u8,
    /// The transmit power of both stations.
    pub(crate) power: Dbm,
    /// The length above which a frame is preceded by RTS and CTS.
    pub(crate) rts_threshold: usize,
    /// The channel of both stations.
    pub(crate) channel: u8,
    /// Makes the sender an access point, and the receiver a client that dozes between its beacons.
    pub(crate) power_save: bool,
    /// The power ratio of the steady part of a path to its echoes.
    pub(crate) steady: f64,
    /// The number of other networks that send.
    pub(crate) others: usize,
    /// The load of the networks on other channels, and of those on the same one, over that of the
    /// office.
    pub(crate) load: [f64; 2],
}

/// Another network, whose access point sends to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    /// The length of each packet in bytes, headers included.
    pub(crate) bytes: usize,
    /// The mean number of packets per second.
    pub(crate) per_second: f64,
}

impl Office {
    /// Creates the paper's office with all its networks.
    pub(crate) const fn at(metres: f64, mbps: u64) -> Self {
        Self {
            metres,
            mbps,
            adapts_rate: false,
            accept_damaged: false,
            attempts: 1,
            power: Dbm(15.0),
            rts_threshold: 2_347,
            channel: 6,
            power_save: false,
            steady: STEADY,
            others: NETWORKS,
            load: [1.0, 1.0],
        }
    }

    /// Weakens both stations so that they receive each other as if they stood `metres` apart.
    pub(crate) fn with_signal_of(self, metres: f64) -> Self {
        let network = self.network();
        let MediumConfig::Wifi(radio) = &network.links[0].medium else { return self };
        let weaker = loss(metres, radio) - loss(self.metres, radio);
        Self { power: Dbm(self.power.0 - weaker), ..self }
    }

    /// Returns the traffic of the other networks, in the order of the stations.
    pub(crate) fn others(self) -> Vec<Other> {
        let sends = |app: &&App| *app.kind.get_ref() == AppKind::Cbr;
        let scenario = scenario();
        let others = scenario.apps.iter().filter(sends).take(self.others).enumerate();
        others
            .map(|(place, app)| Other {
                bytes: app.size.as_ref().map_or(0, |size| *size.get_ref() as usize) + HEADERS,
                per_second: self.load[usize::from(place >= NEAR)]
                    * app.interval.as_ref().map_or(0.0, |it| 1.0 / it.get_ref().as_secs_f64()),
            })
            .collect()
    }

    //= S0.29
    //= S0.30
    /// Builds the network without hosts: the experiment uses the devices of all stations directly,
    /// as the authors did by a cable.
    pub(crate) fn network(self) -> NetworkConfig {
        let no_files = &mut |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let topology = scenario().topology(0, ("", SCENARIO), no_files);
        let mut network = topology.expect("the office can be").network;
        // The air is the first medium; the cable is left to the experiment.
        network.links.truncate(1);
        let link = &mut network.links[0];
        for (place, end) in link.ends.iter_mut().enumerate() {
            end.interface.rules = vec![self.approximate()];
            if let LinkLayerConfig::Wifi(wifi) = &mut end.interface.link {
                // Each station sends to the other one of its pair.
                let address = MacAddress::of_station(place as u16 ^ 1);
                wifi.neighbours = [Neighbour { address, behind: Vec::new() }].into();
                wifi.mac.accept_damaged = false;
                self.set_up(place, &mut wifi.mac);
            }
        }
        if let MediumConfig::Wifi(radio) = &mut link.medium {
            self.place_stations(radio);
        }
        network
    }

    /// Returns the rule by which an interface recognises approximate packets.
    fn approximate(self) -> Rule {
        let rule = Rule::approximate();
        let attempts = core::num::NonZeroU8::new(self.attempts);
        Rule { class: windfall_base::Class { attempts, ..rule.class }, ..rule }
    }

    /// Sets the positions, the channel and the power of the two stations, and the fading.
    fn place_stations(self, radio: &mut RadioConfig) {
        radio.fading = Fading::Rician { k: self.steady, doppler: DOPPLER };
        radio.stations[MOVING].track = Track::fixed(Position::new(self.metres, 0.0));
        for station in &mut radio.stations[MOVING..=FIXED] {
            station.power = self.power;
            station.channel = self.channel;
        }
    }

    /// Returns the time that the stations need before they can send.
    pub(crate) const fn settles_in(self) -> Duration {
        if self.power_save { Duration::from_secs(1) } else { Duration::ZERO }
    }

    /// Configures the MAC of a station, if it is one of the two.
    fn set_up(self, place: usize, mac: &mut Config) {
        if place > FIXED {
            return;
        }
        mac.rate = phy_rate(self.mbps);
        if self.adapts_rate {
            mac.rate_control = rate_control::MINSTREL;
        }
        mac.accept_damaged = self.accept_damaged;
        mac.rts_threshold = self.rts_threshold;
        if self.power_save {
            let ssid = b"office".iter().copied().collect();
            mac.role = match place {
                MOVING => Role::AccessPoint { ssid, interval: 100, channel: self.channel },
                _ => Role::Member { ssid, power_save: true },
            };
        }
    }
}

/// Returns the loss between the two stations in decibels, walls included.
pub(crate) fn loss(metres: f64, radio: &RadioConfig) -> f64 {
    let [moving, fixed] = [metres, 0.0].map(|x| Position::new(x, 0.0));
    let walls = radio.walls.iter().filter(|wall| wall.between(moving, fixed));
    radio.path_loss.decibels(metres, MEGAHERTZ) + walls.map(|wall| wall.loss).sum::<f64>()
}

fn scenario() -> Scenario {
    Scenario::parse("sap-office.toml", SCENARIO).expect("the scenario is right")
}

/// Returns a rate of the standard by its Mb/s.
fn phy_rate(mbps: u64) -> PhyRate {
    let rate = Rate::from_mbps(mbps).and_then(PhyRate::from_rate);
    rate.expect("the rates are those of the standard")
}
