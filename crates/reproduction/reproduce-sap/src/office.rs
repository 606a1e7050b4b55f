//! The office of paper 000 (S0.29) in a calm hour, for whole transfers: two stations in ad hoc
//! mode, walls, three other networks on their channel and none on others, as in
//! [`busy`](super::busy).

use windfall_base::{Dbm, Rate};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{Fading, PathLoss, Position, RadioConfig, RadioStation, Wall};

use windfall_mac::dcf::Config;
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_queue::Limits;
use windfall_stack::{InterfaceConfig, Neighbour, WifiConfig};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate};

/// The positions of walls: the next room begins 5 m from the fixed station, and rooms are 3 m wide.
const WALLS: [f64; 3] = [5.0, 7.9, 10.9];
/// The power ratio of the steady part of a path to its echoes: 6 dB, since stations do not move and
/// a signal of 20 MHz averages over the echoes.
const STEADY: f64 = 4.0;
/// The attenuation of a wall: within the 3 to 8 dB of light walls at 2.4 GHz.
const WALL_LOSS: f64 = 5.0;
/// The centre frequency of channel 6.
const MEGAHERTZ: f64 = 2_437.0;
/// The exponent of the path loss.
const PATH_LOSS: PathLoss = PathLoss::LogDistance { exponent: 3.0 };
/// The noise figure of receivers and the distortion of a signal in decibels.
pub(super) const NOISE_FIGURE: f64 = 10.0;
pub(super) const DISTORTION: f64 = -25.0;
/// The other networks: the positions of their access points and clients. The first three are
/// present by default.
pub(super) const OTHERS: [[(f64, f64); 2]; 6] = [
    [(-6.0, 8.0), (-11.0, 10.0)],
    [(14.0, -9.0), (19.0, -12.0)],
    [(7.0, 14.0), (4.0, 19.0)],
    [(-9.0, -7.0), (-13.0, -3.0)],
    [(-4.0, -13.0), (-9.0, -16.0)],
    [(-14.0, 2.0), (-18.0, 5.0)],
];

/// The description of the office, with the source of each number.
pub(super) const DESCRIPTION: &str = "\
    The air: free space to 1 m and an exponent of 3 beyond (same-floor offices: 2.6 to 3.3), \
    walls of 5 dB (light ones take 3 to 8) at 5 m, where the paper has the first, and every 3 m, \
    as wide as its offices are, Rician fading of K = 4 at 11 Hz (people walking), 15 dBm (cards \
    of the time), a noise figure of 10 dB and a distortion of -25 dB (what 802.11 assumes and \
    allows), three other networks on the channel that each offer 40 frames of 1000 bytes a \
    second at 24 Mb/s. K and the number of walls were chosen so that the frames of one attempt \
    fail often at 54 Mb/s and 12.2 m; everything else was taken from the standard and from \
    general measurements. The authors' positions, walls and neighbours are not known beyond what \
    the paper says, so trends and bounds are compared, not curves.";

/// Returns the path loss over a distance in metres, in decibels.
pub(super) fn loss(metres: f64) -> f64 {
    let walls = WALLS.iter().filter(|wall| **wall < metres).count();
    PATH_LOSS.decibels(metres, MEGAHERTZ) + walls as f64 * WALL_LOSS
}

/// The parameters of the office and its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Office {
    /// The distance from the receiver to the sender, in metres.
    pub(super) metres: f64,
    /// The rate of both stations in Mb/s.
    pub(super) mbps: u64,
    /// Makes the receivers pass up damaged frames.
    pub(super) accept_damaged: bool,
    /// The transmit power of both stations.
    pub(super) power: Dbm,
    /// The length above which a frame is preceded by RTS and CTS.
    pub(super) rts_threshold: usize,
    /// The channel of both stations; the others are on channel 6.
    pub(super) channel: u8,
    /// The number of other networks, at most as many as have a position.
    pub(super) others: usize,
}

impl Office {
    /// Creates the paper's office, as far as it is known.
    pub(super) const fn new(metres: f64, mbps: u64) -> Self {
        Self {
            metres,
            mbps,
            accept_damaged: false,
            power: Dbm(15.0),
            rts_threshold: 2_347,
            channel: 6,
            others: 3,
        }
    }

    /// Returns the stations: the sender, the receiver, then those of others in pairs.
    fn stations(self) -> u16 {
        2 + 2 * self.others.min(OTHERS.len()) as u16
    }

    //= S0.29
    //= S0.30
    /// Builds the network. The experiment sees both ends at once, as the authors did by a cable.
    pub(super) fn network(self) -> NetworkConfig {
        let station = |place: u16| StationConfig { name: place.to_string(), host: None };
        NetworkConfig {
            stations: (0..self.stations()).map(station).collect(),
            links: vec![LinkConfig {
                name: "office".to_owned(),
                medium: MediumConfig::Radio(Box::new(self.radio())),
                ends: (0..self.stations()).map(|place| self.end(place)).collect(),
            }],
        }
    }

    fn end(self, place: u16) -> EndConfig {
        let mut mac = Config::new(MacAddress::of_station(place), Phy::G);
        let rate = Rate::from_mbps(if place < 2 { self.mbps } else { 24 });
        mac.rate = rate.and_then(PhyRate::from_rate).expect("the rates are those of the standard");
        mac.accept_damaged = self.accept_damaged && place < 2;
        if place < 2 {
            mac.rts_threshold = self.rts_threshold;
        }
        // Each station sends to the other one of its pair.
        let peer = MacAddress::of_station(place ^ 1);
        let neighbours = [Neighbour { address: peer, behind: Vec::new() }].into();
        let link = windfall_stack::LinkConfig::Wifi(WifiConfig { mac, neighbours });
        let queue = Limits { packets: 64, bytes: usize::MAX };
        let interface = InterfaceConfig { mtu: 2_296, queue, link, ..Default::default() };
        EndConfig { station: usize::from(place), interface }
    }

    fn radio(self) -> RadioConfig {
        let ours = [Position::new(self.metres, 0.0), Position::new(0.0, 0.0)];
        let others = OTHERS.as_flattened().iter().map(|&(x, y)| Position::new(x, y));
        let places = ours.into_iter().chain(others).take(usize::from(self.stations()));
        let station = |(place, position)| RadioStation {
            address: Some(MacAddress::of_station(place)),
            power: if place < 2 { self.power } else { Dbm(15.0) },
            channel: if place < 2 { self.channel } else { 6 },
            noise_figure: NOISE_FIGURE,
            ..RadioStation::at(position)
        };
        let wall = |&x: &f64| Wall {
            from: Position::new(x, -30.0),
            to: Position::new(x, 30.0),
            loss: WALL_LOSS,
        };
        RadioConfig {
            path_loss: PATH_LOSS,
            walls: WALLS.iter().map(wall).collect(),
            fading: Fading::Rician { k: STEADY, doppler: 11.0 },
            distortion: Some(DISTORTION),
            ..RadioConfig::new((0..).zip(places).map(station).collect())
        }
    }
}
