//! The busy office of paper 000 (S0.29): two stations in ad hoc mode, walls, other networks.

use windfall_base::{Dbm, Rate};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{Fading, PathLoss, Position, RadioConfig, RadioStation, Wall};
use windfall_mac::dcf::{Config, RatePolicy};
use windfall_network::{EndConfig, LinkConfig, NetworkConfig, StationConfig};
use windfall_queue::Limits;
use windfall_stack::{InterfaceConfig, LinkConfig as Link, Neighbour, WifiConfig};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate};

//= S0.29
/// Metres from the fixed station to the moving one.
pub(super) const DISTANCES: [f64; 7] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.2];
//= S0.31
/// The rates of the authors' scripts, in Mb/s.
pub(super) const RATES: [u64; 10] = [1, 2, 6, 9, 12, 18, 24, 36, 48, 54];

/// Where walls stand: the next rooms begin 5 m from the fixed station, and then every 4 m.
const WALLS: [f64; 2] = [5.0, 9.0];
/// What a wall takes: within the 3 to 8 dB of light walls at 2.4 GHz.
const WALL_LOSS: f64 = 5.0;
/// A network of others: where its access point is and where its client.
const OTHERS: [[(f64, f64); 2]; 3] =
    [[(-6.0, 8.0), (-11.0, 10.0)], [(14.0, -9.0), (19.0, -12.0)], [(7.0, 14.0), (4.0, 19.0)]];

/// The same in words, and where each number comes from.
pub(super) const DESCRIPTION: &str = "The air: free space to 1 m and an exponent of 3 beyond \
    (same-floor offices: 2.6 to 3.3), walls of 5 dB at 5 and 9 m (the paper has walls beyond \
    5 m; light ones take 3 to 8 dB), Rayleigh fading at 11 Hz (people walking), 15 dBm (cards of \
    the time), a noise figure of 10 dB and a distortion of -25 dB (what 802.11 assumes and \
    allows), three other networks on the channel that each offer 40 frames of 1000 bytes a second \
    at 24 Mb/s. These numbers were taken from the standard and from general measurements; none \
    was fitted to the paper's figures. The authors' positions, walls and neighbours are not \
    known beyond what the paper says, so trends and bounds are compared, not curves.";

/// Stations of the network: the sender, the receiver, then those of others in pairs.
pub(super) const STATIONS: u16 = 2 + 2 * OTHERS.len() as u16;

//= S0.29
//= S0.30
/// The office with the sender at a distance from the receiver. The experiment sees both ends at
/// once, as the authors did by a cable.
pub(super) fn network(metres: f64, mbps: u64, accept_damaged: bool) -> NetworkConfig {
    let end = |place: u16| {
        let rate = if place < 2 { Rate::from_mbps(mbps) } else { Rate::from_mbps(24) };
        let mut mac = Config::new(MacAddress::of_station(place), Phy::G);
        mac.rate = RatePolicy::Fixed(
            rate.and_then(PhyRate::from_rate).expect("the rates are those of the standard"),
        );
        mac.accept_damaged = accept_damaged;
        // Each speaks to the other one of its pair.
        let peer = MacAddress::of_station(place ^ 1);
        let neighbours = [Neighbour { address: peer, behind: Vec::new() }].into();
        let link = Link::Wifi(WifiConfig { mac, neighbours });
        let queue = Limits { packets: 64, bytes: usize::MAX };
        let interface = InterfaceConfig { mtu: 2_296, queue, link, ..Default::default() };
        EndConfig { station: usize::from(place), interface }
    };
    let station = |place: u16| StationConfig { name: place.to_string(), host: None };
    NetworkConfig {
        stations: (0..STATIONS).map(station).collect(),
        links: vec![LinkConfig {
            name: "office".to_owned(),
            medium: MediumConfig::Radio(Box::new(radio(metres))),
            ends: (0..STATIONS).map(end).collect(),
        }],
    }
}

fn radio(metres: f64) -> RadioConfig {
    let ours = [Position::new(metres, 0.0), Position::new(0.0, 0.0)];
    let others = OTHERS.as_flattened().iter().map(|&(x, y)| Position::new(x, y));
    let station = |(place, position)| RadioStation {
        address: Some(MacAddress::of_station(place)),
        power: Dbm(15.0),
        noise_figure: 10.0,
        ..RadioStation::at(position)
    };
    let wall = |&x: &f64| Wall {
        from: Position::new(x, -30.0),
        to: Position::new(x, 30.0),
        loss: WALL_LOSS,
    };
    RadioConfig {
        path_loss: PathLoss::LogDistance { exponent: 3.0 },
        walls: WALLS.iter().map(wall).collect(),
        fading: Fading::Rayleigh { doppler: 11.0 },
        distortion: Some(-25.0),
        ..RadioConfig::new((0..).zip(ours.into_iter().chain(others)).map(station).collect())
    }
}
