//! The office of paper 000 (S0.29) in a calm hour, for whole transfers: two stations in ad hoc
//! mode, walls, three other networks on their channel and none on others, as in
//! [`busy`](super::busy).

use windfall_base::Dbm;
use windfall_channel::MediumConfig;
use windfall_channel::radio::{Fading, PathLoss, Position, RadioConfig, RadioStation, Wall};
use windfall_mac::wifi::Config;
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_queue::Limits;
use windfall_stack::{InterfaceConfig, Neighbour, WifiConfig};
use windfall_wire_link::ieee80211::{MacAddress, Phy};

use super::Office;

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
pub(crate) const NOISE_FIGURE: f64 = 10.0;
pub(crate) const DISTORTION: f64 = -25.0;
/// The other networks: the positions of their access points and clients. The first three are
/// present by default.
pub(crate) const OTHERS: [[(f64, f64); 2]; 6] = [
    [(-6.0, 8.0), (-11.0, 10.0)],
    [(14.0, -9.0), (19.0, -12.0)],
    [(7.0, 14.0), (4.0, 19.0)],
    [(-9.0, -7.0), (-13.0, -3.0)],
    [(-4.0, -13.0), (-9.0, -16.0)],
    [(-14.0, 2.0), (-18.0, 5.0)],
];

/// The description of the office, with the source of each number.
pub(crate) const DESCRIPTION: &str = "\
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
pub(crate) fn loss(metres: f64) -> f64 {
    let walls = WALLS.iter().filter(|wall| **wall < metres).count();
    PATH_LOSS.decibels(metres, MEGAHERTZ) + walls as f64 * WALL_LOSS
}

/// Returns the number of stations: the sender, the receiver, then those of others in pairs.
fn stations(office: Office) -> u16 {
    2 + 2 * office.others.min(OTHERS.len()) as u16
}

//= S0.29
//= S0.30
/// Builds the network. The experiment sees both ends at once, as the authors did by a cable.
pub(crate) fn network(office: Office) -> NetworkConfig {
    let station = |place: u16| StationConfig { name: place.to_string(), host: None };
    NetworkConfig {
        stations: (0..stations(office)).map(station).collect(),
        links: vec![LinkConfig {
            name: "office".to_owned(),
            medium: MediumConfig::Wifi(Box::new(radio(office))),
            ends: (0..stations(office)).map(|place| end(office, place)).collect(),
        }],
    }
}

fn end(office: Office, place: u16) -> EndConfig {
    let mut mac = Config::new(MacAddress::of_station(place), Phy::G);
    mac.rate = super::phy_rate(24);
    office.set_up(usize::from(place), &mut mac);
    // Each station sends to the other one of its pair.
    let peer = MacAddress::of_station(place ^ 1);
    let neighbours = [Neighbour { address: peer, behind: Vec::new() }].into();
    let link = windfall_stack::LinkLayerConfig::Wifi(WifiConfig { mac, neighbours });
    let queue = Limits { packets: 64, bytes: usize::MAX };
    let interface = InterfaceConfig { mtu: 2_296, queue, link, ..Default::default() };
    EndConfig { station: usize::from(place), interface }
}

fn radio(office: Office) -> RadioConfig {
    let ours = [Position::new(office.metres, 0.0), Position::new(0.0, 0.0)];
    let others = OTHERS.as_flattened().iter().map(|&(x, y)| Position::new(x, y));
    let places = ours.into_iter().chain(others).take(usize::from(stations(office)));
    let station = |(place, position)| RadioStation {
        address: Some(MacAddress::of_station(place)),
        power: if place < 2 { office.power } else { Dbm(15.0) },
        channel: if place < 2 { office.channel } else { 6 },
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
