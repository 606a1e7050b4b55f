//! The busy office of paper 000 (S0.29): two stations in ad hoc mode, walls, other networks.

use windfall_channel::MediumConfig;
use windfall_channel::radio::{Position, RadioConfig, Track};
use windfall_network::NetworkConfig;
use windfall_scenario::{App, AppKind, Scenario};
use windfall_stack::{LinkLayerConfig, Neighbour};
use windfall_wire_link::ieee80211::MacAddress;

use super::{FIXED, MOVING, Office};

//= S0.29
/// The office, with the moving station at its furthest position.
pub(crate) const SCENARIO: &str = include_str!("../../../../../scenarios/examples/sap-office.toml");
/// The distances from the fixed station to the moving one in metres.
pub(crate) const DISTANCES: [f64; 7] = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.2];
//= S0.31
/// The rates of the authors' scripts, in Mb/s.
pub(crate) const RATES: [u64; 10] = [1, 2, 6, 9, 12, 18, 24, 36, 48, 54];
/// The bytes of the IPv4 and UDP headers of the other networks' packets.
const HEADERS: usize = 28;

/// The description of the office, with the source of each number.
pub(crate) const DESCRIPTION: &str = "\
    The air: free space to 1 m and an exponent of 3 beyond (same-floor offices: 2.6 to 3.3), \
    walls of 5 dB (light ones take 3 to 8) at 5 m, where the paper has the first, and every 3 m, \
    as wide as its offices are; Rician fading at 11 Hz (people walking), 15 dBm (cards of the \
    time), a noise figure of 10 dB and a distortion of -25 dB (what 802.11 assumes and allows). \
    Other networks: three on the channel of the two, which offer 25 frames of 1000 bytes a \
    second at 24 Mb/s, and four on channels 1 and 11, 17 to 24 m from the receiver, which offer \
    450; of these what the transmit mask lets through reaches channel 6. Fitted to the paper: \
    how steady paths are (K = 10), where the four stand and how much the seven send, so that \
    more than 30 % of the frames are retransmitted at 54 Mb/s and 12.2 m while damage stays small. \
    Nothing else was fitted: not which bits break, not the rates' thresholds, not the \
    contention, not the losses with distance. The authors' floor plan, channel and neighbours \
    are not known, so trends and bounds are compared, not curves.";

/// Another network, whose access point sends to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    /// The length of each packet in bytes, headers included.
    pub(crate) bytes: usize,
    /// The mean number of packets per second.
    pub(crate) per_second: f64,
}

//= S0.29
//= S0.30
/// Builds the network without hosts: the experiment uses the devices of all stations directly,
/// as the authors did by a cable.
pub(crate) fn network(office: Office) -> NetworkConfig {
    let no_files = &mut |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let topology = scenario().topology(0, ("", SCENARIO), no_files);
    let mut network = topology.expect("the office can be").network;
    // The air is the first medium; the cable is left to the experiment.
    network.links.truncate(1);
    let link = &mut network.links[0];
    for (place, end) in link.ends.iter_mut().enumerate() {
        if let LinkLayerConfig::Wifi(wifi) = &mut end.interface.link {
            let address = MacAddress::of_station(place as u16 ^ 1);
            wifi.neighbours = [Neighbour { address, behind: Vec::new() }].into();
            wifi.mac.accept_damaged = false;
            office.set_up(place, &mut wifi.mac);
        }
    }
    if let MediumConfig::Wifi(radio) = &mut link.medium {
        place_stations(office, radio);
    }
    network
}

/// Sets the positions, the channel and the power of the two stations.
fn place_stations(office: Office, radio: &mut RadioConfig) {
    radio.stations[MOVING].track = Track::fixed(Position::new(office.metres, 0.0));
    for station in &mut radio.stations[MOVING..=FIXED] {
        station.power = office.power;
        station.channel = office.channel;
    }
}

fn scenario() -> Scenario {
    Scenario::parse("sap-office.toml", SCENARIO).expect("the scenario is right")
}

/// Returns the traffic of the other networks, in the order of the stations.
pub(crate) fn others() -> Vec<Other> {
    let other = |app: &App| Other {
        bytes: app.size.as_ref().map_or(0, |size| *size.get_ref() as usize) + HEADERS,
        per_second: app.interval.as_ref().map_or(0.0, |it| 1.0 / it.get_ref().as_secs_f64()),
    };
    let sends = |app: &&App| *app.kind.get_ref() == AppKind::Cbr;
    scenario().apps.iter().filter(sends).map(other).collect()
}
